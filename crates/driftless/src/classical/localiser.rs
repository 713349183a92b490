//! The particle filter: moves by odometry, weighs by a scan, draws anew when few particles count.

use super::scan::RangeScan;
use super::settings::ClassicalSettings;
use super::{Pose, SensorModel};
use crate::error::{Error, Result};
use crate::methods::cloud::Cloud;
use crate::resample::choose_by_markers;
use driftless_world::evaluation::Particle;
use driftless_world::files::pfnet::METRES_PER_PIXEL;
use driftless_world::pose::{Frame, wrap};
use driftless_world::random::Random;

/// What one step says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stepped {
    /// Mean position and circular mean heading.
    pub estimate: Pose,
    /// 1 / Σ w², after weighing and before drawing.
    pub effective: f64,
    /// Whether the action was finite and sane, and particles were moved by it. They are noisy in any case.
    pub moved: bool,
    /// Whether any particle could explain the scan. If none could, weights are as they were before.
    pub explained: bool,
    /// Whether particles are to be drawn anew before the next motion.
    pub resamples: bool,
}

/// Particles under way, in map pixels.
#[derive(Debug)]
pub struct Localiser<'a> {
    model: &'a dyn SensorModel,
    settings: &'a ClassicalSettings,
    cloud: Cloud,
    resamples: bool,
    logs: Vec<f64>,
    cumulative: Vec<f64>,
    ancestors: Vec<usize>,
}

/// No position and no motion is larger, in pixels: 20 km.
const FAR: f64 = 1e6;

impl<'a> Localiser<'a> {
    /// Begins with particles of equal weight.
    ///
    /// Errors: no particle, one that is nowhere, settings out of range.
    pub fn new(model: &'a dyn SensorModel, settings: &'a ClassicalSettings, start: &[Pose]) -> Result<Self> {
        settings.check()?;
        if start.is_empty() {
            return Err(Error::setting("start", "holds no particle; at least 1 is needed"));
        }
        let poses: Vec<[f64; 3]> = start.iter().map(|pose| [pose.x, pose.y, pose.heading]).collect();
        if let Some(i) = poses.iter().position(|pose| !pose.iter().all(|number| number.abs() <= FAR)) {
            let problem = format!("particle {i} is {:?}; numbers must be finite, up to {FAR}", poses[i]);
            return Err(Error::setting("start", problem));
        }
        let weights = vec![1.0 / poses.len() as f64; poses.len()];
        let cloud = Cloud { poses, weights };
        let empty = || Vec::with_capacity(start.len());
        let (logs, cumulative, ancestors) = (empty(), empty(), Vec::with_capacity(start.len()));
        Ok(Self { model, settings, cloud, resamples: false, logs, cumulative, ancestors })
    }

    /// One step: `action` led here (forward and left in pixels, turn in radians), `scan` is what is seen
    /// now. Without an action particles stay exactly where they are, as at the first step of an episode.
    pub fn step(&mut self, scan: &RangeScan, action: Option<[f64; 3]>, random: &mut Random) -> Stepped {
        if self.resamples {
            self.resample(random.unit());
        }
        let is_sane = |action: &[f64; 3]| action.iter().all(|number| number.abs() <= FAR);
        let sane = action.filter(is_sane);
        if action.is_some() {
            self.move_on(sane.unwrap_or_default(), random);
        }
        let explained = self.weigh(scan);
        let effective = self.cloud.effective_sample_size();
        self.resamples = effective < self.settings.resample_below * self.cloud.weights.len() as f64;
        let estimate = self.cloud.mean();
        Stepped { estimate, effective, moved: sane.is_some(), explained, resamples: self.resamples }
    }

    /// All particles as they were weighed by the last step.
    pub fn particles(&self) -> Vec<Particle> {
        self.cloud.particles()
    }

    /// The heading errs first, so that a robot that believes to look elsewhere also goes elsewhere.
    fn move_on(&mut self, action: [f64; 3], random: &mut Random) {
        let settings = self.settings;
        let (place, turn) = (settings.position_noise / METRES_PER_PIXEL, settings.heading_noise.to_radians());
        for pose in &mut self.cloud.poses {
            let action = match settings.odometry_noise {
                0.0 => action,
                share => action.map(|number| number * (1.0 + share * random.normal())),
            };
            let before = Pose::new(pose[0], pose[1], pose[2] + turn * random.normal());
            let Pose { x, y, heading } = before.moved(action, Frame::Robot);
            let at = [x, y].map(|at| (at + place * random.normal()).clamp(-FAR, FAR));
            *pose = [at[0], at[1], wrap(heading)];
        }
    }

    /// False, and nothing is changed, if no particle explains the scan.
    fn weigh(&mut self, scan: &RangeScan) -> bool {
        let (model, sharpness) = (self.model, self.settings.likelihood_tempering);
        self.logs.clear();
        self.logs.extend(self.cloud.poses.iter().zip(&self.cloud.weights).map(|(pose, weight)| {
            weight.ln() + sharpness * model.log_likelihood(Pose::new(pose[0], pose[1], pose[2]), scan)
        }));
        let highest = self.logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if highest == f64::NEG_INFINITY {
            return false;
        }
        // One term is 1, so the sum is too.
        let sum: f64 = self.logs.iter().map(|log| (log - highest).exp()).sum();
        for (weight, log) in self.cloud.weights.iter_mut().zip(&self.logs) {
            *weight = (log - highest).exp() / sum;
        }
        true
    }

    /// Systematic: markers (j + u) / N.
    fn resample(&mut self, uniform: f64) {
        let Self { cloud, cumulative, ancestors, .. } = self;
        let count = cloud.weights.len();
        let markers = (0..count).map(|j| (j as f64 + uniform) / count as f64);
        choose_by_markers(&cloud.weights, markers, cumulative, ancestors);
        cloud.poses = ancestors.iter().map(|&ancestor| cloud.poses[ancestor]).collect();
        cloud.weights.fill(1.0 / count as f64);
    }
}
