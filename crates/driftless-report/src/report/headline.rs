//! The figure that the methods of a world are compared by first.
//!
//! In mazes it is the paper's: the error at the last step in step sizes, heading included. Where lengths have a unit of
//! their own, as in houses, it is PF-net's: the position error over all steps.

use super::group::{Group, World};
use crate::record::{Metric, Quantity, pooled};
use crate::run::Run;
use driftless_world::Evaluation;
use driftless_world::evaluation::{Figure, length_decimals};

/// The unit of errors of named coordinates, whose own units differ.
pub(super) const DEVIATIONS: &str = "deviations";

/// Which figure, and how it is written.
pub(super) struct Headline {
    /// With its unit, as on an axis.
    pub(super) name: String,
    /// In a sentence.
    pub(super) meaning: &'static str,
    pub(super) decimals: usize,
    of_one: fn(&Evaluation) -> Option<Figure>,
    /// The same of a record, by name.
    metric: &'static str,
    /// The number of each trajectory by which methods are compared pair by pair.
    pub(super) quantity: Quantity,
    /// The error of one estimate, with its unit, as in box plots and along a trajectory.
    pub(super) error: &'static str,
    pub(super) error_unit: String,
    errors: fn(&Evaluation) -> &Vec<Vec<Option<f32>>>,
}

impl Headline {
    /// By the unit of length.
    pub(super) fn of(world: &World) -> Self {
        match world.unit() {
            "units" => Self {
                name: "RMSE at the last step (step sizes)".into(),
                meaning: "root of the mean squared distance at the last step in step sizes, heading included",
                decimals: 2,
                of_one: |evaluation| evaluation.last.scaled_rmse,
                metric: "steps-rmse",
                quantity: Quantity::LastScaled,
                error: "error, heading included",
                error_unit: "step sizes".into(),
                errors: |evaluation| &evaluation.scaled_distances,
            },
            DEVIATIONS => Self {
                name: "RMSE over all steps (deviations)".into(),
                meaning: "root of the mean squared error over all steps of all trajectories, each coordinate divided by its \
                          standard deviation in training",
                decimals: length_decimals(DEVIATIONS),
                of_one: Evaluation::overall_rmse,
                metric: "rmse",
                quantity: Quantity::AllSteps,
                error: "error",
                error_unit: DEVIATIONS.into(),
                errors: |evaluation| &evaluation.position_errors,
            },
            unit => Self {
                name: format!("position RMSE over all steps ({unit})"),
                meaning: "root of the mean squared position error over all steps of all trajectories",
                decimals: length_decimals(unit),
                of_one: Evaluation::overall_rmse,
                metric: "rmse",
                quantity: Quantity::AllSteps,
                error: "position error",
                error_unit: unit.to_owned(),
                errors: |evaluation| &evaluation.position_errors,
            },
        }
    }

    /// The error of each trajectory at each step.
    pub(super) fn errors<'a>(&self, evaluation: &'a Evaluation) -> &'a [Vec<Option<f32>>] {
        (self.errors)(evaluation)
    }

    /// Of all seeds of a group.
    pub(super) fn figure(&self, group: &Group) -> Option<Figure> {
        let of_record = |run: &Run| run.record.as_ref()?.figure(Metric::named(self.metric)?);
        let of_run = |run: &&Run| match &run.evaluation {
            Some(evaluation) => (self.of_one)(evaluation),
            None => of_record(run),
        };
        pooled(&group.runs.iter().filter_map(of_run).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::{About, Pose, Track};

    /// Errors of 3 and 4 at two steps: 4 at the last one, √12.5 over both.
    #[test]
    fn houses_are_evaluated_by_all_steps() {
        let at = |x: f64| Pose::new(x, 0.0, 0.0);
        let figure = |unit: &str| {
            let about = About { unit: unit.into(), ..About::default() };
            let track = Track::new(vec![at(0.0); 2], vec![at(3.0), at(4.0)]);
            let evaluation = Some(Evaluation::of(about, [2.0, 2.0, 1.0], &[track]).unwrap());
            let run = Run { evaluation, ..Run::default() };
            let comparison = super::super::group::Comparison::of(&[&run]);
            let world = &comparison.worlds[0];
            let headline = Headline::of(world);
            (headline.name.clone(), headline.figure(&world.groups[0]).unwrap().value)
        };
        assert_eq!(figure(""), ("RMSE at the last step (step sizes)".into(), 2.0));
        assert_eq!(figure("cm"), ("position RMSE over all steps (cm)".into(), 12.5_f64.sqrt()));
    }
}
