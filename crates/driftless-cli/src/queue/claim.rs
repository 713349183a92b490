//! One process a run, on whatever machine: claims in a shared folder that outlive neither their process nor its machine.
//!
//! A claim is a file `ID.claim-N`. It is made by a hard link, which one process alone can make, and it is locked before
//! it appears. Who finds the newest claim of a run unlocked makes number N + 1: exactly one of them. Locks may not reach
//! other machines (some mounts of NFS and Lustre), so the owner's heart beats in the file as well. A claim of another
//! machine is only taken over when it has not changed for a while *on the watcher's own clock*: no two clocks are compared.
//! Claims are never removed, so that an older one cannot come back.

use super::beat::{Heart, Pace};
use super::host::Host;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::BuildHasher;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A run that was begun so often after the same epoch, and killed each time, is given up.
pub const MOST_IN_VAIN: usize = 10;

/// Written at the end of a claim's file by its owner when he leaves, or by who takes over.
const RELEASED: &str = "released";
const TAKEN: &str = "taken";

/// What a claim's file says of its owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Owner {
    /// Which machine.
    pub host: Host,
    /// Process there.
    pub process: u32,
    /// Tells two processes apart that are the same in all else.
    pub nonce: String,
    /// Epochs that were done when it began.
    pub epochs: u64,
}

/// A run that this process works on, and no other.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    heart: Heart,
    /// How often the run was begun before, after the same epoch, by processes that were killed.
    pub in_vain: usize,
    /// What somebody should know.
    pub warnings: Vec<String>,
}

/// What came of asking for a run.
#[derive(Debug)]
pub enum Asked {
    /// It is ours.
    Ours(Claim),
    /// Somebody else works on it: who, in words.
    Theirs(String),
}

/// The newest claim there is.
#[derive(Debug)]
pub struct Newest {
    /// From 1.
    pub number: usize,
    /// Where it is.
    pub path: PathBuf,
    /// Its text, with beats.
    pub text: String,
}

impl Newest {
    /// Looks for it; whatever file systems remember of a name that was not there does no harm, as making it fails then.
    pub fn find(folder: &Path, id: &str) -> Result<Option<Self>> {
        let mut newest = None;
        for number in 1.. {
            let path = path_of(folder, id, number);
            match fs::read_to_string(&path) {
                Ok(text) => newest = Some(Self { number, path, text }),
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                Err(error) => return Err(error).with_context(|| format!("{}: cannot read", path.display())),
            }
        }
        Ok(newest)
    }

    /// Who made it, if the file is whole.
    pub fn owner(&self) -> Option<Owner> {
        serde_json::from_str(self.text.lines().nth(1)?).ok()
    }

    /// Whether its owner has left it.
    pub fn is_released(&self) -> bool {
        self.text.lines().nth(2) == Some(RELEASED)
    }
}

fn path_of(folder: &Path, id: &str, number: usize) -> PathBuf {
    folder.join(format!("{id}.claim-{number}"))
}

impl Claim {
    /// Asks for a run of which so many epochs are done. Waits only for the heart of another machine.
    pub fn ask(folder: &Path, id: &str, host: &Host, epochs: u64, pace: Pace) -> Result<Asked> {
        fs::create_dir_all(folder).with_context(|| format!("{}: cannot create", folder.display()))?;
        let Some(newest) = Newest::find(folder, id)? else {
            return Self::make(folder, id, None, (host, epochs), pace);
        };
        let told = newest.owner().map_or("somebody".to_owned(), |owner| owner.told());
        let opened = OpenOptions::new().read(true).append(true).open(&newest.path);
        let mut old = opened.with_context(|| format!("{}: cannot open", newest.path.display()))?;
        match old.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Asked::Theirs(told)),
            Err(TryLockError::Error(error)) => {
                let what = "cannot lock; take a folder whose file system has locks";
                return Err(error).with_context(|| format!("{}: {what}", newest.path.display()));
            }
        }
        // The lock of this machine is taken back from the dead at once; that of another may not reach here.
        let dead = newest.is_released() || newest.owner().is_some_and(|owner| owner.host.boot == host.boot);
        if !dead && beats(&newest, pace)? {
            return Ok(Asked::Theirs(format!(
                "{told}; locks in {} do not reach from there to here, and hearts alone keep runs apart",
                folder.display()
            )));
        }
        let asked = Self::make(folder, id, Some(&newest), (host, epochs), pace)?;
        if matches!(asked, Asked::Ours(_)) && !newest.is_released() {
            // Should the owner wake up: he looks here before he writes anything.
            let _ = writeln!(old, "{TAKEN}");
        }
        Ok(asked)
    }

    /// Makes the next claim; it is locked when it appears under its name.
    fn make(
        folder: &Path,
        id: &str,
        before: Option<&Newest>,
        (host, epochs): (&Host, u64),
        pace: Pace,
    ) -> Result<Asked> {
        let nonce = format!("{:016x}", RandomState::new().hash_one(Instant::now()));
        let owner = Owner { host: host.clone(), process: std::process::id(), nonce, epochs };
        let path = path_of(folder, id, before.map_or(1, |newest| newest.number + 1));
        let partial = folder.join(format!(".{id}.partial-{}", owner.nonce));
        let made = linked(&partial, &path, &owner);
        // Nobody misses what cannot be removed.
        let _ = fs::remove_file(&partial);
        let Some(file) = made.with_context(|| format!("{}: cannot be made", path.display()))? else {
            return Ok(Asked::Theirs("a process that was faster".to_owned()));
        };
        let in_vain = match before {
            Some(newest) => in_vain(folder, id, newest.number, epochs)?,
            None => 0,
        };
        let warnings = clocks_apart(&file).into_iter().collect();
        let heart = Heart::start(file, &path, owner.text()?, pace);
        Ok(Asked::Ours(Self { path, heart, in_vain, warnings }))
    }

    /// Whether the run is still ours: asked before anything is written.
    pub fn holds(&self) -> bool {
        self.heart.holds()
    }

    /// Leaves the run to whoever comes next. A claim that is dropped without it is that of a killed process.
    pub fn release(self) {
        let append = OpenOptions::new().append(true).open(&self.path);
        // On a full disk the lock, which ends with the process, must do.
        if let (true, Ok(mut file)) = (self.holds(), append) {
            let _ = writeln!(file, "{RELEASED}").and_then(|()| file.sync_all());
        }
    }
}

