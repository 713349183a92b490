//! The filter of a robot under way: an image and odometry in, an estimate out, nothing allocated in between.
//!
//! The step is that of [`crate::scan`]: particles drawn anew, systematically, moved by odometry and noise, weighted by
//! l = 1 / (ε + 1 - cos(e, ê)). Noise is named by the seed and the step, and parts of the particles do not depend on
//! the threads that work on them: the same inputs give the same bytes.

mod drawing;
mod estimate;
mod particles;
mod weigh;

pub use estimate::Estimate;

use crate::Cpu;
use crate::images::{ImageMemory, ImageNet};
use crate::normal::uniform;
use crate::rows::to_units;
use crate::scan::{Motion, PoseNet};
use particles::{Moved, Particles};

/// No robot moves or turns so far in a step: positions and angles would lose all digits.
const FAR: f32 = 1e6;

/// A filter under way.
#[derive(Debug)]
pub struct Online {
    eyes: ImageNet,
    places: PoseNet,
    motion: Motion,
    cpu: Cpu,
    seed: u64,
    step: u64,
    particles: Particles,
    memory: ImageMemory,
    seen: Vec<f32>,
    lengths: Vec<f32>,
}

impl Online {
    /// A filter that begins with these particles, of equal weight.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(eyes: ImageNet, places: PoseNet, motion: Motion, first: &[[f32; 3]], seed: u64) -> Self {
        assert!(!first.is_empty(), "a filter has particles");
        Self {
            eyes,
            places,
            motion,
            cpu: Cpu::best(),
            seed,
            step: 0,
            particles: Particles::new(first),
            memory: ImageMemory::default(),
            seen: Vec::new(),
            lengths: Vec::new(),
        }
    }

    /// Moves by an action, looks at an image, and says where the robot is.
    ///
    /// An image that is not finite, or an action that is not or beyond all sense, says nothing: weights stay equal, or the robot stays where it is but
    /// for noise; the estimate tells of it.
    ///
    /// # Panics
    /// If the image has another size than the network's.
    pub fn step(&mut self, image: &[f32], action: [f32; 3]) -> Estimate {
        assert_eq!(image.len(), self.eyes.pixels(), "the size of the image");
        let moved = action.iter().all(|x| x.abs() < FAR);
        let saw = image.iter().all(|x| x.is_finite());
        let way = Moved {
            cpu: self.cpu,
            motion: self.motion,
            action: if moved { action } else { [0.0; 3] },
            seed: self.seed,
            step: self.step,
        };
        self.particles.advance(&way, uniform(!self.seed, self.step));
        if saw {
            self.look(image);
        }
        self.particles.weigh(self.cpu, &self.places, saw.then_some(&self.seen));
        self.step += 1;
        self.particles.estimate([moved, saw])
    }

    /// Poses and weights, as they are now.
    pub fn particles(&self) -> impl Iterator<Item = ([f32; 3], f32)> {
        self.particles.all()
    }

    fn look(&mut self, image: &[f32]) {
        self.eyes.forward(self.cpu, image, None, &mut self.memory);
        self.seen.clear();
        self.seen.extend_from_slice(self.memory.features());
        to_units(self.cpu, &mut self.seen, self.eyes.width(), &mut self.lengths);
    }
}

#[cfg(test)]
mod tests;
