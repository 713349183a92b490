//! Robots' own logs in a comparison: what they look like, and runs whose robots are told nothing of where they start.

use super::{Cell, World};
use crate::args::{Paper, Reproduce};
use crate::usage::misused;
use anyhow::{Context, Result};
use driftless::learn::{RunFolder, SensorKind, SensorSettings, describe};
use driftless_world::files::{NewFile, Overwrite};
use std::io::Write;
use std::path::Path;

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

/// Fills in what the logs look like; each is looked at once. Without a sensor that has a map there is no `mcl`.
pub fn describe_all(cells: &mut Vec<Cell>, robots: &[World]) -> Result<()> {
    for world in robots {
        let mut own = cells.iter_mut().filter(|cell| cell.world == world.name).peekable();
        let Some(first) = own.peek() else { continue };
        let looks = describe(&first.experiment, &world.train)?.experiment;
        for cell in own.filter(|cell| cell.experiment.sensor.is_empty()) {
            cell.experiment.sensor.clone_from(&looks.sensor);
            cell.experiment.robot.clone_from(&looks.robot);
            cell.experiment.trajectories = looks.trajectories;
            (cell.experiment.state, cell.experiment.motion) = (looks.state, looks.motion);
        }
    }
    let has_map = |sensor: &SensorSettings| !matches!(sensor.kind, SensorKind::Vector | SensorKind::Image);
    cells.retain(|cell| cell.recipe.name != "mcl" || cell.experiment.sensor.iter().any(has_map));
    Ok(())
}

/// What a run has learned becomes a run of its own, with other settings of what robots live through. The settings come
/// last: a folder without them is no run yet. Says whether there is anything to take.
pub fn take_over(cell: &Cell, origin: &Path, folder: &Path) -> Result<bool> {
    if !origin.join("best.safetensors").is_file() {
        return Ok(false);
    }
    std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot create", folder.display()))?;
    for name in ["normalisation.json", "log.jsonl", "metrics.csv", "best.toml", "best.safetensors"] {
        let from = origin.join(name);
        let bytes = std::fs::read(&from).with_context(|| format!("{}: cannot read", from.display()))?;
        write(&folder.join(name), &bytes)?;
    }
    let mut config = RunFolder::open(origin)?.config()?;
    config.experiment = cell.experiment.clone();
    write(&folder.join("config.toml"), config.to_toml()?.as_bytes())?;
    Ok(true)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = NewFile::create(path, Overwrite::Replace)?;
    file.write_all(bytes).with_context(|| format!("{}: cannot write", path.display()))?;
    Ok(file.commit()?)
}
