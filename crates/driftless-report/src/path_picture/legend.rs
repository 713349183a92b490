//! What the colours and marks mean: the colour bar, the scale bar, start and end.

use super::style::{INK, KEY_BELOW, LABEL, NOTE};
use super::view::View;
use super::{moment, route};
use crate::canvas::{Area, Canvas};
use crate::colour;
use crate::font::{Align, CAP_HEIGHT};

/// The scale bar is between a tenth and a quarter of the map wide.
const BAR_SHARE: f64 = 0.25;

/// A bar from the first step (below) to the last (above), beside the map.
pub(super) fn draw_colour_bar(canvas: &mut Canvas, panel: Area, last: usize) {
    if last == 0 {
        return; // a single step has no course of time
    }
    let x = panel.right + 24.0;
    let cap = (CAP_HEIGHT * NOTE.scale) as f64;
    NOTE.draw(canvas, "step", [x, panel.top + cap], Align::Left);
    let bar = Area { left: x, top: panel.top + cap + 20.0, right: x + 14.0, bottom: panel.bottom };
    let rows = bar.height().max(1.0) as usize;
    for row in 0..rows {
        let colour = colour::time(moment(rows - 1 - row, rows - 1));
        canvas.rectangle(Area::sized(bar.left, bar.top + row as f64, bar.width(), 1.0), colour, 1.0);
    }
    for step in ticks(last) {
        let y = bar.bottom - 0.5 - moment(step, last) * (bar.height() - 1.0);
        canvas.line([bar.right + 1.0, y], [bar.right + 6.0, y], 1.5, INK, 1.0);
        LABEL.draw(canvas, &short_count(step), [bar.right + 12.0, y + cap / 2.0], Align::Left);
    }
}

/// The first and the last step, and round numbers between them that keep their distance.
fn ticks(last: usize) -> Vec<usize> {
    let mut rounds = (0..usize::MAX.ilog10())
        .flat_map(|power| [1, 2, 5].map(|factor| 10_usize.pow(power).saturating_mul(factor)));
    let spacing = rounds.find(|spacing| last / spacing <= 5).unwrap_or(last);
    let round = (0..=5)
        .map(|i: usize| i.saturating_mul(spacing))
        .take_while(|step| step.saturating_add(spacing / 2) < last);
    round.chain([last]).collect()
}

/// Large step numbers, shortened to what fits beside the bar.
fn short_count(count: usize) -> String {
    match count {
        0..=99_999 => count.to_string(),
        100_000..=9_999_999 => format!("{}k", count / 1000),
        10_000_000..=9_999_999_999 => format!("{}M", count / 1_000_000),
        _ => format!("{:.0e}", count as f64),
    }
}

/// The largest of 1, 2, 5, 10, ... that is not wider than the scale bar may be.
pub(super) fn round_length(view: &View) -> f64 {
    let most = BAR_SHARE * view.panel.width() / view.pixels;
    let power = most.log10().floor() as i32;
    // Dividing by a power of ten rounds once, so that the number prints as it is meant.
    let times = |factor: f64, power: i32| {
        if power < 0 { factor / 10_f64.powi(-power) } else { factor * 10_f64.powi(power) }
    };
    let candidates = [times(5.0, power), times(2.0, power), times(1.0, power), times(5.0, power - 1)];
    candidates.into_iter().find(|length| *length <= most).unwrap_or(most)
}

/// The scale bar, and the marks at the start of the path and, if it leads anywhere, at its end.
pub(super) fn draw_key(canvas: &mut Canvas, view: &View, unit: &str, leads_somewhere: bool) {
    let (panel, length) = (view.panel, round_length(view));
    let width = (length * view.pixels).round();
    let (left, y) = (panel.left, panel.bottom + KEY_BELOW);
    let baseline = y + (CAP_HEIGHT * LABEL.scale) as f64 / 2.0;
    canvas.rectangle(Area::sized(left, y - 1.0, width, 2.0), INK, 1.0);
    for end in [left, left + width - 2.0] {
        canvas.rectangle(Area::sized(end, y - 6.0, 2.0, 12.0), INK, 1.0);
    }
    let room = (panel.width() - width - 240.0).max(60.0) as usize;
    let words = LABEL.fitted(&format!("{} {unit}", length_in_words(length)), room);
    LABEL.draw(canvas, words.trim_end(), [left + width + 14.0, baseline], Align::Left);

    // From the right edge leftwards: end, start.
    let mut x = panel.right;
    for (word, at_end) in [("end", true), ("start", false)] {
        if at_end && !leads_somewhere {
            continue;
        }
        LABEL.draw(canvas, word, [x, baseline], Align::Right);
        x -= LABEL.width(word) as f64 + 20.0;
        if at_end {
            route::draw_end(canvas, [x, y], 0.0, colour::time(1.0));
        } else {
            route::draw_start(canvas, [x, y], 0.0, colour::time(0.0));
        }
        x -= 34.0;
    }
}

fn length_in_words(length: f64) -> String {
    if (1e-4..1e6).contains(&length) { length.to_string() } else { format!("{length:e}") }
}

#[cfg(test)]
mod tests {
    use super::super::background::Bounds;
    use super::*;

    #[test]
    fn the_scale_bar_is_round_and_of_moderate_width() {
        for (width, expected) in
            [(1000.0, "200"), (1500.0, "200"), (2000.0, "500"), (12.0, "2"), (1.0, "0.2"), (1e-9, "2e-10")]
        {
            let view = View::of(Bounds { low: [0.0; 2], high: [width, width / 2.0] }, 0.0, 0.0);
            let length = round_length(&view);
            assert_eq!(length_in_words(length), expected, "a map {width} wide");
            let share = length * view.pixels / view.panel.width();
            assert!((0.095..=0.25).contains(&share), "{width}: {share}");
        }
    }

    #[test]
    fn ticks_are_round_and_apart() {
        assert_eq!(ticks(99), [0, 20, 40, 60, 80, 99]);
        assert_eq!(ticks(24), [0, 5, 10, 15, 20, 24]);
        assert_eq!(ticks(1), [0, 1]);
        assert_eq!(ticks(1000), [0, 200, 400, 600, 800, 1000]);
        for last in (1..3000).chain([123_456_789, usize::MAX / 4, usize::MAX]) {
            let ticks = ticks(last);
            assert!((2..=7).contains(&ticks.len()) && (ticks[0], ticks[ticks.len() - 1]) == (0, last));
            assert!(ticks.windows(2).all(|pair| pair[1] - pair[0] > last / 14), "{ticks:?}");
        }
    }

    #[test]
    fn step_numbers_stay_short() {
        let seen = [99, 10_000, 123_456, 50_000_000, usize::MAX].map(short_count);
        assert_eq!(seen, ["99", "10000", "123k", "50M", "2e19"]);
    }
}
