//! Proposed particles: their share of the mass, their records, and that they find what was lost.

use crate::common::{LinearGaussian, Problem, f64s, numbers};
use burn::module::Module;
use burn::tensor::{DType, Device, Tensor};
use driftless::model::{Proposer, WithProposer};
use driftless::objective::{BlockStart, Genealogy, PseudoLikelihood};
use driftless::resample::{Bandwidth, Diffusion, KernelMixture};
use driftless::resample::{OptimalTransport, Resampler, Scheme, Soft, StopGradient, Truncate, WhenBelow};
use driftless::{
    Batch, DrawSizes, Draws, Filter, Injection, Labels, Model, Objective, Prior, Rollout, Space,
};
use std::f64::consts::TAU;

/// Proposes what is seen, a little beside it, each particle elsewhere.
#[derive(Module, Debug, Default)]
struct Candid {}

impl Proposer<Tensor<3>> for Candid {
    fn propose(&self, cues: &Tensor<3>, t: usize, count: usize, seed: u64) -> Tensor<3> {
        let seen = cues.clone().slice_dim(1, t..t + 1);
        let beside: Vec<f64> = (0..count).map(|i| 0.01 * (i as f64 + (seed % 7) as f64)).collect();
        seen + f64s::<1>(beside.as_slice()).reshape([1, count, 1])
    }
}

type Candour = WithProposer<LinearGaussian, Candid>;

const STEPS: usize = 6;
const PARTICLES: usize = 10;

fn model() -> Candour {
    WithProposer { model: Problem::golden_a().model(0.0), proposer: Candid::default() }
}

fn draws() -> Draws {
    let sizes = DrawSizes {
        batch: 2,
        steps: STEPS,
        particles: PARTICLES,
        state: 1,
        noise: 1,
        uniforms: 20 * PARTICLES,
    };
    Draws::new(sizes, 31, &Device::flex().autodiff(), DType::F64)
}

fn observations() -> Tensor<3> {
    f64s([[[0.5], [-0.3], [0.8], [1.2], [0.1], [0.4]], [[0.1], [0.2], [0.3], [-0.4], [0.5], [0.6]]])
}

fn actions() -> Tensor<3> {
    f64s([[[0.0]; STEPS]; 2])
}

fn run<M: Model>(model: &M, filter: &Filter, prior: f64) -> Rollout<M>
where
    M::Measurement: driftless::Measurement<Observations = Tensor<3>>,
{
    let prior = Prior::Normal { mean: vec![prior], std: vec![0.1] };
    filter.run(model, &prior, &observations(), &actions(), &draws())
}

/// N = 10, γ = 0.7: 7, 5, 3, 2, 2 proposed at steps 1 to 5, whatever the resampler.
#[test]
fn groups_have_their_mass() {
    let resamplers: Vec<Box<dyn Resampler>> = vec![
        Box::new(Scheme::Multinomial),
        Box::new(Scheme::Stratified),
        Box::new(Scheme::Residual),
        Box::new(Soft::new(0.5, Scheme::Residual)),
        Box::new(StopGradient(Scheme::Stratified)),
        Box::new(Truncate(Box::new(Scheme::Multinomial))),
        Box::new(WhenBelow { fraction: 0.5, inner: Box::new(Scheme::Stratified) }),
        Box::new(OptimalTransport::new(Space::LINEAR, 0.5)),
        Box::new(KernelMixture::new(Space::LINEAR, Bandwidth::NormalReference, Scheme::Systematic)),
        Box::new(Diffusion::new(Space::LINEAR)),
    ];
    for resampler in resamplers {
        let name = format!("{resampler:?}");
        let filter = Filter::new(Space::LINEAR, resampler).injecting(Injection::new(0.7));
        let rollout = run(&model(), &filter, 0.0);
        let proposed: Vec<usize> = rollout.infos.iter().map(|info| info.proposed).collect();
        assert_eq!(proposed, [0, 7, 5, 3, 2, 2], "{name}");
        for (belief, info) in rollout.beliefs.iter().zip(&rollout.infos) {
            let kept = PARTICLES - info.proposed;
            for weights in numbers(&belief.weights.exp()).chunks_exact(PARTICLES) {
                let (moved, proposed) = weights.split_at(kept);
                assert!((moved.iter().sum::<f64>() - kept as f64 / 10.0).abs() < 1e-12, "{name}");
                assert!(proposed.iter().all(|weight| (weight - 0.1).abs() < 1e-12), "{name}");
            }
            assert_eq!(numbers(&info.log_likelihood).len(), 2 * PARTICLES);
            assert_eq!(info.ancestors.dims(), [2, PARTICLES]);
        }
    }
}

/// All first particles are proposed, where the schedule exists and the model can.
#[test]
fn the_start_is_proposed() {
    let first = |rollout: &[f64]| rollout[..PARTICLES].iter().fold(0.0_f64, |most, s| most.max(s.abs()));
    let plain = Filter::new(Space::LINEAR, Scheme::Stratified);
    let only_first = Filter::new(Space::LINEAR, Scheme::Stratified).injecting(Injection::new(0.0));
    let states = |rollout: &Rollout<Candour>| numbers(&rollout.beliefs[0].states);
    assert!(first(&states(&run(&model(), &plain, 100.0))) > 90.0);
    let proposed = run(&model(), &only_first, 100.0);
    assert!(first(&states(&proposed)) < 1.0);
    assert!(proposed.infos.iter().all(|info| info.proposed == 0), "γ = 0 proposes at the start alone");
    let unable = run(&Problem::golden_a().model(0.0), &only_first, 100.0);
    assert!(first(&numbers(&unable.beliefs[0].states)) > 90.0);
}

