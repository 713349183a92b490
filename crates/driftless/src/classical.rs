//! Monte-Carlo localisation as robots do it today: depth images as range scans, a floor map, particles.
//!
//! The yardstick for everything that learns: nothing here does, and nothing here is a tensor. A depth
//! image becomes a [`RangeScan`]; a [`SensorModel`] says how well the scan fits the map at a pose,
//! either by where beams end ([`LikelihoodField`]) or by how far they should reach ([`BeamModel`]); a
//! [`Localiser`] moves, weighs and draws particles. [`track`] does all of it for one episode.
//!
//! Both models are those of Thrun, Burgard & Fox, *Probabilistic Robotics*, chapter 6. Doors are not walls
//! on PF-net's maps, so beams pass through them, as the robot does.

mod beam_model;
mod likelihood_field;
mod localiser;
mod scan;
mod settings;
#[cfg(test)]
mod tests;
mod track;

pub use beam_model::BeamModel;
pub use likelihood_field::LikelihoodField;
pub use localiser::{Localiser, Stepped};
pub use scan::{Beam, RangeScan, Reading};
pub use settings::{BeamSettings, CameraSettings, ClassicalSettings, FieldSettings, ModelName};
pub use track::{ClassicalTrack, track};

use driftless_core::map::Walls;
use driftless_world::files::pfnet::HouseMaps;
use driftless_world::pose::Pose;

/// How well scans fit the map.
pub trait SensorModel: Send + Sync + std::fmt::Debug {
    /// Visits the logarithm of each beam's likelihood at a pose in map pixels; beams that say nothing are left out. It may
    /// be -∞, but it is never NaN.
    fn visit(&self, pose: Pose, scan: &RangeScan, beam: &mut dyn FnMut(f64));

    /// The logarithm of the scan's likelihood, beams taken as independent.
    fn log_likelihood(&self, pose: Pose, scan: &RangeScan) -> f64 {
        let mut sum = 0.0;
        self.visit(pose, scan, &mut |log| sum += log);
        sum
    }
}

/// The walls of a house. Doors are open.
pub(crate) fn walls_of(maps: &HouseMaps) -> Walls {
    Walls::new(maps.width, maps.height, |pixel| maps.wall[pixel] > 0)
}

/// The model that `settings` ask for, made for one house. It may serve many episodes.
pub fn sensor_model(maps: &HouseMaps, settings: &ClassicalSettings) -> Box<dyn SensorModel> {
    let farthest = settings.camera.farthest;
    match settings.model {
        ModelName::LikelihoodField => {
            Box::new(LikelihoodField::new(maps, &settings.likelihood_field, farthest))
        }
        ModelName::Beam => Box::new(BeamModel::new(maps, &settings.beam, farthest)),
    }
}
