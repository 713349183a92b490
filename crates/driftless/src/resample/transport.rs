//! Resampling by optimal transport: particles move instead of being drawn, so gradients flow.

use super::sinkhorn::Problem;
use super::{Resampled, Resampler, no_mass, spaced};
use crate::belief::Belief;
use crate::space::{Space, direction};
use burn::tensor::{Int, Tensor};

/// Each new particle is a mean of old ones, weighted by an entropic transport plan from equal
/// weights to the belief's (Corenflos et al. 2021). Deterministic; the mean of the linear
/// coordinates is kept exactly, their variance shrinks with ε.
///
/// Costs are half squared distances in units of the particles' own spread. Corenflos et al. divide
/// by the largest spread; here each coordinate is divided by its own, because lengths and angles
/// have no common unit. An angle enters as a point on the circle. In one dimension both agree.
///
/// A new particle has no single ancestor: each is reported as its own. If M ≠ N are wanted, M of the
/// old particles, evenly spaced by index, stand for the equally weighted side of the plan; means are
/// kept all the same.
#[derive(Clone, Copy, Debug)]
pub struct OptimalTransport {
    space: Space,
    epsilon: f64,
    /// Relative error of the row sums at which iterations end.
    pub tolerance: f64,
    /// At most so many iterations, converged or not.
    pub max_iterations: usize,
    /// How many iterations at the solution the gradient sees. With 1 it is the published gradient,
    /// which holds the other potential constant; with more it approaches the true one geometrically,
    /// at a price in memory of N² numbers each.
    pub differentiated: usize,
}

impl OptimalTransport {
    /// With regularisation ε: Corenflos et al. use 0.5.
    ///
    /// # Panics
    /// If ε is not positive.
    pub fn new(space: Space, epsilon: f64) -> Self {
        assert!(epsilon > 0.0, "epsilon must be positive, not {epsilon}");
        Self { space, epsilon, tolerance: 1e-4, max_iterations: 500, differentiated: 10 }
    }

    /// T [B, M, N]: row i says of what new particle i is made, whose place in the plan is that of an
    /// old one, `rows[i]`.
    fn plan(&self, belief: &Belief, rows: Tensor<1, Int>) -> Tensor<3> {
        let problem = Problem {
            cost: cost(&self.embed(&belief.states), rows),
            log_weights: belief.weights.log().unsqueeze_dim::<3>(1),
            epsilon: self.epsilon,
        };
        let solution = problem.solve(self.tolerance, self.max_iterations);
        // The plan itself is the last of the differentiated iterations.
        let columns = (1..self.differentiated).fold(solution, |columns, _| problem.advance(columns));
        problem.plan(columns)
    }

    /// States with each angle followed by its sine at the end and replaced by its cosine.
    fn embed(&self, states: &Tensor<3>) -> Tensor<3> {
        let size = states.dims()[2];
        let part = |k: usize| states.clone().slice_dim(2, k..k + 1); // [B, N, 1]
        let is_angle = |k: usize| self.space.angles().contains(&k);
        let first = (0..size).map(|k| if is_angle(k) { part(k).cos() } else { part(k) });
        let sines = self.space.angles().into_iter().map(|k| part(k).sin());
        Tensor::cat(first.chain(sines).collect(), 2)
    }

    /// The inverse of [`OptimalTransport::embed`], also for points off the circle.
    fn restore(&self, embedded: &Tensor<3>) -> Tensor<3> {
        let angles = self.space.angles();
        let part = |k: usize| embedded.clone().slice_dim(2, k..k + 1); // [B, N, 1]
        let size = embedded.dims()[2] - angles.len();
        let coordinates = (0..size).map(|k| match angles.iter().position(|&angle| angle == k) {
            Some(which) => direction(part(size + which), part(k)),
            None => part(k),
        });
        Tensor::cat(coordinates.collect(), 2)
    }
}

impl Resampler for OptimalTransport {
    fn uniforms(&self, _: usize, _: usize) -> usize {
        0
    }

    fn resample(&self, belief: Belief, count: usize, _uniforms: &[f64]) -> Resampled {
        let (batch, rows) = (belief.dims()[0], spaced(&belief, count));
        let moved = self.plan(&belief, rows.clone()).matmul(self.embed(&belief.states)); // [B, M, D]
        let ancestors = rows.unsqueeze_dim::<2>(0).expand([batch, count]);
        let log_mass = no_mass(&belief);
        Resampled { belief: Belief::uniform(self.restore(&moved)), ancestors, log_mass }
    }
}

