//! Lines over an axis, with a band or error bars around them.

use super::frame::{Axis, Frame, draw_marker};
use super::theme::MARKERS;
use super::ticks::{Scale, Ticks};

/// A point of a line and its spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
    /// How far it may be off, to both sides; none if unknown.
    pub spread: Option<f64>,
}

/// A named line.
#[derive(Clone, Debug, PartialEq)]
pub struct LineSeries {
    /// What the legend says.
    pub name: String,
    /// Number of its colour and marker.
    pub colour: usize,
    /// Points in ascending order of x; those that are not finite are skipped.
    pub points: Vec<Point>,
}

/// How a spread is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// A band along the line.
    #[default]
    Band,
    /// A bar at each point.
    Bars,
}

/// A chart of lines.
///
/// ```
/// use driftless_report::chart::{LineChart, LineSeries, Point};
/// let points = vec![Point { x: 0.0, y: 3.0, spread: None }, Point { x: 9.0, y: 1.0, spread: Some(0.5) }];
/// let series = vec![LineSeries { name: "SDPF".into(), colour: 0, points }];
/// let chart = LineChart { title: "Error".into(), series, ..LineChart::default() };
/// assert!(chart.to_svg().starts_with("<svg"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChart {
    /// The headline.
    pub title: String,
    /// What a reader who cannot see the chart is told.
    pub description: String,
    /// Name of the axis along x.
    pub x_name: String,
    /// Name of the axis along y, which begins at 0 unless a number is negative.
    pub y_name: String,
    /// The scale along x.
    pub x_scale: Scale,
    /// Labels along x instead of round numbers.
    pub x_labels: Vec<(f64, String)>,
    /// How spreads are drawn.
    pub spread: Spread,
    /// The lines.
    pub series: Vec<LineSeries>,
}

impl LineChart {
    /// The chart as SVG. The same chart gives the same text.
    pub fn to_svg(&self) -> String {
        let legend: Vec<(String, usize)> =
            self.series.iter().map(|series| (series.name.clone(), series.colour)).collect();
        let (x, y) = (self.x_axis(), self.y_axis());
        let mut frame = Frame::new(&self.title, &self.description, &legend, x, y);
        for series in self.series.iter().filter(|_| self.spread == Spread::Band) {
            draw_bands(&mut frame, series, &self.usable(series));
        }
        for (i, series) in self.series.iter().enumerate() {
            let points = self.usable(series);
            if self.spread == Spread::Bars {
                draw_bars(&mut frame, series, &points, i, self.series.len());
            }
            draw_line(&mut frame, series, &points);
        }
        frame.finish()
    }

    fn usable(&self, series: &LineSeries) -> Vec<Point> {
        let has_place = |point: &&Point| {
            point.x.is_finite() && point.y.is_finite() && (self.x_scale == Scale::Linear || point.x > 0.0)
        };
        let honest =
            |point: &Point| Point { spread: point.spread.filter(|spread| spread.is_finite()), ..*point };
        series.points.iter().filter(has_place).map(honest).collect()
    }

    fn x_axis(&self) -> Axis {
        let points = self.series.iter().flat_map(|series| self.usable(series));
        let (low, high) = range(points.map(|point| point.x));
        let mut axis = if self.x_scale == Scale::Log {
            // A little room on both sides; ticks are given by labels.
            let (low, high) = if low > high { (1.0, 10.0) } else { (low / 1.25, high * 1.25) };
            Axis { scale: Scale::Log, ..Axis::linear(&self.x_name, Ticks::within(low, high, 5)) }
        } else {
            Axis::linear(&self.x_name, Ticks::within(low, high, 8))
        };
        if !self.x_labels.is_empty() {
            axis.labels.clone_from(&self.x_labels);
        }
        axis
    }

