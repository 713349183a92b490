//! A raster of RGB pixels on which shapes are drawn smoothly, and its PNG.
//!
//! Coordinates are pixels, x to the right and y **down**; pixel (i, j) covers the square from
//! (i, j) to (i+1, j+1). A shape covers part of the pixels at its edge: how much is read off the
//! distance between the pixel's centre and the edge, and the colours are mixed accordingly.

mod blit;
mod segment;
mod shapes;
mod stroke;

pub use stroke::Vertex;

use crate::colour::Rgb;
use driftless_world::{Error, Result};

/// The largest number of pixels of a canvas: 200 MB.
const MAX_PIXELS: usize = 1 << 26;

/// A rectangle in pixels; empty if an edge is NaN or on the wrong side of its opposite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Smallest x.
    pub left: f64,
    /// Smallest y, the upper edge.
    pub top: f64,
    /// Largest x.
    pub right: f64,
    /// Largest y, the lower edge.
    pub bottom: f64,
}

impl Area {
    /// A rectangle by its upper left corner and its size.
    pub const fn sized(left: f64, top: f64, width: f64, height: f64) -> Self {
        Self { left, top, right: left + width, bottom: top + height }
    }

    /// Width, negative if the edges are swapped.
    pub const fn width(self) -> f64 {
        self.right - self.left
    }

    /// Height, negative if the edges are swapped.
    pub const fn height(self) -> f64 {
        self.bottom - self.top
    }

    /// The same rectangle with every edge moved outwards by `margin`.
    pub const fn grown(self, margin: f64) -> Self {
        Self {
            left: self.left - margin,
            top: self.top - margin,
            right: self.right + margin,
            bottom: self.bottom + margin,
        }
    }

    /// The smallest rectangle that holds two points.
    fn around(a: [f64; 2], b: [f64; 2]) -> Self {
        Self { left: a[0].min(b[0]), top: a[1].min(b[1]), right: a[0].max(b[0]), bottom: a[1].max(b[1]) }
    }

    fn has_nan(self) -> bool {
        self.left.is_nan() || self.top.is_nan() || self.right.is_nan() || self.bottom.is_nan()
    }

    fn intersection(self, other: Self) -> Self {
        Self {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        }
    }
}

/// Pixels that can be drawn on. Whatever lies outside is cut off, however far away it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
    clip: Area,
}

impl Canvas {
    /// A canvas filled with one colour; refuses sizes that nobody could look at.
    pub fn new(width: usize, height: usize, colour: Rgb) -> Result<Self> {
        let pixels = width.checked_mul(height).filter(|pixels| (1..=MAX_PIXELS).contains(pixels));
        let Some(pixels) = pixels else {
            return Err(Error::new(format!(
                "a picture of {width} x {height} pixels cannot be drawn; between 1 and {MAX_PIXELS} pixels can"
            )));
        };
        let clip = Area::sized(0.0, 0.0, width as f64, height as f64);
        Ok(Self { width, height, pixels: colour.repeat(pixels), clip })
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// RGB triples, row after row from the top.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// The colour of one pixel; panics outside the canvas.
    pub fn pixel(&self, x: usize, y: usize) -> Rgb {
        assert!(x < self.width && y < self.height, "no pixel ({x}, {y})");
        let i = 3 * (y * self.width + x);
        [self.pixels[i], self.pixels[i + 1], self.pixels[i + 2]]
    }

    /// Runs `draw` with everything outside `area` protected.
    pub fn clipped(&mut self, area: Area, draw: impl FnOnce(&mut Self)) {
        let before = self.clip;
        let nowhere = Area::sized(0.0, 0.0, 0.0, 0.0);
        self.clip = before.intersection(if area.has_nan() { nowhere } else { area });
        draw(self);
        self.clip = before;
    }

    /// The PNG file of this canvas; equal canvases give equal bytes.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Balanced);
        let mut writer = encoder.write_header().map_err(not_encoded)?;
        writer.write_image_data(&self.pixels).map_err(not_encoded)?;
        writer.finish().map_err(not_encoded)?;
        Ok(file)
    }

