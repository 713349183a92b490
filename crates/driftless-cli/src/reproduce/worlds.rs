//! The worlds of a comparison: built-in mazes, whose recordings are made, or anybody's own recordings.

use super::plan::GLOBAL;
use crate::args::{HouseSplit, Simulate, Steering};
use crate::simulate;
use crate::usage::misused;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Episodes to learn from and to validate with, and seeds that name them and those to evaluate on.
const TRAINING: usize = 150;
const TRAINING_SEED: u64 = 1;
const TEST_SEED: u64 = 2;

/// Where a world's recordings are.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// What tables call it.
    pub name: String,
    /// To learn from; the episodes that are left serve for validation.
    pub train: PathBuf,
    /// To evaluate by.
    pub test: PathBuf,
    /// Particles to evaluate with, if not as many as in training.
    pub particles: Option<usize>,
    /// The only seed that learns from these recordings, if others have their own.
    pub seed: Option<u64>,
}

impl World {
    /// A built-in maze; its recordings are made in a folder, unless they are there.
    pub fn simulated(maze: &str, folder: &Path, test_episodes: usize) -> Result<Self> {
        let file = |part: &str| folder.join(format!("{maze}_{part}.npz"));
        let world = Self {
            name: maze.to_owned(),
            train: file("train"),
            test: file("test"),
            particles: None,
            seed: None,
        };
        std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot create", folder.display()))?;
        make(maze, &world.train, TRAINING, TRAINING_SEED)?;
        make(maze, &world.test, test_episodes, TEST_SEED)?;
        Ok(world)
    }

    /// Houses; short walks to learn from, 25 steps each, and long ones through other houses to evaluate on. The last walks
    /// to learn from are in houses of their own, and serve for validation.
    pub fn houses(folder: &Path, quick: bool) -> Result<Self> {
        let file = |part: &str| folder.join(format!("house_{part}.tfrecords"));
        let particles = Some(if quick { 300 } else { 1000 });
        let world = Self {
            name: "house".to_owned(),
            train: file("train"),
            test: file("test"),
            particles,
            seed: None,
        };
        std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot create", folder.display()))?;
        let (training, test) = if quick { (520, 40) } else { (1040, 100) };
        make_houses(&world.train, [training, training / 5, 25], HouseSplit::Train, TRAINING_SEED)?;
        make_houses(&world.test, [test, test, 100], HouseSplit::Test, TEST_SEED)?;
        Ok(world)
    }

    /// All pairs of logs in a folder, by name; or `NAME=TRAIN,TEST`.
    pub fn robots(text: &str) -> Result<Vec<Self>> {
        let folder = Path::new(text);
        if !folder.is_dir() {
            return Ok(vec![Self::own(text)?]);
        }
        let failed = || format!("{text}: cannot read the folder");
        let entries = std::fs::read_dir(folder).with_context(failed)?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let names = names.collect::<std::io::Result<Vec<String>>>().with_context(failed)?;
        let mut sets: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix("_train.npz")).collect();
        sets.retain(|set| folder.join(format!("{set}_test.npz")).is_file());
        sets.sort_unstable();
        if sets.is_empty() {
            misused!("--data {text}: holds no pair of files NAME_train.npz and NAME_test.npz");
        }
        let world = |set: &&str| {
            let file = |part: &str| folder.join(format!("{set}_{part}.npz"));
            Self {
                name: (*set).to_owned(),
                train: file("train"),
                test: file("test"),
                particles: None,
                seed: None,
            }
        };
        Ok(sets.iter().map(world).collect())
    }

    /// The same robots, told nothing of where they start.
    pub fn started_anywhere(&self) -> Self {
        Self { name: format!("{}{GLOBAL}", self.name), ..self.clone() }
    }

    /// `NAME=TRAIN,TEST`.
    pub fn own(text: &str) -> Result<Self> {
        let parts = text.split_once('=').and_then(|(name, files)| Some((name, files.split_once(',')?)));
        let Some((name, (train, test))) = parts.filter(|(name, _)| !name.is_empty()) else {
            misused!("--data {text}: must be NAME=TRAIN,TEST");
        };
        if name.contains(['/', '\\']) {
            misused!("--data {text}: the name becomes part of folders and must not hold slashes");
        }
        let world = Self {
            name: name.to_owned(),
            train: train.into(),
            test: test.into(),
            particles: None,
            seed: None,
        };
        for file in [&world.train, &world.test] {
            std::fs::metadata(file).with_context(|| format!("{}: cannot be read", file.display()))?;
        }
        Ok(world)
    }
}

/// Episodes, houses and steps.
fn make_houses(
    out: &Path,
    [episodes, houses, steps]: [usize; 3],
    split: HouseSplit,
    seed: u64,
) -> Result<()> {
    if out.exists() {
        return Ok(());
    }
    let wanted = simulated("house", out, episodes, seed);
    made(&Simulate { steps: Some(steps), houses: Some(houses), split: Some(split), ..wanted })
}

/// Files appear whole or not at all, so one that is there is complete.
pub(super) fn make(maze: &str, out: &Path, episodes: usize, seed: u64) -> Result<()> {
    if out.exists() {
        return Ok(());
    }
    made(&simulated(maze, out, episodes, seed))
}

/// Another process may make the same file meanwhile, with the same bytes.
fn made(wanted: &Simulate) -> Result<()> {
    simulate::run(wanted).or_else(|error| if wanted.out.is_file() { Ok(()) } else { Err(error) })
}

fn simulated(world: &str, out: &Path, episodes: usize, seed: u64) -> Simulate {
    Simulate {
        world: world.to_owned(),
        out: out.to_path_buf(),
        episodes,
        steps: Some(100),
        seed,
        size: None,
        force: false,
        format: None,
        compress: false,
        policy: Steering::Wander,
        odometry_noise: 0.0,
        houses: None,
        split: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_recordings() {
        let here = file!();
        let own = |text: &str| World::own(text).map_err(|error| error.to_string());
        assert!(own("a=b").unwrap_err().contains("NAME=TRAIN,TEST"));
        assert!(own("=a,b").unwrap_err().contains("NAME=TRAIN,TEST"));
        assert!(own("a/b=c,d").unwrap_err().contains("slashes"));
        assert!(own("a=no_such_file,b").unwrap_err().contains("no_such_file"), "{here}");
    }

    /// Only pairs count, in the order of their names.
    #[test]
    fn logs_of_a_folder() {
        let folder = std::env::temp_dir().join(format!("driftless-robots-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let text = folder.to_string_lossy().into_owned();
        assert!(World::robots(&text).unwrap_err().to_string().contains("NAME_train.npz"));
        for name in ["b_train.npz", "b_test.npz", "a_train.npz", "a_test.npz", "c_train.npz", "d.npz"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let found = World::robots(&text).unwrap();
        let names: Vec<String> = found.iter().map(|world| world.name.clone()).collect();
        assert_eq!((names.join(" "), found[1].started_anywhere().name.as_str()), ("a b".into(), "b-global"));
        assert_eq!(found[0].test, folder.join("a_test.npz"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
