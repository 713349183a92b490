//! Losses of small rollouts against the same numbers computed plainly, from stored particles.

use crate::common::{LinearGaussian, Problem, Runs, f64s, filter, numbers};
use burn::tensor::{Device, Tensor};
use driftless::objective::{
    BlockStart, Evidence, Genealogy, KernelDensity, Likelihoods, PseudoLikelihood, SquaredError, WeightedSum,
};
use driftless::resample::{Scheme, WhenBelow};
use driftless::{Batch, LabelMean, Labels, Objective, Prior, Rollout};
use std::f64::consts::TAU;

const RUNS: Runs = Runs { count: 2, particles: 6, seed: 12 };

fn rollout(shift: f64) -> Rollout<LinearGaussian> {
    rollout_of(&Problem::golden_a(), shift)
}

fn rollout_of(problem: &Problem, shift: f64) -> Rollout<LinearGaussian> {
    problem.run(
        &problem.model(shift),
        &filter(WhenBelow { fraction: 0.9, inner: Box::new(Scheme::Systematic) }),
        RUNS,
    )
}

/// True states at two steps of the first sequence and one of the second; NaN where hidden.
fn batch() -> Batch<Tensor<3>> {
    let nan = f64::NAN;
    let states = [[0.3, nan, nan, 0.9, nan], [nan, nan, 0.4, nan, nan]];
    let known = states.map(|row| row.map(|state: f64| !state.is_nan()));
    let labels = Labels::new(
        f64s(states.map(|row| row.map(|state| [state]))),
        Tensor::from_data(known, &Device::flex().autodiff()),
    );
    Batch { observations: f64s([[[0.0]; 5]; 2]), actions: f64s([[[0.0]; 5]; 2]), labels }
}

fn loss(objective: &impl Objective<LinearGaussian>, shift: f64) -> f64 {
    numbers(&objective.loss(&Problem::golden_a().model(shift), &rollout(shift), &batch()))[0]
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-10, "{found} is not {expected}");
}

/// A rollout as plain numbers: [step][sequence · 6 + particle].
struct Plain {
    states: Vec<Vec<f64>>,
    weights: Vec<Vec<f64>>,
    log_likelihoods: Vec<Vec<f64>>,
    ancestors: Vec<Vec<i64>>,
}

impl Plain {
    fn new() -> Self {
        Self::of(&rollout(0.0))
    }

    fn of(Rollout { beliefs, infos, .. }: &Rollout<LinearGaussian>) -> Self {
        Self {
            states: beliefs.iter().map(|belief| numbers(&belief.states)).collect(),
            weights: beliefs.iter().map(|belief| numbers(&belief.weights.exp())).collect(),
            log_likelihoods: infos.iter().map(|info| numbers(&info.log_likelihood)).collect(),
            ancestors: infos.iter().map(|info| info.ancestors.try_to_vec_as::<i64>().unwrap()).collect(),
        }
    }

    /// Where particle `i` at step `tail` was at each step up to then.
    fn line(&self, i: usize, tail: usize) -> Vec<usize> {
        let mut line = vec![i];
        for t in (1..=tail).rev() {
            let last = line[line.len() - 1];
            line.push(last / 6 * 6 + self.ancestors[t][last] as usize);
        }
        line.reverse();
        line
    }

    /// What l is taken to be at step t.
    fn log_likelihood(&self, of: &PseudoLikelihood, t: usize, i: usize) -> f64 {
        let row = i / 6 * 6..i / 6 * 6 + 6;
        match of.likelihoods {
            _ if t == 0 && !of.first_likelihood => -(6.0_f64.ln()),
            Likelihoods::Released if t < 4 => self.weights[t][i].ln(),
            _ if self.log_likelihoods[t][i].is_nan() => -100.0,
            Likelihoods::Normalised => {
                let sum: f64 = self.log_likelihoods[t][row].iter().map(|log| log.exp()).sum();
                self.log_likelihoods[t][i] - sum.ln()
            }
            _ => self.log_likelihoods[t][i],
        }
    }

    /// Q̂ by walking each line, for problem A: two sequences of five steps.
    fn pseudo_likelihood(&self, of: &PseudoLikelihood) -> f64 {
        let normal = |x: f64, variance: f64| -0.5 * (x * x / variance + (TAU * variance).ln());
        let mut sum = 0.0;
        let blocks = 5 / of.block;
        for (b, i) in (0..blocks).flat_map(|b| (0..12).map(move |i| (b, i))) {
            let (start, end) = (b * of.block, (b + 1) * of.block - 1);
            let tail = if of.genealogy == Genealogy::Final { 4 } else { end };
            let line = self.line(i, tail);
            let mut log_eta = 0.0;
            for t in start..=end {
                let here = self.states[t][line[t]];
                let moved = || normal(here - 0.9 * self.states[t - 1][line[t - 1]], 0.2);
                log_eta += self.log_likelihood(of, t, line[t]);
                log_eta += match of.start {
                    _ if t > start => moved(),
                    BlockStart::Prior(_) => normal(here, 4.0),
                    BlockStart::Carried(_) if t > 0 => moved(),
                    BlockStart::Flat(log) | BlockStart::Carried(log) => log,
                };
            }
            sum += self.weights[end][line[end]] * log_eta;
        }
        sum / (2 * blocks) as f64
    }
}

