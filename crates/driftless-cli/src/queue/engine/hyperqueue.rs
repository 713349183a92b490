//! HyperQueue: one job, one task a run. Its server starts a task again whose worker was lost.

use super::{Handed, asked, ranges};
use crate::args::Queueing;
use crate::queue::state;
use anyhow::Result;
use std::process::Command;

/// Workers that may be lost under a task; runs go on, so it is no sign of a bad one. Versions differ in the word for
/// "any number".
const LOST_WORKERS: usize = 1000;

/// Hands runs over; says what the server answered.
pub fn submit(handed: &Handed, wanted: &Queueing) -> Result<String> {
    let mut command = Command::new("hq");
    command.args(["submit", "--name", "driftless", "--array", &ranges(handed.lines)]);
    command.args(["--cpus", &handed.threads.to_string(), "--crash-limit", &LOST_WORKERS.to_string()]);
    command.arg("--cwd").arg(&handed.here).args(["--stdout", "none"]);
    command
        .arg("--stderr")
        .arg(handed.here.join(state::folder(handed.out)).join("hq-%{JOB_ID}-%{TASK_ID}.log"));
    command.args(&wanted.pass).args(["--", "bash", "-c"]);
    command.arg(format!("exec {}", handed.command("\"$HQ_TASK_ID\"")));
    asked("hq", &mut command, advice)
}

fn advice(words: &str) -> String {
    if words.is_empty() {
        return "HyperQueue is one program, `hq`: put it into the PATH, or use --on lines or --on slurm"
            .to_owned();
    }
    if words.contains("server") || words.contains("onnect") {
        return "is its server running, and reachable from here? `hq server start` starts one".to_owned();
    }
    "see `hq submit --help`; --pass hands options over as they are".to_owned()
}
