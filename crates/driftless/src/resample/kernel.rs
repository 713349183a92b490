//! Resampling from a mixture of kernels about the particles: gradients reach weights and states by importance weights.

use super::{Resampled, Resampler, Scheme, draw_ancestors, gather_states, normals, uniforms_of_normals};
use crate::belief::{Belief, log_sum_exp};
use crate::space::Space;
use burn::tensor::Tensor;

/// Draws from m(x) = Σ w_i N(x; x_i, h²), a regularised belief, and weights the drawn by m(x) / ⊥m(x), where ⊥ and
/// the drawn states are constants of the gradient (importance-weighted sample gradients; Younis & Sudderth 2023).
///
/// The numbers are those of equal weights. The expected gradient of Σ w' f(x') is exactly that of ∫ m f, by weights and
/// by states: what is off is that m is wider than the particles, by h² in variance.
/// Angles are differences on the circle; a kernel that goes around it has no meaning.
#[derive(Clone, Copy, Debug)]
pub struct KernelMixture {
    /// Which coordinates are angles.
    pub space: Space,
    /// h.
    pub bandwidth: Bandwidth,
    /// How the kernels to draw from are drawn.
    pub scheme: Scheme,
}

/// The standard deviation of kernels, a constant of the gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bandwidth {
    /// Of each coordinate h = σ (4 / ((d + 2) n))^(1 / (d + 4)), with the belief's own σ and effective number n: what
    /// is best for a normal density (Silverman 1986, eq. 4.14).
    NormalReference,
    /// In units of the state, for all lengths and for all angles.
    Fixed {
        /// Of coordinates that are no angles.
        length: f64,
        /// Of angles, in radians.
        angle: f64,
    },
}

/// Kernels are never narrower, so that densities are finite.
const NARROWEST: f64 = 1e-4;
/// Beyond so many standard deviations a density is nothing; squares of 32 bits are finite up to here.
const MOST_SIGMAS: f64 = 1e15;

impl KernelMixture {
    /// For states of a space.
    ///
    /// # Panics
    /// If a fixed bandwidth is not positive.
    pub fn new(space: Space, bandwidth: Bandwidth, scheme: Scheme) -> Self {
        if let Bandwidth::Fixed { length, angle } = bandwidth {
            assert!(length > 0.0 && angle > 0.0, "bandwidths must be positive, not {length} and {angle}");
        }
        Self { space, bandwidth, scheme }
    }

    /// h of each coordinate, [B, 1, S].
    fn widths(&self, belief: &Belief) -> Tensor<3> {
        let size = belief.dims()[2];
        let spread = self.spread(belief);
        match self.bandwidth {
            Bandwidth::NormalReference => {
                let size = size as f64;
                let count = belief.weights.effective_sample_size().detach().unsqueeze_dims::<3>(&[1, 2]);
                let share = (count * (size + 2.0) / 4.0).powf_scalar(-1.0 / (size + 4.0));
                (spread * share).clamp_min(NARROWEST)
            }
            Bandwidth::Fixed { length, angle } => {
                let angles = self.space.angles();
                let of = |k: usize| if angles.contains(&k) { angle } else { length };
                let parts = (0..size).map(|k| spread.clone().slice_dim(2, k..k + 1).full_like(of(k)));
                Tensor::cat(parts.collect(), 2)
            }
        }
    }

    /// Standard deviations, [B, 1, S].
    fn spread(&self, belief: &Belief) -> Tensor<3> {
        let belief = belief.clone().detach();
        let mean = belief.mean(self.space).unsqueeze_dim::<3>(1);
        let apart = self.space.difference(belief.states.clone(), mean);
        // Squares of very large numbers could not be represented.
        let size_of = apart.clone().abs().max_dim(1).clamp_min(1e-30); // [B, 1, S]
        let squares = (apart / size_of.clone()).square();
        (belief.weights.exp().unsqueeze_dim::<3>(2) * squares).sum_dim(1).sqrt() * size_of
    }

    /// log m at points [B, M, S], but for a constant: [B, M].
    fn log_density(&self, belief: &Belief, widths: &Tensor<3>, points: Tensor<3>) -> Tensor<2> {
        let points = points.unsqueeze_dim::<4>(2); // [B, M, 1, S]
        let apart = self.space.difference(points, belief.states.clone().unsqueeze_dim::<4>(1));
        let z = (apart / widths.clone().unsqueeze_dim::<4>(1)).clamp(-MOST_SIGMAS, MOST_SIGMAS);
        let squares = z.square().sum_dim(3).squeeze_dim::<3>(3);
        let terms = belief.weights.log().unsqueeze_dim::<3>(1) - squares * 0.5; // [B, M, N]
        log_sum_exp(terms, 2).squeeze_dim(2)
    }
}

