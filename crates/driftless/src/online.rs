//! A trained filter on a robot online: what its sensors and its odometry say goes in, a pose with its covariance comes
//! out.
//!
//! ```no_run
//! use driftless::online::{Place, Start, Step, Tracker};
//!
//! # fn scan() -> Vec<f32> { vec![] }
//! // A robot that was trained from a log of scans, and stands about here. Place::Anywhere finds it.
//! let place = Place::About { pose: [1.5, 2.0, 0.0], spread: [0.3, 0.3, 0.2] };
//! let mut tracker = Tracker::open("runs/mine", Start { place, ..Start::default() })?;
//! loop {
//!     // As the log had it; a reading that is missing is NaN, or the whole of it None. Forward, left and turn since then.
//!     let (readings, odometry) = (scan(), [0.2, 0.0, 0.1]);
//!     let step = Step { readings: Some(&readings), odometry: Some(odometry), ..Step::default() };
//!     let estimate = tracker.step(step)?;
//!     println!("{:?} ± {:.2}", estimate.pose, estimate.covariance[0][0].sqrt());
//! #   break;
//! }
//! # Ok::<(), driftless::Error>(())
//! ```
//!
//! In mazes a step has an `image`, of which the middle is looked at, and allocates nothing once the first is made. No
//! tensors are on its path. In a house the floor plan is given with the start: [`Tracker::in_house`].

mod estimate;
mod given;
mod replay;
pub(crate) mod saved;
mod smooth;

pub use estimate::{Estimate, StateEstimate};
pub use given::{Frame, Place, Start, Step};
pub use replay::follow_whole;
pub(crate) use replay::seen_at;
pub use smooth::{Smoothed, Smoothing};

use crate::batch::shrunk;
use crate::error::{Error, Result};
use crate::learn::{MOST_SIDE, MotionKind, Trained, WorldKind};
use crate::methods::build;
use driftless_core::motion::Density;
use driftless_core::{Belief, Snapshot};
use driftless_world::files::pfnet::HouseMaps;
use driftless_world::trajectory::{Images, Pixels};
use std::path::Path;
use std::sync::Arc;

/// What a filter is given at a step. What is missing says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation<'a> {
    /// Numbers of the sensors, as recordings have them; NaN is a missing one.
    pub readings: Option<&'a [f32]>,
    /// Images as recorded, and which of them is seen now.
    pub image: Option<(&'a Images, usize)>,
    /// The motion since the step before. The first is not looked at: there is nothing to be moved yet.
    pub action: Option<[f64; 3]>,
    /// The same of states of named coordinates, by how much each changed.
    pub change: Option<&'a [f32]>,
}

/// A filter that is told nothing but observations.
pub trait OnlineFilter: Send {
    /// Moves by an action, looks at what is there, and says where the robot is.
    fn step(&mut self, seen: Observation) -> Estimate;

    /// The particles after the last step, if it has any.
    fn belief(&self) -> Option<&Belief> {
        None
    }

    /// How probable it is to come from those particles to the states of the next step, at which it will be given this; `None` if
    /// that cannot be written down.
    fn next_motion(&self, _seen: &Observation) -> Option<Box<dyn Density>> {
        None
    }

    /// Adds all that later steps depend on, random numbers included; `None` if the method cannot.
    fn save(&self, _to: &mut Vec<u8>) -> Option<()> {
        None
    }

    /// Takes back what [`OnlineFilter::save`] of a filter with the same start said; `None` if that is not what is there, and
    /// the filter is of no use then.
    fn restore(&mut self, _from: &mut &[u8]) -> Option<()> {
        None
    }
}

/// No robot moves or turns so far in a step.
const FAR: f64 = 1e6;

/// A run's best weights, put to use on a robot.
pub struct Tracker {
    filter: Box<dyn OnlineFilter>,
    world: WorldKind,
    motion: MotionKind,
    /// Height and width of recorded images; of other robots' logs 1 and the numbers of an observation.
    size: [usize; 2],
    /// Height, width and channels of images as they are looked at, if the run learned from some.
    camera: Option<[usize; 3]>,
    readings: Vec<f32>,
    image: Images,
    time: Option<f64>,
    /// How many coordinates states have, if they are named, and by how much they changed.
    coordinates: usize,
    change: Vec<f32>,
    /// Since the step before, if both have a time.
    seconds: Option<f64>,
}

impl Tracker {
    /// Reads a run's folder, as `driftless train` writes it.
    ///
    /// # Errors
    /// If there are no weights, or the method has no online filter.
    pub fn open(run: impl AsRef<Path>, start: Start) -> Result<Self> {
        Self::new(&Trained::open(run, &build)?, start)
    }

