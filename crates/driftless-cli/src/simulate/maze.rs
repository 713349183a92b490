//! Mazes, as DPF's npz or the plain npz.

use super::{check_room, episode_bytes, odometry_noise, overwrite, produce};
use crate::args::{Format, Simulate, Size, Steering};
use crate::data::open_maze;
use crate::progress::Progress;
use crate::usage::misused;
use anyhow::Result;
use driftless_world::files::dpf::DpfWriter;
use driftless_world::files::log::LogWriter;
use driftless_world::files::provenance::Provenance;
use driftless_world::files::zip::Method;
use driftless_world::maze::{MazeWorld, Policy};

/// Recorded steps of an episode, and the bytes of their images.
#[derive(Clone, Copy)]
struct Episodes {
    steps: usize,
    bytes: usize,
}

/// Writes the data set; returns frames and seconds.
pub fn simulate(wanted: &Simulate) -> Result<(u64, f64)> {
    let steps = wanted.steps.unwrap_or(100);
    if steps < 2 {
        misused!(
            "--steps {steps}: an episode needs at least two steps, the first action leads into the second"
        );
    }
    if wanted.houses.is_some() || wanted.split.is_some() {
        misused!("--houses and --split are for the world `house`");
    }
    let size = wanted.size.unwrap_or(Size { width: 32, height: 32 });
    check_room(wanted, (steps, size), wanted.compress)?;
    let steps = Episodes { steps, bytes: episode_bytes(steps, size)? };
    let mut world = MazeWorld::new(open_maze(&wanted.world)?, size.width, size.height);
    let (policy, name) = match wanted.policy {
        Steering::Wander => (Policy::Wander, "wander"),
        Steering::Plan => (Policy::Plan, "plan"),
        Steering::Mix => (Policy::Mix, "mix"),
    };
    world.policy = policy;
    let comment = Provenance {
        made_by: concat!("driftless ", env!("CARGO_PKG_VERSION")).into(),
        world: Some(world.layout().name().into()),
        seed: Some(wanted.seed),
        policy: Some(name.into()),
        steps: Some(steps.steps),
        odometry_noise: Some(wanted.odometry_noise),
        maze: Some(world.layout().clone()),
        ..Provenance::default()
    }
    .to_string();
    match wanted.format.unwrap_or(Format::Dpf) {
        Format::Dpf => write_dpf(wanted, &world, steps, &comment),
        Format::Log => write_log(wanted, &world, steps, &comment),
        Format::Pfnet => misused!("--format pfnet is for houses: its records need floor maps"),
    }
}

fn method(wanted: &Simulate) -> Method {
    if wanted.compress { Method::Deflated } else { Method::Stored }
}

fn progress(wanted: &Simulate, steps: usize) -> Progress {
    Progress::new("simulate", "frames", wanted.episodes.saturating_mul(steps))
}

fn write_dpf(
    wanted: &Simulate,
    world: &MazeWorld,
    Episodes { steps, bytes }: Episodes,
    comment: &str,
) -> Result<(u64, f64)> {
    if wanted.odometry_noise > 0.0 {
        misused!(
            "--odometry-noise: DPF's layout stores poses, not odometry; noise is added when it is read. \
             Use --format log to store noisy odometry"
        );
    }
    let mut writer = DpfWriter::create(&wanted.out, overwrite(wanted.force), method(wanted), comment)?;
    let done = produce(
        wanted.episodes,
        |number| Ok(world.episode(wanted.seed, number, steps).into_recording()),
        |recording| writer.push(&recording),
        progress(wanted, steps),
        (steps, bytes),
    )?;
    writer.finish()?;
    Ok(done)
}

fn write_log(
    wanted: &Simulate,
    world: &MazeWorld,
    Episodes { steps, bytes }: Episodes,
    comment: &str,
) -> Result<(u64, f64)> {
    let mut writer = LogWriter::create(&wanted.out, overwrite(wanted.force), method(wanted), comment)?;
    let done = produce(
        wanted.episodes,
        |number| {
            let mut random = odometry_noise(wanted.seed, number);
            world.episode(wanted.seed, number, steps).into_trajectory(wanted.odometry_noise, &mut random)
        },
        |trajectory| writer.push(&trajectory),
        progress(wanted, steps),
        (steps, bytes),
    )?;
    writer.finish()?;
    Ok(done)
}
