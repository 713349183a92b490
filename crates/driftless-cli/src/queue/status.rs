//! How far a queue is, in words.

use super::beat::Pace;
use super::manifest::Planned;
use super::pace::Known;
use super::state::{self, State};
use crate::output::{aligned, complain, duration, print, typed};
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;

/// More runs of a kind than this are counted only.
const NAMED: usize = 10;

/// Prints how far the runs of a folder are.
pub fn tell(out: &Path, runs: &[Planned]) -> Result<()> {
    std::fs::create_dir_all(state::folder(out))?;
    let now = state::folder_clock(out)?;
    let all = runs.iter().map(|run| Ok((run, state::state(out, run, now, Pace::USUAL.patience)?)));
    let all = all.collect::<Result<Vec<(&Planned, State)>>>()?;
    let of = |word: &'static str| all.iter().filter(move |(_, state)| word_of(state) == word);
    let count = |word| of(word).count();
    let words = ["done", "running", "failed", "stopped", "waiting"];
    let counts: Vec<String> = words.iter().map(|word| format!("{} {word}", count(word))).collect();
    let left = all.iter().filter(|(_, state)| !matches!(state, State::Done(_) | State::Failed(_)));
    let seconds: f64 = left.map(|(run, _)| left_of(out, run)).sum();
    let workers = count("running").max(1);
    let mut known = Known::default();
    for (run, state) in &all {
        if let State::Done(done) = state {
            known.add(run, done);
        }
    }
    let time = duration(seconds * known.pace() / workers as f64);
    print(&format!("{} runs in {}: {}\n", runs.len(), out.display(), counts.join(", ")))?;
    if seconds > 0.0 {
        print(&format!("about {time} left with {workers} at once\n"))?;
    }
    let rows = |word: &'static str| of(word).take(NAMED).map(|(run, state)| row(out, run, state));
    let rows: Vec<Vec<String>> = ["running", "stopped", "failed"].into_iter().flat_map(rows).collect();
    print(&aligned(&rows))?;
    let unnamed: usize = words[1..4].iter().map(|word| count(word).saturating_sub(NAMED)).sum();
    if unnamed > 0 {
        print(&format!("and {unnamed} more\n"))?;
    }
    warn_of_instructions(&all);
    if count("failed") > 0 {
        print(&format!("Failed runs are run again by: driftless sweep --resume {} --retry\n", typed(out)))?;
    }
    Ok(())
}

fn word_of(state: &State) -> &'static str {
    match state {
        State::Done(_) => "done",
        State::Failed(_) => "failed",
        State::Running(_) => "running",
        State::Stopped => "stopped",
        State::Waiting => "waiting",
    }
}

/// Planned seconds of the epochs that are left.
fn left_of(out: &Path, run: &Planned) -> f64 {
    let done = state::epochs(&run.folder(out)) as f64 / run.experiment.epochs.max(1) as f64;
    run.seconds * (1.0 - done.min(1.0))
}

fn row(out: &Path, run: &Planned, state: &State) -> Vec<String> {
    let epochs = format!("epoch {} of {}", state::epochs(&run.folder(out)), run.experiment.epochs);
    let told = match state {
        State::Running(owner) => format!("process {} on {}", owner.process, owner.host.name),
        State::Failed(failed) => format!("on {}: {}", failed.host, failed.why),
        _ => String::new(),
    };
    vec![word_of(state).to_owned(), run.id.clone(), epochs, told]
}

/// Kernels of other instructions round otherwise, so such results are not the same to the byte.
fn warn_of_instructions(all: &[(&Planned, State)]) {
    let used = all.iter().filter_map(|(_, state)| match state {
        State::Done(done) => Some(done.instructions.as_str()),
        _ => None,
    });
    let used: BTreeSet<&str> = used.collect();
    if used.len() > 1 {
        let used: Vec<&str> = used.into_iter().collect();
        complain(&format!(
            "warning: runs ended on processors with different instructions ({}); their last digits may differ from \
             those of one machine",
            used.join(", ")
        ));
    }
}
