//! The header of numpy's npy format: element type, order and shape of an array.

use crate::error::{Error, Result};
use crate::files::zip::Section;

mod literal;

/// What the elements of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// False or true, one byte.
    Bool,
    /// Signed integers.
    Int,
    /// Unsigned integers.
    Uint,
    /// IEEE floating point.
    Float,
}

/// Element type of an array, such as `<f4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dtype {
    /// What the bits mean.
    pub kind: Kind,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub size: usize,
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
}

impl Dtype {
    /// `|u1`, as images are.
    pub const U8: Self = Self { kind: Kind::Uint, size: 1, big_endian: false };
    /// `<f4`.
    pub const F32: Self = Self { kind: Kind::Float, size: 4, big_endian: false };
    /// `<f8`.
    pub const F64: Self = Self { kind: Kind::Float, size: 8, big_endian: false };
    /// `<i8`.
    pub const I64: Self = Self { kind: Kind::Int, size: 8, big_endian: false };

    /// Understands numpy's notation; what is not plain numbers is refused.
    pub fn parse(text: &str) -> Result<Self> {
        let unknown = || {
            let advice = if text.contains('O') {
                "pickled objects are never executed; save plain numbers with numpy.savez"
            } else {
                "only booleans, integers of 1-8 bytes and floats of 2-8 bytes are read"
            };
            Error::new(format!("has the element type {text:?}; {advice}"))
        };
        let mut chars = text.chars();
        let order = chars.next().filter(|c| "<>|=".contains(*c)).ok_or_else(unknown)?;
        let kind = match chars.next().ok_or_else(unknown)? {
            'b' => Kind::Bool,
            'i' => Kind::Int,
            'u' => Kind::Uint,
            'f' => Kind::Float,
            _ => return Err(unknown()),
        };
        let size = match (kind, chars.as_str()) {
            (_, "1") if kind != Kind::Float => 1,
            (Kind::Int | Kind::Uint | Kind::Float, "2") => 2,
            (Kind::Int | Kind::Uint | Kind::Float, "4") => 4,
            (Kind::Int | Kind::Uint | Kind::Float, "8") => 8,
            _ => return Err(unknown()),
        };
        if order == '|' && size > 1 {
            return Err(unknown());
        }
        let big_endian = size > 1 && (order == '>' || order == '=' && cfg!(target_endian = "big"));
        Ok(Self { kind, size, big_endian })
    }
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let order = match (self.size, self.big_endian) {
            (1, _) => '|',
            (_, true) => '>',
            (_, false) => '<',
        };
        let kind = match self.kind {
            Kind::Bool => 'b',
            Kind::Int => 'i',
            Kind::Uint => 'u',
            Kind::Float => 'f',
        };
        write!(f, "{order}{kind}{}", self.size)
    }
}

/// A checked header: the sizes cannot overflow and the data is as long as the shape says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Element type.
    pub dtype: Dtype,
    /// True if the first index varies fastest.
    pub fortran_order: bool,
    /// Length of each axis.
    pub shape: Vec<usize>,
    /// Where the data starts.
    pub data: u64,
}

/// Numpy itself refuses headers above 10000 bytes unless told otherwise.
pub(super) const MOST_HEADER_BYTES: u64 = 1 << 16;
const MOST_AXES: usize = 32;

impl Header {
    /// Reads the header at the start of an npy file.
    pub fn read(section: &Section) -> Result<Self> {
        Self::read_head(section, section.len())
    }

    /// The same from the first bytes of a file of `length` bytes, before the rest is unpacked.
    pub(super) fn read_head(section: &Section, length: u64) -> Result<Self> {
        let size = length;
        let start = section.read_vec(0, section.len().min(12))?;
        if start.len() < 10 || &start[..6] != b"\x93NUMPY" {
            return Err(Error::new("is not a numpy array (it does not start with \\x93NUMPY)"));
        }
        let (at, length) = match start[6] {
            1 => (10, u64::from(u16::from_le_bytes([start[8], start[9]]))),
            2 | 3 if start.len() == 12 => {
                (12, u64::from(u32::from_le_bytes([start[8], start[9], start[10], start[11]])))
            }
            version => {
                return Err(Error::new(format!("has npy version {version}; versions 1 to 3 are read")));
            }
        };
        if length > MOST_HEADER_BYTES {
            return Err(Error::new(format!("claims a header of {length} bytes, which no plain array has")));
        }
        let text = String::from_utf8(section.read_vec(at, length)?)
            .map_err(|_| Error::new("has a header that is not text"))?;
        let literal = literal::parse(&text)?;
        let header = Self {
            dtype: Dtype::parse(&literal.descr)?,
            fortran_order: literal.fortran_order,
            shape: literal.shape,
            data: at + length,
        };
        header.check(size.saturating_sub(header.data))?;
        Ok(header)
    }

