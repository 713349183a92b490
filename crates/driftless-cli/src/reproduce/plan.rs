//! Which runs make a comparison: methods, label shares and seeds in each world.

use super::helps;
use crate::args::Paper;
use crate::train::experiment;
use anyhow::Result;
use driftless::learn::{Experiment, WorldKind};
use driftless::methods::{Learns, Registered, methods_in};

/// A way to learn, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// The method's id; the built-in experiment is `maze-` or `house-` and this.
    pub name: &'static str,
    /// Epochs where there is little time.
    quick_epochs: u64,
    /// Seconds of an epoch, validation included, on two cores of a virtual EPYC: what estimates start from.
    epoch_seconds: f64,
    /// Whether it learns from labels: then it is run at every share of them, else at the paper's alone.
    learns: bool,
    /// Whether it is run with every seed and at every share where there is little time, too; others with the first
    /// seed and the paper's share alone.
    quick_shares: bool,
}

impl Recipe {
    /// What is known of a method's cost; one that nobody has measured is tried for a few epochs, one that is not trained
    /// has an epoch of no time.
    fn of(method: &Registered, world: WorldKind) -> Self {
        if method.learns == Learns::Nothing {
            return Self { learns: false, ..recipe(method.id, 1, 1.0, false) };
        }
        let measured = MEASURED.iter().find(|(known, cost)| *known == world && cost.name == method.id);
        measured.map_or(recipe(method.id, 3, 60.0, false), |(_, cost)| *cost)
    }
}

const fn recipe(name: &'static str, quick_epochs: u64, epoch_seconds: f64, quick_shares: bool) -> Recipe {
    Recipe { name, quick_epochs, epoch_seconds, learns: true, quick_shares }
}

/// What methods cost that are trained; `pfnet` was not measured and is taken to cost what `sdpf` does, whose network and
/// blocks it has.
const MEASURED: [(WorldKind, Recipe); 20] = [
    (WorldKind::Maze, recipe("driftless", 30, 1.6, true)),
    (WorldKind::Maze, recipe("driftless-supervised", 30, 1.4, true)),
    (WorldKind::Maze, recipe("regression", 200, 0.25, false)),
    (WorldKind::Maze, recipe("lstm", 3, 25.0, true)),
    (WorldKind::Maze, recipe("sdpf-released", 15, 9.0, false)),
    (WorldKind::Maze, recipe("sdpf-supervised", 15, 6.0, false)),
    (WorldKind::Maze, recipe("sdpf", 2, 12.0, false)),
    (WorldKind::Maze, recipe("dpf", 8, 15.0, false)),
    (WorldKind::House, recipe("driftless", 30, 5.0, true)),
    (WorldKind::House, recipe("driftless-supervised", 30, 4.0, true)),
    (WorldKind::House, recipe("lstm", 3, 130.0, true)),
    (WorldKind::House, recipe("sdpf", 2, 400.0, false)),
    (WorldKind::House, recipe("pfnet", 2, 400.0, false)),
    (WorldKind::Robot, recipe("driftless", 6, 6.0, true)),
    (WorldKind::Robot, recipe("driftless-supervised", 1, 6.0, true)),
    (WorldKind::Robot, recipe("mcl", 1, 0.5, true)),
    (WorldKind::Robot, recipe("sdpf", 60, 1.5, false)),
    (WorldKind::Robot, recipe("sdpf-supervised", 60, 1.5, false)),
    (WorldKind::Robot, recipe("lstm", 30, 7.0, false)),
    (WorldKind::Robot, recipe("dpf", 100, 9.0, false)),
];

