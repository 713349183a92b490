//! `driftless track`: what is written is what an evaluation says, from a log or as a stream, whatever is missing or broken.

use crate::terminal::{Folder, SMALL, read, run};
use driftless::learn::{Detail, Experiment, Purpose, Recordings, Tracking, Trained};
use driftless::methods::build;
use driftless_world::files::log::LogWriter;
use driftless_world::files::{Overwrite, zip::Method};
use driftless_world::pose::{Frame, Pose};
use driftless_world::random::Random;
use driftless_world::trajectory::{Labels, Observations, Rows, Trajectory};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

const BEAMS: usize = 36;
pub const STEPS: usize = 12;

/// Distances to the walls of a room, 6 m by 4 m.
fn scan(pose: Pose, random: &mut Random) -> Vec<f32> {
    let beam = |k: usize| {
        let (sine, cosine) = (pose.heading + std::f64::consts::TAU * k as f64 / BEAMS as f64).sin_cos();
        let wall =
            |at: f64, along: f64, size: f64| if along > 0.0 { (size - at) / along } else { -at / along };
        (wall(pose.x, cosine, 6.0).min(wall(pose.y, sine, 4.0)) + 0.02 * random.normal()) as f32
    };
    (0..BEAMS).map(beam).collect()
}

/// Robots that drive in circles. The fourth scan is missing, and so is the motion into the sixth step; a few beams met
/// nothing.
pub fn episodes(seed: u64, count: u64) -> Vec<Trajectory> {
    let one = |number: u64| {
        let mut random = Random::stream(seed, number);
        let mut pose = Pose::new(random.range(2.0, 4.0), random.range(1.2, 2.2), random.range(-3.0, 3.0));
        let (mut seen, mut moved, mut truth) = (Vec::new(), Vec::new(), Vec::new());
        for t in 0..STEPS {
            let action = [0.15, 0.0, 0.25 + 0.05 * random.normal()];
            if t > 0 {
                pose = pose.moved(action, Frame::Robot);
            }
            moved.extend(if t == 6 { [f32::NAN; 3] } else { action.map(|x| x as f32) });
            truth.extend([pose.x, pose.y, pose.heading].map(|x| x as f32));
            let mut beams = scan(pose, &mut random);
            beams[t] = f32::NAN;
            seen.extend(if t == 4 { vec![f32::NAN; BEAMS] } else { beams });
        }
        let rows = |width: usize, values: Vec<f32>| Rows::new(width, values).unwrap();
        let states = Labels::all(rows(3, truth));
        let episode =
            Trajectory::new(Observations::Vectors(rows(BEAMS, seen)), rows(3, moved), states).unwrap();
        let times = (0..STEPS).map(|t| 1000.0 * number as f64 + 0.5 * t as f64).collect();
        Trajectory { times: Some(times), ..episode }
    };
    (0..count).map(one).collect()
}

pub fn write(path: &str, episodes: &[Trajectory]) {
    let angles = (0..BEAMS).map(|k| std::f64::consts::TAU * k as f64 / BEAMS as f64).collect();
    let mut file =
        LogWriter::create(path, Overwrite::Replace, Method::Stored, "").unwrap().with_beam_angles(angles);
    for episode in episodes {
        file.push(episode).unwrap();
    }
    file.finish().unwrap();
}

/// A run that was trained from a log, and a log of robots it has not seen.
fn trained(folder: &Folder) -> (String, String, Vec<Trajectory>) {
    let (log, unseen, to) = (folder.path("log.npz"), folder.path("unseen.npz"), folder.path("run"));
    write(&log, &episodes(1, 6));
    let followed = episodes(2, 3);
    write(&unseen, &followed);
    run(
        0,
        &[
            "train",
            "--train",
            &log,
            "--run",
            &to,
            "label_fraction=0.5",
            "epochs=1",
            "robot.global_poses=2000",
        ],
    );
    (to, unseen, followed)
}

