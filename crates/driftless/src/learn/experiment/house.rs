//! Settings of experiments in houses, `[house]` in a file: what is seen, where a robot starts, how PF-net's filter
//! is trained.

mod pseudo_likelihood;

pub use pseudo_likelihood::{HouseBlockStart, HousePseudoLikelihood};

use super::is_default;
use crate::classical::ClassicalSettings;
use crate::config;
use crate::error::Result;
use driftless_kernels::pfnet::Geometry;
use driftless_world::files::pfnet::HouseObservation;
use driftless_world::files::pfnet::network::MapMode;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which images are seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeenImages {
    /// Colours.
    #[default]
    Rgb,
    /// Depth.
    Depth,
    /// Both.
    RgbDepth,
}

/// Which maps are seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeenMaps {
    /// Walls.
    #[default]
    Wall,
    /// Walls and doors.
    WallDoor,
    /// Walls and kinds of rooms.
    WallRoomType,
    /// All of them.
    WallDoorRoomType,
}

/// How a particle's view of the map is turned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ViewGeometry {
    /// Without stretching.
    #[default]
    Rigid,
    /// As PF-net's code does it, stretched unless the map is a square.
    Released,
}

/// What a robot is told of its first pose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HouseStart {
    /// It is about there: a pose drawn around the true one, as PF-net's code does it.
    #[default]
    Tracking,
    /// It is exactly there, and does not trust it: the true pose, as the SDPF paper says.
    TrackingTrue,
    /// The room.
    Room,
    /// Nothing but the house.
    House,
}

/// What a range scan is trained by through the filter, in the last quarter of the epochs, beside images at poses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThroughFilter {
    /// How dense beliefs are at known poses.
    Density,
    /// How well beliefs foresee the next scan.
    Evidence,
}

/// All of them; lengths in metres, angles in degrees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HouseSettings {
    /// Weights to begin with, a file that `driftless import pfnet-checkpoint` or an earlier run wrote; first weights
    /// are drawn if it is empty.
    #[serde(skip_serializing_if = "is_default")]
    pub weights: PathBuf,
    /// Which images are seen.
    pub images: SeenImages,
    /// Which maps are seen.
    pub maps: SeenMaps,
    /// How views are turned.
    pub geometry: ViewGeometry,
    /// What a robot is told of its first pose.
    pub start: HouseStart,
    /// Standard deviation of the first position.
    pub start_metres: f64,
    /// Standard deviation of the first heading.
    pub start_degrees: f64,
    /// Steps to learn from at most, of each trajectory.
    pub steps: usize,
    /// Updates of an epoch of `driftless`, each by as many images as `batch_size` says.
    pub updates: u64,
    /// Whether `driftless` trains through the filter at last, and by what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through_filter: Option<ThroughFilter>,
    /// What that counts beside the cross-entropy of a column; the method decides if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through_weight: Option<f64>,
    /// Steps of a block of the pseudo-likelihood, after which gradients end and weights are updated.
    pub block: usize,
    /// Standard deviation of the noise that moves particles, a step.
    pub noise_metres: f64,
    /// The same of headings.
    pub noise_degrees: f64,
    /// Standard deviation of the error of recorded depth at one metre, in metres; it grows with the square of the depth,
    /// as that of cameras does that measure it by a baseline.
    #[serde(skip_serializing_if = "is_default")]
    pub depth_noise: f64,
    /// Share of depth images that is missing, in patches; what is farther than `depth_reach` is missing besides.
    #[serde(skip_serializing_if = "is_default")]
    pub depth_missing: f64,
    /// The farthest depth that is measured, in metres; 0 is any.
    #[serde(skip_serializing_if = "is_default")]
    pub depth_reach: f64,
    /// Standard deviation of the error of recorded odometry in a step, along either axis.
    #[serde(skip_serializing_if = "is_default")]
    pub odometry_metres: f64,
    /// The same of its turn.
    #[serde(skip_serializing_if = "is_default")]
    pub odometry_degrees: f64,
    /// Whether particles are resampled in training, and how much of it goes by weight: below 1 softly, with gradients;
    /// 0 is never. The method decides if nothing is said: 1 for `sdpf`, as in the paper, 0 for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resampling: Option<f64>,
    /// N_thres as a share of the particles: they are resampled where the effective sample size is below. 1 is at every
    /// step.
    pub resampling_threshold: f64,
    /// λ₁: what the squared error at known poses counts.
    pub known_weight: f64,
    /// λ₂: what the pseudo-likelihood counts.
    pub pseudo_weight: f64,
    /// What log-likelihoods are multiplied by where the filter is in use, not in training: below 1 for images that
    /// follow each other and err alike.
    pub likelihood_tempering: f64,
    /// Particles that epochs are validated with; 0 is as many as in training. More of them say better which epoch is
    /// the best.
    pub validation_particles: usize,
    /// RMSProp's learning rate.
    pub learning_rate: f64,
    /// What the rate is multiplied by after every `learning_rate_epochs`.
    pub learning_rate_factor: f64,
    /// Epochs of one rate.
    pub learning_rate_epochs: u64,
    /// RMSProp's ρ.
    pub decay: f64,
    /// What half the squared length of all kernels counts in the loss.
    pub l2: f64,
    /// Switches of the pseudo-likelihood.
    #[serde(skip_serializing_if = "is_default")]
    pub pseudo_likelihood: HousePseudoLikelihood,
    /// Settings of classical localisation, but for its noise, which is that of all filters.
    #[serde(skip_serializing_if = "is_default")]
    pub classical: ClassicalSettings,
}

