//! The position error over time, of evaluations and of records.

use super::group::Group;
use super::headline::DEVIATIONS;
use super::panels::series;
use crate::chart::{LineChart, LineSeries, Point};
use crate::record::pooled;
use crate::run::Run;
use driftless_world::evaluation::{Figure as Measured, StepFigures};
use std::collections::BTreeMap;

/// The position error over time: how fast a filter finds the robot, and whether it keeps it.
pub(super) fn chart(groups: &[&Group], place: &str, unit: &str) -> Option<(String, String)> {
    let line = |group: &&Group| {
        let mut steps: BTreeMap<usize, Vec<Measured>> = BTreeMap::new();
        for (step, figure) in group.runs.iter().flat_map(|run| rmse_over_time(run)) {
            steps.entry(step).or_default().push(figure);
        }
        let point = |(step, figures): (usize, Vec<Measured>)| {
            let figure = pooled(&figures)?;
            Some(Point { x: step as f64, y: figure.value, spread: figure.standard_error })
        };
        series(group, steps.into_iter().filter_map(point).collect())
    };
    let lines: Vec<LineSeries> = groups.iter().map(line).filter(|line| !line.points.is_empty()).collect();
    let what = if unit == DEVIATIONS { "error" } else { "position error" };
    let caption = format!(
        "{} over time on test trajectories, {place}. Bands: ± one standard error, over seeds if \
         there are several, else over trajectories.",
        capital(what)
    );
    let chart = LineChart {
        title: format!("{} over time: {place}", capital(what)),
        description: caption.clone(),
        x_name: "step".into(),
        y_name: format!("{} ({unit})", what.replace("error", "RMSE")),
        series: lines,
        ..LineChart::default()
    };
    (!chart.series.is_empty()).then(|| (chart.to_svg(), caption))
}

fn capital(words: &str) -> String {
    words[..1].to_uppercase() + &words[1..]
}

/// Of all steps, or of those that a record has.
fn rmse_over_time(run: &Run) -> Vec<(usize, Measured)> {
    if let Some(evaluation) = &run.evaluation {
        let figure = |(step, figures): (usize, &StepFigures)| Some((step, figures.position_rmse?));
        return evaluation.steps.iter().enumerate().filter_map(figure).collect();
    }
    let Some(record) = &run.record else { return vec![] };
    let points = record.over_time.step.iter().zip(&record.over_time.rmse);
    let figure = |value: f64| Measured { value, standard_error: None, count: record.len() };
    points.filter_map(|(step, rmse)| Some((*step, figure((*rmse)?)))).collect()
}
