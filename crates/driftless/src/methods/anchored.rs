//! Learning between labels: soft labels from labels, odometry and images; a contrast; a sharp filter.
//!
//! Expectation maximisation over paths. What labels and odometry say of a path is a Gaussian bridge
//! ([`crate::smooth::chain`]); particles on it, weighted by what images say so far, give paths; a
//! contrastive network learns which images belong to their poses; and so on. The sharpness that the
//! filter is to believe in is calibrated on whole trajectories that the network has not seen.

mod calibration;
mod cloud;
mod contrast;
mod noise;
mod paths;
mod sight;
mod store;
mod tracker;
mod tracks;

use crate::error::{Error, Result};
use crate::learn::{EpochReport, Experiment, Method, Scales, Tracking, TrainingSet};
use crate::optimise::{Adam, Optimiser, Rule, Schedule};
use crate::parameters::Named;
use crate::smooth::chain::Bridge;
use burn::tensor::Device;
use contrast::Example;
use driftless_world::evaluation::Track;
use driftless_world::labels::Lesson;
use driftless_world::pose::Pose;
use driftless_world::random::Random;
use driftless_world::trajectory::{Rows, Trajectory};
use noise::{Known, Noise};
use paths::{Sizes, draw_paths};
use rayon::prelude::*;
use sight::{Matcher, Sight};
use tracker::{Tracker, View};

/// Updates in an epoch.
const UPDATES: u64 = 100;
/// Epochs between two draws of paths, and between two calibrations.
const ROUND: u64 = 5;
const PATHS: Sizes = Sizes { particles: 200, paths: 8 };
/// Of the trajectories, this share is kept from the network, to calibrate the temper on.
const HELD_OUT: f64 = 0.1;
const TEMPERS: [f64; 6] = [0.1, 0.2, 0.3, 0.45, 0.7, 1.0];
const CALIBRATION_PARTICLES: usize = 300;
/// Particles at the start of a track, at least.
const FIRST_PARTICLES: usize = 2000;
/// The kernel of log densities, in standard deviations of known poses.
const KERNEL: f64 = 0.05;
/// How far beyond known positions a robot may be, in their extent.
const MARGIN: f64 = 0.05;

/// The `driftless` preset.
///
/// Trajectories without any known pose are not learned from.
pub struct AnchoredEm {
    matcher: Matcher,
    optimiser: Optimiser,
    scales: Scales,
    epochs: u64,
    seed: u64,
    temper: f64,
    noise: Noise,
    /// M poses at each step of each trajectory, as drawn last; empty where there is no label.
    drawn: Vec<Vec<Vec<[f64; 3]>>>,
    effective_sample_size: f64,
    /// Recomputed when missing.
    bridges: Option<Vec<Option<Bridge>>>,
    device: Device,
}

impl AnchoredEm {
    /// A network with first weights, for data of these scales.
    pub fn new(experiment: &Experiment, scales: &Scales) -> Result<Self> {
        if experiment.labels <= 0.0 {
            return Err(Error::setting("labels", "must be above 0: learning between labels needs some"));
        }
        let device = Device::flex().autodiff();
        let schedule = Schedule::Cosine { updates: experiment.epochs * UPDATES, least: 0.03 };
        Ok(Self {
            matcher: sight::matcher(scales, experiment.seed, &device),
            optimiser: Optimiser::new(Rule::Adam(Adam::default()), 1e-3).with_schedule(schedule),
            scales: scales.clone(),
            epochs: experiment.epochs,
            seed: experiment.seed,
            temper: 0.3,
            noise: noise::first_noise(scales.step_size),
            drawn: Vec::new(),
            effective_sample_size: 0.0,
            bridges: None,
            device,
        })
    }

    fn bounds(&self) -> [[f64; 2]; 2] {
        let (low, high) = (self.scales.low, self.scales.high);
        let margin = MARGIN * (0..2).map(|k| high[k] - low[k]).fold(0.0, f64::max).max(1e-6);
        [[low[0] - margin, low[1] - margin], [high[0] + margin, high[1] + margin]]
    }

    fn kernel(&self) -> [f64; 3] {
        self.scales.state_std.map(|std| KERNEL * std)
    }

