//! From recordings to a report, by commands alone.

use crate::reproducing::write_log;
use crate::terminal::{Folder, SMALL, read, run};
use driftless_world::Evaluation;
use driftless_world::evaluation::Episodes;
use driftless_world::files::dpf::DpfWriter;
use driftless_world::files::{Overwrite, zip::Method};
use driftless_world::maze::{Layout, MazeWorld};

pub fn text(path: &str) -> String {
    String::from_utf8(read(path)).unwrap()
}

/// Trains a small experiment with some more settings or options.
#[track_caller]
pub fn train(code: i32, experiment: &str, data: &str, run_folder: &str, more: &[&str]) -> (String, String) {
    let arguments = ["train", experiment, "--train", data, "--run", run_folder];
    run(code, &[&arguments, &SMALL[..], &["epochs=1"], more].concat())
}

#[test]
fn from_recordings_to_a_report() {
    let folder = Folder::new("whole");
    let (data, unseen) = (folder.recordings("a.npz", "1"), folder.recordings("b.npz", "2"));
    let (dpf, lstm) = (folder.path("runs/dpf"), folder.path("runs/lstm"));
    let (told, going) = train(0, "maze-sdpf-supervised", &data, &dpf, &["epochs=2"]);
    assert!(told.contains("Next: driftless evaluate") && told.contains("best.safetensors"), "{told}");
    let name = "SDPF without Q (authors' \"DPF\"), seed 1";
    for words in [name, "4 of 44 poses known", "epoch 2/2  loss ", "4 other trajectories"] {
        assert!(going.contains(words), "{words}: {going}");
    }
    train(0, "maze-lstm", &data, &lstm, &[]);
    let (table, _) = run(0, &["evaluate", &dpf, "--data", &unseen, "-n", "3"]);
    assert!(
        table.contains("3 trajectories of b.npz, 10 particles") && table.contains("11 (last)"),
        "{table}"
    );
    let (json, warned) = run(0, &["evaluate", &lstm, "--data", &unseen, "--json"]);
    assert_eq!((warned.as_str(), json.as_str()), ("", text(&format!("{lstm}/evaluation.json")).as_str()));
    let evaluation = Evaluation::from_json(&json).unwrap();
    let about = &evaluation.about;
    assert_eq!((about.method.as_str(), about.label.as_str(), about.particles), ("lstm", "LSTM", 0));
    assert_eq!((about.world.as_str(), about.data.as_str(), evaluation.trajectories), ("maze1", "b.npz", 8));
    let report = folder.path("report");
    let (table, _) = run(0, &["report", &folder.path("runs"), "--out", &report]);
    assert!(table.starts_with("method") && table.contains("LSTM") && table.contains("index.html"), "{table}");
    let page = text(&format!("{report}/index.html"));
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    assert!(page.contains("DPF") && !outside.contains("http:") && !outside.contains("https:"));
    assert!(!page.contains("nothing to play"), "both runs have episodes");
}

