//! The command as a script sees it: files, messages and exit codes.

use crate::terminal::{Folder, read, run};
use std::path::Path;
use std::process::Command;

#[test]
fn every_verb_explains_itself_with_examples() {
    let (help, _) = run(0, &["--help"]);
    for verb in [
        "simulate",
        "inspect",
        "show",
        "convert",
        "import",
        "train",
        "evaluate",
        "report",
        "train",
        "evaluate",
        "report",
        "reproduce",
        "demo",
    ] {
        assert!(help.contains(verb), "{help}");
        let (help, _) = run(0, &[verb, "--help"]);
        assert!(help.contains("Examples:"), "{help}");
    }
    assert!(help.contains("4 `train` diverged") && help.contains("130 interrupted"), "{help}");
    run(2, &["simulte"]);
    run(2, &["simulate", "maze1"]);
    run(2, &["simulate", "maze1", "--out", "x.npz", "--size", "0"]);
}

#[test]
fn a_seed_names_bytes_whatever_the_number_of_threads() {
    let folder = Folder::new("threads");
    for (world, name) in [("maze2", "m"), ("house", "h")] {
        let files: Vec<String> = ["1", "2", "5"]
            .iter()
            .map(|threads| {
                let file = folder.path(&format!("{name}{threads}"));
                let steps = if world == "house" { "4" } else { "12" };
                run(
                    0,
                    &[
                        "simulate",
                        world,
                        "-n",
                        "40",
                        "-t",
                        steps,
                        "-s",
                        "7",
                        "--threads",
                        threads,
                        "-o",
                        &file,
                    ],
                );
                file
            })
            .collect();
        assert!(read(&files[0]) == read(&files[1]) && read(&files[0]) == read(&files[2]), "{world}");
        let other = folder.path("other");
        run(0, &["simulate", world, "-n", "40", "-t", "4", "-s", "8", "-o", &other, "--force"]);
        assert!(read(&files[0]) != read(&other));
    }
}

#[test]
fn nothing_is_overwritten_unasked_and_nothing_half_written_stays() {
    let folder = Folder::new("overwrite");
    let file = folder.path("walk.npz");
    std::fs::write(&file, "precious").unwrap();
    let (_, error) = run(1, &["simulate", "maze1", "-n", "2", "-o", &file]);
    assert!(error.contains("walk.npz: already exists; use --force"), "{error}");
    assert_eq!(read(&file), b"precious");
    for (code, wrong) in [
        (2, ["simulate", "maze1", "-n", "0", "-o", &file].as_slice()),
        (2, &["simulate", "maze1", "-t", "1", "-f", "-o", &file]),
        (2, &["simulate", "maze1", "-t", "18446744073709551615", "-f", "-o", &file]),
        (2, &["simulate", "house", "-t", "1000000000000", "-f", "-o", &file]),
        (2, &["simulate", "maze9", "-f", "-o", &file]),
        (2, &["simulate", "maze1", "-f", "--split", "test", "-o", &file]),
        (2, &["simulate", "maze1", "-f", "--odometry-noise", "0.1", "-o", &file]),
        (2, &["simulate", "maze1", "-f", "--odometry-noise", "NaN", "-o", &file]),
        (2, &["simulate", "maze1", "-f", "--format", "pfnet", "-o", &file]),
        (2, &["simulate", "house", "-f", "--policy", "plan", "-o", &file]),
        (2, &["show", &file, "-o", &folder.path("p.jpg")]),
        (1, &["simulate", "maze1", "-o", &folder.path("missing/walk.npz")]),
        (1, &["simulate", "maze1", "-o", &folder.path("missing/")]),
        (1, &["simulate", "maze1", "-o", &folder.path("")]),
        (1, &["show", &file, "-o", &folder.path("p.png")]),
        (1, &["convert", &file, "--to", "log", "-o", &folder.path("q.npz")]),
    ] {
        let (_, error) = run(code, wrong);
        assert!(error.starts_with("error: ") && error.lines().count() == 1, "{wrong:?}: {error}");
    }
    assert_eq!(
        (read(&file).as_slice(), folder.names()),
        (b"precious".as_slice(), vec!["walk.npz".to_string()])
    );
    run(0, &["simulate", "maze1", "-n", "2", "-t", "3", "--force", "-o", &file]);
    assert_eq!(folder.names(), ["walk.npz"]);
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_reported_and_leaves_nothing_behind() {
    let folder = Folder::new("full");
    let script = r#"trap "" XFSZ; ulimit -f 200; exec "$0" "$@""#;
    for arguments in [
        ["simulate", "maze1", "-n", "50", "-o", &folder.path("m.npz")].as_slice(),
        &["simulate", "maze1", "-n", "50", "--compress", "-o", &folder.path("c.npz")],
        &["simulate", "house", "-n", "30", "-o", &folder.path("h.tfrecords")],
    ] {
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_driftless")]).args(arguments);
        // Spools must be limited too, not the test's own files.
        let output = command.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.starts_with("error: ") && error.contains("File too large"), "{error}");
        assert_eq!(folder.names(), Vec::<String>::new(), "{error}");
    }
}

