//! One process a run: a lock that the system itself takes back from the dead.

use super::problem;
use crate::error::Result;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Name of the lock's file in a run's folder. It stays when the run ends: were it removed, a process that
/// has just opened it and another that makes a new one could both hold "the" lock.
pub const LOCK: &str = "lock";

/// Held while a run is worked on. The file names the process; the lock itself is the system's (flock) and
/// ends with the process, however that dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a folder, or says which process has it.
    pub fn take(folder: &Path) -> Result<Self> {
        let path = folder.join(LOCK);
        let failed = |action: &str, source| driftless_world::Error::io(action, source).in_file(&path);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = opened.map_err(|source| failed("cannot open", source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                // Only for the message; the owner may be writing it just now.
                let _ = file.take(20).read_to_string(&mut owner);
                let owner = owner.trim();
                let owner = if owner.is_empty() { String::new() } else { format!(" (process {owner})") };
                return Err(problem(format!("{}: is in use by another process{owner}", folder.display())));
            }
            Err(TryLockError::Error(source)) => return Err(failed("cannot lock", source).into()),
        }
        let named = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
        let named = named.and_then(|_| writeln!(file, "{}", std::process::id()));
        named.map_err(|source| failed("cannot write", source))?;
        Ok(Self { _file: file })
    }
}
