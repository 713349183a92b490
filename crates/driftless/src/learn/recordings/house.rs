//! PF-net's tfrecords as methods are trained and examined with: in centimetres, with odometry's noise, and with what
//! the robot is told of its first pose.

use super::Purpose;
use crate::learn::{Experiment, HouseSettings, HouseStart, SeenImages};
use driftless_world::files::pfnet::{HouseEpisode, HouseMaps, PfnetFile, PfnetOptions};
use driftless_world::random::Random;
use driftless_world::trajectory::Start;
use driftless_world::{Dataset, Error, Result, Trajectory};
use std::path::Path;

/// A file of episodes in houses.
pub struct Houses {
    file: PfnetFile,
    settings: HouseSettings,
    noise: f64,
    seed: u64,
}

impl Houses {
    /// Opens a file; episodes are cut to `steps`, if that is said.
    pub fn open(
        path: &Path,
        steps: Option<usize>,
        experiment: &Experiment,
        seed: u64,
        purpose: Purpose,
    ) -> Result<Self> {
        let file = PfnetFile::open(path, PfnetOptions { steps, ..PfnetOptions::default() })?;
        if file.is_empty() {
            return Err(Error::new("holds no episode").in_file(path));
        }
        let seed = Random::stream(seed ^ 0x0068_6f75_7365, purpose as u64).bits();
        Ok(Self { file, settings: experiment.house.clone(), noise: experiment.odometry_noise, seed })
    }

    /// How many episodes.
    pub fn len(&self) -> usize {
        self.file.len()
    }

    /// Steps of the first episode.
    pub fn steps(&self) -> Result<usize> {
        Ok(self.file.without_images(0)?.states.len())
    }

    /// Steps of an episode.
    pub fn steps_of(&self, index: usize) -> Result<usize> {
        Ok(self.file.without_images(index)?.states.len())
    }

    /// Numbers of a pixel of the images that are seen.
    pub fn channels(&self) -> usize {
        match self.settings.images {
            SeenImages::Rgb => 3,
            SeenImages::Depth => 1,
            SeenImages::RgbDepth => 4,
        }
    }

    /// An episode as it was recorded.
    pub fn recorded(&self, index: usize) -> Result<HouseEpisode> {
        self.file.get(index)
    }

    /// An episode as a robot lives it. Its odometry and what it is told of its first pose are drawn once: a learner
    /// could average away what is drawn anew.
    pub fn get(&self, index: usize) -> Result<Trajectory> {
        let recorded = self.recorded(index)?;
        let mut episode = recorded.in_centimetres(self.settings.observation())?;
        let mut random = Random::stream(self.seed, index as u64);
        for number in episode.actions.values_mut() {
            *number *= (1.0 + self.noise * random.normal()) as f32;
        }
        self.disturb(episode.actions.values_mut(), &mut random);
        episode.start = Some(self.start(&recorded.maps, recorded.states[0], &mut random, index)?);
        Ok(episode)
    }

    /// Adds the error of odometry to each action.
    fn disturb(&self, actions: &mut [f32], random: &mut Random) {
        let position = 100.0 * self.settings.odometry_metres;
        let sizes = [position, position, self.settings.odometry_degrees.to_radians()];
        if sizes.iter().all(|size| *size == 0.0) {
            return;
        }
        for (number, size) in actions.iter_mut().zip(sizes.iter().cycle()) {
            *number += (size * random.normal()) as f32;
        }
    }

    fn start(&self, maps: &HouseMaps, first: [f32; 3], random: &mut Random, index: usize) -> Result<Start> {
        let [x, y, heading] = first;
        let spread =
            [self.settings.start_metres, self.settings.start_metres].map(|metres| 100.0 * metres as f32);
        let spread = [spread[0], spread[1], self.settings.start_degrees.to_radians() as f32];
        let mut pose = [2.0 * x, 2.0 * y, heading];
        Ok(match self.settings.start {
            HouseStart::TrackingTrue => Start::About { pose, spread },
            HouseStart::Tracking => {
                pose.iter_mut().zip(spread).for_each(|(x, std)| *x += std * random.normal() as f32);
                Start::About { pose, spread }
            }
            HouseStart::Room => {
                Start::Room(room(maps, x, y).map_err(|error| error.in_record(format!("record {index}")))?)
            }
            HouseStart::House => Start::House,
        })
    }
}

/// The room in which a pose is.
fn room(maps: &HouseMaps, x: f32, y: f32) -> Result<u16> {
    let (x, y) = (x.round_ties_even(), y.round_ties_even());
    let inside = x >= 0.0 && y >= 0.0 && (x as usize) < maps.width && (y as usize) < maps.height;
    if !inside {
        return Err(Error::new(format!("begins at ({x}, {y}), which is not on the map")).in_field("states"));
    }
    Ok(maps.room_id(x as usize, y as usize))
}
