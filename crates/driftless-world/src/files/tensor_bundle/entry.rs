//! What the index says: of the whole checkpoint in the header, and of each tensor in its entry.

use crate::error::{Error, Result};
use crate::files::protobuf::{Fields, Value};
use std::fmt;

/// The version of the container that is known, by TensorFlow's count.
const VERSION: u64 = 1;
/// File names have room for five digits.
const MAX_SHARDS: u64 = 99_999;
/// TensorFlow has no tensors of more dimensions.
const MAX_RANK: usize = 254;

/// What a tensor's numbers are, by TensorFlow's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataType(pub u64);

impl DataType {
    /// 32-bit floating point numbers.
    pub const FLOAT32: Self = Self(1);
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("float32"),
            2 => f.write_str("float64"),
            3 => f.write_str("int32"),
            7 => f.write_str("string"),
            9 => f.write_str("int64"),
            10 => f.write_str("bool"),
            14 => f.write_str("bfloat16"),
            19 => f.write_str("float16"),
            other => write!(f, "TensorFlow's type {other}"),
        }
    }
}

/// A tensor as the index describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What its numbers are.
    pub data_type: DataType,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// In which data file it is, counted from 0.
    pub shard: usize,
    /// Where it begins there.
    pub offset: u64,
    /// Number of its bytes.
    pub size: u64,
    /// The masked CRC-32C of these bytes.
    pub checksum: u32,
}

impl Entry {
    pub(super) fn parse(name: &str, message: &[u8]) -> Result<Self> {
        let mut entry = Self {
            name: name.to_owned(),
            data_type: DataType(0),
            shape: Vec::new(),
            shard: 0,
            offset: 0,
            size: 0,
            checksum: 0,
        };
        for field in Fields::new(message) {
            match field? {
                (1, value) => entry.data_type = DataType(number(value, "its type")?),
                (2, value) => entry.shape = parse_shape(value.bytes("its shape")?)?,
                (3, value) => entry.shard = place(value, "its data file")? as usize,
                (4, value) => entry.offset = place(value, "its offset")?,
                (5, value) => entry.size = place(value, "its size")?,
                (6, Value::Fixed32(bytes)) => entry.checksum = u32::from_le_bytes(bytes),
                (6, other) => return Err(wrong_wire_type("its checksum", other, 5)),
                (7, _) => {
                    return Err(Error::new("is stored in slices; save the checkpoint without partitioning"));
                }
                _ => {}
            }
        }
        if entry.data_type == DataType(0) {
            return Err(Error::new("has no type; not the index of a TensorFlow checkpoint?"));
        }
        Ok(entry)
    }
}

/// Number of data files, from the header; fails if they cannot be read here.
pub(super) fn parse_header(message: &[u8]) -> Result<usize> {
    let mut shards = 0;
    for field in Fields::new(message) {
        match field? {
            (1, value) => shards = number(value, "the number of data files")?,
            (2, value) if number(value, "the order of bytes")? != 0 => {
                return Err(Error::new(
                    "was saved with big-endian numbers; only little-endian ones are read",
                ));
            }
            (3, value) => check_version(value.bytes("the version")?)?,
            _ => {}
        }
    }
    if shards == 0 || shards > MAX_SHARDS {
        return Err(Error::new(format!("claims {shards} data files; 1 to {MAX_SHARDS} are possible")));
    }
    Ok(shards as usize)
}

fn check_version(message: &[u8]) -> Result<()> {
    for field in Fields::new(message) {
        if let (2, value) = field? {
            let needed = number(value, "the version")?;
            if needed > VERSION {
                return Err(Error::new(format!(
                    "asks for a reader of version {needed}, but only {VERSION} is known"
                )));
            }
        }
    }
    Ok(())
}

fn parse_shape(message: &[u8]) -> Result<Vec<usize>> {
    let mut shape = Vec::new();
    for field in Fields::new(message) {
        match field? {
            (2, _) if shape.len() == MAX_RANK => {
                return Err(Error::new(format!("has more than {MAX_RANK} dimensions")));
            }
            (2, value) => shape.push(parse_dimension(value.bytes("a dimension")?)?),
            (3, value) if number(value, "its rank")? != 0 => return Err(Error::new("has no known shape")),
            _ => {}
        }
    }
    Ok(shape)
}

fn parse_dimension(message: &[u8]) -> Result<usize> {
    let mut side = 0;
    for field in Fields::new(message) {
        if let (1, value) = field? {
            side = place(value, "a dimension")?;
        }
    }
    Ok(side as usize)
}

fn number(value: Value, what: &str) -> Result<u64> {
    match value {
        Value::Varint(number) => Ok(number),
        other => Err(wrong_wire_type(what, other, 0)),
    }
}

/// A number that must not be negative: half of the range is.
fn place(value: Value, what: &str) -> Result<u64> {
    let found = number(value, what)? as i64;
    u64::try_from(found).map_err(|_| Error::new(format!("{what} is {found}; it cannot be negative")))
}

fn wrong_wire_type(what: &str, value: Value, expected: u8) -> Error {
    Error::new(format!("{what} has wire type {}; {expected} was expected", value.wire_type()))
}
