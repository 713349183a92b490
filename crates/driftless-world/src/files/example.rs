//! TensorFlow's `tf.train.Example`: named lists of byte strings, floats or integers.
//!
//! In protobuf terms: `Example { Features features = 1 }`, `Features { map<string, Feature>
//! feature = 1 }`, and `Feature` is one of `BytesList` (1), `FloatList` (2), `Int64List` (3), each
//! with a `repeated value = 1`. Numbers are read packed or not, and written packed.

use crate::error::{Error, Result};
use crate::files::protobuf::{Fields, Value, take_varint};
use std::collections::BTreeMap;

mod encode;
pub use encode::{FeatureValues, encode};

/// More features than this are refused: nobody has them, and each costs memory.
const MAX_FEATURES: usize = 1 << 16;

/// One feature; its values stay where they are until they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature<'a> {
    /// Present, but without a list of values.
    Empty,
    /// A list of byte strings.
    Bytes(ByteStrings<'a>),
    /// A list of 32-bit floats.
    Floats(EncodedList<'a>),
    /// A list of 64-bit integers.
    Ints(EncodedList<'a>),
}

/// A checked list message that has not been copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodedList<'a> {
    message: &'a [u8],
    count: usize,
}

impl<'a> EncodedList<'a> {
    /// The values of field 1; the message was checked when it was parsed, so nothing is lost here.
    fn values(self) -> impl Iterator<Item = Value<'a>> {
        Fields::new(self.message).map_while(Result::ok).filter(|(number, _)| *number == 1).map(|(_, v)| v)
    }
}

/// The byte strings of a feature, where they stand in the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteStrings<'a>(EncodedList<'a>);

impl<'a> ByteStrings<'a> {
    /// Number of strings.
    pub fn len(self) -> usize {
        self.0.count
    }

    /// True if there is none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The first string; an error if there is none.
    pub fn first(self) -> Result<&'a [u8]> {
        self.iter().next().ok_or_else(|| Error::new("holds no byte string"))
    }

    /// The strings in order.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        self.0.values().filter_map(|value| value.bytes("a value").ok())
    }
}

/// A parsed example; names and values borrow from the record.
///
/// If a name occurs twice the last one counts, as in protobuf. A feature that spreads its values
/// over two list messages, which protobuf would merge but nobody writes, is refused.
#[derive(Clone, Debug, Default)]
pub struct Example<'a> {
    features: BTreeMap<&'a str, Feature<'a>>,
}

impl<'a> Example<'a> {
    /// Reads the structure and checks it down to the last value, without copying values.
    pub fn parse(record: &'a [u8]) -> Result<Self> {
        let mut example = Self::default();
        for field in Fields::new(record) {
            let (1, value) = field? else { continue };
            for entry in Fields::new(value.bytes("Example.features")?) {
                let (1, entry) = entry? else { continue };
                let (name, feature) = parse_entry(entry.bytes("a map entry")?)?;
                example.features.insert(name, feature);
                if example.features.len() > MAX_FEATURES {
                    return Err(Error::new(format!("more than {MAX_FEATURES} features")));
                }
            }
        }
        Ok(example)
    }

