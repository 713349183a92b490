//! What waits for a robot's filter: few lines, in order, of which the oldest become one where there are too many.

use super::client::Client;
use crate::track::Line;
use driftless_world::pose::{Frame, Pose};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// How a robot counts: what the last of its lines said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    pub step: Option<u64>,
    pub time: Option<f64>,
}

/// A line that waits, or several that became one.
pub struct Waiting {
    pub line: Line,
    /// Its number in its connection.
    pub number: u64,
    pub client: Arc<Client>,
    pub received: Instant,
    /// How many older lines are in it: their odometry is, their readings are not.
    pub merged: u64,
    /// Whether the robot begins with it: what it did before is nothing to go on from.
    pub begins: bool,
    _weight: Weight,
}

/// Bytes that wait, among all there are; they no longer do when it is dropped.
struct Weight {
    bytes: usize,
    all: Arc<AtomicUsize>,
}

impl Weight {
    fn of(line: &Line, all: &Arc<AtomicUsize>) -> Self {
        let image = line.image.as_ref().map_or(0, |(_, pixels)| pixels.len());
        let bytes = image + line.readings.as_ref().map_or(0, |readings| 4 * readings.len());
        all.fetch_add(bytes, Ordering::Relaxed);
        Self { bytes, all: Arc::clone(all) }
    }
}

impl Drop for Weight {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// How motions of two lines become that of both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motions {
    /// One after the other, written in this frame.
    Compose(Frame),
    /// Speeds of unknown spans: what both came to is not known.
    Unknown,
}

/// The lines that wait for one robot.
pub struct Mailbox {
    waiting: VecDeque<Waiting>,
    last: Clock,
    began: bool,
}

/// What became of those that waited before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shed {
    /// Became part of a newer one.
    pub merged: u64,
    /// Went, as the robot begins anew.
    pub dropped: u64,
}

impl Waiting {
    /// A line that has just come; its bytes are among all that wait.
    pub fn new(line: Line, number: u64, client: Arc<Client>, all: &Arc<AtomicUsize>) -> Self {
        let (begins, weight) = (line.start.is_some(), Weight::of(&line, all));
        Self { line, number, client, received: Instant::now(), merged: 0, begins, _weight: weight }
    }

    fn clock(&self) -> Clock {
        Clock { step: self.line.step, time: self.line.time }
    }

    /// Takes an older line in: its motion comes first, and what it saw was seen from elsewhere.
    fn absorb(&mut self, older: &Self, motions: Motions) {
        self.line.odometry = older.line.odometry.zip(self.line.odometry).and_then(|both| motions.of(both));
        let changes = older.line.change.as_ref().zip(self.line.change.as_ref());
        self.line.change = changes.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect());
        self.merged += older.merged + 1;
    }
}

impl Motions {
    fn of(self, (first, second): ([f64; 3], [f64; 3])) -> Option<[f64; 3]> {
        let Self::Compose(frame) = self else { return None };
        let end = Pose::default().moved(first, frame).moved(second, frame);
        let [x, y, _] = Pose::default().motion_to(end, frame);
        Some([x, y, first[2] + second[2]]).filter(|both| both.iter().all(|x| x.is_finite()))
    }
}

impl Clock {
    /// Why a line that says `now` is not the next one.
    fn late(self, now: Self) -> Option<String> {
        match (self.step.zip(now.step), self.time.zip(now.time)) {
            (Some((last, step)), _) if step <= last => Some(format!("step {step} is not newer than {last}")),
            (None, Some((last, time))) if time <= last => {
                Some(format!("time {time} is not newer than {last}"))
            }
            _ => None,
        }
    }

    /// What is known after `now`.
    pub fn then(self, now: Self) -> Self {
        Self { step: now.step.or(self.step), time: now.time.or(self.time) }
    }
}

impl Mailbox {
    /// Of a robot that has not begun, or is where a snapshot left it.
    pub fn new(last: Option<Clock>) -> Self {
        Self { waiting: VecDeque::new(), last: last.unwrap_or_default(), began: last.is_some() }
    }

    /// Takes a line in, or says why it is late. There are never more than `most`, which is at least 3.
    pub fn push(&mut self, mut next: Waiting, most: usize, motions: Motions) -> Result<Shed, String> {
        let mut shed = Shed::default();
        let now = next.clock();
        if next.begins {
            shed.dropped = self.waiting.drain(..).map(|old| old.merged + 1).sum();
            self.last = now;
        } else {
            if let Some(problem) = self.last.late(now) {
                return Err(problem);
            }
            next.begins = !self.began;
            self.last = self.last.then(now);
        }
        self.began = true;
        self.waiting.push_back(next);
        if self.waiting.len() > most {
            self.merge(motions);
            shed.merged = 1;
        }
        Ok(shed)
    }

