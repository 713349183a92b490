//! States of named coordinates: their sizes, tracks of them, and errors of each in its own unit.

use super::errors::{Compared, Errors, is_usable};
use super::figure::{Figure, quantile, sorted};
use super::track::Track;
use crate::error::{Error, Result};
use crate::pose::wrap;
use serde::{Deserialize, Serialize};

/// A coordinate of a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coordinate {
    /// What it is called.
    pub name: String,
    /// Whether it is an angle in radians, whose differences wrap.
    pub angle: bool,
    /// Mean absolute step in the training data.
    pub step: f64,
    /// Standard deviation in the training data.
    pub deviation: f64,
}

impl Coordinate {
    /// a - b, wrapped if it is an angle.
    pub fn difference(&self, a: f64, b: f64) -> f64 {
        if self.angle { wrap(a - b) } else { a - b }
    }

    /// The name with its unit, if that is known.
    pub fn title(&self) -> String {
        if self.angle { format!("{}, rad", self.name) } else { self.name.clone() }
    }
}

/// True and estimated states of T steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct States {
    /// The true ones, where they are known.
    pub truth: Vec<Option<Vec<f64>>>,
    /// The estimated ones.
    pub estimate: Vec<Vec<f64>>,
    /// Standard deviations of the belief, if the method has one.
    pub deviation: Option<Vec<Vec<f64>>>,
}

impl States {
    /// Steps whose true state is known, in order.
    pub(super) fn compared(&self, coordinates: &[Coordinate]) -> Vec<Compared> {
        let both = self.truth.iter().zip(&self.estimate).enumerate();
        let compared = |(step, (truth, estimate)): (usize, (&Option<Vec<f64>>, &Vec<f64>))| {
            Some(Compared { step, errors: Errors::of_state(truth.as_ref()?, estimate, coordinates) })
        };
        both.filter_map(compared).collect()
    }
}

/// How far estimates of a coordinate are off, in its own unit; estimates that are not usable are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoordinateErrors {
    /// Which.
    pub coordinate: Coordinate,
    /// √ of the mean over trajectories of their mean squared errors, all steps included.
    pub rmse: Option<Figure>,
    /// Median of |Δ| over all steps of all trajectories.
    pub median: Option<f64>,
    /// √ mean Δ² at each trajectory's last step whose state is known.
    pub last_rmse: Option<Figure>,
    /// √ mean Δ² at each step over the trajectories that reach it.
    pub over_time: Vec<Option<Figure>>,
}

/// Fails unless all tracks have states of these coordinates.
pub(super) fn check(coordinates: &[Coordinate], tracks: &[Track]) -> Result<()> {
    let wrong = |problem: String| Err(Error::new(problem).in_field("states"));
    if coordinates.is_empty() {
        return wrong("have no coordinate".to_owned());
    }
    if !coordinates.iter().all(|one| one.deviation.is_finite() && one.deviation > 0.0) {
        return wrong("need deviations above 0".to_owned());
    }
    for (i, track) in tracks.iter().enumerate() {
        let Some(states) = &track.states else { return wrong(format!("are missing in trajectory {i}")) };
        let all =
            states.truth.iter().flatten().chain(&states.estimate).chain(states.deviation.iter().flatten());
        if let Some(odd) = all.map(Vec::len).find(|count| *count != coordinates.len()) {
            return wrong(format!("of trajectory {i} have {odd} numbers, not {}", coordinates.len()));
        }
        if !states.truth.iter().flatten().flatten().copied().all(is_usable) {
            return wrong(format!("of trajectory {i} are not finite where they are true"));
        }
    }
    Ok(())
}

/// Errors of each coordinate.
pub(super) fn errors(coordinates: &[Coordinate], tracks: &[Track], longest: usize) -> Vec<CoordinateErrors> {
    let one = |(k, coordinate): (usize, &Coordinate)| {
        let differences: Vec<Vec<Option<f64>>> =
            tracks.iter().filter_map(|track| Some(of_track(track.states.as_ref()?, k, coordinate))).collect();
        let square = |x: f64| x * x;
        let means =
            differences.iter().filter_map(|row| Figure::mean(row.iter().flatten().map(|&x| square(x))));
        let sizes = sorted(differences.iter().flatten().flatten().map(|x| x.abs()));
        let lasts = differences.iter().filter_map(|row| row.iter().rev().find_map(|x| *x));
        let at = |t: usize| differences.iter().filter_map(move |row| *row.get(t)?);
        CoordinateErrors {
            coordinate: coordinate.clone(),
            rmse: Figure::root_mean(means.map(|mean| mean.value)),
            median: quantile(&sizes, 0.5),
            last_rmse: Figure::root_mean(lasts.map(square)),
            over_time: (0..longest).map(|t| Figure::root_mean(at(t).map(square))).collect(),
        }
    };
    coordinates.iter().enumerate().map(one).collect()
}

