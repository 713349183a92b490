//! What the page draws robots on: the maze, the floor plan or the map of the run.

use crate::track::Trackers;
use anyhow::Result;
use driftless::learn::WorldKind;
use driftless_report::live::plan_data;
use driftless_world::evaluation::Plan;
use driftless_world::maze::Layout;
use serde_json::Value;
use std::sync::atomic::AtomicUsize;

/// The part of a page that stays as it is.
pub struct Live {
    pub plan: Plan,
    /// The same as the page reads it.
    pub shown: Value,
    /// Requests just now.
    pub readers: AtomicUsize,
}

impl Live {
    /// Of a run: a maze that is named, or known by the run.
    pub fn of(trackers: &Trackers, maze: Option<Layout>) -> Result<Self> {
        let plan = plan(trackers, maze)?;
        let experiment = &trackers.trained.config.experiment;
        let mut shown = plan_data(&plan);
        shown["method"] = experiment.label().into();
        shown["world"] = trackers.trained.config.data.world.as_str().into();
        Ok(Self { plan, shown, readers: AtomicUsize::new(0) })
    }
}

fn plan(trackers: &Trackers, maze: Option<Layout>) -> Result<Plan> {
    let trained = &trackers.trained;
    if let Some(maze) = maze {
        return Ok(Plan::of_maze(&maze));
    }
    if let Some(floor) = &trackers.floor {
        return Ok(Plan::of_house(floor));
    }
    let (experiment, known) = (&trained.config.experiment, Layout::built_in(&trained.config.data.world));
    if let Some(maze) = known.filter(|_| experiment.world == WorldKind::Maze) {
        return Ok(Plan::of_maze(&maze));
    }
    // Where robots were in training.
    let corners = [trained.normalisation.low, trained.normalisation.high].map(|[x, y, _]| [x, y]);
    let unit = if experiment.world == WorldKind::Robot { experiment.robot.unit.as_str() } else { "" };
    Ok(trained.method.surroundings().plan(corners, unit)?)
}
