//! The tables of a report.

use super::group::{Comparison, Group};
use super::panels::last;
use crate::record::{Metric, pooled};
use crate::run::Run;
use crate::table::{Cell, Table};
use driftless_world::Evaluation;
use driftless_world::evaluation::{Figure, length_decimals};

/// Decimals of figures in step sizes, units and degrees.
const FINE: usize = 2;
const COARSE: usize = 1;

fn evaluations<'a>(group: &'a Group) -> Vec<&'a Evaluation> {
    super::panels::evaluations(group).collect()
}

/// World, method, labels, seeds, trajectories.
fn opening(world: &str, group: &Group, seeds: usize, trajectories: usize) -> Vec<Cell> {
    vec![
        Cell::Text(group.label.clone()),
        Cell::Text(world.to_owned()),
        Cell::Text(group.share_label()),
        Cell::Count(seeds),
        Cell::Count(trajectories),
    ]
}

fn of_groups(mut table: Table, comparison: &Comparison, cells: impl Fn(&Group) -> Vec<Cell>) -> Table {
    for world in &comparison.worlds {
        for group in world.groups.iter().filter(|group| !evaluations(group).is_empty()) {
            let all = evaluations(group);
            let count = all.iter().map(|evaluation| evaluation.trajectories).sum();
            let row = opening(&world.name, group, all.len(), count).into_iter().chain(cells(group)).collect();
            table.push(row);
        }
    }
    table
}

/// The mean over seeds of a number that has no standard error.
fn mean(values: Vec<Option<f64>>) -> Option<f64> {
    Figure::mean(values.into_iter().flatten()).map(|figure| figure.value)
}

/// How far estimates are off at the last step.
pub(super) fn accuracy(comparison: &Comparison) -> Table {
    let unit = comparison.unit();
    let (positions, medians) = (format!("position RMSE ({unit})"), format!("median position error ({unit})"));
    let columns = [
        "method",
        "world",
        "labels",
        "seeds",
        "trajectories",
        "RMSE (step sizes)",
        "mean distance (step sizes)",
        &positions,
        &medians,
        "heading RMSE (°)",
        "median heading error (°)",
        "error rate",
        "lost",
    ];
    let table = Table::new("Accuracy at the last step, mean ± standard error", &columns);
    of_groups(table, comparison, |group| {
        let medians = evaluations(group).iter().map(|e| e.last.position_quartiles.map(|q| q[1])).collect();
        let headings = evaluations(group).iter().map(|e| e.last.heading_median).collect();
        vec![
            Cell::Figure(pooled(&last(group, |step| step.scaled_rmse)), FINE),
            Cell::Figure(pooled(&last(group, |step| step.scaled_distance)), FINE),
            Cell::Figure(pooled(&last(group, |step| step.position_rmse)), length_decimals(unit)),
            Cell::Number(mean(medians), length_decimals(unit)),
            Cell::Figure(pooled(&last(group, |step| step.heading_rmse)), COARSE),
            Cell::Number(mean(headings), COARSE),
            Cell::Percent(pooled(&last(group, |step| step.error_rate))),
            Cell::Percent(pooled(&last(group, |step| step.lost))),
        ]
    })
}

/// What every comparison needs side by side, so that one lost robot does not decide.
const OVERALL: [&str; 6] = ["rmse", "mean", "median", "last-median", "localised", "success"];

/// Figures over whole trajectories, of runs and of records that were kept.
pub(super) fn overall(comparison: &Comparison) -> Table {
    let unit = comparison.unit();
    let metrics: Vec<&Metric> = OVERALL.iter().filter_map(|name| Metric::named(name)).collect();
    let heads: Vec<String> = metrics.iter().map(|metric| metric.head(unit)).collect();
    let columns = ["method", "world", "labels", "seeds", "trajectories"];
    let columns: Vec<&str> = columns.into_iter().chain(heads.iter().map(String::as_str)).collect();
    let mut table = Table::new("Side by side, mean ± standard error", &columns);
    for (world, group) in
        comparison.worlds.iter().flat_map(|world| world.groups.iter().map(move |g| (world, g)))
    {
        let records: Vec<_> = group.runs.iter().filter_map(|run| run.kept()).collect();
        if records.is_empty() {
            continue;
        }
        let figure = |metric: &&Metric| {
            let figures: Vec<Figure> = records.iter().filter_map(|record| record.figure(metric)).collect();
            records
                .first()
                .map_or(Cell::Text("–".into()), |record| metric.cell(pooled(&figures), &record.about))
        };
        let count = records.iter().map(|record| record.len()).sum();
        let mut row = opening(&world.name, group, records.len(), count);
        row.extend(metrics.iter().map(figure));
        table.push(row);
    }
    table
}

/// How soon robots are found, and how honest the beliefs are.
pub(super) fn belief(comparison: &Comparison) -> Table {
    let columns = [
        "method",
        "world",
        "labels",
        "seeds",
        "trajectories",
        "steps to localise",
        "never localised",
        "-log density of the truth",
        "90 % region holds the truth",
        "effective sample size",
        "unusable estimates",
    ];
    let table = Table::new("Localisation, and the belief at the last step, mean ± standard error", &columns);
    of_groups(table, comparison, |group| {
        let all = evaluations(group);
        let steps: Vec<Figure> = all.iter().filter_map(|e| e.localisation.mean).collect();
        let never: Vec<Figure> = all.iter().map(|e| e.localisation.never).collect();
        vec![
            Cell::Figure(pooled(&steps), COARSE),
            Cell::Percent(pooled(&never)),
            Cell::Figure(pooled(&last(group, |step| step.negative_log_density)), FINE),
            Cell::Percent(pooled(&last(group, |step| step.coverage))),
            Cell::Figure(pooled(&last(group, |step| step.effective_sample_size)), COARSE),
            Cell::Count(all.iter().map(|evaluation| evaluation.unusable.estimates).sum()),
        ]
    })
}

/// What was read, run by run.
pub(super) fn runs(runs: &[&Run]) -> Table {
    let columns = [
        "run",
        "method",
        "world",
        "labels",
        "seed",
        "particles",
        "odometry noise",
        "last epoch",
        "best validation RMSE",
        "hours",
        "missing",
    ];
    let mut table = Table::new("Runs", &columns);
    for run in runs {
        let about = run.about();
        let text = |words: Option<String>| Cell::Text(words.unwrap_or_else(|| "–".into()));
        let column =
            |name: &str| run.metrics.as_ref().map_or(vec![], |metrics| metrics.points("epoch", name));
        let epochs = column("epoch").last().map(|(epoch, _)| *epoch);
        let best = column("validation_rmse").into_iter().map(|(_, value)| value).reduce(f64::min);
        let hours = column("seconds").last().map(|(_, seconds)| seconds / 3600.0);
        let missing = run.missing();
        table.push(vec![
            Cell::Text(run.name.clone()),
            text(about.map(|about| about.label.clone())),
            text(about.map(|about| about.world.clone())),
            text(about.map(|about| super::group::percent(about.label_fraction))),
            text(about.map(|about| about.seed.to_string())),
            text(about.map(|about| about.particles.to_string())),
            text(about.map(|about| about.odometry_noise.to_string())),
            Cell::Number(epochs, 0),
            Cell::Number(best, FINE),
            Cell::Number(hours, FINE),
            Cell::Text(if missing.is_empty() { "nothing".into() } else { missing.join("; ") }),
        ]);
    }
    table
}
