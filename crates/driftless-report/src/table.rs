//! Tables as Markdown, CSV and HTML from the same cells.

use crate::chart::escape;
use driftless_world::evaluation::Figure;

/// What stands where a number is missing.
const NOTHING: &str = "–";

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A whole number.
    Count(usize),
    /// A number with so many decimals, if it is known.
    Number(Option<f64>, usize),
    /// A figure and its standard error with so many decimals, if it is known; CSV has them apart.
    Figure(Option<Figure>, usize),
    /// The same as a percentage; CSV has shares.
    Percent(Option<Figure>),
    /// A difference with its interval, if that is known, with so many decimals; CSV has them apart.
    Interval(f64, Option<[f64; 2]>, usize),
}

impl Cell {
    /// The cell as people read it.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Text(words) => words.clone(),
            Self::Count(count) => count.to_string(),
            Self::Number(value, decimals) => value.map_or(NOTHING.into(), |value| fixed(value, *decimals)),
            Self::Figure(figure, decimals) => with_error(figure.as_ref(), 1.0, *decimals, ""),
            Self::Percent(figure) => with_error(figure.as_ref(), 100.0, 1, " %"),
            Self::Interval(value, interval, decimals) => with_interval(*value, *interval, *decimals),
        }
    }

    /// The cell as programs read it: unrounded, empty where unknown, figures with their errors.
    fn fields(&self) -> Vec<String> {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        match self {
            Self::Text(words) => vec![quoted(words)],
            Self::Count(count) => vec![count.to_string()],
            Self::Number(value, _) => vec![number(*value)],
            Self::Figure(figure, _) | Self::Percent(figure) => {
                vec![number(figure.map(|f| f.value)), number(figure.and_then(|f| f.standard_error))]
            }
            Self::Interval(value, interval, _) => {
                vec![number(Some(*value)), number(interval.map(|i| i[0])), number(interval.map(|i| i[1]))]
            }
        }
    }

    /// What the columns of CSV after the first are called.
    fn more_columns(&self) -> &'static [&'static str] {
        match self {
            Self::Figure(..) | Self::Percent(_) => &["standard error"],
            Self::Interval(..) => &["2.5 %", "97.5 %"],
            Self::Text(_) | Self::Count(_) | Self::Number(..) => &[],
        }
    }
}