/// A belief a hundred standard deviations away: a filter that proposes is back at once; one that
/// does not crawls by the size of its noise.
#[test]
fn proposals_find_what_was_lost() {
    let lost = |filter: &Filter| {
        let prior = Prior::Normal { mean: vec![100.0], std: vec![0.1] }.sample(&draws());
        let rollout = filter.rollout(&model(), prior, observations(), &actions(), &draws());
        let estimates = numbers(&rollout.estimates());
        (estimates[STEPS - 1] - 0.4).abs()
    };
    let plain = Filter::new(Space::LINEAR, Scheme::Stratified);
    let injecting = Filter::new(Space::LINEAR, Scheme::Stratified).injecting(Injection::new(0.7));
    assert!(lost(&plain) > 40.0, "{}", lost(&plain));
    // Two of ten particles of the last step stand at the observation plus at most 0.17, the others
    // within the filter's own error.
    assert!(lost(&injecting) < 1.5, "{}", lost(&injecting));
}

/// A rollout as plain numbers, [step][sequence · N + particle].
struct Plain {
    states: Vec<Vec<f64>>,
    weights: Vec<Vec<f64>>,
    log_likelihoods: Vec<Vec<f64>>,
    ancestors: Vec<Vec<i64>>,
    proposed: Vec<usize>,
}

impl Plain {
    fn new(rollout: &Rollout<Candour>) -> Self {
        let Rollout { beliefs, infos, .. } = rollout;
        Self {
            states: beliefs.iter().map(|belief| numbers(&belief.states)).collect(),
            weights: beliefs.iter().map(|belief| numbers(&belief.weights.exp())).collect(),
            log_likelihoods: infos.iter().map(|info| numbers(&info.log_likelihood)).collect(),
            ancestors: infos.iter().map(|info| info.ancestors.try_to_vec_as::<i64>().unwrap()).collect(),
            proposed: infos.iter().map(|info| info.proposed).collect(),
        }
    }

    /// Who particle i of step t was at the step before, unless it was proposed.
    fn parent(&self, t: usize, i: usize) -> Option<usize> {
        let proposed = i % PARTICLES >= PARTICLES - self.proposed[t];
        (!proposed).then(|| i / PARTICLES * PARTICLES + self.ancestors[t][i] as usize)
    }

    /// log η of the line that ends with particle i of step `end` and starts at the earliest with
    /// `start`; the first state has log-density -0.7.
    fn log_eta(&self, start: usize, end: usize, i: usize) -> f64 {
        let likelihood = self.log_likelihoods[end][i];
        match self.parent(end, i) {
            Some(parent) if end > start => {
                let noise = self.states[end][i] - 0.9 * self.states[end - 1][parent];
                let moved = -0.5 * (noise * noise / 0.2 + (TAU * 0.2).ln());
                self.log_eta(start, end - 1, parent) + moved + likelihood
            }
            _ => likelihood - 0.7,
        }
    }

    /// Q̂ of two blocks of three.
    fn pseudo_likelihood(&self, genealogy: Genealogy) -> f64 {
        let mut sum = 0.0;
        for (end, i) in [2, 5].into_iter().flat_map(|end| (0..2 * PARTICLES).map(move |i| (end, i))) {
            let tail = if genealogy == Genealogy::Final { STEPS - 1 } else { end };
            let line = (end + 1..=tail).rev().try_fold(i, |i, t| self.parent(t, i));
            sum += line.map_or(0.0, |i| self.weights[end][i] * self.log_eta(end - 2, end, i));
        }
        sum / 4.0
    }
}

/// Sums along lines against lines walked by hand; those of the proposed end with them.
#[test]
fn lines_start_with_the_proposed() {
    let filter = Filter::new(Space::LINEAR, Scheme::Stratified).injecting(Injection::new(0.7));
    let rollout = run(&model(), &filter, 0.0);
    let plain = Plain::new(&rollout);
    let found = numbers(&rollout.sum_along_paths(1..STEPS, |t| rollout.infos[t].log_likelihood.clone()));
    for (i, found) in found.iter().enumerate() {
        let (mut line, mut sum) = (Some(i), 0.0);
        for t in (1..STEPS).rev() {
            sum += line.map_or(0.0, |i| plain.log_likelihoods[t][i]);
            line = line.and_then(|i| plain.parent(t, i));
        }
        assert!((found - sum).abs() < 1e-10, "{i}: {found} is not {sum}");
    }
}

/// The same for the whole objective, for both genealogies.
#[test]
fn pseudo_likelihood_starts_with_the_proposed() {
    let filter = Filter::new(Space::LINEAR, Scheme::Stratified).injecting(Injection::new(0.7));
    let rollout = run(&model(), &filter, 0.0);
    let hidden = Tensor::from_data([[false; STEPS]; 2], &Device::flex().autodiff());
    let labels = Labels::new(observations(), hidden);
    let batch = Batch { observations: observations(), actions: actions(), labels };
    for genealogy in [Genealogy::BlockEnd, Genealogy::Final] {
        let start = BlockStart::Flat(-0.7);
        let anywhere = Prior::Uniform { low: vec![-1.0], high: vec![1.0] };
        let objective = PseudoLikelihood { genealogy, start, ..PseudoLikelihood::paper(3, anywhere) };
        let expected = -Plain::new(&rollout).pseudo_likelihood(genealogy);
        let found = numbers(&objective.loss(&model(), &rollout, &batch))[0];
        assert!((found - expected).abs() < 1e-10, "{genealogy:?}: {found} is not {expected}");
    }
}
