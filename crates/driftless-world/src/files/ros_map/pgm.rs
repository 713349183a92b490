//! Portable graymaps, P5 (bytes) and P2 (text), with sizes checked before memory is taken.

use crate::error::{Error, Result};
use crate::files::png_image::{MAX_PIXELS, MAX_SIDE};

/// A grey image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pgm {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// White.
    pub most: u16,
    /// Rows from top to bottom, from 0 to `most`.
    pub values: Vec<u16>,
}

impl Pgm {
    /// Decodes a file.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let is_text = match bytes.get(..2) {
            Some(b"P5") => false,
            Some(b"P2") => true,
            _ => return Err(Error::new("is neither a PGM (P5 or P2) nor a PNG image")),
        };
        let mut words = Words { bytes, at: 2 };
        let [width, height, most] =
            [words.number("width")?, words.number("height")?, words.number("greatest value")?];
        if width == 0 || height == 0 || width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS {
            let problem = format!(
                "an image of {width} x {height} pixels; from 1 to {MAX_SIDE} a side and at most {MAX_PIXELS} in all \
                 are accepted"
            );
            return Err(Error::new(problem));
        }
        let Some(most) = u16::try_from(most).ok().filter(|most| *most > 0) else {
            return Err(Error::new(format!("a greatest value of {most}; from 1 to 65535 are allowed")));
        };
        let count = width * height;
        let values = if is_text { words.text(count)? } else { words.binary(count, most)? };
        if let Some(pixel) = values.iter().position(|value| *value > most) {
            let problem = format!("pixel {pixel} is {}, above the greatest value {most}", values[pixel]);
            return Err(Error::new(problem));
        }
        Ok(Self { width, height, most, values })
    }
}

/// Words between white space and comments.
struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Words<'_> {
    fn number(&mut self, what: &str) -> Result<usize> {
        loop {
            match self.bytes.get(self.at) {
                Some(b'#') => {
                    let rest = &self.bytes[self.at..];
                    self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                Some(byte) if byte.is_ascii_whitespace() => self.at += 1,
                _ => break,
            }
        }
        let digits = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let word = &self.bytes[self.at..self.at + digits];
        self.at += digits;
        // More digits than a size has are none.
        let number = std::str::from_utf8(word).ok().filter(|word| word.len() < 10);
        let number = number.and_then(|word| word.parse().ok());
        number.ok_or_else(|| Error::new(format!("a PGM image without its {what}, at byte {}", self.at)))
    }

    fn text(&mut self, count: usize) -> Result<Vec<u16>> {
        // A pixel takes a digit and a space at least.
        if (self.bytes.len() - self.at) < 2 * count - 1 {
            return Err(self.too_short(count));
        }
        (0..count).map(|pixel| Ok(self.number(&format!("pixel {pixel}"))?.min(65_535) as u16)).collect()
    }

    fn binary(&mut self, count: usize, most: u16) -> Result<Vec<u16>> {
        // One white space ends the header, and no more.
        let first = self.at + 1;
        let each = if most > 255 { 2 } else { 1 };
        let Some(raster) = self.bytes.get(first..).and_then(|rest| rest.get(..count * each)) else {
            return Err(self.too_short(count));
        };
        Ok(match each {
            1 => raster.iter().map(|&byte| u16::from(byte)).collect(),
            _ => raster.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect(),
        })
    }

    fn too_short(&self, count: usize) -> Error {
        Error::new(format!("truncated: {} bytes cannot hold {count} pixels", self.bytes.len()))
    }
}