/// Every switch against lines walked by hand. Five steps hold two blocks of two, and the last is
/// left over; a block of five reaches it, where the authors' code has the likelihood itself.
#[test]
fn pseudo_likelihood_follows_ancestral_lines() {
    let prior = Prior::Normal { mean: vec![0.0], std: vec![2.0] };
    let paper = PseudoLikelihood::paper(2, prior);
    let released = PseudoLikelihood::released(2, -1.3);
    let plain = Plain::new();
    for objective in [
        PseudoLikelihood {
            likelihoods: Likelihoods::Normalised,
            start: BlockStart::Flat(-0.7),
            ..paper.clone()
        },
        PseudoLikelihood { likelihoods: Likelihoods::Literal, first_likelihood: true, ..released.clone() },
        PseudoLikelihood { genealogy: Genealogy::BlockEnd, ..released.clone() },
        PseudoLikelihood { block: 5, ..released.clone() },
        PseudoLikelihood { hold_positions: false, first_likelihood: false, ..paper.clone() },
        paper,
        released,
    ] {
        assert_close(loss(&objective, 0.0), -plain.pseudo_likelihood(&objective));
    }
    // The lines are worth walking: somebody has another's ancestor.
    assert!(plain.ancestors[4].iter().enumerate().any(|(i, &ancestor)| i as i64 % 6 != ancestor));
}

/// At a step that says nothing (NaN), every likelihood counts as e^-100, whatever else is chosen; weights
/// stay as they were. One block of five holds the step.
#[test]
fn lost_observations_cost_a_hundred() {
    let mut problem = Problem::golden_a();
    problem.observations[2] = f64::NAN;
    let rollout = rollout_of(&problem, 0.0);
    let plain = Plain::of(&rollout);
    assert_eq!(plain.log_likelihoods.concat().iter().filter(|log| log.is_nan()).count(), 12);
    let paper = PseudoLikelihood::paper(5, Prior::Normal { mean: vec![0.0], std: vec![2.0] });
    for objective in [
        PseudoLikelihood { likelihoods: Likelihoods::Normalised, ..paper.clone() },
        PseudoLikelihood { hold_positions: false, ..paper.clone() },
        PseudoLikelihood::released(5, -1.3),
        paper,
    ] {
        let found = numbers(&objective.loss(&problem.model(0.0), &rollout, &batch()))[0];
        assert_close(found, -plain.pseudo_likelihood(&objective));
    }
}

/// A factor common to all particles raises the literal objective without limit; the normalised one
/// does not see it.
#[test]
fn only_the_literal_likelihood_can_be_inflated() {
    let literal = PseudoLikelihood::paper(2, Prior::Uniform { low: vec![-1.0], high: vec![1.0] });
    let normalised = PseudoLikelihood { likelihoods: Likelihoods::Normalised, ..literal.clone() };
    assert_eq!(literal.start, BlockStart::Flat(-(2.0_f64.ln())));
    assert_close(loss(&literal, 50.0), loss(&literal, 0.0) - 2.0 * 50.0);
    assert_close(loss(&normalised, 50.0), loss(&normalised, 0.0));
}

#[test]
fn blocks_are_whole() {
    let ends = |block, steps| {
        let objective = PseudoLikelihood::released(block, 0.0);
        objective.blocks(steps).iter().map(|block| block.end - 1).collect::<Vec<_>>()
    };
    assert_eq!(ends(20, 99), [19, 39, 59, 79]);
    assert_eq!(ends(4, 24), [3, 7, 11, 15, 19, 23]);
    assert!(ends(4, 3).is_empty());
}

/// Labelled steps: 0 and 3 of the first sequence, 2 of the second.
#[test]
fn supervised_losses_by_hand() {
    let plain = Plain::new();
    let labelled = [(0, 0, 0.3), (3, 0, 0.9), (2, 6, 0.4)];
    let particles =
        |t: usize, row: usize| plain.weights[t][row..row + 6].iter().zip(&plain.states[t][row..row + 6]);
    let squared: f64 = labelled
        .iter()
        .map(|&(t, row, truth)| ((particles(t, row).map(|(w, s)| w * s).sum::<f64>() - truth) / 0.5).powi(2))
        .sum();
    let found = SquaredError { scale: vec![0.5], over: LabelMean::Known };
    assert_close(loss(&found, 0.0), squared / 3.0);
    let kernel = |s: f64| (-0.5 * (s / 0.5 / 0.2_f64).powi(2)).exp() / (TAU.sqrt() * 0.2);
    let dense: f64 = labelled
        .iter()
        .map(|&(t, row, truth)| {
            -(1e-16 + particles(t, row).map(|(w, s)| w * kernel(s - truth)).sum::<f64>()).ln()
        })
        .sum();
    let found = KernelDensity { scale: vec![0.5], bandwidth: 0.2, over: LabelMean::Share(0.1) };
    assert_close(loss(&found, 0.0), dense / (10.0 * 0.1));
}

#[test]
fn sums_are_weighted_and_reported_by_name() {
    let squared = SquaredError { scale: vec![1.0], over: LabelMean::Known };
    let evidence = numbers(&rollout(0.0).log_evidence());
    assert_close(loss(&Evidence, 0.0), -(evidence[0] + evidence[1]) * 0.5);
    let sum =
        WeightedSum::<LinearGaussian>(vec![(10.0, Box::new(squared.clone())), (0.01, Box::new(Evidence))]);
    assert_close(loss(&sum, 0.0), 10.0 * loss(&squared, 0.0) + 0.01 * loss(&Evidence, 0.0));
    let parts = sum.parts(&Problem::golden_a().model(0.0), &rollout(0.0), &batch());
    assert_eq!(parts.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["squared error", "evidence"]);
    assert_close(numbers(&parts[1].1)[0], loss(&Evidence, 0.0));
}
