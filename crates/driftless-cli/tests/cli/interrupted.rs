//! Trainings that are killed, interrupted, or run out of space: taken up again, they end in the same bytes.
use crate::terminal::{Folder, SMALL, read, run};
use driftless::learn::WorldKind;
use driftless::methods::methods_in;
use driftless::weights;
use driftless_world::random::Random;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A command and its folder, which can be begun and taken up.
struct Training<'a> {
    folder: &'a Folder,
    data: String,
    settings: Vec<&'a str>,
}

impl<'a> Training<'a> {
    fn new(folder: &'a Folder, settings: &[&'a str]) -> Self {
        let data = folder.recordings("a.npz", "1");
        Self { folder, data, settings: [&SMALL[..], settings].concat() }
    }

    /// What to type for a run that may have begun.
    fn arguments(&self, name: &str) -> Vec<String> {
        let run = self.folder.path(name);
        if Path::new(&run).join("config.toml").exists() {
            return ["train", "--resume", &run].map(str::to_owned).to_vec();
        }
        let fixed = ["train", "maze-driftless", "--train", &self.data, "--run", &run];
        fixed.iter().chain(&self.settings).map(ToString::to_string).collect()
    }

    fn spawn(&self, name: &str) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_driftless"));
        command.args(self.arguments(name)).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Trains to the end.
    #[track_caller]
    fn finish(&self, name: &str) {
        let arguments = self.arguments(name);
        run(0, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    }

    /// Waits until a child has written down so many epochs, or has ended.
    fn wait_for(&self, epochs: usize, name: &str, child: &mut Child) {
        while self.epochs(name) < epochs && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn epochs(&self, name: &str) -> usize {
        let log = std::fs::read_to_string(self.folder.path(&format!("{name}/log.jsonl")));
        log.map_or(0, |log| log.lines().count())
    }

    /// What must not depend on interruptions: weights, checkpoint, and metrics without their seconds.
    fn result(&self, name: &str) -> (Vec<u8>, Vec<u8>, String) {
        let file = |file: &str| read(&self.folder.path(&format!("{name}/{file}")));
        let timeless = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            [&fields[..2], &fields[3..]].concat().join(",")
        };
        let metrics = String::from_utf8(file("metrics.csv")).unwrap();
        assert!(metrics.starts_with("epoch,update,seconds,"), "{metrics}");
        let metrics = metrics.lines().map(timeless).collect::<Vec<_>>().join("\n");
        (file("best.safetensors"), file("checkpoint.safetensors"), metrics)
    }

    #[track_caller]
    fn compare(&self, one: &str, other: &str) {
        let (one, other) = (self.result(one), self.result(other));
        assert_eq!(one.2, other.2);
        assert!(one.0 == other.0 && one.1 == other.1, "weights or checkpoints differ");
    }
}

/// Kills after some epochs and a random pause, in which files may be being written.
fn killed(name: &str, settings: &[&str], moments: &[usize]) {
    let folder = Folder::new(name);
    let training = Training::new(&folder, settings);
    training.finish("whole");
    let mut random = Random::new(3);
    let mut cut_off = 0;
    for &epochs in moments {
        let mut child = training.spawn("parts");
        training.wait_for(epochs, "parts", &mut child);
        std::thread::sleep(Duration::from_millis(random.below(60) as u64));
        child.kill().unwrap();
        cut_off += usize::from(!child.wait().unwrap().success());
        let best = folder.path("parts/best.safetensors");
        if Path::new(&best).exists() {
            assert!(!weights::read(&best, "weights").unwrap().is_empty());
        }
    }
    // A machine that stood still for seconds may have missed one.
    assert!(cut_off + 1 >= moments.len(), "{cut_off}");
    training.finish("parts");
    training.compare("whole", "parts");
    assert!(!folder_names(&folder.path("parts")).iter().any(|name| name.contains("partial")));
}

fn folder_names(path: &str) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_killed_filter_ends_as_if_nothing_had_happened() {
    let settings = ["method=sdpf-supervised", "epochs=12", "label_fraction=0.3"];
    killed("killed-dpf", &settings, &[0, 0, 1, 2, 3, 5, 6, 8, 10]);
}

