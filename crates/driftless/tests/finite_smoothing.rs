//! Smoothing on a chain of few states: against sums over all paths, and where something is impossible.

mod common;

use burn::module::Module;
use burn::tensor::{Bool, DType, Device, Tensor, TensorData};
use common::{f64s, filter, numbers};
use driftless::resample::Scheme;
use driftless::smooth::{Anchored, Marginals, Paths};
use driftless::{
    Belief, DrawSizes, Draws, Labels, LogWeights, Measurement, Phase, Prior, Rollout, Space, StateSpace,
    Transition,
};
use driftless_world::random::Random;

const STATES: usize = 4;
const STEPS: usize = 4;
/// From state 3 there is no way out, and none leads from 0 to 2.
const MOVES: [[f64; STATES]; STATES] =
    [[0.5, 0.3, 0.0, 0.2], [0.1, 0.2, 0.6, 0.1], [0.4, 0.1, 0.4, 0.1], [0.0, 0.0, 0.0, 1.0]];
const FIRST: [f64; STATES] = [0.4, 0.3, 0.2, 0.1];
/// The likelihood of each state at each step.
const SEEN: [[f64; STATES]; STEPS] =
    [[0.5, 0.3, 0.9, 0.1], [0.2, 0.8, 0.1, 0.3], [0.4, 0.4, 0.7, 0.2], [0.3, 0.6, 0.2, 0.1]];

/// Moves looked up in the matrix. Particles stay where they are: here only densities matter.
#[derive(Module, Debug)]
struct Moves {
    log: Tensor<1>,
}

impl Transition for Moves {
    fn sample(&self, parents: Tensor<3>, _: Tensor<2>, _: Tensor<3>) -> Tensor<3> {
        parents
    }

    fn log_density(&self, parents: Tensor<3>, states: Tensor<3>, _: Tensor<2>) -> Tensor<2> {
        let [batch, particles, _] = states.dims();
        let entry = (parents * STATES as f64 + states).reshape([batch * particles]);
        self.log.clone().select(0, entry.int()).reshape([batch, particles])
    }
}

/// Log-likelihoods looked up in a table of steps and states.
#[derive(Module, Debug)]
struct Seen {
    log: Tensor<1>,
}

impl Measurement for Seen {
    type Observations = ();
    type Cues = ();

    fn encode(&self, (): &(), _: Phase) {}

    fn log_likelihood(&self, (): &(), t: usize, states: Tensor<3>) -> Tensor<2> {
        let [batch, particles, _] = states.dims();
        let entry = (states + (t * STATES) as f64).reshape([batch * particles]);
        self.log.clone().select(0, entry.int()).reshape([batch, particles])
    }
}

type Finite = StateSpace<Moves, Seen>;

fn model(seen: [[f64; STATES]; STEPS]) -> Finite {
    let log = |table: &[f64]| {
        f64s::<1>(TensorData::new(table.iter().map(|p| p.ln()).collect::<Vec<_>>(), [table.len()]))
    };
    StateSpace {
        transition: Moves { log: log(&MOVES.concat()) },
        measurement: Seen { log: log(&seen.concat()) },
    }
}

/// One particle in each state, with the exact filtering probabilities.
fn exact_rollout() -> Rollout<Finite> {
    let mut belief = FIRST;
    let mut beliefs = Vec::new();
    for (t, seen) in SEEN.iter().enumerate() {
        if t > 0 {
            belief = std::array::from_fn(|j| (0..STATES).map(|i| belief[i] * MOVES[i][j]).sum());
        }
        belief = std::array::from_fn(|i| belief[i] * seen[i]);
        let weights = LogWeights::normalised(f64s([belief.map(f64::ln)]));
        beliefs.push(Belief { states: f64s([[[0.0], [1.0], [2.0], [3.0]]]), weights });
    }
    Rollout { space: Space::LINEAR, cues: (), beliefs, infos: Vec::new(), phase: Phase::Evaluation }
}

/// The probability of each path given everything seen, by brute force; path k has digits in base 4.
fn all_paths() -> Vec<f64> {
    let digits =
        |path: usize| -> [usize; STEPS] { std::array::from_fn(|t| path / STATES.pow(t as u32) % STATES) };
    let joint = |path: usize| {
        let states = digits(path);
        let moves: f64 = states.windows(2).map(|pair| MOVES[pair[0]][pair[1]]).product();
        let seen: f64 = states.iter().zip(SEEN).map(|(&state, seen)| seen[state]).product();
        FIRST[states[0]] * moves * seen
    };
    let joints: Vec<f64> = (0..STATES.pow(STEPS as u32)).map(joint).collect();
    let total: f64 = joints.iter().sum();
    joints.into_iter().map(|joint| joint / total).collect()
}

fn no_actions(batch: usize) -> Tensor<3> {
    f64s::<3>([[[0.0]; STEPS]]).expand([batch, STEPS, 1])
}

