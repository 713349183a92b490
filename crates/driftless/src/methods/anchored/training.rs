//! What the network is trained in an epoch: which images, at which poses.

use super::contrast::{self, Example};
use super::noise::{self, Known};
use super::objectives::{Said, World};
use super::paths::{Drawn, Evidence, Sizes, Tempered, draw_paths};
use super::sensor::ImageSensor;
use super::{AnchoredEm, ROUND, blocks, sensor};
use crate::error::{Error, Result};
use crate::learn::{Ablation, EpochReport, TrainingSet};
use crate::methods::updates::{Figures, Tally};
use crate::parameters::Named;
use crate::smooth::chain::Bridge;
use driftless_core::Stream;
use driftless_kernels::contrast::Workspace;
use driftless_kernels::ranks::map;
use driftless_world::labels::Lesson;
use driftless_world::pose::Frame;
use driftless_world::random::Random;
use rayon::prelude::*;

/// Updates in an epoch.
pub(in crate::methods) const UPDATES: u64 = 100;
const PATHS: Sizes = Sizes { particles: 200, paths: 8 };
/// What scores are multiplied by where paths are drawn: the network has seen these very images, and
/// neighbouring ones are alike.
pub(super) const PATH_TEMPERING: f32 = 0.5;
/// Of the trajectories, this share is kept from the network, to calibrate the tempering on.
const HELD_OUT: f64 = 0.1;
/// The paper's noise a step: standard deviations of position and heading.
const PAPER_NOISE: [f64; 2] = [20.0, 0.5];

/// What the network is trained from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supervision {
    /// All images, at poses drawn from what labels, odometry and the other images say of the path.
    BetweenLabels,
    /// Images whose pose is known: the supervised twin.
    LabelsAlone,
}

