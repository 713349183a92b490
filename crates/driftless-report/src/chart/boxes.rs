//! Box plots, grouped along x and coloured by series.

use super::frame::{Axis, Frame, PLOT_WIDTH};
use super::svg::{Anchor, short};
use super::theme::MARKERS;
use super::ticks::Ticks;
use driftless_world::evaluation::quantile;

/// Widest box, in pixels.
const WIDEST: f64 = 34.0;
/// Share of its room that a box fills.
const FILLED: f64 = 0.74;

/// Five numbers that stand for many, and how many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Five {
    /// The 5 %, 25 %, 50 %, 75 % and 95 % quantiles.
    pub quantiles: [f64; 5],
    /// How many numbers they stand for.
    pub count: usize,
}

impl Five {
    /// From numbers in any order; those that are not finite are left out, and none gives nothing.
    ///
    /// ```
    /// use driftless_report::chart::Five;
    /// let five = Five::of((0..=100).map(f64::from)).unwrap();
    /// assert_eq!(five.quantiles, [5.0, 25.0, 50.0, 75.0, 95.0]);
    /// ```
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let mut quantiles = [0.0; 5];
        for (to, share) in quantiles.iter_mut().zip([0.05, 0.25, 0.5, 0.75, 0.95]) {
            *to = quantile(&values, share)?;
        }
        Some(Self { quantiles, count: values.len() })
    }
}

/// The boxes of one method.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxSeries {
    /// What the legend says.
    pub name: String,
    /// Number of its colour.
    pub colour: usize,
    /// One box a group; none where there are no numbers.
    pub boxes: Vec<Option<Five>>,
}

/// A chart of boxes: from the first to the third quartile with a line at the median, and whiskers
/// from the 5 % to the 95 % quantile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoxChart {
    /// The headline.
    pub title: String,
    /// What a reader who cannot see the chart is told.
    pub description: String,
    /// Name of the groups.
    pub x_name: String,
    /// Name of the axis along y, which begins at 0.
    pub y_name: String,
    /// The label of each group.
    pub groups: Vec<String>,
    /// The boxes, by series.
    pub series: Vec<BoxSeries>,
}

impl BoxChart {
    /// The chart as SVG. The same chart gives the same text.
    pub fn to_svg(&self) -> String {
        let legend: Vec<(String, usize)> =
            self.series.iter().map(|series| (series.name.clone(), series.colour)).collect();
        let boxes = self.series.iter().flat_map(|series| series.boxes.iter().flatten());
        let (low, high) = boxes.fold((0.0_f64, 0.0_f64), |(low, high), five| {
            (low.min(five.quantiles[0]), high.max(five.quantiles[4]))
        });
        let y =
            Axis::linear(&self.y_name, Ticks::enclosing(low, if high > low { high } else { low + 1.0 }, 5));
        let count = self.groups.len().max(1) as f64;
        let mut x = Axis::linear(&self.x_name, Ticks::within(0.0, count, 5));
        let middle = |(i, label): (usize, &String)| (i as f64 + 0.5, label.clone());
        (x.labels, x.grid) = (self.groups.iter().enumerate().map(middle).collect(), false);
        let mut frame = Frame::new(&self.title, &self.description, &legend, x, y);
        for (index, series) in self.series.iter().enumerate() {
            for (group, five) in series.boxes.iter().take(self.groups.len()).enumerate() {
                self.draw_box(&mut frame, series, index, group, five.as_ref());
            }
        }
        frame.finish()
    }

    fn draw_box(
        &self,
        frame: &mut Frame,
        series: &BoxSeries,
        index: usize,
        group: usize,
        five: Option<&Five>,
    ) {
        let pitch = 0.8 * PLOT_WIDTH / (self.groups.len() * self.series.len()) as f64;
        let pitch = pitch.min(WIDEST / FILLED);
        let shift = pitch * (index as f64 - (self.series.len() as f64 - 1.0) / 2.0);
        let place = |value: f64| {
            let [x, y] = frame.place(group as f64 + 0.5, value);
            [x + shift, y]
        };
        let Some(five) = five else {
            let [x, y] = place(0.0);
            frame.drawing.words("dl-q", [x, y - 6.0], Anchor::Middle, "–");
            return;
        };
        let places = five.quantiles.map(place);
        let half = FILLED * pitch / 2.0;
        let class = format!("dl-s{}", series.colour % MARKERS.len());
        let pen = " stroke=\"currentColor\" stroke-width=\"1.6\"";
        let x = places[0][0];
        for (end, edge) in [(places[0], places[1]), (places[4], places[3])] {
            frame.drawing.line(&class, end, edge, pen);
            frame.drawing.line(&class, [x - half / 2.0, end[1]], [x + half / 2.0, end[1]], pen);
        }
        let (left, top) = (short(x - half), short(places[3][1]));
        let (width, height) = (short(2.0 * half), short(places[1][1] - places[3][1]));
        frame.drawing.raw(&format!(
            "<rect class=\"{class}\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"2\" \
             fill=\"currentColor\" fill-opacity=\"0.22\"{pen}/>\n"
        ));
        let median = " stroke=\"currentColor\" stroke-width=\"3\"";
        frame.drawing.line(&class, [x - half, places[2][1]], [x + half, places[2][1]], median);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One group and one series: the box stands in the middle, x = 344, and 100 units are 300 pixels.
    #[test]
    fn boxes_reach_from_quartile_to_quartile() {
        let boxes = vec![Five::of((0..=100).map(f64::from))];
        let series = vec![BoxSeries { name: "a".into(), colour: 2, boxes }];
        let mut chart = BoxChart { groups: vec!["0".into()], series, ..BoxChart::default() };
        let svg = chart.to_svg();
        assert!(
            svg.contains("<rect class=\"dl-s2\" x=\"327\" y=\"149\" width=\"34\" height=\"150\""),
            "{svg}"
        );
        assert!(svg.contains("x1=\"344\" y1=\"359\" x2=\"344\" y2=\"299\""), "lower whisker: {svg}");
        assert!(svg.contains("x1=\"327\" y1=\"224\" x2=\"361\" y2=\"224\""), "median: {svg}");
        chart.series[0].boxes[0] = None;
        assert!(chart.to_svg().contains(">–</text>"));
    }

    #[test]
    fn numbers_that_are_none_are_left_out() {
        let five = Five::of([f64::NAN, 3.0, f64::INFINITY]).unwrap();
        assert_eq!((five.quantiles, five.count), ([3.0; 5], 1));
        assert_eq!(Five::of([f64::NAN]), None);
        assert!(BoxChart::default().to_svg().ends_with("</svg>\n"));
    }
}