#[test]
fn killed_between_labels_too() {
    killed("killed-sdpf", &["epochs=3", "label_fraction=0.3"], &[0, 1, 2]);
}

#[test]
fn a_full_disk_is_named_and_costs_nothing() {
    let folder = Folder::new("full-disk");
    let training = Training::new(&folder, &["method=sdpf-supervised", "epochs=3", "label_fraction=0.3"]);
    training.finish("whole");
    // Blocks of 512 bytes: room for settings alone, for normalisation too, for weights (270 kB) too.
    for (blocks, file) in
        [(8, "normalisation.json"), (40, "best.safetensors"), (800, "checkpoint.safetensors")]
    {
        let script = format!(r#"trap "" XFSZ; ulimit -f {blocks}; exec "$0" "$@""#);
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_driftless")]).args(training.arguments("parts"));
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        let last = error.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("error: ") && last.contains(file) && last.contains("File too large"),
            "{error}"
        );
    }
    training.finish("parts");
    training.compare("whole", "parts");
}

#[test]
fn a_signal_stops_after_the_epoch() {
    let folder = Folder::new("signal");
    let training = Training::new(&folder, &["method=sdpf-supervised", "epochs=30", "label_fraction=0.3"]);
    training.finish("whole");
    for (epochs, signal) in [(2, "INT"), (5, "TERM")] {
        let mut child = training.spawn("parts");
        training.wait_for(epochs, "parts", &mut child);
        Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{error}");
        assert!(error.contains("stopping after this epoch; press again to stop at once"), "{error}");
        let done = training.epochs("parts");
        let told = format!("interrupted after epoch {done}; go on with: driftless train --resume ");
        assert!(error.contains(&told), "{told}: {error}");
        assert!(weights::read(folder.path("parts/checkpoint.safetensors"), "checkpoint").is_ok());
    }
    training.finish("parts");
    training.compare("whole", "parts");
}

