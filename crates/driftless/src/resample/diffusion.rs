//! Resampling by a diffusion: noise flows back to the weighted particles along a score that needs no learning.

use super::{Resampled, Resampler, no_mass, normals, spaced, uniforms_of_normals};
use crate::belief::{Belief, log_sum_exp};
use crate::space::Space;
use burn::tensor::Tensor;

/// Draws from the weighted particles by a reversed Ornstein–Uhlenbeck process (Andersson & Zhao 2025).
///
/// Forward, dX = a (X - μ) dt + √(-2 a v) dW takes particle i to N(m_i(t), s²(t)), m_i = μ + (x_i - μ) e^(a t) and
/// s² = v (1 - e^(2 a t)), with the belief's mean μ and variances v; the end is near N(μ, v), where new particles begin.
/// Back, the score of Σ w_i N(y; m_i, s²) leads them: its responsibilities are those of each new particle, α_i(y)
/// proportional to `w_i` N(y; m_i, s²). Everything is differentiable by states and weights.
///
/// All is computed in units of √v from μ, where the process is the same for all beliefs. Angles are taken within π of
/// their mean. A new particle has no ancestor: as many old ones, evenly spaced by index, are reported.
///
/// Particles are always finite. In 32 bits their gradient may be beyond all numbers where states are extreme (a million units from
/// the origin, or apart); an optimiser does not make such an update, and says so. In 64 bits it is finite.
#[derive(Clone, Copy, Debug)]
pub struct Diffusion {
    /// Which coordinates are angles.
    pub space: Space,
    /// a, below 0. Only a T matters.
    pub drift: f64,
    /// T.
    pub horizon: f64,
    /// Steps from T to 0, of equal length.
    pub steps: usize,
    /// Whether noise is added on the way (the SDE), or only at its start (the ODE of the same densities).
    pub stochastic: bool,
    /// How steps are made.
    pub integrator: Integrator,
}

/// How a step from time t to t' is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrator {
    /// Euler's, or Euler and Maruyama's: the authors' default. New particles end within a step's noise of the old ones.
    Euler,
    /// Exact where the mean Σ α x does not change within the step; the last step ends on it.
    Exponential,
}

impl Integrator {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Euler, Self::Exponential];

    /// What it is called in experiments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Euler => "euler",
            Self::Exponential => "exponential",
        }
    }
}

/// The least spread, as a share of the largest distance from the mean: nothing is divided by zero.
const LEAST_SPREAD: f64 = 1e-6;

impl Diffusion {
    /// The settings of PyDPF: a = -1, T = 2, 16 steps of Euler and Maruyama.
    pub fn new(space: Space) -> Self {
        let integrator = Integrator::Euler;
        Self { space, drift: -1.0, horizon: 2.0, steps: 16, stochastic: true, integrator }
    }

    /// States as multiples of their spread from the mean, [B, N, S], and the spread, [B, 1, S].
    fn standardised(&self, belief: &Belief, mean: Tensor<3>) -> (Tensor<3>, Tensor<3>) {
        let centred = self.space.difference(belief.states.clone(), mean);
        // A common factor that is a constant: squares of very large and very small numbers can be represented.
        let size_of = centred.clone().detach().abs().max_dim(1).clamp_min(1e-30); // [B, 1, S]
        let centred = centred / size_of.clone();
        let weights = belief.weights.exp().unsqueeze_dim::<3>(2);
        let variance = (weights * centred.clone().square()).sum_dim(1).clamp_min(LEAST_SPREAD * LEAST_SPREAD);
        let spread = variance.sqrt();
        (centred / spread.clone(), spread * size_of)
    }

    /// E[x | y at time t] = Σ α_i(y) u_i of points u [B, N, S] with weights [B, 1, N]: [B, M, S].
    fn denoised(
        points: &Tensor<3>,
        log_weights: &Tensor<3>,
        y: &Tensor<3>,
        [shrunk, s2]: [f64; 2],
    ) -> Tensor<3> {
        let means = points.clone() * shrunk;
        // |y - m|² = |y|² - 2 y m + |m|², whose first term is the same for all i.
        let across = y.clone().matmul(means.clone().swap_dims(1, 2)); // [B, M, N]
        let norms = means.square().sum_dim(2).swap_dims(1, 2) * 0.5; // [B, 1, N]
        let log = log_weights.clone() + (across - norms) * (1.0 / s2);
        (log.clone() - log_sum_exp(log, 2)).exp().matmul(points.clone())
    }

