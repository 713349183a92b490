//! Which machine this is.

use driftless_core::Cpu;
use serde::{Deserialize, Serialize};
use std::process::Command;

/// A machine, since it was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// What people call it.
    pub name: String,
    /// Tells kernels apart, and the starts of one; containers on one kernel share its locks.
    pub boot: String,
}

impl Host {
    /// This one.
    pub fn this() -> Self {
        let file = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let asked = || {
            let output = Command::new("hostname").output().ok()?;
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let named = file("/proc/sys/kernel/hostname").or_else(asked).filter(|name| !name.is_empty());
        let name = named.unwrap_or_else(|| "unnamed".to_owned());
        let boot = file("/proc/sys/kernel/random/boot_id").unwrap_or_else(|| name.clone());
        Self { name, boot }
    }
}

/// The instructions that kernels use here. Sums of other instructions are rounded otherwise.
pub fn instructions() -> String {
    format!("{:?}", Cpu::best()).to_lowercase()
}
