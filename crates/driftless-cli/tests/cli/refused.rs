//! What is said when something is not as it should be: files, settings, runs and sizes.

use crate::terminal::{Folder, SMALL, run};
use crate::training::{text, train};
use driftless_world::files::dpf::DpfWriter;
use driftless_world::files::{Overwrite, zip::Method};
use driftless_world::maze::{Layout, MazeWorld};

#[test]
fn files_that_do_not_fit_are_named() {
    let folder = Folder::new("fit");
    let data = folder.recordings("a.npz", "1");
    let longer = folder.simulated("longer.npz", &["-n", "2", "-t", "13", "--size", "16"]);
    let larger = folder.simulated("larger.npz", &["-n", "2", "-t", "12", "--size", "20"]);
    let plain = folder.simulated("plain.npz", &["-n", "2", "-t", "12", "--format", "log"]);
    let target = folder.path("run");
    for (training, more, words) in [
        (
            &data,
            ["crop=17"].as_slice(),
            "a.npz: field rgbd: a crop of 17 x 17 does not fit into images of 16 x 16",
        ),
        (&data, &["--valid", &longer], "longer.npz: field pose: has episodes of 13 steps"),
        (&data, &["--valid", &larger], "larger.npz: field rgbd: has images of 20 x 20"),
        (
            &data,
            &["--steps-per-episode", "7"],
            "a.npz: 96 rows are not a whole number of episodes of 7 steps",
        ),
        (&plain, &[], "plain.npz: holds"),
        (&folder.path("none.npz"), &[], "none.npz: cannot open"),
    ] {
        let (_, error) = train(1, "maze-sdpf-supervised", training, &target, more);
        assert!(error.contains(words), "{words}: {error}");
    }
    assert!(!folder.names().contains(&"run".to_owned()), "nothing was begun");
    run(
        0,
        &[
            &["train", "maze-sdpf-supervised", "--train", &data, "--valid", &data, "--run", &target],
            &SMALL[..],
            &["epochs=1"],
        ]
        .concat(),
    );
}

#[test]
fn what_is_typed_wrongly_is_said_with_advice() {
    let folder = Folder::new("typed");
    let (data, dpf) = (folder.recordings("a.npz", "1"), folder.path("dpf"));
    let (_, error) = train(2, "maze-sdfp", &data, &dpf, &[]);
    assert!(error.contains("did you mean `maze-sdpf`?") && error.contains("maze-sdpf-supervised"), "{error}");
    let (_, error) = train(2, "maze-sdpf", &data, &dpf, &["lable_fraction=0.1"]);
    assert!(error.contains("did you mean `label_fraction`?"), "{error}");
    let (_, error) = train(2, "maze-sdpf", &data, &dpf, &["label_fraction=2"]);
    assert!(error.contains("label_fraction: must be a share from 0 to 1, not 2"), "{error}");
    run(2, &["train", "maze-sdpf", "--train", &data]);
    let own = folder.path("own.toml");
    std::fs::write(&own, "method = 'lstm'\nepohcs = 2\n").unwrap();
    let (_, error) = train(1, &own, &data, &dpf, &[]);
    assert!(error.contains("own.toml: line 2: unknown field `epohcs`"), "{error}");
    std::fs::write(&own, "method = 'sdpf-supervised'\n").unwrap();
    let (_, told) = train(0, &own, &data, &dpf, &[]);
    assert!(told.contains("SDPF without Q"), "{told}");
    let (_, error) = train(1, &own, &data, &dpf, &[]);
    assert!(error.contains("not empty") && error.contains("--resume"), "{error}");
    for more in
        [["epochs=2"].as_slice(), &["--train", &data], &["--run", &dpf], &["--steps-per-episode", "5"]]
    {
        run(2, &[&["train", "--resume", &dpf], more].concat());
    }
    let (done, _) = run(0, &["train", "--resume", &dpf]);
    assert!(done.contains("was finished already"), "{done}");
    let (_, error) = run(1, &["train", "--resume", &folder.path("")]);
    assert!(error.contains("holds no run"), "{error}");
}

