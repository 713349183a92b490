//! An opened zip entry: random access to its bytes, unpacked if need be, never all in memory if large.

use super::Method;
use super::directory::Entry;
use crate::error::{Error, Result};
use crate::files::source::Source;
use crate::files::spool::{Spool, Spooled};
use flate2::Crc;
use flate2::read::DeflateDecoder;
use std::io::{self, Read, Write};

/// Deflated entries up to this size are unpacked into memory, larger ones into a temporary file.
const MOST_IN_MEMORY: u64 = 64 << 20;
/// Deflate cannot do better than 258 bytes from 2 bits; more is a lie.
const BEST_RATIO: u64 = 1032;

/// A range of bytes that can be read at any position.
#[derive(Clone, Debug)]
pub struct Section {
    source: Source,
    start: u64,
    length: u64,
    // Keeps the temporary file, where there is one, until the last reader is gone.
    _spooled: Option<Spooled>,
}

impl Section {
    /// Number of bytes.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// True if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Fills `buffer` from position `offset` of the section.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.check(offset, buffer.len() as u64)?;
        self.source.read_at(self.start + offset, buffer)
    }

    /// `length` bytes from position `offset` of the section.
    pub fn read_vec(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        self.check(offset, length)?;
        self.source.read_vec(self.start + offset, length)
    }

    fn check(&self, offset: u64, length: u64) -> Result<()> {
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(Error::new(format!(
                "truncated: {length} bytes are needed at position {offset} of {}",
                self.length
            )));
        }
        Ok(())
    }
}

impl From<Vec<u8>> for Section {
    fn from(bytes: Vec<u8>) -> Self {
        Self { length: bytes.len() as u64, source: bytes.into(), start: 0, _spooled: None }
    }
}

pub(super) fn open(source: &Source, entry: &Entry) -> Result<Section> {
    let packed = Section { source: source.clone(), start: entry.data, length: entry.packed, _spooled: None };
    match entry.method {
        Method::Stored => {
            copy_checked(&mut Reader::new(&packed), entry, &mut io::sink())?;
            Ok(packed)
        }
        Method::Deflated => inflate(&packed, entry),
    }
}

pub(super) fn head(source: &Source, entry: &Entry, most: u64) -> Result<Section> {
    let packed = Section { source: source.clone(), start: entry.data, length: entry.packed, _spooled: None };
    let mut bytes = Vec::new();
    let most = most.min(entry.size);
    let read = match entry.method {
        Method::Stored => Reader::new(&packed).take(most).read_to_end(&mut bytes),
        Method::Deflated => DeflateDecoder::new(Reader::new(&packed)).take(most).read_to_end(&mut bytes),
    };
    read.map_err(|source| Error::io("cannot be unpacked; the file is damaged", source))?;
    Ok(bytes.into())
}

fn inflate(packed: &Section, entry: &Entry) -> Result<Section> {
    if entry.size > entry.packed.saturating_mul(BEST_RATIO) {
        return Err(Error::new(format!(
            "claims the size {} from {} compressed bytes, which is impossible",
            entry.size, entry.packed
        )));
    }
    let mut decoder = DeflateDecoder::new(Reader::new(packed));
    let section = if entry.size <= MOST_IN_MEMORY {
        let mut bytes = Vec::new();
        copy_checked(&mut decoder, entry, &mut bytes)?;
        bytes.into()
    } else {
        let mut spool = Spool::new()?;
        copy_checked(&mut decoder, entry, &mut spool)?;
        let spooled = spool.finish()?;
        Section { source: spooled.source().clone(), start: 0, length: entry.size, _spooled: Some(spooled) }
    };
    if decoder.total_in() != entry.packed {
        return Err(Error::new("holds bytes after its compressed data; the file is damaged"));
    }
    Ok(section)
}

/// Copies the whole entry, stopping at one byte more than it may have, and verifies the checksum.
fn copy_checked(from: &mut impl Read, entry: &Entry, to: &mut impl Write) -> Result<()> {
    let mut crc = Crc::new();
    let mut copied = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let most = (entry.size + 1 - copied).min(buffer.len() as u64) as usize;
        let count = from
            .read(&mut buffer[..most])
            .map_err(|source| Error::io("cannot be unpacked; the file is damaged", source))?;
        copied += count as u64;
        if count == 0 || copied > entry.size {
            break;
        }
        crc.update(&buffer[..count]);
        to.write_all(&buffer[..count])
            .map_err(|source| Error::io("cannot write a temporary file (set TMPDIR)", source))?;
    }
    if copied != entry.size {
        let relation = if copied > entry.size { "more" } else { "fewer" };
        return Err(Error::new(format!("holds {relation} bytes than its size {}", entry.size)));
    }
    if crc.sum() != entry.checksum {
        return Err(Error::new("its checksum is wrong; the file is damaged, fetch it again"));
    }
    Ok(())
}

/// Reads a section from its start.
struct Reader<'a> {
    section: &'a Section,
    position: u64,
}

impl<'a> Reader<'a> {
    fn new(section: &'a Section) -> Self {
        Self { section, position: 0 }
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = (self.section.length - self.position).min(buffer.len() as u64) as usize;
        self.section
            .read_at(self.position, &mut buffer[..count])
            .map_err(|error| io::Error::other(error.to_string()))?;
        self.position += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Method, ZipFile, ZipWriter};
    use super::*;
    use std::io::Cursor;

    #[test]
    fn large_entries_are_unpacked_to_disk() {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.begin("zeros", Method::Deflated, b"head").unwrap();
        let block = vec![0; 1 << 20];
        (0..65).for_each(|_| writer.write_all(&block).unwrap());
        writer.write_all(b"tail").unwrap();
        writer.end(b"head").unwrap();
        let file = ZipFile::new(writer.finish(b"").unwrap().into_inner().into()).unwrap();
        let section = file.entry("zeros").unwrap();
        assert!(matches!(section.source, Source::File(..)));
        assert_eq!(section.read_vec((65 << 20) + 2, 6).unwrap(), *b"\0\0tail");
        assert_eq!(section.read_vec(0, 5).unwrap(), *b"head\0");
    }

    #[test]
    fn impossible_sizes_are_refused_before_unpacking() {
        let entry = Entry {
            name: "bomb".into(),
            method: Method::Deflated,
            checksum: 0,
            packed: 10,
            size: 1 << 50,
            header: 0,
            data: 0,
        };
        let error = open(&vec![0; 10].into(), &entry).unwrap_err().to_string();
        assert!(error.contains("impossible"), "{error}");
    }
}
