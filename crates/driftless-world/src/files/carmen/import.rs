//! A CARMEN log as steps: one whenever odometry has moved or turned enough.

use super::join::Corrected;
use super::{Message, Scan, message};
use crate::error::{Error, Result};
use crate::files::lines::Lines;
use crate::files::recorded::{Recording, Step, episodes};
use crate::files::source::Source;
use crate::files::track::relative;
use driftless_core::pose::wrap;

/// A larger jump between two steps is a reset of the odometer.
const RESET: f64 = 2.0;
/// Lasers of the time say 80 m or more for "nothing came back".
const NO_RETURN: f32 = 80.0;

/// How steps are made.
#[derive(Clone, Debug)]
pub struct CarmenOptions {
    /// At most so many beams of a scan are kept.
    pub beams: usize,
    /// Metres from a step to the next.
    pub min_move: f64,
    /// Or radians.
    pub min_turn: f64,
    /// Longest episode.
    pub episode_steps: usize,
    /// Readings above this many metres become missing.
    pub max_range: Option<f32>,
}

impl Default for CarmenOptions {
    fn default() -> Self {
        Self { beams: 180, min_move: 0.18, min_turn: 0.2, episode_steps: 100, max_range: None }
    }
}

/// What has been read so far.
#[derive(Default)]
struct Reading {
    angles: Vec<f64>,
    count: usize,
    steps: Vec<Step>,
    logged: Vec<f64>,
    scans: usize,
    speed: f64,
    backwards: usize,
    late: usize,
    cut: bool,
}

/// Reads a raw log, and the poses of its corrected one if there is any.
pub fn import(raw: Source, corrected: Option<Source>, options: &CarmenOptions) -> Result<Recording> {
    let mut corrected = corrected.map(Corrected::read).transpose()?;
    let mut reading = Reading::default();
    let mut lines = Lines::new(raw)?;
    while let Some((number, line, whole)) = lines.next_line()? {
        match message(&line) {
            Ok(Message::Scan(scan)) => {
                let read = reading.scan(&scan, corrected.as_mut(), options);
                read.map_err(|error| error.in_record(format!("line {number}")))?;
            }
            Ok(Message::Speed(speed)) => reading.speed = speed,
            Ok(Message::Other) => {}
            Err(_) if !whole => reading.cut = true,
            Err(error) => return Err(error.in_record(format!("line {number}"))),
        }
    }
    reading.finish(corrected.as_ref(), options)
}

impl Reading {
    fn scan(
        &mut self,
        scan: &Scan,
        corrected: Option<&mut Corrected>,
        options: &CarmenOptions,
    ) -> Result<()> {
        self.scans += 1;
        if self.angles.is_empty() {
            self.count = scan.ranges.len();
            let chosen = chosen(self.count, options.beams);
            self.angles = chosen.map(|beam| wrap(scan.first_angle + beam as f64 * scan.spacing)).collect();
        } else if scan.ranges.len() != self.count {
            let problem = format!("has {} readings, the scans before have {}", scan.ranges.len(), self.count);
            return Err(Error::new(problem));
        }
        // Every scan takes its pose, even one that makes no step: equal ranges are matched in order.
        let pose = corrected.and_then(|corrected| corrected.by_ranges(&scan.ranges));
        let mut time = scan.time;
        if let Some(last) = self.steps.last() {
            let motion = relative(last.odometry, scan.pose);
            if motion[0].hypot(motion[1]) < options.min_move && motion[2].abs() < options.min_turn {
                return Ok(());
            }
            self.late += usize::from(time < last.time);
            time = time.max(last.time);
            self.backwards += usize::from(self.speed < -0.02 && motion[0] > 0.05);
        }
        let no_return = options.max_range.unwrap_or(f32::INFINITY);
        let range =
            |beam: usize| Some(scan.ranges[beam]).filter(|&range| range <= no_return).unwrap_or(f32::NAN);
        let ranges = chosen(self.count, options.beams).map(range).collect();
        self.steps.push(Step { time, ranges, odometry: scan.pose, pose });
        self.logged.push(scan.logged);
        Ok(())
    }

    fn finish(mut self, corrected: Option<&Corrected>, options: &CarmenOptions) -> Result<Recording> {
        if self.scans == 0 {
            return Err(Error::new("holds no FLASER or ROBOTLASER1 line; is it a CARMEN log?"));
        }
        let mut notes = self.notes();
        if let Some(corrected) = corrected
            && self.steps.iter().all(|step| step.pose.is_none())
        {
            for (step, &logged) in self.steps.iter_mut().zip(&self.logged) {
                step.pose = corrected.by_time(logged);
            }
            let found = self.steps.iter().filter(|step| step.pose.is_some()).count();
            if found == 0 {
                return Err(Error::new(format!(
                    "none of the {} scans of the corrected log was found by its ranges or its time; is it the same drive?",
                    corrected.scans
                )));
            }
            notes.push(
                "no scan of the corrected log has the same ranges; poses were joined by time".to_owned(),
            );
        }
        let reset =
            |a: &Step, b: &Step| (b.odometry[0] - a.odometry[0]).hypot(b.odometry[1] - a.odometry[1]) > RESET;
        let episodes = episodes(self.steps, options.episode_steps.max(1), reset);
        Ok(Recording { beam_angles: self.angles, episodes, notes })
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let far =
            self.steps.iter().flat_map(|step| &step.ranges).filter(|&&range| range >= NO_RETURN).count();
        if far > 0 {
            notes.push(format!(
                "{far} readings of {NO_RETURN} m and more probably mean that nothing came back; --max-range makes them missing"
            ));
        }
        if self.backwards > 0 {
            notes.push(format!(
                "at {} steps the speed was negative but odometry went forward: this odometer may count backward driving as forward",
                self.backwards
            ));
        }
        if self.late > 0 {
            notes.push(format!("at {} steps the clock went backwards; time was held", self.late));
        }
        if self.cut {
            notes.push("the log ends within a line; what is whole was taken".to_owned());
        }
        notes
    }
}

/// Which of `count` beams are kept: at most `most`, evenly spaced.
fn chosen(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let kept = count.min(most.max(1));
    (0..kept).map(move |beam| beam * count / kept)
}
