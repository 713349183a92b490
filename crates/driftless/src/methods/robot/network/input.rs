//! What networks are given: the world's sizes, and readings as numbers.

use super::super::walks::Measured;
use crate::learn::Normalisation;
use crate::nets::ConvPlan;
use driftless_world::random::Random;

/// What a network is told of the world before it learns.
pub(in crate::methods::robot) struct World<'a> {
    pub(in crate::methods::robot) normalisation: &'a Normalisation,
    pub(in crate::methods::robot) seed: u64,
    /// How often it will be fitted.
    pub(in crate::methods::robot) epochs: u64,
}

/// How readings become numbers for a network.
pub(in crate::methods::robot) trait Input: Clone + Send + Sync + 'static {
    /// The network of readings; its image is what [`Input::write`] writes.
    fn plan(&self) -> ConvPlan;

    /// Measures what numbers are normalised by.
    fn measure(&mut self, readings: &[Measured]);

    /// Adds the numbers of a reading; in training, of one that might have been, too. False, and nothing, if it is missing.
    fn write(&self, seen: &Measured, training: Option<&mut Random>, to: &mut Vec<f32>) -> bool;

    /// What numbers are normalised by.
    fn scale(&self) -> Vec<f64>;

    /// Takes it back; false if it cannot be.
    fn set_scale(&mut self, scale: &[f64]) -> bool;
}
