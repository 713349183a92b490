//! The classical schemes on tensors: new weights are equal, and the gradient does not know how they became so.

use super::{Resampled, Resampler, gather_states, no_mass};
use crate::belief::Belief;
use burn::tensor::{Int, Tensor, TensorData};
pub use driftless_core::resample::Scheme;

/// Draws ancestors in proportion to `weights` [B, N], which need not sum to 1. [B, count]
pub(crate) fn draw_ancestors(
    scheme: Scheme,
    weights: &Tensor<2>,
    count: usize,
    uniforms: &[f64],
) -> Tensor<2, Int> {
    let [batch, particles] = weights.dims();
    let (given, needed) = (uniforms.len() / batch, scheme.uniforms(count));
    assert!(count > 0, "somebody must be drawn");
    assert!(uniforms.len() == batch * given && given >= needed, "numbers for {batch} rows of {needed}");
    // The indices are constants; weights are read back to the host, which is free on the CPU.
    let host = weights.try_to_vec_as::<f64>().expect("weights are numbers");
    let (mut all, mut row) = (Vec::with_capacity(batch * count), Vec::with_capacity(count));
    for (weights, uniforms) in host.chunks_exact(particles).zip(uniforms.chunks_exact(given)) {
        let mut uniforms = uniforms.iter();
        scheme.ancestors(weights, count, || *uniforms.next().expect("enough numbers"), &mut row);
        all.extend(row.iter().map(|&ancestor| i64::from(ancestor)));
    }
    Tensor::from_data(TensorData::new(all, [batch, count]), &weights.device())
}

impl Resampler for Scheme {
    fn uniforms(&self, particles: usize, _: usize) -> usize {
        Scheme::uniforms(*self, particles)
    }

    fn resample(&self, belief: Belief, count: usize, uniforms: &[f64]) -> Resampled {
        let ancestors = draw_ancestors(*self, &belief.weights.exp(), count, uniforms);
        let log_mass = no_mass(&belief);
        let states = gather_states(belief.states, ancestors.clone());
        Resampled { belief: Belief::uniform(states), ancestors, log_mass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::LogWeights;
    use crate::testing::{f64s, numbers};

    #[test]
    fn rows_use_their_own_numbers_and_weights_become_equal() {
        let states = f64s::<3>([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]]);
        let log = f64s::<2>([[0.0, -50.0, -50.0], [-50.0, 0.0, 0.0]]);
        for scheme in Scheme::ALL {
            let belief = Belief { states: states.clone(), weights: LogWeights::normalised(log.clone()) };
            let mut uniforms = vec![0.3; scheme.uniforms(3)];
            uniforms.extend(vec![0.9; scheme.uniforms(3)]);
            let result = scheme.resample(belief, 3, &uniforms);
            let ancestors = result.ancestors.try_to_vec_as::<i32>().unwrap();
            let found = numbers(&result.belief.states);
            assert_eq!(found[..3], [1.0; 3], "{scheme:?}");
            for (row, (ancestor, found)) in ancestors.iter().zip(&found).enumerate() {
                assert_eq!(*found, f64::from(row as i32 / 3 * 3 + ancestor + 1), "{scheme:?}");
            }
            assert_eq!(found[5], 6.0, "{scheme:?}");
            assert!(numbers(&result.belief.weights.exp()).iter().all(|w| (w - 1.0 / 3.0).abs() < 1e-12));
        }
    }

    /// Fewer or more than there were, from the first numbers of a row.
    #[test]
    fn any_number_can_be_drawn() {
        let weights = f64s::<2>([[0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]]);
        for (count, scheme) in [2, 3, 10].into_iter().flat_map(|m| Scheme::ALL.map(|scheme| (m, scheme))) {
            let drawn = draw_ancestors(scheme, &weights, count, &[0.4; 24]);
            assert_eq!(drawn.dims(), [2, count]);
            let drawn = drawn.try_to_vec_as::<i64>().unwrap();
            assert!(drawn[count..].iter().all(|&ancestor| ancestor == 0), "{scheme:?} {count}");
        }
    }
}
