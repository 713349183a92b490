//! States of named coordinates on the command line: from a log of an arm to its estimates, and what is wrong with others.

use crate::terminal::{Folder, run};
use crate::tracking::streamed;
use driftless_world::files::log::LogWriter;
use driftless_world::files::{Overwrite, zip::Method};
use driftless_world::pose::wrap;
use driftless_world::random::Random;
use driftless_world::trajectory::{Labels, Observations, Rows, Trajectory};
use serde_json::{Value, json};

fn read(path: &str) -> String {
    String::from_utf8(crate::terminal::read(path)).unwrap()
}

const STEPS: usize = 30;
pub const NAMES: [&str; 2] =
    ["state.coordinates=[\"shoulder\",\"elbow\"]", "state.angles=[\"shoulder\",\"elbow\"]"];

/// Two joints that turn, and where elbow and hand are seen.
pub fn episodes(seed: u64, count: u64) -> Vec<Trajectory> {
    let one = |number: u64| {
        let mut random = Random::stream(seed, number);
        let mut angles = [random.range(-3.0, 3.0), random.range(-3.0, 3.0)];
        let (mut seen, mut moved, mut truth) = (Vec::new(), Vec::new(), Vec::new());
        for t in 0..STEPS {
            let change = [0.2 * random.normal(), 0.2 * random.normal()];
            if t > 0 {
                angles = [0, 1].map(|k| wrap(angles[k] + change[k]));
            }
            let whole = angles[0] + angles[1];
            let read = [angles[0].cos(), angles[0].sin(), whole.cos(), whole.sin()];
            moved.extend(if t == 5 { [f32::NAN; 2] } else { change.map(|x| x as f32) });
            seen.extend(read.map(|x| (x + 0.1 * random.normal()) as f32));
            truth.extend(angles.map(|x| x as f32));
        }
        let rows = |width: usize, values: Vec<f32>| Rows::new(width, values).unwrap();
        let seen = Observations::Vectors(rows(4, seen));
        Trajectory::new(seen, rows(2, moved), Labels::all(rows(2, truth))).unwrap()
    };
    (0..count).map(one).collect()
}

fn write(path: &str, episodes: &[Trajectory]) {
    let mut file = LogWriter::create(path, Overwrite::Replace, Method::Stored, "").unwrap();
    for episode in episodes {
        file.push(episode).unwrap();
    }
    file.finish().unwrap();
}

/// A run of an arm, and a log that it has not seen.
pub fn trained(folder: &Folder) -> (String, String) {
    let (log, unseen, to) = (folder.path("arm.npz"), folder.path("unseen.npz"), folder.path("run"));
    write(&log, &episodes(1, 8));
    write(&unseen, &episodes(2, 2));
    let train =
        ["train", "--train", &log, "--run", &to, NAMES[0], NAMES[1], "label_fraction=0.3", "epochs=2"];
    let (_, told) = run(0, &train);
    for words in
        ["state: shoulder (angle), elbow (angle)", "changes of the coordinates", "a vector of 4 numbers"]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
    (to, unseen)
}

/// The table of an evaluation, the columns of estimates and the pictures of a report have the coordinates' names.
#[test]
fn an_arm_from_its_log_to_a_report() {
    let folder = Folder::new("coordinates");
    let (to, unseen) = trained(&folder);
    let (table, _) = run(0, &["evaluate", &to, "--data", &unseen]);
    assert!(
        table.contains("shoulder, rad") && table.contains("elbow, rad") && !table.contains("heading"),
        "{table}"
    );
    let evaluation: Value = serde_json::from_str(&read(&format!("{to}/evaluation.json"))).unwrap();
    let error = |k: usize| evaluation["coordinates"][k]["rmse"]["value"].as_f64().unwrap();
    assert!(error(0) < 0.2 && error(1) < 0.3, "{} {}", error(0), error(1));
    let out = folder.path("estimates.csv");
    let (told, _) = run(0, &["track", &to, "--data", &unseen, "--out", &out]);
    assert!(told.contains("at 60 known states") && told.contains("error of elbow, rad"), "{told}");
    let csv = read(&out);
    let head = "episode,step,time,shoulder,elbow,cov_shoulder_shoulder,cov_shoulder_elbow,cov_elbow_elbow,\
                effective_sample_size,particles,kidnapped,collapsed,saw,moved";
    assert_eq!(csv.lines().next(), Some(head));
    assert!(csv.lines().all(|line| line.split(',').count() == 14) && csv.lines().count() == 61);
    let (smoothed, _) = run(0, &["smooth", &to, "--data", &unseen, "--out", &folder.path("smoothed.csv")]);
    for joint in ["shoulder", "elbow"] {
        let error = |who: &str| -> f64 {
            let after = smoothed.split(&format!("error of {joint}, rad, {who} ")).nth(1).unwrap();
            after.split_whitespace().next().unwrap().parse().unwrap()
        };
        assert!(error("smoothed") < error("filter"), "{smoothed}");
    }
    assert_eq!(read(&folder.path("smoothed.csv")).lines().next(), Some(head));
    for name in ["path.tum", "path.mcap"] {
        let (_, words) = run(2, &["track", &to, "--data", &unseen, "--out", &folder.path(name)]);
        assert!(words.contains("the run follows shoulder, elbow; write .csv or .jsonl"), "{words}");
    }
    let report = folder.path("report");
    run(0, &["report", &to, "--out", &report]);
    let page = read(&format!("{report}/index.html"));
    assert!(page.contains("shoulder over time") && page.contains("Errors of each coordinate"));
    assert!(read(&format!("{report}/coordinates.csv")).contains("elbow, rad"));
}

