//! One robot: its belief, what waits for it, and who speaks for it.

use super::client::Client;
use super::mailbox::{Clock, Mailbox, Waiting};
use super::record::Recorder;
use crate::track::{Line, Trackers, estimated};
use anyhow::{Context, Result};
use driftless::learn::Trained;
use driftless::online::{Estimate, Place, Step, Tracker};
use driftless_world::files::estimates::Estimated;
use driftless_world::random::Random;
use serde::Serialize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Steps that are missing, at most, for which a belief widens: after so many a robot may be anywhere near.
const MOST_BLIND: u64 = 50;

/// A robot that is followed.
pub struct Robot {
    /// Numbers robots on the page.
    pub number: u64,
    pub name: Option<String>,
    post: Mutex<Post>,
    belief: Mutex<Believing>,
}

/// What readers and workers look at for a moment.
pub struct Post {
    pub mailbox: Mailbox,
    /// Whether a worker has it, or will.
    pub is_scheduled: bool,
    /// The client that speaks for it.
    pub owner: Option<u64>,
    /// Whether that client is gone.
    is_abandoned: bool,
    /// When somebody spoke for it.
    pub heard: Instant,
    /// Whether it is no longer among the robots.
    pub is_forgotten: bool,
}

/// What a worker holds for a step.
#[derive(Default)]
pub struct Believing {
    pub begun: Option<Begun>,
    /// How often it began.
    pub starts: u64,
    /// What it saw and is believed to be, for the page.
    pub shown: Option<Shown>,
}

/// A track.
pub struct Begun {
    pub tracker: Tracker,
    pub place: Place,
    pub steps: u64,
    pub clock: Clock,
}

/// The last estimate, and the last image.
pub struct Shown {
    pub estimate: Estimate,
    pub image: Option<([usize; 3], Vec<u8>)>,
}

/// What a client is told.
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    row: Estimated,
    #[serde(skip_serializing_if = "is_none")]
    merged: u64,
    #[serde(skip_serializing_if = "is_none")]
    missed: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Robot {
    /// Before its first line.
    pub fn new(number: u64, name: Option<String>) -> Self {
        Self::with(number, name, Believing::default())
    }

    /// Where a snapshot left it.
    pub fn with(number: u64, name: Option<String>, belief: Believing) -> Self {
        let mailbox = Mailbox::new(belief.begun.as_ref().map(|begun| begun.clock));
        let (owner, heard) = (None, Instant::now());
        let post =
            Post { mailbox, is_scheduled: false, owner, is_abandoned: false, heard, is_forgotten: false };
        Self { number, name, post: Mutex::new(post), belief: Mutex::new(belief) }
    }

    pub fn post(&self) -> MutexGuard<'_, Post> {
        held(&self.post)
    }

    pub fn belief(&self) -> MutexGuard<'_, Believing> {
        held(&self.belief)
    }

    /// Answers a line.
    pub fn step(
        &self,
        waiting: &Waiting,
        trackers: &Mutex<Trackers>,
        seed: u64,
        recorder: Option<&Recorder>,
    ) -> Result<String> {
        let mut belief = self.belief();
        let begins = waiting.begins || belief.begun.is_none();
        let (fresh, names) = {
            let trackers = held(trackers);
            let begin = || self.begin(&waiting.line, &trackers, (seed, belief.starts));
            (begins.then(begin).transpose()?, Arc::clone(&trackers.names))
        };
        let Believing { begun, starts, shown } = &mut *belief;
        let is_fresh = fresh.is_some();
        // A line that is broken starts nothing.
        let mut fresh = fresh;
        let at = fresh.as_mut().or(begun.as_mut()).context("a robot has begun")?;
        let (estimate, step, missed) = at.go(waiting)?;
        let episode = (*starts - u64::from(!is_fresh)) as usize;
        let mut row = estimated(&names, (episode, step as usize), waiting.line.time, &estimate);
        row.robot.clone_from(&self.name);
        if let Some(recorder) = recorder {
            recorder.take(&row, at.tracker.belief());
        }
        if is_fresh {
            (*begun, *starts) = (fresh, *starts + 1);
        }
        let before = shown.take().and_then(|shown| shown.image);
        *shown = Some(Shown { estimate, image: waiting.line.image.clone().or(before) });
        Ok(serde_json::to_string(&Answer { row, merged: waiting.merged, missed })?)
    }

    /// A track of its own: its random numbers are named by the seed, the robot and how often it began, so they do not
    /// depend on other robots. One without a name has those of a stream.
    fn begin(&self, line: &Line, trackers: &Trackers, (seed, starts): (u64, u64)) -> Result<Begun> {
        let mix = |seed, byte: u8| Random::stream(seed, u64::from(byte)).bits();
        let seed = self.name.as_deref().map_or(seed, |name| name.bytes().fold(seed, mix));
        let place = trackers.place(line.start.as_ref())?;
        let tracker = trackers.begin(place, Trained::numbers_of(seed, starts as usize))?;
        Ok(Begun { tracker, place, steps: 0, clock: Clock::default() })
    }
}

impl Begun {
    /// Where the robot is after a line, which step that is, and how many are missing before it: in those it could have
    /// done anything.
    fn go(&mut self, Waiting { line, merged, .. }: &Waiting) -> Result<(Estimate, u64, u64)> {
        let both = self.clock.step.zip(line.step);
        let missed = both.map_or(0, |(last, step)| step.saturating_sub(last.saturating_add(1 + merged)));
        for _ in 0..missed.min(MOST_BLIND) {
            self.tracker.step(Step::default())?;
        }
        // A line that does not fit is missing for the next one; what was missing before it is not again.
        self.clock.step = both.map_or(self.clock.step, |(last, _)| Some(last.saturating_add(missed)));
        let estimate = self.tracker.step(line.seen())?;
        let step = line.step.unwrap_or(self.steps);
        self.steps += 1;
        self.clock = self.clock.then(Clock { step: line.step, time: line.time });
        Ok((estimate, step, missed))
    }
}

impl Post {
    /// Somebody speaks for the robot: at most one client at once may.
    pub fn claim(&mut self, client: &Client) -> Result<(), String> {
        if self.owner.is_some_and(|owner| owner != client.id) {
            return Err("another client speaks for this robot; give each robot a name of its own".to_owned());
        }
        (self.owner, self.is_abandoned, self.heard) = (Some(client.id), false, Instant::now());
        Ok(())
    }

    /// The next line; none once it is forgotten.
    pub fn next(&mut self) -> Option<Waiting> {
        if self.is_forgotten { None } else { self.mailbox.pop() }
    }

    /// The client that speaks for it is gone.
    pub fn abandon(&mut self) {
        (self.owner, self.is_abandoned, self.heard) = (None, true, Instant::now());
    }

    /// Whether nobody speaks for it since a client has gone.
    pub fn is_abandoned(&self) -> bool {
        self.is_abandoned
    }
}
