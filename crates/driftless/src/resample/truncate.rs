//! No gradient crosses a resampling: each step's loss reaches only that step's parameters.

use super::{Resampled, Resampler};
use crate::belief::Belief;

/// Stops the gradient at the drawn particles and their weights (Jonschkowski et al. 2018).
#[derive(Debug)]
pub struct Truncate(pub Box<dyn Resampler>);

impl Resampler for Truncate {
    fn uniforms(&self, particles: usize, size: usize) -> usize {
        self.0.uniforms(particles, size)
    }

    fn resample(&self, belief: Belief, count: usize, uniforms: &[f64]) -> Resampled {
        let Resampled { belief, ancestors, log_mass } = self.0.resample(belief, count, uniforms);
        Resampled { belief: belief.detach(), ancestors, log_mass: log_mass.detach() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{OptimalTransport, Scheme, Soft};
    use super::*;
    use crate::testing::{f64s, numbers};
    use crate::{LogWeights, Space};

    /// Whether a loss of the resampled particles reaches the old states and weights.
    fn reached(resampler: &dyn Resampler) -> [bool; 2] {
        let states = f64s::<3>([[[1.0], [2.0], [4.0]]]).require_grad();
        let logits = f64s::<2>([[0.1, 0.2, -0.3]]).require_grad();
        let belief = Belief { states: states.clone(), weights: LogWeights::normalised(logits.clone()) };
        let drawn = resampler.resample(belief, 3, &[0.4]);
        let mean = (drawn.belief.weights.exp().unsqueeze_dim::<3>(2) * drawn.belief.states.square()).sum();
        let later = f64s::<1>([3.0]).require_grad();
        let gradients = ((mean + drawn.log_mass.sum()) * later.clone()).backward();
        assert!(later.grad(&gradients).is_some());
        let nonzero = |gradient: Option<Vec<f64>>| gradient.is_some_and(|g| g.iter().any(|g| g.abs() > 1e-9));
        [
            nonzero(states.grad(&gradients).map(|g| numbers(&g))),
            nonzero(logits.grad(&gradients).map(|g| numbers(&g))),
        ]
    }

    #[test]
    fn nothing_earlier_is_reached() {
        let transport = OptimalTransport::new(Space::LINEAR, 0.5);
        assert_eq!(reached(&Scheme::Systematic), [true, false]);
        assert_eq!(reached(&Soft::new(0.5, Scheme::Systematic)), [true, true]);
        assert_eq!(reached(&transport), [true, true]);
        assert_eq!(reached(&Truncate(Box::new(Scheme::Systematic))), [false, false]);
        assert_eq!(reached(&Truncate(Box::new(Soft::new(0.5, Scheme::Systematic)))), [false, false]);
        assert_eq!(reached(&Truncate(Box::new(transport))), [false, false]);
    }
}