    /// The whole pixels that `area` and the clip have in common, as columns and rows.
    fn pixels_in(&self, area: Area) -> [std::ops::Range<usize>; 2] {
        if area.has_nan() {
            return [0..0, 0..0];
        }
        let seen = self.clip.intersection(area);
        // The clip lies on the canvas, so an edge beyond it saturates at 0 or comes out reversed: empty.
        let columns = seen.left.floor() as usize..seen.right.ceil() as usize;
        let rows = seen.top.floor() as usize..seen.bottom.ceil() as usize;
        [columns, rows]
    }

    /// Mixes `colour` into every pixel of `area`, as much as `coverage` of the pixel's centre says.
    pub(crate) fn cover(&mut self, area: Area, colour: Rgb, alpha: f64, coverage: impl Fn(f64, f64) -> f64) {
        let [columns, rows] = self.pixels_in(area);
        for y in rows {
            for x in columns.clone() {
                let covered = coverage(x as f64 + 0.5, y as f64 + 0.5);
                self.blend(x, y, colour, alpha * covered);
            }
        }
    }

    /// Mixes a colour into one pixel of the canvas; `alpha` is held within 0..=1, NaN is 0.
    fn blend(&mut self, x: usize, y: usize, colour: Rgb, alpha: f64) {
        if alpha >= 1.0 {
            self.set(x, y, colour);
        } else if alpha > 0.0 {
            let mixed = mix(self.pixel(x, y), colour, alpha);
            self.set(x, y, mixed);
        }
    }

    fn set(&mut self, x: usize, y: usize, colour: Rgb) {
        let i = 3 * (y * self.width + x);
        self.pixels[i..i + 3].copy_from_slice(&colour);
    }
}

/// `alpha` parts of `over` on `under`.
fn mix(under: Rgb, over: Rgb, alpha: f64) -> Rgb {
    let alpha = alpha.min(1.0);
    std::array::from_fn(|c| {
        let (under, over) = (f64::from(under[c]), f64::from(over[c]));
        // Colours are not negative, so this rounds; `round` would be a call for every pixel.
        (under + (over - under) * alpha + 0.5) as u8
    })
}

fn not_encoded(error: png::EncodingError) -> Error {
    Error::io("cannot encode the picture", error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_sizes_before_taking_memory() {
        for (width, height) in [(0, 5), (5, 0), (usize::MAX, 2), (1 << 20, 1 << 20)] {
            let error = Canvas::new(width, height, [0; 3]).unwrap_err();
            assert!(error.to_string().contains("cannot be drawn"), "{error}");
        }
    }

    #[test]
    fn the_png_holds_the_same_pixels() {
        let mut canvas = Canvas::new(13, 7, [250, 251, 252]).unwrap();
        canvas.disc([6.0, 3.0], 2.5, [10, 90, 200], 0.7);
        let file = canvas.to_png().unwrap();
        assert_eq!(file, canvas.clone().to_png().unwrap());
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((frame.width, frame.height, frame.color_type), (13, 7, png::ColorType::Rgb));
        assert_eq!(pixels, canvas.pixels());
    }

    #[test]
    fn nothing_is_drawn_outside_the_clip() {
        let mut canvas = Canvas::new(20, 20, [255; 3]).unwrap();
        canvas.clipped(Area::sized(5.0, 6.0, 3.0, 4.0), |canvas| {
            canvas.disc([10.0, 10.0], 100.0, [0; 3], 1.0);
        });
        let dark = canvas.pixels().chunks(3).filter(|pixel| pixel[0] == 0).count();
        assert_eq!((dark, canvas.pixel(5, 6), canvas.pixel(7, 9)), (12, [0; 3], [0; 3]));
        let before = canvas.clone();
        canvas.clipped(Area::sized(0.0, 0.0, 4.0, 20.0), |canvas| {
            let wider = Area::sized(-50.0, -50.0, 500.0, 500.0);
            canvas.clipped(wider, |canvas| canvas.rectangle(Area::sized(4.0, 0.0, 99.0, 99.0), [0; 3], 1.0));
        });
        for nowhere in [Area::sized(90.0, 0.0, 5.0, 5.0), Area::sized(f64::NAN, 0.0, 5.0, 5.0)] {
            canvas.clipped(nowhere, |canvas| canvas.line([0.0, 0.0], [20.0, 20.0], 5.0, [0; 3], 1.0));
        }
        assert_eq!(canvas, before);
        canvas.disc([1.0, 1.0], 1.0, [0; 3], 1.0);
        assert_ne!(canvas.pixel(0, 0), [255; 3], "the clip ends with its closure");
    }
}
