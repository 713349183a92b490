//! Numpy's npz files: a zip archive of named arrays, read lazily and written as a stream.

use crate::error::{Error, Result};
use crate::files::array::Array;
use crate::files::atomic::{NewFile, Overwrite};
use crate::files::npy::{self, Dtype, Header, header_bytes};
use crate::files::source::Source;
use crate::files::spool::Spooled;
use crate::files::zip::{Method, ZipFile, ZipWriter};
use std::io::{Seek, Write};
use std::path::Path;

/// An npz file open for reading.
#[derive(Clone, Debug)]
pub struct NpzFile {
    zip: ZipFile,
}

impl NpzFile {
    /// Opens a file and checks its table of contents.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_source(Source::open(path)?).map_err(|error| error.in_file(path))
    }

    /// The same for bytes from anywhere.
    pub fn from_source(source: Source) -> Result<Self> {
        Ok(Self { zip: ZipFile::new(source)? })
    }

    /// Names of the arrays, in the file's order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.zip.names().filter_map(|name| name.strip_suffix(".npy"))
    }

    /// True if there is an array of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Opens an array.
    pub fn array(&self, name: &str) -> Result<Array> {
        if !self.contains(name) {
            let known: Vec<&str> = self.names().take(20).collect();
            return Err(Error::new(format!("is missing; the file holds {known:?}")).in_field(name));
        }
        let file = format!("{name}.npy");
        let named = |error: Error| error.in_field(name);
        // Refused by its header, a huge array need not be unpacked.
        let (head, size) = self.zip.head(&file, npy::MOST_HEADER_BYTES + 12).map_err(named)?;
        Header::read_head(&head, size).map_err(named)?;
        let section = self.zip.entry(&file).map_err(named)?;
        Array::open(name, section)
    }

    /// The archive's comment, where we note how a file was made. Numpy ignores it.
    pub fn comment(&self) -> String {
        String::from_utf8_lossy(self.zip.comment()).into_owned()
    }
}

/// An npz file being written, one array after another.
///
/// ```
/// # fn main() -> driftless_world::Result<()> {
/// use driftless_world::files::npz::{NpzFile, NpzWriter};
/// use driftless_world::files::{npy::Dtype, zip::Method};
/// let mut writer = NpzWriter::new(std::io::Cursor::new(Vec::new()), Method::Deflated);
/// writer.array("x", Dtype::F32, &[2])?;
/// writer.write(&[0.5_f32.to_le_bytes(), 1.5_f32.to_le_bytes()].concat())?;
/// writer.end()?;
/// let bytes = writer.finish("two numbers")?.into_inner();
/// assert_eq!(NpzFile::from_source(bytes.into())?.array("x")?.read_f32(0..2)?, [0.5, 1.5]);
/// # Ok(())
/// # }
/// ```
pub struct NpzWriter<W: Write + Seek> {
    zip: ZipWriter<W>,
    method: Method,
    current: Option<Current>,
}

struct Current {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    /// Whether the number of rows is what was written, not what was announced.
    growing: bool,
    bytes: u64,
}

impl NpzWriter<NewFile> {
    /// Starts a file that appears when [`NpzWriter::finish`]ed and committed.
    pub fn create(path: impl AsRef<Path>, overwrite: Overwrite, method: Method) -> Result<Self> {
        Ok(Self::new(NewFile::create(path, overwrite)?, method))
    }
}

impl<W: Write + Seek> NpzWriter<W> {
    /// Writes to `out`, which must be empty.
    pub fn new(out: W, method: Method) -> Self {
        Self { zip: ZipWriter::new(out), method, current: None }
    }

    /// Starts an array of known shape.
    pub fn array(&mut self, name: &str, dtype: Dtype, shape: &[usize]) -> Result<()> {
        self.begin(name, dtype, shape.to_vec(), false)
    }

