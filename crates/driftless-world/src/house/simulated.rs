//! Houses in the table of worlds: many of them, each walked through several times.

use super::{HouseWorld, Split};
use crate::error::{Error, Result};
use crate::files::{Entry, Format, pfnet};
use crate::render::Camera;
use crate::simulate::{Simulation, World};
use std::sync::{Arc, Mutex};

/// Walks through houses. They are spread evenly over the houses, house after house: a reader that wants them mixed
/// shuffles records anyway.
struct Walks {
    wanted: Simulation,
    steps: usize,
    houses: usize,
    split: Split,
    camera: Camera,
    size: [usize; 2],
    built: Built,
}

/// Fails if the walks cannot be made.
pub(crate) fn build(wanted: &Simulation, _: &Format) -> Result<Box<dyn World>> {
    let split = wanted.split.unwrap_or(Split::Train);
    let steps = wanted.steps.unwrap_or(if split == Split::Train { 25 } else { 100 });
    let houses = wanted.houses.unwrap_or(wanted.episodes.div_ceil(10)).min(wanted.episodes);
    if steps == 0 || houses == 0 {
        return Err(Error::usage("--steps and --houses must be at least 1"));
    }
    let size = wanted.size.unwrap_or([56, 56]);
    let camera = HouseWorld::camera(size[0], size[1]);
    let (wanted, built) = (wanted.clone(), Built::default());
    Ok(Box::new(Walks { wanted, steps, houses, split, camera, size, built }))
}

impl World for Walks {
    fn steps(&self) -> usize {
        self.steps
    }

    fn image(&self) -> [usize; 2] {
        self.size
    }

    fn episode(&self, number: usize) -> Result<Entry> {
        let Simulation { seed, episodes, odometry_noise, .. } = self.wanted;
        let house = (number as u128 * self.houses as u128 / episodes as u128) as usize;
        let world = self.built.house(house, || HouseWorld::new(seed, self.split, house as u64))?;
        let mut episode = world.episode(self.steps, number as u64, self.camera);
        let mut random = Simulation::odometry_noise(seed, number);
        for number in episode.odometry.iter_mut().flatten() {
            *number *= (1.0 + odometry_noise * random.normal()) as f32;
        }
        pfnet::encode(&episode).map(Entry::House)
    }
}

/// Houses built lately: episodes of one house follow each other, so a few suffice.
#[derive(Default)]
struct Built(Mutex<Vec<(usize, Arc<HouseWorld>)>>);

impl Built {
    fn house(&self, number: usize, build: impl FnOnce() -> Result<HouseWorld>) -> Result<Arc<HouseWorld>> {
        let known = |houses: &[(usize, Arc<HouseWorld>)]| {
            houses.iter().find(|(built, _)| *built == number).map(|(_, world)| world.clone())
        };
        if let Some(world) = known(&self.0.lock().expect("no thread panicked")) {
            return Ok(world);
        }
        // Built outside the lock: two threads may build the same house, to the same bytes.
        let world = Arc::new(build()?);
        let mut houses = self.0.lock().expect("no thread panicked");
        if houses.len() >= 2 * rayon::current_num_threads() {
            houses.remove(0);
        }
        houses.push((number, world.clone()));
        Ok(world)
    }
}
