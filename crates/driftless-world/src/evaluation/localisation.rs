//! How long it takes until a robot that may be anywhere has been found, for good.

use super::errors::Compared;
use super::figure::{Figure, quantile, sorted};
use serde::{Deserialize, Serialize};

/// When trajectories were localised: the first step from which on the position error stays below
/// the threshold to the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Localisation {
    /// The step of each trajectory; none for those that are not localised at their end.
    pub steps: Vec<Option<usize>>,
    /// Share of trajectories that never are.
    pub never: Figure,
    /// Mean step of those that are.
    pub mean: Option<Figure>,
    /// Quartiles of the step of those that are.
    pub quartiles: Option<[f64; 3]>,
}

impl Localisation {
    /// From the errors of at least one trajectory.
    pub(super) fn of(threshold: f64, all: &[Vec<Compared>]) -> Self {
        let steps: Vec<Option<usize>> = all.iter().map(|steps| settled(threshold, steps)).collect();
        let found = sorted(steps.iter().flatten().map(|&step| step as f64));
        let at = |share: f64| quantile(&found, share);
        Self {
            never: Figure::share(steps.iter().map(Option::is_none)).expect("there is a trajectory"),
            mean: Figure::mean(found.iter().copied()),
            quartiles: at(0.25).zip(at(0.5)).zip(at(0.75)).map(|((a, b), c)| [a, b, c]),
            steps,
        }
    }
}

/// The first step of the last unbroken run of small errors, if that run reaches the end.
fn settled(threshold: f64, steps: &[Compared]) -> Option<usize> {
    let near = |at: &Compared| at.errors.is_some_and(|errors| errors.position < threshold);
    let run = steps.iter().rev().take_while(|at| near(at)).count();
    (run > 0).then(|| steps[steps.len() - run].step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::errors::Errors;

    fn errors(positions: &[f64]) -> Vec<Compared> {
        let usable = |position: &f64| {
            position.is_finite().then_some(Errors { position: *position, heading: 0.0, squared_scaled: 0.0 })
        };
        let compared = |(step, position)| Compared { step, errors: usable(position) };
        positions.iter().enumerate().map(compared).collect()
    }

    #[test]
    fn found_means_found_for_good() {
        let all = [
            errors(&[900.0, 40.0, 30.0, 20.0]),
            errors(&[10.0, 10.0, 60.0, 10.0]),
            errors(&[10.0, 10.0, 10.0, 50.0]), // not below 50
            errors(&[1.0, 2.0, 3.0]),
            errors(&[1.0, f64::NAN, 3.0]),
            errors(&[1.0, 2.0, f64::NAN]),
        ];
        let seen = Localisation::of(50.0, &all);
        assert_eq!(seen.steps, [Some(1), Some(3), None, Some(0), Some(2), None]);
        assert!((seen.never.value - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!((seen.mean.unwrap().value, seen.quartiles), (1.5, Some([0.75, 1.5, 2.25])));
        let none = Localisation::of(0.5, &all);
        assert_eq!((none.never.value, none.mean, none.quartiles), (1.0, None, None));
    }
}
