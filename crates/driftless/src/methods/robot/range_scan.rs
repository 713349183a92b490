//! A camera on a map that is given: a network says for each column of an image how far the next wall is, and rays on the map
//! how far it would be. It is the range scan of houses, as a sensor of any robot.

use super::network::World;
use super::scan::Scan;
use super::sensor::{Example, Model};
use super::walks::Measured;
use crate::error::{Error, Result};
use crate::learn::{EpochReport, SensorSettings};
use crate::methods::learner::Learner;
use crate::methods::range_scan::bins::{BINS, ENDS};
use crate::methods::range_scan::camera::Camera;
use crate::methods::range_scan::network::{Network, learner};
use crate::methods::range_scan::updates::{Shown, Trainer, Workspaces};
use crate::methods::range_scan::views::Lens;
use crate::methods::updates::{Figures, Tally};
use crate::parameters::Named;
use driftless_core::map::Walls;
use driftless_core::{Particles, Reading};
use driftless_kernels::range_scan::{ScanMemory, ScanPlan};
use driftless_kernels::ranks::Alone;
use driftless_world::evaluation::Surroundings;
use driftless_world::occupancy::Cell;
use driftless_world::random::Random;
use driftless_world::trajectory::{Images, Rows};
use rayon::prelude::*;
use std::sync::Arc;

/// Images of an update, images that are seen at once, and poses that a thread scores, at least.
const BATCH: usize = 32;
const AT_ONCE: usize = 8;
const TOGETHER: usize = 512;
/// A reach beyond this is none; bins end at their own then.
const NO_REACH: f64 = 1e6;

/// The map as rays need it.
struct Ground {
    walls: Walls,
    camera: Camera,
}

/// A camera, its network and the map.
pub(super) struct RangeScan {
    /// Holds the map, and says where robots can be.
    scan: Scan,
    learner: Learner<Network>,
    lens: Lens,
    seed: u64,
    ground: Option<Arc<Ground>>,
}

impl RangeScan {
    /// First weights, without a map.
    pub(super) fn new(settings: &SensorSettings, world: &World) -> Self {
        let World { normalisation, seed, epochs } = *world;
        let [channels, height, width] = normalisation.pixels.shape();
        // Sensors of different names have different weights.
        let seed = settings.name.bytes().fold(seed, |seed, byte| Random::stream(seed, byte.into()).bits());
        let plan = ScanPlan { image: [height, width], channels, bins: BINS };
        let first = Random::stream(seed, 0).bits();
        Self {
            scan: Scan::new(settings),
            learner: learner(plan, epochs * settings.updates as u64, &mut Random::new(first)),
            lens: Lens::of_camera(channels),
            seed,
            ground: None,
        }
    }

    /// Rays on the map that is there. Bins end at the camera's reach, and what they count in is a fifteenth of it.
    fn arrange(&mut self) {
        let (grid, settings) = (&self.scan.grid, &self.scan.settings);
        let reach = if settings.reach < NO_REACH { settings.reach } else { ENDS[1] };
        let edges = [settings.first_degrees, settings.last_degrees].map(f64::to_radians);
        let sizes = (grid.cell * ENDS[1] / reach, grid.cell);
        let columns = self.learner.net().net().plan().columns();
        self.ground = (!grid.cells.is_empty()).then(|| {
            let is_wall = |cell: usize| grid.cells[cell] == Cell::Occupied;
            let walls = Walls::new(grid.size[0], grid.size[1], is_wall);
            Arc::new(Ground { walls, camera: Camera::between(edges, columns, sizes, grid.origin) })
        });
    }

    /// Whether an image is as those that are learned from.
    fn fits(&self, images: &Images) -> bool {
        let plan = self.learner.net().net().plan();
        [images.height, images.width] == plan.image && images.channels == plan.channels
    }

    fn prefix(&self, part: &str) -> String {
        format!("sensor.{}.{part}", self.scan.settings.name)
    }

    /// Names with a prefix, which no other sensor has.
    fn prefixed(&self, values: Vec<Named>, part: &str) -> Vec<Named> {
        let name = |value: Named| Named { name: self.prefix(&format!("{part}{}", value.name)), ..value };
        values.into_iter().map(name).collect()
    }

    fn own(&self, all: &[Named], part: &str) -> Vec<Named> {
        let prefix = self.prefix(part);
        let own = |value: &Named| {
            value.name.strip_prefix(&prefix).map(|name| Named { name: name.to_owned(), ..value.clone() })
        };
        all.iter().filter_map(own).collect()
    }
}

