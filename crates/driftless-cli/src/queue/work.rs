//! One run of a queue, from its claim to its note: what every worker does, on whatever machine.

use super::beat::Pace;
use super::claim::{Asked, Claim, MOST_IN_VAIN};
use super::host::Host;
use super::manifest::{self, Planned};
use super::{checks, state, takeover};
use crate::evaluate::{self, Trial};
use crate::interrupt;
use crate::output::complain;
use crate::train::{self, Ended, Watcher};
use anyhow::{Result, anyhow, ensure};
use driftless::learn::{EpochRecord, Files, Observer, Outcome, alone};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

/// How work on a run ended.
#[derive(Debug, PartialEq)]
pub enum Ending {
    /// Nothing is left to do.
    Done,
    /// It failed, which is noted: why.
    Failed(String),
    /// Another process works on it: who.
    Elsewhere(String),
    /// Somebody asked to stop; it can go on.
    Stopped,
}

/// Does a run if it is neither done nor somebody else's. An error is none of the run's: data or a program that differ,
/// or a disk that is full. Nothing is noted then, and the run can go on.
pub fn work(out: &Path, run: &Planned) -> Result<Ending> {
    if state::done(out, run).is_some() {
        return Ok(Ending::Done);
    }
    checks::version(run)?;
    if let Some(origin) = &run.weights_of {
        let all = manifest::read(out)?;
        let origin = all.iter().find(|other| other.id == *origin);
        let origin = origin.ok_or_else(|| {
            anyhow!("{}: takes weights of {:?}, which is not planned", run.id, run.weights_of)
        })?;
        match work(out, origin)? {
            Ending::Done => {}
            Ending::Failed(why) => return failed(out, run, format!("{}: {why}", origin.id)),
            other => return Ok(other),
        }
    }
    let begun = state::epochs(&run.folder(out));
    let claim = match Claim::ask(&state::folder(out), &run.id, &Host::this(), begun, Pace::USUAL)? {
        Asked::Theirs(who) => return Ok(Ending::Elsewhere(who)),
        Asked::Ours(claim) => claim,
    };
    claim.warnings.iter().for_each(|words| complain(&format!("warning: {words}")));
    let ending = claimed(out, run, &claim);
    claim.release();
    ending
}

fn claimed(out: &Path, run: &Planned, claim: &Claim) -> Result<Ending> {
    // Another may have ended it while we asked.
    if state::done(out, run).is_some() {
        return Ok(Ending::Done);
    }
    if claim.in_vain >= MOST_IN_VAIN {
        let log = state::log(out, &run.id);
        let why = format!(
            "was begun {} times and killed each time before it got further; is there too little memory, or too \
             little time? (see {})",
            claim.in_vain,
            log.display()
        );
        return failed(out, run, why);
    }
    checks::data(run)?;
    let started = Instant::now();
    let at_once = !run.folder(out).join("config.toml").is_file();
    let settled = catch_unwind(AssertUnwindSafe(|| settle(out, run, claim)));
    let settled = settled.unwrap_or_else(|_| Err(anyhow!("a bug of ours: the program panicked, see above")));
    match settled {
        Ok(Some(outcome)) => {
            state::note_done(out, run, &outcome, started.elapsed().as_secs_f64(), at_once)?;
            Ok(Ending::Done)
        }
        _ if !claim.holds() => Ok(Ending::Elsewhere("a process that found this one asleep".to_owned())),
        Ok(None) => Ok(Ending::Stopped),
        Err(_) if interrupt::happened() => Ok(Ending::Stopped),
        Err(error) if is_of_the_machine(&error) => Err(error),
        Err(error) => failed(out, run, format!("{error:#}")),
    }
}

fn failed(out: &Path, run: &Planned, why: String) -> Result<Ending> {
    state::note_failed(out, &run.id, &why)?;
    Ok(Ending::Failed(why))
}

/// No room, or no right to write, says nothing of the run.
fn is_of_the_machine(error: &anyhow::Error) -> bool {
    let words = format!("{error:#}");
    ["No space left on device", "quota exceeded", "Read-only file system", "Stale file handle"]
        .iter()
        .any(|part| words.to_lowercase().contains(&part.to_lowercase()))
}

/// Trains a run to its end, wherever it was left, and evaluates it. How it ended; nothing if it was stopped.
fn settle(out: &Path, run: &Planned, claim: &Claim) -> Result<Option<String>> {
    let folder = run.folder(out);
    if run.weights_of.is_some() {
        return takeover::settle(out, run, claim);
    }
    let watcher = || Watched { watcher: Watcher::new(run.experiment.epochs), claim };
    let ended = if folder.join("config.toml").is_file() {
        checks::same(&folder, run)?;
        train::run_again(&folder, &alone(), |_| watcher())?
    } else {
        let paths = || run.train.iter().map(|data| data.file.clone());
        let files = Files {
            train: paths().next().unwrap_or_default(),
            more: paths().skip(1).collect(),
            valid: run.valid.as_ref().map(|data| data.file.clone()),
            steps: run.steps,
        };
        train::run_new(&run.experiment, &files, (&folder, &alone()), &mut watcher())?
    };
    let Ended { outcome, best, .. } = ended;
    let outcome = match outcome {
        Outcome::Finished => "finished".to_owned(),
        Outcome::Stopped { .. } => return Ok(None),
        Outcome::Diverged { epoch, why, .. } => {
            complain(&format!("warning: {}: learning failed in epoch {epoch}: {why}", run.id));
            format!("learning failed in epoch {epoch}: {why}")
        }
    };
    if best.is_some() {
        examine(&folder, run, claim)?;
    }
    Ok(Some(outcome))
}

/// Evaluates a run as it was planned, if it is not evaluated yet.
pub fn examine(folder: &Path, run: &Planned, claim: &Claim) -> Result<()> {
    let Some(test) = run.test.as_ref().filter(|test| !state::is_evaluated(folder, &test.data.fingerprint))
    else {
        return Ok(());
    };
    let trial = Trial {
        data: test.data.file.clone(),
        steps: run.steps,
        particles: test.particles,
        episodes: None,
        seed: test.seed,
        odometry_noise: None,
        settings: Vec::new(),
        play: test.play,
        maze: None,
        map: None,
    };
    let mut evaluated = evaluate::track(folder, &trial, &alone())?;
    if let Some(world) = &test.world {
        evaluated.evaluation.about.world.clone_from(world);
        for episode in &mut evaluated.episodes.episodes {
            episode.about.world.clone_from(world);
        }
    }
    ensure!(claim.holds(), "taken over by another process");
    evaluate::save(folder, &mut evaluated)?;
    interrupt::check()
}

/// Watches a training, and whether its run is still ours.
struct Watched<'a> {
    watcher: Watcher,
    claim: &'a Claim,
}

impl Observer for Watched<'_> {
    fn seconds(&mut self) -> f64 {
        self.watcher.seconds()
    }

    fn epoch(&mut self, record: &EpochRecord) {
        self.watcher.epoch(record);
    }

    fn wants_to_stop(&mut self) -> bool {
        self.watcher.wants_to_stop() || !self.claim.holds()
    }

    fn may_write(&mut self) -> bool {
        self.claim.holds()
    }
}