impl AnchoredEm {
    /// Learns the noise in the first epoch; makes bridges where there are none.
    pub(super) fn prepare(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<()> {
        let alone = self.supervision == Supervision::LabelsAlone;
        if epoch > 1 && (alone || self.bridges.is_some()) {
            return Ok(());
        }
        let known: Vec<Known> =
            load(lessons, 0)?.iter().map(|lesson| Known::of(lesson, Frame::Reflected)).collect();
        if epoch == 1 {
            let [position, heading] = PAPER_NOISE;
            self.noise = if self.has(Ablation::LearnedNoise) {
                noise::learn(&known, self.normalisation.step_size)
            } else {
                [position, heading, 0.0, 0.0]
            };
        }
        let bridge = |known: &Known| known.smooth(self.noise).and_then(|found| found.bridge().ok());
        let bridges: Vec<Option<Bridge>> = known.par_iter().map(bridge).collect();
        if bridges.iter().all(Option::is_none) {
            return Err(Error::setting(
                "label_fraction",
                "left no pose known: learning between labels needs some",
            ));
        }
        self.bridges = (!alone).then_some(bridges);
        Ok(())
    }

    /// Says at which poses images are trained: drawn anew in the first epoch of a round.
    pub(super) fn assign(&mut self, epoch: u64, lessons: &[Lesson]) -> Result<()> {
        match self.supervision {
            Supervision::LabelsAlone => self.drawn = lessons.iter().map(known_poses).collect(),
            Supervision::BetweenLabels if (epoch - 1).is_multiple_of(ROUND) || self.drawn.is_empty() => {
                self.draw(epoch, lessons)?;
            }
            Supervision::BetweenLabels => {}
        }
        Ok(())
    }

    /// Paths by labels and odometry, and from the second round on by images.
    fn draw(&mut self, epoch: u64, lessons: &[Lesson]) -> Result<()> {
        let looks = epoch > 1 && self.has(Ablation::ImagesInPaths);
        let sensor = looks.then(|| self.sensor());
        let bridges = self.bridges.as_ref().expect("they were made before");
        let draw = |number: usize| -> Result<(Vec<Vec<[f32; 3]>>, f64)> {
            let (lesson, Some(bridge)) = (&lessons[number], &bridges[number]) else {
                return Ok((Vec::new(), 0.0));
            };
            let mut draws = Stream::new(self.seed ^ epoch.rotate_left(32), number as u64);
            let drawn = self.paths_along(lesson, bridge, sensor.as_ref(), PATHS, &mut draws)?;
            Ok((drawn.poses, drawn.effective_sample_size))
        };
        let all = map(&*self.ranks, lessons.len(), draw)?;
        let learned = all.iter().filter(|(poses, _)| !poses.is_empty()).count();
        self.effective_sample_size = all.iter().map(|(_, size)| size).sum::<f64>() / learned.max(1) as f64;
        self.drawn = all.into_iter().map(|(poses, _)| poses).collect();
        Ok(())
    }

    /// Those of one trajectory, by images if there is a sensor.
    pub(super) fn paths_along(
        &self,
        lesson: &Lesson,
        bridge: &Bridge,
        sensor: Option<&ImageSensor>,
        sizes: Sizes,
        draws: &mut Stream,
    ) -> Result<Drawn> {
        let mut frames = match sensor {
            Some(sensor) => {
                let images = sensor::images(lesson, &self.normalisation.pixels)?;
                Some(Tempered(sensor.encode(&images), PATH_TEMPERING))
            }
            None => None,
        };
        let evidence = frames.as_mut().map(|frames| frames as &mut dyn Evidence);
        Ok(draw_paths(bridge, evidence, sizes, draws))
    }

    /// An epoch of updates.
    pub(super) fn update(&mut self, epoch: u64, lessons: &[Lesson]) -> Result<EpochReport> {
        let pixels = |lesson: &Lesson| sensor::images(lesson, &self.normalisation.pixels);
        let trained = &lessons[..lessons.len() - held_out(lessons.len())];
        let pixels = trained.par_iter().map(pixels).collect::<Result<Vec<Vec<f32>>>>()?;
        let shape = self.normalisation.pixels.shape();
        let stride = shape.iter().product::<usize>();
        let steps = pixels.iter().zip(&self.drawn);
        let steps = steps.flat_map(|(images, poses)| images.chunks_exact(stride).zip(poses));
        let examples = steps.map(|(pixels, poses)| Example { pixels, poses });
        let examples: Vec<Example> = examples.filter(|example| !example.poses.is_empty()).collect();
        if examples.is_empty() {
            return Err(Error::setting(
                "label_fraction",
                "left no pose known in the trajectories to learn from",
            ));
        }
        let mut random = Random::stream(self.seed, epoch);
        // Objectives of a filter have random numbers of their own: the contrast is the same with them and without.
        let mut of_blocks = Random::stream(!self.seed, epoch);
        let blocks = if self.objectives.is_empty() { Vec::new() } else { blocks::blocks(trained, &pixels) };
        let world = World { odometry: self.odometry(), bounds: self.bounds() };
        let (mut tally, mut workspace) = (Tally::default(), [Workspace::default(), Workspace::default()]);
        for _ in 0..UPDATES {
            let [first, second] = &mut workspace;
            let shared = (&*self.ranks, first);
            let (value, gradients) = contrast::loss(self.learner.net(), &examples, shared, &mut random)?;
            let (net, shared) = ((self.learner.net(), &world), (&*self.ranks, second));
            let said = self.objectives.loss(net, &blocks, shared, &mut of_blocks)?;
            let (figures, gradients) = together((value, gradients), said);
            let step = self.learner.step_by(figures.losses[0].1, &gradients);
            tally.add(&figures, &step);
        }
        Ok(tally.report())
    }
}

/// The contrast with what blocks say, if they do.
fn together((value, mut gradients): (f64, Vec<Named>), said: Option<Said>) -> (Figures, Vec<Named>) {
    let Some(said) = said else {
        return (Figures { losses: vec![("contrast", value)], effective_sample_size: None }, gradients);
    };
    for (sum, part) in gradients.iter_mut().zip(&said.gradients) {
        sum.values.iter_mut().zip(&part.values).for_each(|(sum, part)| *sum += part);
    }
    let mut losses = vec![("loss", value + said.value), ("contrast", value)];
    losses.extend(said.losses);
    (Figures { losses, effective_sample_size: Some(said.effective_sample_size) }, gradients)
}

/// How many of the trajectories, the last ones, are kept from the network.
pub(super) fn held_out(trajectories: usize) -> usize {
    (HELD_OUT * trajectories as f64).floor() as usize
}

/// All lessons, with the noise named `draw` on their images.
pub(in crate::methods) fn load(lessons: &TrainingSet, draw: u64) -> Result<Vec<Lesson>> {
    let one = |number: usize| Ok(lessons.lessons(&[number], draw)?.remove(0));
    (0..lessons.len()).into_par_iter().map(one).collect()
}

/// Whether a pose is known.
pub(super) fn has_label(lesson: &Lesson) -> bool {
    lesson.labels().iter().any(|label| label.is_some())
}

/// The known pose of each step, or nothing.
fn known_poses(lesson: &Lesson) -> Vec<Vec<[f32; 3]>> {
    let numbers = |state: &[f32]| std::array::from_fn(|k| state[k]);
    lesson.labels().iter().map(|state| state.map(numbers).into_iter().collect()).collect()
}
