//! Bytes as text (RFC 4648, base64 with padding): pictures and particles inside JSON and HTML.

use crate::error::{Error, Result};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of `bytes`: four letters for three bytes, the last group filled with `=`.
///
/// ```
/// use driftless_world::files::base64::{decode, encode};
/// assert_eq!(encode(b"foob"), "Zm9vYg==");
/// assert_eq!(decode("Zm9vYg==")?, b"foob");
/// # Ok::<(), driftless_world::Error>(())
/// ```
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for letter in 0..4 {
            let index = (bits >> (18 - 6 * letter) & 63) as usize;
            text.push(if letter <= group.len() { ALPHABET[index] as char } else { '=' });
        }
    }
    text
}

/// The bytes of a text that [`encode`] could have made; anything else is refused.
pub fn decode(text: &str) -> Result<Vec<u8>> {
    let letters = text.as_bytes();
    if !letters.len().is_multiple_of(4) {
        return Err(Error::new(format!("{} letters are not whole groups of base64", letters.len())));
    }
    let padding = letters.iter().rev().take(2).take_while(|letter| **letter == b'=').count();
    let kept = &letters[..letters.len() - padding];
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3);
    for group in kept.chunks(4) {
        let mut bits = 0;
        for &letter in group {
            bits = bits << 6 | value(letter)?;
        }
        bits <<= 6 * (4 - group.len());
        let whole = group.len() * 6 / 8;
        if bits & ((1 << (24 - 8 * whole)) - 1) != 0 {
            return Err(Error::new("base64 that ends within a byte"));
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..=whole]);
    }
    Ok(bytes)
}

fn value(letter: u8) -> Result<u32> {
    let position = ALPHABET.iter().position(|known| *known == letter);
    position
        .map(|index| index as u32)
        .ok_or_else(|| Error::new(format!("{:?} is no letter of base64", letter as char)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).unwrap(), bytes.as_bytes());
        }
        assert_eq!(encode(&[0xfb, 0xff, 0xbf]), "+/+/");
    }

    #[test]
    fn every_byte_comes_back() {
        for length in 0..260_usize {
            let bytes: Vec<u8> = (0..length).map(|i| (i * 89 + length) as u8).collect();
            assert_eq!(decode(&encode(&bytes)).unwrap(), bytes);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["Zg", "Zg=", "Z===", "====", "Zh==", "Z g=", "Zg==Zg==", "Zm9-", "äöü="] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
