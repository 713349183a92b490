//! States of named coordinates: estimate and truth of each over time, and a table of errors in their own units.

use super::group::{Comparison, Group, World, file_name};
use super::panels::evaluations;
use super::{Figure, Picture};
use crate::chart::{LineChart, LineSeries, Point};
use crate::record::pooled;
use crate::table::{Cell, Table};
use driftless_world::Episode;
use driftless_world::evaluation::Coordinate;

/// Decimals of errors in units that nobody knows.
const DECIMALS: usize = 4;

/// A chart for each coordinate of the first episode of each group; none where states are planar.
pub(super) fn charts(world: &World) -> Vec<Figure> {
    let of_group = |group: &Group| -> Vec<Figure> {
        let Some(episode) = group.runs.iter().find_map(|run| run.episodes.first()) else { return Vec::new() };
        let named = episode.coordinates.iter().enumerate();
        named.map(|(k, coordinate)| chart(world, group, episode, (k, coordinate))).collect()
    };
    world.groups.iter().flat_map(of_group).collect()
}

fn chart(world: &World, group: &Group, episode: &Episode, (k, coordinate): (usize, &Coordinate)) -> Figure {
    let [truth, estimate] = lines(episode, k, coordinate);
    let unwrapped = if coordinate.angle { ", turned on beyond half a turn" } else { "" };
    let caption = format!(
        "{}{unwrapped}: estimate and truth along {} by {}, {} labels. Band: the belief's standard deviation.",
        coordinate.name,
        episode.title,
        group.label,
        group.share_label()
    );
    let line = |name: &str, colour, points| LineSeries { name: name.into(), colour, points };
    let chart = LineChart {
        title: format!("{} over time: {}, {}", coordinate.name, group.label, world.name),
        description: caption.clone(),
        x_name: "step".into(),
        y_name: coordinate.title(),
        series: vec![line("truth", 1, truth), line("estimate", 0, estimate)],
        ..LineChart::default()
    };
    let name = file_name(&[&world.name, &group.label, &group.share_label(), &coordinate.name]);
    let picture = Picture::Svg(chart.to_svg());
    Figure { name: format!("state-{name}"), alt: caption.clone(), caption, picture }
}

/// Truth and estimate, without the jumps of an angle that was wrapped: the truth is where it is seen from the estimate.
fn lines(episode: &Episode, k: usize, coordinate: &Coordinate) -> [Vec<Point>; 2] {
    let (mut truths, mut estimates, mut before) = (Vec::new(), Vec::new(), None);
    for (t, step) in episode.steps.iter().enumerate() {
        let Some((state, found)) = step.state.as_ref().and_then(|state| Some((state, state.estimate[k]?)))
        else {
            continue;
        };
        let at = before.map_or(found, |(at, last): (f64, f64)| at + coordinate.difference(found, last));
        before = Some((at, found));
        let x = t as f64;
        estimates.push(Point { x, y: at, spread: state.deviation.get(k).copied() });
        if let Some(truth) = &state.truth {
            truths.push(Point { x, y: at + coordinate.difference(truth[k], found), spread: None });
        }
    }
    [truths, estimates]
}

/// Errors of each coordinate in its own unit.
pub(super) fn table(comparison: &Comparison) -> Table {
    let columns = [
        "method",
        "world",
        "labels",
        "seeds",
        "coordinate",
        "RMSE, all steps",
        "median",
        "RMSE, last step",
        "deviation",
    ];
    let mut table = Table::new("Errors of each coordinate, mean ± standard error", &columns);
    let groups =
        comparison.worlds.iter().flat_map(|world| world.groups.iter().map(move |group| (world, group)));
    for (world, group) in groups {
        let all: Vec<_> = evaluations(group).collect();
        let Some(first) = all.first() else { continue };
        for (k, named) in first.coordinates.iter().enumerate() {
            let own = || all.iter().filter_map(|evaluation| evaluation.coordinates.get(k));
            let medians: Vec<f64> = own().filter_map(|errors| errors.median).collect();
            let median = (!medians.is_empty()).then(|| medians.iter().sum::<f64>() / medians.len() as f64);
            table.push(vec![
                Cell::Text(group.label.clone()),
                Cell::Text(world.name.clone()),
                Cell::Text(group.share_label()),
                Cell::Count(all.len()),
                Cell::Text(named.coordinate.title()),
                Cell::Figure(pooled(&own().filter_map(|errors| errors.rmse).collect::<Vec<_>>()), DECIMALS),
                Cell::Number(median, DECIMALS),
                Cell::Figure(
                    pooled(&own().filter_map(|errors| errors.last_rmse).collect::<Vec<_>>()),
                    DECIMALS,
                ),
                Cell::Number(Some(named.coordinate.deviation), DECIMALS),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;
    use driftless_world::About;
    use driftless_world::evaluation::{Plan, Seen, StateStep};

    /// An angle that turns on through half a turn, whose truth is 0.1 ahead.
    #[test]
    fn angles_are_drawn_without_jumps() {
        let coordinate = Coordinate { name: "turn".into(), angle: true, step: 0.5, deviation: 1.0 };
        let plan = Plan { high: [1.0; 2], ..Plan::default() };
        let about = About { world: "arm".into(), label: "ours".into(), ..About::default() };
        let mut episode = Episode::new("trajectory 0", about, plan).unwrap();
        episode.coordinates = vec![coordinate.clone()];
        for t in 0..10 {
            let wrap = driftless_world::pose::wrap;
            let estimate = vec![Some(wrap(2.0 + 0.5 * f64::from(t)))];
            let truth = (t != 3).then(|| vec![wrap(2.1 + 0.5 * f64::from(t))]);
            let state = StateStep { truth, estimate, deviation: vec![0.2] };
            episode.push(&Seen { state: Some(&state), ..Seen::default() }).unwrap();
        }
        let [truths, estimates] = lines(&episode, 0, &coordinate);
        assert_eq!((truths.len(), estimates.len()), (9, 10));
        for (found, t) in truths.iter().zip([0, 1, 2, 4, 5, 6, 7, 8, 9]) {
            assert!((found.y - 2.1 - 0.5 * f64::from(t)).abs() < 1e-9, "{found:?}");
        }
        assert!(estimates.windows(2).all(|pair| (pair[1].y - pair[0].y - 0.5).abs() < 1e-9));
        let run = Run { episodes: vec![episode], ..Run::default() };
        let comparison = Comparison::of(&[&run]);
        let figures = charts(&comparison.worlds[0]);
        assert_eq!(figures.len(), 1);
        assert!(figures[0].html().contains("turn over time") && figures[0].name.starts_with("state-arm"));
    }
}
