//! A whole comparison by one command: planned, run, gone on with, and reported.

use crate::terminal::{Folder, SMALL, read, run};
use driftless_report::Record;
use driftless_world::files::log::LogWriter;
use driftless_world::files::{Overwrite, zip::Method};
use driftless_world::pose::{Frame, Pose};
use driftless_world::{Evaluation, Labels, Observations, Rows, Trajectory};

/// A comparison of two methods in a small world of one's own.
fn reproduce(code: i32, folder: &Folder, more: &[&str]) -> (String, String) {
    reproduce_some(
        code,
        folder,
        &[&["--methods", "sdpf-supervised,lstm", "--labels", "0.2,0.5"], more].concat(),
    )
}

/// The same with methods and labels that are named.
fn reproduce_some(code: i32, folder: &Folder, more: &[&str]) -> (String, String) {
    let data = format!("small={},{}", folder.path("a.npz"), folder.path("b.npz"));
    let out = folder.path("out");
    let mut arguments = vec!["reproduce", "maze", "--data", &data, "--out", &out];
    arguments.extend(["--seeds", "1"]);
    arguments.extend(SMALL.iter().flat_map(|setting| ["--set", setting]));
    run(code, &[&arguments[..], more].concat())
}

#[test]
fn a_comparison_is_made_once_and_gone_on_with() {
    let folder = Folder::new("reproduce");
    folder.recordings("a.npz", "1");
    folder.recordings("b.npz", "2");
    let (told, going) = reproduce(0, &folder, &["--epochs", "1"]);
    assert!(told.contains("4 runs") && told.contains("report/index.html"), "{told}");
    assert!(told.contains("LSTM") && told.contains("50 %"), "{told}");
    assert!(going.contains("[4/4] small-sdpf-supervised-50pct-seed1"), "{going}");
    let run_folder = folder.path("out/runs/small-lstm-20pct-seed1");
    let first = read(&format!("{run_folder}/evaluation.json"));
    let evaluation = Evaluation::from_json(&String::from_utf8(first.clone()).unwrap()).unwrap();
    assert_eq!((evaluation.about.world.as_str(), evaluation.about.label_fraction), ("small", 0.2));
    let page = read(&folder.path("out/report/index.html"));
    // One run is not evaluated yet, another not trained to its end: these are done, the others left alone.
    std::fs::remove_file(format!("{run_folder}/evaluation.json")).unwrap();
    std::fs::remove_dir_all(folder.path("out/runs/small-sdpf-supervised-20pct-seed1")).unwrap();
    let (_, going) = reproduce(0, &folder, &["--epochs", "1"]);
    assert_eq!(going.matches("done before").count(), 2, "{going}");
    assert_eq!(read(&format!("{run_folder}/evaluation.json")), first);
    // The page tells seconds of training nowhere, so it is the same.
    assert!(read(&folder.path("out/report/index.html")) == page, "the same runs, the same report");
    let (_, error) = reproduce(1, &folder, &["--epochs", "2"]);
    assert!(error.contains("was run with other settings") && error.contains("--out"), "{error}");
}

#[test]
fn a_plan_can_be_looked_at_and_mistakes_are_named() {
    let folder = Folder::new("plan");
    let (told, _) = run(0, &["reproduce", "maze", "--estimate", "--out", &folder.path("out")]);
    assert!(told.contains("585 runs") && told.contains(" h on two cores"), "{told}");
    let (told, _) = run(0, &["reproduce", "maze", "--quick", "--estimate"]);
    assert!(told.contains("28 runs") && told.contains(" min on two cores"), "{told}");
    assert!(folder.names().is_empty(), "an estimate makes nothing");
    let (_, error) = run(2, &["reproduce", "maze", "--methods", "sdpf,sdfp"]);
    assert!(error.contains("sdfp") && error.contains("sdpf-supervised"), "{error}");
    let (_, error) = run(2, &["reproduce", "maze", "--methods", "dpf-jonschkowski"]);
    assert!(error.contains("--methods dpf-jonschkowski: is now called dpf"), "{error}");
    let (_, error) = run(2, &["reproduce", "maze", "--data", "a.npz"]);
    assert!(error.contains("NAME=TRAIN,TEST"), "{error}");
    let (_, error) = run(2, &["reproduce", "maze", "--set", "epohcs=1"]);
    assert!(error.contains("did you mean `epochs`?"), "{error}");
    let (_, error) = run(1, &["reproduce", "maze", "--data", "a=no_such.npz,b.npz"]);
    assert!(error.contains("no_such.npz"), "{error}");
}

