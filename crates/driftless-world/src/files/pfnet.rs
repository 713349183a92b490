//! PF-net's houses: trajectories through floor plans, one `tf.train.Example` a trajectory.
//!
//! All features are byte strings: `map_wall`, `map_door`, `map_roomtype` and `map_roomid` (a PNG
//! each), `states` and `odometry` (raw little-endian float32, T rows of 3), `rgb` and `depth` (T PNGs
//! each; one of the two may be missing). A map pixel is [`METRES_PER_PIXEL`] wide.
//!
//! Here everything stays as the file has it; [`network`] makes of it what PF-net's network is fed
//! with, and [`HouseEpisode::to_trajectory`] what the rest of this project calls an episode.

use crate::error::{Error, Result};
use crate::pose::{Frame, Pose, wrap};
use crate::trajectory::Images;

mod decode;
mod maps;
pub mod network;
mod read;
mod resize;
mod stack;
mod trajectory;
mod walks;
mod write;

pub use decode::{HouseSummary, decode, summarize};
pub use maps::HouseMaps;
pub use read::{PfnetFile, PfnetOptions};
pub use resize::resize_bilinear;
pub use trajectory::HouseObservation;
pub use walks::WalksInHouses;
pub use write::{PfnetWriter, encode};

/// Width of a map pixel.
pub const METRES_PER_PIXEL: f64 = 0.02;

/// In which order the three colours of a pixel follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelOrder {
    /// Red first, as PNG files store it.
    #[default]
    Rgb,
    /// Blue first, as OpenCV hands it out; PF-net's released weights were trained with this.
    Bgr,
}

/// One walk of T steps through a house.
#[derive(Clone, Debug, PartialEq)]
pub struct HouseEpisode {
    /// The floor plan.
    pub maps: HouseMaps,
    /// True states: x and y in map pixels, heading in radians.
    pub states: Vec<[f32; 3]>,
    /// Row t is the motion from step t to step t + 1 in the robot's frame (forward and left in
    /// pixels, turn in radians); the last row leads nowhere and is zero.
    pub odometry: Vec<[f32; 3]>,
    /// Colour images, one a step, if the record has them and they were asked for.
    pub rgb: Option<Images>,
    /// Depth images, one a step, likewise: bytes from 8-bit files, floats from 16-bit ones.
    pub depth: Option<Images>,
    /// Order of the colours in `rgb`. Files always hold ordinary PNGs: encoding undoes the order.
    pub channel_order: ChannelOrder,
}

impl HouseEpisode {
    /// Number of steps.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// True if there is no step.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Checks that all parts belong together and all numbers are finite.
    pub fn check(&self) -> Result<()> {
        self.maps.check()?;
        check_rows(&self.states).map_err(|error| error.in_field("states"))?;
        check_rows(&self.odometry).map_err(|error| error.in_field("odometry"))?;
        same_count(self.odometry.len(), "rows", self.len()).map_err(|error| error.in_field("odometry"))?;
        for (name, channels, images) in [("rgb", 3, &self.rgb), ("depth", 1, &self.depth)] {
            if let Some(images) = images {
                check_images(images, channels, self.len()).map_err(|error| error.in_field(name))?;
            }
        }
        Ok(())
    }
}

fn check_rows(rows: &[[f32; 3]]) -> Result<()> {
    if rows.is_empty() {
        return Err(Error::new("holds no row"));
    }
    match rows.iter().position(|row| !row.iter().all(|number| number.is_finite())) {
        Some(row) => Err(Error::new(format!("row {row} is {:?}; all numbers must be finite", rows[row]))),
        None => Ok(()),
    }
}

fn check_images(images: &Images, channels: usize, steps: usize) -> Result<()> {
    if images.channels != channels {
        return Err(Error::new(format!("{} channels where {channels} are needed", images.channels)));
    }
    if images.stride() == 0 || images.pixels.len() != images.stride() * images.len() {
        return Err(Error::new(format!("{} numbers are no whole images", images.pixels.len())));
    }
    same_count(images.len(), "images", steps)
}

fn same_count(count: usize, what: &str, steps: usize) -> Result<()> {
    if count == steps {
        return Ok(());
    }
    Err(Error::new(format!("holds {count} {what}, but there are {steps} states")))
}

/// The largest disagreement between states and odometry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OdometryResidual {
    /// Of the position, in pixels.
    pub position: f64,
    /// Of the heading, in radians.
    pub heading: f64,
}

/// How far `x' = x + c·o_x − s·o_y`, `y' = y + s·o_x + c·o_y`, `θ' = θ + o_θ` is from true, with the
/// sine and cosine of the heading *before* the motion. Large values mean another odometry convention.
pub fn odometry_residual(states: &[[f32; 3]], odometry: &[[f32; 3]]) -> Result<OdometryResidual> {
    same_count(odometry.len(), "rows", states.len()).map_err(|error| error.in_field("odometry"))?;
    let mut worst = OdometryResidual::default();
    for (pair, motion) in states.windows(2).zip(odometry) {
        let [from, to] =
            [pair[0], pair[1]].map(|[x, y, heading]| Pose::new(x.into(), y.into(), heading.into()));
        let reached = from.moved(motion.map(f64::from), Frame::Robot);
        worst.position = worst.position.max(reached.distance(to));
        worst.heading = worst.heading.max(wrap(reached.heading - to.heading).abs());
    }
    Ok(worst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f32::consts::{FRAC_PI_2, PI};

    #[test]
    fn the_residual_tells_the_robot_frame_from_others() {
        // Looking along +y: a step forward goes up, a step to the left goes to -x.
        let states = [[10.0, 20.0, FRAC_PI_2], [10.0, 25.0, PI], [10.0, 28.0, -PI + 0.5]];
        let odometry = [[5.0, 0.0, FRAC_PI_2], [0.0, -3.0, 0.5], [0.0; 3]];
        let residual = odometry_residual(&states, &odometry).unwrap();
        assert!(residual.position < 1e-5 && residual.heading < 1e-6, "{residual:?}");
        let world = [[0.0, 5.0, FRAC_PI_2], [0.0, 3.0, 0.5], [0.0; 3]];
        assert!(odometry_residual(&states, &world).unwrap().position > 5.0);
        let turned = [[5.0, 0.0, FRAC_PI_2], [0.0, -3.0, -0.5], [0.0; 3]];
        assert!((odometry_residual(&states, &turned).unwrap().heading - 1.0).abs() < 1e-6);
        assert!(odometry_residual(&states, &odometry[..2]).is_err());
    }
}
