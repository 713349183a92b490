//! The one error type: what is wrong, and in which file, record and field.

use std::fmt;
use std::path::{Path, PathBuf};

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Something that is wrong with a file or a request.
///
/// Parsers that do not know the file's name leave it out; whoever opened the file adds it with
/// [`Error::in_file`]. Printed as `walk.npz: episode 3: field pose: holds NaN at row 12`.
#[derive(Debug)]
pub struct Error {
    file: Option<PathBuf>,
    record: Option<String>,
    field: Option<String>,
    problem: String,
    source: Option<std::io::Error>,
    usage: bool,
}

impl Error {
    /// A problem in plain words; say what to do about it if that is known.
    pub fn new(problem: impl Into<String>) -> Self {
        Self { file: None, record: None, field: None, problem: problem.into(), source: None, usage: false }
    }

    /// What was asked for makes no sense, whatever the files hold.
    pub fn usage(problem: impl Into<String>) -> Self {
        Self { usage: true, ..Self::new(problem) }
    }

    /// A failed system call while doing `action` ("cannot read", "cannot create").
    pub fn io(action: &str, source: std::io::Error) -> Self {
        Self { source: Some(source), ..Self::new(action) }
    }

    /// Names the file, unless a deeper layer already did.
    pub fn in_file(mut self, file: impl AsRef<Path>) -> Self {
        self.file.get_or_insert_with(|| file.as_ref().to_path_buf());
        self
    }

    /// Names the record ("episode 3", "line 17"), unless a deeper layer already did.
    pub fn in_record(mut self, record: impl fmt::Display) -> Self {
        self.record.get_or_insert_with(|| record.to_string());
        self
    }

    /// Names the field (array, feature or column), unless a deeper layer already did.
    pub fn in_field(mut self, field: impl Into<String>) -> Self {
        self.field.get_or_insert_with(|| field.into());
        self
    }

    /// Whether it is the request that is wrong, not a file.
    pub fn is_usage(&self) -> bool {
        self.usage
    }

    /// The kind of the failed system call, if there was one.
    pub fn io_kind(&self) -> Option<std::io::ErrorKind> {
        self.source.as_ref().map(std::io::Error::kind)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        if let Some(record) = &self.record {
            write!(f, "{record}: ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "field {field}: ")?;
        }
        f.write_str(&self.problem)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

// The system's own words are already part of the message, so `source` is not chained: a reader
// would see them twice.
impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_file_record_and_field_once() {
        let error = Error::new("holds NaN")
            .in_field("pose")
            .in_field("outer")
            .in_record("episode 3")
            .in_file("walk.npz");
        assert_eq!(error.to_string(), "walk.npz: episode 3: field pose: holds NaN");
    }
}
