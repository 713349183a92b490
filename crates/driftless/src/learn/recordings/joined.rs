//! Recordings of several files, one after the other, as if they were one.

use super::{Purpose, Recordings};
use crate::error::Result;
use crate::learn::{Experiment, Source};
use driftless_world::Trajectory;
use driftless_world::random::Random;
use std::path::Path;

/// At least one file.
pub struct Joined {
    files: Vec<Recordings>,
}

impl Joined {
    /// Opens files in order; all must have observations like those of the first. Noise of each has a seed of its own, that
    /// of the first being what it would be alone.
    pub fn open<'a>(
        paths: impl Iterator<Item = &'a Path>,
        steps: Option<usize>,
        experiment: &Experiment,
        purpose: Purpose,
    ) -> Result<Self> {
        let mut files: Vec<Recordings> = Vec::new();
        for (number, path) in paths.enumerate() {
            let seed = match number {
                0 => experiment.seed,
                number => Random::stream(experiment.seed ^ 0x6a6f_696e, number as u64).bits(),
            };
            let file = Recordings::open(path, steps, experiment, seed, purpose)?;
            if let Some(first) = files.first() {
                let [height, width, _] = first.image();
                let told = format!("{} has some", first.path().display());
                file.check(Some(first.steps()?), [height, width], &told)?;
            }
            files.push(file);
        }
        Ok(Self { files })
    }

    /// The first file, which all others are like.
    pub fn first(&self) -> &Recordings {
        &self.files[0]
    }

    /// Episodes of all files.
    pub fn len(&self) -> usize {
        self.files.iter().map(Recordings::len).sum()
    }

    fn find(&self, mut index: usize) -> (&Recordings, usize) {
        for file in &self.files {
            if index < file.len() {
                return (file, index);
            }
            index -= file.len();
        }
        panic!("no episode has that number")
    }

    /// An episode with the one noise that names itself.
    pub fn get(&self, index: usize) -> Result<Trajectory> {
        let (file, index) = self.find(index);
        file.get(index)
    }
}

impl Source for Joined {
    fn episodes(&self) -> usize {
        self.len()
    }

    fn episode(&self, index: usize, draw: u64) -> Result<Trajectory> {
        let (file, index) = self.find(index);
        file.episode(index, draw)
    }

    fn known(&self, index: usize) -> Result<Vec<bool>> {
        let (file, index) = self.find(index);
        file.known(index)
    }
}
