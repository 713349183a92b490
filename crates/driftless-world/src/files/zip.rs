//! Zip archives, just what numpy's npz files need: stored and deflated entries of any size.
//!
//! Own code rather than a crate, because an entry must be readable at random without unpacking it
//! into memory, and because a hostile archive must fail with a clear message.

mod checksum;
mod directory;
mod records;
mod section;
mod writer;

pub use section::Section;
pub use writer::ZipWriter;

use crate::error::{Error, Result};
use crate::files::source::Source;
use directory::Entry;

const LOCAL_HEADER: u32 = 0x0403_4b50;
const CENTRAL_HEADER: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const END_64_LOCATOR: u32 = 0x0706_4b50;
const ZIP64_EXTRA: u16 = 1;

/// How an entry's bytes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// As they are.
    Stored,
    /// Compressed.
    Deflated,
}

impl Method {
    fn code(self) -> u16 {
        match self {
            Self::Stored => 0,
            Self::Deflated => 8,
        }
    }

    fn from_code(code: u16) -> Result<Self> {
        match code {
            0 => Ok(Self::Stored),
            8 => Ok(Self::Deflated),
            other => Err(Error::new(format!(
                "is compressed by zip method {other}, which numpy never writes; save it again with numpy.savez"
            ))),
        }
    }
}

/// An archive whose table of contents was read and checked.
#[derive(Clone, Debug)]
pub struct ZipFile {
    source: Source,
    entries: Vec<Entry>,
    comment: Vec<u8>,
}

impl ZipFile {
    /// Reads the table of contents; overlapping, encrypted and out-of-range entries are refused.
    pub fn new(source: Source) -> Result<Self> {
        let (entries, comment) = directory::read(&source)?;
        Ok(Self { source, entries, comment })
    }

    /// Names of all entries in the archive's order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The archive's comment; empty if there is none.
    pub fn comment(&self) -> &[u8] {
        &self.comment
    }

    /// Opens an entry for random access, after its checksum was verified.
    pub fn entry(&self, name: &str) -> Result<Section> {
        section::open(&self.source, self.find(name)?).map_err(|error| error.in_field(name))
    }

    /// The first `most` bytes of an entry, unverified, and its whole size: enough to refuse an
    /// entry before a large one is unpacked.
    pub fn head(&self, name: &str, most: u64) -> Result<(Section, u64)> {
        let entry = self.find(name)?;
        let head = section::head(&self.source, entry, most).map_err(|error| error.in_field(name))?;
        Ok((head, entry.size))
    }

    fn find(&self, name: &str) -> Result<&Entry> {
        let found = self.entries.iter().find(|entry| entry.name == name);
        found.ok_or_else(|| Error::new("is not in the archive").in_field(name))
    }
}

/// Little-endian numbers taken one after another from a slice that was checked to be long enough.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_first_chunk::<N>().expect("the caller checked the length");
        self.0 = rest;
        *head
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn skip(&mut self, count: usize) {
        self.0 = &self.0[count..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Write};

    fn sample(method: Method) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.begin("a.npy", method, b"head").unwrap();
        writer.write_all(&vec![5; 100_000]).unwrap();
        writer.end(b"HEAD").unwrap();
        writer.begin("b", method, b"").unwrap();
        writer.end(b"").unwrap();
        writer.finish(b"made by a test").unwrap().into_inner()
    }

    fn problem(bytes: Vec<u8>) -> String {
        match ZipFile::new(bytes.into()) {
            Ok(file) => match file.entry("a.npy") {
                Ok(_) => String::from("fine"),
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn reads_what_it_wrote() {
        for method in [Method::Stored, Method::Deflated] {
            let bytes = sample(method);
            assert_eq!(bytes.len() < 10_000, method == Method::Deflated);
            let file = ZipFile::new(bytes.into()).unwrap();
            assert_eq!(file.names().collect::<Vec<_>>(), ["a.npy", "b"]);
            assert_eq!(file.comment(), b"made by a test");
            let section = file.entry("a.npy").unwrap();
            assert_eq!(section.len(), 100_004);
            assert_eq!(section.read_vec(0, 6).unwrap(), b"HEAD\x05\x05");
            assert_eq!(section.read_vec(100_003, 1).unwrap(), [5]);
            assert!(section.read_vec(100_003, 2).is_err());
            assert!(file.entry("b").unwrap().is_empty());
            assert!(file.entry("c").unwrap_err().to_string().contains("not in the archive"));
        }
    }

    #[test]
    fn damage_is_named() {
        for method in [Method::Stored, Method::Deflated] {
            let good = sample(method);
            let data = 30 + 5 + 20;
            let edit = |at: usize, value: u8| {
                let mut bytes = good.clone();
                bytes[at] = value;
                problem(bytes)
            };
            assert_eq!(problem(good.clone()), "fine");
            assert!(edit(data + 7, b'x').contains("checksum"), "{}", edit(data + 7, b'x'));
            let central = good.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
            assert!(edit(central + 8, 1).contains("encrypted"));
            assert!(edit(central + 10, 12).contains("method 12"));
            assert!(edit(central + 45, 1).contains("outside"));
            assert!(edit(central + 24, 9).contains("size"), "{}", edit(central + 24, 9));
            assert!(problem(good[..good.len() - 1].to_vec()).contains("not a complete zip"));
            assert!(problem(Vec::new()).contains("not a complete zip"));
        }
    }
}
