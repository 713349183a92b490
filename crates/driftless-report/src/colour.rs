//! Colours: a map for time whose steps look equally large, and categories that everybody can tell apart.

/// Red, green and blue as stored in PNG files (sRGB, 0..=255).
pub type Rgb = [u8; 3];

/// Categories in Okabe & Ito's colours (2008), chosen to differ for colour-blind readers too: blue,
/// vermilion, bluish green, reddish purple, sky blue, orange, yellow.
const CATEGORIES: [Rgb; 7] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [204, 121, 167],
    [86, 180, 233],
    [230, 159, 0],
    [240, 228, 66],
];

/// The colour of category `index`; after seven they repeat.
pub fn category(index: usize) -> Rgb {
    CATEGORIES[index % CATEGORIES.len()]
}

/// Anchors of the time map in Oklab's cylinder: lightness, chroma, hue in degrees.
///
/// From a dark violet over blue and green to amber. Lightness grows evenly, so the order survives
/// a grey print; it ends below white, because paths are drawn on light paper.
const TIME_ANCHORS: [[f64; 3]; 6] = [
    [0.300, 0.140, 318.0],
    [0.400, 0.145, 282.0],
    [0.500, 0.120, 245.0],
    [0.600, 0.102, 192.0],
    [0.700, 0.115, 143.0],
    [0.800, 0.140, 98.0],
];

/// The colour of a moment: 0 is the beginning, 1 the end; beyond both it stays, NaN is the beginning.
pub fn time(moment: f64) -> Rgb {
    let position = moment.clamp(0.0, 1.0) * (TIME_ANCHORS.len() - 1) as f64;
    let below = (position as usize).min(TIME_ANCHORS.len() - 2);
    let part = (position - below as f64).max(0.0);
    let [low, high] = [TIME_ANCHORS[below], TIME_ANCHORS[below + 1]].map(to_oklab);
    to_rgb(std::array::from_fn(|i| low[i] + part * (high[i] - low[i])))
}

fn to_oklab([lightness, chroma, hue]: [f64; 3]) -> [f64; 3] {
    let (s, c) = hue.to_radians().sin_cos();
    [lightness, chroma * c, chroma * s]
}

/// Oklab to linear sRGB (Ottosson 2020), which may leave 0..=1 for colours no screen can show.
fn to_linear([l, a, b]: [f64; 3]) -> [f64; 3] {
    let long = (l + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let medium = (l - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let short = (l - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    [
        4.076_741_662_1 * long - 3.307_711_591_3 * medium + 0.230_969_929_2 * short,
        -1.268_438_004_6 * long + 2.609_757_401_1 * medium - 0.341_319_396_5 * short,
        -0.004_196_086_3 * long - 0.703_418_614_7 * medium + 1.707_614_701_0 * short,
    ]
}

fn to_rgb(oklab: [f64; 3]) -> Rgb {
    to_linear(oklab).map(|linear| {
        let linear = linear.clamp(0.0, 1.0);
        let encoded =
            if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
        (255.0 * encoded).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(colour: Rgb) -> [f64; 3] {
        colour.map(|byte| {
            let value = f64::from(byte) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// CIE L*a*b* under D65: an older space than the one the map is built in, so a check on it.
    fn lab([r, g, b]: [f64; 3]) -> [f64; 3] {
        let f = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
        let y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
        let z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn difference(one: [f64; 3], other: [f64; 3]) -> f64 {
        let [a, b] = [lab(one), lab(other)];
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn time_brightens_evenly() {
        let colours: Vec<[f64; 3]> = (0..=20).map(|i| linear(time(f64::from(i) / 20.0))).collect();
        let lightness: Vec<f64> = colours.iter().map(|&colour| lab(colour)[0]).collect();
        for pair in lightness.windows(2) {
            let step = pair[1] - pair[0];
            assert!((1.2..4.5).contains(&step), "lightness steps by {step}: {lightness:?}");
        }
        let steps: Vec<f64> = colours.windows(2).map(|pair| difference(pair[0], pair[1])).collect();
        let (least, most) = steps.iter().fold((f64::MAX, 0.0_f64), |(l, m), &s| (l.min(s), m.max(s)));
        assert!(most < 2.5 * least, "{steps:?}");
    }

    #[test]
    fn every_moment_can_be_shown_on_a_screen() {
        for anchors in TIME_ANCHORS.windows(2) {
            for part in [0.0, 0.25, 0.5, 0.75, 1.0] {
                let [low, high] = [anchors[0], anchors[1]].map(to_oklab);
                let colour = to_linear(std::array::from_fn(|i| low[i] + part * (high[i] - low[i])));
                assert!(colour.iter().all(|v| (-1e-3..=1.001).contains(v)), "{anchors:?} {part}: {colour:?}");
            }
        }
    }

    #[test]
    fn moments_outside_the_range_are_held() {
        assert_eq!((time(-1.0), time(9.0), time(f64::NAN)), (time(0.0), time(1.0), time(0.0)));
        assert_eq!(to_rgb([1.0, 0.0, 0.0]), [255; 3]);
    }

    /// Viénot, Brettel & Mollon (1999): what red-blind and green-blind readers see.
    #[test]
    fn categories_differ_for_the_colour_blind() {
        let blind = [
            [[0.112_38, 0.887_62, 0.0], [0.112_38, 0.887_62, 0.0], [0.004_01, -0.004_01, 1.0]],
            [[0.292_75, 0.707_25, 0.0], [0.292_75, 0.707_25, 0.0], [-0.022_34, 0.022_34, 1.0]],
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        ];
        for matrix in blind {
            let see = |colour: Rgb| {
                let colour = linear(colour);
                matrix.map(|row| row.iter().zip(colour).map(|(m, c)| m * c).sum::<f64>().clamp(0.0, 1.0))
            };
            for i in 0..CATEGORIES.len() {
                for j in 0..i {
                    let apart = difference(see(category(i)), see(category(j)));
                    assert!(apart > 11.0, "{i} and {j} differ by {apart} under {matrix:?}");
                }
            }
        }
        assert_eq!(category(7), category(0));
    }
}
