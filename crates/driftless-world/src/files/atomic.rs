//! Files that appear whole or not at all: written under a temporary name, then renamed.

use crate::error::{Error, Result};
use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::BuildHasher;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Temporary names in use: what has to go if the process ends without running destructors.
static PARTIAL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn partial_files() -> MutexGuard<'static, Vec<PathBuf>> {
    PARTIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all half-written files, for whoever is about to end the process. No further file can be begun.
pub fn abandon_all() {
    let files = partial_files();
    for file in files.iter() {
        // Nobody is left to be told.
        let _ = fs::remove_file(file);
    }
    // The lock is kept: a file that another thread began now would stay.
    std::mem::forget(files);
}

/// What to do if the file is already there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overwrite {
    /// Leave it alone and fail.
    #[default]
    Refuse,
    /// Put the new one in its place, once it is complete.
    Replace,
}

/// A file being written. Dropped without [`NewFile::commit`], it leaves nothing behind.
#[derive(Debug)]
pub struct NewFile {
    target: PathBuf,
    partial: PathBuf,
    overwrite: Overwrite,
    writer: Option<BufWriter<File>>,
}

impl NewFile {
    /// Starts a file; fails early if the target cannot be written, before any work is done.
    pub fn create(target: impl AsRef<Path>, overwrite: Overwrite) -> Result<Self> {
        let target = target.as_ref();
        Self::create_unnamed(target, overwrite).map_err(|error| error.in_file(target))
    }

    fn create_unnamed(target: &Path, overwrite: Overwrite) -> Result<Self> {
        // A name with a slash at its end means a folder, even one that does not exist yet.
        if target.is_dir() || target.as_os_str().to_string_lossy().ends_with(std::path::is_separator) {
            return Err(Error::new("is a directory; name a file"));
        }
        let target = &check_existing(target, overwrite)?;
        let name = target.file_name().ok_or_else(|| Error::new("is not a file name"))?.to_string_lossy();
        // Processes of two machines that share a folder may have the same number.
        let own = RandomState::new().hash_one(std::process::id());
        let partial = target.with_file_name(format!(".{name}.partial-{}-{own:016x}", std::process::id()));
        let mut names = partial_files();
        let file = File::create(&partial).map_err(|source| Error::io("cannot create", source))?;
        names.push(partial.clone());
        drop(names);
        Ok(Self {
            target: target.clone(),
            partial,
            overwrite,
            writer: Some(BufWriter::with_capacity(1 << 20, file)),
        })
    }

    /// Makes the file appear under its name, complete and on disk.
    pub fn commit(mut self) -> Result<()> {
        self.publish().map_err(|error| error.in_file(&self.target))
    }

    fn publish(&mut self) -> Result<()> {
        let writer = self.writer.take().expect("a file is committed once");
        let file = writer.into_inner().map_err(|error| Error::io("cannot write", error.into_error()))?;
        file.sync_all().map_err(|source| Error::io("cannot write", source))?;
        drop(file);
        if self.overwrite == Overwrite::Refuse {
            // A hard link, unlike a rename, fails if the name was taken meanwhile.
            match fs::hard_link(&self.partial, &self.target) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(already_there()),
                Err(_) => {} // a file system without hard links
            }
        }
        fs::rename(&self.partial, &self.target).map_err(|source| Error::io("cannot rename", source))
    }

    fn writer(&mut self) -> &mut BufWriter<File> {
        self.writer.as_mut().expect("not used after commit")
    }
}

/// The file to be written: where a symbolic link leads, if the name is one. Devices, pipes and
/// whatever else is not a regular file are never replaced.
fn check_existing(target: &Path, overwrite: Overwrite) -> Result<PathBuf> {
    let Ok(existing) = target.symlink_metadata() else { return Ok(target.to_path_buf()) };
    if overwrite == Overwrite::Refuse {
        return Err(already_there());
    }
    let followed = fs::canonicalize(target).map_err(|source| Error::io("cannot be followed", source))?;
    if existing.is_file() || followed.is_file() {
        return Ok(followed);
    }
    Err(Error::new("is not a regular file, and is not replaced"))
}

fn already_there() -> Error {
    Error::new("already exists; use --force to replace it, or choose another name")
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

impl Seek for NewFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.writer().seek(position)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        drop(self.writer.take());
        // After a rename there is nothing to remove, and after a failure nobody to tell.
        let _ = fs::remove_file(&self.partial);
        partial_files().retain(|name| *name != self.partial);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("driftless-atomic-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn appears_only_when_complete() {
        let folder = folder("complete");
        let path = folder.join("a.bin");
        let mut file = NewFile::create(&path, Overwrite::Refuse).unwrap();
        file.write_all(b"whole").unwrap();
        assert!(!path.exists());
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        drop(NewFile::create(folder.join("b.bin"), Overwrite::Refuse).unwrap());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing half-written stays");
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn replaces_regular_files_only() {
        let folder = folder("special");
        let (file, link, pipe) = (folder.join("file"), folder.join("link"), folder.join("pipe"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut new = NewFile::create(&link, Overwrite::Replace).unwrap();
        new.write_all(b"new").unwrap();
        new.commit().unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new", "the link is followed");
        assert!(link.symlink_metadata().unwrap().is_symlink());
        let error = NewFile::create(&pipe, Overwrite::Replace).unwrap_err();
        assert!(error.to_string().ends_with("is not a regular file, and is not replaced"), "{error}");
        let error = NewFile::create(folder.join("missing/"), Overwrite::Refuse).unwrap_err();
        assert!(error.to_string().ends_with("is a directory; name a file"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn refuses_or_replaces() {
        let folder = folder("replace");
        let path = folder.join("a.bin");
        fs::write(&path, "old").unwrap();
        let error = NewFile::create(&path, Overwrite::Refuse).unwrap_err();
        assert!(error.to_string().contains("--force"), "{error}");
        // Taken between creation and commit: still refused.
        let late = folder.join("late.bin");
        let file = NewFile::create(&late, Overwrite::Refuse).unwrap();
        fs::write(&late, "old").unwrap();
        assert!(file.commit().is_err());
        assert_eq!(fs::read(&late).unwrap(), b"old");
        let mut file = NewFile::create(&path, Overwrite::Replace).unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        fs::remove_dir_all(folder).unwrap();
    }
}
