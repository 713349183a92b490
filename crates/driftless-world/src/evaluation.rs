//! How well a filter followed robots whose true poses are known: figures, and episodes to look at.
//!
//! A [`Track`] is one trajectory as a filter saw it. [`Evaluation::of`] turns tracks into figures,
//! `evaluation.json` of a run; [`Episodes`] hold a few trajectories with every particle,
//! `episodes.json`. Both are written and read here, so that whoever trains and whoever reports agree.

mod about;
mod cloud;
mod coordinates;
mod episode;
mod errors;
mod figure;
mod ground;
mod localisation;
mod overall;
mod plan;
mod plan_of_house;
mod predicted_scan;
mod step;
mod surroundings;
mod track;

pub use about::{About, length_decimals};
pub use cloud::{Cloud, Particle};
pub use coordinates::{Coordinate, CoordinateErrors, States};
pub use episode::{Episode, EpisodeStep, Episodes, Seen, StateStep};
pub use figure::{Figure, quantile};
pub use ground::Ground;
pub use localisation::Localisation;
pub use plan::Plan;
pub use predicted_scan::PredictedScan;
pub use step::StepFigures;
pub use surroundings::Surroundings;
pub use track::Track;

use crate::error::{Error, Result};
use errors::{Compared, Errors, check_step_sizes};
use serde::{Deserialize, Serialize};

/// From which position error on a robot counts as lost, and below which it is localised.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// More than this far from the truth is lost, in units of length.
    pub lost: f64,
    /// Less than this far from the truth is localised, in units of length.
    pub localised: f64,
}

impl Default for Thresholds {
    /// One and a half cells of a maze, and half a cell.
    fn default() -> Self {
        Self { lost: 150.0, localised: 50.0 }
    }
}

/// What could not enter the figures, so that nobody takes silence for success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unusable {
    /// Estimates that are not finite, or farther than 10⁹ units away.
    pub estimates: usize,
    /// Trajectories with at least one such estimate.
    pub trajectories: usize,
    /// Log densities and effective sample sizes that are not finite or beyond ±10⁹.
    pub beliefs: usize,
}

/// All figures of one filter on one set of trajectories: the contents of `evaluation.json`.
///
/// An estimate that is not a place (NaN, infinite, beyond 10⁹ units) has no error: it is left out of
/// means, roots and quantiles, counts as lost, as wrong and as not localised, and is counted in
/// [`Evaluation::unusable`]. No figure is ever NaN.
///
/// ```
/// use driftless_world::{About, Evaluation, Pose, Track};
/// let truth = vec![Pose::new(0.0, 0.0, 0.0); 2];
/// let estimate = vec![Pose::new(300.0, 400.0, 0.0), Pose::new(3.0, 4.0, 0.0)];
/// let evaluation = Evaluation::of(About::default(), [10.0, 10.0, 0.5], &[Track::new(truth, estimate)])?;
/// assert_eq!(evaluation.steps[0].position_rmse.unwrap().value, 500.0);
/// assert_eq!(evaluation.last.scaled_distance.unwrap().value, 0.5);
/// assert_eq!(Evaluation::from_json(&evaluation.to_json())?, evaluation);
/// # Ok::<(), driftless_world::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// What was evaluated.
    pub about: About,
    /// Mean absolute step of x, y and heading, or of each named coordinate, in the training data, by which errors are
    /// divided.
    pub step_sizes: Vec<f64>,
    /// What "lost" and "localised" mean here.
    pub thresholds: Thresholds,
    /// Number of trajectories.
    pub trajectories: usize,
    /// What could not enter the figures.
    pub unusable: Unusable,
    /// Figures of each step, over the trajectories that reach it.
    pub steps: Vec<StepFigures>,
    /// Figures of each trajectory's own last step whose pose is known.
    pub last: StepFigures,
    /// How long it took until the robot was found.
    pub localisation: Localisation,
    /// Position error of each trajectory at each step whose pose is known, in units of length.
    pub position_errors: Vec<Vec<Option<f32>>>,
    /// Scaled distance d of each trajectory at each such step, heading included.
    pub scaled_distances: Vec<Vec<Option<f32>>>,
    /// Errors of each named coordinate; none where states are planar poses. Positions above are then distances with each
    /// coordinate divided by its deviation, which is their unit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coordinates: Vec<CoordinateErrors>,
}

impl Evaluation {
    /// Computes all figures with the default [`Thresholds`]; see [`Evaluation::with`].
    pub fn of(about: About, step_sizes: [f64; 3], tracks: &[Track]) -> Result<Self> {
        Self::with(about, step_sizes, Thresholds::default(), tracks)
    }

