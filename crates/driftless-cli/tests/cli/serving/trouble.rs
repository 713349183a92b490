//! Clients that break lines, send too much, do not read, vanish, or are too many.

use super::server::{PATIENCE, Server, wait};
use super::{fleet_lines, trained};
use crate::terminal::Folder;
use driftless_world::random::Random;
use serde_json::{Value, json};
use std::io::Write;
use std::net::Shutdown;

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// Each broken line is answered by its number and what is wrong, and changes nothing for the others.
#[test]
fn broken_lines_are_answered() {
    let folder = Folder::new("serve-broken");
    let to = trained(&folder);
    let good: Vec<String> = fleet_lines(1).iter().map(Value::to_string).collect();
    let server = Server::new(&["serve", &to]);
    let expected = server.client().asked_all(&good);
    server.end();
    let server = Server::new(&["serve", &to]);
    let mut client = server.client();
    let deep = format!("{{\"a\": {}", "[".repeat(100_000));
    let broken: [(&[u8], &str); 8] = [
        (b"{\"time\": ", "EOF"),
        (b"\xff\xfe{}", "is not UTF-8"),
        (b"{\"robot\": \"robot 0\", \"scan\": [1, 2]}", "has 2 numbers, 36 are wanted"),
        (b"{\"robot\": {}}", "robot: must be a name"),
        (b"{\"step\": -1}", "invalid value"),
        (b"{\"robot\": \"robot 0\", \"step\": 0}", "is not newer"),
        (b"{\"image\": \"no base64\"}", "image: "),
        (deep.as_bytes(), "recursion limit"),
    ];
    for (k, good) in good.iter().enumerate() {
        let answer = client.asked(good);
        // Robots that were told of missing steps are elsewhere: the third line has no step.
        assert_eq!(answer, expected[k], "after {k} broken lines");
        let (broken, said) = broken[k % broken.len()];
        client.send_bytes(&[broken, b"\n\n"].concat());
        let refused = parsed(&client.answer());
        assert!(refused["error"].as_str().unwrap().contains(said), "{refused}");
        // Empty lines are counted, and not answered.
        assert_eq!(refused["line"], json!(3 * k + 2));
    }
    assert!(client.asked("{\"robot\": 1, \"odom\": 1}").contains("is not known and not looked at"));
    assert!(client.answer().contains("\"robot\":\"1\""));
    assert!(client.asked("{\"robot\": 1, \"odom\": 1}").contains("\"robot\":\"1\""), "told once");
    server.end();
}

/// Thousands of damaged lines: each is answered, no estimate is anything but finite, and the server lives.
#[test]
fn fuzzed_lines_do_no_harm() {
    let folder = Folder::new("serve-fuzz");
    let server = Server::new(&["serve", &trained(&folder), "--robots", "20"]);
    let good: Vec<Vec<u8>> = fleet_lines(2).iter().map(|line| line.to_string().into_bytes()).collect();
    let mut random = Random::new(5);
    let mut client = server.client();
    for round in 0..3000 {
        let mut line = good[random.below(good.len())].clone();
        for _ in 0..random.below(6) {
            let at = random.below(line.len());
            match random.below(5) {
                0 => line[at] = random.below(256) as u8,
                1 => line.truncate(at.max(1)),
                2 => line.insert(at, b"0123456789eE+-.,[]{}\":NaIn"[random.below(26)]),
                3 => _ = line.remove(at),
                _ => line.splice(at..at, *b"1e308").for_each(drop),
            }
            if line.is_empty() {
                line.push(b'x');
            }
        }
        line.retain(|&byte| byte != b'\n');
        line.push(b'\n');
        if line.trim_ascii().is_empty() {
            continue;
        }
        client.send_bytes(&line);
        loop {
            let answer = parsed(&client.answer());
            if answer.get("warning").is_some() {
                continue;
            }
            let is_finite = |pose: &Value| pose.as_array().unwrap().iter().all(Value::is_number);
            assert!(answer.get("error").is_some() || is_finite(&answer["pose"]), "round {round}: {answer}");
            break;
        }
    }
    let all = client.asked("{\"robot\": \"at the end\", \"pose\": [1, 1, 1]}");
    assert!(all.contains("at the end"), "{all}");
    server.end();
}

/// Lines that are sent at once.
const COUNT: u64 = 400;