fn fixed(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

fn with_error(figure: Option<&Figure>, factor: f64, decimals: usize, unit: &str) -> String {
    let Some(figure) = figure else { return NOTHING.into() };
    let value = fixed(factor * figure.value, decimals);
    let error = figure.standard_error.map(|error| format!(" ± {}", fixed(factor * error, decimals)));
    format!("{value}{}{unit}", error.unwrap_or_default())
}

/// As "-1.2 [-2.0, -0.4]".
fn with_interval(value: f64, interval: Option<[f64; 2]>, decimals: usize) -> String {
    let signed = |value: f64| {
        let text = format!("{value:+.decimals$}");
        // What is rounded to zero has no sign.
        if text.trim_start_matches(['+', '-', '0', '.']).is_empty() { text[1..].to_owned() } else { text }
    };
    let interval = interval.map(|[low, high]| format!(" [{}, {}]", signed(low), signed(high)));
    signed(value) + &interval.unwrap_or_default()
}

/// A field of CSV (RFC 4180): quoted if it must be.
fn quoted(words: &str) -> String {
    let special = words.contains([',', '"', '\n', '\r']);
    if special { format!("\"{}\"", words.replace('"', "\"\"")) } else { words.into() }
}

/// Named columns and rows of cells; a column has cells of one kind.
///
/// ```
/// use driftless_report::{Cell, Table};
/// let mut table = Table::new("Errors", &["method", "RMSE"]);
/// table.push(vec![Cell::Text("SDPF".into()), Cell::Number(Some(1.25), 1)]);
/// assert_eq!(table.to_csv(), "method,RMSE\nSDPF,1.25\n");
/// assert_eq!(table.to_markdown(), "| method | RMSE |\n|---|---|\n| SDPF | 1.2 |\n");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The headline.
    pub title: String,
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        Self { title: title.into(), columns: columns.iter().map(ToString::to_string).collect(), rows: vec![] }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has not as many cells as there are columns.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.columns.len(), "a row of another width");
        self.rows.push(row);
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table for documents.
    pub fn to_markdown(&self) -> String {
        let line = |cells: Vec<String>| {
            let cells: Vec<String> =
                cells.iter().map(|cell| cell.replace('|', "\\|").replace(['\n', '\r'], " ")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = format!("|{}\n", "---|".repeat(self.columns.len()));
        let rows: String = self.rows.iter().map(|row| line(row.iter().map(Cell::words).collect())).collect();
        line(self.columns.clone()) + &rule + &rows
    }

    /// The table for programs; a figure's column is followed by one for its standard error, a difference's by two for its
    /// interval.
    pub fn to_csv(&self) -> String {
        let names = self.columns.iter().enumerate().flat_map(|(i, name)| {
            let more = self.rows.first().map_or(&[][..], |row| row[i].more_columns());
            std::iter::once(name.clone()).chain(more.iter().map(move |more| format!("{name}, {more}")))
        });
        let header: Vec<String> = names.map(|name| quoted(&name)).collect();
        let row = |row: &Vec<Cell>| row.iter().flat_map(Cell::fields).collect::<Vec<_>>().join(",") + "\n";
        header.join(",") + "\n" + &self.rows.iter().map(row).collect::<String>()
    }

    /// The table for web pages, with row and column headers that screen readers announce.
    pub fn to_html(&self) -> String {
        let name = |(i, name): (usize, &String)| {
            let is_text = self.rows.first().is_some_and(|row| matches!(row[i], Cell::Text(_)));
            let class = if is_text { " class=\"text\"" } else { "" };
            format!("<th scope=\"col\"{class}>{}</th>", escape(name))
        };
        let head: String = self.columns.iter().enumerate().map(name).collect();
        let cell = |(i, cell): (usize, &Cell)| match cell {
            Cell::Text(words) if i == 0 => format!("<th scope=\"row\">{}</th>", escape(words)),
            Cell::Text(words) => format!("<td class=\"text\">{}</td>", escape(words)),
            cell => format!("<td>{}</td>", escape(&cell.words())),
        };
        let row =
            |row: &Vec<Cell>| format!("<tr>{}</tr>\n", row.iter().enumerate().map(cell).collect::<String>());
        format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"><table>\
             <caption>{title}</caption><thead><tr>{head}</tr></thead>\n<tbody>{}</tbody></table></div>\n",
            self.rows.iter().map(row).collect::<String>(),
            title = escape(&self.title)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("T & co", &["method", "lost", "n"]);
        let figure = Figure { value: 0.125, standard_error: Some(0.0625), count: 4 };
        table.push(vec![Cell::Text("a|\"b\", <c>".into()), Cell::Percent(Some(figure)), Cell::Count(3)]);
        table.push(vec![Cell::Text("d".into()), Cell::Percent(None), Cell::Count(0)]);
        table
    }

    #[test]
    fn differences_have_a_sign_and_an_interval() {
        let mut table = Table::new("T", &["d"]);
        table.push(vec![Cell::Interval(-1.25, Some([-2.0, 0.001]), 1)]);
        table.push(vec![Cell::Interval(3.0, None, 1)]);
        assert_eq!(table.to_csv(), "d,\"d, 2.5 %\",\"d, 97.5 %\"\n-1.25,-2,0.001\n3,,\n");
        assert!(table.to_markdown().ends_with("| -1.2 [-2.0, 0.0] |\n| +3.0 |\n"), "{}", table.to_markdown());
    }

    #[test]
    fn every_format_escapes_what_it_must() {
        let (markdown, csv, html) = (table().to_markdown(), table().to_csv(), table().to_html());
        assert!(markdown.contains("| a\\|\"b\", <c> | 12.5 ± 6.2 % | 3 |\n| d | – | 0 |"), "{markdown}");
        assert_eq!(
            csv,
            "method,lost,\"lost, standard error\",n\n\"a|\"\"b\"\", <c>\",0.125,0.0625,3\nd,,,0\n"
        );
        assert!(
            html.contains("<th scope=\"row\">a|&quot;b&quot;, &lt;c&gt;</th><td>12.5 ± 6.2 %</td>"),
            "{html}"
        );
        assert!(html.contains("<caption>T &amp; co</caption>"));
        assert!(
            html.contains("<th scope=\"col\" class=\"text\">method</th><th scope=\"col\">lost</th>"),
            "{html}"
        );
    }
}
