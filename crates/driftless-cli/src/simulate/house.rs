//! Houses, as PF-net's tfrecords.

use super::{check_room, episode_bytes, odometry_noise, overwrite, produce};
use crate::args::{Format, HouseSplit, Simulate, Size, Steering};
use crate::progress::Progress;
use crate::usage::misused;
use anyhow::Result;
use driftless_world::files::pfnet::{self, PfnetWriter};
use driftless_world::house::{HouseWorld, Split};
use std::sync::{Arc, Mutex};

/// Writes the data set; returns frames and seconds.
///
/// Episodes are spread evenly over the houses, house after house: a reader that wants them mixed
/// shuffles records anyway.
pub fn simulate(wanted: &Simulate) -> Result<(u64, f64)> {
    let wanted_split = wanted.split.unwrap_or(HouseSplit::Train);
    let split = match wanted_split {
        HouseSplit::Train => Split::Train,
        HouseSplit::Valid => Split::Valid,
        HouseSplit::Test => Split::Test,
    };
    let steps = wanted.steps.unwrap_or(if wanted_split == HouseSplit::Train { 25 } else { 100 });
    let houses = wanted.houses.unwrap_or(wanted.episodes.div_ceil(10)).min(wanted.episodes);
    check(wanted, steps, houses)?;
    let size = wanted.size.unwrap_or(Size { width: 56, height: 56 });
    let bytes = episode_bytes(steps, size)?;
    check_room(wanted, (steps, size), true)?;
    let camera = HouseWorld::camera(size.width, size.height);
    let mut writer = PfnetWriter::create(&wanted.out, overwrite(wanted.force))?;
    let built = Built::default();
    let done = produce(
        wanted.episodes,
        |number| {
            let house = (number as u128 * houses as u128 / wanted.episodes as u128) as usize;
            let world = built.house(house, || HouseWorld::new(wanted.seed, split, house as u64))?;
            let mut episode = world.episode(steps, number as u64, camera);
            let mut random = odometry_noise(wanted.seed, number);
            for number in episode.odometry.iter_mut().flatten() {
                *number *= (1.0 + wanted.odometry_noise * random.normal()) as f32;
            }
            pfnet::encode(&episode)
        },
        |record| writer.push_encoded(&record),
        Progress::new("simulate", "frames", wanted.episodes.saturating_mul(steps)),
        (steps, bytes),
    )?;
    writer.commit()?;
    Ok(done)
}

fn check(wanted: &Simulate, steps: usize, houses: usize) -> Result<()> {
    if steps == 0 || houses == 0 {
        misused!("--steps and --houses must be at least 1");
    }
    if !matches!(wanted.format, None | Some(Format::Pfnet)) {
        misused!("--format: houses are written as pfnet, the only layout with floor maps");
    }
    if wanted.policy != Steering::Wander {
        misused!("--policy is for mazes; houses have PF-net's walk");
    }
    if wanted.compress {
        misused!("--compress is for npz files; the images in tfrecords are compressed anyway");
    }
    Ok(())
}

/// Houses built lately: episodes of one house follow each other, so a few suffice.
#[derive(Default)]
struct Built(Mutex<Vec<(usize, Arc<HouseWorld>)>>);

impl Built {
    fn house(
        &self,
        number: usize,
        build: impl FnOnce() -> driftless_world::Result<HouseWorld>,
    ) -> driftless_world::Result<Arc<HouseWorld>> {
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
