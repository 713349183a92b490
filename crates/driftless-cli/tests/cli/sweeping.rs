//! Sweeps: planned, killed, run twice at once, refused; in the end every file is that of one process.

use crate::terminal::{Folder, SMALL, driftless, read, run};
use driftless_world::random::Random;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What to type for a small sweep into a folder.
fn arguments<'a>(folder: &'a [String; 3], epochs: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let [train, test, out] = folder;
    let fixed =
        ["sweep", "maze-driftless-supervised", epochs, "--train", train, "--test", test, "--out", out];
    [&fixed[..2], &SMALL[..], &fixed[2..], more].concat()
}

fn files(folder: &Folder, out: &str) -> [String; 3] {
    [folder.path("a.npz"), folder.path("b.npz"), folder.path(out)]
}

fn with_recordings(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.recordings("a.npz", "1");
    folder.recordings("b.npz", "2");
    folder
}

fn spawn(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_driftless"));
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// All results of the runs in a folder, by name: what must not depend on who made them.
fn results(out: &str) -> Vec<(String, Vec<u8>)> {
    let names =
        ["best.safetensors", "checkpoint.safetensors", "evaluation.json", "record.json", "config.toml"];
    let mut found = Vec::new();
    for run in std::fs::read_dir(format!("{out}/runs")).unwrap() {
        let run = run.unwrap().path();
        for name in names {
            let file = run.join(name);
            found.push((
                format!("{}/{name}", run.file_name().unwrap().display()),
                std::fs::read(file).unwrap(),
            ));
        }
    }
    found.sort();
    found
}

/// Kills a process that works on a sweep, if there is one, by its claim.
fn kill_one(out: &str) -> usize {
    let Ok(entries) = std::fs::read_dir(format!("{out}/queue")) else { return 0 };
    let claims = entries.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok());
    let open = claims.filter(|text| text.lines().count() == 2 && text.contains("\"process\":"));
    let process = |text: String| text.split("\"process\":").nth(1)?.split(',').next()?.parse::<u32>().ok();
    let ours = |process: &u32| {
        std::fs::read_to_string(format!("/proc/{process}/cmdline")).is_ok_and(|words| words.contains(out))
    };
    let Some(process) = open.filter_map(process).find(ours) else { return 0 };
    usize::from(Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success())
}

#[test]
fn killed_and_twice_at_once_it_ends_in_the_same_bytes() {
    let folder = with_recordings("sweep-killed");
    let grid = ["--grid", "label_fraction=0.3,0.5", "--grid", "seed=1..2"];
    let whole = files(&folder, "whole");
    let (told, going) = run(0, &arguments(&whole, "epochs=3", &grid));
    assert!(told.contains("4 runs in") && told.contains("report/index.html"), "{told}");
    // First seeds come before second ones.
    let order: Vec<&str> = going.lines().filter(|line| line.starts_with('[')).collect();
    assert!(order[1].contains("label_fraction=0.5,seed=1") && order[2].contains("=0.3,seed=2"), "{order:?}");
    let parts = files(&folder, "parts");
    let more = [&grid[..], &["--jobs", "2"]].concat();
    let mut both = [0; 2].map(|_| spawn(&arguments(&parts, "epochs=3", &more)));
    let mut random = Random::new(5);
    let mut killed = 0;
    for _ in 0..8 {
        std::thread::sleep(Duration::from_millis(50 + random.below(200) as u64));
        killed += kill_one(&parts[2]);
    }
    // The one that is killed takes its workers with it.
    both[0].kill().unwrap();
    let codes = both.map(|mut child| child.wait().unwrap().code());
    assert_eq!(codes, [None, Some(0)]);
    assert!(killed > 0 || !Path::new("/proc/self").exists());
    let (told, going) = run(0, &arguments(&parts, "epochs=3", &grid));
    assert_eq!(going.matches("done before").count(), 4, "{going}");
    assert!(!told.contains("missing"), "{told}");
    assert!(results(&whole[2]) == results(&parts[2]), "the same files");
}

#[test]
fn what_fails_is_told_and_the_rest_is_done() {
    let folder = with_recordings("sweep-failed");
    let all = files(&folder, "out");
    let grid = ["--grid", "label_fraction=0.0,0.5", "--jobs", "2"];
    let (told, going) = run(1, &arguments(&all, "epochs=1", &grid));
    assert!(told.contains("missing: 1 of 2 runs: label_fraction=0.0"), "{told}");
    assert!(going.contains("error: label_fraction=0.0: ") && going.contains("1 runs failed"), "{going}");
    let (told, _) = run(0, &["sweep", "--status", &all[2]]);
    assert!(told.contains("1 done, 0 running, 1 failed, 0 stopped, 0 waiting"), "{told}");
    assert!(told.contains("failed  label_fraction=0.0") && told.contains("--retry"), "{told}");
    let page = String::from_utf8(read(&folder.path("out/report/index.html"))).unwrap();
    assert!(page.contains("it was planned, and is not done yet") && page.contains("label_fraction=0.0"));
    let (_, going) = run(1, &["sweep", "--resume", &all[2]]);
    assert!(going.contains("failed before") && !going.contains("[2/2]"), "{going}");
    let (_, going) = run(1, &["sweep", "--resume", &all[2], "--retry"]);
    assert!(going.contains("[2/2] label_fraction=0.0"), "{going}");
    let (_, error) = run(1, &["sweep", "--collect", &all[2]]);
    assert!(error.contains("1 runs failed"), "{error}");
}