/// Cells of a csv file by its header.
pub fn table(path: &str) -> Vec<Vec<f64>> {
    let text = String::from_utf8(read(path)).unwrap();
    let cells = |line: &str| line.split(',').map(|cell| cell.parse().unwrap_or(f64::NAN)).collect();
    text.lines().skip(1).map(cells).collect()
}

/// What an evaluation says, through the library: poses of all episodes.
pub fn evaluated(to: &str, data: &str, settings: &[&str]) -> Vec<Vec<Pose>> {
    let trained = Trained::open(to, &build).unwrap();
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    let experiment = trained.config.experiment.with(&settings).unwrap();
    let experiment = Experiment { odometry_noise: 0.0, pixel_noise: 0.0, ..experiment };
    let recordings = Recordings::open(data.as_ref(), None, &experiment, 5, Purpose::Evaluation).unwrap();
    let tracking = Tracking { particles: 50, seed: 5, detail: Detail::Means };
    let tracks = trained.follow(&recordings, 0..recordings.len(), tracking).unwrap();
    tracks.into_iter().map(|track| track.estimate).collect()
}

/// The command reads a text, and ends with a code; standard output and standard error.
pub fn streamed(code: i32, arguments: &[&str], text: &[u8]) -> (String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_driftless"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = text.to_vec();
    let writer = std::thread::spawn(move || drop(input.write_all(&text)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}\n{error}");
    (out, error)
}

fn numbers(row: &[f32]) -> Vec<Value> {
    row.iter().map(|&x| if x.is_finite() { json!(x) } else { Value::Null }).collect()
}

pub fn line(episode: &Trajectory, t: usize) -> Value {
    let Observations::Vectors(rows) = &episode.observations else { panic!("scans") };
    json!({
        "time": episode.times.as_ref().unwrap()[t],
        "scan": numbers(rows.row(t)),
        "odometry": numbers(episode.actions.row(t)),
    })
}

pub fn text(lines: &[Value]) -> String {
    lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

pub fn poses(out: &str) -> Vec<[f64; 3]> {
    let pose = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        std::array::from_fn(|k| value["pose"][k].as_f64().unwrap())
    };
    out.lines().map(pose).collect()
}

/// Follows the unseen robots from anywhere, under one seed; standard output, and the file.
fn tracked(folder: &Folder, (to, unseen): (&str, &str), name: &str, more: &[&str]) -> (String, String) {
    let path = folder.path(name);
    let usual =
        ["track", to, "--data", unseen, "--out", &path, "--start", "global", "--particles", "50", "-s", "5"];
    (run(0, &[&usual[..], more].concat()).0, path)
}

/// Robots that may be anywhere are followed as an evaluation follows them, to the last bit; and the first line of a summary
/// says how far off they are.
#[test]
fn what_is_written_is_what_an_evaluation_says() {
    let folder = Folder::new("track-table");
    let (to, unseen, followed) = trained(&folder);
    let expected = evaluated(&to, &unseen, &["robot.start=global"]);
    let track = |name: &str, more: &[&str]| tracked(&folder, (&to, &unseen), name, more);
    let (said, csv) = track("e.csv", &[]);
    assert!(said.starts_with("at 36 known poses") && said.contains("position error, m"), "{said}");
    let rows = table(&csv);
    assert_eq!(rows.len(), 3 * STEPS);
    for (i, row) in rows.iter().enumerate() {
        let (episode, t) = (i / STEPS, i % STEPS);
        let Pose { x, y, heading } = expected[episode][t];
        let time = followed[episode].times.as_ref().unwrap()[t];
        assert_eq!(row[..6], [episode as f64, t as f64, time, x, y, heading]);
        assert!(row[6] > 0.0 && row[12] > 0.0 && (0.0..=1.0).contains(&row[14]), "{row:?}");
        assert_eq!(row[15..], [0.0, f64::from(u8::from(t != 4)), f64::from(u8::from(t != 6))], "step {t}");
    }
    let (_, again) = track("again.csv", &["--threads", "1"]);
    assert_eq!(read(&csv), read(&again), "the same seed, the same bytes");
    let (_, one) = track("one.csv", &["--from", "1", "--episodes", "1"]);
    assert_eq!(table(&one), rows[STEPS..2 * STEPS], "an episode alone is the same");
}

/// All formats say the same.
#[test]
fn formats_agree() {
    let folder = Folder::new("track-formats");
    let (to, unseen, _) = trained(&folder);
    let track = |name: &str, more: &[&str]| tracked(&folder, (&to, &unseen), name, more).1;
    let rows = table(&track("e.csv", &[]));
    let found = poses(&String::from_utf8(read(&track("e.jsonl", &[]))).unwrap());
    assert!(found.iter().zip(&rows).all(|(pose, row)| pose == &row[3..6]));
    track("e.tum", &[]);
    for episode in 0..3 {
        let text = String::from_utf8(read(&folder.path(&format!("e-{episode}.tum")))).unwrap();
        assert_eq!(text.lines().count(), 1 + STEPS);
        for (line, row) in text.lines().skip(1).zip(&rows[episode * STEPS..]) {
            let cells: Vec<f64> = line.split(' ').map(|cell| cell.parse().unwrap()).collect();
            assert_eq!(cells[..3], row[2..5]);
            assert!((2.0 * cells[6].atan2(cells[7]) - row[5]).abs() < 1e-12);
        }
    }
    let mcaps = ["e.mcap", "again.mcap"].map(|name| read(&track(name, &["--cloud", "20"])));
    assert_eq!(mcaps[0], mcaps[1], "the same bytes");
}

/// A stream says what the log says: for one robot, for robots that drive at the same time, and for one that starts anew.
#[test]
fn a_stream_is_the_log() {
    let folder = Folder::new("track-stream");
    let (to, unseen, followed) = trained(&folder);
    let csv = folder.path("e.csv");
    let usual = ["--particles", "50", "-s", "5"];
    run(0, &[&["track", &to, "--data", &unseen, "--out", &csv, "--start", "global"], &usual[..]].concat());
    let expected: Vec<[f64; 3]> = table(&csv).iter().map(|row| [row[3], row[4], row[5]]).collect();
    let stream = [&["track", &to, "--stream"], &usual[..]].concat();
    // One after the other: "pose": "global" begins anew, with the next random numbers.
    let mut lines = Vec::new();
    for episode in &followed {
        for t in 0..STEPS {
            let mut line = line(episode, t);
            if t == 0 {
                line["pose"] = "global".into();
            }
            lines.push(line);
        }
    }
    let (out, error) = streamed(0, &stream, text(&lines).as_bytes());
    assert_eq!(poses(&out), expected, "{error}");
    assert_eq!(streamed(0, &stream, text(&lines).as_bytes()).0, out, "the same bytes");
    // All at once, each under its name.
    let mut lines = Vec::new();
    for t in 0..STEPS {
        for (number, episode) in followed.iter().enumerate() {
            let mut line = line(episode, t);
            line["robot"] = format!("robot {number}").into();
            lines.push(line);
        }
    }
    let (out, _) = streamed(0, &stream, text(&lines).as_bytes());
    let found = poses(&out);
    for (i, pose) in found.iter().enumerate() {
        assert_eq!(pose, &expected[i % 3 * STEPS + i / 3]);
    }
    assert!(out.starts_with("{\"robot\":\"robot 0\",\"episode\":0,\"step\":0,\"time\":0.0,"), "{out}");
}

/// Told where it is, within a centimetre.
#[test]
fn a_line_starts_a_robot() {
    let folder = Folder::new("track-pose");
    let (to, _, followed) = trained(&folder);
    let mut first = line(&followed[0], 0);
    first["pose"] = numbers(followed[0].states.get(0).unwrap()).into();
    first["spread"] = json!([0.01, 0.01, 0.01]);
    let found = poses(&streamed(0, &["track", &to, "--stream"], text(&[first]).as_bytes()).0);
    let truth = followed[0].states.get(0).unwrap();
    assert!((0..2).all(|k| (found[0][k] - f64::from(truth[k])).abs() < 0.05), "{found:?} {truth:?}");
}

/// Broken lines are numbered and skipped, and the others are as if they were not there.
#[test]
fn broken_lines_are_skipped() {
    let folder = Folder::new("track-broken");
    let (to, _, followed) = trained(&folder);
    let stream = ["track", &to, "--stream", "--start", "3,2,0.5,0.2,0.3"];
    let good: Vec<String> = (0..4).map(|t| line(&followed[0], t).to_string()).collect();
    let (expected, _) = streamed(0, &stream, good.join("\n").as_bytes());
    assert_eq!(expected.lines().count(), 4);
    let mut text = Vec::new();
    let broken: [&[u8]; 8] = [
        b"{\"time\": ",
        b"\xff\xfe{}",
        b"{\"scan\": [1, 2]}",
        b"[]",
        b"{\"odometry\": [1e999, 0, 0]}",
        b"{\"pose\": [0, 0]  \"scan\"}",
        b"{\"pose\": [1, 2, 3], \"scan\": [7]}",
        b"{\"image\": \"no base64\"}",
    ];
    for (k, line) in good.iter().enumerate() {
        for broken in &broken[2 * k..2 * k + 2] {
            text.extend_from_slice(broken);
            text.extend_from_slice(b"\n\n");
        }
        text.extend_from_slice(format!("{line}\r\n").as_bytes());
    }
    let (out, error) = streamed(3, &stream, &text);
    assert_eq!(out, expected, "{error}");
    for said in
        ["line 1: EOF", "line 3: is not UTF-8", "line 6: readings: has 2 numbers, 36 are wanted", "line 11: "]
    {
        assert!(error.contains(said), "{said}\n{error}");
    }
    assert!(error.ends_with("8 of 20 lines were broken, and skipped\n"), "{error}");
    // Nothing at all is no error, and neither is a line that says nothing, NaN as Python has it, or a field nobody knows.
    assert_eq!(streamed(0, &stream, b"").0, "");
    let (out, error) =
        streamed(0, &stream, b"{}\n{\"odometry\": [NaN, 0, 0], \"odom\": 1}\n{\"scan\": null, \"odom\": 2}");
    assert!(out.lines().count() == 3 && out.matches("\"saw\":false,\"moved\":false").count() == 3, "{out}");
    assert_eq!(error.matches("field \"odom\" is not known").count(), 1, "{error}");
}

/// Estimates come as lines do: each is there before the next line is typed.
#[test]
fn every_line_is_flushed() {
    use std::io::{BufRead, BufReader};
    let folder = Folder::new("track-flush");
    let (to, _, followed) = trained(&folder);
    let mut child = Command::new(env!("CARGO_BIN_EXE_driftless"))
        .args(["track", &to, "--stream"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for t in 0..3 {
        writeln!(input, "{}", line(&followed[0], t)).unwrap();
        let mut said = String::new();
        output.read_line(&mut said).unwrap();
        assert!(said.contains(&format!("\"step\":{t},")), "{said}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// Logs without truth, and what cannot be done: messages, exit codes, and no file left behind.
#[test]
fn without_truth_and_wrong_usage() {
    let folder = Folder::new("track-usage");
    let (to, _, followed) = trained(&folder);
    let hidden = |keep: usize| -> Vec<Trajectory> {
        let hide = |episode: &Trajectory| {
            let mut states = Labels::new(3);
            for t in 0..STEPS {
                states.push(episode.states.get(t).filter(|_| t >= keep));
            }
            Trajectory { states, ..episode.clone() }
        };
        followed.iter().map(hide).collect()
    };
    let (bare, partly, csv) = (folder.path("bare.npz"), folder.path("partly.npz"), folder.path("e.csv"));
    write(&bare, &hidden(STEPS));
    write(&partly, &hidden(3));
    let names = folder.names();
    let fails = |code: i32, more: &[&str], said: &str| {
        let (_, error) = run(code, &[&["track", &to], more].concat());
        assert!(error.contains(said), "{more:?}: {error}");
        assert_eq!(folder.names(), names);
    };
    fails(1, &["--data", &bare, "--out", &csv, "--start", "log"], "episode 0: no pose is known");
    fails(2, &["--data", &bare, "--out", &csv, "--start", "here"], "--start here: must be log, global");
    fails(2, &["--data", &bare, "--out", &csv, "--start", "1,2,3,-1"], "must be 0 or more");
    fails(2, &["--data", &bare, "--out", &csv, "--from", "3"], "there are 3 episodes");
    fails(2, &["--data", &bare, "--out", &folder.path("e.txt")], "say which by --format");
    fails(2, &["--data", &bare], "--out");
    fails(2, &["--stream", "--data", &bare], "cannot be used with");
    fails(2, &["--stream", "--start", "log"], "a stream has no log");
    let (said, error) = run(0, &["track", &to, "--data", &bare, "--out", &csv]);
    assert!(
        said.starts_with("36 steps of 3 episodes in ") && error.contains("3 of 3 robots were not told"),
        "{said}{error}"
    );
    fails_again(&to, &bare, &csv);
    run(0, &["track", &to, "--data", &partly, "--out", &csv, "--start", "log", "--force"]);
    let rows = table(&csv);
    assert!(rows.len() == 27 && rows[0][1] == 3.0, "it begins where the first pose is known");
    let truth = followed[0].states.get(3).unwrap();
    assert!((rows[0][3] - f64::from(truth[0])).abs() < 0.3);
}

fn fails_again(to: &str, data: &str, csv: &str) {
    let (_, error) = run(1, &["track", to, "--data", data, "--out", csv]);
    assert!(error.contains("--force"), "{error}");
}

/// Mazes too: as in an evaluation without noise; and a method that has no online filter follows whole episodes.
#[test]
fn mazes_and_methods_without_an_online_filter() {
    let folder = Folder::new("track-maze");
    let (data, unseen) = (folder.recordings("a.npz", "1"), folder.recordings("b.npz", "2"));
    for experiment in ["maze-driftless", "maze-lstm"] {
        let (to, csv) = (folder.path(experiment), folder.path(&format!("{experiment}.csv")));
        run(0, &[&["train", experiment, "--train", &data, "--run", &to], &SMALL[..], &["epochs=1"]].concat());
        run(0, &["track", &to, "--data", &unseen, "--out", &csv, "--particles", "50", "-s", "5"]);
        let expected: Vec<[f64; 3]> = evaluated(&to, &unseen, &[])
            .into_iter()
            .flatten()
            .map(|Pose { x, y, heading }| [x, y, heading])
            .collect();
        let rows = table(&csv);
        assert!(rows.len() == expected.len() && rows.len() == 8 * 11);
        assert!(rows.iter().zip(&expected).all(|(row, pose)| &row[3..6] == pose), "{experiment}");
        assert_eq!(rows[0][6].is_nan(), experiment == "maze-lstm", "no belief, no covariance");
    }
    let (_, error) = streamed(1, &["track", &folder.path("maze-lstm"), "--stream"], b"");
    assert!(error.contains("cannot track step by step"), "{error}");
    let pixels = driftless_world::files::base64::encode(&[7; 16 * 16 * 3]);
    let text = format!(
        "{{\"image\": {{\"size\": [16, 16, 3], \"data\": \"{pixels}\"}}}}\n{{\"image\": {{\"size\": [8, 32, 3], \"data\": \"{pixels}\"}}}}"
    );
    let (out, error) = streamed(3, &["track", &folder.path("maze-driftless"), "--stream"], text.as_bytes());
    assert!(
        out.contains("\"saw\":true") && error.contains("line 2: image: has 8 x 32 pixels"),
        "{out}{error}"
    );
}
