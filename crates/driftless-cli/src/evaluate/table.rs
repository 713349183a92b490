//! The figures of an evaluation as a table: one row a figure, one column a step.

use crate::output::aligned;
use crate::train::odometry;
use driftless_world::Evaluation;
use driftless_world::evaluation::{Figure, StepFigures};

/// Steps to show besides the last, counted from 1.
const STEPS: [usize; 4] = [10, 25, 50, 75];

/// A figure of a step in words.
type Tell<'a> = &'a dyn Fn(&StepFigures) -> String;

/// What was evaluated, how far estimates are off, how soon robots are found.
pub fn text(evaluation: &Evaluation) -> String {
    let about = &evaluation.about;
    let particles = match about.particles {
        0 => "no particles".to_owned(),
        count => format!("{count} particles"),
    };
    let head = format!(
        "{} in {}, {} % of the poses known, seed {}\n{} trajectories of {}, {particles}, {}\n\n",
        about.label,
        about.world,
        100.0 * about.label_fraction,
        about.seed,
        evaluation.trajectories,
        about.data,
        odometry(about.odometry_noise)
    );
    head + &aligned(&rows(evaluation))
        + "\n"
        + &coordinates(evaluation)
        + &overall(evaluation)
        + &found(evaluation)
        + &nowhere(evaluation)
}

/// Errors of each named coordinate in its own unit, if states are of some.
fn coordinates(evaluation: &Evaluation) -> String {
    if evaluation.coordinates.is_empty() {
        return String::new();
    }
    let head = ["error of", "RMSE, all steps", "median, all steps", "RMSE, last step", "deviation"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for errors in &evaluation.coordinates {
        let decimals = decimals_for(errors.coordinate.deviation);
        rows.push(vec![
            errors.coordinate.title(),
            figure(errors.rmse, 1.0, decimals),
            number(errors.median, decimals),
            figure(errors.last_rmse, 1.0, decimals),
            number(Some(errors.coordinate.deviation), decimals),
        ]);
    }
    aligned(&rows) + "(deviation: how far the coordinate varies in training)\n\n"
}

/// As many decimals as show a thousandth of a size.
fn decimals_for(size: f64) -> usize {
    (3.0 - size.log10().floor()).clamp(0.0, 9.0) as usize
}

/// Figures over whole trajectories.
fn overall(evaluation: &Evaluation) -> String {
    let (unit, lost) = (evaluation.about.unit(), evaluation.thresholds.lost);
    let rmse = figure(evaluation.overall_rmse(), 1.0, evaluation.about.decimals());
    let success = figure(evaluation.success(), 100.0, 1);
    let what = if evaluation.coordinates.is_empty() { "position RMSE" } else { "RMSE" };
    format!("all steps: {what} {rmse} {unit}; success (the last quarter within {lost} {unit}): {success} %\n")
}

fn found(evaluation: &Evaluation) -> String {
    let localisation = &evaluation.localisation;
    let within = format!("{} {}", evaluation.thresholds.localised, evaluation.about.unit());
    let never = figure(Some(localisation.never), 100.0, 1);
    match localisation.mean {
        Some(mean) => {
            let mean = figure(Some(mean), 1.0, 1);
            format!("localised for good (within {within}) after {mean} steps; never: {never} %\n")
        }
        None => format!("no robot was localised for good (within {within})\n"),
    }
}

fn nowhere(evaluation: &Evaluation) -> String {
    let unusable = evaluation.unusable;
    if unusable.estimates == 0 {
        return String::new();
    }
    format!(
        "{} estimates in {} trajectories are nowhere: in no mean, but lost\n",
        unusable.estimates, unusable.trajectories
    )
}

fn rows(evaluation: &Evaluation) -> Vec<Vec<String>> {
    let early = STEPS.into_iter().filter(|step| *step < evaluation.steps.len());
    let mut columns: Vec<(String, &StepFigures)> =
        early.map(|step| (step.to_string(), &evaluation.steps[step - 1])).collect();
    columns.push((format!("{} (last)", evaluation.steps.len()), &evaluation.last));
    let unit = evaluation.about.unit();
    let lost = format!("lost (beyond {} {unit}), %", evaluation.thresholds.lost);
    let is_planar = evaluation.coordinates.is_empty();
    let names = if is_planar { ["position RMSE", "median position error"] } else { ["RMSE", "median error"] };
    let [rmse, middle] = names.map(|name| format!("{name}, {unit}"));
    let decimals = evaluation.about.decimals();
    let median = |step: &StepFigures| number(step.position_quartiles.map(|quartiles| quartiles[1]), decimals);
    let figures: [(&str, Tell); 11] = [
        (&rmse, &|step| figure(step.position_rmse, 1.0, decimals)),
        (&middle, &median),
        ("RMSE, step sizes", &|step| figure(step.scaled_rmse, 1.0, 2)),
        ("mean distance, step sizes", &|step| figure(step.scaled_distance, 1.0, 2)),
        ("heading RMSE, degrees", &|step| figure(step.heading_rmse, 1.0, 1)),
        ("median heading error, degrees", &|step| number(step.heading_median, 1)),
        ("error rate, %", &|step| figure(step.error_rate, 100.0, 1)),
        (&lost, &|step| figure(step.lost, 100.0, 1)),
        ("-log density of the truth", &|step| figure(step.negative_log_density, 1.0, 2)),
        ("truth in the 90 % region, %", &|step| figure(step.coverage, 100.0, 1)),
        ("effective sample size", &|step| figure(step.effective_sample_size, 1.0, 1)),
    ];
    let mut rows = vec![vec!["step".to_owned()]];
    rows[0].extend(columns.iter().map(|(name, _)| name.clone()));
    for (name, tell) in figures.into_iter().filter(|(name, _)| is_planar || !name.contains("heading")) {
        let mut row = vec![name.to_owned()];
        row.extend(columns.iter().map(|(_, step)| tell(step)));
        rows.push(row);
    }
    rows
}

/// Mean ± standard error over trajectories.
fn figure(figure: Option<Figure>, factor: f64, decimals: usize) -> String {
    let Some(Figure { value, standard_error, .. }) = figure else { return "-".to_owned() };
    let error = standard_error.map_or(String::new(), |error| format!(" ± {:.decimals$}", factor * error));
    format!("{:.decimals$}{error}", factor * value)
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::{About, Pose, Track};

    /// Errors are 3, 4 and 5 units at all steps but the last, where they are 30, 40 and 50.
    #[test]
    fn figures_stand_below_their_steps() {
        let track = |error: f64| {
            let at = |x: f64| Pose::new(x, 0.0, 0.0);
            let mut estimate = vec![at(error); 12];
            estimate[11] = at(10.0 * error);
            Track::new(vec![at(0.0); 12], estimate)
        };
        let tracks = [3.0, 4.0, 5.0].map(track);
        let evaluation = Evaluation::of(About::default(), [10.0, 10.0, 1.0], &tracks).unwrap();
        let rows = rows(&evaluation);
        assert_eq!(rows[0], ["step", "10", "12 (last)"]);
        assert_eq!(rows[2][1..], ["4.0", "40.0"], "medians");
        // The mean of 0.3, 0.4 and 0.5 with the deviation 0.1, over √3.
        assert_eq!(rows[4][1..], ["0.40 ± 0.06", "4.00 ± 0.58"]);
        assert_eq!(rows[11][1..], ["-", "-"], "there are no particles");
        // The last of them is not within 50 units.
        assert!(text(&evaluation).contains("after 0.0 ± 0.0 steps; never: 33.3 ± 33.3 %"));
    }
}
