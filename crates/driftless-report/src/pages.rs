//! Tables in Markdown pages that are made from records: between two markers, and again whenever records change.
//!
//! ```text
//! <!-- table: records/house/*.json rows=method columns=rmse,median,success label_fraction=0.1 -->
//! (the table)
//! <!-- end -->
//! ```
//!
//! [`Query`] says what a marker may hold; `FILE benchmark=ID` is a table of a record of `reproduce filters`, with a line on
//! what it is of. Markers in fenced code are left alone.

mod benchmark;
mod build;
mod query;
mod select;

pub use benchmark::tables as benchmark_tables;
pub use query::Query;

use crate::table::Table;
use driftless_world::{Error, Result};
use std::path::Path;

const BEGIN: &str = "<!-- table:";
const CLOSE: &str = "-->";
const END: &str = "<!-- end -->";

/// A table that is not what the records say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The line of its marker, counted from 1.
    pub line: usize,
    /// Lines as they stand in the page.
    pub old: Vec<String>,
    /// Lines as they should be.
    pub new: Vec<String>,
}

impl Change {
    /// Lines that go and lines that come, in the order of the page.
    ///
    /// ```
    /// use driftless_report::pages::Change;
    /// let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    /// let change = Change { line: 3, old: words("a b c"), new: words("a x c") };
    /// assert_eq!(change.diff(), "-b\n+x\n");
    /// ```
    pub fn diff(&self) -> String {
        let same = |pair: &(&String, &String)| pair.0 == pair.1;
        let head = self.old.iter().zip(&self.new).take_while(same).count();
        let (old, new) = (&self.old[head..], &self.new[head..]);
        let tail = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
        let lines = |sign: char, lines: &[String]| {
            let lines = lines[..lines.len() - tail].iter();
            lines.fold(String::new(), |text, line| text + &format!("{sign}{line}\n"))
        };
        lines('-', old) + &lines('+', new)
    }
}

/// A page with its tables made anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// The whole page.
    pub text: String,
    /// How many tables it has.
    pub tables: usize,
    /// Those that were not as they should be.
    pub changes: Vec<Change>,
}

/// Makes all tables of a page anew, from records in folders beside `folder`. Methods stand in the order of `methods`.
///
/// Errors name the line of the marker.
pub fn renew(text: &str, folder: &Path, methods: &[&str]) -> Result<Renewed> {
    let lines: Vec<&str> = text.lines().collect();
    let mut renewed = Renewed { text: String::new(), tables: 0, changes: vec![] };
    let (mut at, mut fenced) = (0, false);
    while at < lines.len() {
        let line = lines[at];
        fenced ^= line.trim_start().starts_with("```");
        push(&mut renewed.text, line);
        let first = at;
        at += 1;
        if fenced || !line.trim_start().starts_with(BEGIN) {
            continue;
        }
        let name = format!("line {at}");
        let (new, end) = table(&lines, first, folder, methods)
            .map_err(|error| Error::new(error.to_string()).in_record(name))?;
        let old: Vec<String> = lines[at..end].iter().map(ToString::to_string).collect();
        for line in &new {
            push(&mut renewed.text, line);
        }
        renewed.tables += 1;
        if old != new {
            renewed.changes.push(Change { line: first + 1, old, new });
        }
        at = end;
    }
    if !text.ends_with('\n') && renewed.changes.is_empty() {
        renewed.text.truncate(text.len());
    }
    Ok(renewed)
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The table of the marker in line `first`, and the line at which it ends.
fn table(lines: &[&str], first: usize, folder: &Path, methods: &[&str]) -> Result<(Vec<String>, usize)> {
    let marker = lines[first].trim();
    let Some(inner) = marker.strip_suffix(CLOSE) else {
        return Err(Error::new(format!("the marker of a table must be one line that ends with {CLOSE}")));
    };
    let rest = lines[first + 1..].iter().map(|line| line.trim());
    let stops = |line: &str| line == END || line.starts_with(BEGIN);
    let end = rest.enumerate().find(|(_, line)| stops(line)).filter(|(_, line)| *line == END);
    let Some((length, _)) = end else {
        return Err(Error::new(format!("the table that begins here has no {END}")));
    };
    let words = &inner[BEGIN.len()..];
    let (about, table) = match benchmark::asked(words) {
        Some((file, id)) => benchmark::table(&folder.join(file), id)?,
        None => (String::new(), of_records(words, folder, methods)?),
    };
    let about = if about.is_empty() { Vec::new() } else { vec![about, String::new()] };
    let rows = table.to_markdown();
    Ok((about.into_iter().chain(rows.lines().map(str::to_owned)).collect(), first + 1 + length))
}

fn of_records(words: &str, folder: &Path, methods: &[&str]) -> Result<Table> {
    let query = Query::parse(words)?;
    let records = select::load(folder, &query)?;
    build::table(&query, &select::select(&query, &records, methods)?, methods)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        renew(text, Path::new("/nowhere"), &[]).unwrap_err().to_string()
    }

    #[test]
    fn markers_that_are_wrong_are_named_by_line() {
        assert_eq!(
            message("\n<!-- table: a.json\n"),
            "line 2: the marker of a table must be one line that ends with -->"
        );
        let open = "words\n\n<!-- table: a.json -->\n| a |\n<!-- table: b.json -->\n<!-- end -->\n";
        assert_eq!(message(open), "line 3: the table that begins here has no <!-- end -->");
        let unknown = "<!-- table: a.json colums=rmse -->\n<!-- end -->";
        assert!(message(unknown).starts_with("line 1: /nowhere/a.json: cannot open"), "{}", message(unknown));
    }

    #[test]
    fn pages_without_tables_stay_as_they_are() {
        for text in ["", "a\n", "a\n\nb", "```text\n<!-- table: x -->\n```\n"] {
            let renewed = renew(text, Path::new("."), &[]).unwrap();
            assert_eq!((renewed.text.as_str(), renewed.tables), (text, 0));
        }
    }
}
