//! TensorFlow's `tf.train.Example`: named lists of byte strings; those of numbers are told apart, and left alone.
//!
//! In protobuf terms: `Example { Features features = 1 }`, `Features { map<string, Feature>
//! feature = 1 }`, and `Feature` is one of `BytesList` (1), `FloatList` (2), `Int64List` (3), each
//! with a `repeated value = 1`.

use crate::error::{Error, Result};
use crate::files::protobuf::Fields;
use std::collections::BTreeMap;

mod encode;
pub use encode::encode;

/// More features than this are refused: nobody has them, and each costs memory.
const MAX_FEATURES: usize = 1 << 16;

/// One feature; its values stay where they are until they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature<'a> {
    /// Present, but without a list of values.
    Empty,
    /// A list of byte strings.
    Bytes(ByteStrings<'a>),
    /// A list of 32-bit floats, which nobody wants.
    Floats,
    /// A list of 64-bit integers, which nobody wants.
    Ints,
}

/// The byte strings of a feature, where they stand in the record: a list message that was checked and not copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteStrings<'a> {
    message: &'a [u8],
    count: usize,
}

impl<'a> ByteStrings<'a> {
    /// Number of strings.
    pub fn len(self) -> usize {
        self.count
    }

    /// True if there is none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The first string; an error if there is none.
    pub fn first(self) -> Result<&'a [u8]> {
        self.iter().next().ok_or_else(|| Error::new("holds no byte string"))
    }

    /// The strings in order; the message was checked when it was parsed, so nothing is lost here.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let values = Fields::new(self.message).map_while(Result::ok).filter(|(number, _)| *number == 1);
        values.filter_map(|(_, value)| value.bytes("a value").ok())
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
    /// Reads the structure and checks it down to the last string, without copying any.
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
            Some(other) => Err(wrong_kind(name, other)),
        }
    }
}

fn wrong_kind(name: &str, found: Feature<'_>) -> Error {
    let found = match found {
        Feature::Empty => "nothing",
        Feature::Bytes(_) => "byte strings",
        Feature::Floats => "floats",
        Feature::Ints => "integers",
    };
    Error::new(format!("holds {found}; byte strings were expected")).in_field(name)
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
            1 => Feature::Bytes(checked_strings(message)?),
            2 => Feature::Floats,
            _ => Feature::Ints,
        };
    }
    Ok(feature)
}

fn checked_strings(message: &[u8]) -> Result<ByteStrings<'_>> {
    let mut count = 0;
    for field in Fields::new(message) {
        if let (1, value) = field? {
            value.bytes("a value")?;
            count += 1;
        }
    }
    Ok(ByteStrings { message, count })
}
