//! `driftless serve`: what it answers is what a stream says, whoever else is there, whatever is broken, late or too much, and
//! whenever it is killed.

mod page;
mod server;
mod trouble;

use crate::terminal::{Folder, run};
use crate::tracking::{STEPS, episodes, line, streamed, text, write};
use serde_json::{Value, json};
use server::{Server, wait};
use std::collections::BTreeMap;

/// A run that was trained from a log of scans.
pub fn trained(folder: &Folder) -> String {
    let (log, to) = (folder.path("log.npz"), folder.path("run"));
    write(&log, &episodes(1, 6));
    let settings = ["label_fraction=0.5", "epochs=1", "robot.global_poses=2000"];
    run(0, &[&["train", "--train", &log, "--run", &to], &settings[..]].concat());
    to
}

/// Lines of robots that drive at the same time, step after step, each with its number.
pub fn fleet_lines(robots: u64) -> Vec<Value> {
    let walks = episodes(2, robots);
    let one = |(number, t): (usize, usize)| {
        let mut line = line(&walks[number], t);
        line["robot"] = format!("robot {number}").into();
        line["step"] = t.into();
        line
    };
    (0..STEPS).flat_map(|t| (0..walks.len()).map(move |number| (number, t))).map(one).collect()
}

/// Answers by robot and step.
fn by_robot(answers: &[String]) -> BTreeMap<(String, u64), String> {
    let key = |answer: &String| {
        let value: Value = serde_json::from_str(answer).unwrap();
        let step = value["step"].as_u64()?;
        Some(((value["robot"].as_str().unwrap_or_default().to_owned(), step), answer.clone()))
    };
    answers.iter().filter_map(key).collect()
}

/// A robot without a name gets the bytes that `track --stream` writes, though another one drives beside it.
#[test]
fn what_is_answered_is_what_a_stream_says() {
    let folder = Folder::new("serve-stream");
    let to = trained(&folder);
    let walk = episodes(2, 1).remove(0);
    let mut lines: Vec<Value> = (0..STEPS).map(|t| line(&walk, t)).collect();
    lines[7]["pose"] = json!([3.0, 2.0, 0.1]);
    let usual = ["--particles", "50", "-s", "5"];
    let (expected, _) =
        streamed(0, &[&["track", &to, "--stream"], &usual[..]].concat(), text(&lines).as_bytes());
    let server = Server::new(&[&["serve", &to], &usual[..]].concat());
    let (mut one, mut other) = (server.client(), server.client());
    let mut found = String::new();
    for (line, beside) in lines.iter().zip(fleet_lines(1)) {
        other.send(&beside.to_string());
        found += &(one.asked(&line.to_string()) + "\n");
        other.answer();
    }
    assert_eq!(found, expected);
    let said = server.end();
    assert!(said.contains(&format!("{} steps", 2 * STEPS)), "{said}");
}

/// Ended by SIGTERM in the middle and begun again: the same bytes as without a break, though all is sent again; what is
/// known is late.
#[test]
fn a_restart_goes_on_exactly() {
    let folder = Folder::new("serve-restart");
    let (to, state) = (trained(&folder), folder.path("state"));
    let lines: Vec<String> = fleet_lines(3).iter().map(Value::to_string).collect();
    let arguments = ["serve", &to, "--particles", "50"];
    let server = Server::new(&arguments);
    let whole = by_robot(&server.client().asked_all(&lines));
    server.end();
    let arguments = [&arguments[..], &["--state", &state]].concat();
    let server = Server::new(&arguments);
    let half = lines.len() / 2;
    let before = by_robot(&server.client().asked_all(&lines[..half]));
    let said = server.end();
    assert!(said.ends_with("; 3 robots in the last snapshot\n"), "{said}");
    let server = Server::new(&arguments);
    assert!(server.said.contains("3 robots go on from where they were"), "{}", server.said);
    let answers = server.client().asked_all(&lines);
    let late = answers.iter().filter(|answer| answer.contains("is not newer than")).count();
    assert_eq!(late, half);
    let both: BTreeMap<_, _> = before.into_iter().chain(by_robot(&answers)).collect();
    assert_eq!(both, whole);
    server.end();
}