    fn tracker<'a>(&self, sight: &'a Sight, particles: usize, temper: f64) -> Tracker<'a> {
        Tracker {
            odometry: noise::odometry(self.noise),
            map: &sight.map,
            jitter: Sight::jitter(self.bounds()),
            bounds: self.bounds(),
            temper,
            population: [particles.max(FIRST_PARTICLES), particles],
            recovers: true,
        }
    }

    /// Learns the noise in the first epoch; makes bridges where there are none.
    fn prepare(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<()> {
        if self.bridges.is_some() && epoch > 1 {
            return Ok(());
        }
        // One draw of the odometry's noise, always the same: averaging several would be cheating.
        let known: Vec<Known> = load(lessons, 0)?.iter().map(Known::of).collect();
        if epoch == 1 {
            self.noise = noise::learn(&known, self.scales.step_size);
        }
        let bridge = |known: &Known| known.smooth(self.noise).and_then(|found| found.bridge().ok());
        let bridges: Vec<Option<Bridge>> = known.par_iter().map(bridge).collect();
        if bridges.iter().all(Option::is_none) {
            return Err(Error::setting("labels", "left no pose known: learning between labels needs some"));
        }
        self.bridges = Some(bridges);
        Ok(())
    }

    /// Paths by labels and odometry, and from the second round on by images.
    fn draw(&mut self, epoch: u64, lessons: &[Lesson]) -> Result<()> {
        let sight = (epoch > 1).then(|| Sight::new(&self.matcher, &self.scales, self.bounds()));
        let bridges = self.bridges.as_ref().expect("they were made before");
        let draw = |(number, (lesson, bridge)): (usize, (&Lesson, &Option<Bridge>))| {
            let Some(bridge) = bridge else { return Ok((Vec::new(), 0.0)) };
            let mut random = Random::stream(self.seed ^ epoch.rotate_left(32), number as u64);
            let images = sight::images(lesson, &self.scales.pixels)?;
            let seen = sight.as_ref().map(|sight| sight.of(&images));
            let weigh = |t: usize, poses: &[[f64; 3]]| {
                seen.as_ref().map_or_else(|| vec![0.0; poses.len()], |seen| seen.scores(t, poses))
            };
            let drawn = draw_paths(bridge, weigh, PATHS, &mut random);
            Ok((drawn.poses, drawn.effective_sample_size))
        };
        let all = lessons.par_iter().zip(bridges).enumerate().map(draw).collect::<Result<Vec<_>>>()?;
        let learned = all.iter().filter(|(poses, _)| !poses.is_empty()).count();
        self.effective_sample_size = all.iter().map(|(_, size)| size).sum::<f64>() / learned.max(1) as f64;
        self.drawn = all.into_iter().map(|(poses, _)| poses).collect();
        Ok(())
    }

    fn update(&mut self, epoch: u64, lessons: &[Lesson]) -> Result<EpochReport> {
        let pixels = |lesson: &Lesson| {
            let images = sight::images(lesson, &self.scales.pixels)?;
            Ok(images.try_to_vec_as::<f32>().expect("pixels are numbers"))
        };
        let taught = &lessons[..lessons.len() - held_out(lessons.len())];
        let pixels = taught.par_iter().map(pixels).collect::<Result<Vec<Vec<f32>>>>()?;
        let shape = self.scales.pixels.shape();
        let stride = shape.iter().product::<usize>();
        let steps = pixels.iter().zip(&self.drawn);
        let steps = steps.flat_map(|(images, poses)| images.chunks_exact(stride).zip(poses));
        let examples: Vec<Example> = steps.map(|(pixels, poses)| Example { pixels, poses }).collect();
        let mut random = Random::stream(self.seed, epoch);
        let (mut report, mut total) = (EpochReport::default(), 0.0);
        for _ in 0..UPDATES {
            let loss = contrast::loss(&self.matcher, &examples, shape, &self.device, &mut random);
            let value = loss.try_to_vec_as::<f64>().expect("a number")[0];
            let (matcher, step) = self.optimiser.step(self.matcher.clone(), &loss);
            self.matcher = matcher;
            if step.skipped.is_some() {
                report.skipped += 1;
                continue;
            }
            (report.updates, total) = (report.updates + 1, total + value);
            report.gradient_norm += step.gradient_norm;
        }
        let made = report.updates.max(1) as f64;
        report.gradient_norm /= made;
        report.losses = vec![("contrast".to_owned(), total / made)];
        Ok(report)
    }
}

fn held_out(trajectories: usize) -> usize {
    (HELD_OUT * trajectories as f64).floor() as usize
}

fn load(lessons: &TrainingSet, draw: u64) -> Result<Vec<Lesson>> {
    let one = |number: usize| Ok(lessons.lessons(&[number], draw)?.remove(0));
    (0..lessons.len()).into_par_iter().map(one).collect()
}

fn pose(state: &[f32]) -> Pose {
    Pose::new(f64::from(state[0]), f64::from(state[1]), f64::from(state[2]))
}

fn actions(rows: &Rows) -> Vec<[f64; 3]> {
    (0..rows.len()).map(|t| std::array::from_fn(|k| f64::from(rows.row(t)[k]))).collect()
}

impl Method for AnchoredEm {
    fn name(&self) -> &'static str {
        "Driftless"
    }

    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        self.prepare(epoch, lessons)?;
        let fresh = load(lessons, epoch)?;
        if (epoch - 1).is_multiple_of(ROUND) || self.drawn.is_empty() {
            self.draw(epoch, &fresh)?;
        }
        let mut report = self.update(epoch, &fresh)?;
        report.effective_sample_size = Some(self.effective_sample_size);
        if epoch == 1 || epoch.is_multiple_of(ROUND) || epoch == self.epochs {
            self.calibrate(epoch, &fresh)?;
        }
        Ok(report)
    }

    fn track(&self, episodes: &[Trajectory], tracking: Tracking) -> Result<Vec<Track>> {
        let sight = Sight::new(&self.matcher, &self.scales, self.bounds());
        let one = |(number, episode)| self.track_one(&sight, number, episode, tracking);
        episodes.par_iter().enumerate().map(one).collect()
    }

    fn parameters(&self) -> Vec<Named> {
        self.stored_parameters()
    }

    fn memory(&self) -> Vec<Named> {
        self.stored_memory()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.take_back(parameters, memory)
    }
}
