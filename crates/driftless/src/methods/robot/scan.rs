//! Scans against a map: cells that beams end in and cells that they pass make an occupancy grid, unless one is given, and
//! a beam's likelihood falls with the distance of its end from the next occupied cell (a likelihood field).

use super::given;
use super::sensor::{Example, Model};
use crate::error::{Error, Result};
use crate::learn::{EpochReport, SensorSettings};
use crate::methods::anchored::store::{find, named};
use crate::parameters::Named;
use burn::tensor::DType;
use driftless_core::angles::cos_sin;
use driftless_core::map::squared_distances;
use driftless_core::pose::compose;
use driftless_core::{Belief, Particles, Reading, Space};
use driftless_world::evaluation::Surroundings;
use driftless_world::occupancy::{Cell, OccupancyGrid};
use driftless_world::random::Random;
use std::sync::Arc;

/// A map has no more cells than this; they become larger where it would.
const MOST_CELLS: f64 = 16e6;
/// Ends of beams farther from all poses than this are not on the map, in cells.
const FARTHEST: f64 = 800.0;
/// A cell is occupied where this share of the beams that came to it ended there.
const OCCUPIED: f32 = 0.2;
/// Standard deviation of a beam's end, in cells, and the share of beams that meet what is on the map.
const DEVIATION: f64 = 2.0;
const ON_THE_MAP: f64 = 0.9;

/// Ends of a scan's beams in the robot's frame, and the pose it was taken at.
type Beams = (Vec<[f32; 2]>, [f32; 3]);

/// A scanner, and the map of what its beams meet, which copies share.
#[derive(Clone)]
pub(super) struct Scan {
    pub(super) settings: SensorSettings,
    pub(super) grid: Arc<OccupancyGrid>,
    /// Log-likelihood of a beam that ends in a cell.
    field: Arc<Vec<f32>>,
    free: Arc<Vec<u32>>,
}

impl Scan {
    /// Without a map.
    pub(super) fn new(settings: &SensorSettings) -> Self {
        let (grid, field, free) = Default::default();
        Self { settings: settings.clone(), grid, field, free }
    }

    /// Bearings of the beams, in order.
    pub(super) fn bearing(&self, beam: usize) -> f64 {
        let SensorSettings { first_degrees, last_degrees, .. } = self.settings;
        let between = (last_degrees - first_degrees) / (self.settings.width().max(2) - 1) as f64;
        (first_degrees + between * beam as f64).to_radians()
    }

    /// Ends of every so many beams that met something, in the robot's frame.
    fn ends(&self, reading: &[f32], every: usize) -> Vec<[f32; 2]> {
        let SensorSettings { columns, reach, .. } = &self.settings;
        let beams = &reading[columns[0]..columns[1]];
        let mut ends = Vec::with_capacity(beams.len() / every + 1);
        for (k, &range) in beams.iter().enumerate().skip(every / 2).step_by(every) {
            if range.is_finite() && range > 0.0 && f64::from(range) < *reach {
                let bearing = self.bearing(k);
                ends.push([range * bearing.cos() as f32, range * bearing.sin() as f32]);
            }
        }
        ends
    }

    /// The box of all ends that are near enough, and of the poses.
    fn lay_out(&self, examples: &[Beams]) -> OccupancyGrid {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        let far = (FARTHEST * self.settings.cell) as f32;
        for (ends, pose) in examples {
            for end in ends.iter().filter(|end| end[0].hypot(end[1]) < far).chain(&[[0.0; 2]]) {
                let at = placed(pose, *end).map(f64::from);
                (0..2).for_each(|k| (low[k], high[k]) = (low[k].min(at[k]), high[k].max(at[k])));
            }
        }
        if low[0] > high[0] {
            (low, high) = ([0.0; 2], [0.0; 2]);
        }
        let area = (high[0] - low[0]) * (high[1] - low[1]);
        let cell = self.settings.cell.max((area / MOST_CELLS).sqrt());
        let margin = 10.0 * cell;
        let size = [0, 1].map(|k| ((high[k] - low[k] + 2.0 * margin) / cell).ceil() as usize);
        OccupancyGrid { origin: low.map(|x| x - margin), cell, size, cells: Vec::new() }
    }

    /// Deviation of a beam's end in cells; those of a given map may have any size.
    fn deviation(&self) -> f64 {
        let given = DEVIATION * self.settings.cell / self.grid.cell;
        if self.settings.is_given() { given.max(1.0) } else { DEVIATION }
    }

