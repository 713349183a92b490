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
//! In mazes a step has an `image`, of which the middle is looked at, and allocates nothing once the first is made. No tensors are on its path.

mod estimate;
mod replay;

pub use estimate::Estimate;
pub use replay::follow_whole;

use crate::batch::shrunk;
use crate::error::{Error, Result};
use crate::learn::{MOST_SIDE, MotionKind, SensorKind, Trained, WorldKind};
use crate::methods::build;
use driftless_core::Belief;
use driftless_world::trajectory::{Images, Pixels};
use std::path::Path;

/// What a filter is given at a step. What is missing says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation<'a> {
    /// Numbers of the sensors, as recordings have them; NaN is a missing one.
    pub readings: Option<&'a [f32]>,
    /// Images as recorded, and which of them is seen now.
    pub image: Option<(&'a Images, usize)>,
    /// The motion since the step before. The first is not looked at: there is nothing to be moved yet.
    pub action: Option<[f64; 3]>,
}

/// A filter that is told nothing but observations.
pub trait OnlineFilter: Send {
    /// Moves by an action, looks at what is there, and says where the robot is.
    fn step(&mut self, seen: Observation) -> Estimate;

    /// The particles after the last step, if it has any.
    fn belief(&self) -> Option<&Belief> {
        None
    }
}

/// No robot moves or turns so far in a step.
const FAR: f64 = 1e6;

/// What is known of where a robot starts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Place {
    /// Nothing: it may be anywhere that was seen in training.
    #[default]
    Anywhere,
    /// It is about here: a normal distribution.
    About {
        /// x, y and heading.
        pose: [f64; 3],
        /// Standard deviations of them.
        spread: [f64; 3],
    },
}

/// How a track begins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Start {
    /// Particles once the robot is found; as in training unless said otherwise.
    pub particles: Option<usize>,
    /// Names all random numbers.
    pub seed: u64,
    /// Robots and episodes of one seed have numbers of their own.
    pub episode: u64,
    /// Where the robot is.
    pub place: Place,
}

/// What a robot has at a step: any of it may be missing, and says nothing then.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step<'a> {
    /// Numbers of the sensors, in the order of the training log's columns; what is not finite is missing.
    pub readings: Option<&'a [f32]>,
    /// An image of the size that was recorded for training.
    pub image: Option<Frame<'a>>,
    /// Odometry since the step before, as in the training log: x ahead, y to the left and turn in radians. Of a run whose
    /// motion is of the kind velocity, these a second.
    pub odometry: Option<[f64; 3]>,
    /// Seconds on any clock, for velocities.
    pub time: Option<f64>,
}

/// A camera's image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Height, width and channels.
    pub size: [usize; 3],
    /// Row by row, channels last.
    pub pixels: &'a [u8],
}

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
        let experiment = &trained.config.experiment;
        let particles = start.particles.unwrap_or(experiment.particles);
        if particles == 0 {
            return Err(Error::setting("particles", "must be at least 1"));
        }
        start.place.check()?;
        let Some(filter) = trained.method.online_filter(particles, &start)? else { return Ok(None) };
        let ([height, width, _], pixels) = (trained.config.data.image, &trained.normalisation.pixels);
        if experiment.world == WorldKind::Maze && !pixels.fits_into([height, width]) {
            return Err(Error::setting("image", "of the run does not fit its pixel normalisation"));
        }
        let sees = experiment.sensor.iter().any(|sensor| sensor.kind == SensorKind::Image);
        let camera = match (experiment.world, pixels.shape()) {
            (WorldKind::Robot, [channels, height, width]) => sees.then_some([height, width, channels]),
            (_, [channels, ..]) => Some([height, width, channels]),
        };
        Ok(Some(Self {
            filter,
            camera,
            world: experiment.world,
            motion: experiment.motion.kind,
            size: [height, width],
            readings: Vec::new(),
            image: Images { height: 0, width: 0, channels: 0, pixels: Pixels::Bytes(Vec::new()) },
            time: None,
        }))
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
        let action = self.action(&step);
        let readings = step.readings.map(|_| &self.readings[..]);
        let image = step.image.map(|_| (&self.image, 0));
        Ok(self.filter.step(Observation { readings, image, action }))
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
        let most = if self.world == WorldKind::Robot { channels } else { wanted[2] };
        let seen = [self.image.height, self.image.width, channels.min(most)];
        if seen != wanted {
            let [tall, wide, deep] = wanted;
            return Err(format!(
                "has {height} x {width} pixels of {channels} channels, {tall} x {wide} x {deep} are wanted"
            ));
        }
        Ok(())
    }

    /// The motion since the step before, if it is known.
    fn action(&mut self, step: &Step) -> Option<[f64; 3]> {
        let before = self.time;
        self.time = step.time.or(before);
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

/// An action that a robot can have made.
fn sensible(odometry: Option<[f64; 3]>) -> Option<[f64; 3]> {
    odometry.filter(|action| action.iter().all(|x| x.abs() < FAR))
}

impl Place {
    /// Fails if it is not a place.
    fn check(&self) -> Result<()> {
        let Self::About { pose, spread } = self else { return Ok(()) };
        if !pose.iter().all(|x| x.abs() < 1e30) || !spread.iter().all(|x| (0.0..1e30).contains(x)) {
            return Err(Error::setting("start", "must be finite, and its spread 0 or more"));
        }
        Ok(())
    }
}
