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
use driftless_world::trajectory::MOST_COORDINATES;

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
fn deviations(size: usize) -> Space {
    Space::linear(size)
}

/// Rows of a square matrix in 32 bits, and a column that it is applied to.
type Square = Vec<f32>;
type Column = [f32; MOST_COORDINATES];

fn square(matrix: &Matrix) -> Square {
    let size = matrix.size();
    (0..size * size).map(|at| matrix.at(at / size, at % size) as f32).collect()
}

fn apply(matrix: &[f32], size: usize, x: &Column) -> Column {
    let mut found = [0.0; MOST_COORDINATES];
    for (found, row) in found.iter_mut().zip(matrix.chunks_exact(size)) {
        *found = row.iter().zip(x).map(|(entry, x)| entry * x).sum();
    }
    found
}

/// Particle i of some columns.
fn column(columns: &[Vec<f32>], i: usize) -> Column {
    let mut found = [0.0; MOST_COORDINATES];
    found.iter_mut().zip(columns).for_each(|(found, column)| *found = column[i]);
    found
}

/// d_t = G d_{t-1} + C z.
struct Step {
    gain: Square,
    colour: Square,
}

impl Motion for Step {
    fn propagate(&mut self, particles: &mut Particles, draws: &mut dyn Draws, noise: &mut Noise) -> bool {
        let (size, count) = (particles.space().dimension(), particles.len());
        let noise = noise.draw(size, count, draws);
        let columns = particles.columns_mut();
        for i in 0..count {
            let kept = apply(&self.gain, size, &column(columns, i));
            let new = apply(&self.colour, size, &column(&noise[..size], i));
            columns.iter_mut().enumerate().for_each(|(k, column)| column[i] = kept[k] + new[k]);
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
}

impl Transition for Backward<'_> {
    fn prepare(&mut self, t: usize, from: &Particles, _: &Particles) {
        let Link { whiten, gain, .. } = &self.links[t + 1];
        let (size, reached) = (whiten.size(), square(&whiten.times(gain)));
        self.whiten = square(whiten);
        self.reached.clear();
        for i in 0..from.len() {
            self.reached.push(&apply(&reached, size, &column(from.columns(), i))[..size]);
        }
    }

    fn log_density(&mut self, _: usize, _: &Particles, _: usize, to: &[f32], log: &mut [f32]) {
        let size = to.len();
        let mut goal = [0.0; MOST_COORDINATES];
        goal[..size].copy_from_slice(to);
        let goal = apply(&self.whiten, size, &goal);
        log.fill(0.0);
        for (column, goal) in self.reached.columns().iter().zip(goal) {
            log.iter_mut().zip(column).for_each(|(log, x)| *log += (goal - x) * (goal - x));
        }
        for log in log {
            *log *= -0.5;
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

/// A mean with deviations from it, angles wrapped.
fn states(mean: &[f64], deviations: &Particles, states: &mut Particles) {
    let space = states.space();
    states.clear();
    for (k, to) in states.columns_mut().iter_mut().enumerate() {
        let at = deviations.column(k).iter().map(|d| mean[k] + f64::from(*d));
        to.extend(at.map(|x| if space.is_angle(k) { wrap(x) as f32 } else { x as f32 }));
    }
}

impl Sensor for Around<'_> {
    fn log_likelihoods(&mut self, deviations: &Particles, log: &mut [f32]) -> Reading {
        let Some(evidence) = &mut self.evidence else { return Reading::Missing };
        states(self.mean, deviations, &mut self.poses);
        evidence.scores(self.t, &self.poses, log)
    }
}

/// Filters forwards along the bridge, and draws paths backwards.
pub fn draw_paths(
    bridge: &Bridge,
    evidence: Option<&mut dyn Evidence>,
    sizes: Sizes,
    draws: &mut Stream,
) -> Drawn {
    let (drawn, effective_sample_size) = draw_states(bridge, Space::SE2, evidence, sizes, draws);
    let of_step = |step: &Particles| {
        let [x, y, heading] = [0, 1, 2].map(|k| step.column(k));
        (0..step.len()).map(|m| [x[m], y[m], heading[m]]).collect()
    };
    Drawn { poses: drawn.iter().map(of_step).collect(), effective_sample_size }
}

/// The same of any states: M of them at each step, and the mean over the steps of 1 / Σ w².
pub fn draw_states(
    bridge: &Bridge,
    space: Space,
    mut evidence: Option<&mut dyn Evidence>,
    sizes: Sizes,
    draws: &mut Stream,
) -> (Vec<Particles>, f64) {
    let deviations = deviations(space.dimension());
    let filter = Filter { resample_below: 2.0, ..Filter::bootstrap(sizes.particles) };
    let origin = vec![0.0; space.dimension()];
    let start = Particles::from_states(deviations, vec![origin; sizes.particles]);
    let (mut state, mut workspace) = (FilterState::new(Belief::new(start)), Workspace::new(deviations));
    let (mut beliefs, mut effective) = (Vec::with_capacity(bridge.links.len()), 0.0);
    let mut poses = Particles::new(space);
    for (t, link) in bridge.links.iter().enumerate() {
        let mut motion = Step { gain: square(&link.gain), colour: square(&link.colour) };
        let evidence = evidence.as_mut().map(|evidence| &mut **evidence as &mut dyn Evidence);
        let mut sensor = Around { evidence, t, mean: &bridge.mean[t], poses };
        filter.step(&mut state, &mut motion, &mut sensor, draws, &mut workspace);
        poses = sensor.poses;
        effective += state.belief.weights.effective_sample_size();
        beliefs.push(state.belief.clone());
    }
    let reached = Particles::new(deviations);
    let mut backward = Backward { links: &bridge.links, reached, whiten: Square::default() };
    let drawn = backward_simulation(&beliefs, &mut backward, sizes.paths, draws);
    let of_step = |(t, drawn): (usize, &Particles)| {
        let mut at = Particles::new(space);
        states(&bridge.mean[t], drawn, &mut at);
        at
    };
    let drawn = drawn.iter().enumerate().map(of_step).collect();
    (drawn, effective / bridge.links.len() as f64)
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
