//! One contract for all filter steps: the core's, the differentiable one on tensors, and the fused scan of the kernels.
//!
//! All are given the same particles, actions, observations and draws, and must come to the same beliefs, evidence,
//! ancestors and collapses. The core's steps and the scan are read from the same kind of trace, on which the losses of
//! `methods/trace_loss.rs` are written once; their gradients are compared with tensors, differences and PyTorch beside
//! the methods that they train (`methods/sdpf/fused/tests.rs`, `methods/house/objective/tests.rs`, `methods/house/twin.rs`).

use crate::Draws;
use crate::belief::Belief;
use crate::draws::DrawSizes;
use crate::dropout::Phase;
use crate::filter::Filter;
use crate::model::{FeatureMatch, GaussianMotion, GivenOdometry, Measurement, StateSpace};
use crate::nets::{ConvPlan, ImageEncoder, PoseEncoder, StateFeatures};
use crate::ops::Matched;
use crate::parameters::Init;
use crate::resample::{Scheme, Truncate};
use crate::space::Space;
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless_core::motion::{HeadingNoise, Odometry, Still};
use driftless_core::{FilterState, IMPOSSIBLE, Particles, Reading, Replay, Sensor, Workspace};
use driftless_kernels::Cpu;
use driftless_kernels::scan::{First, Motion, Sequence, Trace};
use driftless_kernels::training::{Lesson, Path};
use driftless_world::pose::{Frame, wrap};
use driftless_world::random::Random;

type Model = StateSpace<GaussianMotion<GivenOdometry>, FeatureMatch<ImageEncoder, PoseEncoder>>;

const NOISE: [f64; 3] = [20.0, 20.0, 0.5];
const IMAGE: [usize; 3] = [3, 9, 8];

/// What all twins are given: one sequence.
struct Case {
    model: Model,
    first: Vec<[f32; 3]>,
    actions: Vec<[f32; 3]>,
    /// Of which that of one step may be lost.
    images: Vec<f32>,
    draws: Draws,
}

/// What they come to, step after step.
#[derive(Default)]
struct Outcome {
    poses: Vec<Vec<[f32; 3]>>,
    weights: Vec<Vec<f32>>,
    ancestors: Vec<Vec<u32>>,
    log_evidence: Vec<f64>,
    collapsed: Vec<bool>,
}

impl Outcome {
    /// As a trace tells it.
    fn of(trace: &Trace, count: usize, log_evidence: Vec<f64>) -> Self {
        let weighed: Vec<bool> = trace.collapsed.iter().map(|collapsed| !collapsed).collect();
        assert_eq!((&trace.weighed[1..], trace.weighed[0]), (&weighed[1..], false), "all but the first");
        assert!(trace.resampled[1..].iter().all(|&resampled| resampled) && !trace.resampled[0]);
        let of_step = |t: usize| t * count..(t + 1) * count;
        let poses = |t: usize| of_step(t).map(|i| [0, 1, 2].map(|k| trace.poses[k][i])).collect();
        Self {
            poses: (0..trace.len()).map(poses).collect(),
            weights: trace.weights.chunks(count).map(<[f32]>::to_vec).collect(),
            ancestors: trace.ancestors.chunks(count).map(<[u32]>::to_vec).collect(),
            log_evidence,
            collapsed: trace.collapsed.clone(),
        }
    }
}

fn tensor<const D: usize>(numbers: Vec<f32>, shape: [usize; D]) -> Tensor<D> {
    Tensor::from_data(TensorData::new(numbers, shape), (&Device::flex(), DType::F32))
}

fn numbers<const D: usize>(tensor: &Tensor<D>) -> Vec<f32> {
    tensor.try_to_vec_as::<f32>().unwrap()
}

fn triples(numbers: &[f32]) -> Vec<[f32; 3]> {
    numbers.chunks_exact(3).map(|x| [x[0], x[1], x[2]]).collect()
}

