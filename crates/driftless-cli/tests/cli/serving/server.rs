//! A server in a process of its own, and clients that talk to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Only what hangs needs so long.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// A server that listens.
pub struct Server {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    pub address: String,
    pub page: Option<String>,
    /// What it said until it listened.
    pub said: String,
}

impl Server {
    /// Waits until it listens, to pages, too, if that is asked for.
    #[track_caller]
    pub fn new(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_driftless"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (mut said, mut address, mut page) = (String::new(), None, None);
        let wants_page = arguments.contains(&"--page");
        while address.is_none() || wants_page && page.is_none() {
            let mut line = String::new();
            assert!(output.read_line(&mut line).unwrap() > 0, "it ended: {}", stderr(&mut child));
            address = address.or(line.trim().strip_prefix("robots: ").map(str::to_owned));
            let path = line.trim().strip_prefix("page: http://").and_then(|page| page.strip_suffix('/'));
            page = page.or(path.map(str::to_owned));
            said += &line;
        }
        Self { child, output, address: address.unwrap(), page, said }
    }

    pub fn client(&self) -> Client {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { lines: BufReader::new(stream) }
    }

    /// Asks it to stop, as a system does; what it says then.
    #[track_caller]
    pub fn end(mut self) -> String {
        assert_eq!(self.ended(), String::new());
        let mut said = String::new();
        self.output.read_to_string(&mut said).unwrap();
        said
    }

    /// The same; what it complained of.
    #[track_caller]
    pub fn complaint(mut self) -> String {
        self.ended()
    }

    #[track_caller]
    fn ended(&mut self) -> String {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(asked.success());
        let error = stderr(&mut self.child);
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{error}");
        error
    }

    /// Ends it without a word.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn stderr(child: &mut Child) -> String {
    let mut error = String::new();
    child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    error
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something happens.
#[track_caller]
pub fn wait(mut happened: impl FnMut() -> bool) {
    let since = Instant::now();
    while !happened() {
        assert!(since.elapsed() < PATIENCE, "it never happened");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Somebody who is connected.
pub struct Client {
    pub lines: BufReader<TcpStream>,
}

impl Client {
    pub fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.lines.get_mut().write_all(bytes).unwrap();
    }

    /// The next line.
    #[track_caller]
    pub fn answer(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        assert_eq!(line.pop(), Some('\n'), "an answer");
        line
    }

    #[track_caller]
    pub fn asked(&mut self, line: &str) -> String {
        self.send(line);
        self.answer()
    }

    /// One after the other, so that nothing is merged.
    #[track_caller]
    pub fn asked_all(&mut self, lines: &[String]) -> Vec<String> {
        lines.iter().map(|line| self.asked(line)).collect()
    }

    /// Whether the other end is gone.
    pub fn is_hung_up_on(&mut self) -> bool {
        let mut rest = Vec::new();
        !matches!(self.lines.read_to_end(&mut rest), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    }
}
