//! Rows of frames below the map: each with its number, the colours above the depth.

use super::style::{BADGE, HAIRLINE, LABEL, STRIP_GAP};
use super::{FramePick, badge, moment};
use crate::canvas::{Area, Canvas};
use crate::colour;
use crate::font::{Align, CAP_HEIGHT};
use crate::image::Image;

/// Most frames side by side.
const COLUMNS: usize = 8;
/// Largest side of a frame.
const LARGEST: f64 = 200.0;
/// Least and greatest distance of neighbours.
const GAPS: [f64; 2] = [20.0, 56.0];
/// Room for number and step above a frame.
const HEADER: f64 = 42.0;
/// Between a frame's number and its step.
const CAPTION_GAP: f64 = 9.0;
/// Between colours and depth.
const BETWEEN: f64 = 8.0;

/// Where the frames go.
pub(super) struct Strip<'a> {
    frames: &'a [FramePick],
    columns: usize,
    /// The side of the square that every image fits into.
    cell: f64,
    /// From one frame to the next.
    pitch: f64,
    colours: f64,
    depths: f64,
}

impl<'a> Strip<'a> {
    /// Distributes the frames over rows of `width` pixels.
    pub(super) fn plan(frames: &'a [FramePick], width: f64) -> Self {
        let caption =
            frames.iter().enumerate().fold(0.0, |most: f64, (i, frame)| most.max(caption_width(i, frame)));
        let fitting = (((width + GAPS[0]) / (caption + GAPS[0])) as usize).clamp(1, COLUMNS);
        // Rows of equal length look better than a full row and a rest.
        let rows = frames.len().div_ceil(fitting).max(1);
        let columns = frames.len().div_ceil(rows).max(1);
        let cell = ((width + GAPS[0]) / columns as f64 - GAPS[0]).floor().min(LARGEST);
        let sizes = |image: &Image| fitted(image, cell);
        let colours = frames.iter().map(|frame| sizes(&frame.rgb));
        let depths = frames.iter().filter_map(|frame| frame.depth.as_ref().map(sizes));
        let widest = colours.clone().chain(depths.clone()).fold(caption, |most: f64, size| most.max(size[0]));
        let gap = ((width - columns as f64 * widest) / (columns.max(2) - 1) as f64).clamp(GAPS[0], GAPS[1]);
        Self {
            frames,
            columns,
            cell,
            pitch: (widest + gap).floor(),
            colours: colours.fold(0.0, |most, size| most.max(size[1])),
            depths: depths.fold(0.0, |most, size| most.max(size[1] + BETWEEN)),
        }
    }

    fn row_height(&self) -> f64 {
        HEADER + self.colours + self.depths + STRIP_GAP
    }

    /// Height of all rows.
    pub(super) fn height(&self) -> f64 {
        self.frames.len().div_ceil(self.columns) as f64 * self.row_height()
    }

    /// Draws all frames from the corner (`left`, `top`) on; `last` is the episode's last step.
    pub(super) fn draw(&self, canvas: &mut Canvas, left: f64, top: f64, last: usize) {
        for (i, frame) in self.frames.iter().enumerate() {
            let x = left + (i % self.columns) as f64 * self.pitch;
            let y = top + (i / self.columns) as f64 * self.row_height();
            let half = badge::half_width(i + 1);
            let centre = [x + half, y + BADGE];
            badge::draw(canvas, centre, i + 1, colour::time(moment(frame.step, last)));
            let baseline = centre[1] + (CAP_HEIGHT * LABEL.scale) as f64 / 2.0;
            LABEL.draw(canvas, &caption(frame), [x + 2.0 * half + CAPTION_GAP, baseline], Align::Left);
            self.draw_image(canvas, &frame.rgb, x, y + HEADER);
            if let Some(depth) = &frame.depth {
                self.draw_image(canvas, depth, x, y + HEADER + self.colours + BETWEEN);
            }
        }
    }

    /// Where the image of frame `i` is, if the strip is drawn there.
    pub(super) fn area(&self, i: usize, left: f64, top: f64) -> Area {
        let [width, height] = fitted(&self.frames[i].rgb, self.cell);
        let x = left + (i % self.columns) as f64 * self.pitch;
        Area::sized(x, top + (i / self.columns) as f64 * self.row_height() + HEADER, width, height)
    }

    fn draw_image(&self, canvas: &mut Canvas, image: &Image, x: f64, y: f64) {
        let [width, height] = fitted(image, self.cell);
        let area = Area::sized(x, y, width, height);
        canvas.blit(image, area);
        canvas.frame(area.grown(1.0), 1.0, HAIRLINE);
    }
}

fn caption(frame: &FramePick) -> String {
    format!("step {}", frame.step)
}

/// Width of the line above frame number `i`.
fn caption_width(i: usize, frame: &FramePick) -> f64 {
    2.0 * badge::half_width(i + 1) + CAPTION_GAP + LABEL.width(&caption(frame)) as f64
}

/// The size of an image in a square of side `cell`: a whole multiple of its own if it is enlarged,
/// so that all its pixels are equally large.
fn fitted(image: &Image, cell: f64) -> [f64; 2] {
    let size = [image.width() as f64, image.height() as f64];
    let factor = cell / size[0].max(size[1]);
    let factor = if factor >= 1.0 { factor.floor() } else { factor };
    size.map(|length| (length * factor).round().max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_images_are_enlarged_by_whole_numbers_and_large_ones_shrunk() {
        let image = |width, height| Image::from_grey(width, height, &vec![0; width * height]).unwrap();
        assert_eq!(fitted(&image(32, 32), 150.0), [128.0, 128.0]);
        assert_eq!(fitted(&image(56, 28), 150.0), [112.0, 56.0]);
        assert_eq!(fitted(&image(600, 300), 150.0), [150.0, 75.0]);
        assert_eq!(fitted(&image(5000, 1), 150.0), [150.0, 1.0]);
    }

    #[test]
    fn every_number_of_frames_fits_the_width() {
        let rgb = Image::from_grey(32, 32, &[0; 1024]).unwrap();
        for count in 0..=48 {
            let frames = vec![FramePick { step: 0, rgb: rgb.clone(), depth: Some(rgb.clone()) }; count];
            for width in [1188.0, 640.0, 200.0] {
                let strip = Strip::plan(&frames, width);
                let captions = frames.iter().enumerate().map(|(i, frame)| caption_width(i, frame));
                let widest = captions.fold(fitted(&rgb, strip.cell)[0], f64::max);
                assert!((strip.columns - 1) as f64 * strip.pitch + widest <= width, "{count} in {width}");
                assert!(strip.columns == 1 || strip.pitch >= widest + GAPS[0] - 1.0, "{count} in {width}");
            }
            let strip = Strip::plan(&frames, 1188.0);
            assert!(strip.height() >= 0.0 && (count > 0) == (strip.height() > 0.0));
        }
    }
}
