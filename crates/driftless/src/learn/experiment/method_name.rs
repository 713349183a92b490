//! A method as experiments name it: a line of the registry.

use crate::config;
use crate::error::{Error, Result};
use crate::methods::{METHODS, Registered};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

/// Who learns: one of [`METHODS`], by its id.
///
/// ```
/// use driftless::learn::MethodName;
/// let sdpf: MethodName = "sdpf".parse()?;
/// assert_eq!((sdpf.id, sdpf.to_string().as_str()), ("sdpf", "SDPF (paper)"));
/// let old = "dpf-jonschkowski".parse::<MethodName>().unwrap_err().to_string();
/// assert!(old.contains("`dpf-jonschkowski` is now called `dpf`"));
/// # Ok::<(), driftless::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct MethodName(&'static Registered);

impl MethodName {
    fn find(id: &str) -> std::result::Result<Self, String> {
        let known: Vec<String> = METHODS.iter().map(|method| format!("`{}`", method.id)).collect();
        let method = METHODS.iter().find(|method| method.id == id).map(Self);
        method.ok_or_else(|| format!("unknown method `{id}`, expected one of {}", known.join(", ")))
    }
}

impl Default for MethodName {
    fn default() -> Self {
        Self(&METHODS[0])
    }
}

impl Deref for MethodName {
    type Target = Registered;

    fn deref(&self) -> &Registered {
        self.0
    }
}

impl FromStr for MethodName {
    type Err = Error;

    fn from_str(id: &str) -> Result<Self> {
        Self::find(id).map_err(|problem| Error::setting("method", config::with_advice(problem)))
    }
}

impl PartialEq for MethodName {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// As tables and legends show it.
impl fmt::Display for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label)
    }
}

impl fmt::Debug for MethodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

impl Serialize for MethodName {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id)
    }
}

impl<'de> Deserialize<'de> for MethodName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Self::find(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
