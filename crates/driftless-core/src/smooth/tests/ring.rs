//! Looking back against the exact smoother of a ring of cells, with whole turns, a missing action and kidnappings.

use crate::draws::{Draws, Stream};
use crate::filter::{Filter, FilterState, Population, Recovery, Workspace};
use crate::motion::density::{Carried, NormalDensity};
use crate::motion::{Motion, Noise, Still};
use crate::sensor::{Proposal, Reading, Sensor};
use crate::smooth::{Motions, backward_simulation, smoothed_weights};
use crate::{Belief, Particles, Space};
use std::f64::consts::TAU;

/// A heading alone, on a ring of cells: an exact filter and smoother sum over all of them.
const CELLS: usize = 90;
const SIDE: f64 = TAU / CELLS as f64;
/// A robot is carried off in a step with this probability.
const CARRIED: f64 = 0.05;
/// Turns; at the fourth nobody knows. At the sixth the robot was carried half around.
const TURNS: [Option<f64>; 9] =
    [Some(0.0), Some(0.4), Some(0.5), None, Some(0.3), Some(0.4), Some(0.3), Some(-0.2), Some(0.4)];
const LOOKS: [f64; 9] = [2.5, 2.9, -2.9, -2.0, -1.8, 1.6, 2.0, 1.7, 2.2];

fn middle(cell: usize) -> f64 {
    (cell as f64 + 0.5) * SIDE - TAU / 2.0
}

fn noise(turn: Option<f64>) -> f64 {
    if turn.is_some() { 0.25 } else { 1.8 }
}

/// Σ over whole turns, in 64 bits.
fn ring_normal(apart: f64, deviation: f64) -> f64 {
    let one = |k: i32| (-0.5 * ((apart + f64::from(k) * TAU) / deviation).powi(2)).exp();
    (-12..=12).map(one).sum::<f64>() / (deviation * TAU.sqrt())
}

/// Two directions look alike, one of them more so.
fn ring_likelihood(t: usize, heading: f64) -> f64 {
    0.02 + (4.0 * ((heading - LOOKS[t]).cos() - 1.0)).exp()
        + 0.5 * (4.0 * ((heading - LOOKS[t] - 2.4).cos() - 1.0)).exp()
}

struct Ring(Option<f64>);

impl Motion for Ring {
    fn propagate(&mut self, particles: &mut Particles, draws: &mut dyn Draws, memory: &mut Noise) -> bool {
        let z = memory.draw(1, particles.len(), draws);
        let (turn, deviation) = (self.0.unwrap_or(0.0) as f32, noise(self.0) as f32);
        let column = particles.columns_mut()[0].iter_mut().zip(&z[0]);
        column.for_each(|(x, z)| *x = crate::angles::wrapped(*x + turn + deviation * z));
        self.0.is_some()
    }
}

struct Look(usize);

impl Sensor for Look {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        let headings = particles.column(0).iter();
        log.iter_mut()
            .zip(headings)
            .for_each(|(log, x)| *log = ring_likelihood(self.0, f64::from(*x)).ln() as f32);
        Reading::Present
    }

    fn proposal(&mut self) -> Option<&mut dyn Proposal> {
        Some(self)
    }
}

impl Proposal for Look {
    fn log_evidence(&mut self, _: f32) -> f64 {
        ((0..CELLS).map(|cell| ring_likelihood(self.0, middle(cell))).sum::<f64>() / CELLS as f64).ln()
    }

    fn propose(&mut self, _: f32, count: usize, draws: &mut dyn Draws, particles: &mut Particles) {
        for _ in 0..count {
            // By rejection: no likelihood is above 1.52.
            let heading = loop {
                let x = (draws.uniform() - 0.5) * TAU;
                if draws.uniform() * 1.52 < ring_likelihood(self.0, x) {
                    break x;
                }
            };
            particles.push(&[heading as f32]);
        }
    }
}

/// Forwards and backwards over all cells.
fn exact_ring() -> Vec<[f64; CELLS]> {
    let step = |t: usize, from: usize, to: usize| {
        let turn = TURNS[t].unwrap_or(0.0);
        let stays = ring_normal(middle(to) - middle(from) - turn, noise(TURNS[t])) * SIDE;
        (1.0 - CARRIED) * stays + CARRIED / CELLS as f64
    };
    let mut all: Vec<[f64; CELLS]> = Vec::new();
    for t in 0..TURNS.len() {
        let before = |to: usize| match all.last() {
            None => 1.0,
            Some(last) => (0..CELLS).map(|from| last[from] * step(t, from, to)).sum(),
        };
        let joint: [f64; CELLS] = std::array::from_fn(|cell| before(cell) * ring_likelihood(t, middle(cell)));
        let sum: f64 = joint.iter().sum();
        all.push(joint.map(|x| x / sum));
    }
    let mut ahead = [1.0; CELLS];
    for t in (0..TURNS.len() - 1).rev() {
        let seen: [f64; CELLS] = std::array::from_fn(|to| ahead[to] * ring_likelihood(t + 1, middle(to)));
        ahead = std::array::from_fn(|from| (0..CELLS).map(|to| step(t + 1, from, to) * seen[to]).sum());
        let sum: f64 = (0..CELLS).map(|cell| all[t][cell] * ahead[cell]).sum();
        all[t] = std::array::from_fn(|cell| all[t][cell] * ahead[cell] / sum);
    }
    all
}