/// Killed without a word, after any snapshot: what is sent again is answered as it was, or is late.
#[test]
fn a_killed_server_goes_on_from_its_snapshot() {
    let folder = Folder::new("serve-killed");
    let (to, state) = (trained(&folder), folder.path("state"));
    let lines: Vec<String> = fleet_lines(3).iter().map(Value::to_string).collect();
    let usual = ["serve", &to, "--particles", "50"];
    let server = Server::new(&usual);
    let whole = by_robot(&server.client().asked_all(&lines));
    server.end();
    let arguments = [&usual[..], &["--state", &state, "--snapshot-every", "0.05s"]].concat();
    let file = folder.path("state/beliefs.snapshot");
    let mut last = BTreeMap::new();
    for end in [4, 15, 27, lines.len()] {
        let server = Server::new(&arguments);
        let answers = by_robot(&server.client().asked_all(&lines[..end]));
        assert!(answers.iter().all(|(key, answer)| &whole[key] == answer), "{answers:?}");
        last.extend(answers);
        // Another snapshot is written, and perhaps half of one more.
        let before = std::fs::metadata(&file).ok().and_then(|file| file.modified().ok());
        wait(|| std::fs::metadata(&file).ok().and_then(|file| file.modified().ok()) != before);
        server.kill();
    }
    assert_eq!(last, whole);
}

/// A server that has kept the belief of one robot; its arguments, and its snapshot.
fn kept(folder: &Folder) -> (Vec<String>, String) {
    let arguments = ["serve".to_owned(), trained(folder), "--state".to_owned(), folder.path("state")];
    let server = Server::new(&arguments.each_ref().map(String::as_str));
    server.client().asked(&fleet_lines(1)[0].to_string());
    let (_, error) = run(1, &arguments.each_ref().map(String::as_str));
    assert!(error.contains("is in use by another process"), "{error}");
    server.end();
    (arguments.to_vec(), folder.path("state/beliefs.snapshot"))
}

/// What is damaged is set aside and told of, and the server begins without it.
#[test]
fn damaged_snapshots_are_set_aside() {
    let folder = Folder::new("serve-damaged");
    let (arguments, file) = kept(&folder);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let whole = std::fs::read(&file).unwrap();
    for (number, at) in (1..).zip([3, 17, whole.len() / 2, whole.len() - 3]) {
        let mut bytes = whole.clone();
        match number {
            1 | 2 => bytes.truncate(at),
            _ => bytes[at] ^= 4,
        }
        std::fs::write(&file, &bytes).unwrap();
        let server = Server::new(&arguments);
        assert!(!server.said.contains("go on"), "{}", server.said);
        let error = server.complaint();
        assert!(
            error.contains(&format!("is damaged; set aside as {}/damaged-{number}", arguments[3])),
            "{error}"
        );
        assert_eq!(std::fs::read(folder.path(&format!("state/damaged-{number}.snapshot"))).unwrap(), bytes);
    }
}

/// What is another version's or another run's is refused and kept.
#[test]
fn snapshots_of_others_are_refused() {
    let folder = Folder::new("serve-others");
    let (arguments, file) = kept(&folder);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let whole = std::fs::read(&file).unwrap();
    let later = [b"DRIFTLESS SERVE\n", &[7, 0, 0, 0][..], &whole[20..]].concat();
    std::fs::write(&file, &later).unwrap();
    let (_, error) = run(1, &arguments);
    assert!(error.contains("is of form 7, this version knows 1"), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), later);
    std::fs::write(&file, &whole).unwrap();
    let (log, other) = (folder.path("log.npz"), folder.path("other"));
    let settings = ["label_fraction=1", "epochs=1", "robot.global_poses=2000"];
    run(0, &[&["train", "--train", &log, "--run", &other], &settings[..]].concat());
    let (_, error) = run(1, &["serve", &other, "--state", arguments[3]]);
    assert!(error.contains("is of another run"), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), whole);
    let (_, error) = run(2, &["serve", arguments[1], "--start", "log"]);
    assert!(error.contains("a stream has no log"), "{error}");
}

