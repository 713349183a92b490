//! The E-step: paths drawn from everything that is known of a trajectory, by labels, odometry and images.
//!
//! Particles are deviations from the most probable path. They move by the bridge, which knows labels and odometry, are
//! weighted by what images say besides, and backward simulation draws whole paths of them.

use super::sensor::{EncodedFrames, ImageSensor};
use crate::smooth::chain::{Bridge, Link, Matrix};
use driftless_core::motion::{Motion, Noise};
use driftless_core::smooth::{Transition, backward_simulation};
use driftless_core::{
    Belief, Draws, Filter, FilterState, Particles, Reading, Sensor, Space, Stream, Workspace,
};
use driftless_kernels::ranks::{Message, Wire};
use driftless_world::pose::wrap;

type Square = [[f32; 3]; 3];

/// Paths of one trajectory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawn {
    /// M poses at each of T steps; the m-th of all steps are one path.
    pub poses: Vec<Vec<[f32; 3]>>,
    /// Mean over the steps of 1 / Σ w².
    pub effective_sample_size: f64,
}

impl Message for Drawn {
    fn pass(&mut self, wire: &mut Wire) {
        self.poses.pass(wire);
        self.effective_sample_size.pass(wire);
    }
}

/// How many particles move, and how many paths are drawn of them.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub particles: usize,
    pub paths: usize,
}

/// How many trajectories that have labels have no path, where paths were drawn at all: bridges between their labels could
/// not be computed.
pub fn without_path(paths: &[Vec<Vec<[f32; 3]>>], have_labels: impl Iterator<Item = bool>) -> u64 {
    paths.iter().zip(have_labels).filter(|(path, has_label)| path.is_empty() && *has_label).count() as u64
}

/// Deviations have no angles: what is beyond half a turn is far, not near.
const DEVIATIONS: Space = Space::linear(3);

fn square(matrix: &Matrix) -> Square {
    std::array::from_fn(|i| std::array::from_fn(|j| matrix.at(i, j) as f32))
}

fn apply(matrix: &Square, x: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|i| (0..3).map(|j| matrix[i][j] * x[j]).sum())
}

/// d_t = G d_{t-1} + C z.
struct Step {
    gain: Square,
    colour: Square,
}

impl Motion for Step {
    fn propagate(&mut self, particles: &mut Particles, draws: &mut dyn Draws, noise: &mut Noise) -> bool {
        let noise = noise.draw(3, particles.len(), draws);
        let [x, y, heading] = particles.columns_mut() else { unreachable!("deviations of poses") };
        for i in 0..x.len() {
            let kept = apply(&self.gain, [x[i], y[i], heading[i]]);
            let new = apply(&self.colour, [noise[0][i], noise[1][i], noise[2][i]]);
            [x[i], y[i], heading[i]] = std::array::from_fn(|k| kept[k] + new[k]);
        }
        true
    }
}

/// log p(d_{t+1} | d_t) = const - ½ ‖C⁻¹ (d_{t+1} - G d_t)‖².
struct Backward<'a> {
    links: &'a [Link],
    /// C⁻¹ G d_t of all particles of one step, and C⁻¹.
    reached: Particles,
    whiten: Square,
    step: Option<usize>,
}

impl Transition for Backward<'_> {
    fn log_density(&mut self, t: usize, from: &Particles, to: &[f32], log: &mut [f32]) {
        if self.step != Some(t) {
            let Link { whiten, gain, .. } = &self.links[t + 1];
            (self.step, self.whiten) = (Some(t), square(whiten));
            let reached = square(&whiten.times(gain));
            self.reached.clear();
            for i in 0..from.len() {
                let at = apply(&reached, [0, 1, 2].map(|k| from.column(k)[i]));
                self.reached.push(&at);
            }
        }
        let goal = apply(&self.whiten, [to[0], to[1], to[2]]);
        let [x, y, heading] = [0, 1, 2].map(|k| self.reached.column(k));
        for (i, log) in log.iter_mut().enumerate() {
            let apart = [goal[0] - x[i], goal[1] - y[i], goal[2] - heading[i]];
            *log = -0.5 * (apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2]);
        }
    }
}

/// What is known of poses besides labels and odometry; writes log-likelihoods of poses at step t.
pub trait Evidence {
    fn scores(&mut self, t: usize, poses: &Particles, log: &mut [f32]) -> Reading;
}

/// Images, with their likelihoods to the power of a factor.
pub struct Tempered<'a>(pub EncodedFrames<&'a ImageSensor>, pub f32);

impl Evidence for Tempered<'_> {
    fn scores(&mut self, t: usize, poses: &Particles, log: &mut [f32]) -> Reading {
        let reading = self.0.at(t).scores(poses, log);
        for score in log {
            *score *= self.1;
        }
        reading
    }
}

/// The same at deviations from the mean of step t.
struct Around<'a> {
    evidence: Option<&'a mut dyn Evidence>,
    t: usize,
    mean: &'a [f64],
    poses: Particles,
}

fn pose(mean: &[f64], deviation: impl Iterator<Item = f32>) -> [f32; 3] {
    let mut at = mean.iter().zip(deviation).map(|(mean, d)| mean + f64::from(d));
    let mut next = || at.next().unwrap_or_default();
    [next() as f32, next() as f32, wrap(next()) as f32]
}

