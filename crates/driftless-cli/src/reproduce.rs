//! `driftless reproduce`: all runs of an experiment, as a queue, and the report on them.

mod filters;
mod helps;
mod plan;
mod robots;
mod worlds;

pub use plan::{Cell, NOISY_HOUSES, Scope, cost};
pub use worlds::World;

use crate::args::{Engine, Paper, Reproduce};
use crate::output::{duration, print};
use crate::queue::{self, Fingerprints, Planned, Test};
use crate::usage::misused;
use anyhow::{Context, Result};
use driftless::config::renamed_method;
use driftless::learn::WorldKind;
use driftless_world::maze::Layout;
use std::path::{Path, PathBuf};

/// Episodes to evaluate on.
const TEST_EPISODES: usize = 100;
/// Names the noise of all evaluations, so that all methods see the same.
const TEST_SEED: u64 = 1;

/// Plans, estimates, and runs what is not done.
pub fn run(wanted: &Reproduce, threads: Option<u16>) -> Result<()> {
    if wanted.experiment == Paper::Filters {
        return filters::run(wanted, &wanted.out.clone().unwrap_or_else(|| usual_folder(wanted)));
    }
    let known: Vec<&str> = Scope::recipes(wanted.experiment).iter().map(|recipe| recipe.name).collect();
    if let Some(name) = wanted.methods.iter().flatten().find(|name| !known.contains(&name.as_str())) {
        if let Some(now) = renamed_method(name).filter(|now| known.contains(now)) {
            misused!("--methods {name}: is now called {now}");
        }
        misused!("--methods {name}: there is {}", known.join(", "));
    }
    check_settings(&wanted.settings)?;
    let scope = Scope {
        paper: wanted.experiment,
        quick: wanted.quick,
        methods: wanted.methods.clone(),
        labels: wanted.labels.clone(),
        seeds: wanted.seeds,
        epochs: wanted.epochs,
        settings: wanted.settings.clone(),
    };
    let out = wanted.out.clone().unwrap_or_else(|| usual_folder(wanted));
    let robots = robots::worlds(wanted)?;
    let names =
        if robots.is_empty() { names(wanted) } else { robots.iter().map(|r| r.name.clone()).collect() };
    let mut cells = scope.cells(&names)?;
    robots::describe_all(&mut cells, &robots)?;
    let all: f64 = cells.iter().map(Cell::seconds).sum();
    if wanted.queue.on != Engine::Lines {
        let (count, out) = (cells.len(), out.display());
        print(&format!("{count} runs in {out}: about {} on two cores if none is done yet\n", duration(all)))?;
    }
    if wanted.estimate {
        return Ok(());
    }
    let worlds = if robots.is_empty() { worlds(wanted, &scope, &out)? } else { robots };
    queue::run(&out, &planned(&cells, &worlds)?, &wanted.queue, threads)
}

fn usual_folder(wanted: &Reproduce) -> PathBuf {
    let quick = if wanted.quick { "-quick" } else { "" };
    let world = match wanted.experiment {
        Paper::Robots => "robots".to_owned(),
        Paper::Filters => "filters".to_owned(),
        Paper::Helps => "helps".to_owned(),
        _ => wanted.experiment.world().to_string(),
    };
    PathBuf::from(format!("runs/reproduce-{world}{quick}"))
}

fn names(wanted: &Reproduce) -> Vec<String> {
    if wanted.data.is_empty() && wanted.experiment == Paper::House {
        return vec!["house".to_owned(), NOISY_HOUSES.to_owned()];
    }
    if wanted.data.is_empty() {
        let quick = if wanted.quick || wanted.experiment == Paper::Helps {
            &Layout::BUILT_IN[..1]
        } else {
            Layout::BUILT_IN
        };
        return wanted.mazes.clone().unwrap_or_else(|| quick.iter().map(ToString::to_string).collect());
    }
    wanted.data.iter().map(|text| text.split('=').next().unwrap_or_default().to_owned()).collect()
}

fn worlds(wanted: &Reproduce, scope: &Scope, out: &Path) -> Result<Vec<World>> {
    if wanted.data.is_empty() && wanted.experiment == Paper::House {
        let exact = World::houses(&out.join("data"), wanted.quick)?;
        let noisy = World { name: NOISY_HOUSES.to_owned(), ..exact.clone() };
        return Ok(vec![exact, noisy]);
    }
    if wanted.data.is_empty() && wanted.experiment == Paper::Helps {
        let seeds = scope.most_seeds();
        let all = names(wanted).into_iter().map(|maze| helps::worlds(&maze, seeds, &out.join("data")));
        return Ok(all.collect::<Result<Vec<_>>>()?.concat());
    }
    if wanted.data.is_empty() {
        let make = |maze: &String| World::simulated(maze, &out.join("data"), TEST_EPISODES);
        return names(wanted).iter().map(make).collect();
    }
    wanted.data.iter().map(|text| World::own(text)).collect()
}

/// Settings that name runs are the plan's; others may be set.
fn check_settings(settings: &[String]) -> Result<()> {
    let planned = [
        ("method", "--methods"),
        ("world", "`reproduce maze`, `reproduce house` or `reproduce robots`"),
        ("robot.start", "the worlds whose names end in -global"),
        ("label_fraction", "--labels"),
        ("seed", "--seeds"),
        ("epochs", "--epochs"),
    ];
    for setting in settings {
        let key = setting.split('=').next().unwrap_or_default().trim();
        if let Some((_, instead)) = planned.iter().find(|(name, _)| *name == key) {
            misused!("--set {setting}: is decided by the plan, which names folders by it; use {instead}");
        }
    }
    Ok(())
}

/// The runs of cells in their worlds.
pub fn planned(cells: &[Cell], worlds: &[World]) -> Result<Vec<Planned>> {
    let mut fingerprints = Fingerprints::default();
    let known = |cell: &Cell| {
        let is_own = |world: &&World| world.seed.is_none_or(|seed| seed == cell.experiment.seed);
        worlds.iter().filter(is_own).find(|world| world.name == cell.world)
    };
    let mut runs = Vec::new();
    for cell in cells {
        let world = known(cell).context("a cell has a world")?;
        let experiment = &cell.experiment;
        // Robots' own logs are followed with another noise of the filter for each seed; in mazes and houses a seed has
        // other noise of its own.
        let own_seed = experiment.world == WorldKind::Robot;
        let test = Test {
            data: fingerprints.of(&world.test)?,
            world: Some(world.name.clone()),
            particles: world.particles,
            seed: if own_seed { experiment.seed } else { TEST_SEED },
            play: usize::from(experiment.seed == 1),
        };
        runs.push(Planned {
            id: cell.name(),
            experiment: experiment.clone(),
            train: vec![fingerprints.of(&world.train)?],
            valid: None,
            steps: None,
            given: fingerprints.given(experiment)?,
            test: Some(test),
            weights_of: cell.origin(),
            seconds: cell.seconds(),
            driftless: env!("CARGO_PKG_VERSION").to_owned(),
        });
    }
    Ok(runs)
}
