//! Which coordinates of a state are angles, and what follows: differences wrap, means are circular.

use burn::tensor::{Bool, Tensor};
use std::f64::consts::PI;

/// The geometry of states of S numbers. All wrapping and averaging of angles happens here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// A bit for each coordinate that is one.
    angles: u64,
}

impl Space {
    /// No angles: ordinary vectors.
    pub const LINEAR: Self = Self::new(&[]);
    /// Poses in the plane: x, y, heading.
    pub const SE2: Self = Self::new(&[2]);

    /// A space whose coordinates `angles`, of the first 64, are angles in radians.
    pub const fn new(angles: &[usize]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < angles.len() {
            bits |= 1 << angles[i];
            i += 1;
        }
        Self { angles: bits }
    }

    /// The coordinates that are angles.
    pub fn angles(&self) -> Vec<usize> {
        self.each().collect()
    }

    fn each(self) -> impl Iterator<Item = usize> {
        (0..u64::BITS as usize).filter(move |k| self.angles >> k & 1 == 1)
    }

    /// `a - b`, angles wrapped into [-π, π). The gradient is that of the plain difference.
    ///
    /// # Shapes
    /// Both [.., S] with the state last; any shapes that broadcast.
    pub fn difference<const D: usize>(&self, a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
        self.wrap(a - b)
    }

    /// Angles wrapped into [-π, π), other coordinates as they are; gradient 1 everywhere.
    ///
    /// An angle beyond ±10⁴ becomes 0, without gradient: soon after, 32 bits cannot tell one
    /// direction from another, and what is left would neither lie in the range nor mean anything.
    pub fn wrap<const D: usize>(&self, states: Tensor<D>) -> Tensor<D> {
        self.each().fold(states, |states, k| {
            let angle = states.clone().slice_dim(D - 1, k..k + 1);
            // The number of whole turns is a constant, so subtracting it leaves the gradient alone.
            let turns = ((angle.detach() + PI) / (2.0 * PI)).floor();
            let (size, unknowable) = (states.dims()[D - 1], unknowable(&states, k));
            let within = |angle: Tensor<D>| (angle - turns * (2.0 * PI)).mask_fill(unknowable, 0.0);
            replace(states, k, size, within)
        })
    }

    /// States with angles moved by whole turns to within π of `centre`, other coordinates as they are.
    ///
    /// # Shapes
    /// As [`Space::difference`], whose gradient it has.
    pub fn near<const D: usize>(&self, states: Tensor<D>, centre: Tensor<D>) -> Tensor<D> {
        if self.angles == 0 {
            return states;
        }
        let size = states.dims()[D - 1];
        let moved = self.difference(states.clone(), centre.clone()) + centre;
        self.each()
            .fold(states, |states, k| replace(states, k, size, |_| moved.clone().slice_dim(D - 1, k..k + 1)))
    }

    /// One state on the host, its angles wrapped into [-π, π) in place.
    pub fn wrap_numbers(&self, state: &mut [f64]) {
        let mut left = self.angles;
        while left != 0 {
            let k = left.trailing_zeros() as usize;
            state[k] = driftless_world::pose::wrap(state[k]);
            left &= left - 1;
        }
    }

    /// The weighted mean state; for angles `atan2(Σ w sin θ, Σ w cos θ)`.
    ///
    /// Where an angle's resultant vanishes (opposite angles of equal weight) the mean is undefined
    /// and its gradient would be infinite: there, and only there, 0 is returned, without gradient.
    ///
    /// # Shapes
    /// Weights [B, N] that sum to 1 over N, states [B, N, S]; result [B, S].
    pub fn mean(&self, weights: Tensor<2>, states: &Tensor<3>) -> Tensor<2> {
        let size = states.dims()[2];
        let weights = weights.unsqueeze_dim::<3>(2); // [B, N, 1]
        let mean = (weights.clone() * states.clone()).sum_dim(1).squeeze_dim::<2>(1); // [B, S]
        self.each().fold(mean, |mean, k| {
            let angle = states.clone().slice_dim(2, k..k + 1); // [B, N, 1]
            let part = |values: Tensor<3>| (weights.clone() * values).sum_dim(1).squeeze_dim::<2>(1); // [B, 1]
            let circular = direction(part(angle.clone().sin()), part(angle.cos()));
            replace(mean, k, size, |_| circular)
        })
    }
}