#[test]
fn reports_replace_nothing_but_reports() {
    let folder = Folder::new("reports");
    let data = folder.recordings("a.npz", "1");
    let (dpf, out) = (folder.path("runs/dpf"), folder.path("out"));
    train(0, "maze-sdpf-supervised", &data, &dpf, &[]);
    // Not evaluated yet: the page says so.
    run(0, &["report", &dpf, "--out", &out]);
    assert!(text(&format!("{out}/index.html")).contains("no evaluation.json"));
    run(0, &["evaluate", &dpf, "--data", &data]);
    run(0, &["report", &dpf, "--out", &out]);
    assert!(!text(&format!("{out}/index.html")).contains("no evaluation.json"), "replaced");
    let (_, error) = run(1, &["report", &dpf, "--out", &dpf]);
    assert!(error.contains("is not empty and holds no report"), "{error}");
    let other = folder.path("runs");
    std::fs::write(format!("{other}/index.html"), "<title>Mine</title>").unwrap();
    run(1, &["report", &dpf, "--out", &other]);
    assert_eq!(text(&format!("{other}/index.html")), "<title>Mine</title>");
    run(0, &["report", &dpf, "--out", &other, "--force"]);
    assert!(text(&format!("{other}/index.html")).contains("Driftless report"));
    run(2, &["report", &dpf, "--out", &data]);
    let (_, error) = run(1, &["report", &out, "--out", &folder.path("more")]);
    assert!(error.contains("is no run and holds none"), "{error}");
}

/// `config.toml` as version 0.1 wrote it.
const OLD_CONFIG: &str = "[experiment]
method = \"sdpf\"
preset = \"driftless\"
labels = 0.1
trajectories = 4
validation = 4
particles = 10
epochs = 1
batch = 4
seed = 1
odometry-noise = 0.1
pixel-noise = 20.0
crop = 16

[data]
train = \"a.npz\"
world = \"maze1\"
steps = 12
image = [16, 16, 4]
";

#[test]
fn runs_of_version_0_1_are_refused_with_advice() {
    let folder = Folder::new("old");
    let (data, old) = (folder.recordings("a.npz", "1"), folder.path("old"));
    std::fs::create_dir_all(&old).unwrap();
    std::fs::write(format!("{old}/config.toml"), OLD_CONFIG).unwrap();
    let report = folder.path("report");
    let commands: [&[&str]; 3] = [
        &["train", "--resume", &old],
        &["evaluate", &old, "--data", &data],
        &["report", &old, "--out", &report],
    ];
    for command in commands {
        let (_, error) = run(1, command);
        assert!(error.contains("config.toml: format: is missing: the run is of version 0.1"), "{error}");
        assert!(error.contains("train again with the new ones") && error.lines().count() == 1, "{error}");
    }
    let error = driftless::online::Tracker::open(&old, driftless::online::Start::default());
    assert!(error.map(|_| ()).unwrap_err().to_string().contains("version 0.1"));
    let later = OLD_CONFIG.replacen("[experiment]", "format = 99\n[experiment]", 1);
    std::fs::write(format!("{old}/config.toml"), later).unwrap();
    let (_, error) = run(1, &["train", "--resume", &old]);
    assert!(error.contains("format: must be 2, not 99: the run is of a later version"), "{error}");
}

/// The three names that mean something else now say so, and what is trained is named.
#[test]
fn names_with_another_meaning_are_noted() {
    let folder = Folder::new("meaning");
    let data = folder.recordings("a.npz", "1");
    let (_, told) = train(0, "maze-dpf", &data, &folder.path("dpf"), &[]);
    assert!(told.contains("what version 0.1 called maze-dpf is now maze-driftless-supervised"), "{told}");
    assert!(told.contains("DPF (Jonschkowski 2018), seed 1"), "{told}");
    let (_, error) = train(2, "maze-sdpf-paper", &data, &folder.path("none"), &[]);
    assert!(error.contains("maze-sdpf-paper is now called maze-sdpf"), "{error}");
}

/// Recordings of Maze 1 whose poses are moved and stretched.
fn elsewhere(folder: &Folder, name: &str, to: impl Fn([f64; 3]) -> [f64; 3]) -> String {
    let data = folder.path(name);
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 16, 16);
    let mut file = DpfWriter::create(&data, Overwrite::Refuse, Method::Stored, "").unwrap();
    for number in 0..6 {
        let mut recording = world.episode(1, number, 12).into_recording();
        recording.poses.iter_mut().for_each(|pose| *pose = to(*pose));
        file.push(&recording).unwrap();
    }
    file.finish().unwrap();
    data
}

