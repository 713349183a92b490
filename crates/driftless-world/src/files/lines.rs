//! Lines of text files, plain, gzipped or packed by bzip2, one at a time and of bounded length.

use crate::error::{Error, Result};
use crate::files::source::Source;
use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Read};

/// No line of a robot's log is longer; more would be memory taken for something else.
const LONGEST_LINE: u64 = 1 << 20;

/// A source read from its start to its end.
#[derive(Debug)]
pub struct SourceReader {
    source: Source,
    at: u64,
}

impl SourceReader {
    /// Starts at the first byte.
    pub fn new(source: Source) -> Self {
        Self { source, at: 0 }
    }
}

impl Read for SourceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = (self.source.len() - self.at).min(buffer.len() as u64) as usize;
        self.source
            .read_at(self.at, &mut buffer[..count])
            .map_err(|error| io::Error::other(error.to_string()))?;
        self.at += count as u64;
        Ok(count)
    }
}

/// A text file being read line by line.
pub struct Lines {
    reader: Box<dyn BufRead>,
    number: usize,
    packed: bool,
    cut: bool,
}

impl Lines {
    /// Starts at the first line; packed files are unpacked on the way.
    pub fn new(source: Source) -> Result<Self> {
        let head = source.read_vec(0, source.len().min(3))?;
        let plain = BufReader::with_capacity(1 << 16, SourceReader::new(source));
        let reader: Box<dyn BufRead> = if head.starts_with(&[0x1f, 0x8b]) {
            Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(plain)))
        } else if head.starts_with(b"BZh") {
            Box::new(BufReader::with_capacity(1 << 16, MultiBzDecoder::new(plain)))
        } else {
            Box::new(plain)
        };
        let packed = head.starts_with(&[0x1f, 0x8b]) || head.starts_with(b"BZh");
        Ok(Self { reader, number: 0, packed, cut: false })
    }

    /// Whether a packed file ended before its end.
    pub fn cut(&self) -> bool {
        self.cut
    }

    /// The next line, its number from 1, and whether it is whole: it ends with a line's end.
    pub fn next_line(&mut self) -> Result<Option<(usize, String, bool)>> {
        if self.cut {
            return Ok(None);
        }
        self.number += 1;
        let record = format!("line {}", self.number);
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes);
        match read {
            // A packed file that was cut off is what could be unpacked of it.
            Err(_) if self.packed && self.number > 1 => self.cut = true,
            Err(source) => return Err(Error::io("cannot unpack or read", source).in_record(record)),
            Ok(_) => {}
        }
        if bytes.len() as u64 == LONGEST_LINE {
            return Err(Error::new("is longer than a line of a log can be; is this the right file?")
                .in_record(record));
        }
        let whole = bytes.last() == Some(&b'\n');
        let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        Ok((!bytes.is_empty()).then_some((self.number, text, whole)))
    }
}
