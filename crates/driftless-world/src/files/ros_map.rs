//! Maps of ROS: a description in YAML and an image, as `map_saver` writes and `map_server` reads them.
//!
//! Pixels become occupancies as nav2's `map_server` makes them: a shade from 0 (black) to 1, averaged over channels;
//! its opposite unless `negate`; then the mode. `trinary` compares it with both thresholds, `scale` also tells values
//! between them apart, `raw` takes the pixel's number. The image's first row is the farthest along y.

mod description;
mod pgm;

pub use description::{Description, Mode};
pub use pgm::Pgm;

use super::png_image::{self, PngImage, Samples};
use super::source::Source;
use crate::error::{Error, Result};
use crate::occupancy::{Cell, OccupancyGrid};
use crate::pose::compose;
use std::path::Path;

/// No description is longer.
const MOST_TEXT: u64 = 1 << 20;
/// No image file is longer: 16 bits a pixel, as text, of the largest image that is read.
const MOST_IMAGE: u64 = 1 << 29;
/// A file of PNG begins so.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A map as `map_server` would publish it.
#[derive(Clone, Debug, PartialEq)]
pub struct RosMap {
    /// Cells along x.
    pub width: usize,
    /// Cells along y.
    pub height: usize,
    /// Side of a cell in metres.
    pub resolution: f64,
    /// Pose of the lower left corner: x, y and heading.
    pub origin: [f64; 3],
    /// From 0, free, to 100, occupied; -1 is unknown. Row by row, the row of least y first.
    pub occupancy: Vec<i8>,
}

/// Numbers of an image, each from 0 to 1, channels last.
struct Shades {
    width: usize,
    height: usize,
    channels: usize,
    values: Vec<f32>,
}

impl RosMap {
    /// Reads a description and the image that it names, beside it or anywhere.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let named = |error: Error| error.in_file(path);
        let text = Source::open(path)?.read_text(MOST_TEXT).map_err(named)?;
        let description = Description::parse(&text).map_err(named)?;
        let image = path.parent().unwrap_or(Path::new("")).join(&description.image);
        let source = Source::open(&image)?;
        let of_image = |error: Error| error.in_file(&image);
        if source.len() > MOST_IMAGE {
            return Err(of_image(Error::new(format!("has {} bytes; at most {MOST_IMAGE}", source.len()))));
        }
        let bytes = source.read_vec(0, source.len()).map_err(of_image)?;
        Self::of(&description, &bytes).map_err(of_image)
    }

    /// A description and the bytes of its image.
    pub fn of(description: &Description, image: &[u8]) -> Result<Self> {
        let shades = Shades::decode(image)?;
        let Shades { width, height, channels, .. } = shades;
        let mut occupancy = vec![0; width * height];
        for (row, cells) in occupancy.chunks_exact_mut(width).rev().enumerate() {
            for (column, cell) in cells.iter_mut().enumerate() {
                let first = (row * width + column) * channels;
                *cell = description.occupancy(&shades.values[first..first + channels]);
            }
        }
        let Description { resolution, origin, .. } = *description;
        Ok(Self { width, height, resolution, origin, occupancy })
    }

    /// Free, occupied and unknown cells along the axes: what nav2's `amcl` takes for such, which is 0, 100 and all else. A
    /// map that is turned is looked up at the middle of each cell.
    pub fn grid(&self) -> OccupancyGrid {
        let [x, y, heading] = self.origin;
        let (sine, cosine) = heading.sin_cos();
        let sides = [self.width, self.height].map(|cells| cells as f64 * self.resolution);
        let corners = [[0.0, 0.0], [sides[0], 0.0], [0.0, sides[1]], sides]
            .map(|corner| compose([cosine, sine], corner))
            .map(|[dx, dy]| [x + dx, y + dy]);
        let edge =
            |k: usize, pick: fn(f64, f64) -> f64| corners.iter().map(|c| c[k]).fold(corners[0][k], pick);
        let low = [edge(0, f64::min), edge(1, f64::min)];
        let high = [edge(0, f64::max), edge(1, f64::max)];
        // What is not turned keeps its cells, whatever the rounding.
        let size = if heading == 0.0 {
            [self.width, self.height]
        } else {
            [0, 1].map(|k| ((high[k] - low[k]) / self.resolution).ceil() as usize)
        };
        let origin = if heading == 0.0 { [x, y] } else { low };
        let mut grid = OccupancyGrid { origin, cell: self.resolution, size, cells: Vec::new() };
        let cell = |number: usize| {
            if heading == 0.0 {
                return self.cell(number / self.height, number % self.height);
            }
            let apart = [0, 1].map(|k| grid.middle(number)[k] - [x, y][k]);
            let [ahead, left] = compose([cosine, -sine], apart).map(|metres| metres / self.resolution);
            if ahead < 0.0 || left < 0.0 { Cell::Unknown } else { self.cell(ahead as usize, left as usize) }
        };
        let cells = (0..size[0] * size[1]).map(cell).collect();
        grid.cells = cells;
        grid
    }

    fn cell(&self, column: usize, row: usize) -> Cell {
        if column >= self.width || row >= self.height {
            return Cell::Unknown;
        }
        match self.occupancy[row * self.width + column] {
            0 => Cell::Free,
            100 => Cell::Occupied,
            _ => Cell::Unknown,
        }
    }
}

impl Shades {
    fn decode(bytes: &[u8]) -> Result<Self> {
        if bytes.starts_with(PNG) {
            let PngImage { height, width, channels, samples } = png_image::decode(bytes)?;
            let values = match samples {
                Samples::Eight(all) => all.iter().map(|&value| f32::from(value) / 255.0).collect(),
                Samples::Sixteen(all) => all.iter().map(|&value| f32::from(value) / 65535.0).collect(),
            };
            return Ok(Self { width, height, channels, values });
        }
        let Pgm { width, height, most, values } = Pgm::decode(bytes)?;
        let values = values.iter().map(|&value| f32::from(value) / f32::from(most)).collect();
        Ok(Self { width, height, channels: 1, values })
    }
}

#[cfg(test)]
mod tests;
