//! Writes zip archives as a stream; only sizes, checksums and heads are patched in afterwards.

use super::records::{Written, central_header, end, end_64, local_header};
use super::{Method, checksum};
use crate::error::{Error, Result};
use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use std::io::{self, Seek, SeekFrom, Write};

/// An archive being written. Data goes to the current entry through [`Write`].
pub struct ZipWriter<W: Write + Seek> {
    out: W,
    position: u64,
    finished: Vec<Written>,
    current: Option<Current>,
}

struct Current {
    name: String,
    method: Method,
    header: u64,
    data: u64,
    head_at: u64,
    head: Vec<u8>,
    tail: Crc,
    tail_size: u64,
    compressor: Option<Compress>,
}

impl<W: Write + Seek> ZipWriter<W> {
    /// An archive written to `out`, which must be empty.
    pub fn new(out: W) -> Self {
        Self { out, position: 0, finished: Vec::new(), current: None }
    }

    /// Starts an entry with its first bytes, which [`ZipWriter::end`] may replace.
    ///
    /// The head stays uncompressed also in a deflated entry (as a stored block of its own, which
    /// the format allows anywhere), so that it can be rewritten when the data's size is known.
    pub fn begin(&mut self, name: &str, method: Method, head: &[u8]) -> Result<()> {
        assert!(self.current.is_none(), "the last entry was not ended");
        let block = u16::try_from(head.len()).expect("a head is short");
        let header = self.position;
        self.put(&local_header(name, method)).map_err(cannot_write)?;
        let data = self.position;
        let mut compressor = None;
        if method == Method::Deflated {
            compressor = Some(Compress::new(Compression::default(), false));
            let [low, high] = block.to_le_bytes();
            self.put(&[0, low, high, !low, !high]).map_err(cannot_write)?;
        }
        let head_at = self.position;
        self.put(head).map_err(cannot_write)?;
        self.current = Some(Current {
            name: name.to_owned(),
            method,
            header,
            data,
            head_at,
            head: head.to_vec(),
            tail: Crc::new(),
            tail_size: 0,
            compressor,
        });
        Ok(())
    }

    /// Ends the entry, giving its first bytes their final value (of the same length).
    pub fn end(&mut self, head: &[u8]) -> Result<()> {
        let mut current = self.current.take().expect("an entry was begun");
        assert_eq!(head.len(), current.head.len(), "a head keeps its length");
        if let Some(compressor) = &mut current.compressor {
            self.squeeze(compressor, &[], FlushCompress::Finish).map_err(cannot_write)?;
        }
        let mut crc = Crc::new();
        crc.update(head);
        let entry = Written {
            checksum: checksum::joined(crc.sum(), current.tail.sum(), current.tail_size),
            packed: self.position - current.data,
            size: current.head.len() as u64 + current.tail_size,
            name: current.name,
            method: current.method,
            header: current.header,
        };
        let sizes_at = entry.header + 30 + entry.name.len() as u64 + 4;
        self.patch(entry.header + 14, &entry.checksum.to_le_bytes()).map_err(cannot_write)?;
        self.patch(sizes_at, &[entry.size, entry.packed].map(u64::to_le_bytes).concat())
            .map_err(cannot_write)?;
        if head != current.head {
            self.patch(current.head_at, head).map_err(cannot_write)?;
        }
        self.out.seek(SeekFrom::Start(self.position)).map_err(cannot_write)?;
        self.finished.push(entry);
        Ok(())
    }

    /// Writes the table of contents and the archive's comment (at most 65535 bytes).
    pub fn finish(mut self, comment: &[u8]) -> Result<W> {
        assert!(self.current.is_none(), "the last entry was not ended");
        let Ok(comment_length) = u16::try_from(comment.len()) else {
            return Err(Error::new(format!(
                "a comment of {} bytes is too long for a zip file",
                comment.len()
            )));
        };
        let start = self.position;
        let mut table: Vec<u8> = self.finished.iter().flat_map(central_header).collect();
        let (entries, size) = (self.finished.len() as u64, table.len() as u64);
        if entries >= u64::from(u16::MAX) || start.max(size) >= u64::from(u32::MAX) {
            table.extend(end_64(entries, size, start));
        }
        table.extend(end(entries, size, start));
        table.extend(comment_length.to_le_bytes());
        table.extend(comment);
        self.put(&table).map_err(cannot_write)?;
        self.out.flush().map_err(cannot_write)?;
        Ok(self.out)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.out.seek(SeekFrom::Start(at))?;
        self.out.write_all(bytes)
    }

    fn squeeze(
        &mut self,
        compressor: &mut Compress,
        mut input: &[u8],
        flush: FlushCompress,
    ) -> io::Result<()> {
        let mut buffer = [0; 1 << 14];
        loop {
            let (before_in, before_out) = (compressor.total_in(), compressor.total_out());
            let status = compressor.compress(input, &mut buffer, flush).map_err(io::Error::other)?;
            input = &input[(compressor.total_in() - before_in) as usize..];
            let produced = (compressor.total_out() - before_out) as usize;
            self.put(&buffer[..produced])?;
            let done = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => input.is_empty() && produced < buffer.len(),
            };
            if done {
                return Ok(());
            }
        }
    }
}

impl<W: Write + Seek> Write for ZipWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut current = self.current.take().expect("an entry was begun");
        let result = match &mut current.compressor {
            Some(compressor) => self.squeeze(compressor, bytes, FlushCompress::None),
            None => self.put(bytes),
        };
        current.tail.update(bytes);
        current.tail_size += bytes.len() as u64;
        self.current = Some(current);
        result.map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn cannot_write(source: io::Error) -> Error {
    Error::io("cannot write", source)
}

#[cfg(test)]
mod tests {
    use super::super::{END_64, ZipFile};
    use super::*;
    use std::io::Cursor;

    /// More than 65535 entries need the 64-bit table of contents without needing 4 GiB.
    #[test]
    fn many_entries_use_the_64_bit_table() {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for number in 0..70_000 {
            writer.begin(&format!("e{number}"), Method::Stored, b"").unwrap();
            writer.end(b"").unwrap();
        }
        let bytes = writer.finish(b"").unwrap().into_inner();
        assert!(bytes.windows(4).any(|window| window == END_64.to_le_bytes()));
        let file = ZipFile::new(bytes.into()).unwrap();
        assert_eq!(file.names().count(), 70_000);
        assert!(file.entry("e69999").unwrap().is_empty());
    }

    #[test]
    fn the_same_data_gives_the_same_bytes() {
        let write = || {
            let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
            writer.begin("x", Method::Deflated, b"").unwrap();
            writer.write_all(b"abc").unwrap();
            writer.end(b"").unwrap();
            writer.finish(b"c").unwrap().into_inner()
        };
        assert_eq!(write(), write());
        assert!(ZipWriter::new(Cursor::new(Vec::new())).finish(&vec![0; 65_536]).is_err());
    }
}
