//! What tests of queues share.

use super::Planned;
use crate::train::experiment;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A run that nobody does.
pub fn planned(id: &str, seconds: f64) -> Planned {
    Planned {
        id: id.to_owned(),
        experiment: experiment("maze-driftless", &[]).unwrap(),
        train: Vec::new(),
        valid: None,
        steps: None,
        given: Vec::new(),
        test: None,
        weights_of: None,
        seconds,
        driftless: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// An empty folder, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Made anew.
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("driftless-queue-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