/// The share of the paper's main figures.
const PAPER_SHARE: f64 = 0.1;
const SHARES: [f64; 5] = [0.05, 0.1, 0.25, 0.5, 1.0];
/// In houses, where labels are worth most if they are few.
const HOUSE_SHARES: [f64; 6] = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0];
/// Houses once more, with odometry that errs by the noise that the paper gives to particles.
pub const NOISY_HOUSES: &str = "house-noisy";
const NOISE: [&str; 2] = ["house.odometry_metres=0.04", "house.odometry_degrees=5.0"];
/// Robots that are told nothing of where they start: a world of its own, for which nothing is trained again.
pub const GLOBAL: &str = "-global";
const ROBOT_SHARES: [f64; 2] = [0.1, 1.0];
const QUICK_ROBOT_METHODS: [&str; 4] = ["driftless", "driftless-supervised", "mcl", "odometry"];
/// Methods, shares and seeds of the short comparison.
const QUICK_METHODS: [&str; 4] = ["driftless", "driftless-supervised", "sdpf-released", "lstm"];
const QUICK_SHARES: [f64; 3] = [0.05, 0.1, 0.25];
const QUICK_HOUSE_METHODS: [&str; 5] = ["driftless", "driftless-supervised", "lstm", "odometry", "classical"];
/// Error bars need three.
const SEEDS: u64 = 3;
/// Seconds of an evaluation: in mazes, in houses, of robots that are tracked, and of such that may be anywhere.
const EVALUATION: [f64; 4] = [8.0, 60.0, 3.0, 30.0];

/// What was asked for; what is `None` is the plan's choice.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Which experiment of the paper.
    pub paper: Paper,
    /// The short comparison.
    pub quick: bool,
    /// Their ids.
    pub methods: Option<Vec<String>>,
    /// Shares of labels, for all methods.
    pub labels: Option<Vec<f64>>,
    /// Seeds from 1 to this.
    pub seeds: Option<u64>,
    /// Epochs of every run.
    pub epochs: Option<u64>,
    /// Further settings, as key=value.
    pub settings: Vec<String>,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The world's name.
    pub world: String,
    /// How it learns.
    pub recipe: Recipe,
    /// All settings.
    pub experiment: Experiment,
    /// The world of the run whose weights it takes, if it is not trained itself.
    pub trained_in: Option<String>,
}

impl Cell {
    /// The folder's name.
    pub fn name(&self) -> String {
        self.name_in(&self.world)
    }

    /// The folder of the run whose weights it takes.
    pub fn origin(&self) -> Option<String> {
        self.trained_in.as_ref().map(|world| self.name_in(world))
    }

    fn name_in(&self, world: &str) -> String {
        let Experiment { label_fraction, seed, .. } = self.experiment;
        let percent = format!("{}pct", (1e4 * label_fraction).round() / 100.0);
        format!("{world}-{}-{percent}-seed{seed}", self.recipe.name)
    }

    /// Seconds that training and evaluation take on the machine that the constants come from.
    pub fn seconds(&self) -> f64 {
        if self.trained_in.is_some() { EVALUATION[3] } else { seconds(&self.experiment, &self.recipe, true) }
    }
}

/// Seconds that any experiment takes there, evaluated or not, as far as its method was measured; trajectories and
/// particles other than usual are not thought of.
pub fn cost(experiment: &Experiment, evaluated: bool) -> f64 {
    let method = methods_in(experiment.world).find(|method| method.id == experiment.method.id);
    method.map_or(60.0, |method| seconds(experiment, &Recipe::of(method, experiment.world), evaluated))
}

fn seconds(experiment: &Experiment, recipe: &Recipe, evaluated: bool) -> f64 {
    let evaluating = match experiment.world {
        WorldKind::Maze => EVALUATION[0],
        WorldKind::House => EVALUATION[1],
        WorldKind::Robot => EVALUATION[2],
    };
    experiment.epochs as f64 * recipe.epoch_seconds + if evaluated { evaluating } else { 0.0 }
}

impl Scope {
    /// All methods of its world, those first that are compared at several shares of labels in little time.
    pub fn recipes(paper: Paper) -> Vec<Recipe> {
        if paper == Paper::Helps {
            let of = |row: &helps::Row| recipe(row.name, helps::EPOCHS, row.epoch_seconds, true);
            return helps::ROWS.iter().map(of).collect();
        }
        let world = paper.world();
        let mut recipes: Vec<Recipe> = methods_in(world).map(|method| Recipe::of(method, world)).collect();
        recipes.sort_by_key(|recipe| !recipe.quick_shares);
        recipes
    }

