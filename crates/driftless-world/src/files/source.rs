//! Bytes that can be read at any position: an open file, or memory.

use crate::error::{Error, Result};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Random access to immutable bytes. Reads take `&self`, so threads can share one.
#[derive(Clone, Debug)]
pub enum Source {
    /// An open regular file and its length.
    File(Arc<File>, u64),
    /// Bytes in memory.
    Bytes(Arc<[u8]>),
}

impl Source {
    /// Opens a regular file; directories and missing files are refused with a clear message.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::open_unnamed(path).map_err(|error| error.in_file(path))
    }

    fn open_unnamed(path: &Path) -> Result<Self> {
        // Opening a FIFO would block, so the kind is asked first.
        let metadata = std::fs::metadata(path).map_err(|source| Error::io("cannot open", source))?;
        if metadata.is_dir() {
            return Err(Error::new("is a directory; a file was expected"));
        }
        if !metadata.is_file() {
            return Err(Error::new("is not a regular file"));
        }
        let file = File::open(path).map_err(|source| Error::io("cannot open", source))?;
        Ok(Self::File(Arc::new(file), metadata.len()))
    }

    /// Number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::File(_, length) => *length,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// True if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buffer` from position `offset`; asking beyond the end is an error.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(buffer.len() as u64).filter(|&end| end <= self.len());
        let Some(end) = end else {
            return Err(Error::new(format!(
                "truncated: {} bytes are needed at position {offset}, but the file ends at {}",
                buffer.len(),
                self.len()
            )));
        };
        match self {
            Self::File(file, _) => {
                read_exact_at(file, buffer, offset).map_err(|source| Error::io("cannot read", source))
            }
            Self::Bytes(bytes) => {
                buffer.copy_from_slice(&bytes[offset as usize..end as usize]);
                Ok(())
            }
        }
    }

    /// All of it as text in UTF-8, unless it is longer than `most` bytes.
    pub fn read_text(&self, most: u64) -> Result<String> {
        if self.len() > most {
            return Err(Error::new(format!("has {} bytes; at most {most} are expected here", self.len())));
        }
        String::from_utf8(self.read_vec(0, self.len())?).map_err(|_| Error::new("is not text in UTF-8"))
    }

    /// `length` bytes from position `offset`. The length is checked before memory is taken.
    pub fn read_vec(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        let mut buffer = if offset.checked_add(length).is_some_and(|end| end <= self.len()) {
            vec![0; usize::try_from(length).map_err(|_| Error::new("larger than the address space"))?]
        } else {
            return Err(Error::new(format!(
                "truncated: {length} bytes are needed at position {offset}, but the file ends at {}",
                self.len()
            )));
        };
        self.read_at(offset, &mut buffer)?;
        Ok(buffer)
    }
}

impl From<Vec<u8>> for Source {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> std::io::Result<()> {
    while !buffer.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_read(file, buffer, offset)?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        buffer = &mut buffer[count..];
        offset += count as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_directories_and_reads_beyond_the_end() {
        let error = Source::open(std::env::temp_dir()).unwrap_err();
        assert!(error.to_string().ends_with("is a directory; a file was expected"), "{error}");
        let source = Source::from(vec![1, 2, 3]);
        assert_eq!(source.read_vec(1, 2).unwrap(), [2, 3]);
        assert!(source.read_vec(2, 2).is_err());
        assert!(source.read_vec(u64::MAX, 2).is_err());
        assert!(source.read_vec(0, u64::MAX).is_err());
    }
}
