//! The wire format of protocol buffers: fields in, fields out, no schema.

use crate::error::{Error, Result};

/// Groups inside groups deeper than this are refused, as protobuf's own parsers do.
const MAX_GROUP_DEPTH: usize = 100;

/// The value of one field as it stands on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Wire type 0: integers, booleans, enumerations.
    Varint(u64),
    /// Wire type 1: eight little-endian bytes.
    Fixed64([u8; 8]),
    /// Wire type 2: strings, bytes, messages and packed numbers.
    Bytes(&'a [u8]),
    /// Wire type 5: four little-endian bytes.
    Fixed32([u8; 4]),
    /// Wire types 3 and 4: an obsolete group; its content was skipped.
    Group,
}

impl<'a> Value<'a> {
    /// The bytes of a length-delimited field; `what` names it in the error otherwise.
    pub fn bytes(self, what: &str) -> Result<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            other => Err(Error::new(format!("{what} has wire type {}; 2 was expected", other.wire_type()))),
        }
    }

    /// The number of the wire type, for messages.
    pub fn wire_type(self) -> u8 {
        match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Group => 3,
            Self::Fixed32(_) => 5,
        }
    }
}

/// Walks over the fields of a message: field numbers and values, in the order of the wire.
///
/// After an error the walk is over.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields of `message`.
    pub fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn read_field(&mut self) -> Result<(u32, Value<'a>)> {
        let (number, wire_type) = self.read_tag()?;
        let value = match wire_type {
            3 => self.skip_group(number)?,
            4 => return Err(Error::new(format!("the end of group {number} has no beginning"))),
            _ => self.read_value(wire_type)?,
        };
        Ok((number, value))
    }

    fn read_tag(&mut self) -> Result<(u32, u8)> {
        let tag = take_varint(&mut self.rest)?;
        let number = u32::try_from(tag >> 3).unwrap_or(u32::MAX);
        if number == 0 || number >= 1 << 29 {
            return Err(Error::new(format!("{} is not a field number; not a protobuf message?", tag >> 3)));
        }
        Ok((number, (tag & 7) as u8))
    }

    fn read_value(&mut self, wire_type: u8) -> Result<Value<'a>> {
        Ok(match wire_type {
            0 => Value::Varint(take_varint(&mut self.rest)?),
            1 => Value::Fixed64(self.take(8)?.try_into().expect("eight bytes")),
            2 => {
                let length = take_varint(&mut self.rest)?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Fixed32(self.take(4)?.try_into().expect("four bytes")),
            other => return Err(Error::new(format!("wire type {other} does not exist"))),
        })
    }

    fn skip_group(&mut self, number: u32) -> Result<Value<'a>> {
        let mut open = vec![number];
        while let Some(&innermost) = open.last() {
            match self.read_tag()? {
                (number, 3) if open.len() < MAX_GROUP_DEPTH => open.push(number),
                (_, 3) => return Err(Error::new("groups are nested too deeply")),
                (number, 4) if number == innermost => drop(open.pop()),
                (number, 4) => {
                    return Err(Error::new(format!(
                        "group {innermost} is ended by the end of group {number}"
                    )));
                }
                (_, wire_type) => drop(self.read_value(wire_type)?),
            }
        }
        Ok(Value::Group)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let taken = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let Some((taken, rest)) = taken else {
            return Err(Error::new(format!(
                "a value of {length} bytes where its message has only {} left",
                self.rest.len()
            )));
        };
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.read_field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Takes a variable-length integer from the front of `bytes`.
pub fn take_varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for (i, &byte) in bytes.iter().take(10).enumerate() {
        // The tenth byte has room for one bit only.
        if i == 9 && byte > 1 {
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *bytes = &bytes[i + 1..];
            return Ok(value);
        }
    }
    let problem = if bytes.len() < 10 { "the message ends inside" } else { "more than 64 bits in" };
    Err(Error::new(format!("{problem} a variable-length integer")))
}

/// Appends a variable-length integer.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a length-delimited field.
pub fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_varint(out, u64::from(field) << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(bytes: &[u8]) -> Result<Vec<(u32, Value<'_>)>> {
        Fields::new(bytes).collect()
    }

    #[test]
    fn varints_round_trip_and_overflow_is_an_error() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX >> 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut rest = bytes.as_slice();
            assert_eq!((take_varint(&mut rest).unwrap(), rest.len()), (value, 0));
        }
        // The specification's own example.
        assert_eq!(take_varint(&mut [0xac, 0x02].as_slice()).unwrap(), 300);
        let mut eleven = [0xff; 10];
        assert!(take_varint(&mut eleven.as_slice()).unwrap_err().to_string().contains("64 bits"));
        eleven[9] = 2;
        assert!(take_varint(&mut eleven.as_slice()).is_err());
        assert!(take_varint(&mut [0x80].as_slice()).unwrap_err().to_string().contains("ends inside"));
    }

    #[test]
    fn walks_over_every_wire_type() {
        let mut bytes = vec![0x08, 0x96, 0x01, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1d, 9, 8, 7, 6];
        bytes.extend([0x23, 0x2b, 0x08, 0x05, 0x2c, 0x24]); // group 4 with group 5 inside
        put_bytes(&mut bytes, 6, b"end");
        let expected = [
            (1, Value::Varint(150)),
            (2, Value::Fixed64([1, 2, 3, 4, 5, 6, 7, 8])),
            (3, Value::Fixed32([9, 8, 7, 6])),
            (4, Value::Group),
            (6, Value::Bytes(b"end")),
        ];
        assert_eq!(walk(&bytes).unwrap(), expected);
    }

    #[test]
    fn refuses_what_is_not_a_message() {
        let deep = [0x0b; 200];
        let cases: [(&[u8], &str); 7] = [
            (&[0x00], "0 is not a field number"),
            (&[0x0e], "wire type 6"),
            (&[0x0a, 5, 1], "5 bytes where its message has only 1 left"),
            (&[0x0c], "has no beginning"),
            (&[0x0b, 0x14], "group 1 is ended by the end of group 2"),
            (&[0x0b], "ends inside"),
            (&deep, "too deeply"),
        ];
        for (bytes, expected) in cases {
            let error = walk(bytes).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert_eq!(Fields::new(bytes).count(), 1, "the walk ends with the error");
        }
    }
}