/// ½ |x_i - x_j|² of points centred and divided by their spread, for i in `rows`: [B, N, D] → [B, M, N].
fn cost(points: &Tensor<3>, rows: Tensor<1, Int>) -> Tensor<3> {
    let size = points.dims()[2] as f64;
    let centred = points.clone() - points.clone().mean_dim(1);
    // The result does not depend on a common factor, so the gradient need not know of this one,
    // which keeps squares of very large and very small numbers representable.
    let size_of = centred.clone().detach().abs().max_dim(1).clamp_min(1e-30); // [B, 1, D]
    let centred = centred / size_of;
    // A coordinate without spread costs nothing, rather than 0 / 0.
    let variance = centred.clone().square().mean_dim(1).clamp_min(1e-30); // [B, 1, D]
    let scaled = centred / (variance * size).sqrt();
    let norms = scaled.clone().square().sum_dim(2) * 0.5; // [B, N, 1]
    norms.clone().select(1, rows.clone()) + norms.swap_dims(1, 2)
        - scaled.clone().select(1, rows).matmul(scaled.swap_dims(1, 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::LogWeights;
    use crate::testing::{assert_close, f64s, numbers};

    fn precise(space: Space, epsilon: f64) -> OptimalTransport {
        OptimalTransport { tolerance: 1e-13, max_iterations: 20_000, ..OptimalTransport::new(space, epsilon) }
    }

    fn belief(points: [f64; 3], weights: [f64; 3]) -> Belief {
        let states = f64s([points.map(|x| [x])]);
        Belief { states, weights: LogWeights::normalised(f64s([weights.map(f64::ln)])) }
    }

    fn moved(epsilon: f64, points: [f64; 3], weights: [f64; 3]) -> Vec<f64> {
        numbers(&precise(Space::LINEAR, epsilon).resample(belief(points, weights), 3, &[]).belief.states)
    }

    fn all() -> Tensor<1, Int> {
        Tensor::from_data([0, 1, 2], &burn::tensor::Device::flex().autodiff())
    }

    const POINTS: [f64; 3] = [-1.0, 0.0, 2.0];
    const WEIGHTS: [f64; 3] = [0.2, 0.5, 0.3];

    /// Computed once by an independent program with dense matrices.
    #[test]
    fn golden_table() {
        for (epsilon, expected) in [
            (0.05, [-0.599_996_089, -0.000_003_910_8, 1.8]),
            (0.5, [-0.426_822_67, -0.105_593_28, 1.732_415_95]),
            (5.0, [0.193_205_87, 0.340_329_94, 0.666_464_2]),
            (500.0, [0.397_874_41, 0.399_467_8, 0.402_657_79]),
        ] {
            assert_close(&moved(epsilon, POINTS, WEIGHTS), &expected, 2e-8);
        }
        let plan = numbers(&precise(Space::LINEAR, 0.5).plan(&belief(POINTS, WEIGHTS), all()));
        let expected =
            [0.430_189, 0.568_127, 0.001_683, 0.167_72, 0.801_216, 0.031_063, 0.002_09, 0.130_657, 0.867_253];
        assert_close(&plan, &expected, 1e-6);
    }

    #[test]
    fn marginals_and_limits() {
        let plan = numbers(&precise(Space::LINEAR, 0.3).plan(&belief(POINTS, WEIGHTS), all()));
        let row = |i: usize| plan[3 * i..3 * i + 3].iter().sum::<f64>();
        let column = |j: usize| (plan[j] + plan[3 + j] + plan[6 + j]) / 3.0;
        assert_close(&[row(0), row(1), row(2)], &[1.0; 3], 1e-11);
        assert_close(&[column(0), column(1), column(2)], &WEIGHTS, 1e-14);
        // The monotone coupling, the weighted mean, and nothing to do.
        assert_close(&moved(0.01, POINTS, WEIGHTS), &[-0.6, 0.0, 1.8], 1e-6);
        assert_close(&moved(1e7, POINTS, WEIGHTS), &[0.4; 3], 1e-6);
        assert_close(&moved(0.01, POINTS, [1.0; 3]), &POINTS, 1e-6);
    }

    /// Any number of particles have the mean of the old ones, Σ w x = 0.4.
    #[test]
    fn any_number_keeps_the_mean() {
        for count in [1, 2, 5] {
            let drawn = precise(Space::LINEAR, 0.5).resample(belief(POINTS, WEIGHTS), count, &[]);
            let found = numbers(&drawn.belief.states);
            assert_eq!(found.len(), count);
            assert_close(&[found.iter().sum::<f64>() / count as f64], &[0.4], 1e-10);
            assert_eq!(numbers(&drawn.belief.weights.exp()).len(), count);
        }
    }

    #[test]
    fn order_place_and_scale_do_not_matter() {
        let plain = moved(0.5, POINTS, WEIGHTS);
        let swapped = moved(0.5, [2.0, -1.0, 0.0], [0.3, 0.2, 0.5]);
        assert_close(&swapped, &[plain[2], plain[0], plain[1]], 1e-10);
        let shifted = moved(0.5, POINTS.map(|x| 100.0 * x + 7.0), WEIGHTS);
        let expected: Vec<f64> = plain.iter().map(|x| 100.0 * x + 7.0).collect();
        assert_close(&shifted, &expected, 1e-8);
    }

    /// Headings on both sides of the cut have means at the cut, not at 0.
    #[test]
    fn headings_are_averaged_on_the_circle() {
        let states = f64s::<3>([[[0.0, 1.0, 3.1], [1.0, 1.0, -3.1], [2.0, 1.0, 3.0]]]);
        let belief = Belief { states, weights: LogWeights::normalised(f64s([[0.0, 1.0, 0.5]])) };
        let found = numbers(&precise(Space::SE2, 5.0).resample(belief, 3, &[]).belief.states);
        for pose in found.chunks_exact(3) {
            assert!(pose[2].abs() > 3.0 && (pose[1] - 1.0).abs() < 1e-9, "{pose:?}");
        }
    }

    #[test]
    fn dead_and_identical_particles_do_no_harm() {
        for (points, weights) in [(POINTS, [0.0, 1.0, 0.0]), ([2.0; 3], WEIGHTS)] {
            let states = f64s::<3>([points.map(|x| [x])]).require_grad();
            let logits = f64s::<2>([weights.map(f64::ln)]).require_grad();
            let belief = Belief { states: states.clone(), weights: LogWeights::normalised(logits.clone()) };
            let result = OptimalTransport::new(Space::LINEAR, 0.5).resample(belief, 3, &[]).belief;
            let mean = if points == POINTS { 0.0 } else { 2.0 };
            assert_close(&numbers(&result.states), &[mean; 3], 1e-9);
            let gradients = result.states.square().sum().backward();
            let finite = |values: Vec<f64>| values.iter().all(|g| g.is_finite());
            assert!(finite(numbers(&states.grad(&gradients).unwrap())));
            assert!(finite(numbers(&logits.grad(&gradients).unwrap())));
        }
    }
}
