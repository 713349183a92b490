//! A method as experiments name it: a line of the registry.

use super::WorldKind;
use crate::config;
use crate::error::{Error, Result};
use crate::methods::{Learns, METHODS, Registered};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Who learns: one of [`METHODS`], by its id.
///
/// ```
/// use driftless::learn::MethodName;
/// let sdpf: MethodName = "sdpf".parse()?;
/// assert_eq!((sdpf.id, sdpf.to_string().as_str()), ("sdpf", "sdpf"));
/// let old = "dpf-jonschkowski".parse::<MethodName>().unwrap_err().to_string();
/// assert!(old.contains("`dpf-jonschkowski` is now called `dpf`"));
/// # Ok::<(), driftless::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodName {
    /// As experiments name it.
    pub id: &'static str,
    /// What it learns from.
    pub learns: Learns,
}

impl MethodName {
    fn find(id: &str) -> std::result::Result<Self, String> {
        let method = METHODS.iter().find(|method| method.id == id).map(Self::of);
        method.ok_or_else(|| {
            let mut known: Vec<String> = METHODS.iter().map(|method| format!("`{}`", method.id)).collect();
            known.dedup();
            format!("unknown method `{id}`, expected one of {}", known.join(", "))
        })
    }

    fn of(method: &Registered) -> Self {
        Self { id: method.id, learns: method.learns }
    }

    /// The worlds it works in.
    pub fn worlds(self) -> impl Iterator<Item = WorldKind> {
        METHODS.iter().filter(move |method| method.id == self.id).flat_map(Registered::worlds)
    }
}

impl Default for MethodName {
    fn default() -> Self {
        Self::of(&METHODS[0])
    }
}

impl FromStr for MethodName {
    type Err = Error;

    fn from_str(id: &str) -> Result<Self> {
        Self::find(id).map_err(|problem| Error::setting("method", config::with_advice(problem)))
    }
}

/// As experiments name it.
impl fmt::Display for MethodName {
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
