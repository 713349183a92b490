//! Scans against a learned map: cells that beams end in and cells that they pass make an occupancy grid, and a beam's
//! likelihood falls with the distance of its end from the next occupied cell (a likelihood field).

use super::sensor::{Example, Model};
use crate::error::{Error, Result};
use crate::learn::{EpochReport, SensorSettings};
use crate::methods::anchored::store::{find, named};
use crate::parameters::Named;
use burn::tensor::DType;
use driftless_core::angles::cos_sin;
use driftless_core::map::squared_distances;
use driftless_core::{Particles, Reading};
use driftless_world::random::Random;

/// A map has no more cells than this; they become larger where it would.
const MOST_CELLS: f64 = 16e6;
/// Ends of beams farther from all poses than this are not on the map, in cells.
const FARTHEST: f64 = 800.0;
/// A cell is occupied where this share of the beams that came to it ended there, and as many ends, over all poses, met it.
const OCCUPIED: f32 = 0.2;
const LEAST_ENDS: f32 = 0.35;
/// Standard deviation of a beam's end, in cells, and the share of beams that meet what is on the map.
const DEVIATION: f64 = 2.0;
const ON_THE_MAP: f64 = 0.9;

/// What a cell is, as it is stored.
const UNKNOWN: u8 = 0;
const FREE: u8 = 1;
const WALL: u8 = 2;

/// Ends of a scan's beams in the robot's frame, and the poses it may have been taken at.
type Beams<'a> = (Vec<[f32; 2]>, &'a [[f32; 3]]);

/// A scanner, and the map of what its beams meet.
pub(super) struct Scan {
    settings: SensorSettings,
    /// Left lower corner, and side of a cell.
    origin: [f64; 2],
    cell: f64,
    size: [usize; 2],
    cells: Vec<u8>,
    /// Log-likelihood of a beam that ends in a cell.
    field: Vec<f32>,
    free: Vec<u32>,
}

