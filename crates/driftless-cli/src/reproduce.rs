//! `driftless reproduce`: all runs of an experiment, one after another, and the report on them.

mod plan;
mod worlds;

pub use plan::{Cell, NOISY_HOUSES, Scope};
pub use worlds::World;

use crate::args::{Paper, Reproduce};
use crate::evaluate::{self, Trial};
use crate::output::{complain, duration, print};
use crate::train::{self, Ended, Watcher};
use crate::usage::misused;
use crate::{interrupt, report};
use anyhow::{Context, Result, bail, ensure};
use driftless::config::renamed_method;
use driftless::learn::{Files, Outcome, RunFolder};
use driftless_report::paired::Pairs;
use driftless_world::Evaluation;
use driftless_world::files::Fingerprint;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Episodes to evaluate on.
const TEST_EPISODES: usize = 100;
/// Names the noise of all evaluations, so that all methods see the same.
const TEST_SEED: u64 = 1;
const MAZES: [&str; 3] = ["maze1", "maze2", "maze3"];

/// Plans, estimates, runs what is not done, and reports.
pub fn run(wanted: &Reproduce) -> Result<()> {
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
    let out = wanted.out.clone().unwrap_or_else(|| {
        let quick = if wanted.quick { "-quick" } else { "" };
        let world = wanted.experiment.world();
        PathBuf::from(format!("runs/reproduce-{world}{quick}"))
    });
    let names = names(wanted);
    let cells = scope.cells(&names)?;
    let all: f64 = cells.iter().map(Cell::seconds).sum();
    print(&format!(
        "{} runs in {}: about {} on two cores if none is done yet\n",
        cells.len(),
        out.display(),
        duration(all)
    ))?;
    if wanted.estimate {
        return Ok(());
    }
    let worlds = worlds(wanted, &out)?;
    compare(&cells, &worlds, &out)
}

fn names(wanted: &Reproduce) -> Vec<String> {
    if wanted.data.is_empty() && wanted.experiment == Paper::House {
        return vec!["house".to_owned(), NOISY_HOUSES.to_owned()];
    }
    if wanted.data.is_empty() {
        let quick = if wanted.quick { &MAZES[..1] } else { &MAZES[..] };
        return wanted.mazes.clone().unwrap_or_else(|| quick.iter().map(ToString::to_string).collect());
    }
    wanted.data.iter().map(|text| text.split('=').next().unwrap_or_default().to_owned()).collect()
}

fn worlds(wanted: &Reproduce, out: &Path) -> Result<Vec<World>> {
    if wanted.data.is_empty() && wanted.experiment == Paper::House {
        let exact = World::houses(&out.join("data"), wanted.quick)?;
        let noisy = World { name: NOISY_HOUSES.to_owned(), ..exact.clone() };
        return Ok(vec![exact, noisy]);
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
        ("world", "`reproduce maze` or `reproduce house`"),
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

/// Runs what is not done yet, and writes and prints the report on all.
pub fn compare(cells: &[Cell], worlds: &[World], out: &Path) -> Result<()> {
    let place = |cell: &Cell| out.join("runs").join(cell.name());
    let contents = worlds.iter().map(Contents::of).collect::<Result<Vec<_>>>()?;
    let known = |cell: &Cell| worlds.iter().zip(&contents).find(|(world, _)| world.name == cell.world);
    let is_done = |cell: &&Cell| known(cell).is_some_and(|(_, contents)| contents.evaluated(&place(cell)));
    let mut left: f64 = cells.iter().filter(|cell| !is_done(cell)).map(Cell::seconds).sum();
    // Seconds that runs took, and those that were planned for them.
    let (mut took, mut planned) = (0.0, 0.0);
    for (number, cell) in cells.iter().enumerate() {
        let heading = format!("[{}/{}] {}", number + 1, cells.len(), cell.name());
        let (world, contents) = known(cell).context("a cell has a world")?;
        if place(cell).join("config.toml").is_file() {
            check_same(&place(cell), cell, world, contents)?;
        }
        if is_done(&cell) {
            complain(&format!("{heading}: done before"));
            continue;
        }
        // This machine against the one the estimates come from, once something is known of it.
        let pace = if planned > 0.0 { took / planned } else { 1.0 };
        complain(&format!("\n{heading}; about {} left in all", duration(pace * left)));
        let started = Instant::now();
        settle(cell, world, &place(cell))?;
        left -= cell.seconds();
        // What is not trained takes seconds, and says nothing of the others.
        if cell.is_trained() {
            (took, planned) = (took + started.elapsed().as_secs_f64(), planned + cell.seconds());
        }
    }
    let folders: Vec<PathBuf> = cells.iter().map(place).collect();
    let page = out.join("report");
    let (table, _) = report::write(&folders, &page, &Pairs::Usual)?;
    print(&format!("\n{table}\nThe report: {}\n", page.join("index.html").display()))
}

/// Trains a cell to its end, wherever it was left, and evaluates it.
fn settle(cell: &Cell, world: &World, folder: &Path) -> Result<()> {
    let epochs = cell.experiment.epochs;
    let ended = if folder.join("config.toml").is_file() {
        train::run_again(folder, |_| Watcher::new(epochs))?
    } else {
        let files = Files { train: world.train.clone(), more: Vec::new(), valid: None, steps: None };
        train::run_new(&cell.experiment, &files, folder, &mut Watcher::new(epochs))?
    };
    let Ended { outcome, best, .. } = ended;
    match outcome {
        Outcome::Finished => {}
        Outcome::Stopped { .. } => bail!("interrupted; the same command goes on where it stopped"),
        Outcome::Diverged { epoch, why, .. } => {
            complain(&format!("warning: {}: learning failed in epoch {epoch}: {why}", cell.name()));
        }
    }
    if best.is_none() {
        return Ok(());
    }
    let trial = Trial {
        data: world.test.clone(),
        steps: None,
        particles: world.particles,
        episodes: None,
        seed: TEST_SEED,
        odometry_noise: None,
        settings: Vec::new(),
        play: usize::from(cell.experiment.seed == 1),
        maze: None,
    };
    let mut evaluated = evaluate::track(folder, &trial)?;
    evaluated.evaluation.about.world.clone_from(&world.name);
    for episode in &mut evaluated.episodes.episodes {
        episode.about.world.clone_from(&world.name);
    }
    evaluate::save(folder, &mut evaluated)?;
    interrupt::check()
}

/// A folder is gone on with only if its run is the one that is planned.
fn check_same(folder: &Path, cell: &Cell, world: &World, contents: &Contents) -> Result<()> {
    let config = RunFolder::open(folder)?.config()?;
    ensure!(
        config.experiment == cell.experiment,
        "{}: was run with other settings; remove it, or choose another folder with --out",
        folder.display()
    );
    ensure!(
        config.data.train_fingerprint == contents.train,
        "{}: was trained from other data than {} holds now; remove it, or choose another folder with --out",
        folder.display(),
        world.train.display()
    );
    Ok(())
}

/// What tells the contents of a world's files from others.
struct Contents {
    train: String,
    test: String,
}

impl Contents {
    fn of(world: &World) -> Result<Self> {
        Ok(Self { train: Fingerprint::of_file(&world.train)?, test: Fingerprint::of_file(&world.test)? })
    }

    /// Whether a run was evaluated on these; damaged figures are none.
    fn evaluated(&self, folder: &Path) -> bool {
        let text = std::fs::read_to_string(folder.join("evaluation.json"));
        let evaluated = text.ok().and_then(|text| Evaluation::from_json(&text).ok());
        evaluated.is_some_and(|evaluated| evaluated.about.data_fingerprint == self.test)
    }
}
