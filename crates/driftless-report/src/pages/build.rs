//! Tables of chosen records: figures by row and column, or differences between methods.

use super::query::{Column, Columns, Count, Query};
use super::select::Named;
use crate::paired::{Arm, Paired, Pairs, compare};
use crate::record::{Metric, Record, pooled, told};
use crate::report::percent;
use crate::table::{Cell, Table};
use driftless_world::evaluation::Figure;
use driftless_world::{Error, Result};

/// The table that a query asks for, of records in order.
pub(super) fn table(query: &Query, chosen: &[&Named], methods: &[&str]) -> Result<Table> {
    let records: Vec<&Record> = chosen.iter().map(|(_, record)| record).collect();
    match &query.columns {
        Columns::Figures(columns) => Ok(of_figures(query, &records, columns)),
        Columns::Values(field, columns) => Ok(of_values(query, &records, field, columns)),
        Columns::Differences(pairs, metrics) => of_differences(query, &records, (pairs, metrics), methods),
    }
}

/// Records that have the same values of fields, in their order.
fn grouped<'a>(records: &[&'a Record], fields: &[&str]) -> Vec<(Vec<String>, Vec<&'a Record>)> {
    let mut groups: Vec<(Vec<String>, Vec<&Record>)> = Vec::new();
    for record in records {
        let values: Vec<String> = fields.iter().map(|field| shown(record, field)).collect();
        match groups.iter_mut().find(|(known, _)| *known == values) {
            Some((_, group)) => group.push(record),
            None => groups.push((values, vec![record])),
        }
    }
    groups
}

/// A value as tables show it.
fn shown(record: &Record, field: &str) -> String {
    match field {
        "method" => record.about.label.clone(),
        "label_fraction" => percent(record.about.label_fraction),
        "particles" if record.about.particles == 0 => "–".to_owned(),
        _ => record.get(field).map_or("–".to_owned(), |value| told(&value)),
    }
}

fn field_head(field: &str) -> &str {
    if field == "label_fraction" { "labels" } else { field }
}

/// The unit of length, if all records have the same.
fn unit<'a>(records: &[&'a Record]) -> &'a str {
    let first = records.first().map_or("units", |record| record.about.unit());
    if records.iter().all(|record| record.about.unit() == first) { first } else { "world's unit" }
}

fn head(column: Column, unit: &str) -> String {
    match column {
        Column::Figure(metric) => metric.head(unit),
        Column::Count(Count::Seeds) => "seeds".to_owned(),
        Column::Count(Count::Trajectories) => "trajectories".to_owned(),
    }
}

/// The mean over seeds ± its standard error, or that over trajectories of the only seed.
fn cell(column: Column, records: &[&Record]) -> Cell {
    match column {
        Column::Figure(metric) => {
            let figures: Vec<Figure> = records.iter().filter_map(|record| record.figure(metric)).collect();
            records
                .first()
                .map_or(Cell::Text("–".into()), |record| metric.cell(pooled(&figures), &record.about))
        }
        Column::Count(Count::Seeds) => Cell::Count(records.len()),
        Column::Count(Count::Trajectories) => Cell::Count(records.first().map_or(0, |record| record.len())),
    }
}

fn empty(query: &Query, heads: Vec<String>) -> Table {
    let rows = query.rows.iter().map(|field| field_head(field).to_owned());
    let all: Vec<String> = rows.chain(heads).collect();
    Table::new("", &all.iter().map(String::as_str).collect::<Vec<_>>())
}

fn row_fields(query: &Query) -> Vec<&str> {
    query.rows.iter().map(String::as_str).collect()
}

fn of_figures(query: &Query, records: &[&Record], columns: &[Column]) -> Table {
    let unit = unit(records);
    let mut table = empty(query, columns.iter().map(|column| head(*column, unit)).collect());
    for (values, group) in grouped(records, &row_fields(query)) {
        let words = values.into_iter().map(Cell::Text);
        table.push(words.chain(columns.iter().map(|column| cell(*column, &group))).collect());
    }
    table
}