    /// For one more robot, or for another start of the same one.
    ///
    /// # Errors
    /// If the method has no online filter, or cannot start there.
    pub fn new(trained: &Trained, start: Start) -> Result<Self> {
        Self::of(trained, start)?.ok_or_else(|| {
            let name = trained.config.experiment.method.id;
            Error::setting("method", format!("{name:?} with these settings cannot track step by step yet"))
        })
    }

    /// The same; nothing if the method has no online filter.
    ///
    /// # Errors
    /// If it cannot start there.
    pub fn of(trained: &Trained, start: Start) -> Result<Option<Self>> {
        if matches!(start.place, Place::Room(_)) {
            return Err(Error::setting("start", "names a room, which floor plans of houses alone have"));
        }
        if trained.config.experiment.state.is_planar() && matches!(start.place, Place::State { .. }) {
            return Err(Error::setting(
                "start",
                "is of named coordinates, but the run follows poses in the plane",
            ));
        }
        let particles = particles_of(trained, &start)?;
        let filter = trained.method.online_filter(particles, &start)?;
        filter.map(|filter| Self::with(trained, filter)).transpose()
    }

    /// For a robot in a house, whose floor plan is given; nothing if the method has no online filter there.
    ///
    /// # Errors
    /// If it cannot start there.
    pub fn in_house(trained: &Trained, start: Start, floor: &Arc<HouseMaps>) -> Result<Option<Self>> {
        let particles = particles_of(trained, &start)?;
        let filter = trained.method.online_filter_in(floor, particles, &start)?;
        filter.map(|filter| Self::with(trained, filter)).transpose()
    }

    fn with(trained: &Trained, filter: Box<dyn OnlineFilter>) -> Result<Self> {
        let experiment = &trained.config.experiment;
        let ([height, width, _], pixels) = (trained.config.data.image, &trained.normalisation.pixels);
        if experiment.world == WorldKind::Maze && !pixels.fits_into([height, width]) {
            return Err(Error::setting("image", "of the run does not fit its pixel normalisation"));
        }
        let sees = experiment.sensor.iter().any(|sensor| sensor.kind.sees());
        let camera = match (experiment.world, pixels.shape()) {
            (WorldKind::Robot, [channels, height, width]) => sees.then_some([height, width, channels]),
            (_, [channels, ..]) => Some([height, width, channels]),
        };
        Ok(Self {
            filter,
            camera,
            world: experiment.world,
            motion: experiment.motion.kind,
            size: [height, width],
            readings: Vec::new(),
            image: Images { height: 0, width: 0, channels: 0, pixels: Pixels::Bytes(Vec::new()) },
            time: None,
            coordinates: experiment.state.coordinates.len(),
            change: Vec::new(),
            seconds: None,
        })
    }

    /// Height and width of the images that it wants, in mazes.
    pub fn image_size(&self) -> [usize; 2] {
        self.size
    }

    /// How many numbers it wants of the sensors: 0 in mazes.
    pub fn readings(&self) -> usize {
        // Vectors are images of one line.
        if self.world == WorldKind::Robot && self.size[0] == 1 { self.size[1] } else { 0 }
    }

    /// One step. In mazes the middle of the image is looked at. What is missing, or an action that is not finite or beyond
    /// all sense, says nothing, and the estimate tells of it.
    ///
    /// # Errors
    /// If the image or the readings have another size, or the robot of the run had none.
    pub fn step(&mut self, step: Step) -> Result<Estimate> {
        let wrong =
            |what: &str, problem: String| Error::File(driftless_world::Error::new(problem).in_record(what));
        if let Some(readings) = step.readings {
            let wanted = self.readings();
            if readings.len() != wanted {
                let found = readings.len();
                return Err(wrong("readings", format!("has {found} numbers, {wanted} are wanted")));
            }
            self.readings.clear();
            self.readings.extend(readings.iter().map(|x| if x.is_finite() { *x } else { f32::NAN }));
        }
        if let Some(frame) = step.image {
            self.see(frame).map_err(|problem| wrong("image", problem))?;
        }
        self.check_motion(&step).map_err(|problem| wrong("odometry", problem))?;
        let action = self.action(&step);
        let has_change = self.take_change(&step);
        let change = has_change.then_some(&self.change[..]);
        let readings = step.readings.map(|_| &self.readings[..]);
        let image = step.image.map(|_| (&self.image, 0));
        Ok(self.filter.step(Observation { readings, image, action, change }))
    }