#[test]
fn an_evaluation_can_be_varied_and_repeated() {
    let folder = Folder::new("varied");
    let (data, unseen) = (folder.recordings("a.npz", "1"), folder.recordings("b.npz", "2"));
    let dpf = folder.path("dpf");
    train(0, "maze-sdpf-supervised", &data, &dpf, &[]);
    let evaluated = |more: &[&str]| {
        let (json, _) = run(0, &[&["evaluate", &dpf, "--data", &unseen, "--json"], more].concat());
        (Evaluation::from_json(&json).unwrap(), text(&format!("{dpf}/episodes.json")))
    };
    let (first, episodes) = evaluated(&[]);
    assert!(evaluated(&[]) == (first.clone(), episodes.clone()), "the same seed, the same bytes");
    let played = Episodes::from_json(&episodes).unwrap().episodes;
    assert_eq!((played.len(), played[0].steps.len(), played[1].plan.high), (2, 11, [1000.0, 500.0]));
    assert_eq!(played[0].steps[3].particles.len(), 10);
    assert!(played[1].steps.iter().all(|step| step.camera.starts_with(b"\x89PNG")));
    assert!(evaluated(&["--seed", "2"]).0.position_errors != first.position_errors);
    assert!(evaluated(&["--threads", "1"]) == (first.clone(), episodes));
    let (other, episodes) = evaluated(&["--particles", "25", "--odometry-noise", "0.3", "--play", "0"]);
    assert_eq!((other.about.particles, other.about.odometry_noise), (25, 0.3));
    assert_eq!(Episodes::from_json(&episodes).unwrap().episodes.len(), 0);
    let (_, warned) = run(0, &["evaluate", &dpf, "--data", &data]);
    assert!(warned.contains("warning: the run learned from the first 4 trajectories"), "{warned}");
    run(2, &["evaluate", &dpf, "--data", &unseen, "--odometry-noise", "NaN"]);
    run(2, &["evaluate", &dpf, "--data", &unseen, "--particles", "0"]);
    let (_, error) = run(1, &["evaluate", &folder.path(""), "--data", &unseen]);
    assert!(error.contains("holds no run"), "{error}");
    let larger = folder.simulated("large.npz", &["-n", "2", "-t", "12", "--size", "20"]);
    let (_, error) = run(1, &["evaluate", &dpf, "--data", &larger]);
    assert!(error.contains("large.npz: field rgbd: has images of 20 x 20"), "{error}");
}

/// Recordings that do not tell their world have a plan without walls, unless somebody names the maze.
/// Two files are one after the other, in what is learned from and in what a run goes on with.
#[test]
fn several_files_are_learned_from() {
    let folder = Folder::new("several");
    let (data, other) = (folder.recordings("a.npz", "1"), folder.recordings("b.npz", "2"));
    let dpf = folder.path("dpf");
    let more = ["--train", &other, "trajectories=12"];
    let (_, going) = train(0, "maze-sdpf-supervised", &data, &dpf, &more);
    for words in ["12 trajectories of", "a.npz and 1 more", "13 of 132 poses known", "4 other trajectories"] {
        assert!(going.contains(words), "{words}: {going}");
    }
    let config = format!("{dpf}/config.toml");
    std::fs::write(&config, text(&config).replace("epochs = 1", "epochs = 2")).unwrap();
    std::fs::copy(&data, &other).unwrap();
    let (_, error) = run(1, &["train", "--resume", &dpf]);
    assert!(error.contains("b.npz: has other contents"), "{error}");
    std::fs::remove_file(&other).unwrap();
    folder.recordings("b.npz", "2");
    run(0, &["train", "--resume", &dpf]);
    let (_, warned) = run(0, &["evaluate", &dpf, "--data", &other]);
    assert!(warned.contains("figures on them are too good"), "{warned}");
}

#[test]
fn worlds_may_be_unknown() {
    let folder = Folder::new("unknown");
    let data = folder.path("kitchen.npz");
    let world = MazeWorld::new(Layout::built_in("maze2").unwrap(), 16, 16);
    let mut file = DpfWriter::create(&data, Overwrite::Refuse, Method::Stored, "").unwrap();
    (0..6).for_each(|number| file.push(&world.episode(1, number, 13).into_recording()).unwrap());
    file.finish().unwrap();
    let dpf = folder.path("dpf");
    let (_, error) = train(1, "maze-sdpf-supervised", &data, &dpf, &[]);
    assert!(
        error.contains("not a whole number of episodes of 100 steps; set --steps-per-episode"),
        "{error}"
    );
    train(0, "maze-sdpf-supervised", &data, &dpf, &["--steps-per-episode", "13"]);
    run(0, &["train", "--resume", &dpf]);
    let played = |more: &[&str]| {
        let arguments = ["evaluate", &dpf, "--data", &data, "--steps-per-episode", "13"];
        run(0, &[&arguments, more].concat());
        Episodes::from_json(&text(&format!("{dpf}/episodes.json"))).unwrap().episodes.remove(0)
    };
    let episode = played(&[]);
    assert_eq!((episode.about.world.as_str(), episode.plan.walls.len()), ("kitchen", 0));
    let inside = |k: usize, value: f32| {
        episode.plan.low[k] < f64::from(value) && f64::from(value) < episode.plan.high[k]
    };
    assert!(episode.steps.iter().filter_map(|step| step.truth).all(|[x, y, _]| inside(0, x) && inside(1, y)));
    let episode = played(&["--maze", "maze2"]);
    assert_eq!((episode.about.world.as_str(), episode.plan.walls.is_empty()), ("maze2", false));
}