#[test]
fn one_process_a_run() {
    let folder = Folder::new("in-use");
    let training = Training::new(&folder, &["method=sdpf-supervised", "epochs=1000"]);
    let mut child = training.spawn("run");
    training.wait_for(1, "run", &mut child);
    let path = folder.path("run");
    let (_, error) = run(1, &["train", "--resume", &path]);
    let told = format!("run: is in use by another process (process {})", child.id());
    assert!(error.contains(&told), "{told}: {error}");
    // Reading is possible all the time.
    while !Path::new(&path).join("best.safetensors").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    run(0, &["evaluate", &path, "--data", &training.data]);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Weights so large that nothing computed with them is a number.
#[test]
fn divergence_has_an_exit_code_and_keeps_the_best() {
    let folder = Folder::new("diverged");
    let training = Training::new(&folder, &["method=sdpf-supervised", "epochs=1000"]);
    let mut child = training.spawn("run");
    training.wait_for(3, "run", &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    let path = folder.path("run");
    let (checkpoint, best) = (format!("{path}/checkpoint.safetensors"), format!("{path}/best.safetensors"));
    let kept = read(&best);
    let mut all = weights::read(&checkpoint, "checkpoint").unwrap();
    let parameters = all.iter_mut().filter(|tensor| tensor.name.starts_with("parameters/"));
    parameters.flat_map(|tensor| &mut tensor.values).for_each(|value| *value *= 1e30);
    weights::write(&checkpoint, "checkpoint", &all).unwrap();
    let (_, error) = run(4, &["train", "--resume", &path]);
    assert!(
        error.contains("learning failed in epoch") && error.contains("the best weights, of epoch"),
        "{error}"
    );
    assert_eq!(read(&best), kept);
    run(0, &["evaluate", &path, "--data", &training.data]);
}

#[test]
fn a_run_goes_on_with_its_own_data_only() {
    let folder = Folder::new("own-data");
    let training = Training::new(&folder, &["method=sdpf-supervised", "epochs=1"]);
    training.finish("run");
    let path = folder.path("run");
    for (options, words) in [
        (["-n", "8", "-t", "12", "--size", "16", "-s", "7"], "a.npz: has other contents than the file that"),
        (["-n", "8", "-t", "12", "--size", "20", "-s", "1"], "a.npz: field rgbd: has images of [20, 20, 4]"),
        (["-n", "8", "-t", "11", "--size", "16", "-s", "1"], "a.npz: 88 rows are not a whole number"),
    ] {
        std::fs::remove_file(&training.data).unwrap();
        folder.simulated("a.npz", &options);
        let (_, error) = run(1, &["train", "--resume", &path]);
        assert!(error.contains(words), "{words}: {error}");
    }
    std::fs::remove_file(&training.data).unwrap();
    let (_, error) = run(1, &["train", "--resume", &path]);
    assert!(error.contains("cannot be read again") && error.contains("a.npz: cannot open"), "{error}");
}

#[test]
fn the_validation_file_is_the_same_too() {
    let folder = Folder::new("own-validation");
    let (data, valid) = (folder.recordings("a.npz", "1"), folder.recordings("b.npz", "2"));
    let path = folder.path("run");
    let fixed =
        ["train", "maze-sdpf-supervised", "--train", &data, "--valid", &valid, "--run", &path, "epochs=1"];
    run(0, &[&fixed[..], &SMALL].concat());
    std::fs::remove_file(&valid).unwrap();
    folder.recordings("b.npz", "3");
    let (_, error) = run(1, &["train", "--resume", &path]);
    assert!(error.contains("b.npz: has other contents than the file that the run began with"), "{error}");
    // Files may move, if their contents stay.
    let moved = folder.recordings("c.npz", "2");
    replace(&format!("{path}/config.toml"), "b.npz", "c.npz");
    assert!(Path::new(&moved).exists());
    run(0, &["train", "--resume", &path]);
}

fn replace(file: &str, from: &str, to: &str) {
    let text = String::from_utf8(read(file)).unwrap();
    let changed = text.replace(from, to);
    assert_ne!(text, changed, "{from} is there");
    std::fs::write(file, changed).unwrap();
}

/// Of all methods: what was learned, and what else was remembered, is taken up whole; more epochs may be asked for.
#[test]
fn every_method_goes_on_for_more_epochs() {
    let folder = Folder::new("more-epochs");
    let data = folder.recordings("a.npz", "1");
    for method in methods_in(WorldKind::Maze).map(|method| method.id) {
        let path = folder.path(method);
        let experiment = format!("maze-{method}");
        let fixed =
            ["train", &experiment, "--train", &data, "--run", &path, "epochs=1", "label_fraction=0.5"];
        // Of the histogram filter they are cells, of which each place has sixteen.
        let more: &[&str] = if method == "histogram" { &["particles=600"] } else { &[] };
        run(0, &[&fixed[..], &SMALL, more].concat());
        replace(&format!("{path}/config.toml"), "epochs = 1\n", "epochs = 2\n");
        let (_, told) = run(0, &["train", "--resume", &path]);
        assert!(told.contains("epoch 2/2"), "{told}");
    }
}

#[test]
fn settings_that_changed_are_named() {
    let folder = Folder::new("changed");
    let training = Training::new(&folder, &["method=sdpf-supervised", "epochs=1"]);
    training.finish("run");
    let path = folder.path("run");
    let config = format!("{path}/config.toml");
    let whole = read(&config);
    for (from, to, words) in [
        (
            "particles = 10\n",
            "particles = 11\n",
            "experiment.particles: is 11, but the run was trained with 10",
        ),
        ("batch_size = 4\n", "batch_size = 3\n", "experiment.batch_size: is 3"),
        ("validation_episodes = 50\n", "validation_episodes = 2\n", "experiment.validation_episodes: is 2"),
        ("label_fraction = 0.1\n", "label_fraction = 0.5\n", "experiment.label_fraction: is 0.5"),
        ("seed = 1\n", "seed = 2\n", "experiment.seed: is 2"),
        ("steps = 12\n", "steps = 6\n", "data.steps: is 6"),
        ("train_fingerprint = ", "# ", "missing field `train_fingerprint`"),
        ("particles = 10\n", "particles = 0\n", "experiment.particles: must be at least 1"),
    ] {
        replace(&config, from, to);
        let (_, error) = run(1, &["train", "--resume", &path]);
        assert!(error.contains("config.toml: ") && error.contains(words), "{words}: {error}");
        std::fs::write(&config, &whole).unwrap();
    }
}

/// What is damaged, incomplete or lost is said; nothing is made up in its place.
#[test]
fn weights_and_checkpoints_are_whole_or_refused() {
    let folder = Folder::new("whole-files");
    let training = Training::new(&folder, &["method=sdpf-supervised", "epochs=2"]);
    training.finish("run");
    let path = folder.path("run");
    let (checkpoint, best) = (format!("{path}/checkpoint.safetensors"), format!("{path}/best.safetensors"));
    let (whole, weighed) = (read(&checkpoint), read(&best));
    let refused = |command: &[&str], words: &str| {
        let (_, error) = run(1, command);
        assert!(error.contains(words), "{words}: {error}");
    };
    let (resume, evaluate) =
        (["train", "--resume", &path], ["evaluate", &path, "--data", training.data.as_str()]);
    // The lowest bits of numbers, and a letter of a name.
    for at in [weighed.len() - 4, weighed.len() / 2, 200] {
        let mut changed = weighed.clone();
        changed[at] ^= 1;
        std::fs::write(&best, changed).unwrap();
        refused(&evaluate, "best.safetensors: ");
        refused(&resume, "best.safetensors: ");
    }
    std::fs::remove_file(&best).unwrap();
    refused(&resume, "best.safetensors: is missing: the best weights, of epoch");
    std::fs::write(&best, &weighed).unwrap();
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    std::fs::write(&checkpoint, changed).unwrap();
    refused(&resume, "checkpoint.safetensors: is damaged: its contents have the checksum");
    std::fs::write(&checkpoint, &whole).unwrap();
    let all = weights::read(&checkpoint, "checkpoint").unwrap();
    let without =
        |gone: &str| all.iter().filter(|tensor| !tensor.name.starts_with(gone)).cloned().collect::<Vec<_>>();
    for gone in ["memory/", "memory/optimiser.updates", "memory/optimiser.m."] {
        weights::write(&checkpoint, "checkpoint", &without(gone)).unwrap();
        refused(&resume, "checkpoint.safetensors: is not complete: ");
    }
    std::fs::write(&checkpoint, &whole).unwrap();
    run(0, &resume);
}

/// An evaluation that the disk has no room for leaves the one before, both files of it.
#[test]
fn a_full_disk_leaves_the_evaluation_before() {
    let folder = Folder::new("full-evaluation");
    let training = Training::new(&folder, &["method=sdpf-supervised", "epochs=1"]);
    training.finish("run");
    let (path, other) = (folder.path("run"), folder.recordings("b.npz", "2"));
    run(0, &["evaluate", &path, "--data", &training.data]);
    let files = || ["evaluation.json", "episodes.json"].map(|name| read(&format!("{path}/{name}")));
    let before = files();
    // Room for the smaller of the two files alone, in blocks of 512 bytes.
    let blocks = usize::midpoint(before[0].len(), before[1].len()) / 512;
    let script = format!(r#"trap "" XFSZ; ulimit -f {blocks}; exec "$0" "$@""#);
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_driftless"), "evaluate", &path, "--data", &other]);
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains(".json: cannot write: File too large"), "{error}");
    assert!(files() == before, "one of the files was replaced");
}

/// As `timeout` does it: to the process and to its group.
#[test]
fn two_signals_leave_nothing_half_written() {
    let folder = Folder::new("two-signals");
    let out = folder.path("large.npz");
    for _ in 0..5 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_driftless"));
        let mut child = command
            .args(["simulate", "maze1", "-n", "3000", "-o", &out])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while folder.names().is_empty() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let id = child.id().to_string();
        Command::new("kill").args(["-TERM", &id, &id]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(folder.names(), Vec::<String>::new());
    }
}
