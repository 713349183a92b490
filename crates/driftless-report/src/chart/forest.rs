//! Differences between methods with their intervals, one row each: a forest plot.

use super::frame::draw_marker;
use super::svg::{Anchor, Drawing};
use super::theme::MARKERS;
use super::ticks::Ticks;

const WIDTH: f64 = 640.0;
/// Room for the names of rows, and for their numbers.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 190.0;
/// Baseline of the title, and heights of a heading's line, of the space around it and of a row.
const TITLE: f64 = 30.0;
const LINE: f64 = 18.0;
const SPACE: f64 = 14.0;
const ROW: f64 = 24.0;
/// Letters of a heading's line.
const LETTERS: usize = 78;
/// Room for numbers below, and their name.
const BELOW: f64 = 60.0;

/// One difference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForestRow {
    /// Which comparison it belongs to; rows of one comparison stand together below its name.
    pub heading: String,
    /// What tells it from others of the comparison.
    pub name: String,
    /// Number of its colour.
    pub colour: usize,
    /// The difference.
    pub value: f64,
    /// Its interval, if it is known.
    pub interval: Option<[f64; 2]>,
    /// The numbers, as they stand at its right.
    pub words: String,
}

/// A chart of differences, with a line at zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forest {
    /// The headline.
    pub title: String,
    /// What a reader who cannot see the chart is told.
    pub description: String,
    /// Name of the axis.
    pub x_name: String,
    /// From the top down.
    pub rows: Vec<ForestRow>,
}

impl Forest {
    /// The chart as SVG. The same chart gives the same text.
    pub fn to_svg(&self) -> String {
        let ends = self.rows.iter().flat_map(|row| row.interval.unwrap_or([row.value; 2]));
        let (low, high) = ends.fold((0.0_f64, 0.0_f64), |(low, high), end| (low.min(end), high.max(end)));
        let ticks = Ticks::enclosing(low, high, 5);
        let top = TITLE + 14.0;
        let bottom = top + self.height() + 8.0;
        let mut drawing = Drawing::new(WIDTH, bottom + BELOW, &self.title, &self.description);
        drawing.words("dl-i dl-h", [20.0, TITLE], Anchor::Start, &self.title);
        self.draw_axis(&mut drawing, &ticks, top, bottom);
        let mut y = top;
        for (index, row) in self.rows.iter().enumerate() {
            if self.begins(index) {
                y += draw_heading(&mut drawing, &lines(&row.heading), y);
            }
            draw_row(&mut drawing, &ticks, row, y + ROW / 2.0);
            y += ROW;
        }
        drawing.finish()
    }

    /// Whether a row is the first of its comparison.
    fn begins(&self, index: usize) -> bool {
        index == 0 || self.rows[index - 1].heading != self.rows[index].heading
    }

    fn height(&self) -> f64 {
        let first = (0..self.rows.len()).filter(|&index| self.begins(index));
        let headings: f64 = first.map(|index| heading_height(lines(&self.rows[index].heading).len())).sum();
        headings + self.rows.len() as f64 * ROW
    }

    fn draw_axis(&self, drawing: &mut Drawing, ticks: &Ticks, top: f64, bottom: f64) {
        for &at in &ticks.at {
            let x = place(ticks, at);
            let class = if ticks.label(at) == "0" { "dl-a" } else { "dl-g" };
            drawing.line(class, [x, top], [x, bottom], "");
            drawing.words("dl-q", [x, bottom + 18.0], Anchor::Middle, &ticks.label(at));
        }
        drawing.line("dl-a", [LEFT, bottom], [WIDTH - RIGHT, bottom], "");
        drawing.words("dl-i", [20.0, bottom + 42.0], Anchor::Start, &self.x_name);
    }
}

fn place(ticks: &Ticks, value: f64) -> f64 {
    LEFT + (WIDTH - LEFT - RIGHT) * (value - ticks.low) / (ticks.high - ticks.low)
}

/// Words in lines that fit.
fn lines(words: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && last + word.chars().count() >= LETTERS {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines
}

fn heading_height(lines: usize) -> f64 {
    lines as f64 * LINE + SPACE
}

/// On paper of its own, so that no grid line runs through it; returns its height.
fn draw_heading(drawing: &mut Drawing, lines: &[String], top: f64) -> f64 {
    let height = heading_height(lines.len());
    drawing.raw(&format!("<rect class=\"dl-p\" y=\"{top}\" width=\"{WIDTH}\" height=\"{height}\"/>\n"));
    for (index, line) in lines.iter().enumerate() {
        let y = top + SPACE / 2.0 + LINE * (index as f64 + 1.0) - 3.0;
        drawing.words("dl-i", [20.0, y], Anchor::Start, line);
    }
    height
}

fn draw_row(drawing: &mut Drawing, ticks: &Ticks, row: &ForestRow, y: f64) {
    drawing.words("dl-q", [LEFT - 9.0, y + 4.5], Anchor::End, &row.name);
    let class = format!("dl-s{}", row.colour % MARKERS.len());
    let pen = " stroke=\"currentColor\" stroke-width=\"2\"";
    if let Some(ends) = row.interval {
        let [low, high] = ends.map(|end| place(ticks, end));
        drawing.line(&class, [low, y], [high, y], pen);
        for x in [low, high] {
            drawing.line(&class, [x, y - 5.0], [x, y + 5.0], pen);
        }
    }
    draw_marker(drawing, [place(ticks, row.value), y], row.colour);
    drawing.words("dl-q", [WIDTH - RIGHT + 12.0, y + 4.5], Anchor::Start, &row.words);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(heading: &str, value: f64, interval: Option<[f64; 2]>) -> ForestRow {
        ForestRow { heading: heading.into(), value, interval, ..ForestRow::default() }
    }

    /// From -20 to 0 there are 366 pixels: -10 lies in the middle, at 84 + 183.
    #[test]
    fn intervals_lie_where_they_belong() {
        let forest = Forest { rows: vec![row("a", -10.0, Some([-20.0, 0.0]))], ..Forest::default() };
        let svg = forest.to_svg();
        let y = TITLE + 14.0 + LINE + SPACE + ROW / 2.0;
        assert!(svg.contains(&format!("x1=\"84\" y1=\"{y}\" x2=\"450\" y2=\"{y}\"")), "{svg}");
        assert!(svg.contains(&format!("translate(267,{y})")), "{svg}");
        assert!(svg.contains("<line class=\"dl-a\" x1=\"450\""), "zero is marked: {svg}");
    }

    #[test]
    fn long_names_are_broken_between_words() {
        let long = format!("{} minus {}", "a".repeat(60), "b".repeat(60));
        assert_eq!(lines(&long), [format!("{} minus", "a".repeat(60)), "b".repeat(60)]);
        assert_eq!((lines("a b"), lines("").len()), (vec!["a b".to_owned()], 1));
    }

    #[test]
    fn rows_of_a_comparison_stand_together() {
        let rows = vec![row("a", -1.0, None), row("a", 2.0, None), row("b", 0.0, Some([0.0, 0.0]))];
        let svg = Forest { rows, ..Forest::default() }.to_svg();
        assert_eq!((svg.matches(">a</text>").count(), svg.matches(">b</text>").count()), (1, 1));
        assert!(!svg.contains("NaN") && Forest::default().to_svg().ends_with("</svg>\n"));
    }
}
