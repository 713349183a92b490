//! TFRecord files: numbered byte strings, each guarded by checksums, read in any order.
//!
//! A record is its length (u64), the masked CRC-32C of those eight bytes, the data, and the masked
//! CRC-32C of the data; all numbers are little-endian.

use crate::error::{Error, Result};
use crate::files::{NewFile, Overwrite, Source};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Larger records are refused, so that a damaged length cannot claim all memory.
pub const MAX_RECORD_BYTES: u64 = 1 << 30;

const HEADER_BYTES: u64 = 12;
const FOOTER_BYTES: u64 = 4;

/// True if the first record's length has the checksum that follows it.
pub(super) fn looks_like_records(start: &[u8]) -> bool {
    start.len() >= 12
        && masked_crc(&start[..8]) == u32::from_le_bytes(start[8..12].try_into().expect("4 bytes"))
}

/// The CRC-32C of `bytes` as TensorFlow stores it.
pub(super) fn masked_crc(bytes: &[u8]) -> u32 {
    mask_crc(crc32c::crc32c(bytes))
}

/// TensorFlow stores CRCs rotated and shifted, so that data containing CRCs keep theirs useful.
pub(super) fn mask_crc(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    data_offset: u64,
    length: u32,
}

/// An open record file and the positions of its records. Threads can share one.
#[derive(Debug)]
pub struct RecordFile {
    source: Source,
    path: Option<PathBuf>,
    entries: Vec<Entry>,
}

impl RecordFile {
    /// Opens a file and finds its records, reading only their 12-byte headers.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut file = Source::open(path).and_then(Self::from_source).map_err(|error| error.in_file(path))?;
        file.path = Some(path.to_path_buf());
        Ok(file)
    }

    /// The same for any source of bytes.
    pub fn from_source(source: Source) -> Result<Self> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut position = 0;
        while position < source.len() {
            let entry = read_header(&source, position)
                .map_err(|error| error.in_record(format!("record {} at byte {position}", entries.len())))?;
            position = entry.data_offset + u64::from(entry.length) + FOOTER_BYTES;
            entries.push(entry);
        }
        Ok(Self { source, path: None, entries })
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there is no record.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Reads record `index` into `buffer`, whose old content is lost, and verifies its checksum.
    ///
    /// Panics if there is no such record, which is the caller's bug.
    pub fn read(&self, index: usize, buffer: &mut Vec<u8>) -> Result<()> {
        let entry = self.entries[index];
        self.read_entry(entry, buffer).map_err(|error| {
            let start = entry.data_offset - HEADER_BYTES;
            self.named(error.in_record(format!("record {index} at byte {start}")))
        })
    }

    /// Adds the file's name to an error, if this was opened by name.
    pub fn named(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.in_file(path),
            None => error,
        }
    }

    fn read_entry(&self, entry: Entry, buffer: &mut Vec<u8>) -> Result<()> {
        let length = entry.length as usize;
        buffer.clear();
        buffer.resize(length + FOOTER_BYTES as usize, 0);
        self.source.read_at(entry.data_offset, buffer)?;
        let stored = u32::from_le_bytes(buffer[length..].try_into().expect("four bytes"));
        buffer.truncate(length);
        let computed = masked_crc(buffer);
        if stored != computed {
            return Err(Error::new(format!(
                "damaged: the data have checksum {computed:#010x}, the file says {stored:#010x}; \
                 fetch or write the file again"
            )));
        }
        Ok(())
    }
}

fn read_header(source: &Source, position: u64) -> Result<Entry> {
    let mut header = [0; HEADER_BYTES as usize];
    source.read_at(position, &mut header)?;
    let (length_bytes, crc_bytes) = header.split_at(8);
    let stored = u32::from_le_bytes(crc_bytes.try_into().expect("four bytes"));
    if stored != masked_crc(length_bytes) {
        return Err(Error::new(match (position, &header[..2]) {
            (0, [0x1f, 0x8b]) => "is compressed with gzip; decompress it first",
            (0, _) => "the length has a wrong checksum: damaged, or not a TFRecord file",
            _ => "the length has a wrong checksum: damaged from here on",
        }));
    }
    let length = u64::from_le_bytes(length_bytes.try_into().expect("eight bytes"));
    if length > MAX_RECORD_BYTES {
        return Err(Error::new(format!("{length} bytes long; at most {MAX_RECORD_BYTES} are accepted")));
    }
    let data_offset = position + HEADER_BYTES;
    if source.len() - data_offset < length + FOOTER_BYTES {
        return Err(Error::new(format!(
            "truncated: {length} bytes of data and a checksum do not fit before the file's end at byte {}",
            source.len()
        )));
    }
    Ok(Entry { data_offset, length: length as u32 })
}