impl Resampler for KernelMixture {
    fn uniforms(&self, particles: usize, size: usize) -> usize {
        self.scheme.uniforms(particles) + uniforms_of_normals(particles * size)
    }

    fn resample(&self, belief: Belief, count: usize, uniforms: &[f64]) -> Resampled {
        let ancestors = draw_ancestors(self.scheme, &belief.weights.exp(), count, uniforms);
        let widths = self.widths(&belief);
        let noise = normals(&belief, uniforms, self.scheme.uniforms(count), count) * widths.clone();
        let centres = gather_states(belief.states.clone().detach(), ancestors.clone());
        let states = self.space.wrap(centres + noise);
        let log = self.log_density(&belief, &widths, states.clone());
        let drawn = Belief::uniform(states.clone()).weights.reweight(log.clone() - log.detach());
        Resampled {
            belief: Belief { states, weights: drawn.weights },
            ancestors,
            log_mass: drawn.log_evidence,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogWeights;
    use crate::testing::{assert_close, f64s, numbers};
    use burn::tensor::TensorData;

    const LOGITS: [f64; 3] = [0.1, 0.7, -0.4];
    const POINTS: [f64; 3] = [-1.0, 0.5, 2.0];
    const WIDTH: f64 = 0.4;

    fn fixed(space: Space, width: f64) -> KernelMixture {
        KernelMixture::new(space, Bandwidth::Fixed { length: width, angle: width }, Scheme::Systematic)
    }

    /// ∫ m f and its gradient by logits and points for f = sin x: E sin(x + h Z) = sin x e^(-h²/2).
    fn exact() -> [Vec<f64>; 3] {
        let total: f64 = LOGITS.iter().map(|z| z.exp()).sum();
        let weights = LOGITS.map(|z| z.exp() / total);
        let shrunk = (-0.5 * WIDTH * WIDTH).exp();
        let mean: f64 = weights.iter().zip(POINTS).map(|(w, x)| w * x.sin() * shrunk).sum();
        let by_logits = weights.iter().zip(POINTS).map(|(w, x)| w * (x.sin() * shrunk - mean));
        let by_points = weights.iter().zip(POINTS).map(|(w, x)| w * x.cos() * shrunk);
        [vec![mean], by_logits.collect(), by_points.collect()]
    }

    /// With numbers spread evenly over all outcomes, the gradient's expectation is an integral, here by midpoints of the
    /// normal law in 100 angles and 800 radii. What the outermost radius lacks is ln 2 / 800 of the variance.
    #[test]
    fn expected_gradients_are_exact() {
        let (angles, radii, kernel) = (100_usize, 800_usize, fixed(Space::LINEAR, WIDTH));
        let [mut value, mut by_logits, mut by_points] = [vec![0.0], vec![0.0; 3], vec![0.0; 3]];
        let total: f64 = LOGITS.iter().map(|z| z.exp()).sum();
        for k in 0..3 {
            // All new particles come from kernel k, whose probability is w_k.
            let (start, own): (f64, f64) =
                (LOGITS[..k].iter().map(|z| z.exp() / total).sum(), LOGITS[k].exp() / total);
            let middle = |i: usize, of: usize| (i as f64 + 0.5) / of as f64;
            let pairs = (0..angles * radii).map(|i| [middle(i / angles, radii), middle(i % angles, angles)]);
            let multinomial = KernelMixture { scheme: Scheme::Multinomial, ..kernel };
            let count = angles * radii * 2;
            let mut uniforms = vec![start + 0.5 * own; count];
            uniforms.extend(pairs.flatten());
            let logits = f64s::<2>([LOGITS]).require_grad();
            let states = f64s::<3>([POINTS.map(|x| [x])]).require_grad();
            let belief = Belief { states: states.clone(), weights: LogWeights::normalised(logits.clone()) };
            let drawn = multinomial.resample(belief, count, &uniforms);
            assert!(numbers(&drawn.log_mass)[0].abs() < 1e-12);
            let weights = drawn.belief.weights.exp().unsqueeze_dim::<3>(2);
            let mean = (weights * drawn.belief.states.sin()).sum() * drawn.log_mass.exp();
            value[0] += own * numbers(&mean)[0];
            let gradients = mean.backward();
            let add = |sum: &mut Vec<f64>, part: Vec<f64>| {
                sum.iter_mut().zip(part).for_each(|(s, p)| *s += own * p);
            };
            add(&mut by_logits, numbers(&logits.grad(&gradients).unwrap()));
            add(&mut by_points, numbers(&states.grad(&gradients).unwrap()));
        }
        let expected = exact();
        for (found, expected) in [value, by_logits, by_points].iter().zip(&expected) {
            assert_close(found, expected, 1e-3);
        }
    }

    /// Weights w, means w x and variances w (x - mean)² + h², by quadrature of the resampled particles themselves.
    #[test]
    fn moments_are_those_of_the_mixture() {
        let count = 40_000;
        let kernel = fixed(Space::LINEAR, WIDTH);
        let uniforms: Vec<f64> = {
            let mut random = driftless_world::random::Random::new(5);
            (0..kernel.uniforms(count, 1)).map(|_| random.unit()).collect()
        };
        let states = f64s::<3>([POINTS.map(|x| [x])]);
        let belief = Belief { states, weights: LogWeights::normalised(f64s([LOGITS])) };
        let mean = numbers(&belief.mean(Space::LINEAR))[0];
        let weights = numbers(&belief.weights.exp());
        let variance: f64 = weights.iter().zip(POINTS).map(|(w, x)| w * (x - mean).powi(2)).sum();
        let drawn = numbers(&kernel.resample(belief, count, &uniforms).belief.states);
        let found = drawn.iter().sum::<f64>() / count as f64;
        let spread = drawn.iter().map(|x| (x - found).powi(2)).sum::<f64>() / count as f64;
        // Four standard errors: σ ≈ 1.1, and σ² √2 for the variance.
        assert_close(&[found, spread], &[mean, variance + WIDTH * WIDTH], 4.0 * 1.7 / (count as f64).sqrt());
    }

    /// Headings on both sides of the cut are neighbours: densities do not change if all turn.
    #[test]
    fn turning_everything_changes_nothing() {
        let run = |turn: f64| {
            let states = [3.0, -3.1, 2.9].map(|heading: f64| [0.3, -0.2, heading + turn]);
            let states = Space::SE2.wrap(f64s::<3>([states])).require_grad();
            let logits = f64s::<2>([LOGITS]).require_grad();
            let belief = Belief { states: states.clone(), weights: LogWeights::normalised(logits.clone()) };
            let kernel = KernelMixture::new(Space::SE2, Bandwidth::NormalReference, Scheme::Systematic);
            let uniforms = [0.3, 0.1, 0.9, 0.4, 0.2, 0.6, 0.3, 0.8, 0.7, 0.35, 0.99];
            assert_eq!(kernel.uniforms(3, 3), uniforms.len());
            let drawn = kernel.resample(belief, 3, &uniforms).belief;
            let headings = Space::SE2.wrap(drawn.states.clone() - f64s::<3>([[[0.0, 0.0, turn]]]));
            let weighted = (drawn.weights.exp().unsqueeze_dim::<3>(2) * headings.clone().sin()).sum();
            let gradients = weighted.backward();
            let [by_logits, by_states] =
                [numbers(&logits.grad(&gradients).unwrap()), numbers(&states.grad(&gradients).unwrap())];
            [numbers(&headings), by_logits, by_states].concat()
        };
        // Wrapping by 2π rounds; kernels of 1e-4 in x and y, where all agree, see gradients a hundred times as large.
        assert_close(&run(0.4), &run(0.0), 1e-9);
    }

    /// All particles in one place, and all weight on one of them.
    #[test]
    fn degenerate_beliefs_do_no_harm() {
        for (points, logits) in [([2.0; 3], LOGITS), (POINTS, [f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY])] {
            let states = f64s::<3>(TensorData::new(points.to_vec(), [1, 3, 1])).require_grad();
            let log = f64s::<2>([logits]).require_grad();
            let belief = Belief { states: states.clone(), weights: LogWeights::normalised(log.clone()) };
            let kernel = KernelMixture::new(Space::LINEAR, Bandwidth::NormalReference, Scheme::Systematic);
            let drawn = kernel.resample(belief, 3, &[0.5, 0.2, 0.3, 0.0, 0.99]).belief;
            let alive = points[1];
            assert_close(&numbers(&drawn.states), &[alive; 3], 1e-3);
            let weighted = (drawn.weights.exp().unsqueeze_dim::<3>(2) * drawn.states).sum().backward();
            for input in [numbers(&states.grad(&weighted).unwrap()), numbers(&log.grad(&weighted).unwrap())] {
                assert!(input.iter().all(|g| g.is_finite()), "{input:?}");
            }
        }
    }
}