    /// Number of bytes of the data, if it can be counted.
    fn bytes(&self) -> Option<u64> {
        // The rows' size must be countable even if there are no rows.
        let row = self.shape.iter().skip(1).try_fold(1_usize, |product, &axis| product.checked_mul(axis))?;
        let elements = row.checked_mul(self.shape.first().copied().unwrap_or(1))?;
        row.checked_mul(self.dtype.size)?;
        u64::try_from(elements.checked_mul(self.dtype.size)?).ok()
    }

    fn check(&self, available: u64) -> Result<()> {
        if self.shape.len() > MOST_AXES {
            return Err(Error::new(format!("has {} axes; numpy allows {MOST_AXES}", self.shape.len())));
        }
        let needed = self.bytes().ok_or_else(|| {
            Error::new(format!("has the impossible shape {:?} (more bytes than can be counted)", self.shape))
        })?;
        if needed != available {
            return Err(Error::new(format!(
                "shape {:?} of {} needs {needed} bytes, but {available} are there",
                self.shape, self.dtype
            )));
        }
        Ok(())
    }
}

/// The bytes before the data. Their number depends on the axes after the first only, so that the
/// first axis (the number of rows) can be filled in later.
pub fn header_bytes(dtype: Dtype, shape: &[usize]) -> Vec<u8> {
    let axes: String = match shape {
        [only] => format!("{only},"),
        axes => axes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    let mut text = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({axes}), }}");
    // Numpy leaves room for a first axis of 21 digits as well.
    let spare = shape.first().map_or(0, |rows| 21_usize.saturating_sub(rows.to_string().len()));
    let total = (10 + text.len() + spare + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', total - 10 - text.len() - 1));
    text.push('\n');
    let length = u16::try_from(text.len()).expect("a few axes make a short header");
    [b"\x93NUMPY\x01\x00", length.to_le_bytes().as_slice(), text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, data: usize) -> Result<Header> {
        let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        Header::read(&bytes.into())
    }

    #[test]
    fn what_is_written_is_read() {
        for shape in [vec![], vec![3], vec![2, 3], vec![0, 5, 1, 7]] {
            let mut bytes = header_bytes(Dtype::F32, &shape);
            assert_eq!(bytes.len() % 64, 0);
            bytes.resize(bytes.len() + 4 * shape.iter().product::<usize>(), 0);
            let header = Header::read(&bytes.into()).unwrap();
            assert_eq!((header.dtype, header.fortran_order), (Dtype::F32, false));
            assert_eq!(header.shape, shape);
        }
        let (few, many) = (header_bytes(Dtype::U8, &[1, 8]), header_bytes(Dtype::U8, &[usize::MAX, 8]));
        assert_eq!(few.len(), many.len());
    }

    #[test]
    fn element_types_are_understood_or_refused() {
        for text in ["<f4", ">f8", "|u1", "|b1", "<i8", ">i2", "<f2", "<u4"] {
            assert_eq!(Dtype::parse(text).unwrap().to_string(), text);
        }
        for text in ["|O", "<U4", "<c8", "<f3", "|f4", "f4", "", "<", "<b2", "<f1", "<f16", "<é"] {
            let error = Dtype::parse(text).unwrap_err().to_string();
            assert_eq!(error.contains("never executed"), text.contains('O'), "{error}");
        }
    }

    #[test]
    fn hostile_shapes_are_refused() {
        let with = |shape: &str, data| {
            let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
            read(&text, data).map(|header| header.shape).map_err(|error| error.to_string())
        };
        assert_eq!(with("(2,)", 8), Ok(vec![2]));
        assert!(with("(2,)", 9).unwrap_err().contains("needs 8 bytes, but 9"));
        assert!(with("(18446744073709551615, 2)", 8).unwrap_err().contains("impossible"));
        assert!(with("(0, 18446744073709551615, 2)", 0).unwrap_err().contains("impossible"));
        // These products wrap to 0 in 64 bits.
        assert!(with("(0, 9223372036854775808, 2)", 0).unwrap_err().contains("impossible"));
        assert!(with("(1, 4294967296, 4294967296)", 0).unwrap_err().contains("impossible"));
        assert!(with("(9223372036854775808, 2)", 0).unwrap_err().contains("impossible"));
        assert!(with("(0, 9223372036854775807)", 0).unwrap_err().contains("impossible"));
        assert!(with(&format!("({})", "1, ".repeat(33)), 4).unwrap_err().contains("33 axes"));
    }
}
