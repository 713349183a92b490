//! Options of `driftless simulate`.

use clap::{Args, ValueEnum};
use driftless_world::files::Format;
use driftless_world::house::Split;
use driftless_world::maze::Policy;
use driftless_world::simulate::{Simulation, world_names};
use std::path::PathBuf;
use std::str::FromStr;

/// Options of `simulate`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless simulate maze1 --episodes 1000 --seed 1 --out nav01_train.npz
  driftless simulate my.maze --size 64x48 --policy plan --out mine.npz
  driftless simulate maze2 --format log --odometry-noise 0.1 --out noisy.npz
  driftless simulate lgss25 --episodes 20 --out walks.npz
  driftless simulate house --episodes 200 --steps 25 --split train --out train.tfrecords")]
pub struct Simulate {
    #[arg(help = format!("{}, or a file with the drawing of a maze", world_names()))]
    pub world: String,

    /// Where to write the data
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,

    /// Number of episodes
    #[arg(long, short = 'n', default_value_t = 100)]
    pub episodes: usize,

    /// Recorded steps of an episode [default: 100; houses: 25, or 100 for valid and test; lgss: 150,
    /// lgss25: 1000]
    #[arg(long, short = 't')]
    pub steps: Option<usize>,

    /// Names the data set: the same seed gives the same bytes
    #[arg(long, short, default_value_t = 0)]
    pub seed: u64,

    /// Size of the images, as 32 or 64x48 (width x height) [default: 32; houses: 56]
    #[arg(long)]
    pub size: Option<Size>,

    /// Replace the file if it exists
    #[arg(long, short)]
    pub force: bool,

    /// Layout of the file [default: the world's usual one]
    #[arg(long, value_parser = super::layouts(|_| true))]
    pub format: Option<&'static Format>,

    /// Compress the arrays of npz files (smaller, slower to read in random order)
    #[arg(long)]
    pub compress: bool,

    /// Who steers through a maze
    #[arg(long, value_enum, default_value_t = Steering::Wander)]
    pub policy: Steering,

    /// Multiply each odometry number by N(1, this²); for layouts that store odometry (log, pfnet)
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    pub odometry_noise: f64,

    /// Number of distinct houses [default: one for every 10 episodes]
    #[arg(long)]
    pub houses: Option<usize>,

    /// Which of three disjoint sets of houses [default: train]
    #[arg(long, value_enum)]
    pub split: Option<HouseSplit>,
}

/// Width and height of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (width, height) = text.split_once('x').unwrap_or((text, text));
        let side = |text: &str| text.parse().ok().filter(|side| (1..=2048).contains(side));
        match (side(width), side(height)) {
            (Some(width), Some(height)) => Ok(Self { width, height }),
            _ => Err("write 32 or 64x48, with sides from 1 to 2048".into()),
        }
    }
}

/// Who steers.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// Random arcs, turning away from walls
    Wander,
    /// Shortest ways to random places
    Plan,
    /// Half of the episodes each
    Mix,
}

/// Disjoint sets of houses.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum HouseSplit {
    /// For training
    Train,
    /// For choosing
    Valid,
    /// For the final test
    Test,
}

/// The same for the library.
impl From<&Simulate> for Simulation {
    fn from(wanted: &Simulate) -> Self {
        Self {
            world: wanted.world.clone(),
            episodes: wanted.episodes,
            steps: wanted.steps,
            seed: wanted.seed,
            size: wanted.size.map(|Size { width, height }| [width, height]),
            format: wanted.format,
            compress: wanted.compress,
            policy: match wanted.policy {
                Steering::Wander => Policy::Wander,
                Steering::Plan => Policy::Plan,
                Steering::Mix => Policy::Mix,
            },
            odometry_noise: wanted.odometry_noise,
            houses: wanted.houses,
            split: wanted.split.map(|split| match split {
                HouseSplit::Train => Split::Train,
                HouseSplit::Valid => Split::Valid,
                HouseSplit::Test => Split::Test,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked() {
        assert_eq!("32".parse(), Ok(Size { width: 32, height: 32 }));
        assert_eq!("64x48".parse(), Ok(Size { width: 64, height: 48 }));
        for wrong in ["", "0", "x", "3x", "9999", "-3", "64x48x3"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }
}
