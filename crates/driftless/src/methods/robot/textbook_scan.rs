//! Scans as robots compare them with a map today, for `mcl`: the likelihood field or the beam model with amcl's numbers.
//!
//! A product over beams would be far too sure of itself, because neighbouring beams err together. amcl, whose way this is,
//! weighs a particle by 1 + Σ p³ over its beams instead.

use super::scan::Scan;
use super::sensor::{Example, Model};
use crate::classical::{
    Beam, BeamModel, BeamSettings, FieldSettings, LikelihoodField, RangeScan, Reading as Met, SensorModel,
};
use crate::error::Result;
use crate::learn::{EpochReport, ScanModel, SensorSettings};
use crate::parameters::Named;
use driftless_core::map::Walls;
use driftless_core::{Particles, Reading};
use driftless_world::evaluation::Surroundings;
use driftless_world::occupancy::Cell;
use driftless_world::pose::Pose;
use driftless_world::random::Random;
use std::f64::consts::TAU;

/// Deviation of a beam's end in cells that a map has usually: amcl's 0.2 m.
const HIT_CELLS: f64 = 4.0;
/// amcl's shares, and how much rarer a short reading is a metre farther on.
const RANDOM: f64 = 0.5;
const BEAMS: [f64; 4] = [0.5, 0.05, 0.05, 0.5];
const SHORT_RATE: f64 = 0.1;
/// A reach beyond this is none; amcl's 100 m in usual cells stand for it.
const NO_REACH: f64 = 1e6;
const REACH_CELLS: f64 = 2000.0;

/// A scanner, its map, learned at labels or given, and how scans are compared with it.
pub(super) struct TextbookScan {
    scan: Scan,
    model: Option<Box<dyn SensorModel>>,
}

impl TextbookScan {
    /// Without a map.
    pub(super) fn new(settings: &SensorSettings) -> Self {
        Self { scan: Scan::new(settings), model: None }
    }

    fn arrange(&mut self) {
        let (grid, settings) = (&self.scan.grid, &self.scan.settings);
        let usual = settings.cell;
        let farthest = if settings.reach < NO_REACH { settings.reach } else { REACH_CELLS * usual };
        let is_wall = |cell: usize| grid.cells[cell] == Cell::Occupied;
        let hit_deviation = HIT_CELLS * usual;
        self.model = (!grid.cells.is_empty()).then(|| -> Box<dyn SensorModel> {
            match settings.model {
                ScanModel::LikelihoodField => {
                    let field = FieldSettings { hit_deviation, random: RANDOM };
                    Box::new(LikelihoodField::over(grid.size, grid.cell, is_wall, &field, farthest))
                }
                ScanModel::Beam => {
                    let [hit, short, beyond, random] = BEAMS;
                    let short_rate = SHORT_RATE * 0.05 / usual;
                    let beam = BeamSettings { hit, short, beyond, random, hit_deviation, short_rate };
                    let walls = Walls::new(grid.size[0], grid.size[1], is_wall);
                    Box::new(BeamModel::over(walls, grid.cell, &beam, farthest))
                }
            }
        });
    }

    /// Some beams of a reading, evenly spread; what is NaN is missing, and what is beyond reach met nothing.
    fn beams(&self, reading: &[f32]) -> RangeScan {
        let SensorSettings { columns, reach, beams, .. } = &self.scan.settings;
        let ranges = &reading[columns[0]..columns[1]];
        let every = ranges.len().div_ceil(*beams);
        let beam = |(k, &range): (usize, &f32)| {
            let reading = match f64::from(range) {
                range if range.is_nan() || range <= 0.0 => return None,
                range if range >= *reach || range.is_infinite() => Met::Beyond,
                range => Met::Range(range),
            };
            let (sine, cosine) = self.scan.bearing(k).sin_cos();
            Some(Beam { direction: [cosine, sine], reading })
        };
        let chosen = ranges.iter().enumerate().skip(every / 2).step_by(every);
        RangeScan { beams: chosen.filter_map(beam).collect() }
    }
}

impl Model for TextbookScan {
    fn fresh(&self) -> Box<dyn Model> {
        let scan =
            if self.scan.settings.is_given() { self.scan.clone() } else { Scan::new(&self.scan.settings) };
        Box::new(Self { scan, model: None })
    }

    fn prepare(&mut self) -> Result<()> {
        self.scan.prepare()?;
        self.arrange();
        Ok(())
    }

    fn fit(&mut self, epoch: u64, examples: &[Example]) -> Option<EpochReport> {
        self.scan.fit(epoch, examples);
        self.arrange();
        None
    }

    fn score(&self, reading: &[f32], poses: &Particles, log: &mut [f32]) -> Reading {
        let scan = self.beams(reading);
        let Some(model) = self.model.as_ref().filter(|_| !scan.beams.is_empty()) else {
            return Reading::Missing;
        };
        let (origin, cell) = (self.scan.grid.origin, self.scan.grid.cell);
        // amcl's bells are 1 at their peak, ours densities.
        let peak = (HIT_CELLS * self.scan.settings.cell * TAU.sqrt()).ln();
        let [x, y, heading] = [0, 1, 2].map(|k| poses.column(k));
        for (i, log) in log.iter_mut().enumerate() {
            let [x, y] = [(f64::from(x[i]) - origin[0]) / cell, (f64::from(y[i]) - origin[1]) / cell];
            let mut sum = 1.0;
            let pose = Pose::new(x, y, f64::from(heading[i]));
            model.visit(pose, &scan, &mut |beam| sum += (3.0 * (beam + peak)).exp());
            *log = sum.ln() as f32;
        }
        Reading::Present
    }

    fn place(&self, random: &mut Random) -> Option<[f64; 2]> {
        self.scan.place(random)
    }

    fn extent(&self, seen: bool) -> Option<[[f64; 2]; 2]> {
        self.scan.extent(seen)
    }

    fn surroundings(&self, known: &mut Surroundings) {
        self.scan.surroundings(known);
    }

    fn parameters(&self) -> Vec<Named> {
        self.scan.parameters()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.scan.restore(parameters, memory)?;
        self.arrange();
        Ok(())
    }
}
