//! Robots as they drive: a JSON object a line on standard input, an estimate a line on standard output.

use super::estimated;
use super::line::{FIELDS, Line, Told};
use super::trackers::{Asked, Trackers};
use crate::args;
use crate::interrupt;
use crate::output::{complain, grouped};
use anyhow::{Context, Result, bail};
use driftless::learn::Trained;
use driftless::online::{Step, Tracker};
use std::collections::{BTreeSet, HashMap};
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// A line that is longer is broken.
const LONGEST: usize = 64 << 20;
/// Robots in one stream, at most: each has its own particles.
const MOST_ROBOTS: usize = 1000;
/// Lines that wait to be looked at, at most.
const WAITING: usize = 4;
/// How often somebody looks whether to stop.
const PAUSE: Duration = Duration::from_millis(100);
/// Exit code of a stream with broken lines: as `inspect` has it for a file with problems.
const BROKEN_LINES: u8 = 3;

/// All robots of a stream.
struct Fleet {
    trackers: Trackers,
    seed: u64,
    robots: HashMap<Option<String>, Robot>,
    /// Tracks begun so far: each has random numbers of its own.
    tracks: usize,
    unknown: BTreeSet<String>,
}

struct Robot {
    tracker: Tracker,
    episode: usize,
    step: usize,
}

/// Reads to the end of the input.
pub fn run(wanted: &args::Track) -> Result<ExitCode> {
    let mut fleet = Fleet::open(wanted)?;
    let lines = listen();
    let (mut number, mut broken) = (0_usize, 0_usize);
    loop {
        let line = match lines.recv_timeout(PAUSE) {
            Ok(line) => line.context("cannot read standard input")?,
            Err(RecvTimeoutError::Timeout) if interrupt::happened() => bail!("interrupted"),
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        number += 1;
        match fleet.take(&line) {
            Ok(None) => {}
            Ok(Some(text)) => {
                if !say(&text)? {
                    return Ok(ExitCode::SUCCESS);
                }
            }
            Err(problem) => {
                broken += 1;
                complain(&format!("line {number}: {problem}; skipped"));
            }
        }
    }
    if broken > 0 {
        complain(&format!("{} of {} lines were broken, and skipped", grouped(broken), grouped(number)));
        return Ok(ExitCode::from(BROKEN_LINES));
    }
    Ok(ExitCode::SUCCESS)
}

/// Lines as they come, read by a thread of its own: whoever waits for one can be interrupted.
fn listen() -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = sync_channel(WAITING);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let line = next_line(&mut input);
            let is_last = !matches!(line, Ok(Some(_)));
            if let Some(line) = line.transpose() {
                // Nobody is left to read it.
                let Ok(()) = sender.send(line) else { return };
            }
            if is_last {
                return;
            }
        }
    });
    receiver
}

/// The next line without its end; of one that is too long, the beginning, and one byte too many.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    if input.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > LONGEST {
        input.skip_until(b'\n')?;
    }
    Ok(Some(line))
}

/// Writes a line at once. False if nobody listens any more.
fn say(text: &str) -> Result<bool> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(anyhow::Error::new(error).context("cannot write to standard output")),
    }
}

impl Fleet {
    fn open(wanted: &args::Track) -> Result<Self> {
        let asked = Asked {
            run: &wanted.run,
            floor: wanted.floor.as_deref(),
            from: wanted.following.from,
            start: wanted.following.start.as_deref(),
            particles: wanted.following.particles,
        };
        let (trackers, seed) = (Trackers::open(&asked)?, wanted.following.seed);
        Ok(Self { trackers, seed, robots: HashMap::new(), tracks: 0, unknown: BTreeSet::new() })
    }

    /// The estimate after a line; nothing after an empty one.
    fn take(&mut self, line: &[u8]) -> Result<Option<String>> {
        if line.len() > LONGEST {
            bail!("is longer than {} bytes", grouped(LONGEST));
        }
        let text = std::str::from_utf8(line).context("is not UTF-8")?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        let line = Line::parse(text, self.trackers.names.len()).map_err(anyhow::Error::msg)?;
        for name in &line.unknown {
            if self.unknown.len() < MOST_ROBOTS && self.unknown.insert(name.clone()) {
                complain(&format!("field {name:?} is not known and not looked at; there are {FIELDS}"));
            }
        }
        let step = line.seen();
        let robot = self.robots.get_mut(&line.robot);
        if let (None, Some(robot)) = (&line.start, robot) {
            return robot.go(&self.trackers.names, step, &line).map(Some);
        }
        if self.robots.len() >= MOST_ROBOTS && !self.robots.contains_key(&line.robot) {
            bail!("there are {MOST_ROBOTS} robots already");
        }
        let mut robot = self.begin(line.start.as_ref())?;
        // A line that is broken starts nothing.
        let text = robot.go(&self.trackers.names, step, &line)?;
        self.tracks += 1;
        self.robots.insert(line.robot, robot);
        Ok(Some(text))
    }

    fn begin(&self, told: Option<&Told>) -> Result<Robot> {
        let place = self.trackers.place(told)?;
        let tracker = self.trackers.begin(place, Trained::numbers_of(self.seed, self.tracks))?;
        Ok(Robot { tracker, episode: self.tracks, step: 0 })
    }
}

impl Robot {
    fn go(&mut self, names: &Arc<[String]>, step: Step, line: &Line) -> Result<String> {
        let estimate = self.tracker.step(step)?;
        let number = line.step.map_or(self.step, |step| step as usize);
        let mut row = estimated(names, (self.episode, number), line.time, &estimate);
        row.robot.clone_from(&line.robot);
        self.step += 1;
        Ok(row.to_json()?)
    }
}
