//! How far a run is: notes beside the runs, which say how it ended, and claims, which say who works on it.

use super::claim::{Newest, Owner};
use super::host::{Host, instructions};
use super::manifest::Planned;
use anyhow::{Context, Result};
use driftless_world::Evaluation;
use driftless_world::files::{NewFile, Overwrite};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The note of a run that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// "finished", "taken over", or why learning failed.
    pub outcome: String,
    /// Seconds that it took the process that ended it.
    pub seconds: f64,
    /// Whether these are of the whole training.
    pub at_once: bool,
    /// Fingerprint of the recordings that it was evaluated on.
    pub tested_on: Option<String>,
    /// Length of its `evaluation.json`, if it has one.
    pub evaluation_bytes: Option<u64>,
    /// Where it ended.
    pub host: String,
    /// Instructions of the kernels there.
    pub instructions: String,
}

/// The note of a run that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failed {
    /// The error's words.
    pub why: String,
    /// Where.
    pub host: String,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Nothing is left to do.
    Done(Done),
    /// It ended in an error, and waits for `--retry`.
    Failed(Failed),
    /// Somebody works on it.
    Running(Owner),
    /// Somebody worked on it, was stopped, and it can go on.
    Stopped,
    /// Nobody has begun it.
    Waiting,
}

/// Where notes and claims are.
pub fn folder(out: &Path) -> PathBuf {
    out.join("queue")
}

/// Where a run's words go if it is run by itself.
pub fn log(out: &Path, id: &str) -> PathBuf {
    folder(out).join(format!("{id}.log"))
}

fn note<T: DeserializeOwned>(out: &Path, id: &str, end: &str) -> Option<T> {
    // A note that cannot be read is none: the run is looked at again.
    serde_json::from_str(&fs::read_to_string(folder(out).join(format!("{id}.{end}.json"))).ok()?).ok()
}

fn write_note(out: &Path, id: &str, end: &str, note: &impl Serialize) -> Result<()> {
    fs::create_dir_all(folder(out)).with_context(|| format!("{}: cannot create", folder(out).display()))?;
    let path = folder(out).join(format!("{id}.{end}.json"));
    let mut file = NewFile::create(&path, Overwrite::Replace)?;
    let written = writeln!(file, "{}", serde_json::to_string(note)?);
    written.with_context(|| format!("{}: cannot write", path.display()))?;
    Ok(file.commit()?)
}

/// The note of a run that is done, if its files are there and of the planned recordings.
pub fn done(out: &Path, run: &Planned) -> Option<Done> {
    let done: Done = note(out, &run.id, "done")?;
    let tested_on = run.test.as_ref().map(|test| test.data.fingerprint.clone());
    let folder = run.folder(out);
    let length = fs::metadata(folder.join("evaluation.json")).ok().map(|file| file.len());
    let whole = done.evaluation_bytes.is_none() || done.evaluation_bytes == length;
    // Without weights to take over there is no folder.
    let there =
        folder.join("config.toml").is_file() || run.weights_of.is_some() && done.evaluation_bytes.is_none();
    (done.tested_on == tested_on && whole && there).then_some(done)
}

/// Notes that a run is done; seconds are those of this process, of the whole training or not.
pub fn note_done(out: &Path, run: &Planned, outcome: &str, seconds: f64, at_once: bool) -> Result<()> {
    let evaluation = run.folder(out).join("evaluation.json");
    let length = fs::metadata(evaluation).ok().map(|file| file.len());
    let done = Done {
        outcome: outcome.to_owned(),
        seconds,
        at_once,
        tested_on: run.test.as_ref().map(|test| test.data.fingerprint.clone()),
        evaluation_bytes: length.filter(|_| run.test.is_some()),
        host: Host::this().name,
        instructions: instructions(),
    };
    write_note(out, &run.id, "done", &done)
}

/// The note of a run that failed.
pub fn failed(out: &Path, id: &str) -> Option<Failed> {
    note(out, id, "failed")
}

/// Notes that a run failed.
pub fn note_failed(out: &Path, id: &str, why: &str) -> Result<()> {
    write_note(out, id, "failed", &Failed { why: why.to_owned(), host: Host::this().name })
}

/// Forgets that a run failed.
pub fn forget_failed(out: &Path, id: &str) -> Result<()> {
    let path = folder(out).join(format!("{id}.failed.json"));
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{}: cannot remove", path.display()))
        }
        _ => Ok(()),
    }
}

/// Whether the evaluation in a run's folder is of these recordings; damaged figures are none.
pub fn is_evaluated(folder: &Path, fingerprint: &str) -> bool {
    let text = fs::read_to_string(folder.join("evaluation.json"));
    let evaluated = text.ok().and_then(|text| Evaluation::from_json(&text).ok());
    evaluated.is_some_and(|evaluated| evaluated.about.data_fingerprint == fingerprint)
}

/// Epochs that a run's log tells of.
pub fn epochs(folder: &Path) -> u64 {
    fs::read_to_string(folder.join("log.jsonl")).map_or(0, |text| text.lines().count() as u64)
}

/// How far a run is. Locks are left alone, as a worker could miss its run by ours; hearts are compared with the clock
/// of the folder, asked by writing a file, and a heart is taken to beat for so long.
pub fn state(out: &Path, run: &Planned, now: std::time::SystemTime, alive: Duration) -> Result<State> {
    if let Some(done) = done(out, run) {
        return Ok(State::Done(done));
    }
    if let Some(failed) = failed(out, &run.id) {
        return Ok(State::Failed(failed));
    }
    let Some(newest) = Newest::find(&folder(out), &run.id)? else {
        let begun = run.folder(out).join("config.toml").is_file();
        return Ok(if begun { State::Stopped } else { State::Waiting });
    };
    let beat = fs::metadata(&newest.path).and_then(|file| file.modified());
    let beats = beat.is_ok_and(|beat| now.duration_since(beat).is_ok_and(|age| age < alive) || beat > now);
    match newest.owner() {
        Some(owner) if beats && !newest.is_released() && !owner.is_known_dead() => Ok(State::Running(owner)),
        _ => Ok(State::Stopped),
    }
}

/// The time by the clock of a folder's machine.
pub fn folder_clock(out: &Path) -> Result<std::time::SystemTime> {
    let path = folder(out).join(format!(".clock.partial-{}", std::process::id()));
    let asked = fs::write(&path, "now\n").and_then(|()| fs::metadata(&path)).and_then(|file| file.modified());
    // A small file that stays does no harm.
    let _ = fs::remove_file(&path);
    asked.with_context(|| format!("{}: cannot write", path.display()))
}
