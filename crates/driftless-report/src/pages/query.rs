//! What the marker of a table may say.

use crate::paired::Pairs;
use crate::record::{METRICS, Metric};
use driftless_world::{Error, Result};

/// What stands in a column that is no figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Seeds,
    Trajectories,
}

/// The columns of a table.
#[derive(Clone, Debug)]
pub(super) enum Columns {
    /// One a figure.
    Figures(Vec<Column>),
    /// One for each value of a field, for each figure.
    Values(String, Vec<Column>),
    /// Differences between methods.
    Differences(Pairs, Vec<&'static Metric>),
}

/// A figure, or a number of what it was computed from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column {
    Figure(&'static Metric),
    Count(Count),
}

impl Column {
    fn named(name: &str) -> Option<Self> {
        match name {
            "seeds" => Some(Self::Count(Count::Seeds)),
            "trajectories" => Some(Self::Count(Count::Trajectories)),
            _ => Metric::named(name).map(Self::Figure),
        }
    }
}

/// A marker, understood. Words without `=` are files of records, with `*` for any letters of a name. Others are
///
/// | word | meaning |
/// |---|---|
/// | `rows=FIELD,…` | a row for each value; `method` if nothing is said, `label_fraction` with `pairs` |
/// | `columns=FIGURE,…` | these figures; `rmse,median,success` if nothing is said |
/// | `columns=FIELD` | a column for each value, with the figures of `figures=` |
/// | `figures=FIGURE,…` | which; `rmse` if nothing is said |
/// | `pairs=usual`, `pairs=A:B,…` | differences between methods in place of columns |
/// | `FIELD=VALUE,…` | only records with one of these values |
///
/// A field is `method`, `world`, `label_fraction`, `particles`, `odometry_noise`, `data`, `filter_seed` or a setting
/// such as `house.images`. A figure is one of [`METRICS`], `seeds` or `trajectories`.
#[derive(Clone, Debug)]
pub struct Query {
    pub(super) files: Vec<String>,
    pub(super) rows: Vec<String>,
    pub(super) columns: Columns,
    pub(super) filters: Vec<(String, Vec<String>)>,
}

impl Query {
    /// Understands what stands between the colon and the end of a marker.
    pub fn parse(text: &str) -> Result<Self> {
        let mut files = Vec::new();
        let mut said: Vec<(&str, Vec<String>)> = Vec::new();
        for word in text.split_whitespace() {
            let Some((key, value)) = word.split_once('=') else {
                files.push(word.to_owned());
                continue;
            };
            if said.iter().any(|(known, _)| *known == key) {
                return Err(Error::new(format!("{key} is said twice; several values have commas between")));
            }
            said.push((key, value.split(',').map(str::to_owned).collect()));
        }
        if files.is_empty() {
            return Err(Error::new("names no records, as records/house/*.json"));
        }
        let mut take = |key: &str| {
            let at = said.iter().position(|(known, _)| *known == key)?;
            Some(said.remove(at).1)
        };
        let (rows, columns) = (take("rows"), take("columns"));
        let columns = understand(columns, take("figures"), take("pairs"))?;
        let usual = if matches!(columns, Columns::Differences(..)) { "label_fraction" } else { "method" };
        let rows = rows.unwrap_or_else(|| vec![usual.to_owned()]);
        let filters = said.into_iter().map(|(key, values)| (key.to_owned(), values)).collect();
        Ok(Self { files, rows, columns, filters })
    }

    /// Fields that have rows or columns of their own.
    pub(super) fn shown(&self) -> Vec<&str> {
        let column = match &self.columns {
            Columns::Values(field, _) => Some(field.as_str()),
            Columns::Differences(..) => Some("method"),
            Columns::Figures(_) => None,
        };
        self.rows.iter().map(String::as_str).chain(column).collect()
    }
}

type Words = Option<Vec<String>>;

fn understand(columns: Words, chosen: Words, pairs: Words) -> Result<Columns> {
    if let Some(pairs) = pairs {
        if columns.is_some() {
            return Err(Error::new("columns and pairs exclude each other; which figures: figures=…"));
        }
        let columns = figures(&chosen.unwrap_or_else(|| vec!["rmse".to_owned()]))?;
        let metric = |column: &Column| match column {
            Column::Figure(metric) => Ok(*metric),
            Column::Count(_) => Err(Error::new("seeds and trajectories are in every table of pairs")),
        };
        let metrics = columns.iter().map(metric).collect::<Result<_>>()?;
        return Ok(Columns::Differences(Pairs::parse(&pairs.join(","))?, metrics));
    }
    let columns = columns.unwrap_or_else(|| ["rmse", "median", "success"].map(str::to_owned).to_vec());
    match &columns[..] {
        [field] if Column::named(field).is_none() => {
            let chosen = chosen.unwrap_or_else(|| vec!["rmse".to_owned()]);
            Ok(Columns::Values(field.clone(), figures(&chosen)?))
        }
        _ if chosen.is_some() => Err(Error::new("figures=… goes with columns=FIELD or pairs=…")),
        names => Ok(Columns::Figures(figures(names)?)),
    }
}

fn figures(names: &[String]) -> Result<Vec<Column>> {
    let known = || METRICS.iter().map(|metric| metric.name).collect::<Vec<_>>().join(", ");
    let one = |name: &String| {
        Column::named(name).ok_or_else(|| {
            Error::new(format!("{name:?} is no figure; there is {}, seeds, trajectories", known()))
        })
    };
    names.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_any_order() {
        let query =
            Query::parse(" columns=label_fraction records/*.json house.images=depth,rgb figures=rmse,seeds ");
        let query = query.unwrap();
        assert_eq!((query.files, query.rows), (vec!["records/*.json".to_owned()], vec!["method".to_owned()]));
        assert!(
            matches!(&query.columns, Columns::Values(field, figures) if field == "label_fraction" && figures.len() == 2)
        );
        assert_eq!(query.filters, [("house.images".to_owned(), vec!["depth".to_owned(), "rgb".to_owned()])]);
        let pairs = Query::parse("a.json pairs=driftless:lstm,sdpf:dpf").unwrap();
        assert_eq!(pairs.shown(), ["label_fraction", "method"]);
    }

    #[test]
    fn mistakes_are_said() {
        let message = |text: &str| Query::parse(text).unwrap_err().to_string();
        assert!(message("rows=method").contains("names no records"));
        assert!(
            message("a.json columns=rmse,medain").starts_with("\"medain\" is no figure; there is rmse, mean")
        );
        assert!(message("a.json seed=1 seed=2").starts_with("seed is said twice"));
        assert!(message("a.json pairs=usual columns=rmse").contains("exclude each other"));
        assert!(message("a.json columns=rmse figures=mean").contains("goes with columns=FIELD"));
        assert!(message("a.json pairs=driftless").contains("two methods with a colon"));
    }
}