    /// The oldest two become one. A start stays as it is: what follows it happened after it.
    fn merge(&mut self, motions: Motions) {
        let oldest = usize::from(self.waiting[0].begins);
        let old = self.waiting.remove(oldest).expect("more than three wait");
        self.waiting[oldest].absorb(&old, motions);
    }

    /// The line that waited longest.
    pub fn pop(&mut self) -> Option<Waiting> {
        self.waiting.pop_front()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_2;

    fn line(text: &str) -> Waiting {
        Waiting::new(Line::parse(text, 0).unwrap(), 1, Client::testing(), &Arc::default())
    }

    fn turned(step: u64) -> Waiting {
        line(&format!("{{\"step\": {step}, \"odometry\": [1, 0, {FRAC_PI_2}], \"scan\": [{step}]}}"))
    }

    const ROBOT: Motions = Motions::Compose(Frame::Robot);

    /// Three times a metre ahead and a quarter turn to the left: back beside the start, with three quarters of a turn.
    #[test]
    fn the_oldest_become_one() {
        let mut mailbox = Mailbox::new(None);
        for step in 0..3 {
            assert_eq!(mailbox.push(turned(step), 3, ROBOT), Ok(Shed::default()));
        }
        for step in 3..6 {
            assert_eq!(mailbox.push(turned(step), 3, ROBOT), Ok(Shed { merged: 1, dropped: 0 }));
        }
        assert_eq!(mailbox.len(), 3);
        let first = mailbox.pop().unwrap();
        assert!(first.begins && first.merged == 0 && first.line.step == Some(0), "a start stays");
        let both = mailbox.pop().unwrap();
        assert_eq!(
            (both.merged, both.line.step, both.line.readings.as_deref()),
            (3, Some(4), Some(&[4.0][..]))
        );
        let found = both.line.odometry.unwrap();
        // Of four motions a square comes back to where it began.
        for (found, exact) in found.iter().zip([0.0, 0.0, 4.0 * FRAC_PI_2]) {
            assert!((found - exact).abs() < 1e-12, "{found} {exact}");
        }
        assert_eq!(mailbox.pop().unwrap().line.step, Some(5));
    }

    /// Against poses that are moved by one motion after the other, in all frames, wherever the robot stands.
    #[test]
    fn motions_are_composed() {
        let (first, second) = ([0.4, -0.2, 0.9], [-1.0, 0.3, 2.9]);
        for frame in [Frame::Robot, Frame::Reflected, Frame::World] {
            let start = Pose::new(3.0, -1.0, 2.0);
            let exact = start.moved(first, frame).moved(second, frame);
            let found = start.moved(Motions::Compose(frame).of((first, second)).unwrap(), frame);
            assert!(
                exact.distance(found) < 1e-12 && (exact.heading - found.heading).abs() < 1e-12,
                "{frame:?}"
            );
        }
        assert_eq!(Motions::Unknown.of((first, second)), None);
        assert_eq!(ROBOT.of(([1e308; 3], [1e308; 3])), None);
        let mut both = turned(2);
        both.absorb(&line("{}"), ROBOT);
        assert_eq!(both.line.odometry, None, "what is missing in part is missing");
    }

    #[test]
    fn late_lines_are_told() {
        let mut mailbox = Mailbox::new(Some(Clock { step: Some(4), time: Some(2.0) }));
        let mut push = |text: &str| mailbox.push(line(text), 9, ROBOT);
        assert_eq!(push(r#"{"step": 4}"#), Err("step 4 is not newer than 4".to_owned()));
        assert_eq!(push(r#"{"step": 3, "time": 9}"#), Err("step 3 is not newer than 4".to_owned()));
        assert_eq!(push(r#"{"time": 2}"#), Err("time 2 is not newer than 2".to_owned()));
        for text in [r#"{"step": 7, "time": 1}"#, "{}", r#"{"time": 1.5}"#, r#"{"step": 9}"#] {
            assert_eq!(push(text), Ok(Shed::default()), "{text}");
        }
        assert_eq!(push(r#"{"pose": [0, 0, 0], "step": 1}"#), Ok(Shed { merged: 0, dropped: 4 }));
        assert_eq!(push(r#"{"step": 4}"#), Ok(Shed::default()));
        assert_eq!(mailbox.len(), 2);
    }
}
