//! What messages do to the filter, and what is published then. Knows no DDS.

mod heard;
mod publish;
mod start;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use crate::clock::Clock;
use crate::counts::{Counts, Trouble};
use crate::odometer::{At, Odometer, Reading};
use crate::parameters::Parameters;
use crate::run::{Follow, Run, Wants};
use crate::sights::{Readings, Sight, What};
use crate::topics::Said;
use driftless::learn::MotionKind;
use driftless::online::{Frame, Step};
use driftless_core::pose::Pose;
use driftless_world::files::bag::Frames;
use driftless_world::files::camera::Picture;
use driftless_world::files::estimates::messages::Message;
use driftless_world::files::track::{self, relative};
use start::Told;
use std::collections::VecDeque;

/// Scans and images that wait for odometry, at most.
const WAITING: usize = 16;
/// Seconds that a scan or an image may be ahead of odometry.
const AHEAD: f64 = 5.0;
/// Seconds between a scan and the image that is looked at with it, at most, as the importer has it.
const BESIDE: f64 = 0.15;
/// Images that wait for the scan they are beside.
const IMAGES: usize = 4;

/// What comes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This is published.
    Publish(Said, Message),
    /// The user is told.
    Tell(String),
}

/// The last step of the filter.
#[derive(Clone, Copy, Debug)]
struct Updated {
    time: f64,
    odometry: Option<Reading>,
    /// Where odometry's frame is on the map.
    correction: Option<track::Pose>,
}

/// A robot, and the filter that follows it.
pub struct Localiser {
    parameters: Parameters,
    run: Box<dyn Run>,
    wants: Wants,
    filter: Option<Box<dyn Follow>>,
    told: Option<Told>,
    updated: Option<Updated>,
    odometer: Odometer,
    waiting: VecDeque<Sight>,
    images: VecDeque<(f64, Picture)>,
    /// Of scans and of images.
    clocks: [Clock; 2],
    readings: Readings,
    frames: Frames,
    other_frames: [bool; 2],
    chosen: Vec<u32>,
    counts: Counts,
    outcomes: Vec<Outcome>,
}

impl Localiser {
    /// For a robot that sent nothing yet.
    pub fn new(parameters: Parameters, run: Box<dyn Run>, wants: Wants) -> Self {
        let told = Told::first(&parameters, wants.spread);
        Self {
            readings: Readings::of(parameters.mount),
            told,
            parameters,
            run,
            wants,
            filter: None,
            updated: None,
            odometer: Odometer::default(),
            waiting: VecDeque::new(),
            images: VecDeque::new(),
            clocks: [Clock::default(); 2],
            frames: Frames::default(),
            other_frames: [false; 2],
            chosen: Vec::new(),
            counts: Counts::default(),
            outcomes: Vec::new(),
        }
    }

    /// What came in and became of it so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What came of messages since the last time somebody asked.
    pub fn outcomes(&mut self) -> Vec<Outcome> {
        std::mem::take(&mut self.outcomes)
    }

    fn tell(&mut self, what: impl Into<String>) {
        self.outcomes.push(Outcome::Tell(what.into()));
    }

    /// Counts it, and tells of the first, the tenth, …
    fn note(&mut self, trouble: Trouble, what: impl FnOnce() -> String) {
        if self.counts.note(trouble) {
            let count = self.counts.of(trouble);
            let often = if count > 1 { format!(" ({count} times)") } else { String::new() };
            self.tell(what() + &often);
        }
    }

    /// Takes all that waited and whose odometry is known by now.
    fn settle(&mut self) {
        while let Some(sight) = self.waiting.pop_front() {
            match self.odometer.at(sight.time) {
                At::Known(reading) => self.see(&sight, Some(reading)),
                // Who has no actions needs none.
                _ if self.wants.motion == MotionKind::None => self.see(&sight, None),
                At::Wait if self.waits(sight.time) => {
                    self.waiting.push_front(sight);
                    return;
                }
                _ => self.note(Trouble::WithoutOdometry, || {
                    format!("odometry does not say where the robot was at {:.3} s: passed over", sight.time)
                }),
            }
        }
    }

    /// Whether odometry of this time may still come.
    fn waits(&self, time: f64) -> bool {
        self.waiting.len() < WAITING && self.odometer.newest().is_none_or(|newest| time - newest <= AHEAD)
    }

