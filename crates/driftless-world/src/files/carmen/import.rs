//! A CARMEN log as steps: one whenever odometry has moved or turned enough.

use super::join::Corrected;
use super::odometer::{Odometer, Speed};
use super::{Message, Scan, message};
use crate::error::{Error, Result};
use crate::files::bag::stride;
use crate::files::lines::Lines;
use crate::files::recorded::{Recording, Step, episodes};
use crate::files::source::Source;
use crate::files::track::{Pose, relative};

/// Lasers of the time say 80 m or more for "nothing came back".
const NO_RETURN: f32 = 80.0;
/// More scans would not fit into memory.
const MOST_SCANS: usize = 2_000_000;

/// How steps are made.
#[derive(Clone, Debug)]
pub struct CarmenOptions {
    /// At most so many beams of a scan are kept.
    pub beams: usize,
    /// Metres from a step to the next.
    pub every_metres: f64,
    /// Or radians.
    pub every_turn: f64,
    /// Seconds without a scan after which a new episode starts.
    pub max_pause: f64,
    /// Longest episode.
    pub episode_steps: usize,
    /// Readings above this many metres become missing.
    pub max_range: Option<f32>,
}

impl Default for CarmenOptions {
    fn default() -> Self {
        Self {
            beams: 181,
            every_metres: 0.18,
            every_turn: 0.2,
            max_pause: 30.0,
            episode_steps: 100,
            max_range: None,
        }
    }
}

/// A scan with the beams that are kept.
struct Kept {
    time: f64,
    logged: f64,
    odometry: Pose,
    ranges: Vec<f32>,
    pose: Option<Pose>,
}

/// What has been read so far.
#[derive(Default)]
struct Reading {
    angles: Vec<f64>,
    count: usize,
    scans: Vec<Kept>,
    speeds: Vec<Speed>,
    other: usize,
    late: usize,
    unread: Option<(usize, String)>,
    cut: bool,
}

/// Reads a raw log, and the poses of its corrected one if there is any.
pub fn import(raw: Source, corrected: Option<Source>, options: &CarmenOptions) -> Result<Recording> {
    let mut corrected = corrected.map(Corrected::read).transpose()?;
    let mut reading = Reading::default();
    let mut lines = Lines::new(raw)?;
    while let Some((number, line, whole)) = lines.next_line()? {
        match message(&line) {
            Ok(Message::Scan(scan)) => reading
                .scan(&scan, corrected.as_mut(), options)
                .map_err(|error| error.in_record(format!("line {number}")))?,
            Ok(Message::Speed(speed)) => reading.speeds.push(speed),
            Ok(Message::Other) => {}
            Err(_) if !whole => reading.cut = true,
            Err(error) => {
                let (count, _) = reading.unread.get_or_insert((0, format!("line {number}: {error}")));
                *count += 1;
            }
        }
    }
    reading.cut |= lines.cut();
    reading.finish(corrected.as_ref(), options)
}

impl Reading {
    fn scan(
        &mut self,
        scan: &Scan,
        corrected: Option<&mut Corrected>,
        options: &CarmenOptions,
    ) -> Result<()> {
        if self.angles.is_empty() {
            self.count = scan.ranges.len();
            let chosen = chosen(self.count, options.beams);
            self.angles = chosen.map(|beam| scan.first_angle + beam as f64 * scan.spacing).collect();
        }
        if scan.ranges.len() != self.count {
            self.other += 1;
            return Ok(());
        }
        if self.scans.len() == MOST_SCANS {
            return Err(Error::new(format!("is scan number {MOST_SCANS}; split the log")));
        }
        // Every scan takes its pose, even one that makes no step: equal ranges are matched in order.
        let pose = corrected.and_then(|corrected| corrected.by_ranges(&scan.ranges));
        let newest = self.scans.last().map_or(f64::NEG_INFINITY, |last| last.time);
        self.late += usize::from(scan.time < newest);
        let ranges = chosen(self.count, options.beams).map(|beam| scan.ranges[beam]).collect();
        let (time, logged) = (scan.time.max(newest), scan.logged);
        self.scans.push(Kept { time, logged, odometry: scan.pose, ranges, pose });
        Ok(())
    }