#[test]
fn marginals_are_sums_over_all_paths() {
    let found = Marginals::of(&model(SEEN), &exact_rollout(), &no_actions(1));
    for (t, belief) in found.beliefs.iter().enumerate() {
        let mut exact = [0.0; STATES];
        for (path, probability) in all_paths().into_iter().enumerate() {
            exact[path / STATES.pow(t as u32) % STATES] += probability;
        }
        for (found, exact) in numbers(&belief.weights.exp()).into_iter().zip(exact) {
            assert!((found - exact).abs() < 1e-12, "step {t}: {found} is not {exact}");
        }
    }
    assert_eq!(numbers(&found.unexplained), [0.0; STEPS]);
}

/// Of 256 paths each is drawn as often as it should be, within 5 standard errors.
#[test]
fn paths_are_drawn_by_their_joint_probability() {
    let (mut random, count) = (Random::new(8), 40_000);
    let uniforms: Vec<f64> = (0..count * STEPS).map(|_| random.unit()).collect();
    let paths = Paths::draw(&model(SEEN), &exact_rollout(), &no_actions(1), &uniforms);
    let mut counts = vec![0.0; STATES.pow(STEPS as u32)];
    for path in numbers(&paths.states).chunks_exact(STEPS) {
        counts[path.iter().rev().fold(0, |code, &state| code * STATES + state as usize)] += 1.0;
    }
    for (path, (found, exact)) in counts.iter().zip(all_paths()).enumerate() {
        let (found, error) = (found / count as f64, (exact * (1.0 - exact) / count as f64).sqrt());
        assert!((found - exact).abs() <= 5.0 * error, "path {path}: {found}, not {exact} ± {error}");
    }
}

/// Labels of one sequence.
fn labels(told: [Option<f64>; STEPS]) -> Labels {
    let states = told.map(|told| [told.unwrap_or(f64::NAN)]);
    let known = Tensor::<2, Bool>::from_data([told.map(|told| told.is_some())], &Device::flex().autodiff());
    Labels::new(f64s([states]), known)
}

/// Runs 12 particles that cannot move, told labels.
fn run(model: &Finite, labels: &Labels) -> Rollout<Finite> {
    let filter = filter(Scheme::Systematic);
    let sizes = DrawSizes { batch: 1, steps: STEPS, particles: 12, state: 1, noise: 1, uniforms: 1 };
    let mut draws = Draws::new(sizes, 1, &Device::flex().autodiff(), DType::F64);
    // Three particles in each of the four states.
    draws.uniform_start =
        draws.uniform_start.floor() + f64s::<3>([std::array::from_fn::<_, 12, _>(|i| [(i / 3) as f64])]);
    let prior = Prior::Uniform { low: vec![0.0], high: vec![1.0] };
    Anchored::exact(&filter, labels).run(model, &prior, &(), &no_actions(1), &draws)
}

fn assert_finite(model: &Finite, rollout: &Rollout<Finite>) -> (Vec<f64>, i64) {
    let marginals = Marginals::of(model, rollout, &no_actions(1));
    let mut random = Random::new(8);
    let uniforms: Vec<f64> = (0..20 * STEPS).map(|_| random.unit()).collect();
    let paths = Paths::draw(model, rollout, &no_actions(1), &uniforms);
    for (mean, covariance) in [marginals.moments(), paths.moments()] {
        assert!(numbers(&mean).iter().chain(&numbers(&covariance)).all(|value| value.is_finite()));
    }
    assert!(numbers(&rollout.log_evidence()).iter().all(|log| log.is_finite()));
    (numbers(&marginals.unexplained), paths.broken.sum().try_to_vec_as::<i64>().unwrap()[0])
}

fn collapsed(rollout: &Rollout<Finite>) -> Vec<i64> {
    rollout.infos.iter().flat_map(|info| info.collapsed.try_to_vec_as::<i64>().unwrap()).collect()
}

/// At the label 3 at step 1, nothing leads on to the label 2 at step 2: believed and reported.
#[test]
fn labels_out_of_reach_are_believed_and_reported() {
    let model = model(SEEN);
    let rollout = run(&model, &labels([None, Some(3.0), Some(2.0), None]));
    assert_eq!(collapsed(&rollout), [0, 0, 1, 0]);
    assert_eq!(numbers(&rollout.beliefs[1].states), [3.0; 12]);
    assert_eq!(numbers(&rollout.beliefs[2].states), [2.0; 12]);
    let (unexplained, broken) = assert_finite(&model, &rollout);
    assert!((unexplained[1] - 1.0).abs() < 1e-12, "{unexplained:?}");
    assert_eq!([unexplained[0], unexplained[2], unexplained[3]], [0.0; 3]);
    assert_eq!(broken, 20, "each of 20 paths breaks once");
}

/// A step at which nothing is likely leaves the word of its label, and all others, as they are.
#[test]
fn impossible_observations_are_passed_over() {
    let mut seen = SEEN;
    seen[1] = [0.0; STATES];
    let told = labels([None, Some(1.0), None, None]);
    let blind = run(&model(seen), &told);
    assert_eq!(collapsed(&blind), [0, 1, 0, 0]);
    seen[1] = [1.0; STATES];
    let even = run(&model(seen), &told);
    for (blind, even) in blind.beliefs.iter().zip(&even.beliefs) {
        assert_eq!(numbers(&blind.weights.exp()), numbers(&even.weights.exp()));
    }
    assert_eq!(assert_finite(&model(seen), &blind), (vec![0.0; STEPS], 0));
}
