//! An array on disk, read a few rows at a time as the numbers one wants.

use crate::error::{Error, Result};
use crate::files::npy::{Dtype, Header, Kind};
use crate::files::zip::Section;
use std::ops::Range;

mod element;

use element::{as_f64, as_i64};

/// Arrays in Fortran order are turned in memory, up to this many bytes.
const MOST_TURNED: u64 = 256 << 20;
/// More numbers than one read may ask for: an episode of 256 million numbers is a mistake.
const MOST_READ: usize = 1 << 28;

/// An array whose rows can be read at random.
#[derive(Clone, Debug)]
pub struct Array {
    name: String,
    section: Section,
    header: Header,
}

impl Array {
    /// An npy file's array; `name` is for messages.
    pub fn open(name: &str, section: Section) -> Result<Self> {
        Self::open_unnamed(name, section).map_err(|error| error.in_field(name))
    }

    fn open_unnamed(name: &str, section: Section) -> Result<Self> {
        let mut header = Header::read(&section)?;
        let section = if header.fortran_order && header.shape.len() > 1 {
            turned(&section, &mut header)?
        } else {
            section
        };
        Ok(Self { name: name.to_owned(), section, header })
    }

    /// The array's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        self.header.dtype
    }

    /// Length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// Length of the first axis; 1 for a single number.
    pub fn rows(&self) -> usize {
        self.header.shape.first().copied().unwrap_or(1)
    }

    /// Numbers in a row.
    pub fn row_len(&self) -> usize {
        self.header.shape.iter().skip(1).product()
    }

    /// Rows as 32-bit floats, rounded to nearest; numbers too large for one are an error.
    pub fn read_f32(&self, rows: Range<usize>) -> Result<Vec<f32>> {
        let first = rows.start;
        let values = self.read_with(rows, |bytes, dtype| as_f64(bytes, dtype) as f32)?;
        // Only a finite 64-bit number or a large integer can become infinite here.
        if self.header.dtype.size == 8
            && let Some(at) = values.iter().position(|value| value.is_infinite())
        {
            let row = first + at / self.row_len();
            let exact = self.read_with(row..row + 1, as_f64)?[at % self.row_len()];
            if exact.is_finite() {
                return Err(self.problem(row, &format!("{exact:e} is too large for a 32-bit float")));
            }
        }
        Ok(values)
    }

    /// Rows as 64-bit floats; integers beyond 2^53 are rounded.
    pub fn read_f64(&self, rows: Range<usize>) -> Result<Vec<f64>> {
        self.read_with(rows, as_f64)
    }

    /// Rows as bytes; anything but whole numbers from 0 to 255 is an error.
    pub fn read_u8(&self, rows: Range<usize>) -> Result<Vec<u8>> {
        if self.header.dtype == Dtype::U8 {
            return self.read_bytes(rows);
        }
        let first = rows.start;
        let values = self.read_f64(rows)?;
        if let Some(at) = values.iter().position(|&value| f64::from(value as u8) != value) {
            let problem = format!("{} is not a whole number from 0 to 255", values[at]);
            return Err(self.problem(first + at / self.row_len(), &problem));
        }
        Ok(values.into_iter().map(|value| value as u8).collect())
    }

    /// Rows as integers; arrays of floats are refused.
    pub fn read_i64(&self, rows: Range<usize>) -> Result<Vec<i64>> {
        if self.header.dtype.kind == Kind::Float {
            return Err(
                Error::new(format!("holds {}; integers are needed", self.dtype())).in_field(&self.name)
            );
        }
        let first = rows.start;
        let values = self.read_with(rows, as_i64)?;
        match values.iter().position(Option::is_none) {
            Some(at) => Err(self.problem(first + at / self.row_len(), "holds an integer beyond 2^63")),
            None => Ok(values.into_iter().flatten().collect()),
        }
    }

    fn read_with<T>(&self, rows: Range<usize>, convert: impl Fn(&[u8], Dtype) -> T) -> Result<Vec<T>> {
        let bytes = self.read_bytes(rows)?;
        let dtype = self.header.dtype;
        Ok(bytes.chunks_exact(dtype.size).map(|element| convert(element, dtype)).collect())
    }

    fn read_bytes(&self, rows: Range<usize>) -> Result<Vec<u8>> {
        assert!(rows.start <= rows.end && rows.end <= self.rows(), "rows {rows:?} of {}", self.rows());
        let row = self.row_len();
        if row.saturating_mul(rows.len()) > MOST_READ {
            let count = rows.len();
            return Err(Error::new(format!(
                "{count} rows of {row} numbers are too many to read at once; make the episodes shorter"
            ))
            .in_field(&self.name));
        }
        let row_bytes = (row * self.header.dtype.size) as u64;
        let start = self.header.data + rows.start as u64 * row_bytes;
        self.section
            .read_vec(start, rows.len() as u64 * row_bytes)
            .map_err(|error| error.in_field(&self.name))
    }

    fn problem(&self, row: usize, problem: &str) -> Error {
        Error::new(problem).in_field(&self.name).in_record(format!("row {row}"))
    }
}

