//! PF-net's tfrecords as methods are trained and examined with: in centimetres, with odometry's noise, and with what
//! the robot is told of its first pose.

use super::{Purpose, Robots};
use crate::learn::{Experiment, HouseSettings, HouseStart, SeenImages};
use driftless_world::evaluation::{Plan, Thresholds};
use driftless_world::files::pfnet::{HouseEpisode, HouseMaps, PfnetFile, PfnetOptions};
use driftless_world::random::Random;
use driftless_world::trajectory::{Observations, Pixels, Start};
use driftless_world::{Dataset, Error, Images, Result, Trajectory};
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

    /// An episode as it was recorded.
    fn recorded(&self, index: usize) -> Result<HouseEpisode> {
        self.file.get(index)
    }

    /// An episode as a robot lives it. Its odometry and what it is told of its first pose are drawn once: a learner
    /// could average away what is drawn anew.
    fn lived(&self, index: usize) -> Result<Trajectory> {
        let recorded = self.recorded(index)?;
        let mut episode = recorded.in_centimetres(self.settings.observation())?;
        let mut random = Random::stream(self.seed, index as u64);
        for number in episode.actions.values_mut() {
            *number *= (1.0 + self.noise * random.normal()) as f32;
        }
        self.damage(&mut episode.observations, &mut random);
        self.disturb(episode.actions.values_mut(), &mut random);
        episode.start = Some(self.start(&recorded.maps, recorded.states[0], &mut random, index)?);
        Ok(episode)
    }

    /// Depth as real cameras measure it: noisy, missing in patches and far away. What is missing is 0, as they say it.
    fn damage(&self, observations: &mut Observations, random: &mut Random) {
        let HouseSettings { depth_noise, depth_missing, depth_reach, images, .. } = self.settings;
        let harmless = depth_noise == 0.0 && depth_missing == 0.0 && depth_reach == 0.0;
        let Observations::Images(seen) = observations else { return };
        if harmless || images == SeenImages::Rgb {
            return;
        }
        let reach = if depth_reach > 0.0 { depth_reach } else { f64::INFINITY };
        let (channels, pixels) = (seen.channels, seen.height * seen.width);
        let mut numbers: Vec<f32> = (0..seen.pixels.len()).map(|i| seen.pixels.get(i)).collect();
        for image in numbers.chunks_exact_mut(pixels * channels) {
            let missing = patches(seen.height, seen.width, depth_missing, random);
            for (pixel, gone) in image.chunks_exact_mut(channels).zip(missing) {
                let decimetres = &mut pixel[channels - 1];
                let metres = 0.1 * f64::from(*decimetres);
                let noisy = metres + depth_noise * metres * metres * random.normal();
                let kept = !gone && metres <= reach && noisy > 0.0;
                *decimetres = if kept { (10.0 * noisy) as f32 } else { 0.0 };
            }
        }
        seen.pixels = Pixels::Floats(numbers);
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

impl Robots for Houses {
    fn len(&self) -> usize {
        self.file.len()
    }

    /// Steps of the first episode.
    fn steps(&self) -> crate::Result<usize> {
        Ok(self.file.without_images(0)?.states.len())
    }

    fn image(&self) -> [usize; 3] {
        let channels = match self.settings.images {
            SeenImages::Rgb => 3,
            SeenImages::Depth => 1,
            SeenImages::RgbDepth => 4,
        };
        [56, 56, channels]
    }

    fn get(&self, index: usize) -> crate::Result<Trajectory> {
        Ok(self.lived(index)?)
    }

    fn known(&self, index: usize) -> crate::Result<Vec<bool>> {
        Ok(vec![true; self.file.without_images(index)?.states.len()])
    }

    fn images(&self, index: usize) -> crate::Result<Option<(Images, usize)>> {
        Ok(self.recorded(index)?.rgb.map(|images| (images, 0)))
    }

    fn unit(&self) -> &'static str {
        "cm"
    }

    fn thresholds(&self) -> Thresholds {
        Thresholds { lost: 100.0, localised: 100.0 }
    }

    fn floor_plan(&self, index: usize) -> crate::Result<Option<Plan>> {
        Ok(Some(Plan::of_house(&self.recorded(index)?.maps)))
    }

    fn world(&self, _: &Path) -> crate::Result<Option<String>> {
        Ok(Some("house".to_owned()))
    }

    /// Images are brought to one size, and episodes may have any length.
    fn differs(&self, _: Option<usize>, _: [usize; 2], _: &str) -> crate::Result<Option<(&str, String)>> {
        Ok(None)
    }
}

/// Which pixels of an image are missing: squares of an eighth of its height, as many as it takes for the share.
fn patches(height: usize, width: usize, share: f64, random: &mut Random) -> Vec<bool> {
    let (mut missing, side) = (vec![false; height * width], height.div_ceil(8).max(1));
    let (mut gone, wanted) = (0, (share * (height * width) as f64).round() as usize);
    while gone < wanted {
        let (top, left) = (random.below(height), random.below(width));
        for row in top..(top + side).min(height) {
            for pixel in &mut missing[row * width + left..row * width + (left + side).min(width)] {
                gone += usize::from(!*pixel);
                *pixel = true;
            }
        }
    }
    missing
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
