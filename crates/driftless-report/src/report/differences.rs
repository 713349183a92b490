//! Differences between the methods of a world, trajectory by trajectory: a table and a picture.

use super::group::{Comparison, World, file_name, percent};
use super::headline::Headline;
use super::{Figure, Picture};
use crate::chart::{Forest, ForestRow};
use crate::paired::{Arm, Paired, Pairs, compare};
use crate::record::{Quantity, Record};
use crate::table::{Cell, Table};
use std::borrow::Cow;

/// Heads of the table.
const COLUMNS: [&str; 10] = [
    "method",
    "compared with",
    "world",
    "labels",
    "seeds",
    "trajectories",
    "figure",
    "mean difference [95 % interval]",
    "better on",
    "difference of success, points",
];

/// The table and a picture of each world that has something to compare.
pub(super) struct Differences {
    pub(super) table: Table,
    /// By world, in the order of the comparison.
    pub(super) figures: Vec<Option<Figure>>,
}

impl Differences {
    pub(super) fn of(comparison: &Comparison, pairs: &Pairs) -> Self {
        let mut table =
            Table::new("Differences on the same trajectories, negative errors are better", &COLUMNS);
        let figures = comparison.worlds.iter().map(|world| of_world(world, pairs, &mut table)).collect();
        Self { table, figures }
    }
}

fn of_world(world: &World, pairs: &Pairs, table: &mut Table) -> Option<Figure> {
    let kept: Vec<(usize, Cow<Record>)> = world
        .groups
        .iter()
        .enumerate()
        .flat_map(|(index, group)| group.runs.iter().filter_map(move |run| Some((index, run.kept()?))))
        .collect();
    let arm = |index: usize| {
        let own = kept.iter().filter(|(of, _)| *of == index);
        let records: Vec<&Record> = own.map(|(_, record)| record.as_ref()).collect();
        let method = records.first()?.about.method.clone();
        Some(Arm { label: world.groups[index].label.clone(), method, records })
    };
    let arms: Vec<Arm> = (0..world.groups.len()).filter_map(arm).collect();
    let quantity = Headline::of(world).quantity;
    let found = compare(&arms, pairs, quantity);
    for paired in &found {
        table.push(row(world, paired));
    }
    (!found.is_empty()).then(|| picture(world, &found))
}

fn row(world: &World, paired: &Paired) -> Vec<Cell> {
    let quantity = paired.quantity;
    vec![
        Cell::Text(paired.one.label.clone()),
        Cell::Text(paired.other.label.clone()),
        Cell::Text(world.name.clone()),
        Cell::Text(percent(paired.common.about.label_fraction)),
        Cell::Text(paired.seeds()),
        Cell::Text(paired.trajectories()),
        Cell::Text(format!("{} ({})", quantity.words(), quantity.unit(world.unit()))),
        paired.cell(),
        paired.improved(),
        paired.of(Quantity::Success).map_or(Cell::Text("–".into()), |success| success.cell()),
    ]
}

fn picture(world: &World, found: &[Paired]) -> Figure {
    let colour = |paired: &Paired| {
        let same = world.groups.iter().find(|group| group.label == paired.other.label);
        same.map_or(0, |group| group.colour)
    };
    let row = |paired: &Paired| ForestRow {
        heading: format!("{} minus {}", paired.one.label, paired.other.label),
        name: percent(paired.common.about.label_fraction),
        colour: colour(paired),
        value: paired.difference.mean,
        interval: paired.difference.interval,
        words: paired.cell().words(),
    };
    let mut rows: Vec<ForestRow> = Vec::new();
    for new in found.iter().map(row) {
        // Shares of labels of one comparison stand together.
        let after =
            rows.iter().rposition(|old| old.heading == new.heading).map_or(rows.len(), |last| last + 1);
        rows.insert(after, new);
    }
    let quantity = found[0].quantity;
    let (words, unit) = (quantity.words(), quantity.unit(world.unit()));
    let caption = format!(
        "Differences of the {words} on the same test trajectories, {}, by share of labels. Left of zero the first \
         method is better. Bars: 95 % bootstrap intervals over trajectories and seeds.",
        world.name
    );
    let chart = Forest {
        title: format!("Differences between methods: {}", world.name),
        description: caption.clone(),
        x_name: format!("difference of the {words} ({unit})"),
        rows,
    };
    let name = format!("paired-{}", file_name(&[&world.name]));
    Figure { name, alt: caption.clone(), caption, picture: Picture::Svg(chart.to_svg()) }
}
