//! The figures of the paper: validation over epochs, error over time, at chosen steps, of one
//! trajectory, and over the share of labels.

use super::group::{Group, World, file_name, percent};
use super::headline::Headline;
use super::{Figure, Picture, over_time};
use crate::chart::{BoxChart, BoxSeries, Five, LineChart, LineSeries, Point, Scale, Spread};
use crate::path_picture::spread_steps;
use driftless_world::Evaluation;
use driftless_world::evaluation::{Figure as Measured, StepFigures};
use std::collections::BTreeMap;

/// Steps of the box plots.
const BOX_STEPS: usize = 5;

/// Everything that compares methods at one share of labels.
pub(super) fn of_share(world: &World, share: f64) -> Vec<Figure> {
    let groups: Vec<&Group> = world.at(share).collect();
    let place = format!("{}, {} labels", world.name, percent(share));
    let named = |kind: &str, picture: Option<(String, String)>| {
        picture.map(|(svg, caption)| Figure {
            name: format!("{kind}-{}", file_name(&[&world.name, &percent(share)])),
            alt: caption.clone(),
            caption,
            picture: Picture::Svg(svg),
        })
    };
    let panels = [
        named("validation", validation(&groups, &place)),
        named("time", over_time::chart(&groups, &place, world.unit())),
        named("boxes", boxes(&groups, &place, &Headline::of(world))),
        named("trajectory", one_trajectory(&groups, &place, &Headline::of(world))),
    ];
    panels.into_iter().flatten().collect()
}

/// The training curves of runs that nobody has evaluated yet.
pub(super) fn of_unknown(world: &World) -> Option<Figure> {
    let groups: Vec<&Group> = world.groups.iter().filter(|group| group.share.is_none()).collect();
    let (svg, caption) = validation(&groups, &world.name)?;
    let name = format!("validation-{}", file_name(&[&world.name]));
    Some(Figure { name, alt: caption.clone(), caption, picture: Picture::Svg(svg) })
}

pub(super) fn series(group: &Group, points: Vec<Point>) -> LineSeries {
    LineSeries { name: group.label.clone(), colour: group.colour, points }
}

/// Of all runs that have one.
pub(super) fn evaluations<'a>(group: &'a Group) -> impl Iterator<Item = &'a Evaluation> {
    group.runs.iter().filter_map(|run| run.evaluation.as_ref())
}

/// (a) The validation error against the epoch: mean ± standard deviation over seeds.
fn validation(groups: &[&Group], place: &str) -> Option<(String, String)> {
    let has = |name: &str| {
        groups.iter().flat_map(|g| &g.runs).any(|run| run.metrics.as_ref().is_some_and(|m| m.has(name)))
    };
    let (column, words) = if has("validation_rmse") {
        ("validation_rmse", "validation RMSE at the last step (step sizes)")
    } else {
        ("validation_distance", "validation distance at the last step (step sizes)")
    };
    let line = |group: &&Group| {
        let mut epochs: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for metrics in group.runs.iter().filter_map(|run| run.metrics.as_ref()) {
            for (epoch, value) in metrics.points("epoch", column) {
                epochs.entry(epoch.max(0.0) as u64).or_default().push(value);
            }
        }
        let points = epochs.into_iter().filter_map(|(epoch, values)| {
            let mean = Measured::mean(values)?;
            let deviation = mean.standard_error.map(|error| error * (mean.count as f64).sqrt());
            Some(Point { x: epoch as f64, y: mean.value, spread: deviation })
        });
        series(group, points.collect())
    };
    let lines: Vec<LineSeries> = groups.iter().map(line).filter(|line| !line.points.is_empty()).collect();
    let seeds: usize = groups.iter().map(|group| group.runs.len()).max()?;
    let spread = if seeds > 1 {
        "Bands: ± one standard deviation over seeds."
    } else {
        "One seed each, hence no band."
    };
    let caption = format!("Validation error while training, {place}. {spread}");
    let chart = LineChart {
        title: format!("Validation error while training: {place}"),
        description: caption.clone(),
        x_name: "epoch".into(),
        y_name: words.into(),
        series: lines,
        ..LineChart::default()
    };
    (!chart.series.is_empty()).then(|| (chart.to_svg(), caption))
}

