//! The one error type: what is wrong, in which file and where in it, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Something that is wrong with a file or a configuration; never with our own code, which panics.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read or written.
    File(driftless_world::Error),
    /// A file of weights that is damaged, or of another model. Printed as
    /// `walk.safetensors: tensor a.weight: has the shape [2], but the model wants [3]; …`.
    Weights {
        /// Which file.
        file: PathBuf,
        /// Which tensor of it, if it is one alone.
        tensor: Option<String>,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A setting that is unknown or out of range. Printed as
    /// `walk.toml: optimiser.rate: must be positive, not -1`.
    Setting {
        /// The file, where it came from one.
        file: Option<PathBuf>,
        /// Path of keys, joined by dots; empty for the whole.
        key: String,
        /// What is wrong, and what is allowed.
        problem: String,
    },
    /// A rank that is gone, or does not do what the others do.
    Ranks(String),
}

impl Error {
    /// A setting out of its range.
    pub fn setting(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Setting { file: None, key: key.into(), problem: problem.into() }
    }

    /// Puts a key before the key of a setting: what is wrong in a part is wrong in the whole.
    pub fn under(mut self, outer: &str) -> Self {
        if let Self::Setting { key, .. } = &mut self {
            let dot = if key.is_empty() { "" } else { "." };
            *key = format!("{outer}{dot}{key}");
        }
        self
    }

    /// Names the file of a setting, unless a deeper layer already did.
    pub fn in_file(mut self, path: impl AsRef<Path>) -> Self {
        if let Self::Setting { file, .. } = &mut self {
            file.get_or_insert_with(|| path.as_ref().to_path_buf());
        }
        self
    }
}

impl From<driftless_world::Error> for Error {
    fn from(error: driftless_world::Error) -> Self {
        Self::File(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Ranks(problem) => f.write_str(problem),
            Self::Weights { file, tensor: None, problem } => write!(f, "{}: {problem}", file.display()),
            Self::Weights { file, tensor: Some(tensor), problem } => {
                write!(f, "{}: tensor {tensor}: {problem}", file.display())
            }
            Self::Setting { file, key, problem } => {
                if let Some(file) = file {
                    write!(f, "{}: ", file.display())?;
                }
                let colon = if key.is_empty() { "" } else { ": " };
                write!(f, "{key}{colon}{problem}")
            }
        }
    }
}

// Messages carry the words of their causes already, so `source` is not chained.
impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_file_and_place() {
        let error =
            Error::setting("rate", "must be positive").under("optimiser").in_file("a.toml").in_file("b");
        assert_eq!(error.to_string(), "a.toml: optimiser.rate: must be positive");
        assert_eq!(Error::setting("", "is wrong").under("filter").to_string(), "filter: is wrong");
        let weights =
            Error::Weights { file: "w".into(), tensor: Some("a.b".into()), problem: "holds NaN".into() };
        assert_eq!(weights.to_string(), "w: tensor a.b: holds NaN");
        let file =
            Error::from(driftless_world::Error::new("is missing").in_file("w")).under("x").in_file("y");
        assert_eq!(file.to_string(), "w: is missing");
    }
}