#[test]
fn inspect_tells_what_is_there() {
    let folder = Folder::new("inspect");
    let file = folder.path("walk.npz");
    run(0, &["simulate", "maze3", "-n", "5", "-t", "20", "-s", "3", "--policy", "mix", "-o", &file]);
    let (text, _) = run(0, &["inspect", &file]);
    for expected in
        ["DPF's layout", "world maze3, seed 3, policy mix", "5, of 19 steps", "95 of 95", "none found"]
    {
        assert!(text.contains(expected), "{expected} is missing from\n{text}");
    }
    let (json, _) = run(0, &["inspect", &file, "--json", "-n", "2"]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((value["episodes"].as_u64(), value["episodes_read"].as_u64()), (Some(5), Some(2)));
    assert_eq!(value["observation_shape"], serde_json::json!([32, 32, 4]));
    assert_eq!(value["problems"], serde_json::json!([]));
    let (_, error) = run(1, &["inspect", &file, "--steps-per-episode", "7"]);
    assert!(error.contains("100 rows are not a whole number of episodes of 7 steps"), "{error}");
}

#[test]
fn inspect_finds_problems_and_says_so_by_its_exit_code() {
    let folder = Folder::new("problems");
    let csv = folder.path("degrees.csv");
    let rows: Vec<String> = (0..6).map(|t| format!("1,{t},0,{},5", 90 * t)).collect();
    std::fs::write(&csv, format!("series_id,state_1,state_2,state_3,observation_1\n{}\n", rows.join("\n")))
        .unwrap();
    let (text, _) = run(3, &["inspect", &csv]);
    assert!(text.contains("degrees where radians are expected?") && text.contains("same number"), "{text}");
    // A record with a broken body: the others are still counted.
    let records = folder.path("h.tfrecords");
    run(0, &["simulate", "house", "-n", "3", "-t", "2", "-o", &records]);
    let mut bytes = read(&records);
    let last = bytes.len() - 100;
    bytes[last] ^= 1;
    std::fs::write(&records, &bytes).unwrap();
    let (text, _) = run(3, &["inspect", &records]);
    assert!(text.contains("record 2") && text.contains("(2 looked at)"), "{text}");
    std::fs::write(&records, &bytes[..bytes.len() - 7]).unwrap();
    let (_, error) = run(1, &["inspect", &records]);
    assert!(error.contains("h.tfrecords: record 2") && error.contains("truncated"), "{error}");
}

#[test]
fn files_of_no_known_kind_are_refused_by_name() {
    let folder = Folder::new("kinds");
    let path = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path(name), bytes).unwrap();
        folder.path(name)
    };
    for file in [
        path("empty", b""),
        path("text.txt", b"hello"),
        path("cut.npz", b"PK\x03\x04 cut"),
        folder.path("none"),
    ] {
        for arguments in [
            ["inspect", &file].as_slice(),
            &["show", &file, "-o", &folder.path("p.png")],
            &["convert", &file, "--to", "log", "-o", &folder.path("o.npz")],
        ] {
            let (_, error) = run(1, arguments);
            assert!(error.contains(&file) && error.lines().count() == 1, "{error}");
        }
    }
    let (_, error) = run(1, &["inspect", &folder.path("")]);
    assert!(error.contains("is a directory"), "{error}");
}

