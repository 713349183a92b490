//! Walks through houses as trajectories, for whoever looks at any data file.

use super::{HouseEpisode, HouseObservation, PfnetFile, PfnetOptions};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::files::DataFile;
use crate::trajectory::{Images, Trajectory};
use std::path::Path;

/// A file of walks, with what the camera saw in colour and depth as far as recorded, in its own size.
#[derive(Debug)]
pub struct WalksInHouses(PfnetFile);

impl WalksInHouses {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self(PfnetFile::open(path, PfnetOptions { image_size: None, ..PfnetOptions::default() })?))
    }
}

impl Dataset for WalksInHouses {
    type Episode = Trajectory;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, index: usize) -> Result<Trajectory> {
        let episode = self.0.get(index)?;
        let same_size = |a: &Images, b: &Images| (a.height, a.width) == (b.height, b.width);
        let observation = match (&episode.rgb, &episode.depth) {
            (Some(rgb), Some(depth)) if same_size(rgb, depth) => HouseObservation::RgbDepth,
            (None, _) => HouseObservation::Depth,
            _ => HouseObservation::Rgb,
        };
        episode.to_trajectory(observation)
    }
}

impl DataFile for WalksInHouses {
    fn unit(&self) -> &'static str {
        "pixels"
    }

    fn note(&self) -> Option<String> {
        Some("a map pixel is 0.02 m; depth is in decimetres".to_owned())
    }

    fn in_house(&self, index: usize) -> Result<Option<HouseEpisode>> {
        self.0.get(index).map(Some)
    }
}