/// (b) Box plots of the error at chosen steps, trajectories of all seeds together; in step sizes in mazes, as in the
/// paper.
fn boxes(groups: &[&Group], place: &str, headline: &Headline) -> Option<(String, String)> {
    let longest = groups.iter().flat_map(|group| evaluations(group)).map(|e| e.steps.len()).max()?;
    let steps = spread_steps(longest, BOX_STEPS);
    let at = |group: &&Group, step: usize| {
        let rows = evaluations(group).flat_map(|evaluation| headline.errors(evaluation));
        Five::of(rows.filter_map(|row| row.get(step).copied().flatten()).map(f64::from))
    };
    let series = groups.iter().map(|group| BoxSeries {
        name: group.label.clone(),
        colour: group.colour,
        boxes: steps.iter().map(|step| at(group, *step)).collect(),
    });
    let series: Vec<BoxSeries> = series.filter(|series| series.boxes.iter().any(Option::is_some)).collect();
    let (error, unit) = (headline.error, &headline.error_unit);
    let caption = format!(
        "The {error}, at chosen steps over all test trajectories, {place}. Boxes: quartiles; whiskers: 5 % to 95 %."
    );
    let chart = BoxChart {
        title: format!("Error at chosen steps: {place}"),
        description: caption.clone(),
        x_name: "step".into(),
        y_name: format!("{error} ({unit})"),
        groups: steps.iter().map(ToString::to_string).collect(),
        series,
    };
    Some((chart.to_svg(), caption))
}

/// (c) One trajectory's error over time: the one whose last error is the median of the first method.
fn one_trajectory(groups: &[&Group], place: &str, headline: &Headline) -> Option<(String, String)> {
    let firsts: Vec<(&&Group, &Evaluation)> =
        groups.iter().filter_map(|group| Some((group, evaluations(group).next()?))).collect();
    let (typical_of, first) = firsts.first()?;
    let index = median_trajectory(headline.errors(first))?;
    let same: Vec<_> = firsts.iter().filter(|(_, e)| e.about.data == first.about.data).collect();
    let lines = same.iter().filter_map(|(group, evaluation)| {
        let row = headline.errors(evaluation).get(index)?.iter().enumerate();
        let points =
            row.filter_map(|(t, error)| Some(Point { x: t as f64, y: f64::from((*error)?), spread: None }));
        Some(series(group, points.collect()))
    });
    let (error, unit) = (headline.error, &headline.error_unit);
    let caption = format!(
        "The {error}, along test trajectory {index}, {place}: the one with the median last error of {}, first \
         seed of each method.",
        typical_of.label
    );
    let chart = LineChart {
        title: format!("One trajectory: {place}"),
        description: caption.clone(),
        x_name: "step".into(),
        y_name: format!("{error} ({unit})"),
        series: lines.collect(),
        ..LineChart::default()
    };
    Some((chart.to_svg(), caption))
}

fn median_trajectory(errors: &[Vec<Option<f32>>]) -> Option<usize> {
    let rows = errors.iter().enumerate();
    let mut last: Vec<(f32, usize)> = rows.filter_map(|(i, row)| Some(((*row.last()?)?, i))).collect();
    last.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    last.get(last.len().checked_sub(1)? / 2).map(|(_, index)| *index)
}

/// (d) The error against the share of labels, for worlds with more than one share.
pub(super) fn label_shares(world: &World) -> Option<Figure> {
    let shares = world.shares();
    if shares.len() < 2 {
        return None;
    }
    let headline = Headline::of(world);
    let mut lines: Vec<LineSeries> = Vec::new();
    for group in &world.groups {
        let (Some(share), Some(figure)) = (group.share, headline.figure(group)) else { continue };
        let point = Point { x: 100.0 * share, y: figure.value, spread: figure.standard_error };
        match lines.iter_mut().find(|line| line.name == group.label) {
            Some(line) => line.points.push(point),
            None => lines.push(series(group, vec![point])),
        }
    }
    // On a logarithmic axis no labels at all have no place.
    let scale = if shares[0] > 0.0 { Scale::Log } else { Scale::Linear };
    let caption = format!(
        "Error against the share of labelled training steps, {}: {}. Bars: ± one standard error, over seeds if \
         there are several, else over trajectories.",
        world.name, headline.meaning
    );
    let chart = LineChart {
        title: format!("Error against the share of labels: {}", world.name),
        description: caption.clone(),
        x_name: "labelled training steps (%)".into(),
        y_name: headline.name,
        x_scale: scale,
        x_labels: shares.iter().map(|share| (100.0 * share, percent(*share).replace(" %", ""))).collect(),
        spread: Spread::Bars,
        series: lines,
    };
    let picture = Picture::Svg(chart.to_svg());
    let name = format!("labels-{}", file_name(&[&world.name]));
    (!chart.series.is_empty()).then(|| Figure { name, alt: caption.clone(), caption, picture })
}

/// A figure of the last step, of every evaluation that has it.
pub(super) fn last(group: &Group, figure: impl Fn(&StepFigures) -> Option<Measured>) -> Vec<Measured> {
    evaluations(group).filter_map(|evaluation| figure(&evaluation.last)).collect()
}