#[test]
fn show_draws_mazes_houses_and_paths_without_a_map() {
    let folder = Folder::new("show");
    let (maze, house, plain) =
        (folder.path("nav02.npz"), folder.path("h.tfrecords"), folder.path("plain.csv"));
    run(0, &["simulate", "maze2", "-n", "2", "-t", "10", "-o", &maze]);
    run(0, &["simulate", "house", "-n", "2", "-t", "5", "-o", &house]);
    std::fs::write(&plain, "series_id,state_1,state_2,observation_1\n1,0,0,1\n1,,,1\n1,2,3,1\n").unwrap();
    for file in [&maze, &house, &plain] {
        let picture = format!("{file}.png");
        run(0, &["show", file, "-o", &picture]);
        assert!(read(&picture).starts_with(b"\x89PNG"), "{picture}");
        let (_, error) = run(1, &["show", file, "-o", &picture]);
        assert!(error.contains("already exists"), "{error}");
    }
    let (_, error) = run(2, &["show", &maze, "-k", "2", "-o", &folder.path("x.png")]);
    assert!(error.contains("has 2 episodes, numbered from 0"), "{error}");
}

#[test]
fn own_mazes_are_walked_through_and_their_map_travels_along() {
    let folder = Folder::new("own");
    let (drawing, data) = (folder.path("my.maze"), folder.path("my.npz"));
    let text = "name mine\ncell 50\nsurface . wall weave 90 90 90 floor plain 20 90 20\n+---+---+\n|       |\n+---+---+\n";
    std::fs::write(&drawing, text).unwrap();
    run(0, &["simulate", &drawing, "-n", "3", "-t", "9", "--size", "24x16", "-o", &data]);
    let (text, _) = run(0, &["inspect", &data]);
    assert!(text.contains("world mine") && text.contains("16 x 24 x 4"), "{text}");
    run(0, &["show", &data, "-o", &folder.path("my.png")]);
    let (text, _) = run(0, &["inspect", &drawing]);
    assert!(text.contains("2 x 1 of 50 units"), "{text}");
    std::fs::write(&drawing, "surface . wall weave 90 90 90 floor plain 1 1 1\n+---+\n|  \n+---+\n").unwrap();
    let (_, error) = run(1, &["simulate", &drawing, "-o", &folder.path("x.npz")]);
    assert!(error.contains("my.maze: the outer wall has a gap (right side, cell 1)"), "{error}");
}

#[test]
fn conversion_keeps_what_a_trainer_sees() {
    let folder = Folder::new("convert");
    let (maze, log) = (folder.path("m.npz"), folder.path("log.npz"));
    run(0, &["simulate", "maze1", "-n", "3", "-t", "10", "-o", &maze]);
    run(0, &["convert", &maze, "--to", "log", "--compress", "-o", &log]);
    let figures = |file: &str| {
        let value: serde_json::Value = serde_json::from_str(&run(0, &["inspect", file, "--json"]).0).unwrap();
        (
            value["states"].clone(),
            value["actions"].clone(),
            value["observations"].clone(),
            value["steps"].clone(),
        )
    };
    assert_eq!(figures(&maze), figures(&log));
    let (_, error) = run(1, &["convert", &maze, "--to", "csv", "-o", &folder.path("x.csv")]);
    assert!(error.contains("images"), "{error}");
    assert!(!Path::new(&folder.path("x.csv")).exists());
}