/// Lines that are missing widen a belief; the answer says how many.
#[test]
fn missing_steps_are_counted() {
    let folder = Folder::new("serve-missing");
    let server = Server::new(&["serve", &trained(&folder), "--start", "3,2,0,0.01,0.01"]);
    let mut client = server.client();
    let mut ask = |text: &str| -> Value { serde_json::from_str(&client.asked(text)).unwrap() };
    ask(r#"{"step": 0}"#);
    let next = ask(r#"{"step": 1, "odometry": [0.1, 0, 0]}"#);
    let gap = ask(r#"{"step": 5, "odometry": [0.1, 0, 0]}"#);
    assert!(next.get("missed").is_none() && gap["missed"] == 3 && gap["step"] == 5, "{gap}");
    let variance = |answer: &Value| answer["covariance"][0][0].as_f64().unwrap();
    assert!(variance(&gap) > 2.0 * variance(&next), "{next} {gap}");
    // A line that does not fit the run changes nothing, and is missing then.
    assert!(ask(r#"{"step": 6, "scan": [1]}"#)["error"].as_str().unwrap().contains("36 are wanted"));
    assert_eq!(ask(r#"{"step": 7}"#)["missed"], 1);
    assert_eq!(ask(r#"{"step": 9000000000000000000}"#)["step"], 9_000_000_000_000_000_000_u64);
    server.end();
}

/// A recording holds what robots were told: a message of each answer, and a cloud; and all of it but the last second after a
/// kill.
#[test]
fn recordings_hold_what_was_answered() {
    let folder = Folder::new("serve-record");
    let to = trained(&folder);
    let lines: Vec<String> = fleet_lines(2).iter().map(Value::to_string).collect();
    let file = folder.path("robots.mcap");
    let arguments = ["serve", &to, "--particles", "50", "--record", &file];
    let messages = |bytes: &[u8]| -> Vec<(String, Vec<u8>)> {
        let options = mcap::read::Options::IgnoreEndMagic.into();
        let stream = mcap::MessageStream::new_with_options(bytes, options).unwrap();
        let all = stream.map_while(Result::ok);
        all.map(|message| (message.channel.topic.clone(), message.data.into_owned())).collect()
    };
    let server = Server::new(&arguments);
    let answers = server.client().asked_all(&lines);
    let said = server.end();
    assert!(said.contains(&format!("recorded in {file}\n")), "{said}");
    let whole = messages(&std::fs::read(&file).unwrap());
    assert_eq!(whole.len(), 2 * lines.len());
    for number in 0..2 {
        let topic = format!("/robot_{number}/pose");
        let poses = whole.iter().filter(|(of, _)| *of == topic);
        let name = format!("robot {number}");
        let told = answers.iter().map(|answer| serde_json::from_str::<Value>(answer).unwrap());
        let told: Vec<f64> = told
            .filter(|answer| answer["robot"] == name)
            .map(|answer| answer["pose"][0].as_f64().unwrap())
            .collect();
        let found: Vec<f64> =
            poses.map(|(_, data)| f64::from_le_bytes(data[20..28].try_into().unwrap())).collect();
        assert_eq!(found, told);
    }
    let (_, error) = run(1, &arguments);
    assert!(error.contains("robots.mcap"), "{error}");
    let other = folder.path("killed.mcap");
    let server = Server::new(&["serve", &to, "--particles", "50", "--record", &other]);
    server.client().asked_all(&lines);
    wait(|| messages(&std::fs::read(&other).unwrap()).len() == 2 * lines.len());
    server.kill();
    assert_eq!(messages(&std::fs::read(&other).unwrap()).len(), whole.len());
}