    /// A step from time t to the one before, of the new particles in units of their spread.
    fn step(&self, y: Tensor<3>, mean: Tensor<3>, time: [f64; 2], noise: Option<Tensor<3>>) -> Tensor<3> {
        let [e_now, e_next] = time.map(|t| (self.drift * t).exp());
        let [now, next] = [e_now, e_next].map(|e| 1.0 - e * e);
        match self.integrator {
            Integrator::Euler => {
                let dt = time[0] - time[1];
                let score = (mean * e_now - y.clone()) * (1.0 / now);
                let share = if noise.is_some() { -2.0 } else { -1.0 };
                let moved = y.clone() + (y * -self.drift + score * (share * self.drift)) * dt;
                noise.map_or(moved.clone(), |noise| moved + noise * (-2.0 * self.drift * dt).sqrt())
            }
            Integrator::Exponential => match noise {
                None => {
                    let kept = (next / now).sqrt();
                    y * kept + mean * (e_next - kept * e_now)
                }
                Some(noise) => {
                    // The law of y(t') given y(t) and x.
                    let step = e_now / e_next;
                    let own = 1.0 - step * step;
                    let moved = y * (step * next / now) + mean * (e_next * own / now);
                    moved + noise * (next * own / now).sqrt()
                }
            },
        }
    }

    fn noises(&self) -> usize {
        if self.stochastic { 1 + self.steps } else { 1 }
    }
}

impl Resampler for Diffusion {
    fn uniforms(&self, particles: usize, size: usize) -> usize {
        self.noises() * uniforms_of_normals(particles * size)
    }