/// Metres of a map projection are too far for 32 bits, and no unit makes a world as large or small as others.
#[test]
fn poses_that_cannot_be_computed_with_are_refused() {
    let folder = Folder::new("far");
    let utm = elsewhere(&folder, "utm.npz", |[x, y, a]| [0.02 * x + 5e5, 0.02 * y + 5.4e6, a]);
    let small = elsewhere(&folder, "small.npz", |[x, y, a]| [1e-30 * x, 1e-30 * y, a]);
    let large = elsewhere(&folder, "large.npz", |[x, y, a]| [1e9 * x, 1e9 * y, a]);
    let near = elsewhere(&folder, "near.npz", |[x, y, a]| [x + 1e4, y - 1e4, a]);
    for (data, words) in [
        (&utm, "utm.npz: field pose: poses lie up to 54000"),
        (&utm, "0.64 apart"),
        (&utm, "subtract the same position from all poses"),
        (&small, "small.npz: field pose: "),
        (&small, "use another unit"),
        (&large, "large.npz: field pose: "),
    ] {
        for experiment in ["maze-sdpf-supervised", "maze-driftless"] {
            let (_, error) = train(1, experiment, data, &folder.path("run"), &["--steps-per-episode", "12"]);
            assert!(error.contains(words), "{words}: {error}");
        }
    }
    assert!(!folder.names().contains(&"run".to_owned()), "nothing was begun");
    train(0, "maze-sdpf-supervised", &near, &folder.path("run"), &["--steps-per-episode", "12"]);
}

#[test]
fn sizes_are_bounded_before_memory_is_taken() {
    let folder = Folder::new("sizes");
    let (data, target) = (folder.recordings("a.npz", "1"), folder.path("run"));
    for (setting, words) in [
        ("particles=1000000000000", "particles: must be at most 1000000, not 1000000000000"),
        ("odometry_noise=1e9", "odometry_noise: must be a share from 0 to 10"),
        ("pixel_noise=1e38", "pixel_noise: must be from 0 to 1000"),
        ("epochs=9000000000000000000", "epochs: must be at most 1000000000"),
        (
            "seed=9223372036854775808",
            "seed=9223372036854775808: must be a whole number from 0 to 9223372036854775807",
        ),
    ] {
        let (_, error) = train(2, "maze-driftless", &data, &target, &[setting]);
        assert!(error.contains(words), "{words}: {error}");
    }
    // 4 x 12 x 10⁶ particles with all that tensors keep of them: 144 GB. 10⁶ windows of 20 steps: 600 GB.
    let large = [("maze-sdpf", "particles=1000000"), ("maze-dpf", "batch_size=1000000")];
    for (experiment, setting) in large {
        let (_, error) = train(1, experiment, &data, &target, &[setting]);
        let words = ["GB of memory", "are free; take fewer particles or a smaller batch"];
        assert!(words.iter().all(|words| error.contains(words)), "{error}");
    }
    assert!(!folder.names().contains(&"run".to_owned()), "nothing was begun");
    train(0, "maze-driftless", &data, &target, &["seed=9223372036854775807"]);
}

#[cfg(unix)]
#[test]
fn devices_are_no_experiments() {
    let folder = Folder::new("devices");
    let data = folder.recordings("a.npz", "1");
    let (_, error) = train(1, "/dev/zero", &data, &folder.path("run"), &[]);
    assert!(error.contains("/dev/zero: is not a regular file"), "{error}");
}