#[test]
fn noisy_odometry_is_stored_where_the_layout_has_a_place_for_it() {
    let folder = Folder::new("noise");
    let (clean, noisy) = (folder.path("clean.npz"), folder.path("noisy.npz"));
    for (file, noise) in [(&clean, "0"), (&noisy, "0.1")] {
        run(0, &["simulate", "maze1", "-n", "20", "--format", "log", "--odometry-noise", noise, "-o", file]);
    }
    let forward = |file: &str| {
        let value: serde_json::Value = serde_json::from_str(&run(0, &["inspect", file, "--json"]).0).unwrap();
        (value["states"].clone(), value["actions"][0]["std"].as_f64().unwrap())
    };
    let ((states, std), (noisy_states, noisy_std)) = (forward(&clean), forward(&noisy));
    assert_eq!(states, noisy_states, "noise must not change the walk");
    // var(a n) = var(a) + 0.01 E[a²] for a factor n of mean 1 and variance 0.01: a little wider.
    assert!(noisy_std > 1.005 * std && noisy_std < 1.1 * std, "{std} {noisy_std}");
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new("pipe");
    let file = folder.path("m.npz");
    run(0, &["simulate", "maze1", "-n", "2", "-t", "5", "-o", &file]);
    let script = r#""$0" inspect "$1" 2>"$2" | true; cat "$2""#;
    let errors = folder.path("errors");
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_driftless"), &file, &errors])
        .output()
        .unwrap();
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[cfg(unix)]
#[test]
fn nobody_listening_to_errors_is_no_reason_to_crash() {
    let script = r#""$0" inspect /nowhere 2>/dev/full"#;
    let status = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_driftless")]).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    let folder = Folder::new("interrupt");
    for signal in ["INT", "TERM", "HUP"] {
        let file = folder.path("long.npz");
        let mut child = Command::new(env!("CARGO_BIN_EXE_driftless"))
            .args(["simulate", "maze1", "-n", "3000", "-o", &file])
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // It has begun to write, however slow the machine is.
        while folder.names().is_empty() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        assert_eq!(folder.names(), Vec::<String>::new(), "{signal}");
    }
}

#[test]
fn odometry_that_leads_elsewhere_is_a_problem() {
    let folder = Folder::new("odometry");
    let file = folder.path("h.tfrecords");
    run(0, &["simulate", "house", "-n", "2", "-t", "20", "--odometry-noise", "0.5", "-o", &file]);
    let (text, _) = run(3, &["inspect", &file]);
    assert!(text.contains("record 0: odometry and states differ by up to"), "{text}");
    run(0, &["simulate", "house", "-n", "2", "-t", "20", "--force", "-o", &file]);
    run(0, &["inspect", &file]);
}

#[test]
fn records_that_disagree_are_a_problem() {
    let folder = Folder::new("disagree");
    let (small, large, both) =
        (folder.path("s.tfrecords"), folder.path("l.tfrecords"), folder.path("b.tfrecords"));
    run(0, &["simulate", "house", "-n", "1", "-t", "2", "--size", "8", "-o", &small]);
    run(0, &["simulate", "house", "-n", "1", "-t", "2", "--size", "9", "-o", &large]);
    std::fs::write(&both, [read(&small), read(&large)].concat()).unwrap();
    let (text, _) = run(3, &["inspect", &both]);
    assert!(text.contains("episode 1 has images of 9 x 9 x 4 bytes"), "{text}");
    let (_, error) = run(1, &["convert", &both, "--to", "log", "-o", &folder.path("o.npz")]);
    assert!(error.contains("b.tfrecords: episode 1: ") && error.contains("another shape"), "{error}");
}

/// No disk holds 2⁶⁴ episodes, nor 10¹² of houses: said before anything is written.
#[test]
fn what_no_disk_holds_is_refused() {
    let folder = Folder::new("room");
    let out = folder.path("a.npz");
    for arguments in [
        ["maze1", "-n", "18446744073709551615"].as_slice(),
        &["maze1", "-n", "10000000000000", "--compress"],
        &["maze2", "-n", "1000000000000", "--format", "log"],
        &["house", "-n", "1000000000000"],
    ] {
        let (_, error) = run(2, &[&["simulate", "-o", &out], arguments].concat());
        assert!(error.contains("frames take at least") && error.contains("TB, and"), "{error}");
        assert!(error.contains("are free; make fewer episodes or smaller images"), "{error}");
    }
    assert!(folder.names().is_empty(), "nothing was begun");
}
