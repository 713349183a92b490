//! Placing an image on the canvas: enlarged with crisp pixels, or shrunk by averaging areas.

use super::{Area, Canvas};
use crate::image::Image;
use std::ops::Range;

/// The source pixels that make up one canvas pixel along one axis: the first one, and their shares.
struct Shares {
    first: usize,
    weights: Vec<f64>,
}

/// Shares for the canvas pixels `wanted`, when `length` source pixels lie between `low` and `high`.
fn shares(wanted: Range<usize>, length: usize, low: f64, high: f64) -> Vec<Shares> {
    let step = length as f64 / (high - low);
    let nearest = |position: f64| (position.max(0.0) as usize).min(length - 1);
    let share = |pixel: usize| {
        let begin = (pixel as f64 - low) * step;
        if step <= 1.0 {
            // Enlarged: the source pixel under the centre, alone, so that edges stay crisp.
            return Shares { first: nearest(begin + 0.5 * step), weights: vec![1.0] };
        }
        let (begin, end) = (begin.max(0.0), (begin + step).min(length as f64));
        let (first, last) = (nearest(begin), nearest(end.ceil() - 1.0));
        let covered = |i: usize| (end.min((i + 1) as f64) - begin.max(i as f64)) / (end - begin);
        Shares { first, weights: (first..=last).map(covered).collect() }
    };
    wanted.map(share).collect()
}

impl Canvas {
    /// Draws an image into `area`, whose edges are rounded to whole pixels (at least one each way).
    ///
    /// Each axis is enlarged by nearest neighbour or shrunk by area averages, as it needs.
    pub fn blit(&mut self, image: &Image, area: Area) {
        let (left, top) = (area.left.round(), area.top.round());
        let (right, bottom) = (area.right.round().max(left + 1.0), area.bottom.round().max(top + 1.0));
        let [columns, rows] = self.pixels_in(Area { left, top, right, bottom });
        let across = shares(columns.clone(), image.width(), left, right);
        let down = shares(rows.clone(), image.height(), top, bottom);
        for (y, vertical) in rows.zip(&down) {
            for (x, horizontal) in columns.clone().zip(&across) {
                self.set(x, y, average(image, horizontal, vertical));
            }
        }
    }
}

fn average(image: &Image, across: &Shares, down: &Shares) -> [u8; 3] {
    if across.weights.len() == 1 && down.weights.len() == 1 {
        let i = 3 * (down.first * image.width() + across.first);
        return [image.pixels()[i], image.pixels()[i + 1], image.pixels()[i + 2]];
    }
    let mut sum = [0.0; 3];
    for (j, vertical) in down.weights.iter().enumerate() {
        let row = (down.first + j) * image.width() + across.first;
        let pixels = &image.pixels()[3 * row..3 * (row + across.weights.len())];
        for (pixel, horizontal) in pixels.chunks_exact(3).zip(&across.weights) {
            for c in 0..3 {
                sum[c] += vertical * horizontal * f64::from(pixel[c]);
            }
        }
    }
    sum.map(|value| (value + 0.5) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(width: usize, height: usize, values: &[u8]) -> Image {
        Image::from_grey(width, height, values).unwrap()
    }

    fn drawn(image: &Image, width: usize, height: usize, area: Area) -> Vec<u8> {
        let mut canvas = Canvas::new(width, height, [7; 3]).unwrap();
        canvas.blit(image, area);
        canvas.pixels().iter().step_by(3).copied().collect()
    }

    #[test]
    fn enlarged_pixels_stay_crisp() {
        let image = grey(2, 2, &[10, 20, 30, 40]);
        let seen = drawn(&image, 6, 4, Area::sized(1.0, 0.0, 4.0, 4.0));
        let expected =
            [7, 10, 10, 20, 20, 7, 7, 10, 10, 20, 20, 7, 7, 30, 30, 40, 40, 7, 7, 30, 30, 40, 40, 7];
        assert_eq!(seen, expected);
        // Two pixels on three: still no mixture.
        assert_eq!(drawn(&grey(2, 1, &[10, 20]), 3, 1, Area::sized(0.0, 0.0, 3.0, 1.0)), [10, 20, 20]);
    }

    #[test]
    fn shrunk_images_are_averaged_and_partly_covered_pixels_shared() {
        let image = grey(4, 2, &[0, 40, 100, 200, 80, 120, 100, 200]);
        assert_eq!(drawn(&image, 2, 1, Area::sized(0.0, 0.0, 2.0, 1.0)), [60, 150]);
        // Three source pixels on two: the middle one is shared by halves.
        let image = grey(3, 1, &[0, 90, 240]);
        assert_eq!(drawn(&image, 2, 1, Area::sized(0.0, 0.0, 2.0, 1.0)), [30, 190]);
    }

    #[test]
    fn images_beyond_the_edges_are_cut() {
        let image = grey(4, 4, &(0..16).collect::<Vec<u8>>());
        assert_eq!(drawn(&image, 2, 2, Area::sized(-1.0, -1.0, 4.0, 4.0)), [5, 6, 9, 10]);
        assert_eq!(drawn(&image, 2, 2, Area::sized(9.0, 9.0, 4.0, 4.0)), [7; 4]);
        assert_eq!(drawn(&image, 2, 2, Area::sized(f64::NAN, 0.0, 4.0, 4.0)), [7; 4]);
        let vast = drawn(&image, 2, 2, Area::sized(-1e300, -1e300, 2e300, 2e300));
        assert!(vast.iter().all(|value| *value < 16), "{vast:?}");
    }
}