/// How far estimates of coordinate k are off at each step whose state is known.
fn of_track(states: &States, k: usize, coordinate: &Coordinate) -> Vec<Option<f64>> {
    let both = states.truth.iter().zip(&states.estimate);
    let difference = |(truth, estimate): (&Option<Vec<f64>>, &Vec<f64>)| {
        let estimate = estimate[k];
        let truth = truth.as_ref()?[k];
        is_usable(estimate).then(|| coordinate.difference(estimate, truth))
    };
    both.map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::{About, Evaluation, Thresholds};
    use crate::pose::Pose;

    fn coordinates() -> Vec<Coordinate> {
        let one =
            |name: &str, angle, step, deviation| Coordinate { name: name.into(), angle, step, deviation };
        vec![one("turn", true, 0.1, 0.5), one("level", false, 2.0, 4.0)]
    }

    fn track(both: &[(Option<[f64; 2]>, [f64; 2])]) -> Track {
        let poses = vec![Pose::default(); both.len()];
        let states = States {
            truth: both.iter().map(|(truth, _)| truth.map(|state| state.to_vec())).collect(),
            estimate: both.iter().map(|(_, estimate)| estimate.to_vec()).collect(),
            deviation: None,
        };
        Track { states: Some(states), ..Track::new(poses.clone(), poses) }
    }

    /// Off by 0.2 across the half turn and by 8; then by nothing; a step whose truth nobody knows counts nowhere.
    #[test]
    fn errors_by_hand() {
        let pi = std::f64::consts::PI;
        let known = track(&[
            (Some([pi - 0.1, 1.0]), [0.1 - pi, 9.0]),
            (None, [0.0, 99.0]),
            (Some([0.5, 2.0]), [0.5, 2.0]),
        ]);
        let thresholds = Thresholds { lost: 2.0, localised: 1.0 };
        let seen =
            Evaluation::of_coordinates(About::default(), &coordinates(), thresholds, &[known]).unwrap();
        let value = |figure: Option<Figure>| figure.unwrap().value;
        let [turn, level] = &seen.coordinates[..] else { panic!("two") };
        assert!((value(turn.rmse) - 0.2 / 2.0_f64.sqrt()).abs() < 1e-12);
        assert!((value(level.rmse) - 8.0 / 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!((value(level.last_rmse), level.median), (0.0, Some(4.0)));
        assert_eq!(level.over_time.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
        // √((0.2 / 0.5)² + (8 / 4)²) deviations, √((0.2 / 0.1)² + (8 / 2)²) steps.
        assert!((f64::from(seen.position_errors[0][0].unwrap()) - (0.16_f64 + 4.0).sqrt()).abs() < 1e-6);
        assert!((f64::from(seen.scaled_distances[0][0].unwrap()) - 20.0_f64.sqrt()).abs() < 1e-6);
        assert_eq!((value(seen.steps[0].lost), value(seen.last.lost)), (1.0, 0.0));
        assert!(seen.last.heading_rmse.is_none() && seen.step_sizes == [0.1, 2.0]);
        assert_eq!(Evaluation::from_json(&seen.to_json()).unwrap(), seen);
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let message = |coordinates: &[Coordinate], track: Track| {
            let thresholds = Thresholds::default();
            Evaluation::of_coordinates(About::default(), coordinates, thresholds, &[track])
                .unwrap_err()
                .to_string()
        };
        let good = track(&[(Some([0.0; 2]), [0.0; 2])]);
        assert!(message(&[], good.clone()).contains("no coordinate"));
        assert!(message(&coordinates()[..1], good.clone()).contains("have 2 numbers, not 1"));
        let planar = Track { states: None, ..good.clone() };
        assert!(message(&coordinates(), planar).contains("are missing in trajectory 0"));
        let nan = track(&[(Some([f64::NAN, 0.0]), [0.0; 2])]);
        assert!(message(&coordinates(), nan).contains("not finite"));
        let mut flat = coordinates();
        flat[0].deviation = 0.0;
        assert!(message(&flat, good).contains("deviations above 0"));
    }
}