fn of_values(query: &Query, records: &[&Record], field: &str, columns: &[Column]) -> Table {
    let unit = unit(records);
    // In the order of the column's own values, which is not that of the rows.
    let mut sorted = records.to_vec();
    sorted.sort_by(|one, other| {
        let [one, other] = [one, other].map(|record| record.get(field).unwrap_or_default());
        let numbers = one.as_f64().zip(other.as_f64()).map(|(one, other)| one.total_cmp(&other));
        numbers.unwrap_or_else(|| told(&one).cmp(&told(&other)))
    });
    let values: Vec<String> =
        grouped(&sorted, &[field]).into_iter().filter_map(|(mut values, _)| values.pop()).collect();
    let heads = values.iter().flat_map(|value| {
        columns.iter().map(move |column| match columns {
            [_] => value.clone(),
            _ => format!("{value}: {}", head(*column, unit)),
        })
    });
    let mut table = empty(query, heads.collect());
    for (words, group) in grouped(records, &row_fields(query)) {
        let mut row: Vec<Cell> = words.into_iter().map(Cell::Text).collect();
        for value in &values {
            let here: Vec<&Record> =
                group.iter().copied().filter(|record| shown(record, field) == *value).collect();
            row.extend(columns.iter().map(|column| cell(*column, &here)));
        }
        table.push(row);
    }
    table
}

/// One row for each pair of methods and each value of the rows' fields.
fn of_differences(
    query: &Query,
    records: &[&Record],
    (pairs, metrics): (&Pairs, &[&'static Metric]),
    methods: &[&str],
) -> Result<Table> {
    let fields = row_fields(query);
    let by: Vec<&str> = ["method"].into_iter().chain(fields.iter().copied()).collect();
    let mut arms: Vec<Arm> = Vec::new();
    for (mut values, records) in grouped(records, &by) {
        arms.push(Arm { label: values.swap_remove(0), method: records[0].about.method.clone(), records });
    }
    // Rows come by pair first, then by their fields, in which records are sorted.
    arms.sort_by_key(|arm| methods.iter().position(|method| *method == arm.method).unwrap_or(methods.len()));
    let found = compare(&arms, pairs, metrics[0].quantity);
    if found.is_empty() {
        return Err(Error::new("no two methods of these pairs have records that can be compared"));
    }
    let heads = difference_heads(&fields, metrics, unit(records));
    let mut table = Table::new("", &heads.iter().map(String::as_str).collect::<Vec<_>>());
    for paired in &found {
        table.push(row(paired, &fields, metrics));
    }
    Ok(table)
}

fn difference_heads(fields: &[&str], metrics: &[&'static Metric], unit: &str) -> Vec<String> {
    let of_metric = |metric: &&'static Metric| {
        let quantity = metric.quantity;
        let unit = if quantity.is_share() { "points".to_owned() } else { quantity.unit(unit) };
        [format!("difference of {}, {unit} [95 % interval]", quantity.words()), "better on".to_owned()]
    };
    let opening = ["method", "compared with"].into_iter().chain(fields.iter().map(|field| field_head(field)));
    let opening = opening.chain(["seeds", "trajectories"]).map(str::to_owned);
    opening.chain(metrics.iter().flat_map(of_metric)).collect()
}

fn row(paired: &Paired, fields: &[&str], metrics: &[&'static Metric]) -> Vec<Cell> {
    let mut row = vec![Cell::Text(paired.one.label.clone()), Cell::Text(paired.other.label.clone())];
    row.extend(fields.iter().map(|field| Cell::Text(shown(paired.common, field))));
    row.extend([Cell::Text(paired.seeds()), Cell::Text(paired.trajectories())]);
    for metric in metrics {
        match paired.of(metric.quantity) {
            Some(paired) => row.extend([paired.cell(), paired.improved()]),
            None => row.extend([Cell::Text("–".into()), Cell::Text("–".into())]),
        }
    }
    row
}