impl Scan {
    /// Without a map.
    pub(super) fn new(settings: &SensorSettings) -> Self {
        Self {
            settings: settings.clone(),
            origin: [0.0; 2],
            cell: settings.cell,
            size: [0; 2],
            cells: Vec::new(),
            field: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Ends of every so many beams that met something, in the robot's frame.
    fn ends(&self, reading: &[f32], every: usize) -> Vec<[f32; 2]> {
        let SensorSettings { columns, first_degrees, last_degrees, reach, .. } = &self.settings;
        let beams = &reading[columns[0]..columns[1]];
        let between = (last_degrees - first_degrees) / (beams.len().max(2) - 1) as f64;
        let mut ends = Vec::with_capacity(beams.len() / every + 1);
        for (k, &range) in beams.iter().enumerate().skip(every / 2).step_by(every) {
            if range.is_finite() && range > 0.0 && f64::from(range) < *reach {
                let bearing = (first_degrees + between * k as f64).to_radians();
                ends.push([range * bearing.cos() as f32, range * bearing.sin() as f32]);
            }
        }
        ends
    }

    /// The box of all ends that are near enough, and of the poses.
    fn lay_out(&mut self, examples: &[Beams]) {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        let far = (FARTHEST * self.settings.cell) as f32;
        for (ends, poses) in examples {
            let Some(pose) = poses.first() else { continue };
            for end in ends.iter().filter(|end| end[0].hypot(end[1]) < far).chain(&[[0.0; 2]]) {
                let at = placed(pose, *end).map(f64::from);
                (0..2).for_each(|k| (low[k], high[k]) = (low[k].min(at[k]), high[k].max(at[k])));
            }
        }
        if low[0] > high[0] {
            (low, high) = ([0.0; 2], [0.0; 2]);
        }
        let area = (high[0] - low[0]) * (high[1] - low[1]);
        self.cell = self.settings.cell.max((area / MOST_CELLS).sqrt());
        let margin = 10.0 * self.cell;
        self.origin = low.map(|x| x - margin);
        self.size = [0, 1].map(|k| ((high[k] - low[k] + 2.0 * margin) / self.cell).ceil() as usize);
    }

    fn cell_of(&self, at: [f32; 2]) -> Option<usize> {
        let place = [0, 1].map(|k| (f64::from(at[k]) - self.origin[k]) / self.cell);
        let inside = (0..2).all(|k| place[k] >= 0.0 && place[k] < self.size[k] as f64);
        inside.then(|| place[0] as usize * self.size[1] + place[1] as usize)
    }

    /// Counts the cells that a beam ends in and those that it passes.
    fn count(&self, pose: &[f32; 3], end: [f32; 2], weight: f32, ends: &mut [f32], passed: &mut [f32]) {
        let (from, to) = ([pose[0], pose[1]], placed(pose, end));
        let last = self.cell_of(to);
        if let Some(cell) = last {
            ends[cell] += weight;
        }
        let length = end[0].hypot(end[1]);
        let steps = (f64::from(length) / self.cell).min(FARTHEST) as usize;
        let mut before = None;
        // The cell before the last is left alone: a pose is not that exact.
        for k in 0..steps.saturating_sub(1) {
            let share = k as f32 * self.cell as f32 / length;
            let at = [0, 1].map(|i| from[i] + share * (to[i] - from[i]));
            let cell = self.cell_of(at);
            if let Some(cell) = cell.filter(|_| cell != before && cell != last) {
                passed[cell] += weight;
            }
            before = cell;
        }
    }

    /// The field of the cells.
    fn arrange(&mut self) {
        let [width, height] = self.size;
        let squares = squared_distances(width, height, |cell| self.cells[cell] == WALL);
        let log = |square: f64| ON_THE_MAP * (-0.5 * square / DEVIATION.powi(2)).exp() + (1.0 - ON_THE_MAP);
        self.field = squares.iter().map(|&square| log(square).ln() as f32).collect();
        let free = (0..self.cells.len()).filter(|&cell| self.cells[cell] == FREE);
        self.free = free.map(|cell| cell as u32).collect();
    }

    fn name(&self, part: &str) -> String {
        format!("sensor.{}.{part}", self.settings.name)
    }
}

/// A point of the robot's frame in the world.
fn placed(pose: &[f32; 3], end: [f32; 2]) -> [f32; 2] {
    let [cosine, sine] = cos_sin(pose[2]);
    [pose[0] + cosine * end[0] - sine * end[1], pose[1] + sine * end[0] + cosine * end[1]]
}

impl Model for Scan {
    fn fresh(&self) -> Box<dyn Model> {
        Box::new(Self::new(&self.settings))
    }

    fn fit(&mut self, _: u64, examples: &[Example]) -> Option<EpochReport> {
        let examples: Vec<Beams> =
            examples.iter().map(|example| (self.ends(example.seen.numbers, 1), example.poses)).collect();
        self.lay_out(&examples);
        let count = self.size[0] * self.size[1];
        let (mut ends, mut passed) = (vec![0.0; count], vec![0.0; count]);
        for (beams, poses) in &examples {
            let weight = 1.0 / poses.len().max(1) as f32;
            for pose in *poses {
                for end in beams {
                    self.count(pose, *end, weight, &mut ends, &mut passed);
                }
            }
        }
        let kind = |(&ends, &passed): (&f32, &f32)| {
            if ends >= LEAST_ENDS && ends >= OCCUPIED * (ends + passed) {
                WALL
            } else if passed > 0.0 {
                FREE
            } else {
                UNKNOWN
            }
        };
        self.cells = ends.iter().zip(&passed).map(kind).collect();
        self.arrange();
        None
    }

    fn score(&self, reading: &[f32], poses: &Particles, log: &mut [f32]) -> Reading {
        let every = self.settings.width().div_ceil(self.settings.beams);
        let ends = self.ends(reading, every);
        if ends.is_empty() || self.field.is_empty() {
            return Reading::Missing;
        }
        let beyond = (1.0 - ON_THE_MAP).ln() as f32;
        let per_cell = 1.0 / self.cell as f32;
        let (origin, [width, height]) = (self.origin.map(|x| x as f32), self.size);
        let [x, y, heading] = [0, 1, 2].map(|k| poses.column(k));
        for (i, log) in log.iter_mut().enumerate() {
            let [cosine, sine] = cos_sin(heading[i]);
            let [x, y] = [(x[i] - origin[0]) * per_cell, (y[i] - origin[1]) * per_cell];
            let mut sum = 0.0;
            for [forward, left] in &ends {
                let column = x + per_cell * (cosine * forward - sine * left);
                let row = y + per_cell * (sine * forward + cosine * left);
                // What is negative or NaN becomes large or 0, and is beyond the map or at its empty edge.
                let inside =
                    column >= 0.0 && row >= 0.0 && (column as usize) < width && (row as usize) < height;
                sum += if inside { self.field[column as usize * height + row as usize] } else { beyond };
            }
            *log = sum;
        }
        Reading::Present
    }

    fn place(&self, random: &mut Random) -> Option<[f64; 2]> {
        let &cell = self.free.get(if self.free.is_empty() { 0 } else { random.below(self.free.len()) })?;
        let place = [cell as usize / self.size[1], cell as usize % self.size[1]];
        Some([0, 1].map(|k| self.origin[k] + self.cell * (place[k] as f64 + random.unit())))
    }

    fn parameters(&self) -> Vec<Named> {
        let [width, height] = self.size;
        let frame = vec![self.origin[0], self.origin[1], self.cell, width as f64, height as f64];
        let cells = self.cells.iter().map(|&cell| f64::from(cell)).collect();
        let cells = Named {
            name: self.name("cells"),
            shape: vec![width, height],
            precision: DType::F32,
            values: cells,
        };
        vec![named(&self.name("frame"), frame), cells]
    }

    fn restore(&mut self, parameters: &[Named], _: Option<&[Named]>) -> Result<()> {
        let (frame, cells) = (find(parameters, &self.name("frame"))?, find(parameters, &self.name("cells"))?);
        let wrong = || Error::setting(self.name("frame"), "does not fit the cells of the map");
        let &[x, y, cell, width, height] = frame else { return Err(wrong()) };
        let sound = frame.iter().all(|x| x.is_finite()) && cell > 0.0 && width >= 0.0 && height >= 0.0;
        if !sound || width * height != cells.len() as f64 {
            return Err(wrong());
        }
        (self.origin, self.cell, self.size) = ([x, y], cell, [width as usize, height as usize]);
        self.cells = cells.iter().map(|&cell| cell as u8).collect();
        self.arrange();
        Ok(())
    }
}