impl From<driftless_core::Space> for Space {
    fn from(space: driftless_core::Space) -> Self {
        let angles: Vec<usize> = (0..space.dimension()).filter(|&k| space.is_angle(k)).collect();
        Self::new(&angles)
    }
}

/// Where angle k is too large to be a direction, [.., 1].
fn unknowable<const D: usize>(states: &Tensor<D>, k: usize) -> Tensor<D, Bool> {
    states.clone().detach().slice_dim(D - 1, k..k + 1).abs().greater_elem(1e4)
}

/// `atan2(sine, cosine)`, with 0 and no gradient where both vanish.
pub(crate) fn direction<const D: usize>(sine: Tensor<D>, cosine: Tensor<D>) -> Tensor<D> {
    let nowhere = (sine.clone().square() + cosine.clone().square()).lower_elem(1e-24);
    let cosine = cosine.mask_fill(nowhere.clone(), 1.0);
    let sine = sine.mask_fill(nowhere, 0.0);
    sine.atan2(cosine)
}

/// Puts `change(coordinate k)` in the place of coordinate k of the last dimension.
fn replace<const D: usize>(
    states: Tensor<D>,
    k: usize,
    size: usize,
    change: impl FnOnce(Tensor<D>) -> Tensor<D>,
) -> Tensor<D> {
    let last = D - 1;
    let mut parts = Vec::with_capacity(3);
    if k > 0 {
        parts.push(states.clone().slice_dim(last, 0..k));
    }
    parts.push(change(states.clone().slice_dim(last, k..k + 1)));
    if k + 1 < size {
        parts.push(states.slice_dim(last, k + 1..size));
    }
    Tensor::cat(parts, last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, f64s, numbers};

    /// Golden number: θ = (3, -3, 3.1), w = (0.5, 0.3, 0.2); the plain mean would be 1.22.
    #[test]
    fn circular_mean() {
        let states = f64s::<3>([[[1.0, 0.0, 3.0], [2.0, 0.0, -3.0], [3.0, 1.0, 3.1]]]);
        let weights = f64s::<2>([[0.5, 0.3, 0.2]]);
        let mean = numbers(&Space::SE2.mean(weights.clone(), &states));
        assert_close(&mean, &[1.7, 0.2, 3.104_767_848_860_746_4], 1e-12);
        let plain = numbers(&Space::LINEAR.mean(weights, &states));
        assert_close(&plain, &[1.7, 0.2, 1.22], 1e-12);
    }

    #[test]
    fn differences_wrap_with_gradient_one() {
        let a = f64s::<2>([[1.0, 2.0, 3.0], [1.0, 2.0, 9.5]]).require_grad();
        let b = f64s::<2>([[0.0, 0.0, -3.0], [0.0, 0.0, 0.0]]);
        let difference = Space::SE2.difference(a.clone(), b);
        let expected = [1.0, 2.0, 6.0 - 2.0 * PI, 1.0, 2.0, 9.5 - 4.0 * PI];
        assert_close(&numbers(&difference), &expected, 1e-12);
        let gradient = a.grad(&difference.sum().backward()).unwrap();
        assert_eq!(numbers(&gradient), [1.0; 6]);
    }

    /// In 32 bits 1e20 is no direction.
    #[test]
    fn huge_angles_are_none() {
        let data = [[1.0_f32, 2.0, 1e20], [1.0, 2.0, f32::NEG_INFINITY], [1.0, 2.0, 9999.0]];
        let device = burn::tensor::Device::flex().autodiff();
        let states = Tensor::<2>::from_data(data, &device).require_grad();
        let wrapped = Space::SE2.wrap(states.clone());
        let found = numbers(&wrapped);
        assert_eq!([found[2], found[5]], [0.0; 2]);
        // One unit in the last place of 9999 is 2⁻¹⁰; a few of them.
        assert!((found[8] - (9999.0 - 1591.0 * 2.0 * PI)).abs() < 4e-3, "{found:?}");
        let gradient = numbers(&states.grad(&wrapped.sum().backward()).unwrap());
        assert_eq!(gradient, [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn opposite_angles_have_no_mean_and_no_gradient() {
        let states = f64s::<3>([[[0.0, 0.0, 0.0], [0.0, 0.0, PI]]]).require_grad();
        let mean = Space::SE2.mean(f64s([[0.5, 0.5]]), &states);
        let gradient = states.grad(&mean.clone().sum().backward()).unwrap();
        assert_eq!(numbers(&mean)[2], 0.0);
        assert!(numbers(&gradient).iter().all(|g| g.is_finite()));
    }
}
