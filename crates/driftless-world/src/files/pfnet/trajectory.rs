//! Translates a house episode into the episode every filter understands.

use super::{HouseEpisode, METRES_PER_PIXEL};
use crate::error::{Error, Result};

use crate::trajectory::{Images, Labels, Observations, Pixels, Rows, Trajectory};
use std::sync::Arc;

/// Width of a map pixel.
const CENTIMETRES_PER_PIXEL: f32 = (100.0 * METRES_PER_PIXEL) as f32;

/// Which images a filter shall see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HouseObservation {
    /// Three colour channels.
    Rgb,
    /// One depth channel.
    Depth,
    /// Colours, then depth, as four channels.
    RgbDepth,
}

impl HouseEpisode {
    /// The same in centimetres and radians: lengths of [`HouseEpisode::to_trajectory`] times two.
    pub fn in_centimetres(&self, observation: HouseObservation) -> Result<Trajectory> {
        let mut episode = self.to_trajectory(observation)?;
        let scaled = |rows: &[f32]| -> Vec<f32> {
            let factors = [CENTIMETRES_PER_PIXEL, CENTIMETRES_PER_PIXEL, 1.0].into_iter().cycle();
            rows.iter().zip(factors).map(|(x, factor)| x * factor).collect()
        };
        episode.actions = Rows::new(3, scaled(episode.actions.values()))?;
        let states: Vec<f32> = self.states.iter().flatten().copied().collect();
        episode.states = Labels::all(Rows::new(3, scaled(&states))?);
        Ok(episode)
    }

    /// The episode with action t leading *into* step t: action 0 is zero, action t is odometry t − 1.
    /// States stay in pixels and radians, pixels stay as they are (see [`super::network`] for scaling).
    pub fn to_trajectory(&self, observation: HouseObservation) -> Result<Trajectory> {
        self.check()?;
        let images = match observation {
            HouseObservation::Rgb => present(self.rgb.as_ref(), "rgb")?.clone(),
            HouseObservation::Depth => present(self.depth.as_ref(), "depth")?.clone(),
            HouseObservation::RgbDepth => {
                join(present(self.rgb.as_ref(), "rgb")?, present(self.depth.as_ref(), "depth")?)?
            }
        };
        let before = self.odometry.iter().take(self.len() - 1).flatten();
        let actions = [0.0; 3].iter().chain(before).copied().collect();
        let states = self.states.iter().flatten().copied().collect();
        let episode = Trajectory::new(
            Observations::Images(images),
            Rows::new(3, actions)?,
            Labels::all(Rows::new(3, states)?),
        )?;
        Ok(Trajectory { floor: Some(Arc::new(self.maps.clone())), ..episode })
    }
}

fn present<'a>(images: Option<&'a Images>, name: &str) -> Result<&'a Images> {
    images.ok_or_else(|| {
        Error::new("there are none in this episode: absent from its record, or not asked for when reading")
            .in_field(name)
    })
}

fn join(rgb: &Images, depth: &Images) -> Result<Images> {
    let (height, width) = (rgb.height, rgb.width);
    if (depth.height, depth.width) != (height, width) {
        return Err(Error::new(format!(
            "{} x {} pixels, but rgb has {width} x {height}; read both in one size",
            depth.width, depth.height
        ))
        .in_field("depth"));
    }
    let pixels = match (&rgb.pixels, &depth.pixels) {
        (Pixels::Bytes(colours), Pixels::Bytes(depths)) => Pixels::Bytes(
            colours.as_chunks().0.iter().zip(depths).flat_map(|(&[r, g, b], &d)| [r, g, b, d]).collect(),
        ),
        (colours, depths) => {
            let pixel = |i: usize| {
                [colours.get(3 * i), colours.get(3 * i + 1), colours.get(3 * i + 2), depths.get(i)]
            };
            Pixels::Floats((0..depths.len()).flat_map(pixel).collect())
        }
    };
    Ok(Images { height, width, channels: 4, pixels })
}
