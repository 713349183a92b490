//! What all charts have in common: title, legend, axes, grid, and the way from numbers to places.

use super::svg::{Anchor, Drawing, short};
use super::theme::MARKERS;
use super::ticks::{Scale, Ticks};

/// The sheet's width; its height depends on the legend.
const WIDTH: f64 = 640.0;
/// Height of the plot.
const PLOT: f64 = 300.0;
/// Room to the left, for numbers and their name.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 22.0;
/// Width of the plot.
pub(super) const PLOT_WIDTH: f64 = WIDTH - LEFT - RIGHT;
/// Room below, for numbers and their name.
const BELOW: f64 = 56.0;
/// Baseline of the title and distance of legend rows.
const TITLE: f64 = 30.0;
const ROW: f64 = 22.0;
/// Width of a letter and of a legend's marker, about.
const LETTER: f64 = 7.6;
const MARK: f64 = 30.0;

/// One axis: its range, its scale and its labels.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) scale: Scale,
    pub(super) ticks: Ticks,
    /// Labels in place of the ticks' own, and where they stand.
    pub(super) labels: Vec<(f64, String)>,
    pub(super) grid: bool,
}

impl Axis {
    pub(super) fn linear(name: &str, ticks: Ticks) -> Self {
        let labels = ticks.at.iter().map(|at| (*at, ticks.label(*at))).collect();
        Self { name: name.into(), scale: Scale::Linear, ticks, labels, grid: true }
    }

    /// Where a number lies, 0 at the beginning and 1 at the end.
    pub(super) fn share(&self, value: f64) -> f64 {
        let place = |value: f64| if self.scale == Scale::Log { value.ln() } else { value };
        let (low, high) = (place(self.ticks.low), place(self.ticks.high));
        (place(value) - low) / (high - low)
    }
}

/// A sheet with axes drawn on it.
pub(super) struct Frame {
    pub(super) drawing: Drawing,
    pub(super) x: Axis,
    pub(super) y: Axis,
    top: f64,
}

impl Frame {
    /// Draws title, legend (names and colour numbers), axes and grid.
    pub(super) fn new(title: &str, description: &str, legend: &[(String, usize)], x: Axis, y: Axis) -> Self {
        let places = legend_places(legend);
        let rows = places.last().map_or(0.0, |place| place[1] + 1.0);
        let top = TITLE + 14.0 + ROW * rows + 8.0;
        let mut drawing = Drawing::new(WIDTH, top + PLOT + BELOW, title, description);
        drawing.words("dl-i dl-h", [LEFT - 50.0, TITLE], Anchor::Start, title);
        for ((name, colour), [left, row]) in legend.iter().zip(&places) {
            let y = TITLE + 24.0 + ROW * row;
            draw_key(&mut drawing, [*left, y - 4.5], *colour);
            drawing.words("dl-i", [left + MARK, y], Anchor::Start, name);
        }
        let mut frame = Self { drawing, x, y, top };
        frame.draw_axes();
        frame
    }

    /// The place of a pair of numbers.
    pub(super) fn place(&self, x: f64, y: f64) -> [f64; 2] {
        [LEFT + self.x.share(x) * PLOT_WIDTH, self.top + PLOT * (1.0 - self.y.share(y))]
    }

    fn draw_axes(&mut self) {
        let (right, bottom) = (WIDTH - RIGHT, self.top + PLOT);
        for (at, label) in self.y.labels.clone() {
            let y = self.place(self.x.ticks.low, at)[1];
            self.drawing.line("dl-g", [LEFT, y], [right, y], "");
            self.drawing.words("dl-q", [LEFT - 9.0, y + 4.5], Anchor::End, &label);
        }
        for (at, label) in self.x.labels.clone() {
            let x = self.place(at, self.y.ticks.low)[0];
            if self.x.grid {
                self.drawing.line("dl-g", [x, self.top], [x, bottom], "");
                self.drawing.line("dl-a", [x, bottom], [x, bottom + 5.0], "");
            }
            self.drawing.words("dl-q", [x, bottom + 20.0], Anchor::Middle, &label);
        }
        self.drawing.line("dl-a", [LEFT, bottom], [right, bottom], "");
        let middle = LEFT + PLOT_WIDTH / 2.0;
        self.drawing.words("dl-i", [middle, bottom + 43.0], Anchor::Middle, &self.x.name.clone());
        self.drawing.upward_words("dl-i", [20.0, self.top + PLOT / 2.0], &self.y.name.clone());
    }

    pub(super) fn finish(self) -> String {
        self.drawing.finish()
    }
}

/// The left edge and the row of each legend entry.
fn legend_places(legend: &[(String, usize)]) -> Vec<[f64; 2]> {
    let (mut left, mut row) = (LEFT - 50.0, 0.0);
    let place = |(name, _): &(String, usize)| {
        let width = MARK + LETTER * name.chars().count() as f64 + 18.0;
        if left + width > WIDTH && left > LEFT - 50.0 {
            (left, row) = (LEFT - 50.0, row + 1.0);
        }
        let here = [left, row];
        left += width;
        here
    };
    legend.iter().map(place).collect()
}

fn draw_key(drawing: &mut Drawing, [left, y]: [f64; 2], colour: usize) {
    let colour = colour % MARKERS.len();
    drawing.line(
        &format!("dl-s{colour}"),
        [left, y],
        [left + 22.0, y],
        " stroke=\"currentColor\" stroke-width=\"2.2\"",
    );
    draw_marker(drawing, [left + 11.0, y], colour);
}

/// The marker of a series.
pub(super) fn draw_marker(drawing: &mut Drawing, [x, y]: [f64; 2], colour: usize) {
    let colour = colour % MARKERS.len();
    let (x, y, shape) = (short(x), short(y), MARKERS[colour]);
    drawing.raw(&format!(
        "<path class=\"dl-s{colour}\" transform=\"translate({x},{y})\" d=\"{shape}\" fill=\"currentColor\"/>\n"
    ));
}
