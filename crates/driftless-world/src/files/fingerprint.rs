//! Tells the contents of files apart: by their length and two checksums of 32 bits, CRC-32 and CRC-32C.

use super::source::Source;
use crate::error::Result;
use flate2::Crc;
use std::fmt;
use std::path::Path;

/// Bytes read at once.
const PIECE: u64 = 1 << 20;

/// Grows with the bytes that are added. Enough to notice what chance and mistakes do to a file; not what somebody
/// forges.
///
/// ```
/// use driftless_world::files::Fingerprint;
/// let mut seen = Fingerprint::default();
/// seen.add(b"1234");
/// seen.add(b"56789");
/// assert_eq!(seen.to_string(), "9-cbf43926e3069283"); // the check values of both standards
/// ```
#[derive(Debug, Default)]
pub struct Fingerprint {
    length: u64,
    crc32: Crc,
    crc32c: u32,
}

impl Fingerprint {
    /// Goes on with more bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        self.crc32.update(bytes);
        self.crc32c = crc32c::crc32c_append(self.crc32c, bytes);
    }

    /// Goes on with all bytes of a source from a position on.
    pub fn add_from(&mut self, source: &Source, mut position: u64) -> Result<()> {
        while position < source.len() {
            let count = PIECE.min(source.len() - position);
            self.add(&source.read_vec(position, count)?);
            position += count;
        }
        Ok(())
    }

    /// That of a file, which is read once, a piece at a time.
    pub fn of_file(path: impl AsRef<Path>) -> Result<String> {
        let mut seen = Self::default();
        let source = Source::open(&path)?;
        seen.add_from(&source, 0).map_err(|error| error.in_file(path))?;
        Ok(seen.to_string())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:08x}{:08x}", self.length, self.crc32.sum(), self.crc32c)
    }
}
