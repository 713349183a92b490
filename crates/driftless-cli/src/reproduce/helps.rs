//! What helps: one filter and network in mazes, trained with different objectives for the unlabelled steps.

use super::World;
use super::worlds::make;
use anyhow::{Context, Result};
use driftless::learn::Unlabelled::{
    self, Evidence, EvidenceNormalised, Paths, PseudoLikelihood, PseudoLikelihoodNormalised,
};
use std::path::Path;

/// A row of the comparison: what it is called, what it learns from unlabelled steps, and seconds of an epoch.
pub struct Row {
    pub name: &'static str,
    pub unlabelled: &'static [Unlabelled],
    pub epoch_seconds: f64,
}

const fn row(name: &'static str, unlabelled: &'static [Unlabelled], epoch_seconds: f64) -> Row {
    Row { name, unlabelled, epoch_seconds }
}

/// Labels only, each objective, and soft labels with each.
pub const ROWS: &[Row] = &[
    row("labels", &[], 1.4),
    row("paths", &[Paths], 1.6),
    row("pseudo-likelihood", &[PseudoLikelihood], 3.0),
    row("pseudo-likelihood-normalised", &[PseudoLikelihoodNormalised], 3.0),
    row("evidence", &[Evidence], 3.0),
    row("evidence-normalised", &[EvidenceNormalised], 3.2),
    row("paths-pseudo-likelihood", &[Paths, PseudoLikelihood], 3.2),
    row("paths-pseudo-likelihood-normalised", &[Paths, PseudoLikelihoodNormalised], 3.2),
    row("paths-evidence", &[Paths, Evidence], 3.2),
    row("paths-evidence-normalised", &[Paths, EvidenceNormalised], 3.4),
];

/// Shares of labels, and seeds.
pub const SHARES: [f64; 4] = [0.01, 0.05, 0.1, 0.25];
pub const QUICK_SHARES: [f64; 2] = [0.05, 0.1];
pub const SEEDS: u64 = 5;
pub const QUICK_SEEDS: u64 = 3;
/// 3000 updates, as in the other comparisons of Maze 1.
pub const EPOCHS: u64 = 30;
const TRAINING: usize = 100;
const TEST: usize = 300;

/// The settings of a row, all of which are trained alike: the last weights count, so that no further pose is used.
pub fn settings(name: &str) -> Vec<String> {
    let row = ROWS.iter().find(|row| row.name == name);
    let words: Vec<String> =
        row.iter().flat_map(|row| row.unlabelled).map(|one| format!("{:?}", one.name())).collect();
    vec![
        format!("unlabelled=[{}]", words.join(", ")),
        format!("trajectories={TRAINING}"),
        "validation_episodes=0".to_owned(),
    ]
}

/// A maze, with recordings to learn from for each seed, and the same to evaluate by for all.
pub fn worlds(maze: &str, seeds: u64, folder: &Path) -> Result<Vec<World>> {
    std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot create", folder.display()))?;
    let test = folder.join(format!("{maze}_test.npz"));
    make(maze, &test, TEST, TEST_SEED)?;
    let world = |seed: u64| {
        let train = folder.join(format!("{maze}_train_{seed}.npz"));
        make(maze, &train, TRAINING, seed)?;
        Ok(World { name: maze.to_owned(), train, test: test.clone(), particles: None, seed: Some(seed) })
    };
    (1..=seeds).map(world).collect()
}

/// Names the test trajectories; training has the seeds from 1 on.
const TEST_SEED: u64 = 900;

#[cfg(test)]
mod tests {
    use super::super::{Cell, Scope};
    use crate::args::Paper;
    use std::collections::BTreeSet;

    /// Ten ways at four shares with five seeds; all alike but for the objectives, and all different runs.
    #[test]
    fn one_network_and_ten_objectives() {
        let scope = Scope { paper: Paper::Helps, ..Scope::default() };
        let cells = scope.cells(&["maze1".to_owned()]).unwrap();
        assert_eq!(cells.len(), 10 * 4 * 5);
        assert_eq!(cells.iter().map(Cell::name).collect::<BTreeSet<_>>().len(), cells.len());
        let arms: BTreeSet<String> = cells.iter().map(|cell| cell.experiment.arm()).collect();
        assert_eq!(arms.len(), 10);
        assert!(arms.contains("driftless") && arms.contains("driftless-supervised"), "{arms:?}");
        let plain = |cell: &Cell| {
            let unlabelled = cells[0].experiment.unlabelled.clone();
            let (label_fraction, seed) = (0.1, 1);
            driftless::learn::Experiment { unlabelled, label_fraction, seed, ..cell.experiment.clone() }
        };
        assert!(cells.iter().all(|cell| plain(cell) == plain(&cells[0])));
        let quick = Scope { quick: true, methods: Some(vec!["evidence".into()]), ..scope };
        let names: Vec<String> = quick.cells(&["m".to_owned()]).unwrap().iter().map(Cell::name).collect();
        assert_eq!(names.len(), 6);
        assert_eq!(names[..2], ["m-evidence-5pct-seed1", "m-evidence-10pct-seed1"]);
    }
}