    fn y_axis(&self) -> Axis {
        let points = self.series.iter().flat_map(|series| self.usable(series));
        let ends = points.flat_map(|point| {
            let spread = point.spread.unwrap_or(0.0);
            [point.y - spread, point.y + spread]
        });
        let (low, high) = range(ends);
        let lowest = self.series.iter().flat_map(|series| self.usable(series)).map(|point| point.y);
        // Errors are not negative: a band that reaches below 0 is cut there.
        let low = if range(lowest).0 < 0.0 { low } else { 0.0 };
        Axis::linear(&self.y_name, Ticks::enclosing(low, high, 5))
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

/// Bands where neighbouring points have a spread.
fn draw_bands(frame: &mut Frame, series: &LineSeries, points: &[Point]) {
    let attributes = format!(
        "class=\"dl-s{}\" fill=\"currentColor\" fill-opacity=\"0.16\" stroke=\"none\"",
        series.colour % MARKERS.len()
    );
    for run in points.split(|point| point.spread.is_none()).filter(|run| run.len() > 1) {
        let low = frame.y.ticks.low;
        let edge = |point: &Point, sign: f64| {
            frame.place(point.x, (point.y + sign * point.spread.unwrap_or(0.0)).max(low))
        };
        let above = run.iter().map(|point| edge(point, 1.0));
        let outline: Vec<[f64; 2]> = above.chain(run.iter().rev().map(|point| edge(point, -1.0))).collect();
        frame.drawing.path(&outline, true, &attributes);
    }
}

/// Error bars, moved aside a little so that those of several series do not cover each other.
fn draw_bars(frame: &mut Frame, series: &LineSeries, points: &[Point], index: usize, count: usize) {
    let shift = 3.0 * (index as f64 - (count as f64 - 1.0) / 2.0);
    let class = format!("dl-s{}", series.colour % MARKERS.len());
    let low = frame.y.ticks.low;
    for point in points {
        let Some(spread) = point.spread else { continue };
        let [x, top] = frame.place(point.x, point.y + spread);
        let bottom = frame.place(point.x, (point.y - spread).max(low))[1];
        let pen = " stroke=\"currentColor\" stroke-width=\"1.6\"";
        let x = x + shift;
        frame.drawing.line(&class, [x, top], [x, bottom], pen);
        for y in [top, bottom] {
            frame.drawing.line(&class, [x - 4.0, y], [x + 4.0, y], pen);
        }
    }
}

fn draw_line(frame: &mut Frame, series: &LineSeries, points: &[Point]) {
    let places: Vec<[f64; 2]> = points.iter().map(|point| frame.place(point.x, point.y)).collect();
    let attributes = format!(
        "class=\"dl-s{}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2.2\" stroke-linejoin=\"round\" \
         stroke-linecap=\"round\"",
        series.colour % MARKERS.len()
    );
    if places.len() > 1 {
        frame.drawing.path(&places, false, &attributes);
    }
    // A dozen markers tell lines apart; more would hide them.
    let every = places.len().div_ceil(12).max(1);
    let first = (series.colour * every / MARKERS.len()).min(places.len().saturating_sub(1));
    for place in places.iter().skip(first).step_by(every) {
        draw_marker(&mut frame.drawing, *place, series.colour);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: &[[f64; 2]], spread: Option<f64>, kind: Spread) -> LineChart {
        let points = points.iter().map(|&[x, y]| Point { x, y, spread }).collect();
        let series = vec![LineSeries { name: "a < b".into(), colour: 1, points }];
        LineChart { title: "T".into(), spread: kind, series, ..LineChart::default() }
    }

    /// The plot reaches from (70, 374) to (618, 74): see the margins in `frame`.
    #[test]
    fn points_lie_where_the_axes_say() {
        let svg = chart(&[[0.0, 0.0], [5.0, 2.5], [10.0, 10.0]], None, Spread::Band).to_svg();
        assert!(svg.contains("d=\"M70,374L344,299L618,74\""), "{svg}");
        assert!(svg.contains(">a &lt; b<") && !svg.contains("fill-opacity"));
    }

    #[test]
    fn spreads_reach_to_both_sides_but_not_below_zero() {
        let svg = chart(&[[0.0, 1.0], [10.0, 8.0]], Some(2.0), Spread::Band).to_svg();
        assert!(svg.contains("d=\"M70,284L618,74L618,194L70,374z\""), "{svg}");
        let svg = chart(&[[0.0, 1.0], [10.0, 8.0]], Some(2.0), Spread::Bars).to_svg();
        assert!(svg.contains("x1=\"618\" y1=\"74\" x2=\"618\" y2=\"194\""), "{svg}");
    }

    #[test]
    fn equal_ratios_are_equally_long_on_a_logarithmic_axis() {
        let chart = chart(&[[1.0, 1.0], [10.0, 1.0], [100.0, 1.0], [0.0, 1.0]], None, Spread::Bars);
        let chart = LineChart { x_scale: Scale::Log, ..chart };
        let axis = chart.x_axis();
        let places = [1.0, 10.0, 100.0].map(|x| axis.share(x));
        assert!((places[1] - 0.5).abs() < 1e-12 && (places[2] + places[0] - 1.0).abs() < 1e-12, "{places:?}");
        assert!(!chart.to_svg().contains("NaN"));
    }

    #[test]
    fn odd_numbers_are_skipped() {
        let plain = [[1.0, 1.0], [2.0, 3.0]];
        let odd = [[1.0, 1.0], [f64::NAN, 1.0], [1.5, f64::INFINITY], [2.0, 3.0]];
        for spread in [None, Some(f64::NAN), Some(f64::INFINITY)] {
            let svg = chart(&odd, spread, Spread::Band).to_svg();
            assert_eq!(svg, chart(&plain, None, Spread::Band).to_svg(), "{spread:?}");
        }
        let svg = chart(&[[1e308, -1e308], [-1e308, 1e308]], Some(1e308), Spread::Band).to_svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(chart(&[], None, Spread::Bars).to_svg().ends_with("</svg>\n"));
    }
}