/// Files behind a name may change: what was trained from others is refused, what was evaluated on others is evaluated again.
#[test]
fn results_of_other_data_are_not_reported() {
    let folder = Folder::new("other-data");
    folder.recordings("a.npz", "1");
    folder.recordings("b.npz", "2");
    let more = ["--epochs", "1", "--methods", "sdpf-supervised", "--labels", "0.2"];
    reproduce_some(0, &folder, &more);
    let path = folder.path("out/runs/small-sdpf-supervised-20pct-seed1/evaluation.json");
    let first = read(&path);
    let again = |name: &str, seed: &str| {
        std::fs::remove_file(folder.path(name)).unwrap();
        folder.recordings(name, seed);
    };
    again("b.npz", "3");
    let (_, going) = reproduce_some(0, &folder, &more);
    assert!(!going.contains("done before") && read(&path) != first, "{going}");
    again("b.npz", "2");
    reproduce_some(0, &folder, &more);
    assert_eq!(read(&path), first, "the same data, the same bytes");
    again("a.npz", "4");
    let (_, error) = reproduce_some(1, &folder, &more);
    assert!(
        error.contains("was trained from other data than ") && error.contains("a.npz holds now"),
        "{error}"
    );
    again("a.npz", "1");
    let (_, going) = reproduce_some(0, &folder, &more);
    assert_eq!(going.matches("done before").count(), 1, "{going}");
    // Settings that name a run are not set.
    for (setting, words) in
        [("method=sdpf", "use --methods"), ("label_fraction=0.3", "use --labels"), ("seed=7", "--seeds")]
    {
        let (_, error) = reproduce_some(2, &folder, &[&more[..], &["--set", setting]].concat());
        assert!(error.contains(words), "{words}: {error}");
    }
}

/// Robots that drive in circles among three beacons, whose distances they measure.
pub fn write_log(path: &str, first: f64) {
    let mut file = LogWriter::create(path, Overwrite::Refuse, Method::Stored, "").unwrap();
    for episode in 0..4 {
        let mut pose = Pose::new(1.0 + 0.3 * f64::from(episode), 2.0, first + f64::from(episode));
        let (mut seen, mut moved, mut truth) = (Vec::new(), Vec::new(), Vec::new());
        for t in 0..20 {
            let action = [0.2, 0.0, if t % 7 < 4 { 0.25 } else { -0.1 }];
            if t > 0 {
                pose = pose.moved(action, Frame::Robot);
            }
            let error = 0.02 * f64::from(t % 5 - 2);
            seen.extend(
                [[0.0, 0.0], [6.0, 1.0], [2.0, 5.0]]
                    .map(|[x, y]: [f64; 2]| ((x - pose.x).hypot(y - pose.y) + error) as f32),
            );
            moved.extend(if t == 0 { [0.0; 3] } else { action.map(|x| (1.01 * x) as f32) });
            truth.extend([pose.x, pose.y, pose.heading].map(|x| x as f32));
        }
        let rows = |width, values| Rows::new(width, values).unwrap();
        let states = Labels::all(rows(3, truth));
        let seen = Observations::Vectors(rows(3, seen));
        file.push(&Trajectory::new(seen, rows(3, moved), states).unwrap()).unwrap();
    }
    file.finish().unwrap();
}

/// Pairs of logs in a folder: tracked and found by what one training has learned, with another noise for each seed.
#[test]
fn robots_of_a_folder_are_compared() {
    let folder = Folder::new("robots");
    std::fs::create_dir(folder.path("logs")).unwrap();
    write_log(&folder.path("logs/yard_train.npz"), 0.0);
    write_log(&folder.path("logs/yard_test.npz"), 0.5);
    let (data, out) = (folder.path("logs"), folder.path("out"));
    let arguments = ["reproduce", "robots", "--data", &data, "--out", &out, "--labels", "0.5"];
    let arguments =
        [&arguments[..], &["--methods", "mcl,odometry", "--seeds", "2", "--set", "robot.global_poses=2000"]];
    let (told, going) = run(0, &arguments.concat());
    assert!(told.contains("6 runs") && told.contains("Monte-Carlo localisation"), "{told}");
    assert!(going.contains("yard-global-mcl-50pct-seed2"), "{going}");
    let record = |name: &str| {
        let text = String::from_utf8(read(&folder.path(&format!("out/runs/{name}/record.json")))).unwrap();
        Record::from_json(&text).unwrap()
    };
    for seed in [1, 2] {
        let [told, found] =
            ["yard", "yard-global"].map(|world| record(&format!("{world}-mcl-50pct-seed{seed}")));
        assert_eq!((told.provenance.filter_seed, found.provenance.filter_seed), (seed, seed));
        assert_eq!((told.about.world.as_str(), found.about.world.as_str()), ("yard", "yard-global"));
        assert!(told.trajectories != found.trajectories);
    }
    let page = String::from_utf8(read(&folder.path("out/report/index.html"))).unwrap();
    assert!(page.contains("\"marks\":[["), "beacons are marked");
    let first = read(&folder.path("out/runs/yard-global-mcl-50pct-seed1/evaluation.json"));
    std::fs::remove_dir_all(folder.path("out/runs/yard-global-mcl-50pct-seed1")).unwrap();
    let (_, going) = run(0, &arguments.concat());
    assert_eq!(going.matches("done before").count(), 5, "{going}");
    assert_eq!(read(&folder.path("out/runs/yard-global-mcl-50pct-seed1/evaluation.json")), first);
    let (_, error) = run(2, &["reproduce", "robots"]);
    assert!(error.contains("--data DIR is needed"), "{error}");
    let (_, error) = run(2, &["reproduce", "robots", "--data", &out]);
    assert!(error.contains("NAME_train.npz"), "{error}");
}
