//! The beginning of a file, by which its layout is told.

use super::npz::NpzFile;
use super::source::Source;
use crate::error::{Error, Result};
use std::path::Path;

/// As much of a file as tells what it is.
#[derive(Debug, Default)]
pub struct Glimpse {
    /// Its first bytes.
    pub start: Vec<u8>,
    /// Names of the arrays of an npz file.
    arrays: Option<Vec<String>>,
    /// Names in a folder.
    pub entries: Vec<String>,
}

impl Glimpse {
    /// Looks at a file or folder.
    pub fn of(path: &Path) -> Result<Self> {
        if path.is_dir() {
            let entries = std::fs::read_dir(path).map_err(|source| Error::io("cannot list", source))?;
            let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
            return Ok(Self { entries: names.collect(), ..Self::default() });
        }
        let source = Source::open(path)?;
        if source.is_empty() {
            return Err(Error::new("is empty"));
        }
        let start = source.read_vec(0, source.len().min(4096))?;
        if start.starts_with(b"\x1f\x8b") {
            return Err(Error::new("is compressed by gzip; unpack it first (gunzip)"));
        }
        let npz = start.starts_with(b"PK").then(|| NpzFile::from_source(source)).transpose()?;
        let arrays = npz.map(|npz| npz.names().map(ToOwned::to_owned).collect());
        Ok(Self { start, arrays, entries: Vec::new() })
    }

    /// Whether it is an npz file with these arrays.
    pub fn has_arrays(&self, names: &[&str]) -> bool {
        let held = self.arrays.as_deref().unwrap_or_default();
        names.iter().all(|name| held.iter().any(|array| array == name))
    }

    /// Whether it is something else than an npz file.
    pub fn has_no_arrays(&self) -> bool {
        self.arrays.is_none()
    }

    /// The text it begins with; empty if it begins with none.
    pub fn text(&self) -> &str {
        let valid = |error: std::str::Utf8Error| std::str::from_utf8(&self.start[..error.valid_up_to()]);
        std::str::from_utf8(&self.start).or_else(valid).unwrap_or_default()
    }

    /// What can be said of a file that is of no known kind.
    pub(super) fn words(&self) -> String {
        match &self.arrays {
            Some(arrays) => {
                let names = arrays[..arrays.len().min(20)].join(", ");
                format!(
                    "holds the arrays [{names}]; pose, vel and rgbd (DPF) or observations, actions, poses and lengths \
                     (plain log) are expected: it "
                )
            }
            None if self.start.is_empty() => "is a directory without csv files; name a file: it ".to_owned(),
            None => String::new(),
        }
    }
}