    fn finish(mut self, corrected: Option<&Corrected>, options: &CarmenOptions) -> Result<Recording> {
        if self.scans.is_empty() {
            let problem = self.unread.map(|(_, first)| format!("; {first}")).unwrap_or_default();
            return Err(Error::new(format!(
                "holds no FLASER or ROBOTLASER1 line; is it a CARMEN log?{problem}"
            )));
        }
        let mut notes = self.notes(options);
        notes.extend(corrected.map(|corrected| self.join(corrected)).transpose()?.flatten());
        let mut odometer = Odometer::new(std::mem::take(&mut self.speeds));
        let (steps, breaks) = steps(self.scans, &mut odometer, options);
        notes.extend(odometer.notes());
        if !breaks.is_empty() {
            let places = breaks.len();
            notes.push(format!("scans pause or odometry jumps at {places} places; an episode ends at each"));
        }
        let ended =
            |_: &Step, step: &Step| breaks.binary_search_by(|time| time.total_cmp(&step.time)).is_ok();
        Ok(Recording {
            beam_angles: Some(self.angles),
            odometry: true,
            episodes: episodes(steps, options.episode_steps.max(1), ended),
            notes,
            ..Recording::default()
        })
    }

    /// Poses by time, if none was found by ranges.
    fn join(&mut self, corrected: &Corrected) -> Result<Option<String>> {
        if self.scans.iter().any(|scan| scan.pose.is_some()) {
            return Ok(None);
        }
        for scan in &mut self.scans {
            scan.pose = corrected.by_time(scan.logged);
        }
        if self.scans.iter().any(|scan| scan.pose.is_some()) {
            let note = "no scan of the corrected log has the same ranges; poses were joined by time";
            return Ok(Some(note.to_owned()));
        }
        Err(Error::new(format!(
            "none of the {} scans of the corrected log was found by its ranges or its time; is it the same drive?",
            corrected.scans
        )))
    }

    fn notes(&self, options: &CarmenOptions) -> Vec<String> {
        let mut notes = Vec::new();
        let ranges = self.scans.iter().flat_map(|scan| &scan.ranges);
        let far = ranges.filter(|&&range| range >= NO_RETURN).count();
        if far > 0 && options.max_range.is_none() {
            notes.push(format!(
                "{far} readings of {NO_RETURN} m and more probably mean that nothing came back; --max-range makes them missing"
            ));
        }
        if self.late > 0 {
            notes.push(format!("at {} scans the clock went backwards; time was held", self.late));
        }
        if self.other > 0 {
            let (other, count) = (self.other, self.count);
            notes.push(format!("{other} scans were left out, which have not {count} readings as the first"));
        }
        if let Some((count, first)) = &self.unread {
            notes.push(format!("{count} damaged lines were left out, the first: {first}"));
        }
        if self.cut {
            notes.push("the log is cut off; what is whole was taken".to_owned());
        }
        notes
    }
}

/// Chooses the steps; also gives the times of those that begin an episode after a pause or a jump.
fn steps(scans: Vec<Kept>, odometer: &mut Odometer, options: &CarmenOptions) -> (Vec<Step>, Vec<f64>) {
    let (mut steps, mut breaks): (Vec<Step>, Vec<f64>) = (Vec::new(), Vec::new());
    let (mut moved, mut before, mut paused) = ([0.0; 3], f64::INFINITY, false);
    let most = options.max_range.unwrap_or(f32::INFINITY);
    for scan in scans {
        let torn = odometer.drive(scan.time, scan.odometry);
        paused |= torn || scan.time - before > options.max_pause;
        before = scan.time;
        let motion = relative(moved, odometer.pose());
        let far = motion[0].hypot(motion[1]) >= options.every_metres || motion[2].abs() >= options.every_turn;
        if !(steps.is_empty() || paused || far) {
            continue;
        }
        if paused {
            breaks.push(scan.time);
        }
        let action = (!steps.is_empty() && !paused).then_some(motion);
        let readings =
            scan.ranges.iter().map(|&range| if range <= most { range } else { f32::NAN }).collect();
        steps.push(Step { time: scan.time, readings, image: None, action, pose: scan.pose });
        (moved, paused) = (odometer.pose(), false);
    }
    (steps, breaks)
}

/// Which of `count` beams are kept: at most `most`, evenly spaced.
fn chosen(count: usize, most: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by(stride(count, most))
}