    /// Names of all features, sorted.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.features.keys().copied()
    }

    /// The feature called `name`.
    pub fn get(&self, name: &str) -> Option<Feature<'a>> {
        self.features.get(name).copied()
    }

    /// The byte strings of feature `name`, or `None` if there is no such feature.
    pub fn bytes(&self, name: &str) -> Result<Option<ByteStrings<'a>>> {
        match self.get(name) {
            None => Ok(None),
            Some(Feature::Empty) => Ok(Some(ByteStrings::default())),
            Some(Feature::Bytes(strings)) => Ok(Some(strings)),
            Some(other) => Err(wrong_kind(name, "byte strings", other)),
        }
    }

    /// The floats of feature `name`, or `None` if there is no such feature.
    pub fn floats(&self, name: &str) -> Result<Option<Vec<f32>>> {
        let mut floats = Vec::new();
        match self.get(name) {
            None => return Ok(None),
            Some(Feature::Empty) => {}
            Some(Feature::Floats(list)) => {
                for value in list.values() {
                    match value {
                        Value::Fixed32(bytes) => floats.push(f32::from_le_bytes(bytes)),
                        Value::Bytes(packed) => {
                            floats
                                .extend(packed.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
                        }
                        _ => unreachable!("checked by count_floats"),
                    }
                }
            }
            Some(other) => return Err(wrong_kind(name, "floats", other)),
        }
        Ok(Some(floats))
    }

    /// The integers of feature `name`, or `None` if there is no such feature.
    pub fn ints(&self, name: &str) -> Result<Option<Vec<i64>>> {
        let mut ints = Vec::new();
        match self.get(name) {
            None => return Ok(None),
            Some(Feature::Empty) => {}
            Some(Feature::Ints(list)) => {
                for value in list.values() {
                    match value {
                        Value::Varint(number) => ints.push(number.cast_signed()),
                        Value::Bytes(mut packed) => {
                            while !packed.is_empty() {
                                ints.push(take_varint(&mut packed)?.cast_signed());
                            }
                        }
                        _ => unreachable!("checked by count_ints"),
                    }
                }
            }
            Some(other) => return Err(wrong_kind(name, "integers", other)),
        }
        Ok(Some(ints))
    }
}

fn wrong_kind(name: &str, expected: &str, found: Feature<'_>) -> Error {
    let found = match found {
        Feature::Empty => "nothing",
        Feature::Bytes(_) => "byte strings",
        Feature::Floats(_) => "floats",
        Feature::Ints(_) => "integers",
    };
    Error::new(format!("holds {found}; {expected} were expected")).in_field(name)
}

fn parse_entry(entry: &[u8]) -> Result<(&str, Feature<'_>)> {
    let (mut name, mut message): (&str, &[u8]) = ("", &[]);
    for field in Fields::new(entry) {
        match field? {
            (1, value) => {
                name = std::str::from_utf8(value.bytes("a feature's name")?)
                    .map_err(|_| Error::new("a feature's name is not UTF-8"))?;
            }
            (2, value) => message = value.bytes("a feature").map_err(|error| error.in_field(name))?,
            _ => {}
        }
    }
    let feature = parse_feature(message).map_err(|error| error.in_field(name))?;
    Ok((name, feature))
}

fn parse_feature(message: &[u8]) -> Result<Feature<'_>> {
    let mut feature = Feature::Empty;
    for field in Fields::new(message) {
        let (number, value) = field?;
        if !(1..=3).contains(&number) {
            continue;
        }
        if feature != Feature::Empty {
            return Err(Error::new("holds two lists of values"));
        }
        let message = value.bytes("the list of values")?;
        feature = match number {
            1 => {
                let list = checked_list(message, |value| value.bytes("a value").map(|_| 1))?;
                Feature::Bytes(ByteStrings(list))
            }
            2 => Feature::Floats(checked_list(message, count_floats)?),
            _ => Feature::Ints(checked_list(message, count_ints)?),
        };
    }
    Ok(feature)
}

fn checked_list(message: &[u8], count_values: fn(Value<'_>) -> Result<usize>) -> Result<EncodedList<'_>> {
    let mut count = 0;
    for field in Fields::new(message) {
        if let (1, value) = field? {
            count += count_values(value)?;
        }
    }
    Ok(EncodedList { message, count })
}

fn count_floats(value: Value<'_>) -> Result<usize> {
    match value {
        Value::Fixed32(_) => Ok(1),
        Value::Bytes(packed) if packed.len().is_multiple_of(4) => Ok(packed.len() / 4),
        Value::Bytes(packed) => {
            Err(Error::new(format!("{} bytes of packed floats are not a multiple of 4", packed.len())))
        }
        other => Err(Error::new(format!("a float has wire type {}; 5 or 2 was expected", other.wire_type()))),
    }
}

fn count_ints(value: Value<'_>) -> Result<usize> {
    match value {
        Value::Varint(_) => Ok(1),
        Value::Bytes(mut packed) => {
            let mut count = 0;
            while !packed.is_empty() {
                take_varint(&mut packed)?;
                count += 1;
            }
            Ok(count)
        }
        other => {
            Err(Error::new(format!("an integer has wire type {}; 0 or 2 was expected", other.wire_type())))
        }
    }
}
