//! The range scan of houses on a robot: a step of a thousand particles, from the image to the pose.

use super::seconds;
use anyhow::{Context, Result};
use driftless::learn::{Experiment, HouseSettings, Method, Normalisation, TrainingSet, WorldKind};
use driftless::methods::build;
use driftless::online::{Observation, Place, Start as OnlineStart};
use driftless_world::house::{HouseWorld, Split};
use driftless_world::labels::LabelBudget;
use driftless_world::trajectory::{Observations, Start, Trajectory};
use serde::Serialize;

/// Particles of a robot whose start is known.
const PARTICLES: usize = 1000;
/// Walks to learn from, steps of each, and walks that are followed.
const WALKS: [usize; 3] = [16, 25, 4];
/// Updates before: a belief that nothing holds together would have four times as many particles.
const UPDATES: u64 = 100;

/// Steps with the least particles, alone.
#[derive(Serialize)]
pub struct OnlineScan {
    pub particles: usize,
    pub steps: usize,
    /// Wall-clock milliseconds, on all threads.
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub steps_a_second: f64,
}

/// Trains for some seconds, then follows robots step by step.
pub fn measure() -> Result<OnlineScan> {
    let [count, steps, followed] = WALKS;
    let walks =
        (0..(count + followed) as u64).map(|number| walk(number, steps)).collect::<Result<Vec<_>>>()?;
    let house = HouseSettings { updates: UPDATES, ..HouseSettings::default() };
    let experiment = Experiment {
        method: "driftless-supervised".parse()?,
        world: WorldKind::House,
        label_fraction: 1.0,
        epochs: 1,
        batch_size: 32,
        odometry_noise: 0.0,
        house,
        ..Experiment::default()
    };
    let lessons = TrainingSet::new(Box::new(walks[..count].to_vec()), 0..count, LabelBudget::new(1.0, 1)?)?;
    let mut method = build(&experiment, &Normalisation::measure(&lessons)?)?;
    method.train(1, &lessons)?;
    let mut times = Vec::new();
    for walk in &walks[count..] {
        times.extend(follow(&*method, walk)?);
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((times.len().saturating_sub(1) as f64 * share) as usize).copied();
    let p50 = at(0.5).context("no step had its robot in one place")?;
    let p99_ms = at(0.99).unwrap_or(p50);
    Ok(OnlineScan {
        particles: PARTICLES,
        steps: times.len(),
        p50_ms: p50,
        p99_ms,
        steps_a_second: 1e3 / p50,
    })
}

/// Milliseconds of each step with no more particles than are wanted.
fn follow(method: &dyn Method, walk: &Trajectory) -> Result<Vec<f64>> {
    let floor = walk.floor.as_ref().context("a walk in a house")?;
    let Some(Start::About { pose, spread }) = walk.start else { anyhow::bail!("a start that is told") };
    let place = Place::About { pose: pose.map(f64::from), spread: spread.map(f64::from) };
    let start = OnlineStart { place, ..OnlineStart::default() };
    let mut filter = method.online_filter_in(floor, PARTICLES, &start)?.context("it can track")?;
    let Observations::Images(images) = &walk.observations else { anyhow::bail!("images") };
    let mut times = Vec::new();
    for t in 0..walk.len() {
        let action = Some(std::array::from_fn(|k| f64::from(walk.actions.row(t)[k])));
        let mut particles = 0;
        let seen = Observation { image: Some((images, t)), action, ..Observation::default() };
        let time = 1e3 * seconds(|| particles = filter.step(seen).particles);
        if particles == PARTICLES {
            times.push(time);
        }
    }
    Ok(times)
}

fn walk(number: u64, steps: usize) -> Result<Trajectory> {
    let world = HouseWorld::new(1, Split::Train, number / 4)?;
    let recorded = world.episode(steps, number, HouseWorld::camera(56, 56));
    let [x, y, heading] = recorded.states[0];
    let start = Start::About { pose: [2.0 * x, 2.0 * y, heading], spread: [15.0, 15.0, 0.2] };
    let walk = recorded.in_centimetres(HouseSettings::default().observation())?;
    Ok(Trajectory { start: Some(start), ..walk })
}
