//! One whole episode.

use super::localiser::Localiser;
use super::scan::RangeScan;
use super::settings::ClassicalSettings;
use super::{Pose, sensor_model};
use crate::error::Result;
use driftless_world::Error;
use driftless_world::evaluation::Particle;
use driftless_world::files::pfnet::HouseMaps;
use driftless_world::random::Random;
use driftless_world::trajectory::{Images, Rows};

/// An episode as the localiser saw it, one entry a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassicalTrack {
    /// Where the robot is believed to be, in map pixels.
    pub estimates: Vec<Pose>,
    /// Effective sample sizes.
    pub effective: Vec<f64>,
    /// Steps whose scan no particle could explain.
    pub unexplained: Vec<usize>,
    /// All particles, weighed, before they are drawn anew; if `keep_clouds` is set.
    pub clouds: Option<Vec<Vec<Particle>>>,
}

/// Localises a robot in a house from depth images and odometry.
///
/// Action t leads *into* step t and is written in the robot's frame: forward and left in pixels, turn in
/// radians. `start` holds particles of step 0, so action 0 is not used.
///
/// Errors: settings out of range, no particles, depth images, actions or maps that are damaged or do not
/// belong together.
pub fn track(
    maps: &HouseMaps,
    depth: &Images,
    actions: &Rows,
    start: &[Pose],
    settings: &ClassicalSettings,
    random: &mut Random,
) -> Result<ClassicalTrack> {
    settings.check()?;
    maps.check()?;
    check(depth, actions)?;
    let model = sensor_model(maps, settings);
    let mut localiser = Localiser::new(model.as_ref(), settings, start)?;
    let mut track = ClassicalTrack { clouds: settings.keep_clouds.then(Vec::new), ..Default::default() };
    for t in 0..depth.len() {
        let scan = RangeScan::of(depth, t, &settings.camera, settings.beams);
        let action = std::array::from_fn(|k| f64::from(actions.row(t)[k]));
        let stepped = localiser.step(&scan, (t > 0).then_some(action), random);
        track.estimates.push(stepped.estimate);
        track.effective.push(stepped.effective);
        if !stepped.explained {
            track.unexplained.push(t);
        }
        if let Some(clouds) = &mut track.clouds {
            clouds.push(localiser.particles());
        }
    }
    Ok(track)
}

fn check(depth: &Images, actions: &Rows) -> Result<()> {
    let wrong = |field: &str, problem: String| Err(Error::new(problem).in_field(field).into());
    if depth.channels != 1 {
        return wrong("depth", format!("{} channels; a depth image has 1", depth.channels));
    }
    if depth.stride() == 0 || depth.is_empty() || depth.pixels.len() != depth.len() * depth.stride() {
        return wrong("depth", format!("{} numbers are no whole images", depth.pixels.len()));
    }
    if actions.width() != 3 || actions.len() != depth.len() {
        let (rows, width, images) = (actions.len(), actions.width(), depth.len());
        return wrong("actions", format!("{rows} rows of {width}, but {images} images need as many of 3"));
    }
    match (0..actions.len()).find(|&t| !actions.row(t).iter().all(|number| number.is_finite())) {
        Some(t) => wrong("actions", format!("row {t} is {:?}; all must be finite", actions.row(t))),
        None => Ok(()),
    }
}