impl Case {
    fn new(particles: usize, steps: usize, lost: Option<usize>, seed: u64) -> Self {
        let (device, mut random) = (Device::flex(), Random::new(seed));
        let mut init = Init::new(seed, &device, DType::F32);
        let plan = ConvPlan { keep: 1.0, ..ConvPlan::released(IMAGE) };
        let features = StateFeatures::new(Space::SE2, vec![50.0, 20.0, 0.0], vec![80.0, 80.0, 1.0]);
        let state = PoseEncoder::new(features, &PoseEncoder::RELEASED, &mut init);
        let measurement = FeatureMatch::new(ImageEncoder::new(plan, &mut init), state);
        let transition = GaussianMotion::new(GivenOdometry::default(), NOISE.to_vec(), Space::SE2);
        let mut pose = |_| [100.0, 60.0, 3.0].map(|x| (x * random.normal()) as f32);
        let first = (0..particles).map(&mut pose).collect();
        let actions = (0..steps).map(&mut pose).collect();
        let size = IMAGE.iter().product::<usize>();
        let mut images: Vec<f32> = (0..steps * size).map(|_| random.normal() as f32).collect();
        if let Some(t) = lost {
            images[t * size + 5] = f32::NAN;
        }
        let sizes = DrawSizes { batch: 1, steps, particles, state: 3, noise: 3, uniforms: 1 };
        let draws = Draws::new(sizes, seed, &device, DType::F32);
        Self { model: StateSpace { transition, measurement }, first, actions, images, draws }
    }

    fn steps(&self) -> usize {
        self.actions.len()
    }

    fn cues(&self) -> Tensor<3> {
        let images = tensor(self.images.clone(), [1, self.steps(), IMAGE[0], IMAGE[1], IMAGE[2]]);
        self.model.measurement.encode(&images, Phase::Evaluation)
    }

    /// Standard normal numbers of a step, a row for each particle.
    fn noise(&self, t: usize) -> Vec<[f32; 3]> {
        triples(&numbers(&self.draws.steps[t].noise))
    }
}

/// The differentiable step.
fn tensors(case: &Case) -> Outcome {
    let filter = Filter::new(Space::SE2, Truncate(Box::new(Scheme::Systematic)));
    let count = case.first.len();
    let prior = Belief::uniform(tensor(case.first.concat(), [1, count, 3]));
    let actions = tensor(case.actions.concat(), [1, case.steps(), 3]);
    let rollout = filter.rollout(&case.model, prior, case.cues(), &actions, &case.draws);
    let mut outcome = Outcome::default();
    for (belief, info) in rollout.beliefs.iter().zip(&rollout.infos) {
        outcome.poses.push(triples(&numbers(&belief.states)));
        outcome.weights.push(numbers(&belief.weights.exp()));
        let ancestors = info.ancestors.try_to_vec_as::<i64>().unwrap();
        outcome.ancestors.push(ancestors.iter().map(|&i| i as u32).collect());
        outcome.log_evidence.push(info.log_evidence.try_to_vec_as::<f64>().unwrap()[0]);
        outcome.collapsed.push(info.collapsed.try_to_vec_as::<i64>().unwrap()[0] == 1);
    }
    outcome
}

/// The tensors' measurement as a sensor.
struct Measured<'a> {
    case: &'a Case,
    cues: &'a Tensor<3>,
    t: usize,
}

impl Sensor for Measured<'_> {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        if self.t == 0 {
            return Reading::Missing;
        }
        let states = (0..particles.len()).flat_map(|i| particles.state(i)).collect();
        let states = tensor(states, [1, particles.len(), 3]);
        log.copy_from_slice(&numbers(&self.case.model.measurement.log_likelihood(self.cues, self.t, states)));
        Reading::Present
    }
}

