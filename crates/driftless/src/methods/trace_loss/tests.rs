//! Whose descendants are counted, and steps that tell nothing; gradients are compared with differences beside the losses
//! that are made of these (`house/objective/tests.rs`), and with tensors (`sdpf/fused/tests.rs`).

use super::*;
use driftless_core::motion::Still;
use driftless_core::{Belief, Filter, FilterState, Particles, Reading, Sensor, Space, Stream, Workspace};

/// Two particles in four steps, blocks of two: both of step 3 come from the second of step 2, all else from the first.
#[test]
fn heirs_are_counted_back() {
    let ancestors = [0, 1, 0, 0, 0, 1, 1, 1];
    assert_eq!(heirs(&ancestors, 2, 2), [vec![0.0, 2.0], vec![1.0; 2]]);
    // A step beyond the last whole block decides, too.
    assert_eq!(heirs(&[0, 1, 0, 0, 1, 1], 2, 2), [vec![0.0, 2.0]]);
}

/// What it says of two particles, if anything.
struct Told(Option<[f32; 2]>);

impl Sensor for Told {
    fn log_likelihoods(&mut self, _: &Particles, log: &mut [f32]) -> Reading {
        let Some(said) = self.0 else { return Reading::Missing };
        log.copy_from_slice(&said);
        Reading::Present
    }
}

/// Two particles that stay where they are.
fn traced(said: &[Option<[f32; 2]>]) -> Trace {
    let filter = Filter { resample_below: 0.0, ..Filter::bootstrap(2) };
    let belief = Belief::new(Particles::from_states(Space::SE2, [[0.0_f32; 3]; 2]));
    let (mut state, mut workspace) = (FilterState::new(belief), Workspace::new(Space::SE2));
    let (mut draws, mut trace) = (Stream::new(0, 0), Trace::default());
    for &said in said {
        let report = filter.step(&mut state, &mut Still, &mut Told(said), &mut draws, &mut workspace);
        trace.push(&state, &workspace, &report);
    }
    trace
}

/// The second of three steps has no reading, or none that a particle explains: the others learn from the last belief.
#[test]
fn a_step_that_tells_nothing_learns_nothing() {
    for (second, stands) in [(None, 0.0), (Some([f32::NAN, f32::NEG_INFINITY]), LEAST_LOG_WEIGHT)] {
        let trace = traced(&[Some([0.5, 0.0]), second, Some([0.0, 0.2])]);
        assert_eq!(trace.weighed, [true, false, true]);
        assert_eq!(trace.collapsed, [false, second.is_some(), false]);
        let (mut loss, mut found) = (TraceLoss::new(&trace, 2), vec![0.0; 6]);
        loss.by_weights(2)[0] = 1.0;
        loss.write(1.0, &mut found);
        // log w of the first particle in the end: e^0.5 of e^0.5 + e^0.2.
        let weight = 1.0 / (1.0 + (-0.3_f32).exp());
        for (found, expected) in found.iter().zip([1.0, -1.0, 0.0, 0.0, 1.0, -1.0]) {
            assert!((found - expected * (1.0 - weight)).abs() < 1e-6, "{found} {expected}");
        }
        let mut loss = TraceLoss::new(&trace, 2);
        let q = loss.add_paths(&PATHS, 0..3, &[0.0; 6], (&[1.0; 2], 1.0));
        let expected = f64::from(weight * 0.5 + (1.0 - weight) * 0.2) + stands;
        assert!((q - expected).abs() < 1e-4, "{q} {expected}");
        let mut found = vec![0.0; 6];
        loss.write(1.0, &mut found);
        let weights = &trace.weights[4..];
        assert_eq!(found, [weights, &[0.0; 2], weights].concat());
    }
}

const PATHS: Paths = Paths {
    likelihoods: Likelihoods::Literal,
    first_likelihood: true,
    hold_weights: true,
    from: 0,
    steps: 3,
};
