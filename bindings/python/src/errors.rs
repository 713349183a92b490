//! The library's errors as exceptions of Python: all are ValueErrors, or OSErrors where a file cannot be read.

use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyValueError};

/// A problem in the words of the library.
pub fn raised(error: driftless_world::Error) -> PyErr {
    match error.io_kind() {
        Some(std::io::ErrorKind::NotFound) => PyFileNotFoundError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// The same of a method or a run.
pub fn failed(error: driftless::Error) -> PyErr {
    match error {
        driftless::Error::File(error) => raised(error),
        other => PyValueError::new_err(other.to_string()),
    }
}