/// The core's step.
fn core(case: &Case) -> Outcome {
    let count = case.first.len();
    let filter = driftless_core::Filter { resample_below: 2.0, ..driftless_core::Filter::bootstrap(count) };
    let [rest, missing] = [[NOISE[0] as f32, NOISE[2] as f32]; 2];
    let odometry = Odometry {
        frame: Frame::Reflected,
        rest,
        share: [0.0; 2],
        scale: 0.0,
        heading_noise: HeadingNoise::After,
        missing,
    };
    let (space, cues) = (driftless_core::Space::SE2, case.cues());
    let first = driftless_core::Belief::new(Particles::from_states(space, &case.first));
    let (mut state, mut workspace) = (FilterState::new(first), Workspace::new(space));
    let (mut trace, mut log_evidence) = (Trace::default(), Vec::new());
    // The first step is the prior: nothing is resampled, moved or read.
    let stays = driftless_core::Filter { resample_below: 0.0, ..filter.clone() };
    for t in 0..case.steps() {
        let noise = case.noise(t);
        let normals = (0..3).flat_map(|k| noise.iter().map(move |z| z[k])).collect();
        let mut draws = Replay { uniforms: [case.draws.steps[t].uniforms[0]].into(), normals };
        let (mut driven, mut sensor) =
            (odometry.by(Some(case.actions[t])), Measured { case, cues: &cues, t });
        let (filter, motion): (_, &mut dyn driftless_core::Motion) =
            if t == 0 { (&stays, &mut Still) } else { (&filter, &mut driven) };
        let report = filter.step(&mut state, motion, &mut sensor, &mut draws, &mut workspace);
        trace.push(&state, &workspace, &report);
        log_evidence.push(report.log_evidence);
    }
    Outcome::of(&trace, count, log_evidence)
}

/// The kernels' scan.
fn fused(case: &Case) -> Outcome {
    let nets = Matched { measurement: ("measurement", &case.model.measurement), decoder: None }.networks();
    let noise: Vec<[f32; 3]> = (0..case.steps()).flat_map(|t| case.noise(t)).collect();
    let offsets: Vec<f32> = case.draws.steps.iter().map(|draw| draw.uniforms[0] as f32).collect();
    let (first, actions) = (&case.first[..], &case.actions[..]);
    let sequence = Sequence { first, actions, noise: &noise, offsets: &offsets, seen: &[] };
    let path = Path { motion: Motion { side: -1.0, noise: NOISE.map(|x| x as f32) }, first: First::Stays };
    let lesson = Lesson { images: &case.images, masks: None, sequence };
    let trace = nets.follow(Cpu::best(), &path, &[lesson]).remove(0);
    let count = case.first.len();
    let log_evidence = trace.log_likelihoods.chunks(count).enumerate().map(|(t, logs)| {
        let likelihood: f64 = logs.iter().map(|&log| f64::from(log).exp()).sum();
        let evidence = if trace.collapsed[t] { IMPOSSIBLE } else { (likelihood / count as f64).ln() };
        if t == 0 { 0.0 } else { evidence }
    });
    Outcome::of(&trace, count, log_evidence.collect())
}

/// Sums and cosines of 32 bits in another order, over a dozen layers and some steps.
fn agree(name: &str, found: &Outcome, expected: &Outcome) {
    for t in 0..expected.poses.len() {
        assert_eq!(found.ancestors[t], expected.ancestors[t], "{name}: ancestors of step {t}");
        assert_eq!(found.collapsed[t], expected.collapsed[t], "{name}: step {t}");
        for (a, b) in found.poses[t].iter().zip(&expected.poses[t]) {
            let turn = wrap(f64::from(a[2]) - f64::from(b[2])).abs();
            assert!(
                (a[0] - b[0]).abs() < 0.01 && (a[1] - b[1]).abs() < 0.01 && turn < 1e-4,
                "{name}: {a:?} {b:?}"
            );
        }
        for (a, b) in found.weights[t].iter().zip(&expected.weights[t]) {
            assert!((a - b).abs() < 1e-3 * b + 1e-6, "{name}: weights {a} {b} of step {t}");
        }
        let (a, b) = (found.log_evidence[t], expected.log_evidence[t]);
        assert!((a - b).abs() <= 1e-3 * (1.0 + 1e-3 * b.abs()), "{name}: evidence {a} {b} of step {t}");
    }
}

/// One test for each twin, against the differentiable step.
macro_rules! twins {
    ($($twin:ident),*) => {$(
        #[test]
        fn $twin() {
            for (particles, steps, lost, seed) in [(1, 3, None, 1), (30, 8, None, 2), (50, 6, Some(3), 3)] {
                let case = Case::new(particles, steps, lost, seed);
                let expected = tensors(&case);
                let collapses: Vec<usize> = (0..steps).filter(|&t| expected.collapsed[t]).collect();
                assert_eq!(collapses, lost.into_iter().collect::<Vec<_>>(), "the case has what it says");
                agree(stringify!($twin), &super::$twin(&case), &expected);
            }
        }
    )*};
}

mod same_draws_same_beliefs {
    use super::*;
    twins!(core, fused);
}
