//! The particle filter with a sensor of range scans.

use super::scan::RangeScan;
use super::settings::ClassicalSettings;
use super::{Pose, SensorModel};
use crate::error::{Error, Result};
use crate::resample::ResamplerSettings;
use driftless_core::filter::Tempering;
use driftless_core::motion::{HeadingNoise, Odometry, Still};
use driftless_core::{
    Belief, Draws, Filter, FilterState, Motion, Particles, Reading, Sensor, Space, Workspace,
};
use driftless_world::files::pfnet::METRES_PER_PIXEL;
use driftless_world::pose::Frame;

/// What one step says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stepped {
    /// Mean position and circular mean heading.
    pub estimate: Pose,
    /// 1 / Σ w², after reweighting.
    pub effective: f64,
    /// Whether the action was finite and sane, and particles were moved by it. They are noisy in any case.
    pub moved: bool,
    /// Whether any particle could explain the scan. If none could, weights are as they were before.
    pub explained: bool,
    /// log Σ w l of the scan.
    pub log_evidence: f64,
}

/// Particles in map pixels.
#[derive(Debug)]
pub struct Localiser<'a> {
    model: &'a dyn SensorModel,
    filter: Filter,
    odometry: Odometry,
    state: FilterState,
    workspace: Workspace,
}

/// No position and no motion is larger, in pixels: 20 km.
const FAR: f64 = 1e6;
/// What a robot in a house may do in a step of which nothing is known: 20 cm and 30°, as in PF-net's walks.
const MISSING_METRES: f64 = 0.2;
const MISSING_DEGREES: f64 = 30.0;

/// A scan against the map.
struct Scanner<'a> {
    model: &'a dyn SensorModel,
    scan: &'a RangeScan,
}

impl Sensor for Scanner<'_> {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        let [x, y, heading] = [0, 1, 2].map(|k| particles.column(k));
        for (i, log) in log.iter_mut().enumerate() {
            let pose = Pose::new(f64::from(x[i]), f64::from(y[i]), f64::from(heading[i]));
            *log = self.model.log_likelihood(pose, self.scan) as f32;
        }
        Reading::Present
    }
}

impl<'a> Localiser<'a> {
    /// Begins with particles of equal weight.
    ///
    /// Errors: no particle, one that is nowhere, settings out of range.
    pub fn new(model: &'a dyn SensorModel, settings: &ClassicalSettings, start: &[Pose]) -> Result<Self> {
        settings.check()?;
        if start.is_empty() {
            return Err(Error::setting("start", "holds no particle; at least 1 is needed"));
        }
        let poses: Vec<[f64; 3]> = start.iter().map(|pose| [pose.x, pose.y, pose.heading]).collect();
        if let Some(i) = poses.iter().position(|pose| !pose.iter().all(|number| number.abs() <= FAR)) {
            let problem = format!("particle {i} is {:?}; numbers must be finite, up to {FAR}", poses[i]);
            return Err(Error::setting("start", problem));
        }
        let particles = Particles::from_states(Space::SE2, poses.iter().map(|pose| pose.map(|x| x as f32)));
        let pixels = |metres: f64| (metres / METRES_PER_PIXEL) as f32;
        let odometry = Odometry {
            frame: Frame::Robot,
            rest: [pixels(settings.position_noise), settings.heading_noise.to_radians() as f32],
            share: [0.0; 2],
            scale: settings.odometry_noise as f32,
            heading_noise: HeadingNoise::Before,
            missing: [pixels(MISSING_METRES), MISSING_DEGREES.to_radians() as f32],
        };
        let filter = Filter {
            resample_below: settings.resample_below,
            tempering: Tempering::constant(settings.likelihood_tempering as f32),
            ..Filter::bootstrap(start.len())
        };
        let filter = ResamplerSettings::apply(settings.resampler.as_ref(), filter)?;
        let (state, workspace) = (FilterState::new(Belief::new(particles)), Workspace::new(Space::SE2));
        Ok(Self { model, filter, odometry, state, workspace })
    }

    /// One step: `action` led here (forward and left in pixels, turn in radians), `scan` is what is seen now. Without an
    /// action particles stay exactly where they are, as at the first step of an episode; one that is not finite or
    /// beyond all sense says only that time has passed.
    pub fn step(&mut self, scan: &RangeScan, action: Option<[f64; 3]>, draws: &mut dyn Draws) -> Stepped {
        let is_sane = |action: &[f64; 3]| action.iter().all(|number| number.abs() <= FAR);
        let sane = action.filter(is_sane).map(|action| action.map(|x| x as f32));
        let Self { model, filter, odometry, state, workspace } = self;
        let mut driven = odometry.by(sane);
        let motion: &mut dyn Motion = if action.is_some() { &mut driven } else { &mut Still };
        let report = filter.step(state, motion, &mut Scanner { model: *model, scan }, draws, workspace);
        let belief = &state.belief;
        let [x, y, heading] = [0, 1, 2].map(|k| belief.mean_of(k));
        Stepped {
            estimate: Pose::new(x, y, heading),
            effective: belief.weights.effective_sample_size(),
            moved: sane.is_some(),
            explained: !report.collapsed,
            log_evidence: report.log_evidence,
        }
    }

    /// What is believed after the last step.
    pub fn belief(&self) -> &Belief {
        &self.state.belief
    }
}
