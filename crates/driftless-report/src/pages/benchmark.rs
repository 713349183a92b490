//! Tables of benchmarks, of the record that `driftless reproduce filters` writes.

use crate::table::{Cell, Table};
use driftless_world::evaluation::Figure;
use driftless_world::files::Source;
use driftless_world::{Error, Result};
use serde::Deserialize;
use std::path::Path;

/// Longer than any record.
const MOST_BYTES: u64 = 1 << 20;
/// More decimals than anybody reads.
const MOST_DECIMALS: i32 = 6;

#[derive(Deserialize)]
struct Record {
    tables: Vec<Recorded>,
}

#[derive(Deserialize)]
struct Recorded {
    id: String,
    about: String,
    columns: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    figures: Vec<Number>,
}

#[derive(Deserialize)]
struct Number {
    value: f64,
    error: Option<f64>,
}

/// The words of a marker that asks for one: a file and `benchmark=ID`.
pub(super) fn asked(words: &str) -> Option<(&str, &str)> {
    let mut words = words.split_whitespace();
    let (file, id) = (words.next()?, words.next()?.strip_prefix("benchmark=")?);
    words.next().is_none().then_some((file, id))
}

/// The table of that name, and a line on what it is of.
pub(super) fn table(path: &Path, id: &str) -> Result<(String, Table)> {
    let text = Source::open(path)?.read_text(MOST_BYTES).map_err(|error| error.in_file(path))?;
    let all = tables(&text).map_err(|error| error.in_file(path))?;
    let known: Vec<String> = all.iter().map(|(name, ..)| name.clone()).collect();
    let found = all.into_iter().find(|(name, ..)| name == id).map(|(_, about, table)| (about, table));
    found.ok_or_else(|| {
        Error::new(format!("has no table {id:?}; there is {}", known.join(", "))).in_file(path)
    })
}

/// All tables of a record: name, what it is of, and the table.
pub fn tables(text: &str) -> Result<Vec<(String, String, Table)>> {
    let record: Record = serde_json::from_str(text)
        .map_err(|error| Error::new(format!("is no record of benchmarks: {error}")))?;
    let made = |one: Recorded| {
        let heads: Vec<&str> = one.columns.iter().map(String::as_str).collect();
        let mut table = Table::new(&one.id, &heads);
        if let Some(row) = one.rows.iter().find(|row| row.figures.len() + 1 != heads.len()) {
            let (name, count) = (&row.name, row.figures.len());
            let problem =
                format!("row {name:?} has {count} figures for {} columns after the first", heads.len() - 1);
            return Err(Error::new(problem).in_record(one.id));
        }
        for row in &one.rows {
            let figures =
                row.figures.iter().enumerate().map(|(k, number)| cell(number, decimals(&one.rows, k)));
            table.push(std::iter::once(Cell::Text(row.name.clone())).chain(figures).collect());
        }
        Ok((one.id, one.about, table))
    };
    record.tables.into_iter().map(made).collect()
}

fn cell(number: &Number, decimals: usize) -> Cell {
    Cell::Figure(Some(Figure { value: number.value, standard_error: number.error, count: 0 }), decimals)
}

/// Two digits of the least error of a column, or three of its least number.
fn decimals(rows: &[Row], column: usize) -> usize {
    let each = || rows.iter().map(|row| &row.figures[column]);
    let least = |numbers: &mut dyn Iterator<Item = f64>| {
        numbers.filter(|number| *number > 0.0).min_by(f64::total_cmp)
    };
    let digits = |number: f64, digits: i32| digits - 1 - number.log10().floor() as i32;
    let errors = least(&mut each().filter_map(|number| number.error)).map(|error| digits(error, 2));
    let wanted = errors.or_else(|| least(&mut each().map(|n| n.value.abs())).map(|value| digits(value, 3)));
    wanted.unwrap_or(0).clamp(0, MOST_DECIMALS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"driftless": "0", "quick": true, "tables": [{"id": "t", "about": "Two filters.",
        "columns": ["filter", "error", "deviation"], "rows": [
        {"name": "a", "figures": [{"value": 1.23456, "error": 0.0123}, {"value": 0.05}]},
        {"name": "b", "figures": [{"value": 12.5, "error": 1.5}, {"value": 250.0}]}]}]}"#;

    #[test]
    fn digits_are_those_that_mean_something() {
        let (name, about, table) = &tables(RECORD).unwrap()[0];
        assert_eq!((name.as_str(), about.as_str()), ("t", "Two filters."));
        let expected = "| filter | error | deviation |\n|---|---|---|\n| a | 1.235 ± 0.012 | 0.0500 |\n\
                        | b | 12.500 ± 1.500 | 250.0000 |\n";
        assert_eq!(table.to_markdown(), expected);
    }

    #[test]
    fn says_what_is_wrong() {
        assert!(
            tables("{}").unwrap_err().to_string().starts_with("is no record of benchmarks: missing field")
        );
        let short = RECORD.replace(r#", {"value": 0.05}"#, "");
        assert_eq!(
            tables(&short).unwrap_err().to_string(),
            "t: row \"a\" has 1 figures for 2 columns after the first"
        );
    }

    #[test]
    fn markers_of_benchmarks_are_known() {
        assert_eq!(asked(" a.json benchmark=t "), Some(("a.json", "t")));
        assert_eq!(asked("a.json rows=method"), None);
        assert_eq!(asked("a.json benchmark=t more"), None);
    }
}