    /// Takes a map.
    fn arrange(&mut self, grid: OccupancyGrid) {
        let [width, height] = grid.size;
        let squares = squared_distances(width, height, |cell| grid.cells[cell] == Cell::Occupied);
        self.free = Arc::new(grid.of_kind(Cell::Free).map(|cell| cell as u32).collect());
        self.grid = Arc::new(grid);
        let narrow = -0.5 / self.deviation().powi(2);
        let log = |square: f64| ON_THE_MAP * (narrow * square).exp() + (1.0 - ON_THE_MAP);
        self.field = Arc::new(squares.iter().map(|&square| log(square).ln() as f32).collect());
    }

    fn name(&self, part: &str) -> String {
        format!("sensor.{}.{part}", self.settings.name)
    }
}

/// Beams that ended in each cell of a grid, and those that passed.
struct Tally<'a> {
    grid: &'a OccupancyGrid,
    ends: Vec<u32>,
    passed: Vec<u32>,
}

impl Tally<'_> {
    fn cell_of(&self, at: [f32; 2]) -> Option<usize> {
        let OccupancyGrid { origin, cell, size, .. } = self.grid;
        let place = [0, 1].map(|k| (f64::from(at[k]) - origin[k]) / cell);
        let inside = (0..2).all(|k| place[k] >= 0.0 && place[k] < size[k] as f64);
        inside.then(|| place[0] as usize * size[1] + place[1] as usize)
    }

    /// Counts the cells that a beam ends in and those that it passes.
    fn count(&mut self, pose: &[f32; 3], end: [f32; 2]) {
        let (from, to, side) = ([pose[0], pose[1]], placed(pose, end), self.grid.cell);
        let last = self.cell_of(to);
        if let Some(cell) = last {
            self.ends[cell] += 1;
        }
        let length = end[0].hypot(end[1]);
        let steps = (f64::from(length) / side).min(FARTHEST) as usize;
        let mut before = None;
        // The cell before the last is left alone: a pose is not that exact.
        for k in 0..steps.saturating_sub(1) {
            let share = k as f32 * side as f32 / length;
            let at = [0, 1].map(|i| from[i] + share * (to[i] - from[i]));
            let cell = self.cell_of(at);
            if let Some(cell) = cell.filter(|_| cell != before && cell != last) {
                self.passed[cell] += 1;
            }
            before = cell;
        }
    }

    fn cells(&self) -> Vec<Cell> {
        let kind = |(&ends, &passed): (&u32, &u32)| {
            if ends > 0 && ends as f32 >= OCCUPIED * (ends + passed) as f32 {
                Cell::Occupied
            } else if passed > 0 {
                Cell::Free
            } else {
                Cell::Unknown
            }
        };
        self.ends.iter().zip(&self.passed).map(kind).collect()
    }
}

/// The mean of the poses a scan may have been taken at. A map of a scan at each of them would be blurred by what is not
/// known of the path, and a blurred map leaves the next paths in doubt as well.
fn mean_pose(poses: &[[f32; 3]]) -> Option<[f32; 3]> {
    let drawn = || Belief::new(Particles::from_states(Space::SE2, poses.iter().copied()));
    match poses {
        [] => None,
        [pose] => Some(*pose),
        _ => drawn().mean().try_into().ok().map(|mean: [f64; 3]| mean.map(|x| x as f32)),
    }
}

/// A point of the robot's frame in the world.
fn placed(pose: &[f32; 3], end: [f32; 2]) -> [f32; 2] {
    let [x, y] = compose(cos_sin(pose[2]), end);
    [pose[0] + x, pose[1] + y]
}

impl Model for Scan {
    fn fresh(&self) -> Box<dyn Model> {
        Box::new(if self.settings.is_given() { self.clone() } else { Self::new(&self.settings) })
    }

    fn prepare(&mut self) -> Result<()> {
        if self.settings.is_given() {
            self.arrange(coarser(given::map(&self.settings.map)?));
        }
        Ok(())
    }