    /// The runs: seed after seed, so that a plan cut short has a comparison, if without error bars.
    pub fn cells(&self, worlds: &[String]) -> Result<Vec<Cell>> {
        let mut cells = Vec::new();
        for seed in 1..=self.most_seeds() {
            for world in worlds {
                let recipes = Self::recipes(self.paper);
                // The LSTM takes longest and follows no robot: once is enough where there is little time.
                let again = |recipe: &Recipe| self.quick && world == NOISY_HOUSES && recipe.name == "lstm";
                let trained_in = self.told_in(world);
                // Odometry alone finds nobody.
                let lost = |recipe: &Recipe| trained_in.is_some() && recipe.name == "odometry";
                let wanted = |recipe: &&Recipe| self.wants(recipe, seed) && !again(recipe) && !lost(recipe);
                for recipe in recipes.iter().filter(wanted) {
                    for labels in self.shares(recipe) {
                        let experiment = self.experiment(world, recipe, labels, seed)?;
                        let (world, trained_in) = (world.clone(), trained_in.clone());
                        cells.push(Cell { world, recipe: *recipe, experiment, trained_in });
                    }
                }
            }
        }
        Ok(cells)
    }

    /// Seeds go from 1 to this.
    pub fn most_seeds(&self) -> u64 {
        self.seeds.unwrap_or(match (self.paper, self.quick) {
            (Paper::Helps, true) => helps::QUICK_SEEDS,
            (Paper::Helps, false) => helps::SEEDS,
            (Paper::House | Paper::Robots, true) => 1,
            _ => SEEDS,
        })
    }

    /// The world where the robots of this one are told where they start, if they are not told here.
    fn told_in(&self, world: &str) -> Option<String> {
        (self.paper == Paper::Robots).then(|| world.strip_suffix(GLOBAL).map(ToOwned::to_owned)).flatten()
    }

    fn wants(&self, recipe: &Recipe, seed: u64) -> bool {
        match &self.methods {
            Some(methods) => methods.iter().any(|method| method == recipe.name),
            None if self.quick && self.paper == Paper::House => QUICK_HOUSE_METHODS.contains(&recipe.name),
            None if self.quick && self.paper == Paper::Robots => QUICK_ROBOT_METHODS.contains(&recipe.name),
            None if self.paper == Paper::Helps => true,
            None if self.quick => QUICK_METHODS.contains(&recipe.name) && (seed == 1 || recipe.quick_shares),
            None => true,
        }
    }

    fn shares(&self, recipe: &Recipe) -> Vec<f64> {
        match &self.labels {
            Some(labels) => labels.clone(),
            None if self.paper == Paper::Helps && self.quick => helps::QUICK_SHARES.to_vec(),
            None if self.paper == Paper::Helps => helps::SHARES.to_vec(),
            None if !recipe.learns || self.quick && !(recipe.quick_shares && self.paper == Paper::Maze) => {
                vec![PAPER_SHARE]
            }
            None if self.quick => QUICK_SHARES.to_vec(),
            None if self.paper == Paper::House => HOUSE_SHARES.to_vec(),
            None if self.paper == Paper::Robots => ROBOT_SHARES.to_vec(),
            None => SHARES.to_vec(),
        }
    }

    fn experiment(&self, world: &str, recipe: &Recipe, labels: f64, seed: u64) -> Result<Experiment> {
        let mut settings = vec![format!("label_fraction={labels:?}"), format!("seed={seed}")];
        let helps = self.paper == Paper::Helps;
        let quick = (self.quick || helps).then_some(recipe.quick_epochs);
        settings.extend(self.epochs.or(quick).map(|epochs| format!("epochs={epochs}")));
        if world == NOISY_HOUSES {
            settings.extend(NOISE.map(ToOwned::to_owned));
        }
        settings.extend(self.told_in(world).map(|_| "robot.start=global".to_owned()));
        if helps {
            settings.extend(helps::settings(recipe.name));
            settings.extend(self.settings.iter().cloned());
            return experiment("maze-driftless", &settings);
        }
        let name = format!("{}-{}", self.paper.world(), recipe.name);
        // Fewer than usual, but none where there are none.
        let few = experiment(&name, &[])?.validation_episodes.min(20);
        settings.extend(self.quick.then(|| format!("validation_episodes={few}")));
        settings.extend(self.settings.iter().cloned());
        experiment(&name, &settings)
    }
}

#[cfg(test)]
mod tests;
