//! The step against exact filters, and its policies by hand.

mod exact;
mod global;

use super::*;
use crate::IMPOSSIBLE;
use crate::draws::{Replay, Stream};
use crate::motion::Still;
use crate::sensor::{Discounted, Likelihood, Sensors};

fn line(positions: &[f32]) -> FilterState {
    FilterState::new(Belief::new(Particles::from_states(Space::linear(1), positions.iter().map(|&x| [x]))))
}

fn weigh(state: &mut FilterState, filter: &Filter, sensor: &mut dyn Sensor) -> StepReport {
    filter.step(state, &mut Still, sensor, &mut Stream::new(1, 0), &mut Workspace::new(Space::linear(1)))
}

/// No reading of a step.
struct Nothing;

impl Sensor for Nothing {
    fn log_likelihoods(&mut self, _: &Particles, log: &mut [f32]) -> Reading {
        log.fill(f32::NAN);
        Reading::Missing
    }
}

/// A reading that nothing explains is reported, keeps the weights, and its evidence is worse than that of any step that
/// was explained; one that is missing says nothing.
#[test]
fn a_collapse_is_reported_and_never_better_than_a_step() {
    let filter = Filter::bootstrap(2);
    let mut state = line(&[0.0, 1.0]);
    weigh(&mut state, &filter, &mut Likelihood(|x: &[f32]| -x[0]));
    let before = state.clone();
    for impossible in [f32::NEG_INFINITY, f32::NAN] {
        let report = weigh(&mut state, &filter, &mut Likelihood(|_: &[f32]| impossible));
        assert!(report.collapsed && report.log_evidence == IMPOSSIBLE);
        assert_eq!(state, before);
    }
    let worst = weigh(&mut state, &filter, &mut Likelihood(|_: &[f32]| -1e29));
    assert!(!worst.collapsed && worst.log_evidence > IMPOSSIBLE);
    let missing = weigh(&mut state, &filter, &mut Nothing);
    assert_eq!((missing.reading, missing.collapsed, missing.log_evidence), (Reading::Missing, false, 0.0));
}

/// Likelihoods of several sensors multiply, and one without a reading says nothing.
#[test]
fn sensors_multiply() {
    let (mut one, mut other) = (Likelihood(|x: &[f32]| x[0]), Likelihood(|x: &[f32]| 2.0 * x[0]));
    let mut blind = Nothing;
    let mut all = Sensors { all: vec![&mut one, &mut blind, &mut other], scores: Vec::new() };
    let mut state = line(&[0.0, 1.0]);
    weigh(&mut state, &Filter::bootstrap(2), &mut all);
    let ratio = state.belief.weights.linear()[1] / state.belief.weights.linear()[0];
    assert!((ratio - 3.0_f32.exp()).abs() < 1e-4, "{ratio}");
    let mut none = Sensors { all: vec![&mut blind], scores: Vec::new() };
    assert_eq!(weigh(&mut state, &Filter::bootstrap(2), &mut none).reading, Reading::Missing);
}

/// Three readings from one place, each counted as a third: one reading, in weights and in evidence.
#[test]
fn the_same_reading_again_counts_once() {
    let (filter, mut once) = (Filter { resample_below: 0.0, ..Filter::bootstrap(3) }, line(&[0.0, 1.0, 4.0]));
    let mut again = once.clone();
    let evidence = weigh(&mut once, &filter, &mut Likelihood(|x: &[f32]| -x[0])).log_evidence;
    let mut sum = 0.0;
    for _ in 0..3 {
        let mut sensor = Likelihood(|x: &[f32]| -x[0]);
        let mut third = Discounted { sensor: &mut sensor, share: 1.0 / 3.0 };
        sum += weigh(&mut again, &filter, &mut third).log_evidence;
    }
    assert!((sum - evidence).abs() < 1e-6, "{sum} {evidence}");
    for (found, expected) in again.belief.weights.linear().iter().zip(once.belief.weights.linear()) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    // What is impossible stays so, and what is missing stays missing.
    let mut sensor = Likelihood(|x: &[f32]| if x[0] > 2.0 { f32::NEG_INFINITY } else { 0.0 });
    weigh(&mut again, &filter, &mut Discounted { sensor: &mut sensor, share: 0.02 });
    assert_eq!(again.belief.weights.linear()[2], 0.0);
    let report = weigh(&mut again, &filter, &mut Discounted { sensor: &mut Nothing, share: 0.02 });
    assert_eq!((report.reading, report.collapsed), (Reading::Missing, false));
}

/// Ancestors are those of the weights before; without resampling each particle is its own.
#[test]
fn ancestors_are_remembered() {
    let mut state = line(&[0.0, 1.0, 2.0, 3.0]);
    let filter = Filter { resample_below: 2.0, ..Filter::bootstrap(4) };
    weigh(
        &mut state,
        &filter,
        &mut Likelihood(|x: &[f32]| if x[0] == 2.0 { 0.0 } else { f32::NEG_INFINITY }),
    );
    let mut workspace = Workspace::new(Space::linear(1));
    let mut draws = Replay { uniforms: vec![0.5, 0.5].into(), ..Replay::default() };
    let mut flat = Likelihood(|_: &[f32]| 0.0);
    let report = filter.step(&mut state, &mut Still, &mut flat, &mut draws, &mut workspace);
    assert!(report.resampled);
    assert_eq!((&workspace.ancestors[..], state.belief.particles.column(0)), (&[2; 4][..], &[2.0; 4][..]));
    let never = Filter { resample_below: 0.0, ..Filter::bootstrap(4) };
    assert!(!never.step(&mut state, &mut Still, &mut flat, &mut draws, &mut workspace).resampled);
    assert_eq!(workspace.ancestors, [0, 1, 2, 3]);
}

/// Four times the area, four times the particles; never none.
#[test]
fn as_many_particles_as_the_belief_is_wide() {
    let with = |least, most| Population { least, most, found: 20.0 };
    let wanted = [0.0, 20.0, 40.0, 1e3, f64::NAN].map(|s| with(100, 3000).count(|| s));
    assert_eq!(wanted, [100, 100, 400, 3000, 100]);
    assert_eq!([0.0, 1e3].map(|s| with(0, 0).count(|| s)), [1, 1]);
    assert_eq!([0.0, 1e3].map(|s| with(100, 50).count(|| s)), [100, 100]);
}

/// As likely under both: one in ten thousand more than before. e^7 times likelier anywhere else: 0.0001 e^7 to
/// 0.9999 by odds. What points the same way adds up; evidence that is not a number says nothing.
#[test]
fn kidnapped_by_bayes_rule() {
    let recovery = Recovery { kidnap_probability: 1e-4, most_injected: 0.1 };
    let now = |before, here, anywhere| recovery.probability(before, here, anywhere);
    assert!((now(0.0, -3.0, -3.0) - 1e-4).abs() < 1e-15);
    assert!((now(0.5, -3.0, -3.0) - 0.50005).abs() < 1e-12);
    let odds = 1e-4 * 7.0_f64.exp() / (1.0 - 1e-4);
    assert!((now(0.0, -9.0, -2.0) - odds / (1.0 + odds)).abs() < 1e-12);
    assert_eq!((now(0.0, f64::NEG_INFINITY, -2.0), now(0.3, 0.0, -1e4)), (1.0, 0.0));
    let often = (0..10).fold(0.0, |before, _| now(before, -4.0, -3.0));
    assert!(often > 0.5, "ten readings, each e times likelier anywhere else: {often}");
    assert_eq!(now(0.5, f64::NAN, 0.0), recovery.unseen(0.5));
}