impl Owner {
    fn text(&self) -> Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    /// Whether it is a process of this machine that is gone; of others, and where processes cannot be looked at, nothing
    /// is known.
    pub fn is_known_dead(&self) -> bool {
        let looked = Path::new("/proc/self").exists() && self.host == Host::this();
        looked && !Path::new(&format!("/proc/{}", self.process)).exists()
    }

    fn told(&self) -> String {
        format!("process {} on {}", self.process, self.host.name)
    }
}

/// The file, if its name was free.
fn linked(partial: &Path, path: &Path, owner: &Owner) -> Result<Option<File>> {
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(partial)?;
    file.lock().context("cannot lock; take a folder whose file system has locks")?;
    file.write_all(super::beat::text_of(0, &owner.text()?).as_bytes())?;
    file.sync_all()?;
    match fs::hard_link(partial, path) {
        Ok(()) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error).context("take a folder whose file system has hard links"),
    }
}

/// Whether the heart of a claim beats, or anything else happens to it, within the pace's patience.
fn beats(newest: &Newest, pace: Pace) -> Result<bool> {
    let started = Instant::now();
    while started.elapsed() < pace.patience {
        std::thread::sleep(pace.look);
        // Opened again each time: then network file systems ask the server.
        let mut text = String::new();
        let read = File::open(&newest.path).and_then(|mut file| file.read_to_string(&mut text));
        read.with_context(|| format!("{}: cannot read", newest.path.display()))?;
        let now = Newest { text, path: newest.path.clone(), ..*newest };
        if now.text != newest.text {
            return Ok(!now.is_released());
        }
    }
    Ok(false)
}

/// Whether a run's owner shows a sign of life.
pub fn is_alive(folder: &Path, id: &str, pace: Pace) -> Result<bool> {
    Newest::find(folder, id)?.map_or(Ok(false), |newest| beats(&newest, pace))
}

/// Claims before this one, in a row, that nobody released and that began after the same epoch.
fn in_vain(folder: &Path, id: &str, last: usize, epochs: u64) -> Result<usize> {
    let mut count = 0;
    for number in (1..=last).rev() {
        let path = path_of(folder, id, number);
        let text = fs::read_to_string(&path).with_context(|| format!("{}: cannot read", path.display()))?;
        let claim = Newest { number, path, text };
        if claim.is_released() || claim.owner().is_none_or(|owner| owner.epochs != epochs) {
            break;
        }
        count += 1;
    }
    Ok(count)
}

/// A clock that is not that of the folder's machine is worth a word, though nothing here goes by it.
fn clocks_apart(file: &File) -> Option<String> {
    let written = file.metadata().ok()?.modified().ok()?;
    let now = std::time::SystemTime::now();
    let apart = now.duration_since(written).unwrap_or_else(|error| error.duration()).as_secs();
    (apart >= 60).then(|| {
        format!("the clock of this machine and that of the folder are {apart} s apart; only dates and `--status` suffer")
    })
}

#[cfg(test)]
mod tests;
