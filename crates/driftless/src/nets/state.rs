//! Features of states: normalised coordinates, and what a network makes of them.

use super::dense::{Activation, Mlp};
use crate::model::StateEncoder;
use crate::parameters::Init;
use crate::prior::row;
use crate::space::Space;
use burn::module::Module;
use burn::tensor::Tensor;

/// States as networks see them: (s - mean) / std of linear coordinates, cos and sin of angles, in
/// the order of the coordinates. A pose becomes ((x - x̄) / σ, (y - ȳ) / σ, cos θ, sin θ).
#[derive(Clone, Debug, PartialEq)]
pub struct StateFeatures {
    space: Space,
    mean: Vec<f64>,
    std: Vec<f64>,
}

impl StateFeatures {
    /// Means and standard deviations of all S coordinates; those of angles are not used.
    ///
    /// # Panics
    /// If their numbers differ, a coordinate that is an angle is missing, or the standard deviation
    /// of another is not positive.
    pub fn new(space: Space, mean: Vec<f64>, std: Vec<f64>) -> Self {
        assert_eq!(mean.len(), std.len(), "as many means as standard deviations");
        assert!(space.angles().iter().all(|&angle| angle < mean.len()), "{space:?} has more coordinates");
        let positive = |k: &usize| space.angles().contains(k) || std[*k] > 0.0;
        assert!((0..std.len()).all(|k| positive(&k)), "standard deviations must be positive: {std:?}");
        Self { space, mean, std }
    }

    /// What is subtracted from coordinates, and what they are then divided by.
    pub fn normalisation(&self) -> (&[f64], Vec<f64>) {
        (&self.mean, self.scale())
    }

    /// How many features a state has: one a linear coordinate, two an angle.
    pub fn count(&self) -> usize {
        self.mean.len() + self.space.angles().len()
    }

    /// [B, N, S] → [B, N, count].
    pub fn of(&self, states: &Tensor<3>) -> Tensor<3> {
        let normalised = (states.clone() - row(&self.mean, states)) / row(&self.scale(), states); // [B, N, S]
        let mut parts = Vec::with_capacity(self.count());
        for k in 0..self.mean.len() {
            if self.space.angles().contains(&k) {
                let angle = states.clone().slice_dim(2, k..k + 1);
                parts.extend([angle.clone().cos(), angle.sin()]);
            } else {
                parts.push(normalised.clone().slice_dim(2, k..k + 1));
            }
        }
        Tensor::cat(parts, 2)
    }

    /// What coordinates are divided by. That of an angle is not used, but must not be 0 either.
    fn scale(&self) -> Vec<f64> {
        let angles = self.space.angles();
        self.std.iter().enumerate().map(|(k, &std)| if angles.contains(&k) { 1.0 } else { std }).collect()
    }
}

/// The state encoder ĥ: [`StateFeatures`] through layers with ReLU after each, the last included.
///
/// ```
/// use burn::tensor::{DType, Device};
/// use driftless::Space;
/// use driftless::nets::{PoseEncoder, StateFeatures};
/// use driftless::parameters::{Init, values};
///
/// let features = StateFeatures::new(Space::SE2, vec![500.0, 250.0, 0.0], vec![200.0, 200.0, 1.0]);
/// let mut init = Init::new(1, &Device::flex(), DType::F32);
/// let encoder = PoseEncoder::new(features, &PoseEncoder::RELEASED, &mut init);
/// assert_eq!(values(&encoder).iter().map(|p| p.values.len()).sum::<usize>(), 11_056);
/// ```
#[derive(Module, Debug)]
pub struct PoseEncoder {
    /// From the features of states to those that are matched.
    pub mlp: Mlp,
    #[module(skip)]
    features: StateFeatures,
}

impl PoseEncoder {
    /// Widths of the released network.
    pub const RELEASED: [usize; 4] = [16, 32, 64, 128];

    /// One layer for each of `widths`, the last of them E.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(features: StateFeatures, widths: &[usize], init: &mut Init) -> Self {
        Self { mlp: Mlp::new(features.count(), widths, Activation::Relu, init), features }
    }
}

impl PoseEncoder {
    /// What its network is given of a state.
    pub fn features(&self) -> &StateFeatures {
        &self.features
    }
}

impl StateEncoder for PoseEncoder {
    fn encode(&self, states: Tensor<3>) -> Tensor<3> {
        self.mlp.forward(self.features.of(&states))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, f64s, numbers};
    use burn::tensor::{DType, Device};

    #[test]
    fn poses_by_hand() {
        let features = StateFeatures::new(Space::SE2, vec![10.0, 20.0, 99.0], vec![2.0, 4.0, 0.0]);
        let states = f64s::<3>([[[12.0, 14.0, 0.5], [10.0, 20.0, -3.0]]]);
        let expected = [1.0, -1.5, 0.5_f64.cos(), 0.5_f64.sin(), 0.0, 0.0, 3.0_f64.cos(), -(3.0_f64.sin())];
        assert_close(&numbers(&features.of(&states)), &expected, 1e-15);
    }

    /// The order is that of the coordinates, wherever the angles stand.
    #[test]
    fn other_spaces() {
        let space = Space::new(&[0, 2]);
        let features = StateFeatures::new(space, vec![0.0, 1.0, 0.0], vec![1.0, 2.0, 1.0]);
        assert_eq!(features.count(), 5);
        let found = numbers(&features.of(&f64s([[[0.1, 5.0, 0.2]]])));
        assert_close(&found, &[0.1_f64.cos(), 0.1_f64.sin(), 2.0, 0.2_f64.cos(), 0.2_f64.sin()], 1e-15);
        let linear = StateFeatures::new(Space::LINEAR, vec![1.0], vec![0.5]);
        assert_eq!(numbers(&linear.of(&f64s([[[2.0]]]))), [2.0]);
    }

    /// A turn more or less changes nothing; features never go below 0, as the last layer has a ReLU.
    #[test]
    fn whole_turns_do_not_count() {
        let features = StateFeatures::new(Space::SE2, vec![0.0; 3], vec![1.0; 3]);
        let mut init = Init::new(6, &Device::flex().autodiff(), DType::F64);
        let encoder = PoseEncoder::new(features, &PoseEncoder::RELEASED, &mut init);
        let turn = std::f64::consts::TAU;
        let found = numbers(&encoder.encode(f64s([[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0 - turn]]])));
        assert_close(&found[..128], &found[128..], 1e-12);
        assert!(found.iter().all(|&f| f >= 0.0) && found.iter().any(|&f| f > 0.0));
    }

    #[test]
    #[should_panic(expected = "standard deviations must be positive")]
    fn nothing_is_divided_by_zero() {
        StateFeatures::new(Space::SE2, vec![0.0; 3], vec![1.0, 0.0, 1.0]);
    }
}
