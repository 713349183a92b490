//! Numbers, texts and arrays from a message's bytes; every length is checked before memory is taken.

use crate::error::{Error, Result};

/// How a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// ROS 2: numbers aligned to their size, texts with a zero at their end.
    Cdr,
    /// ROS 1: everything without gaps.
    Ros1,
}

impl Encoding {
    /// The encoding that a channel names, if it is one of ours.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "cdr" => Some(Self::Cdr),
            "ros1" => Some(Self::Ros1),
            _ => None,
        }
    }
}

/// A place in a message.
#[derive(Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    encoding: Encoding,
}

impl<'a> Cursor<'a> {
    /// The start of a message.
    pub fn new(encoding: Encoding, bytes: &'a [u8]) -> Result<Self> {
        let bytes = match (encoding, bytes) {
            (Encoding::Ros1, bytes) => bytes,
            // Alignment counts from the end of these four bytes.
            (Encoding::Cdr, [0, 1, _, _, rest @ ..]) => rest,
            (Encoding::Cdr, [a, b, _, _, ..]) => {
                return Err(Error::new(format!(
                    "is in the CDR variant {a} {b}; only little endian (0 1) is read"
                )));
            }
            _ => return Err(Error::new("is shorter than CDR's header")),
        };
        Ok(Self { bytes, at: 0, encoding })
    }

    /// How the message is written.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.bytes.len());
        let end = end
            .ok_or_else(|| Error::new(format!("ends after {} bytes, within its fields", self.bytes.len())))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N]> {
        if self.encoding == Encoding::Cdr {
            self.at = self.at.next_multiple_of(N);
        }
        Ok(self.take(N)?.try_into().expect("as many bytes were taken"))
    }

    /// An unsigned number of 16 bits.
    pub fn u16(&mut self) -> Result<u16> {
        self.number().map(u16::from_le_bytes)
    }

    /// An unsigned number of 64 bits.
    pub fn u64(&mut self) -> Result<u64> {
        self.number().map(u64::from_le_bytes)
    }

    /// An unsigned number of 32 bits.
    pub fn u32(&mut self) -> Result<u32> {
        self.number().map(u32::from_le_bytes)
    }

    /// A signed number of 32 bits.
    pub fn i32(&mut self) -> Result<i32> {
        self.number().map(i32::from_le_bytes)
    }

    /// A float.
    pub fn f32(&mut self) -> Result<f32> {
        self.number().map(f32::from_le_bytes)
    }

    /// A double.
    pub fn f64(&mut self) -> Result<f64> {
        self.number().map(f64::from_le_bytes)
    }

    /// N doubles.
    pub fn doubles<const N: usize>(&mut self) -> Result<[f64; N]> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = self.f64()?;
        }
        Ok(values)
    }

    /// A text.
    pub fn text(&mut self) -> Result<String> {
        let length = self.u32()? as usize;
        let bytes = self.take(length)?;
        let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Floats, with their number before them.
    pub fn floats(&mut self) -> Result<Vec<f32>> {
        let count = self.u32()? as usize;
        let bytes = self.take(count.checked_mul(4).ok_or_else(|| Error::new("holds too long an array"))?)?;
        Ok(bytes
            .chunks_exact(4)
            .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect())
    }

    /// A byte.
    pub fn u8(&mut self) -> Result<u8> {
        self.number().map(|[byte]: [u8; 1]| byte)
    }

    /// Bytes, with their number before them.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let count = self.u32()? as usize;
        self.take(count)
    }

    /// All bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at = self.bytes.len();
        rest
    }

    /// Number of bytes that are left.
    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }
}
