//! Soft resampling: draw from a mixture with the uniform distribution, so that weights survive.

use super::{Resampled, Resampler, Scheme, draw_from};
use crate::belief::Belief;

/// Draws from q = α w + (1 - α) / N and weights the drawn by w / q (Karkus, Hsu & Lee 2018).
///
/// With α = 1 this is plain resampling, with α = 0 only the weights carry information.
#[derive(Clone, Copy, Debug)]
pub struct Soft {
    alpha: f64,
    exact_gradient: bool,
    scheme: Scheme,
}

impl Soft {
    /// The published form, whose gradient also differentiates q: biased, and 0 for α = 1.
    ///
    /// # Panics
    /// If α is not between 0 and 1.
    pub fn new(alpha: f64, scheme: Scheme) -> Self {
        assert!((0.0..=1.0).contains(&alpha), "alpha must lie between 0 and 1, not {alpha}");
        Self { alpha, exact_gradient: false, scheme }
    }

    /// Holds q constant: the expected gradient of Σ w' f is then exactly that of Σ w f.
    pub fn with_exact_gradient(self) -> Self {
        Self { exact_gradient: true, ..self }
    }
}

impl Resampler for Soft {
    fn uniforms(&self, particles: usize, _: usize) -> usize {
        self.scheme.uniforms(particles)
    }

    fn resample(&self, belief: Belief, count: usize, uniforms: &[f64]) -> Resampled {
        let particles = belief.dims()[1] as f64;
        let proposal = belief.weights.exp() * self.alpha + (1.0 - self.alpha) / particles; // [B, N]
        // Only α = 1 can make q vanish, and then the particle is never drawn.
        let log_proposal = proposal.clamp_min(1e-37).log();
        let log_proposal = if self.exact_gradient { log_proposal.detach() } else { log_proposal };
        draw_from(&belief, log_proposal, self.scheme, count, uniforms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogWeights;
    use crate::testing::{assert_close, f64s, numbers};

    /// z with softmax(z) = (.6, .3, .1), and f = (1, 2, 4).
    const LOGITS: [f64; 3] = [-0.510_825_623_765_990_7, -1.203_972_804_325_936, -2.302_585_092_994_045_5];
    const VALUES: [[[f64; 1]; 3]; 1] = [[[1.0], [2.0], [4.0]]];

    /// E[Σ w' f] and its expected gradient by z, over the three outcomes of a single draw: all
    /// three particles are given the same random number, so all have the same ancestor.
    fn expectation(resampler: &dyn Resampler, proposal: [f64; 3]) -> (f64, Vec<f64>) {
        let (mut value, mut gradient, mut start) = (0.0, vec![0.0; 3], 0.0);
        for probability in proposal {
            let logits = f64s::<2>([LOGITS]).require_grad();
            let belief = Belief { states: f64s(VALUES), weights: LogWeights::normalised(logits.clone()) };
            let drawn = resampler.resample(belief, 3, &[start + 0.5 * probability; 3]);
            let mean = (drawn.belief.weights.exp().unsqueeze_dim::<3>(2) * drawn.belief.states).sum();
            let estimate = mean * drawn.log_mass.exp();
            value += probability * numbers(&estimate)[0];
            let part = logits.grad(&estimate.backward()).map_or(vec![0.0; 3], |part| numbers(&part));
            gradient.iter_mut().zip(part).for_each(|(sum, part)| *sum += probability * part);
            start += probability;
        }
        (value, gradient)
    }

    /// Σ w f = .6 + .6 + .4, d/dz = w (f - 1.6); the attached q is off as Karkus et al. have it.
    #[test]
    fn golden_gradients() {
        let q = [0.6, 0.3, 0.1].map(|w| 0.5 * w + 0.5 / 3.0);
        let (value, gradient) = expectation(&Soft::new(0.5, Scheme::Multinomial), q);
        assert!((value - 1.6).abs() < 1e-12, "{value}");
        assert_close(&gradient, &[-0.288_374_78, 0.064_459_22, 0.223_915_56], 1e-8);
        let (value, gradient) = expectation(&Soft::new(0.5, Scheme::Multinomial).with_exact_gradient(), q);
        assert!((value - 1.6).abs() < 1e-12, "{value}");
        assert_close(&gradient, &[-0.36, 0.12, 0.24], 1e-12);
    }

    #[test]
    fn the_ends_of_alpha() {
        let third = [1.0 / 3.0; 3];
        let (_, gradient) = expectation(&Soft::new(0.0, Scheme::Multinomial), third);
        assert_close(&gradient, &[-0.36, 0.12, 0.24], 1e-12);
        let (_, gradient) = expectation(&Soft::new(1.0, Scheme::Multinomial), [0.6, 0.3, 0.1]);
        assert_close(&gradient, &[0.0; 3], 1e-12);
    }

    /// The same enumeration for the other resampler whose gradient must be exact.
    #[test]
    fn stop_gradient_is_exact_and_changes_no_number() {
        let resampler = super::super::StopGradient(Scheme::Multinomial);
        let (value, gradient) = expectation(&resampler, [0.6, 0.3, 0.1]);
        assert!((value - 1.6).abs() < 1e-12, "{value}");
        assert_close(&gradient, &[-0.36, 0.12, 0.24], 1e-12);
        let belief = Belief { states: f64s(VALUES), weights: LogWeights::normalised(f64s([LOGITS])) };
        let uniforms = [0.1, 0.7, 0.95];
        let plain = Scheme::Multinomial.resample(belief.clone(), 3, &uniforms);
        let result = resampler.resample(belief, 3, &uniforms);
        assert_eq!(numbers(&result.belief.states), numbers(&plain.belief.states));
        assert_close(&numbers(&result.belief.weights.log()), &numbers(&plain.belief.weights.log()), 1e-15);
        assert_close(&numbers(&result.log_mass), &[0.0], 1e-15);
    }

    /// Particles without weight: not drawn for α = 1, drawn without effect for α < 1.
    #[test]
    fn dead_particles_do_no_harm() {
        for (alpha, ancestors) in [(1.0, [1, 1, 1]), (0.4, [0, 1, 2])] {
            let logits = f64s::<2>([[f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY]]).require_grad();
            let weights = LogWeights::normalised(logits.clone());
            let belief = Belief { states: f64s(VALUES), weights };
            let drawn = Soft::new(alpha, Scheme::Systematic).resample(belief, 3, &[0.5]);
            assert_eq!(drawn.ancestors.try_to_vec_as::<i32>().unwrap(), ancestors);
            let mean = (drawn.belief.weights.exp().unsqueeze_dim::<3>(2) * drawn.belief.states).sum();
            assert_close(&numbers(&mean), &[2.0], 1e-12);
            let gradient = logits.grad(&(mean + drawn.log_mass.sum()).backward()).unwrap();
            assert!(numbers(&gradient).iter().all(|g| g.is_finite()), "{gradient}");
        }
    }
}