impl Model for RangeScan {
    fn fresh(&self) -> Box<dyn Model> {
        Box::new(Self {
            scan: self.scan.clone(),
            learner: self.learner.clone(),
            lens: self.lens.clone(),
            seed: self.seed,
            ground: self.ground.clone(),
        })
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn prepare(&mut self) -> Result<()> {
        if !self.scan.settings.is_given() {
            let name = format!("sensor `{}`", self.scan.settings.name);
            let problem = "needs a map: give a ROS map (yaml) as its map, or as robot.map";
            return Err(Error::setting(name, problem));
        }
        self.scan.prepare()?;
        self.arrange();
        Ok(())
    }

    fn fit(&mut self, epoch: u64, examples: &[Example]) -> Option<EpochReport> {
        let ground = self.ground.clone()?;
        let usable: Vec<(&[[f32; 3]], &Images, usize)> = examples
            .iter()
            .filter(|example| !example.poses.is_empty())
            .filter_map(|example| example.seen.image.map(|(images, step)| (example.poses, images, step)))
            .filter(|(_, images, _)| self.fits(images))
            .collect();
        let (mut tally, workspaces) = (Tally::default(), Workspaces::default());
        let mut random = Random::stream(self.seed, epoch);
        let updates = if usable.is_empty() { 0 } else { self.scan.settings.updates as u64 };
        for update in 0..updates {
            let one = |_| {
                let (poses, images, step) = usable[random.below(usable.len())];
                Shown { images, step, poses, walls: &ground.walls }
            };
            let chosen: Vec<Shown> = (0..BATCH).map(one).collect();
            let trainer = Trainer {
                network: self.learner.net(),
                camera: &ground.camera,
                lens: &self.lens,
                workspaces: &workspaces,
                ranks: &Alone,
            };
            let found = trainer.loss(&chosen, None, self.seed ^ ((epoch << 20) | update).rotate_left(20));
            let (losses, gradient) = found.expect("one process is never lost");
            let step = self.learner.step_by(losses.cross_entropy, &gradient);
            let losses = vec![("cross-entropy", losses.cross_entropy)];
            tally.add(&Figures { losses, effective_sample_size: None }, &step);
        }
        Some(tally.report())
    }

    /// Logarithms of probabilities by column and bin; NaN where no image says anything.
    fn encode(&self, steps: &[Measured]) -> Option<Rows> {
        let plan = self.learner.net().net().plan();
        let width = plan.columns() * BINS;
        let (mut memory, mut all) = (ScanMemory::default(), Vec::with_capacity(steps.len() * width));
        for steps in steps.chunks(AT_ONCE) {
            let (mut seen, mut log) = (Vec::new(), Vec::new());
            for step in steps {
                match step.image.filter(|(images, _)| self.fits(images)) {
                    Some((images, t)) => self.lens.plain(images, t, &mut seen),
                    None => seen.resize(seen.len() + plan.pixels(), f32::NAN),
                }
            }
            self.learner.net().scan_seen(&seen, &mut memory, &mut log);
            for scan in log {
                all.extend(scan.unwrap_or_else(|| vec![f32::NAN; width]));
            }
        }
        Some(Rows::new(width, all).expect("scans are rows"))
    }

    fn score(&self, scan: &[f32], poses: &Particles, log: &mut [f32]) -> Reading {
        let Some(ground) = self.ground.as_ref().filter(|_| scan.first().is_some_and(|x| x.is_finite()))
        else {
            return Reading::Missing;
        };
        let pose = |i: usize| [0, 1, 2].map(|k| poses.column(k)[i]);
        log.par_chunks_mut(TOGETHER).enumerate().for_each(|(part, log)| {
            for (i, log) in log.iter_mut().enumerate() {
                *log = ground.camera.log_likelihood(&ground.walls, scan, pose(part * TOGETHER + i), 1);
            }
        });
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
        let mut all = self.scan.parameters();
        all.extend(self.prefixed(self.learner.values().to_vec(), "network."));
        all
    }

    fn memory(&self) -> Vec<Named> {
        self.prefixed(self.learner.memory(), "")
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.scan.restore(parameters, None)?;
        let memory = memory.map(|memory| self.own(memory, ""));
        self.learner.restore(&self.own(parameters, "network."), memory.as_deref())?;
        self.arrange();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