/// Writes the frame around `data`: what a record looks like in the file.
pub fn write_framed(writer: &mut impl Write, data: &[u8]) -> std::io::Result<()> {
    let length = (data.len() as u64).to_le_bytes();
    writer.write_all(&length)?;
    writer.write_all(&masked_crc(&length).to_le_bytes())?;
    writer.write_all(data)?;
    writer.write_all(&masked_crc(data).to_le_bytes())
}

/// A record file being written; it appears under its name when committed.
#[derive(Debug)]
pub struct RecordWriter {
    file: NewFile,
    path: PathBuf,
}

impl RecordWriter {
    /// Starts a file.
    pub fn create(path: impl AsRef<Path>, overwrite: Overwrite) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        Ok(Self { file: NewFile::create(&path, overwrite)?, path })
    }

    /// Appends a record.
    pub fn push(&mut self, data: &[u8]) -> Result<()> {
        if data.len() as u64 > MAX_RECORD_BYTES {
            return Err(Error::new(format!(
                "a record of {} bytes; at most {MAX_RECORD_BYTES} can be read back",
                data.len()
            ))
            .in_file(&self.path));
        }
        write_framed(&mut self.file, data)
            .map_err(|source| Error::io("cannot write", source).in_file(&self.path))
    }

    /// Makes the file appear, complete.
    pub fn commit(self) -> Result<()> {
        self.file.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(records: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in records {
            write_framed(&mut bytes, record).unwrap();
        }
        bytes
    }

    fn failure(bytes: Vec<u8>) -> String {
        RecordFile::from_source(bytes.into()).unwrap_err().to_string()
    }

    /// Bytes computed with a table-driven CRC-32C in Python.
    #[test]
    fn frames_as_tensorflow_does() {
        let expected = b"\x09\0\0\0\0\0\0\0\x37\xf9\x71\x39123456789\xe5\xb0\x8a\xc7";
        assert_eq!(framed(&[b"123456789"]), expected);
    }

    #[test]
    fn reads_in_any_order_and_checks_the_data() {
        let mut bytes = framed(&[b"first", b"", b"third"]);
        let last = bytes.len() - 5;
        let file = RecordFile::from_source(bytes.clone().into()).unwrap();
        let mut buffer = b"left over".to_vec();
        for (index, expected) in [(2, "third"), (1, ""), (0, "first")] {
            file.read(index, &mut buffer).unwrap();
            assert_eq!(buffer, expected.as_bytes());
        }
        bytes[last] ^= 1;
        let file = RecordFile::from_source(bytes.into()).unwrap();
        file.read(0, &mut buffer).unwrap();
        let error = file.read(2, &mut buffer).unwrap_err().to_string();
        assert!(error.starts_with("record 2 at byte 37: damaged"), "{error}");
    }

    #[test]
    fn names_the_record_and_position_of_damage() {
        let bytes = framed(&[b"first", b"second"]);
        let cut = failure(bytes[..bytes.len() - 1].to_vec());
        assert!(cut.starts_with("record 1 at byte 21: truncated"), "{cut}");
        let cut = failure(bytes[..25].to_vec());
        assert!(cut.starts_with("record 1 at byte 21: truncated"), "{cut}");
        let mut wrong = bytes;
        wrong[22] ^= 1;
        assert!(failure(wrong).starts_with("record 1 at byte 21: the length has a wrong checksum"));
        assert!(failure(vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).contains("gzip"));
        assert!(RecordFile::from_source(Vec::new().into()).unwrap().is_empty());
    }

    #[test]
    fn a_huge_length_with_a_right_checksum_takes_no_memory() {
        for length in [MAX_RECORD_BYTES, MAX_RECORD_BYTES + 1, u64::MAX] {
            let mut bytes = length.to_le_bytes().to_vec();
            bytes.extend(masked_crc(&length.to_le_bytes()).to_le_bytes());
            let error = failure(bytes);
            assert!(error.contains("truncated") || error.contains("at most"), "{error}");
        }
    }
}