    /// Computes all figures of `tracks`, whose lengths may differ.
    ///
    /// Errors: no tracks, a track without steps or with parts of unequal lengths, a truth that is not
    /// finite, or known at no step, a step size or threshold that is not a positive number, a share of labels or a noise that is
    /// not finite.
    pub fn with(
        about: About,
        step_sizes: [f64; 3],
        thresholds: Thresholds,
        tracks: &[Track],
    ) -> Result<Self> {
        Self::gathered(about, step_sizes.to_vec(), thresholds, tracks, &[])
    }

    /// The same of states of named coordinates, which all tracks must have.
    pub fn of_coordinates(
        about: About,
        coordinates: &[Coordinate],
        thresholds: Thresholds,
        tracks: &[Track],
    ) -> Result<Self> {
        coordinates::check(coordinates, tracks)?;
        let steps = coordinates.iter().map(|coordinate| coordinate.step).collect();
        Self::gathered(about, steps, thresholds, tracks, coordinates)
    }

    fn gathered(
        about: About,
        step_sizes: Vec<f64>,
        thresholds: Thresholds,
        tracks: &[Track],
        coordinates: &[Coordinate],
    ) -> Result<Self> {
        about.check()?;
        check_step_sizes(&step_sizes)?;
        thresholds.check()?;
        if tracks.is_empty() {
            return Err(Error::new("there is no trajectory to evaluate"));
        }
        for (i, track) in tracks.iter().enumerate() {
            track.check().map_err(|error| error.in_record(format_args!("trajectory {i}")))?;
        }
        let compared = |track: &Track| match (&track.states, &step_sizes[..]) {
            (Some(states), _) => states.compared(coordinates),
            (None, &[x, y, heading]) => track.compared([x, y, heading]),
            (None, _) => Vec::new(),
        };
        let all: Vec<Vec<Compared>> = tracks.iter().map(compared).collect();
        let longest = tracks.iter().map(Track::len).max().unwrap_or(0);
        let of_step = |step: usize| {
            let at = |all: &[Compared]| all.binary_search_by_key(&step, |at| at.step).ok().map(|k| all[k]);
            StepFigures::of(step, thresholds.lost, tracks, &all, at)
        };
        let mut last = StepFigures::of(longest - 1, thresholds.lost, tracks, &all, |all| all.last().copied());
        let mut steps: Vec<StepFigures> = (0..longest).map(of_step).collect();
        if !coordinates.is_empty() {
            steps.iter_mut().chain([&mut last]).for_each(StepFigures::without_heading);
        }
        Ok(Self {
            about,
            step_sizes,
            thresholds,
            trajectories: tracks.len(),
            unusable: Unusable::of(tracks, &all),
            steps,
            last,
            localisation: Localisation::of(thresholds.localised, &all),
            position_errors: by_step(&all, |errors| errors.position),
            scaled_distances: by_step(&all, |errors| errors.squared_scaled.sqrt()),
            coordinates: coordinates::errors(coordinates, tracks, longest),
        })
    }

    /// The text of `evaluation.json`: reading it gives the same numbers, to the last bit.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers, strings and lists can be written") + "\n"
    }

    /// Reads what [`Evaluation::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| Error::new(format!("is not an evaluation: {error}")))
    }
}

impl Thresholds {
    fn check(self) -> Result<()> {
        if [self.lost, self.localised].iter().all(|threshold| threshold.is_finite() && *threshold > 0.0) {
            return Ok(());
        }
        Err(Error::new(format!("{self:?} are not positive numbers")).in_field("thresholds"))
    }
}

impl Unusable {
    fn of(tracks: &[Track], all: &[Vec<Compared>]) -> Self {
        let missing = |steps: &Vec<Compared>| steps.iter().filter(|at| at.errors.is_none()).count();
        Self {
            estimates: all.iter().map(missing).sum(),
            trajectories: all.iter().filter(|steps| missing(steps) > 0).count(),
            beliefs: tracks.iter().map(Track::unusable_beliefs).sum(),
        }
    }
}

fn by_step(all: &[Vec<Compared>], figure: impl Fn(&Errors) -> f64) -> Vec<Vec<Option<f32>>> {
    let row = |steps: &Vec<Compared>| {
        steps.iter().map(|at| at.errors.as_ref().map(|errors| figure(errors) as f32)).collect()
    };
    all.iter().map(row).collect()
}