impl Default for HouseSettings {
    /// The paper's numbers, with PF-net's where it has none.
    fn default() -> Self {
        Self {
            weights: PathBuf::new(),
            images: SeenImages::Rgb,
            maps: SeenMaps::Wall,
            geometry: ViewGeometry::Rigid,
            start: HouseStart::Tracking,
            start_metres: 0.3,
            start_degrees: 30.0,
            steps: 24,
            updates: 100,
            through_filter: None,
            through_weight: None,
            block: 4,
            noise_metres: 0.04,
            noise_degrees: 5.0,
            depth_noise: 0.0,
            depth_missing: 0.0,
            depth_reach: 0.0,
            odometry_metres: 0.0,
            odometry_degrees: 0.0,
            resampling: None,
            resampling_threshold: 0.5,
            known_weight: 1.0,
            pseudo_weight: 0.04,
            likelihood_tempering: 1.0,
            validation_particles: 0,
            learning_rate: 1e-4,
            learning_rate_factor: 0.5,
            learning_rate_epochs: 4,
            decay: 0.9,
            l2: 4e-6,
            pseudo_likelihood: HousePseudoLikelihood::default(),
            classical: ClassicalSettings::default(),
        }
    }
}

impl HouseSettings {
    /// Fails if a setting is out of its range.
    pub fn check(&self) -> Result<()> {
        for (key, count) in [("house.steps", self.steps), ("house.block", self.block)] {
            config::check(key, count, count > 0, "at least 1")?;
        }
        config::check("house.updates", self.updates, self.updates > 0, "at least 1")?;
        let sizes = [
            ("house.start_metres", self.start_metres),
            ("house.start_degrees", self.start_degrees),
            ("house.noise_metres", self.noise_metres),
            ("house.noise_degrees", self.noise_degrees),
            ("house.depth_noise", self.depth_noise),
            ("house.depth_reach", self.depth_reach),
            ("house.odometry_metres", self.odometry_metres),
            ("house.odometry_degrees", self.odometry_degrees),
            ("house.known_weight", self.known_weight),
            ("house.pseudo_weight", self.pseudo_weight),
            ("house.likelihood_tempering", self.likelihood_tempering),
            ("house.learning_rate", self.learning_rate),
            ("house.learning_rate_factor", self.learning_rate_factor),
            ("house.l2", self.l2),
            ("house.through_weight", self.through_weight.unwrap_or(0.0)),
        ];
        for (key, size) in sizes {
            config::check(key, size, (0.0..=1e6).contains(&size), "from 0 to a million")?;
        }
        let shares = [
            ("house.resampling", self.resampling.unwrap_or(0.0)),
            ("house.resampling_threshold", self.resampling_threshold),
            ("house.decay", self.decay),
            ("house.depth_missing", self.depth_missing),
        ];
        for (key, share) in shares {
            config::check(key, share, (0.0..=1.0).contains(&share), "from 0 to 1")?;
        }
        self.classical.check()?;
        let epochs = self.learning_rate_epochs;
        config::check("house.learning_rate_epochs", epochs, epochs > 0, "at least 1")
    }

    /// The learning rate of an epoch, from 1 on.
    pub fn learning_rate_of(&self, epoch: u64) -> f64 {
        let stage = epoch.saturating_sub(1) / self.learning_rate_epochs;
        self.learning_rate * self.learning_rate_factor.powf(stage as f64)
    }

    /// Which images an episode must have.
    pub fn observation(&self) -> HouseObservation {
        match self.images {
            SeenImages::Rgb => HouseObservation::Rgb,
            SeenImages::Depth => HouseObservation::Depth,
            SeenImages::RgbDepth => HouseObservation::RgbDepth,
        }
    }

    /// Which channels the network's map has.
    pub fn map_mode(&self) -> MapMode {
        match self.maps {
            SeenMaps::Wall => MapMode::Wall,
            SeenMaps::WallDoor => MapMode::WallDoor,
            SeenMaps::WallRoomType => MapMode::WallRoomType,
            SeenMaps::WallDoorRoomType => MapMode::WallDoorRoomType,
        }
    }

    /// How the kernels turn views.
    pub fn geometry(&self) -> Geometry {
        match self.geometry {
            ViewGeometry::Rigid => Geometry::Rigid,
            ViewGeometry::Released => Geometry::Released,
        }
    }

    /// Standard deviations of a particle's motion in pixels and radians.
    pub fn noise(&self) -> [f64; 3] {
        let pixels = self.noise_metres / driftless_world::files::pfnet::METRES_PER_PIXEL;
        [pixels, pixels, self.noise_degrees.to_radians()]
    }
}