#[test]
fn scales_that_somebody_changed_are_named() {
    let folder = Folder::new("normalisation");
    let (data, run_folder) = (folder.recordings("a.npz", "1"), folder.path("run"));
    train(0, "maze-sdpf-supervised", &data, &run_folder, &[]);
    let path = format!("{run_folder}/normalisation.json");
    let whole = text(&path);
    let first = whole.split("\"mean\":[").nth(1).unwrap().split(',').next().unwrap();
    for (from, to, words) in [
        (format!("\"mean\":[{first},"), "\"mean\":[".to_owned(), "field pixels: 767 means do not make"),
        ("\"height\":16".into(), "\"height\":0".into(), "field pixels: 768 means do not make"),
        ("\"height\":16".into(), "\"height\":1000000000".into(), "images of 1000000000 x 16 x 3"),
        (
            "\"state_std\":[".into(),
            "\"state_std\":[-".into(),
            "field state_std: must hold three numbers above 0",
        ),
        ("\"step_size\":[".into(), "\"step_size\":[-".into(), "field pose: "),
        ("\"low\":[".into(), "\"low\":[1".into(), "field low: is above high"),
    ] {
        let changed = whole.replacen(&from, &to, 1);
        assert_ne!(changed, whole, "{from}");
        std::fs::write(&path, changed).unwrap();
        let commands =
            [vec!["evaluate", &run_folder, "--data", &data], vec!["train", "--resume", &run_folder]];
        for command in commands {
            let (_, error) = run(1, &command);
            assert!(error.contains("normalisation.json: ") && error.contains(words), "{words}: {error}");
        }
    }
}

/// Names that a shell would take apart are quoted in what is to be typed next.
#[test]
fn suggested_commands_can_be_pasted() {
    let folder = Folder::new("pasted");
    let (data, odd) = (folder.recordings("a.npz", "1"), folder.path("it's; my run"));
    let quoted = format!("'{}'", odd.replace('\'', r"'\''"));
    let (told, _) = train(0, "maze-sdpf-supervised", &data, &odd, &[]);
    assert!(told.contains(&format!("Next: driftless evaluate {quoted} --data FILE")), "{told}");
    let (told, _) = run(0, &["evaluate", &odd, "--data", &data]);
    assert!(told.contains(&format!("Next: driftless report {quoted} --out report")), "{told}");
}

/// Figures and episodes are of one evaluation, or the report says that they are not.
#[test]
fn a_report_tells_what_it_cannot_use() {
    let folder = Folder::new("unusable");
    let (data, other) = (folder.recordings("a.npz", "1"), folder.recordings("b.npz", "2"));
    let (dpf, out) = (folder.path("dpf"), folder.path("out"));
    train(0, "maze-sdpf-supervised", &data, &dpf, &[]);
    let evaluation = format!("{dpf}/evaluation.json");
    run(0, &["evaluate", &dpf, "--data", &other]);
    let of_other = text(&evaluation);
    run(0, &["evaluate", &dpf, "--data", &data]);
    run(0, &["report", &dpf, "--out", &out]);
    assert!(!text(&format!("{out}/index.html")).contains("was not recorded with"));
    // The record is of the other evaluation as well; of a damaged one nobody can tell.
    for (written, count, words) in [
        (of_other.as_str(), 2, "dpf/episodes.json: was not recorded with the evaluation.json beside it"),
        (&of_other[..100], 1, "dpf/evaluation.json: is not an evaluation: EOF"),
    ] {
        std::fs::write(&evaluation, written).unwrap();
        let (_, error) = run(1, &["report", &dpf, "--out", &out]);
        let unusable = format!("{count} files of these runs cannot be used");
        assert!(error.contains(words) && error.contains(&unusable), "{error}");
        let problem = words.split_once('/').unwrap().1;
        assert!(text(&format!("{out}/index.html")).contains(problem), "the page says it too");
    }
}

/// Many processes that know nothing of each other would each do all of the work, in one folder.
#[cfg(not(feature = "mpi"))]
#[test]
fn one_of_many_processes_needs_mpi() {
    let folder = Folder::new("many");
    let (data, target) = (folder.recordings("a.npz", "1"), folder.path("run"));
    let together = |size: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_driftless"));
        command.env("OMPI_COMM_WORLD_SIZE", size).args(arguments).args(SMALL).output().unwrap()
    };
    let training = ["train", "maze-sdpf-supervised", "--train", &data, "--run", &target, "epochs=1"];
    let refused = together("4", &training);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{error}");
    assert!(
        error.starts_with("error: 4 processes were started together (OMPI_COMM_WORLD_SIZE=4)"),
        "{error}"
    );
    assert!(error.contains("cargo build --release --features mpi"), "{error}");
    assert!(!folder.names().contains(&"run".to_owned()), "nothing was begun");
    assert!(together("1", &training).status.success(), "one of one is alone");
}