/// Copies an array into memory with its last index varying fastest, as everybody else expects it.
fn turned(section: &Section, header: &mut Header) -> Result<Section> {
    let bytes = section.len() - header.data;
    if bytes > MOST_TURNED {
        return Err(Error::new(format!(
            "is {bytes} bytes in Fortran order, too large to turn; save numpy.ascontiguousarray of it"
        )));
    }
    let data = section.read_vec(header.data, bytes)?;
    let size = header.dtype.size;
    let mut steps = vec![size; header.shape.len()];
    for axis in 1..steps.len() {
        // An empty array of many rows has steps nobody takes.
        steps[axis] = steps[axis - 1].saturating_mul(header.shape[axis - 1]);
    }
    let mut index = vec![0; header.shape.len()];
    let mut result = Vec::with_capacity(data.len());
    while result.len() < data.len() {
        let from: usize = index.iter().zip(&steps).map(|(i, step)| i * step).sum();
        result.extend_from_slice(&data[from..from + size]);
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < header.shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    header.data = 0;
    header.fortran_order = false;
    Ok(result.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::npy::header_bytes;

    fn array(dtype: &str, shape: &[usize], data: &[u8]) -> Array {
        let mut bytes = header_bytes(Dtype::parse(dtype).unwrap(), shape);
        bytes.extend(data);
        Array::open("a", bytes.into()).unwrap()
    }

    #[test]
    fn conversions_are_checked() {
        let numbers = |values: &[f64]| {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            array("<f8", &[values.len()], &bytes)
        };
        assert_eq!(numbers(&[3.0, 255.0]).read_u8(0..2).unwrap(), [3, 255]);
        for bad in [256.0, -1.0, 0.5, f64::NAN] {
            let error = numbers(&[0.0, bad]).read_u8(0..2).unwrap_err().to_string();
            assert!(error.starts_with("row 1: field a:"), "{error}");
        }
        assert!(numbers(&[1e300]).read_f32(0..1).unwrap_err().to_string().contains("too large"));
        assert_eq!(numbers(&[f64::INFINITY]).read_f32(0..1).unwrap(), [f32::INFINITY]);
        assert!(numbers(&[1.0]).read_i64(0..1).is_err());
        assert!(array("<u8", &[1], &[0xff; 8]).read_i64(0..1).is_err());
        assert_eq!(array("|i1", &[1], &[0xff]).read_i64(0..1).unwrap(), [-1]);
    }

    #[test]
    fn fortran_order_is_turned() {
        let mut bytes = header_bytes(Dtype::U8, &[2, 3, 2]);
        let at = bytes.windows(5).position(|window| window == b"False").unwrap();
        bytes.splice(at..at + 5, *b"True ");
        // Element [i, j, k] lies at i + 2 j + 6 k.
        bytes.extend(0..12);
        let array = Array::open("a", bytes.into()).unwrap();
        assert_eq!(array.read_u8(0..1).unwrap(), [0, 6, 2, 8, 4, 10]);
        assert_eq!(array.read_u8(1..2).unwrap(), [1, 7, 3, 9, 5, 11]);
    }
}
