//! A particle filter over one sequence, and its gradient for any objective.
//!
//! At each step particles are resampled, systematically, moved by odometry and noise, encoded, and weighted by
//! l = 1 / (ε + 1 - cos(e, ê)). Gradients end where particles are drawn, so poses are constants, and only log l leads
//! back to the networks: [`PoseNet::follow`] filters, and [`PoseNet::go_back`] is told the derivatives by log l.

mod belief;
mod step;
mod trace;

pub use step::Step;
pub(crate) use step::weigh_columns;
pub use trace::{First, Trace, TraceMemory};

use crate::mlp::Mlp;
use belief::Belief;

/// Features of poses, as the maze experiments have them: place, cosine and sine of the heading, through layers with
/// ReLU.
#[derive(Clone, Debug)]
pub struct PoseNet {
    /// From four numbers to features.
    pub layers: Mlp,
    /// What is subtracted from a position.
    pub centre: [f32; 2],
    /// What it is then divided by.
    pub extent: [f32; 2],
    /// ε.
    pub epsilon: f32,
}

/// How particles move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// 1 if the second number of an action points to the left of the robot, -1 if to the right.
    pub side: f32,
    /// Standard deviations of the noise of a step.
    pub noise: [f32; 3],
}

/// One sequence of T steps, with all random numbers.
#[derive(Clone, Copy, Debug)]
pub struct Sequence<'a> {
    /// N first particles.
    pub first: &'a [[f32; 3]],
    /// T actions.
    pub actions: &'a [[f32; 3]],
    /// T N standard normal numbers for each coordinate.
    pub noise: &'a [[f32; 3]],
    /// T numbers from 0 to 1, by which particles are drawn.
    pub offsets: &'a [f32],
    /// T rows of features of length 1.
    pub seen: &'a [f32],
}

impl Sequence<'_> {
    fn check(&self) {
        let (steps, count) = (self.actions.len(), self.first.len());
        assert!(count > 0, "a filter has particles");
        assert_eq!(self.noise.len(), steps * count, "noise of each particle and step");
        assert_eq!(self.offsets.len(), steps, "an offset each step");
    }
}

#[cfg(test)]
mod tests;
