//! The page of `driftless serve`: it shows and changes nothing, and asks nobody but its own server.

use super::server::{PATIENCE, Server, wait};
use super::{fleet_lines, trained};
use crate::terminal::{Folder, SMALL, run};
use driftless_world::files::base64;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;

/// Sends bytes as they are; status line, headers and body.
fn sent(address: &str, request: &[u8]) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // A server that has had enough does not read to the end.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    (head.to_owned(), body.to_owned())
}

fn asked(address: &str, path: &str) -> (String, String) {
    sent(address, format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes())
}

fn data(address: &str, path: &str) -> Value {
    let (head, body) = asked(address, path);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"), "{path}: {head}");
    serde_json::from_str(&body).unwrap()
}

#[test]
fn robots_are_shown() {
    let folder = Folder::new("serve-page");
    let server = Server::new(&["serve", &trained(&folder), "--page", "127.0.0.1:0", "--particles", "50"]);
    let page = server.page.clone().unwrap();
    let mut client = server.client();
    let lines: Vec<String> = fleet_lines(2).iter().map(Value::to_string).collect();
    let answers = client.asked_all(&lines);
    client.asked("{\"robot\": \"</script>\"}");
    for (path, kind) in [("/", "text/html"), ("/live.js", "text/javascript"), ("/live.css", "text/css")] {
        let (head, body) = asked(&page, path);
        assert!(head.contains("200 OK") && head.contains(kind) && body.len() > 100, "{head}");
        assert!(head.contains("default-src 'none'; script-src 'self'") && head.contains("nosniff"), "{head}");
        assert!(!head.to_lowercase().contains("access-control"), "{head}");
    }
    let plan = data(&page, "/plan.json");
    assert!(plan["ground"]["png"].as_str().unwrap().len() > 100 && plan["unit"] == "m", "the learned map");
    let live = data(&page, "/live.json");
    let robots = live["robots"].as_array().unwrap();
    assert_eq!(robots.len(), 3);
    assert_eq!(live["health"]["steps"], json!(lines.len() + 1));
    assert!(live["health"]["p99_ms"].as_f64().unwrap() >= live["health"]["p50_ms"].as_f64().unwrap());
    let last: Value = serde_json::from_str(answers.last().unwrap()).unwrap();
    let robot = robots.iter().find(|robot| robot["name"] == last["robot"]).unwrap();
    assert_eq!(robot["pose"], last["pose"]);
    assert!(robots.iter().any(|robot| robot["name"] == "</script>"));
    let detail = data(&page, &format!("/robot/{}.json", robot["number"]));
    let packed = base64::decode(detail["particles"].as_str().unwrap()).unwrap();
    assert_eq!(packed.len() as u64, 6 * last["particles"].as_u64().unwrap());
    assert!(detail["camera"].is_null());
    server.end();
}

#[test]
fn requests_that_are_refused() {
    let folder = Folder::new("serve-http");
    let server = Server::new(&["serve", &trained(&folder), "--page", "127.0.0.1:0"]);
    let page = server.page.clone().unwrap();
    for path in ["/../Cargo.toml", "/robot/1.json", "/robot/-1.json", "/robot/.json", "/live.json/"] {
        assert!(asked(&page, path).0.starts_with("HTTP/1.1 404"), "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"] {
        let (head, _) = sent(&page, format!("{method} / HTTP/1.1\r\nHost: {page}\r\n\r\n").as_bytes());
        assert!(head.starts_with("HTTP/1.1 405") && head.contains("Allow: GET"), "{method}: {head}");
    }
    let (head, _) = sent(&page, b"GET /live.json HTTP/1.1\r\nHost: rebound.example\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let (head, _) = sent(&page, &[b"GET / HTTP/1.1\r\nHost: ::1\r\nX: ", &vec![b'x'; 9000][..]].concat());
    assert!(head.starts_with("HTTP/1.1 431"), "{head}");
    assert!(sent(&page, b"\r\n\r\n").0.starts_with("HTTP/1.1 400"));
    // Those that ask for nothing, or slowly, are hung up on; so many at once do not keep others out for long.
    let open: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(&page).unwrap()).collect();
    wait(|| asked(&page, "/live.json").0.starts_with("HTTP/1.1 200"));
    for mut stream in open {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        assert!(matches!(stream.read(&mut [0; 10]), Ok(0) | Err(_)));
    }
    server.end();
}

/// What a robot in a maze sees is shown, on its maze.
#[test]
fn cameras_are_shown() {
    let folder = Folder::new("serve-camera");
    let (data_file, to) = (folder.recordings("a.npz", "1"), folder.path("run"));
    run(
        0,
        &[&["train", "maze-driftless", "--train", &data_file, "--run", &to], &SMALL[..], &["epochs=1"]]
            .concat(),
    );
    let server = Server::new(&["serve", &to, "--page", "127.0.0.1:0"]);
    let page = server.page.clone().unwrap();
    let pixels: Vec<u8> = (0..16 * 16 * 3).map(|k| (k % 251) as u8).collect();
    let line = json!({ "image": { "size": [16, 16, 3], "data": base64::encode(&pixels) } }).to_string();
    assert!(server.client().asked(&line).contains("\"saw\":true"));
    assert!(!data(&page, "/plan.json")["walls"].as_array().unwrap().is_empty());
    let png = base64::decode(data(&page, "/robot/0.json")["camera"].as_str().unwrap()).unwrap();
    let shown = driftless_world::files::png_image::decode(&png).unwrap();
    assert_eq!((shown.height, shown.width), (16, 16));
    assert_eq!(shown.samples, driftless_world::files::png_image::Samples::Eight(pixels));
    server.end();
}