/// Nothing of a run is touched where the machine is at fault.
#[test]
fn other_data_and_plans_changed_by_hand_are_refused() {
    let folder = with_recordings("sweep-refused");
    let all = files(&folder, "out");
    let (lines, _) = run(0, &arguments(&all, "epochs=1", &["--on", "lines"]));
    assert!(
        lines.starts_with("cd ") && lines.ends_with("--line 1\n") && lines.lines().count() == 1,
        "{lines}"
    );
    let work = ["sweep", "--work", &all[2], "--line", "1"];
    std::fs::remove_file(&all[0]).unwrap();
    let (_, error) = run(1, &work);
    assert!(error.contains("a.npz: is not there on ") && error.contains("as they were typed"), "{error}");
    folder.recordings("a.npz", "3");
    let (_, error) = run(1, &work);
    assert!(error.contains("a.npz: has other contents on ") && error.contains("was planned"), "{error}");
    let (_, error) = run(1, &["sweep", "--resume", &all[2]]);
    assert!(error.contains("could not be run, nor could others"), "{error}");
    let (told, _) = run(0, &["sweep", "--status", &all[2]]);
    assert!(told.contains("0 failed, 1 stopped, 0 waiting"), "{told}");
    std::fs::remove_file(&all[0]).unwrap();
    folder.recordings("a.npz", "1");
    let manifest = format!("{}/manifest.jsonl", all[2]);
    let text = String::from_utf8(read(&manifest)).unwrap();
    std::fs::write(&manifest, text.replace("\"epochs\":1", "\"epochs\":2")).unwrap();
    for arguments in [&work[..], &["sweep", "--status", &all[2]], &arguments(&all, "epochs=1", &[])] {
        let (_, error) = run(1, arguments);
        assert!(error.contains("manifest.jsonl: line 1: field check") && error.contains("remove"), "{error}");
    }
    std::fs::write(&manifest, text).unwrap();
    // The line is what a shell takes, and all that is needed.
    let output = Command::new("sh").args(["-c", &lines]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let (told, _) = run(0, &["sweep", "--collect", &all[2]]);
    assert!(told.contains("Driftless, labels only"), "{told}");
}

#[test]
fn time_that_is_over_leaves_the_rest_for_later() {
    let folder = with_recordings("sweep-budget");
    let all = files(&folder, "out");
    let grid = ["--grid", "seed=1..3"];
    let (told, _) = run(0, &arguments(&all, "epochs=2000", &[&grid[..], &["--budget", "2s"]].concat()));
    assert!(told.contains("no run is done yet") && told.contains("missing: 3 of 3 runs: seed=1"), "{told}");
    let (told, _) = run(0, &["sweep", "--status", &all[2]]);
    assert!(told.contains("1 stopped, 2 waiting") && told.contains("of 2000"), "{told}");
    // Begun with other settings, it is not gone on with.
    let (_, error) = run(1, &arguments(&all, "epochs=1", &grid));
    assert!(error.contains("was run with other settings"), "{error}");
}

#[test]
fn mistakes_are_named() {
    let folder = with_recordings("sweep-mistakes");
    let all = files(&folder, "out");
    for (more, code, words) in [
        (&["--grid", "seed"][..], 2, "must be KEY=VALUES"),
        (&["--grid", "sead=1..2"], 2, "did you mean `seed`?"),
        (&["--grid", "seed=1,1"], 2, "has a value twice"),
        (&["--partition", "a"], 2, "--on slurm"),
        (&["--on", "slurm", "--jobs", "2"], 2, "an engine has its own limits"),
        (&["--pass=--account=a"], 2, "choose one with --on"),
        (&["--budget", "soon"], 2, "90m"),
    ] {
        let output = driftless(&arguments(&all, "epochs=1", more));
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{more:?}: {error}");
        assert!(error.contains(words), "{more:?}: {error}");
    }
    assert!(!Path::new(&all[2]).exists(), "nothing is made of a mistake");
    let (_, error) = run(2, &["sweep", "maze-driftless"]);
    assert!(error.contains("--train and --out are needed"), "{error}");
    let (_, error) = run(1, &["sweep", "--status", &folder.path("")]);
    assert!(error.contains("holds no sweep"), "{error}");
}