    /// Starts an array whose number of rows is known only at its end.
    pub fn growing_array(&mut self, name: &str, dtype: Dtype, row: &[usize]) -> Result<()> {
        self.begin(name, dtype, [&[0], row].concat(), true)
    }

    fn begin(&mut self, name: &str, dtype: Dtype, shape: Vec<usize>, growing: bool) -> Result<()> {
        self.zip.begin(&format!("{name}.npy"), self.method, &header_bytes(dtype, &shape))?;
        self.current = Some(Current { name: name.to_owned(), dtype, shape, growing, bytes: 0 });
        Ok(())
    }

    /// Appends elements, in the byte order of the array's type.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.current.as_mut().expect("an array was begun").bytes += bytes.len() as u64;
        self.zip.write_all(bytes).map_err(|source| Error::io("cannot write", source))
    }

    /// Appends everything a temporary file holds.
    pub fn write_spooled(&mut self, spooled: &Spooled) -> Result<()> {
        let source = spooled.source();
        let mut at = 0;
        while at < source.len() {
            let count = (source.len() - at).min(1 << 20);
            self.write(&source.read_vec(at, count)?)?;
            at += count;
        }
        Ok(())
    }

    /// Ends the array; what was written must be what its shape says.
    pub fn end(&mut self) -> Result<()> {
        let mut current = self.current.take().expect("an array was begun");
        let row = current.shape.iter().skip(1).product::<usize>() as u64 * current.dtype.size as u64;
        if current.growing && row > 0 {
            current.shape[0] = (current.bytes / row) as usize;
        }
        let expected = row * current.shape.first().copied().unwrap_or(1) as u64;
        if current.bytes != expected {
            return Err(Error::new(format!(
                "{expected} bytes were announced, but {} written",
                current.bytes
            ))
            .in_field(current.name));
        }
        self.zip.end(&header_bytes(current.dtype, &current.shape))
    }

    /// Completes the archive.
    pub fn finish(self, comment: &str) -> Result<W> {
        self.zip.finish(comment.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn arrays_may_grow_and_are_counted() {
        for method in [Method::Stored, Method::Deflated] {
            let mut writer = NpzWriter::new(Cursor::new(Vec::new()), method);
            writer.growing_array("g", Dtype::U8, &[2, 3]).unwrap();
            for row in 0..1000_usize {
                writer.write(&[row as u8; 6]).unwrap();
            }
            writer.end().unwrap();
            writer.array("n", Dtype::I64, &[]).unwrap();
            writer.write(&7_i64.to_le_bytes()).unwrap();
            writer.end().unwrap();
            let file = NpzFile::from_source(writer.finish("how").unwrap().into_inner().into()).unwrap();
            assert_eq!(file.names().collect::<Vec<_>>(), ["g", "n"]);
            assert_eq!(file.comment(), "how");
            let array = file.array("g").unwrap();
            assert_eq!(array.shape(), [1000, 2, 3]);
            assert_eq!(array.read_u8(999..1000).unwrap(), [231; 6]);
            assert_eq!(file.array("n").unwrap().read_i64(0..1).unwrap(), [7]);
            let error = file.array("pose").unwrap_err().to_string();
            assert_eq!(error, r#"field pose: is missing; the file holds ["g", "n"]"#);
        }
    }

    #[test]
    fn wrong_amounts_are_refused() {
        let mut writer = NpzWriter::new(Cursor::new(Vec::new()), Method::Stored);
        writer.array("a", Dtype::F32, &[2]).unwrap();
        writer.write(&[0; 7]).unwrap();
        assert!(writer.end().unwrap_err().to_string().contains("8 bytes were announced, but 7"));
        let mut writer = NpzWriter::new(Cursor::new(Vec::new()), Method::Stored);
        writer.growing_array("a", Dtype::F32, &[2]).unwrap();
        writer.write(&[0; 9]).unwrap();
        assert!(writer.end().is_err());
    }
}
