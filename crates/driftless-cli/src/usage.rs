//! Options that do not make sense together: like clap's own errors, they end with exit code 2.

use std::fmt;

/// What is wrong with what was typed.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Returns with a [`Usage`] error, as `anyhow::bail!` does with others.
macro_rules! misused {
    ($($message:tt)*) => {
        return Err(anyhow::Error::new($crate::usage::Usage(format!($($message)*))))
    };
}
pub(crate) use misused;
