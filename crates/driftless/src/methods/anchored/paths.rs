//! Paths drawn from everything that is known of a trajectory: labels, odometry and images.

use crate::resample::by_markers;
use crate::smooth::chain::{Bridge, Link, Matrix};
use driftless_world::pose::wrap;
use driftless_world::random::Random;

type Square = [[f64; 3]; 3];

/// Paths of one trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// M poses at each of T steps; the m-th of all steps are one path.
    pub poses: Vec<Vec<[f64; 3]>>,
    /// Mean over the steps of 1 / Σ w².
    pub effective_sample_size: f64,
}

/// How many particles move, and how many paths are drawn of them.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub particles: usize,
    pub paths: usize,
}

fn square(matrix: &Matrix) -> Square {
    std::array::from_fn(|i| std::array::from_fn(|j| matrix.at(i, j)))
}

fn apply(matrix: &Square, x: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| (0..3).map(|j| matrix[i][j] * x[j]).sum())
}

fn pose(mean: &[f64], deviation: &[f64; 3]) -> [f64; 3] {
    [mean[0] + deviation[0], mean[1] + deviation[1], wrap(mean[2] + deviation[2])]
}

/// exp(x - max), normalised; equal where nothing is finite.
pub fn normalised(logs: &[f64]) -> Vec<f64> {
    let mut weights = Vec::new();
    normalise(logs, &mut weights);
    weights
}