    /// A scan or an image whose odometry is known.
    fn see(&mut self, sight: &Sight, odometry: Option<Reading>) {
        if let Some(told) = self.told.take() {
            self.begin(told, sight.time, odometry);
        }
        if self.filter.is_none() {
            self.note(Trouble::WithoutStart, || {
                "nobody said where the robot is: publish to initialpose, or set set_initial_pose or \
                 global_localization"
                    .to_owned()
            });
            return;
        }
        match self.motion(sight.time, odometry) {
            Motion::TooLittle => self.publish_transform(sight.stamp, odometry),
            Motion::Unknown => self.update(sight, odometry, None),
            Motion::By(action) => self.update(sight, odometry, Some(action)),
        }
    }

    /// From the last step to now.
    fn motion(&self, time: f64, odometry: Option<Reading>) -> Motion {
        let Some(Updated { time: before, odometry: last, .. }) = self.updated else { return Motion::Unknown };
        let Some((now, last)) = odometry.zip(last).filter(|(now, last)| now.stretch == last.stretch) else {
            return Motion::Unknown;
        };
        let [forward, left, turn] = relative(last.pose, now.pose);
        let (far, turned) = (self.parameters.update_min_d, self.parameters.update_min_a);
        if forward.hypot(left) <= far && turn.abs() <= turned && far.max(turned) > 0.0 {
            return Motion::TooLittle;
        }
        let [a, b] = [last.pose, now.pose].map(|[x, y, heading]| Pose::new(x, y, heading));
        let action = a.motion_to(b, self.wants.frame);
        match self.wants.motion {
            MotionKind::Velocity if time > before => Motion::By(action.map(|x| x / (time - before))),
            MotionKind::Velocity | MotionKind::None => Motion::Unknown,
            MotionKind::Odometry => Motion::By(action),
        }
    }

    /// A step of the filter.
    fn update(&mut self, sight: &Sight, odometry: Option<Reading>, action: Option<[f64; 3]>) {
        let readings = self.readings_of(&sight.what);
        let image = match &sight.what {
            What::Image(picture) => Some(picture.clone()),
            What::Scan(..) => self.image_beside(sight.time),
        };
        let frame = image.as_ref().map(|Picture { height, width, channels, values }| Frame {
            size: [*height, *width, *channels],
            pixels: values,
        });
        let step = Step {
            readings: readings.as_deref(),
            image: frame,
            odometry: action,
            time: Some(sight.time),
            ..Step::default()
        };
        let Some(filter) = &mut self.filter else { return };
        match filter.step(step) {
            Ok(estimate) => self.publish(sight, odometry, &estimate),
            Err(error) => {
                self.note(Trouble::Refused, || format!("{error}: the step was passed over"));
            }
        }
    }

    /// Numbers of a scan as the run has them.
    fn readings_of(&mut self, what: &What) -> Option<Vec<f32>> {
        let (What::Scan(scan, frame), Some(scanner)) = (what, &self.wants.scanner) else { return None };
        let base = &self.parameters.base_frame;
        let (numbers, told, is_other) =
            self.readings.of_scan((scan, frame), (scanner, &self.wants), (&self.frames, base));
        if let Some(told) = told {
            self.tell(told);
        }
        if is_other {
            self.note(Trouble::OtherBeams, || {
                "a scan has another number of beams than the first; they are taken by angle".to_owned()
            });
        }
        Some(numbers)
    }

    /// The image that belongs to a scan. It is looked at once.
    fn image_beside(&mut self, time: f64) -> Option<Picture> {
        let apart = |image: &(f64, Picture)| (image.0 - time).abs();
        let nearest = (0..self.images.len())
            .filter(|&k| apart(&self.images[k]) <= BESIDE)
            .min_by(|&a, &b| apart(&self.images[a]).total_cmp(&apart(&self.images[b])))?;
        self.images.remove(nearest).map(|(_, picture)| picture)
    }
}

/// How the robot moved since the last step.
enum Motion {
    /// Nobody knows, or there was no step.
    Unknown,
    /// Not far enough for a step.
    TooLittle,
    /// By this, as the run writes it.
    By([f64; 3]),
}