#[test]
fn labels_and_trajectories_of_all_numbers() {
    let folder = Folder::new("numbers");
    let data = folder.recordings("a.npz", "1");
    let (_, told) = train(0, "maze-sdpf-released", &data, &folder.path("none"), &["label_fraction=0"]);
    assert!(
        told.contains("0 of 44 poses known") && told.contains("do not expect the result to localise"),
        "{told}"
    );
    let (_, told) = train(0, "maze-sdpf-released", &data, &folder.path("all"), &["label_fraction=1"]);
    assert!(told.contains("44 of 44 poses known") && !told.contains("warning"), "{told}");
    let many = ["trajectories=99", "batch_size=32"];
    let (done, told) = train(0, "maze-sdpf-supervised", &data, &folder.path("many"), &many);
    assert!(told.contains("warning: trajectories=99: ") && told.contains("holds 8; all of them"), "{told}");
    assert!(told.contains("warning: no validation: the last weights are kept"), "{told}");
    assert!(done.contains("the last weights, of epoch 1, are in"), "{done}");
    run(0, &["evaluate", &folder.path("many"), "--data", &data]);
    // A method that cannot do without labels says so, and leaves no folder. A share that leaves none is the same.
    for (experiment, share, words) in [
        ("maze-sdpf-supervised", "label_fraction=0", "error: label_fraction: must be above 0"),
        ("maze-sdpf-supervised", "label_fraction=1e-9", " of 44 poses leaves none known; must be above 0"),
        (
            "maze-driftless",
            "label_fraction=0",
            "error: label_fraction: must be above 0: learning between labels needs some",
        ),
        ("maze-driftless", "label_fraction=1e-9", "poses leaves none known; must be above 0"),
        ("maze-lstm", "label_fraction=1e-9", "poses leaves none known; must be above 0"),
    ] {
        let (_, error) = train(1, experiment, &data, &folder.path("again"), &[share]);
        assert!(error.contains(words), "{words}: {error}");
        assert!(!folder.names().contains(&"again".to_owned()), "nothing was begun");
    }
    train(0, "maze-sdpf-supervised", &data, &folder.path("again"), &[]);
}

/// Methods learn from what a file holds, whatever its layout: the same numbers give the same weights.
#[test]
fn a_table_is_learned_from_like_the_log_that_it_was() {
    let folder = Folder::new("layouts");
    let (log, table) = (folder.path("log.npz"), folder.path("table.csv"));
    write_log(&log, 0.5);
    run(0, &["convert", &log, "--to", "csv", "--out", &table]);
    let weights = |data: &str, to: &str| {
        let settings = ["label_fraction=0.5", "trajectories=3", "epochs=1", "robot.global_poses=2000"];
        let arguments = ["train", "--train", data, "--run", to];
        run(0, &[&arguments[..], &settings].concat());
        read(&format!("{to}/best.safetensors"))
    };
    assert_eq!(weights(&log, &folder.path("runs/log")), weights(&table, &folder.path("runs/table")));
    // A folder of tables has no one file whose contents a run could remember.
    let many = folder.path("many");
    std::fs::create_dir(&many).unwrap();
    let table = text(&table);
    let first = table.lines().filter(|line| !line.starts_with(['2', '3', '4']));
    let first: Vec<&str> = first.filter_map(|line| Some(line.split_once(',')?.1)).collect();
    std::fs::write(format!("{many}/1.csv"), first.join("\n") + "\n").unwrap();
    let (_, error) = run(1, &["train", "--train", &many, "--run", &folder.path("runs/many")]);
    assert!(error.contains("`driftless convert` makes one file of a folder"), "{error}");
}