    /// A given map stays as it is.
    fn fit(&mut self, _: u64, examples: &[Example]) -> Option<EpochReport> {
        if self.settings.is_given() {
            return None;
        }
        let beams = |example: &Example| Some((self.ends(example.seen.numbers, 1), mean_pose(example.poses)?));
        let examples: Vec<Beams> = examples.iter().filter_map(beams).collect();
        let mut grid = self.lay_out(&examples);
        let count = grid.size[0] * grid.size[1];
        let mut tally = Tally { grid: &grid, ends: vec![0; count], passed: vec![0; count] };
        for (ends, pose) in &examples {
            for end in ends {
                tally.count(pose, *end);
            }
        }
        grid.cells = tally.cells();
        self.arrange(grid);
        None
    }

    fn score(&self, reading: &[f32], poses: &Particles, log: &mut [f32]) -> Reading {
        let every = self.settings.width().div_ceil(self.settings.beams);
        let ends = self.ends(reading, every);
        if ends.is_empty() || self.field.is_empty() {
            return Reading::Missing;
        }
        let beyond = (1.0 - ON_THE_MAP).ln() as f32;
        let OccupancyGrid { origin, cell, size: [width, height], .. } = *self.grid;
        let (per_cell, origin) = (1.0 / cell as f32, origin.map(|x| x as f32));
        let [x, y, heading] = [0, 1, 2].map(|k| poses.column(k));
        for (i, log) in log.iter_mut().enumerate() {
            let direction = cos_sin(heading[i]);
            let [x, y] = [(x[i] - origin[0]) * per_cell, (y[i] - origin[1]) * per_cell];
            let mut sum = 0.0;
            for end in &ends {
                let [along_x, along_y] = compose(direction, *end);
                let (column, row) = (x + per_cell * along_x, y + per_cell * along_y);
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
        let corner = self.grid.middle(cell as usize).map(|x| x - 0.5 * self.grid.cell);
        Some(corner.map(|x| x + self.grid.cell * random.unit()))
    }

    fn extent(&self, _: bool) -> Option<[[f64; 2]; 2]> {
        self.settings.is_given().then(|| self.grid.extent(Cell::Free, 0.0)).flatten()
    }

    fn surroundings(&self, known: &mut Surroundings) {
        known.grid.get_or_insert_with(|| (*self.grid).clone());
    }

    fn parameters(&self) -> Vec<Named> {
        let OccupancyGrid { origin, cell, size: [width, height], cells } = &*self.grid;
        let frame = vec![origin[0], origin[1], *cell, *width as f64, *height as f64];
        let cells = cells.iter().map(|&cell| f64::from(cell as u8)).collect();
        let cells = Named {
            name: self.name("cells"),
            shape: vec![*width, *height],
            precision: DType::F32,
            values: cells,
        };
        vec![named(&self.name("frame"), frame), cells]
    }

    fn restore(&mut self, parameters: &[Named], _: Option<&[Named]>) -> Result<()> {
        let (frame, cells) = (find(parameters, &self.name("frame"))?, find(parameters, &self.name("cells"))?);
        let wrong = || Error::setting(self.name("frame"), "does not fit the cells of the map");
        let &[x, y, cell, width, height] = frame else { return Err(wrong()) };
        let sound = frame.iter().all(|x| x.is_finite()) && cell >= 0.0 && width >= 0.0 && height >= 0.0;
        if !sound || width * height != cells.len() as f64 || (cell == 0.0 && !cells.is_empty()) {
            return Err(wrong());
        }
        let known = |&cell: &f64| Cell::from_number(cell as u8);
        let cells: Vec<Cell> = cells.iter().map(known).collect::<Option<_>>().ok_or_else(wrong)?;
        self.arrange(OccupancyGrid { origin: [x, y], cell, size: [width as usize, height as usize], cells });
        Ok(())
    }
}

/// A grid of no more cells than a map may have: several become one, which is occupied if one of them is.
fn coarser(grid: OccupancyGrid) -> OccupancyGrid {
    let [width, height] = grid.size;
    let each = ((width * height) as f64 / MOST_CELLS).sqrt().ceil() as usize;
    if each <= 1 {
        return grid;
    }
    let size = [width.div_ceil(each), height.div_ceil(each)];
    let mut cells = vec![Cell::Unknown; size[0] * size[1]];
    for (number, &cell) in grid.cells.iter().enumerate() {
        let into = &mut cells[number / height / each * size[1] + number % height / each];
        *into = if cell as u8 > *into as u8 { cell } else { *into };
    }
    OccupancyGrid { origin: grid.origin, cell: grid.cell * each as f64, size, cells }
}
