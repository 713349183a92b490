//! A trained filter on a robot online: a camera image and odometry in, a pose with its covariance out.
//!
//! ```no_run
//! use driftless::online::{Start, Tracker};
//!
//! # fn camera() -> Vec<u8> { vec![] }
//! let mut tracker = Tracker::open("runs/sdpf", Start::default())?;
//! loop {
//!     // RGB of the size that was recorded for training; x ahead, y aside and turn since the last image.
//!     let (frame, odometry) = (camera(), [12.5, 0.0, 0.1]);
//!     let estimate = tracker.step(Some(&frame), Some(odometry))?;
//!     println!("{:?} ± {:.1}", estimate.pose, estimate.covariance[0][0].sqrt());
//! #   break;
//! }
//! # Ok::<(), driftless::Error>(())
//! ```
//!
//! A step allocates nothing once the first is made, and works on plain numbers: no tensors are on its path.

mod estimate;

pub use estimate::Estimate;

use crate::batch::PixelScale;
use crate::error::{Error, Result};
use crate::learn::Trained;
use crate::methods::build;
use std::path::Path;

/// A filter that was told everything but images and actions.
pub trait OnlineFilter: Send {
    /// Moves by an action, looks at a normalised image, channels first, and says where the robot is. What is missing
    /// says nothing. The first action is not looked at: there is nothing to be moved yet.
    fn step(&mut self, image: Option<&[f32]>, action: Option<[f64; 3]>) -> Estimate;
}

/// No robot moves or turns so far in a step.
const FAR: f64 = 1e6;

/// How a track begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Particles once the robot is found; as in training unless said otherwise.
    pub particles: Option<usize>,
    /// Names all random numbers.
    pub seed: u64,
}

/// A run's best weights, put to use on a robot.
pub struct Tracker {
    filter: Box<dyn OnlineFilter>,
    pixels: PixelScale,
    /// Height and width of recorded images.
    size: [usize; 2],
    image: Vec<f32>,
}

impl Tracker {
    /// Reads a run's folder, as `driftless train` writes it.
    ///
    /// # Errors
    /// If there are no weights, or the method has no online filter.
    pub fn open(run: impl AsRef<Path>, start: Start) -> Result<Self> {
        let trained = Trained::open(run, &build)?;
        let particles = start.particles.unwrap_or(trained.config.experiment.particles);
        if particles == 0 {
            return Err(Error::setting("particles", "must be at least 1"));
        }
        let filter = trained.method.online_filter(particles, start.seed).ok_or_else(|| {
            let name = trained.config.experiment.method.id;
            Error::setting(
                "method",
                format!("{name:?} with these settings cannot track one image at a time yet"),
            )
        })?;
        let [height, width, _] = trained.config.data.image;
        if !trained.normalisation.pixels.fits_into([height, width]) {
            return Err(Error::setting("image", "of the run does not fit its pixel normalisation"));
        }
        Ok(Self { filter, pixels: trained.normalisation.pixels, size: [height, width], image: Vec::new() })
    }

    /// Height and width of the images that it wants.
    pub fn image_size(&self) -> [usize; 2] {
        self.size
    }

    /// One step: RGB bytes row by row, of which the middle is looked at, and odometry since the image before. A missing
    /// image or action, or an action that is not finite or beyond all sense, says nothing, and the estimate tells of it.
    ///
    /// # Errors
    /// If the image has another size.
    pub fn step(&mut self, frame: Option<&[u8]>, odometry: Option<[f64; 3]>) -> Result<Estimate> {
        if let Some(frame) = frame {
            let [height, width] = self.size;
            if frame.len() != 3 * height * width {
                let problem = format!("has {} bytes, {height} x {width} x 3 are wanted", frame.len());
                return Err(Error::File(driftless_world::Error::new(problem).in_record("image".to_owned())));
            }
            self.pixels.normalise_middle(frame, self.size, &mut self.image);
        }
        let odometry = odometry.filter(|action| action.iter().all(|x| x.abs() < FAR));
        Ok(self.filter.step(frame.map(|_| &self.image[..]), odometry))
    }
}
