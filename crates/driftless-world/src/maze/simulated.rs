//! Mazes in the table of worlds: a built-in one, or a drawing from a file.

use super::{Layout, MazeWorld, Policy};
use crate::error::{Error, Result};
use crate::files::provenance::Provenance;
use crate::files::{Entry, Format};
use crate::simulate::{Simulation, World};

/// Walks through one maze.
struct Walks {
    world: MazeWorld,
    steps: usize,
    seed: u64,
    noise: f64,
    /// Whether poses are stored, not odometry.
    as_dpf: bool,
}

/// Fails if the walks cannot be made or stored.
pub(crate) fn build(wanted: &Simulation, format: &Format) -> Result<Box<dyn World>> {
    let steps = wanted.steps.unwrap_or(100);
    if steps < 2 {
        return Err(Error::usage(format!(
            "--steps {steps}: an episode needs at least two steps, the first action leads into the second"
        )));
    }
    let as_dpf = format.id == "dpf";
    if as_dpf && wanted.odometry_noise > 0.0 {
        return Err(Error::usage(
            "--odometry-noise: DPF's layout stores poses, not odometry; noise is added when it is read. \
             Use --format log to store noisy odometry",
        ));
    }
    let [width, height] = wanted.size.unwrap_or([32, 32]);
    let mut world = MazeWorld::new(Layout::open(&wanted.world)?, width, height);
    world.policy = wanted.policy;
    Ok(Box::new(Walks { world, steps, seed: wanted.seed, noise: wanted.odometry_noise, as_dpf }))
}

impl World for Walks {
    fn steps(&self) -> usize {
        self.steps
    }

    fn image(&self) -> [usize; 2] {
        let camera = self.world.view().camera();
        [camera.width, camera.height]
    }

    fn episode(&self, number: usize) -> Result<Entry> {
        let recorded = self.world.episode(self.seed, number, self.steps);
        if self.as_dpf {
            return Ok(Entry::Maze(recorded.into_recording()));
        }
        let mut random = Simulation::odometry_noise(self.seed, number);
        Ok(Entry::Plain(recorded.into_trajectory(self.noise, &mut random)?))
    }

    fn describe(&self, provenance: &mut Provenance) {
        let policy: Policy = self.world.policy;
        provenance.world = Some(self.world.layout().name().to_owned());
        provenance.policy = Some(policy.name().to_owned());
        provenance.maze = Some(self.world.layout().clone());
    }
}
