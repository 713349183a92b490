//! Colours and markers of charts, for light and for dark paper.

use crate::colour::{Rgb, category};
use std::fmt::Write;

/// Number of series colours.
const SERIES: usize = 7;
/// Blue and purple are too dark on dark paper, yellow too light on light paper.
const LIGHT_YELLOW: Rgb = [150, 138, 0];
const DARK_BLUE: Rgb = [72, 160, 224];

/// Outlines of markers around the origin, one shape for each series colour.
pub const MARKERS: [&str; SERIES] = [
    "M-3.6,0a3.6,3.6 0 1 0 7.2,0a3.6,3.6 0 1 0 -7.2,0z",
    "M-3.3,-3.3h6.6v6.6h-6.6z",
    "M0,-4.4L4.2,3.2H-4.2z",
    "M0,-4.8L4.4,0L0,4.8L-4.4,0z",
    "M0,4.4L4.2,-3.2H-4.2z",
    "M-4.2,-1.4H-1.4V-4.2H1.4V-1.4H4.2V1.4H1.4V4.2H-1.4V1.4H-4.2z",
    "M-4,-2.4L0,0L-4,2.4zM4,-2.4L0,0L4,2.4z",
];

/// The style sheet that all charts share, so that many on one page do not disturb each other.
///
/// Class `dl-s3` sets the current colour to that of series 3; `dl-i` and `dl-q` are ink and quiet
/// ink, `dl-g` grid lines, `dl-a` axes and `dl-p` paper.
pub fn style() -> String {
    let mut text = String::from(
        ".dl{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;font-size:14px}\
         .dl-p{fill:#fff}.dl-i{fill:#1f2430}.dl-q{fill:#5a6270}.dl-g{stroke:#e4e7ec}.dl-a{stroke:#8b93a1}\
         .dl-h{font-size:16px;font-weight:600}",
    );
    for index in 0..SERIES {
        let colour = if index == 6 { LIGHT_YELLOW } else { category(index) };
        write!(text, ".dl-s{index}{{color:{}}}", hex(colour)).expect("strings can be written to");
    }
    text.push_str(
        "@media (prefers-color-scheme:dark){.dl-p{fill:#171b22}.dl-i{fill:#e8ebf0}.dl-q{fill:#a3abb8}\
         .dl-g{stroke:#2b313b}.dl-a{stroke:#747d8c}",
    );
    for (index, colour) in [(0, DARK_BLUE), (6, category(6))] {
        write!(text, ".dl-s{index}{{color:{}}}", hex(colour)).expect("strings can be written to");
    }
    text + "}"
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WCAG's relative luminance.
    fn luminance(colour: Rgb) -> f64 {
        let linear = colour.map(|byte| {
            let value = f64::from(byte) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    /// WCAG 1.4.11 asks for 3 : 1; Okabe & Ito's sky blue, orange and purple are below that on white
    /// and are backed by a marker and a legend, so they have to reach 2 : 1.
    #[test]
    fn series_stand_out_from_both_papers() {
        for index in 0..SERIES {
            let light = if index == 6 { LIGHT_YELLOW } else { category(index) };
            let dark = if index == 0 { DARK_BLUE } else { category(index) };
            let on_white = 1.05 / (luminance(light) + 0.05);
            let on_dark = (luminance(dark) + 0.05) / (luminance([23, 27, 34]) + 0.05);
            assert!(on_white > 2.0 && on_dark > 3.0, "{index}: {on_white} {on_dark}");
        }
    }

    #[test]
    fn braces_match() {
        let text = style();
        assert_eq!(text.matches('{').count(), text.matches('}').count());
        assert!(text.contains(".dl-s0{color:#0072b2}") && !text.contains("  "));
    }
}
