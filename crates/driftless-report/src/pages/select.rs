//! Which records a table is made of, and whether they may stand in one table.

use super::query::{Columns, Query};
use crate::record::{Record, is_condition, told};
use crate::run::Run;
use driftless_world::{Error, Result};
use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};

/// A record and the name of its file.
pub(super) type Named = (String, Record);

/// Fields that methods must have in common to be compared, besides what a robot has to work with.
const SAME: [&str; 3] = ["world", "data", "filter_seed"];

/// All records of a query's files, by name.
pub(super) fn load(folder: &Path, query: &Query) -> Result<Vec<Named>> {
    let mut records = Vec::new();
    for pattern in &query.files {
        for path in matching(folder, pattern)? {
            let run = Run::of_record(&path)?;
            records.extend(run.record.map(|record| (run.name, record)));
        }
    }
    Ok(records)
}

/// Files whose name fits a pattern, in order.
fn matching(folder: &Path, pattern: &str) -> Result<Vec<PathBuf>> {
    let (inner, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    let folder = folder.join(inner);
    if inner.contains('*') {
        return Err(Error::new(format!("{pattern}: only the name of a file may hold *, not its folder")));
    }
    if !name.contains('*') {
        return Ok(vec![folder.join(name)]);
    }
    let entries =
        fs::read_dir(&folder).map_err(|source| Error::io("cannot read", source).in_file(&folder))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut found: Vec<String> = names.filter(|found| fits(found, name)).collect();
    found.sort();
    if found.is_empty() {
        return Err(Error::new(format!("{pattern}: there is no such file in {}", folder.display())));
    }
    Ok(found.iter().map(|name| folder.join(name)).collect())
}

/// Whether a name fits a pattern in which `*` is any letters.
fn fits(name: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(name) = name.strip_prefix(start) else { return false };
    name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| fits(&name[at..], rest))
}

/// The records that a query wants, in the order of rows: checked, so that nothing but what rows, columns and seeds say
/// tells them apart.
pub(super) fn select<'a>(query: &Query, all: &'a [Named], methods: &[&str]) -> Result<Vec<&'a Named>> {
    for (field, _) in &query.filters {
        check_known(field, all)?;
    }
    let wanted =
        |(_, record): &&Named| query.filters.iter().all(|(field, values)| has(record, field, values));
    let mut chosen: Vec<&Named> = all.iter().filter(wanted).collect();
    if chosen.is_empty() {
        return Err(Error::new(format!("no record fits, of {} in these files", all.len())));
    }
    query.shown().iter().try_for_each(|field| check_known(field, all))?;
    check_alike(query, &chosen)?;
    let fields = query.shown();
    chosen.sort_by(|(one_name, one), (other_name, other)| {
        let orders = fields.iter().map(|field| order(field, one, other, methods));
        let order = orders.fold(Ordering::Equal, Ordering::then);
        order.then(one.about.seed.cmp(&other.about.seed)).then(one_name.cmp(other_name))
    });
    Ok(chosen)
}

fn check_known(field: &str, all: &[Named]) -> Result<()> {
    if all.iter().any(|(_, record)| record.get(field).is_some()) {
        return Ok(());
    }
    let mut names: Vec<&str> = all.iter().flat_map(|(_, record)| record.names()).collect();
    names.sort_unstable();
    names.dedup();
    Err(Error::new(format!("no record has {field:?}; there is {}", names.join(", "))))
}

/// Whether a field has one of some values; what a method has no use for fits all.
fn has(record: &Record, field: &str, values: &[String]) -> bool {
    let Some(own) = record.get(field) else { return false };
    let same = |value: &String| match (own.as_f64(), value.parse::<f64>()) {
        (Some(own), Ok(value)) => own == value,
        _ => told(&own) == *value,
    };
    own.is_null() || values.iter().any(same)
}

/// Numbers by size, methods as they are listed, all else by letters.
fn order(field: &str, one: &Record, other: &Record, methods: &[&str]) -> Ordering {
    if field == "method" {
        let place = |record: &Record| {
            let listed = methods.iter().position(|method| *method == record.about.method);
            (listed.unwrap_or(methods.len()), record.about.label.clone())
        };
        return place(one).cmp(&place(other));
    }
    let [one, other] = [one, other].map(|record| record.get(field).unwrap_or_default());
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        _ => told(&one).cmp(&told(&other)),
    }
}

/// Fails if a reader would compare what cannot be compared, or if seeds of unlike runs would be averaged.
fn check_alike(query: &Query, chosen: &[&Named]) -> Result<()> {
    let shown = query.shown();
    for (index, (name, record)) in chosen.iter().enumerate() {
        for (other_name, other) in &chosen[..index] {
            let differs = record.differences(other);
            let other_world = shown.contains(&"world") && differs.contains(&"world");
            let same_method = record.about.label == other.about.label;
            // Rows of methods are told apart by their labels.
            let one_row = |field: &str| field == "method" && same_method;
            let explained = |field: &&&str| shown.contains(*field) && !one_row(field) || **field == "seed";
            // A world has a test file of its own, and a seed may have a filter's noise of its own.
            let of_world = |field: &&&str| {
                other_world && **field == "data" || **field == "filter_seed" && differs.contains(&"seed")
            };
            // Pairs are compared where these are the same, and not otherwise.
            let in_pairs = matches!(query.columns, Columns::Differences(..));
            let matters =
                |field: &&&str| same_method || !in_pairs && (SAME.contains(*field) || is_condition(field));
            let hidden: Vec<&str> = differs
                .iter()
                .filter(|field| !explained(field) && !of_world(field) && matters(field))
                .copied()
                .collect();
            if let Some(field) = hidden.first() {
                return Err(unlike(field, [(name, record), (other_name, other)]));
            }
            if same_method && !differs.iter().any(|field| shown.contains(field) || *field == "seed") {
                return Err(Error::new(format!("{other_name} and {name} are of the same seed and settings")));
            }
        }
    }
    Ok(())
}

fn unlike(field: &str, [one, other]: [(&String, &Record); 2]) -> Error {
    let value = |record: &Record| record.get(field).map_or("–".to_owned(), |value| told(&value));
    let contents = if value(one.1) == value(other.1) { " (of other contents)" } else { "" };
    Error::new(format!(
        "{} has {field} {}, {} has {}{contents}: choose with {field}=VALUE, or show it with rows=…,{field}",
        other.0,
        value(other.1),
        one.0,
        value(one.1)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_are_any_letters() {
        let all = ["a*.json", "*", "*seed*", "a-seed1.json", "a*1*n"];
        assert!(all.iter().all(|pattern| fits("a-seed1.json", pattern)));
        assert!(!["b*", "a*2*", "a", "*x"].iter().any(|pattern| fits("a-seed1.json", pattern)));
        assert!(fits("größe.json", "*e.json") && fits("größe.json", "gr*e*"));
        let error = matching(Path::new("."), "a*/b.json").unwrap_err().to_string();
        assert!(error.contains("only the name of a file"), "{error}");
    }
}
