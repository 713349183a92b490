//! The command as a script sees it: a folder of its own, files, messages and exit codes.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder of its own for each test, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    /// Made anew.
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let own = format!("driftless-cli-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(own);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A name in it.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    /// What is in it, in order.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs to the end.
pub fn driftless(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_driftless")).args(arguments).output().unwrap()
}

/// Runs, expects an exit code, and returns standard output and standard error.
#[track_caller]
pub fn run(code: i32, arguments: &[&str]) -> (String, String) {
    let output = driftless(arguments);
    let out = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}\n{error}");
    (out, error)
}

/// A file's bytes.
pub fn read(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// Settings that make a training take seconds, for recordings of 16 x 16 pixels.
pub const SMALL: [&str; 4] = ["crop=16", "particles=10", "batch_size=4", "trajectories=4"];

impl Folder {
    /// Recordings of eight short episodes in small images.
    pub fn recordings(&self, name: &str, seed: &str) -> String {
        self.simulated(name, &["-n", "8", "-t", "12", "--size", "16", "-s", seed])
    }

    /// Recordings of Maze 1 with some options.
    pub fn simulated(&self, name: &str, options: &[&str]) -> String {
        let file = self.path(name);
        run(0, &[&["simulate", "maze1", "-o", &file], options].concat());
        file
    }
}