impl Sensor for Around<'_> {
    fn log_likelihoods(&mut self, deviations: &Particles, log: &mut [f32]) -> Reading {
        let Some(evidence) = &mut self.evidence else { return Reading::Missing };
        self.poses.clear();
        (0..deviations.len()).for_each(|i| self.poses.push(&pose(self.mean, deviations.state(i))));
        evidence.scores(self.t, &self.poses, log)
    }
}

/// Filters forwards along the bridge, and draws paths backwards.
pub fn draw_paths(
    bridge: &Bridge,
    mut evidence: Option<&mut dyn Evidence>,
    sizes: Sizes,
    draws: &mut Stream,
) -> Drawn {
    let filter = Filter { resample_below: 2.0, ..Filter::bootstrap(sizes.particles) };
    let start = Particles::from_states(DEVIATIONS, vec![[0.0; 3]; sizes.particles]);
    let (mut state, mut workspace) = (FilterState::new(Belief::new(start)), Workspace::new(DEVIATIONS));
    let (mut beliefs, mut effective) = (Vec::with_capacity(bridge.links.len()), 0.0);
    let mut poses = Particles::new(Space::SE2);
    for (t, link) in bridge.links.iter().enumerate() {
        let mut motion = Step { gain: square(&link.gain), colour: square(&link.colour) };
        let evidence = evidence.as_mut().map(|evidence| &mut **evidence as &mut dyn Evidence);
        let mut sensor = Around { evidence, t, mean: &bridge.mean[t], poses };
        filter.step(&mut state, &mut motion, &mut sensor, draws, &mut workspace);
        poses = sensor.poses;
        effective += state.belief.weights.effective_sample_size();
        beliefs.push(state.belief.clone());
    }
    let reached = Particles::new(DEVIATIONS);
    let mut backward = Backward { links: &bridge.links, reached, whiten: Square::default(), step: None };
    let drawn = backward_simulation(&beliefs, &mut backward, sizes.paths, draws);
    let of_step = |(t, drawn): (usize, &Particles)| {
        (0..drawn.len()).map(|m| pose(&bridge.mean[t], drawn.state(m))).collect()
    };
    Drawn {
        poses: drawn.iter().enumerate().map(of_step).collect(),
        effective_sample_size: effective / bridge.links.len() as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smooth::chain::{Chain, Label, Odometry};
    use driftless_world::pose::Frame;

    /// Of three, the first has a path, and the third no label; where none was drawn there is nothing to count.
    #[test]
    fn labelled_trajectories_without_a_path() {
        let paths = [vec![vec![[0.0; 3]]], Vec::new(), Vec::new()];
        assert_eq!(without_path(&paths, [true, true, false].into_iter()), 1);
        assert_eq!(without_path(&[], [true; 3].into_iter()), 0);
    }

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

    struct At4<F>(F);

    impl<F: Fn(f32) -> f32> Evidence for At4<F> {
        fn scores(&mut self, t: usize, poses: &Particles, log: &mut [f32]) -> Reading {
            log.iter_mut().zip(poses.column(0)).for_each(|(log, &x)| *log = (self.0)(x));
            if t == 4 { Reading::Present } else { Reading::Missing }
        }
    }

    fn middle(evidence: Option<&mut dyn Evidence>) -> (f64, f64) {
        let sizes = Sizes { particles: 1500, paths: 1500 };
        let drawn = draw_paths(&bridge(), evidence, sizes, &mut Stream::new(3, 0));
        assert!(drawn.poses[6].iter().all(|pose| pose[0] == 6.0 && pose[2] == 0.0));
        let belief = Belief::new(Particles::from_states(Space::SE2, &drawn.poses[3]));
        (belief.mean()[0], belief.covariance()[0])
    }

    /// A random walk pinned at 0 and 6 steps has variance 3 · 3 / 6 σ² in the middle.
    #[test]
    fn flat_paths_are_the_bridge() {
        let (mean, variance) = middle(None);
        // Draws with ancestors in common count for about a third: five errors of 500.
        assert!((mean - 3.0).abs() < 5.0 * (0.375_f64 / 500.0).sqrt(), "{mean}");
        assert!((variance - 0.375).abs() < 5.0 * 0.375 * (2.0_f64 / 500.0).sqrt(), "{variance}");
    }

    /// A reading of x = 5 with variance ¼ at step 4, N(4, ⅓) there before: by Bayes' rule the posterior of
    /// step 4 has variance 1 / (3 + 4), as it is 2 · 4 / 6 σ² = ⅓ before; of step 3, by conditioning
    /// through their covariance 3 · 2 / 6 σ² = ¼: 0.375 - ¼² / (⅓ + ¼) and mean 3 + ¼ / (⅓ + ¼) · (z - 4).
    #[test]
    fn what_is_seen_later_moves_paths_before() {
        let (mean, variance) = middle(Some(&mut At4(|x: f32| -2.0 * (x - 5.0).powi(2))));
        let gain = 0.25 / (1.0 / 3.0 + 0.25);
        let (exact, spread) = (3.0 + gain, 0.375 - gain * 0.25);
        assert!((mean - exact).abs() < 5.0 * (spread / 350.0_f64).sqrt(), "{mean} {exact}");
        assert!((variance - spread).abs() < 5.0 * spread * (2.0_f64 / 350.0).sqrt(), "{variance} {spread}");
    }
}