    fn resample(&self, belief: Belief, count: usize, uniforms: &[f64]) -> Resampled {
        let [batch, _, size] = belief.dims();
        let needed = uniforms_of_normals(count * size);
        let mean = belief.mean(self.space).unsqueeze_dim::<3>(1); // [B, 1, S]
        let (points, spread) = self.standardised(&belief, mean.clone());
        let log_weights = belief.weights.log().unsqueeze_dim::<3>(1);
        let noise = |k: usize| normals(&belief, uniforms, k * needed, count);
        let mut y = noise(0);
        let dt = self.horizon / self.steps as f64;
        for k in 0..self.steps {
            let time = [self.horizon - k as f64 * dt, (self.horizon - (k + 1) as f64 * dt).max(0.0)];
            let shrunk = (self.drift * time[0]).exp();
            let expected = Self::denoised(&points, &log_weights, &y, [shrunk, 1.0 - shrunk * shrunk]);
            y = self.step(y, expected, time, self.stochastic.then(|| noise(k + 1)));
        }
        let ancestors = spaced(&belief, count).unsqueeze_dim::<2>(0).expand([batch, count]);
        let log_mass = no_mass(&belief);
        Resampled { belief: Belief::uniform(self.space.wrap(y * spread + mean)), ancestors, log_mass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogWeights;
    use crate::testing::{assert_close, f64s, numbers};
    use driftless_world::random::Random;

    const POINTS: [f64; 3] = [-1.0, 0.0, 2.0];
    const WEIGHTS: [f64; 3] = [0.2, 0.5, 0.3];

    fn of(steps: usize, horizon: f64, stochastic: bool, integrator: Integrator) -> Diffusion {
        Diffusion { horizon, steps, stochastic, integrator, ..Diffusion::new(Space::LINEAR) }
    }

    fn all() -> impl Iterator<Item = (Integrator, bool)> {
        Integrator::ALL.into_iter().flat_map(|integrator| [(integrator, false), (integrator, true)])
    }

    fn belief(points: [f64; 3], weights: [f64; 3]) -> Belief {
        let weights = LogWeights::normalised(f64s([weights.map(f64::ln)]));
        Belief { states: f64s([points.map(|x| [x])]), weights }
    }

    fn drawn(diffusion: &Diffusion, belief: Belief, count: usize) -> Vec<f64> {
        let mut random = Random::new(7);
        let uniforms: Vec<f64> = (0..diffusion.uniforms(count, 1)).map(|_| random.unit()).collect();
        numbers(&diffusion.resample(belief, count, &uniforms).belief.states)
    }

    /// New particles of each integrator, without noise on the way and with it.
    const GOLDEN: [[f64; 6]; 4] = [
        [
            0.076_385_052_3,
            -0.907_832_593_2,
            2.024_172_512_2,
            0.242_137_621_3,
            -1.189_839_399_7,
            0.951_101_765_1,
        ],
        [
            -1.152_712_963_7,
            -0.553_358_784_0,
            0.578_113_400_6,
            -1.019_651_575_0,
            1.296_773_576_0,
            0.841_630_248_1,
        ],
        [
            0.010_810_812_5,
            -0.971_847_878_6,
            1.976_251_104_0,
            0.239_193_518_4,
            -0.997_534_666_5,
            0.499_309_558_1,
        ],
        [
            -0.211_928_447_1,
            -0.673_687_251_7,
            0.559_740_218_8,
            -0.569_921_267_2,
            -0.544_497_753_7,
            0.432_802_073_5,
        ],
    ];

    /// By a second program, which writes densities of pairs in the state's own units, and conditions normal laws
    /// where this one has closed forms.
    #[test]
    fn golden_table() {
        let uniforms = [
            0.13, 0.71, 0.52, 0.08, 0.94, 0.33, 0.27, 0.61, 0.88, 0.45, 0.02, 0.79, 0.36, 0.17, 0.64, 0.91,
            0.55, 0.23, 0.81, 0.49, 0.07, 0.66, 0.31, 0.97, 0.42, 0.58, 0.19, 0.85, 0.74, 0.11,
        ];
        for ((integrator, stochastic), expected) in all().zip(GOLDEN) {
            let diffusion = Diffusion { drift: -0.7, ..of(4, 1.5, stochastic, integrator) };
            let states = f64s::<3>([[[-1.0, 0.5], [0.0, -1.0], [2.0, 0.25]]]);
            let belief = Belief { states, ..belief(POINTS, WEIGHTS) };
            let found = numbers(&diffusion.resample(belief, 3, &uniforms).belief.states);
            assert_close(&found, &expected, 1e-9);
        }
    }

    /// With many steps and a long way new particles are a sample of the weighted ones: as many end at each as its
    /// weight says, and none elsewhere. Four standard errors of 4000 draws are 0.032.
    #[test]
    fn converges_to_the_weighted_particles() {
        for (integrator, stochastic) in all() {
            let steps = if integrator == Integrator::Euler { 200 } else { 800 };
            let found = drawn(&of(steps, 5.0, stochastic, integrator), belief(POINTS, WEIGHTS), 4000);
            let apart = |x: f64| POINTS.map(|point| (x - point).powi(2));
            let near =
                |k: usize| found.iter().filter(|&&x| apart(x).iter().all(|&d| apart(x)[k] <= d)).count();
            // The last of Euler's steps leaves noise of variance 2 dt = 0.05 in units of v = 1.24: one in fifty is
            // nearer to another particle than to its own. The exponential's last step, from a density of variance
            // 2 dt v = 0.0155 about each particle, ends between two for those that stood half way: exp(-0.25 / 0.031) =
            // 3e-4 of its peak, so that less than one in a hundred is off by a tenth of a unit.
            assert_close(&[0, 1, 2].map(|k| near(k) as f64 / 4000.0), &WEIGHTS, 0.032 + 0.01);
            let last = if integrator == Integrator::Euler { 0.07 } else { 1e-3 };
            let least = |x: &f64| apart(*x).into_iter().fold(f64::MAX, f64::min);
            assert!(found.iter().map(least).sum::<f64>() / 4000.0 < last, "{integrator:?} {stochastic}");
        }
    }

    /// Mean Σ w x = 0.4 and variance 1.24, which each integrator approaches as its steps get shorter.
    #[test]
    fn moments_are_the_weighted_ones() {
        for (integrator, stochastic) in all() {
            let found = drawn(&of(400, 4.0, stochastic, integrator), belief(POINTS, WEIGHTS), 4000);
            let mean = found.iter().sum::<f64>() / 4e3;
            let variance = found.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4e3;
            // Four standard errors of the mean are 0.07 and of the variance below 0.08; Euler's last step adds 0.025.
            assert_close(&[mean, variance], &[0.4, 1.24], 0.1);
        }
    }

    /// Nothing is drawn but noise, so gradients are those of the computed numbers: central differences of step 1e-5
    /// are exact to 1e-9 of values about 1; Burn's own 64-bit arithmetic is good to more.
    #[test]
    fn gradients_are_finite_differences() {
        let values = [0.3, -0.2, 0.9, -1.0, 0.5, 2.0];
        for (integrator, stochastic) in all() {
            let diffusion = of(5, 2.0, stochastic, integrator);
            let uniforms: Vec<f64> = (0..24).map(|i| (0.37 + 0.618_034 * f64::from(i)).fract()).collect();
            let loss = |values: [f64; 6]| {
                let logits = f64s::<2>([[values[0], values[1], values[2]]]).require_grad();
                let states = f64s::<3>([[[values[3]], [values[4]], [values[5]]]]).require_grad();
                let weights = LogWeights::normalised(logits.clone());
                let moved = diffusion.resample(Belief { states: states.clone(), weights }, 3, &uniforms);
                let loss = (moved.belief.states.clone().square() + moved.belief.states.sin()).sum();
                (loss, logits, states)
            };
            let (value, logits, states) = loss(values);
            let gradients = value.backward();
            let found =
                [numbers(&logits.grad(&gradients).unwrap()), numbers(&states.grad(&gradients).unwrap())]
                    .concat();
            let at = |k: usize, h: f64| {
                let mut moved = values;
                moved[k] += h;
                numbers(&loss(moved).0)[0]
            };
            let expected: Vec<f64> = (0..6).map(|k| (at(k, 1e-5) - at(k, -1e-5)) / 2e-5).collect();
            assert_close(&found, &expected, 1e-7);
        }
    }

    #[test]
    fn dead_and_identical_particles_do_no_harm() {
        for (integrator, stochastic) in all() {
            for (points, weights) in [(POINTS, [0.0, 1.0, 0.0]), ([2.0; 3], WEIGHTS)] {
                let states = f64s::<3>([points.map(|x| [x])]).require_grad();
                let logits = f64s::<2>([weights.map(f64::ln)]).require_grad();
                let belief =
                    Belief { states: states.clone(), weights: LogWeights::normalised(logits.clone()) };
                let diffusion = of(16, 2.0, stochastic, integrator);
                let uniforms: Vec<f64> = (0..68).map(|i| (0.1 + 0.618_034 * f64::from(i)).fract()).collect();
                let moved = diffusion.resample(belief, 3, &uniforms).belief.states;
                // Within a few of the least spreads, a millionth of the distance to the dead.
                assert_close(&numbers(&moved), &[points[1]; 3], 1e-5);
                let gradients = moved.square().sum().backward();
                for gradient in
                    [numbers(&states.grad(&gradients).unwrap()), numbers(&logits.grad(&gradients).unwrap())]
                {
                    assert!(gradient.iter().all(|g| g.is_finite()), "{gradient:?}");
                }
            }
        }
    }

    /// Shifts, other units and headings across the cut.
    #[test]
    fn place_scale_and_direction_do_not_matter() {
        let diffusion = of(8, 2.0, true, Integrator::Euler);
        let plain = drawn(&diffusion, belief(POINTS, WEIGHTS), 3);
        let moved = drawn(&diffusion, belief(POINTS.map(|x| 100.0 * x + 7.0), WEIGHTS), 3);
        assert_close(&moved, &plain.iter().map(|x| 100.0 * x + 7.0).collect::<Vec<_>>(), 1e-9);
        let turning = Diffusion { space: Space::new(&[0]), ..diffusion };
        let [here, there] = [0.0, 3.0].map(|turn| {
            let headings = POINTS.map(|x| 0.1 * x + turn);
            let headings = headings.map(driftless_world::pose::wrap);
            drawn(&turning, belief(headings, WEIGHTS), 3)
        });
        let back: Vec<f64> = there.iter().map(|x| driftless_world::pose::wrap(x - 3.0)).collect();
        assert_close(&back, &here, 1e-9);
    }
}
