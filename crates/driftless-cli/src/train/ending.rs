//! How a training ended, in words and as an exit code.

use super::Ended;
use crate::interrupt;
use crate::output::{complain, print, typed};
use anyhow::Result;
use driftless::learn::{EpochRecord, Outcome};
use std::path::Path;
use std::process::ExitCode;

/// Exit code of a training whose losses or weights were no longer finite.
const DIVERGED: u8 = 4;

/// Says where the weights are and what to type next.
pub fn tell(folder: &Path, ended: &Ended) -> Result<ExitCode> {
    let place = folder.display();
    let best = ended.best.as_ref().map_or_else(
        || "no epoch was completed: there are no weights".to_owned(),
        |best| format!("{} are in {}", described(best), folder.join("best.safetensors").display()),
    );
    Ok(match &ended.outcome {
        Outcome::Finished => {
            let finished = if ended.trained == 0 { "was finished already" } else { "finished" };
            print(&format!(
                "{place}: {finished}; {best}\nNext: driftless evaluate {} --data FILE\n",
                typed(folder)
            ))?;
            ExitCode::SUCCESS
        }
        Outcome::Stopped { epoch } => {
            complain(&format!(
                "{place}: interrupted after epoch {epoch}; go on with: driftless train --resume {}",
                typed(folder)
            ));
            ExitCode::from(interrupt::EXIT_CODE)
        }
        Outcome::Diverged { epoch, why, .. } => {
            complain(&format!("error: {place}: learning failed in epoch {epoch}: {why}; {best}"));
            ExitCode::from(DIVERGED)
        }
    })
}

fn described(best: &EpochRecord) -> String {
    match best.validation.and_then(|seen| seen.distance) {
        Some(distance) => {
            format!("the best weights, of epoch {} (validation {distance:.3} steps),", best.epoch)
        }
        None => format!("the last weights, of epoch {},", best.epoch),
    }
}
