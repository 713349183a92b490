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
    let highest = logs.iter().copied().filter(|log| log.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    if highest == f64::NEG_INFINITY {
        return vec![1.0 / logs.len() as f64; logs.len()];
    }
    let weight = |&log: &f64| if log.is_finite() { (log - highest).exp() } else { 0.0 };
    let weights: Vec<f64> = logs.iter().map(weight).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
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
