//! Temporary bytes without a name: written once, then read at random, gone when nobody needs them.

use crate::error::{Error, Result};
use crate::files::source::Source;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A temporary file being filled.
#[derive(Debug)]
pub struct Spool {
    writer: BufWriter<File>,
    length: u64,
    removal: Option<Removal>,
}

/// What a [`Spool`] held, to be read; the disk space is freed with the last clone.
#[derive(Clone, Debug)]
pub struct Spooled {
    source: Source,
    _removal: Option<Arc<Removal>>,
}

/// Removes the file when dropped, where an open file cannot be unlinked at once.
#[derive(Debug)]
struct Removal(PathBuf);

impl Drop for Removal {
    fn drop(&mut self) {
        // Nobody is left to be told, and the system cleans its folder of temporary files.
        let _ = fs::remove_file(&self.0);
    }
}

impl Spool {
    /// Starts an empty file in the system's folder for temporary files.
    pub fn new() -> Result<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("driftless-spool-{}-{number}", std::process::id()));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|source| Error::io("cannot create a temporary file", source).in_file(&path))?;
        let removal = Removal(path);
        // On unix dropping the name right away leaves the open file alone, and a crash leaves nothing.
        let removal = if cfg!(unix) { None } else { Some(removal) };
        Ok(Self { writer: BufWriter::with_capacity(1 << 18, file), length: 0, removal })
    }

    /// Number of bytes so far.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// True if nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Ends writing; the bytes can now be read.
    pub fn finish(self) -> Result<Spooled> {
        let file = self.writer.into_inner().map_err(|error| {
            Error::io("cannot write a temporary file (set TMPDIR to a roomier folder)", error.into_error())
        })?;
        let source = Source::File(Arc::new(file), self.length);
        Ok(Spooled { source, _removal: self.removal.map(Arc::new) })
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.writer.write(bytes)?;
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Spooled {
    /// The bytes. Keep the [`Spooled`] as long as the source.
    pub fn source(&self) -> &Source {
        &self.source
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_was_written_and_leaves_no_name() {
        let mut spool = Spool::new().unwrap();
        assert!(spool.is_empty());
        spool.write_all(&vec![7; 300_000]).unwrap();
        spool.write_all(b"end").unwrap();
        assert_eq!(spool.len(), 300_003);
        let spooled = spool.finish().unwrap();
        assert_eq!(spooled.source().read_vec(299_999, 4).unwrap(), b"\x07end");
        drop(spooled);
        let ours = format!("driftless-spool-{}-", std::process::id());
        let left = || {
            let entries = fs::read_dir(std::env::temp_dir()).unwrap();
            entries
                .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(&ours))
                .count()
        };
        // Another test may be between creating and unlinking its own.
        let gone = (0..200).any(|_| {
            left() == 0 || {
                std::thread::sleep(std::time::Duration::from_millis(5));
                false
            }
        });
        assert!(gone);
    }
}