/// The same in place of what was there.
pub fn normalise(logs: &[f64], weights: &mut Vec<f64>) {
    weights.clear();
    let highest = logs.iter().copied().filter(|log| log.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    if highest == f64::NEG_INFINITY {
        weights.resize(logs.len(), 1.0 / logs.len() as f64);
        return;
    }
    let weight = |&log: &f64| if log.is_finite() { (log - highest).exp() } else { 0.0 };
    weights.extend(logs.iter().map(weight));
    let sum: f64 = weights.iter().sum();
    for weight in weights {
        *weight /= sum;
    }
}

/// Particles move by the bridge, which knows labels and odometry, are weighted by what `weigh(t, poses)`
/// knows besides (log-likelihoods), and backward simulation (Godsill, Doucet & West 2004) draws whole
/// paths of them.
pub fn draw_paths(
    bridge: &Bridge,
    weigh: impl Fn(usize, &[[f64; 3]]) -> Vec<f64>,
    sizes: Sizes,
    random: &mut Random,
) -> Drawn {
    let mut deviations = vec![[0.0; 3]; sizes.particles];
    let (mut clouds, mut sizes_sum) = (Vec::with_capacity(bridge.links.len()), 0.0);
    for (t, Link { gain, colour, .. }) in bridge.links.iter().enumerate() {
        let (gain, colour) = (square(gain), square(colour));
        for deviation in &mut deviations {
            let normals = [random.normal(), random.normal(), random.normal()];
            let (kept, new) = (apply(&gain, deviation), apply(&colour, &normals));
            *deviation = std::array::from_fn(|k| kept[k] + new[k]);
        }
        let poses: Vec<[f64; 3]> = deviations.iter().map(|d| pose(&bridge.mean[t], d)).collect();
        let weights = normalised(&weigh(t, &poses));
        sizes_sum += weights.iter().map(|w| w * w).sum::<f64>().recip();
        let (u, n) = (random.unit(), sizes.particles as f64);
        let next = by_markers(&weights, (0..sizes.particles).map(|j| (j as f64 + u) / n));
        let resampled = next.iter().map(|&i| deviations[i]).collect();
        clouds.push((std::mem::replace(&mut deviations, resampled), weights));
    }
    let poses = backwards(bridge, &clouds, sizes.paths, random);
    Drawn { poses, effective_sample_size: sizes_sum / bridge.links.len() as f64 }
}

/// From the last step to the first: the particle that a later one came from, by weight and density.
fn backwards(
    bridge: &Bridge,
    clouds: &[(Vec<[f64; 3]>, Vec<f64>)],
    paths: usize,
    random: &mut Random,
) -> Vec<Vec<[f64; 3]>> {
    let mut drawn = vec![Vec::new(); clouds.len()];
    let mut later: Vec<[f64; 3]> = Vec::new();
    for (t, (deviations, weights)) in clouds.iter().enumerate().rev() {
        let next = bridge.links.get(t + 1).map(|link| (square(&link.whiten), square(&link.gain)));
        let reached: Vec<[f64; 3]> = next.map_or(Vec::new(), |(whiten, gain)| {
            deviations.iter().map(|d| apply(&whiten, &apply(&gain, d))).collect()
        });
        let choose = |path: usize| {
            let odds = match next {
                None => weights.clone(),
                Some((whiten, _)) => {
                    let goal = apply(&whiten, &later[path]);
                    let far = |at: &[f64; 3]| (0..3).map(|k| (goal[k] - at[k]).powi(2)).sum::<f64>();
                    let logs = reached.iter().zip(weights).map(|(at, w)| w.ln() - 0.5 * far(at));
                    normalised(&logs.collect::<Vec<_>>())
                }
            };
            deviations[by_markers(&odds, std::iter::once(random.unit()))[0]]
        };
        later = (0..paths).map(choose).collect();
        drawn[t] = later.iter().map(|d| pose(&bridge.mean[t], d)).collect();
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smooth::chain::{Chain, Label, Odometry};
    use driftless_world::pose::Frame;

    /// Known at both ends of six steps; straight on, so that x, y and heading are a linear chain in x.
    fn bridge() -> Bridge {
        let odometry = Odometry::new(Frame::Reflected, [0.5, 0.01], [0.0; 2]);
        let label = |x: f64| Some(Label { state: vec![x, 0.0, 0.0], covariance: None });
        let mut labels = vec![None; 7];
        (labels[0], labels[6]) = (label(0.0), label(6.0));
        let actions = vec![vec![1.0, 0.0, 0.0]; 7];
        let chain = Chain { dynamics: &odometry, actions: &actions, labels: &labels, prior: None };
        chain.smooth().unwrap().bridge().unwrap()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64)
    }

    fn middle(weigh: impl Fn(usize, &[[f64; 3]]) -> Vec<f64>) -> (f64, f64) {
        let sizes = Sizes { particles: 1500, paths: 1500 };
        let drawn = draw_paths(&bridge(), weigh, sizes, &mut Random::new(3));
        assert!(drawn.poses[6].iter().all(|pose| pose[0] == 6.0 && pose[2] == 0.0));
        moments(&drawn.poses[3].iter().map(|pose| pose[0]).collect::<Vec<_>>())
    }

    /// A random walk pinned at 0 and 6 steps has variance 3 · 3 / 6 σ² in the middle.
    #[test]
    fn flat_paths_are_the_bridge() {
        let (mean, variance) = middle(|_, poses| vec![0.0; poses.len()]);
        // Draws with ancestors in common count for about a third: five errors of 500.
        assert!((mean - 3.0).abs() < 5.0 * (0.375_f64 / 500.0).sqrt(), "{mean}");
        assert!((variance - 0.375).abs() < 5.0 * 0.375 * (2.0_f64 / 500.0).sqrt(), "{variance}");
    }

    /// A reading of x = 4 with variance ¼ at step 4, N(4, ⅓) there before: by Bayes' rule the posterior of
    /// step 4 has variance 1 / (3 + 4), as it is 2 · 4 / 6 σ² = ⅓ before; of step 3, by conditioning
    /// through their covariance 3 · 2 / 6 σ² = ¼: 0.375 - ¼² / (⅓ + ¼) and mean 3 + ¼ / (⅓ + ¼) · (z - 4).
    #[test]
    fn what_is_seen_later_moves_paths_before() {
        let seen = |t: usize, poses: &[[f64; 3]]| -> Vec<f64> {
            let log = |pose: &[f64; 3]| if t == 4 { -2.0 * (pose[0] - 5.0).powi(2) } else { 0.0 };
            poses.iter().map(log).collect()
        };
        let (mean, variance) = middle(seen);
        let gain = 0.25 / (1.0 / 3.0 + 0.25);
        let (exact, spread) = (3.0 + gain, 0.375 - gain * 0.25);
        assert!((mean - exact).abs() < 5.0 * (spread / 350.0_f64).sqrt(), "{mean} {exact}");
        assert!((variance - spread).abs() < 5.0 * spread * (2.0_f64 / 350.0).sqrt(), "{variance} {spread}");
    }

    #[test]
    fn nothing_finite_is_equal() {
        assert_eq!(normalised(&[f64::NAN, f64::NEG_INFINITY]), [0.5, 0.5]);
        assert_eq!(normalised(&[0.0, f64::NAN, -f64::INFINITY]), [1.0, 0.0, 0.0]);
    }
}
