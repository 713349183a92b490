//! `metrics.csv`: one row an epoch, numbers or nothing.

use driftless_world::{Error, Result};

/// Columns of numbers by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    names: Vec<String>,
    rows: Vec<Vec<Option<f64>>>,
}

impl Metrics {
    /// Reads a header and rows of numbers.
    ///
    /// An empty field is absent, and so is a number that is not finite. A last line without its end is
    /// being written at this moment and is left out.
    ///
    /// ```
    /// use driftless_report::Metrics;
    /// let metrics = Metrics::parse("epoch,loss,validation_rmse\n1,0.5,\n2,0.25,7\n3,0.")?;
    /// assert_eq!(metrics.points("epoch", "loss"), [(1.0, 0.5), (2.0, 0.25)]);
    /// assert_eq!(metrics.points("epoch", "validation_rmse"), [(2.0, 7.0)]);
    /// # Ok::<(), driftless_world::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let mut lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(str::trim_end);
        let header = lines.next().ok_or_else(|| Error::new("has no header"))?;
        let names: Vec<String> = header.split(',').map(|name| name.trim().to_owned()).collect();
        if !names.iter().any(|name| name == "epoch") {
            return Err(Error::new("has no column of this name").in_field("epoch"));
        }
        let mut rows = Vec::new();
        for (i, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
            rows.push(row(line, &names).map_err(|error| error.in_record(format_args!("line {}", i + 2)))?);
        }
        Ok(Self { names, rows })
    }

    /// True if there is such a column with at least one number.
    pub fn has(&self, name: &str) -> bool {
        self.column(name).is_some_and(|k| self.rows.iter().any(|row| row[k].is_some()))
    }

    /// Pairs of two columns, in rows that have both; empty if there is no such column.
    pub fn points(&self, x: &str, y: &str) -> Vec<(f64, f64)> {
        let Some((x, y)) = self.column(x).zip(self.column(y)) else { return vec![] };
        self.rows.iter().filter_map(|row| row[x].zip(row[y])).collect()
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }
}

fn row(line: &str, names: &[String]) -> Result<Vec<Option<f64>>> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() != names.len() {
        return Err(Error::new(format!("has {} fields, the header has {}", fields.len(), names.len())));
    }
    let number = |(field, name): (&&str, &String)| {
        if field.is_empty() {
            return Ok(None);
        }
        let value: f64 = field
            .parse()
            .map_err(|_| Error::new(format!("{field:?} is not a number")).in_field(name.as_str()))?;
        Ok(Some(value).filter(|value| value.is_finite()))
    };
    fields.iter().zip(names).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_named() {
        let message = |text: &str| Metrics::parse(text).unwrap_err().to_string();
        assert_eq!(message(""), "has no header");
        assert_eq!(message("loss\n1\n"), "field epoch: has no column of this name");
        assert_eq!(message("epoch,loss\n1,2\n3\n"), "line 3: has 1 fields, the header has 2");
        assert_eq!(message("epoch,loss\r\n1,x\r\n"), "line 2: field loss: \"x\" is not a number");
    }

    #[test]
    fn what_is_not_finite_is_absent() {
        let metrics = Metrics::parse("epoch,loss\n1,NaN\n2,inf\n\n3,4\n").unwrap();
        assert_eq!(metrics.points("epoch", "loss"), [(3.0, 4.0)]);
        assert!(metrics.has("loss") && !metrics.has("validation_rmse"));
        assert!(!Metrics::parse("epoch,loss\n1,\n").unwrap().has("loss"));
    }
}