type Law = Carried<NormalDensity, fn(&[f32]) -> f64>;

fn ring_run(count: usize) -> (Vec<Belief>, Motions<Law>) {
    let space = Space::linear(1).with_angle(0);
    let filter = Filter {
        population: Population::fixed(count),
        // All that is probably elsewhere is injected at once: the filter is that of the mixture.
        recovery: Some(Recovery { kidnap_probability: CARRIED, most_injected: 1.0 }),
        ..Filter::bootstrap(count)
    };
    let (mut draws, mut workspace) = (Stream::new(7, 0), Workspace::new(space));
    let first = (0..count).map(|i| [((i as f64 + 0.5) / count as f64 * TAU - TAU / 2.0) as f32]);
    let mut state = FilterState::new(Belief::new(Particles::from_states(space, first)));
    let (mut beliefs, mut laws): (Vec<Belief>, Vec<Law>) = (Vec::new(), Vec::new());
    for (t, turn) in TURNS.into_iter().enumerate() {
        if let Some(belief) = beliefs.last() {
            let by = turn.unwrap_or(0.0) as f32;
            let reached = belief.particles.column(0).iter().map(|x| [x + by]);
            let motion = NormalDensity::new(Particles::from_states(space, reached), &[noise(turn)]);
            laws.push(Carried { motion, probability: CARRIED, log_elsewhere: |_| -TAU.ln() });
        }
        let moved: &mut dyn Motion = if t == 0 { &mut Still } else { &mut Ring(turn) };
        let never = Filter { recovery: None, ..filter.clone() };
        let own = if t == 0 { &never } else { &filter };
        own.step(&mut state, moved, &mut Look(t), &mut draws, &mut workspace);
        beliefs.push(state.belief.clone());
    }
    (beliefs, Motions(laws))
}

/// Total variation between a belief and the exact law, over twelve arcs of the ring.
fn apart(belief: &Belief, exact: &[f64; CELLS]) -> f64 {
    let mut arcs = [0.0; 12];
    let arc = |heading: f64| (((heading / TAU + 0.5) * 12.0) as usize).min(11);
    let column = belief.particles.column(0).iter().zip(belief.weights.linear());
    column.for_each(|(x, w)| arcs[arc(f64::from(*x))] += f64::from(*w));
    (0..CELLS).for_each(|cell| arcs[arc(middle(cell))] -= exact[cell]);
    0.5 * arcs.iter().map(|x| x.abs()).sum::<f64>()
}

/// Angles that wrap, a missing turn and a robot that is carried off: particles of the filter with recovery, smoothed, are the
/// exact smoother. 4000 particles, which count as 400 where many have ancestors in common, err by Σ √(p (1 - p) / 400) / 2 ≤ 0.083
/// on twelve arcs. Where the mixture is left out, the robot that was carried off has no past that it could have had.
#[test]
fn a_ring_with_kidnappings_is_smoothed_exactly() {
    let exact = exact_ring();
    let (beliefs, mut laws) = ring_run(4000);
    let drawn = backward_simulation(&beliefs, &mut laws, 2000, &mut Stream::new(8, 0));
    let worst = |drawn: &[Particles]| {
        let each = drawn.iter().zip(&exact).map(|(drawn, exact)| apart(&Belief::new(drawn.clone()), exact));
        each.fold(0.0, f64::max)
    };
    assert!(worst(&drawn) < 0.083, "{}", worst(&drawn));
    let filtered = beliefs.iter().zip(&exact).map(|(belief, exact)| apart(belief, exact)).fold(0.0, f64::max);
    assert!(filtered > 0.2, "what is known later matters: {filtered}");
    laws.0.iter_mut().for_each(|law| law.probability = 1e-12);
    let without = backward_simulation(&beliefs, &mut laws, 2000, &mut Stream::new(8, 0));
    assert!(worst(&without) > 0.12, "the mixture matters: {}", worst(&without));
    // Fewer, as all pairs are summed: 800 that count as 80 err by up to 0.19.
    let (few, mut laws) = ring_run(800);
    for ((belief, weights), exact) in few.iter().zip(smoothed_weights(&few, &mut laws)).zip(&exact) {
        let smoothed = Belief { particles: belief.particles.clone(), weights };
        assert!(apart(&smoothed, exact) < 0.19, "{}", apart(&smoothed, exact));
    }
}