/// A stream says, number by number, what following the log says.
#[test]
fn an_arm_as_a_stream() {
    let folder = Folder::new("coordinate-stream");
    let (to, unseen) = trained(&folder);
    let out = folder.path("estimates.jsonl");
    run(0, &["track", &to, "--data", &unseen, "--out", &out, "--episodes", "1"]);
    let logged: Vec<Value> = read(&out).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let episode = &episodes(2, 1)[0];
    let Observations::Vectors(seen) = &episode.observations else { panic!("vectors") };
    let mut lines = String::new();
    for t in 0..STEPS {
        let change = episode.actions.row(t);
        let odometry = if change[0].is_nan() { Value::Null } else { json!(change) };
        let mut line = json!({ "observation": seen.row(t), "odometry": odometry });
        if t == 0 {
            line["pose"] = json!(episode.states.get(0));
        }
        lines += &(line.to_string() + "\n");
    }
    let (told, problems) = streamed(0, &["track", &to, "--stream"], lines.as_bytes());
    assert_eq!(problems, "");
    let streamed_rows: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(streamed_rows.len(), STEPS);
    for (found, logged) in streamed_rows.iter().zip(&logged) {
        assert_eq!((&found["state"], &found["covariance"]), (&logged["state"], &logged["covariance"]));
    }
    assert!(logged[3]["state"]["shoulder"].is_f64() && logged[3].get("pose").is_none());
    for (line, problem) in [
        ("{\"odometry\": [1, 2, 3]}", "a change of each of 2 coordinates is wanted"),
        ("{\"pose\": [1, 2, 3]}", "2 numbers are wanted, of it and of spread: shoulder, elbow"),
        ("{\"observation\": [1]}", "has 1 numbers, 4 are wanted"),
    ] {
        let (_, problems) = streamed(3, &["track", &to, "--stream"], line.as_bytes());
        assert!(problems.contains(problem), "{line}: {problems}");
    }
}

/// Damaged and mistaken logs have one sentence each, and leave nothing behind.
#[test]
fn what_is_wrong_is_said() {
    let folder = Folder::new("coordinates-refused");
    let log = folder.path("arm.npz");
    write(&log, &episodes(1, 4));
    let to = folder.path("run");
    let refused = |code: i32, settings: &[&str], words: &str| {
        let (_, told) = run(code, &[&["train", "--train", &log, "--run", &to], settings].concat());
        assert!(told.contains(words), "{settings:?}: {told}");
        assert!(!std::path::Path::new(&to).exists());
    };
    refused(
        1,
        &["state.coordinates=[\"a\",\"b\",\"c\"]"],
        "has 2 numbers a step, but state.coordinates names 3: a, b, c",
    );
    refused(2, &["state.coordinates=[\"a\",\"a\"]"], "has two of the name `a`");
    refused(
        2,
        &["state.coordinates=[\"a\",\"b\"]", "state.angles=[\"c\"]"],
        "`c` is none of the coordinates: a, b",
    );
    refused(1, &["state.angles=[\"elbow\"]"], "called s0, s1 as long as state.coordinates gives no names");
    refused(1, &[NAMES[0], "method=sdpf"], "sdpf follows poses in the plane");
    refused(1, &[NAMES[0], "label_fraction=0"], "label_fraction");
    let mut wide = episodes(1, 4);
    for episode in &mut wide {
        episode.states = Labels::all(Rows::new(9, vec![0.5; 9 * STEPS]).unwrap());
    }
    write(&log, &wide);
    refused(1, &[], "has 9 numbers a step; 8 coordinates are the most");
    for episode in &mut wide {
        let mut values = vec![0.5; 4 * STEPS];
        values[6] = f32::NAN;
        episode.states = Labels::all(Rows::new(4, values).unwrap());
    }
    write(&log, &wide);
    refused(1, &[], "is NaN in part; a step is labelled wholly or not at all");
}