    /// Takes an image over: in mazes in memory that is used again, of other robots shrunk as recordings are.
    fn see(
        &mut self,
        Frame { size: [height, width, channels], pixels }: Frame,
    ) -> std::result::Result<(), String> {
        if height.checked_mul(width).and_then(|n| n.checked_mul(channels)) != Some(pixels.len()) {
            return Err(format!("has {} bytes, which are not {height} x {width} x {channels}", pixels.len()));
        }
        if pixels.is_empty() {
            return Err("has no pixels".to_owned());
        }
        let wanted = self.camera.ok_or("is there, but the run learned from none")?;
        if self.world == WorldKind::Robot {
            let pixels = Pixels::Bytes(pixels.to_vec());
            self.image = shrunk(Images { height, width, channels, pixels }, MOST_SIDE);
        } else {
            (self.image.height, self.image.width, self.image.channels) = (height, width, channels);
            if let Pixels::Bytes(bytes) = &mut self.image.pixels {
                bytes.clear();
                bytes.extend_from_slice(pixels);
            }
        }
        // Mazes look at colours alone, whatever else there is.
        let most = if self.world == WorldKind::Maze { wanted[2] } else { channels };
        let seen = [self.image.height, self.image.width, channels.min(most)];
        if seen != wanted {
            let [tall, wide, deep] = wanted;
            return Err(format!(
                "has {height} x {width} pixels of {channels} channels, {tall} x {wide} x {deep} are wanted"
            ));
        }
        Ok(())
    }

    /// Fails if a motion is not of this run's states.
    fn check_motion(&self, step: &Step) -> std::result::Result<(), String> {
        match (self.coordinates, step.odometry, step.change) {
            (0, _, Some(_)) => {
                Err("is of named coordinates, but the run follows poses in the plane".to_owned())
            }
            (1.., Some(_), _) => {
                Err("is of a pose in the plane, but the run is of named coordinates".to_owned())
            }
            (wanted, _, Some(change)) if change.len() != wanted => {
                Err(format!("has {} numbers, {wanted} are wanted", change.len()))
            }
            _ => Ok(()),
        }
    }

    /// By how much coordinates changed since the step before, if it is known.
    fn take_change(&mut self, step: &Step) -> bool {
        let seconds = match self.motion {
            MotionKind::Odometry => Some(1.0),
            MotionKind::None => None,
            MotionKind::Velocity => self.seconds.filter(|seconds| *seconds >= 0.0),
        };
        let (Some(change), Some(seconds)) = (step.change, seconds) else { return false };
        self.change.clear();
        // In 32 bits, as recordings are read.
        self.change.extend(change.iter().map(|x| *x as f32 * seconds as f32));
        change.iter().all(|x| x.abs() < FAR)
    }

    /// The motion since the step before, if it is known.
    fn action(&mut self, step: &Step) -> Option<[f64; 3]> {
        let before = self.time;
        self.time = step.time.or(before);
        self.seconds = step.time.zip(before).map(|(now, before)| now - before);
        match self.motion {
            MotionKind::Odometry => sensible(step.odometry),
            MotionKind::None => None,
            MotionKind::Velocity => {
                // In 32 bits, as recordings are read.
                let seconds = Some(step.time? - before?).filter(|seconds| *seconds >= 0.0)? as f32;
                sensible(step.odometry.map(|speed| speed.map(|x| f64::from(x as f32 * seconds))))
            }
        }
    }

    /// The particles after the last step, if the method has any.
    pub fn belief(&self) -> Option<&Belief> {
        self.filter.belief()
    }
}

impl Tracker {
    /// All that later steps depend on, as bytes; nothing if the method cannot say it.
    pub fn snapshot(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.time.save(&mut bytes);
        self.filter.save(&mut bytes)?;
        Some(bytes)
    }

    /// Goes on from a [`Tracker::snapshot`] of a robot with the same run and start, to the last bit.
    ///
    /// # Errors
    /// If it is not one. The tracker is of no use then.
    pub fn restore(&mut self, mut from: &[u8]) -> Result<()> {
        let mut restored = || {
            self.time = Option::load(&mut from)?;
            self.filter.restore(&mut from)?;
            (from.is_empty() && self.time.is_none_or(f64::is_finite)).then_some(())
        };
        restored().ok_or_else(|| Error::setting("snapshot", "is damaged, or of another run or start"))
    }
}

/// As many as are wanted of a start that is one.
fn particles_of(trained: &Trained, start: &Start) -> Result<usize> {
    start.place.check()?;
    match start.particles.unwrap_or(trained.config.experiment.particles) {
        0 => Err(Error::setting("particles", "must be at least 1")),
        particles => Ok(particles),
    }
}

/// An action that a robot can have made.
fn sensible(odometry: Option<[f64; 3]>) -> Option<[f64; 3]> {
    odometry.filter(|action| action.iter().all(|x| x.abs() < FAR))
}
