//! The heart of a claim: a counter in its file that goes on as long as the owner's process does.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often hearts beat, and how long others wait for one.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between two beats.
    pub beat: Duration,
    /// Without a beat for so long, a heart has stopped.
    pub patience: Duration,
    /// Between two looks at somebody else's heart.
    pub look: Duration,
}

impl Pace {
    /// Few writes for the file system of a hundred machines, and less than a minute for the next worker.
    pub const USUAL: Self = Self {
        beat: Duration::from_secs(10),
        patience: Duration::from_secs(45),
        look: Duration::from_secs(1),
    };
}

/// A claim's text: the beat, in a width that never changes, and the owner.
pub fn text_of(beat: u64, owner: &str) -> String {
    format!("{beat:016}\n{owner}\n")
}

/// Beats until it is dropped, or somebody else has taken over.
#[derive(Debug)]
pub struct Heart {
    path: PathBuf,
    /// Length of the file as long as nobody added anything, and what it says behind the beat.
    owner: String,
    lost: Arc<AtomicBool>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heart {
    /// Takes the file, and its lock with it.
    pub fn start(mut file: File, path: &Path, owner: String, pace: Pace) -> Self {
        let lost = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = channel();
        let (its_path, its_owner, its_lost) = (path.to_path_buf(), owner.clone(), Arc::clone(&lost));
        let thread = std::thread::spawn(move || {
            for beat in 1.. {
                if stopped.recv_timeout(pace.beat).is_ok() {
                    return;
                }
                if !untouched(&its_path, &its_owner) {
                    its_lost.store(true, Ordering::Relaxed);
                    return;
                }
                // On a full disk the heart seems to stand still; the lock is held on.
                let text = text_of(beat, &its_owner);
                let written = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(text.as_bytes()));
                let _ = written.and_then(|()| file.sync_all());
            }
        });
        Self { path: path.to_path_buf(), owner, lost, stop: Some(stop), thread: Some(thread) }
    }

    /// Whether nobody has taken over.
    pub fn holds(&self) -> bool {
        if self.lost.load(Ordering::Relaxed) || !untouched(&self.path, &self.owner) {
            self.lost.store(true, Ordering::Relaxed);
            return false;
        }
        true
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        if let (Some(stop), Some(thread)) = (self.stop.take(), self.thread.take()) {
            // The thread may have ended by itself.
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

/// Whether the file says what its owner wrote, and no more. A file that cannot be read now says nothing.
fn untouched(path: &Path, owner: &str) -> bool {
    let mut text = String::new();
    match File::open(path).and_then(|mut file| file.read_to_string(&mut text)) {
        Ok(_) => text.len() == text_of(0, owner).len() && text.contains(owner),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}
