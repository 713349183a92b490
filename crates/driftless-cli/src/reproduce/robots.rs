//! Robots' own logs in a comparison: what they look like, and runs whose robots are told nothing of where they start.

use super::{Cell, World};
use crate::args::{Paper, Reproduce};
use crate::usage::misused;
use anyhow::Result;
use driftless::learn::{SensorSettings, describe};
use driftless::methods::follows;

/// Logs of robots, each twice: told where they start, and told nothing.
pub fn worlds(wanted: &Reproduce) -> Result<Vec<World>> {
    if wanted.experiment != Paper::Robots {
        return Ok(Vec::new());
    }
    if wanted.data.is_empty() {
        misused!("reproduce robots: --data DIR is needed, a folder of NAME_train.npz and NAME_test.npz");
    }
    let mut all = Vec::new();
    for text in &wanted.data {
        all.extend(World::robots(text)?.into_iter().flat_map(|told| [told.clone(), told.started_anywhere()]));
    }
    Ok(all)
}

/// Fills in what the logs look like; each is looked at once. Without a sensor that has a map there is no `mcl`, and
/// published methods follow poses in the plane alone.
pub fn describe_all(cells: &mut Vec<Cell>, robots: &[World]) -> Result<()> {
    for world in robots {
        let mut own = cells.iter_mut().filter(|cell| cell.world == world.name).peekable();
        let Some(first) = own.peek() else { continue };
        let looks = describe(&first.experiment, &world.train)?.experiment;
        for cell in own.filter(|cell| cell.experiment.sensor.is_empty()) {
            cell.experiment.sensor.clone_from(&looks.sensor);
            cell.experiment.robot.clone_from(&looks.robot);
            cell.experiment.trajectories = looks.trajectories;
            (cell.experiment.state, cell.experiment.motion) = (looks.state.clone(), looks.motion);
        }
    }
    let has_map = |sensor: &SensorSettings| sensor.kind.has_textbook();
    cells.retain(|cell| follows(&cell.experiment));
    cells.retain(|cell| cell.recipe.name != "mcl" || cell.experiment.sensor.iter().any(has_map));
    Ok(())
}