/// More than a filter can do becomes less, and every line is accounted for.
#[test]
fn what_is_too_much_is_merged() {
    let folder = Folder::new("serve-overload");
    let server =
        Server::new(&["serve", &trained(&folder), "--queue", "3", "--start", "3,2,0", "--particles", "5000"]);
    let mut client = server.client();
    let line = |step| format!("{{\"step\": {step}, \"odometry\": [0.001, 0, 0], \"robot\": \"a\"}}\n");
    let lines: Vec<String> = (0..COUNT).map(line).collect();
    client.send_bytes(lines.concat().as_bytes());
    let (mut heard, mut merged, mut last) = (0, 0, None);
    while last != Some(COUNT - 1) {
        let answer = parsed(&client.answer());
        assert!(answer.get("missed").is_none(), "{answer}");
        heard += 1;
        merged += answer["merged"].as_u64().unwrap_or(0);
        let step = answer["step"].as_u64();
        assert!(step > last, "{answer}");
        last = step;
    }
    assert_eq!(heard + merged, COUNT);
    server.end();
}

/// A client that sends and does not read is hung up on, and nobody else notices.
#[test]
fn slow_readers_are_hung_up_on() {
    let folder = Folder::new("serve-slow");
    let server = Server::new(&["serve", &trained(&folder), "--particles", "10"]);
    let (mut slow, mut other) = (server.client(), server.client());
    let line = format!("{{\"robot\": \"{}\", \"scan\": [1]}}\n", "x".repeat(200)).repeat(200);
    // Until the system's buffers are full and the server has had enough.
    while slow.lines.get_mut().write_all(line.as_bytes()).is_ok() {}
    assert!(other.asked("{\"robot\": \"other\"}").contains("\"saw\":false"));
    let error = server.complaint();
    assert!(error.contains("does not read its answers; hung up"), "{error}");
}

/// A line may be long; a longer one is skipped to its end, and not kept.
#[test]
fn huge_lines_are_skipped() {
    let folder = Folder::new("serve-huge");
    let server = Server::new(&["serve", &trained(&folder)]);
    let mut client = server.client();
    for _ in 0..10 {
        client.send_bytes(&vec![b'x'; 1 << 20]);
    }
    assert!(client.asked("").contains("is longer than 4,194,304 bytes"));
    assert!(client.asked("{}").contains("\"saw\":false"));
    server.end();
}

/// Robots of a client that has vanished are forgotten, those of one that is silent, too; until then nobody else can take them.
#[test]
fn robots_that_nobody_speaks_for_are_forgotten() {
    let folder = Folder::new("serve-idle");
    let server = Server::new(&[
        "serve",
        &trained(&folder),
        "--robots",
        "2",
        "--clients",
        "2",
        "--idle",
        "1.5s",
        "--linger",
        "0.1s",
    ]);
    let (mut one, mut other) = (server.client(), server.client());
    assert!(one.asked("{\"robot\": \"a\"}").contains("\"episode\":0,\"step\":0"));
    assert!(other.asked("{\"robot\": \"a\"}").contains("another client speaks for this robot"));
    assert!(other.asked("{\"robot\": \"b\"}").contains("\"step\":0"));
    assert!(other.asked("{\"robot\": \"c\"}").contains("there are 2 robots already"));
    assert!(server.client().is_hung_up_on(), "there are two clients already");
    one.lines.get_mut().shutdown(Shutdown::Both).unwrap();
    let since = std::time::Instant::now();
    while !other.asked("{\"robot\": \"c\"}").contains("\"step\":0") {
        assert!(since.elapsed() < PATIENCE, "it is never forgotten");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(other.is_hung_up_on(), "a client that says nothing, and does not go");
    server.end();
}

/// A client that comes back, as another connection, speaks for its robot again.
#[test]
fn clients_come_back() {
    let folder = Folder::new("serve-again");
    let server = Server::new(&["serve", &trained(&folder), "--linger", "1h"]);
    let mut one = server.client();
    assert!(one.asked("{\"robot\": \"a\"}").contains("\"step\":0"));
    one.lines.get_mut().shutdown(Shutdown::Both).unwrap();
    let mut again = server.client();
    wait(|| !again.asked("{\"robot\": \"a\"}").contains("another client"));
    assert!(again.asked("{\"robot\": \"a\"}").contains("\"step\":2"));
    server.end();
}

/// Names may be anything that JSON can say, up to 200 bytes.
#[test]
fn odd_names() {
    let folder = Folder::new("serve-names");
    let server = Server::new(&["serve", &trained(&folder)]);
    let mut client = server.client();
    for name in [
        "",
        " ",
        "\u{0}\n\t\"\\",
        "</script><script>alert(1)</script>",
        "🤖\u{202e}abc",
        "../../etc",
        &"x".repeat(200),
    ] {
        for step in 0..2 {
            let answer = parsed(&client.asked(&json!({ "robot": name }).to_string()));
            assert_eq!(
                (answer["robot"].as_str(), answer["step"].as_u64()),
                (Some(name), Some(step)),
                "{answer}"
            );
        }
    }
    let refused = client.asked(&json!({ "robot": "x".repeat(201) }).to_string());
    assert!(refused.contains("a name of more than 200 bytes"), "{refused}");
    server.end();
}
