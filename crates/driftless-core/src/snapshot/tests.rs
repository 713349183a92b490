//! Filters go on exactly, and what is damaged is refused.

use super::*;
use crate::motion::{HeadingNoise, Odometry};
use crate::pose::Frame;
use crate::sensor::Likelihood;
use crate::{Filter, StepReport, Workspace};

fn step(state: &mut FilterState, draws: &mut Stream, workspace: &mut Workspace) -> StepReport {
    let odometry = Odometry {
        frame: Frame::Robot,
        rest: [0.1, 0.05],
        share: [0.1, 0.1],
        scale: 0.0,
        heading_noise: HeadingNoise::After,
        missing: [1.0, 0.5],
    };
    let mut beacon = Likelihood(|pose: &[f32]| -0.5 * ((pose[0].hypot(pose[1]) - 2.0) / 0.2).powi(2));
    let filter = Filter::bootstrap(100);
    filter.step(state, &mut odometry.by(Some([0.1, 0.0, 0.1])), &mut beacon, draws, workspace)
}

fn begun() -> (FilterState, Stream) {
    let start = Particles::from_states(Space::SE2, vec![[1.0_f32, 1.0, 0.3]; 100]);
    (FilterState::new(Belief::new(start)), Stream::new(7, 1))
}

/// Written down and made again after each step, in new memory, a filter goes on as if nothing had happened.
#[test]
fn a_filter_goes_on_exactly() {
    let ((mut state, mut draws), mut workspace) = (begun(), Workspace::new(Space::SE2));
    let (mut again, mut others) = begun();
    let mut resampled = 0;
    for _ in 0..30 {
        let report = step(&mut state, &mut draws, &mut workspace);
        resampled += usize::from(report.resampled);
        assert_eq!(report, step(&mut again, &mut others, &mut Workspace::new(Space::SE2)));
        let mut bytes = Vec::new();
        again.save(&mut bytes);
        others.save(&mut bytes);
        let rest = &mut &bytes[..];
        (again, others) = (FilterState::load(rest).unwrap(), Stream::load(rest).unwrap());
        assert!(rest.is_empty() && again == state);
    }
    assert!((5..25).contains(&resampled), "both kinds of steps were there: {resampled}");
}

#[test]
fn random_numbers_go_on() {
    let mut random = Random::new(4);
    for draws in 0..5 {
        (0..draws).for_each(|_| _ = random.normal());
        let mut bytes = Vec::new();
        random.save(&mut bytes);
        let mut again = Random::load(&mut &bytes[..]).unwrap();
        assert_eq!([random.normal(), random.unit()], [again.normal(), again.unit()]);
    }
    assert!(Random::load(&mut &[0; 33][..]).is_none(), "it would say 0 for ever");
}

#[test]
fn what_is_damaged_is_refused() {
    let mut bytes = Vec::new();
    begun().0.save(&mut bytes);
    let load = |bytes: &[u8]| FilterState::load(&mut &*bytes);
    assert!(load(&bytes).is_some());
    assert!((0..bytes.len()).all(|end| load(&bytes[..end]).is_none()), "cut off");
    // Numbers behind the space and its length: x of the first particle, weights, and the kidnap probability.
    let (first, weights, end) = (7 + 8, bytes.len() - 8 - 800, bytes.len());
    let damaged = |at: usize, number: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + number.len()].copy_from_slice(number);
        load(&bytes)
    };
    assert!(damaged(first, &1.5_f32.to_le_bytes()).is_some());
    assert!(damaged(first, &f32::NAN.to_le_bytes()).is_none());
    assert!(damaged(first - 8, &u64::MAX.to_le_bytes()).is_none(), "more than there is");
    assert!(damaged(weights, &f32::NAN.to_le_bytes()).is_none());
    assert!(damaged(weights + 4, &0.5_f32.to_le_bytes()).is_none(), "weights of more than 1");
    assert!(damaged(end - 8, &1.5_f64.to_le_bytes()).is_none());
    assert_eq!(String::load(&mut &[1, 0, 0, 0, 0, 0, 0, 0, 0xff][..]), None);
    assert_eq!(Option::<bool>::load(&mut &[1, 2][..]), None);
}
