//! What the range network is trained in an epoch: which images, at which poses.

use super::sensor::{RangeSensor, Scans, Tempered};
use super::through::{self, Block, Through};
use super::updates::{Shown, Trainer};
use super::views::Lens;
use super::walks::Walk;
use super::{LEAST_NOISE, ONE_PLACE, ROUND, RangeScan, noise_of, warm_up};
use crate::error::{Error, Result};
use crate::learn::EpochReport;
use crate::methods::anchored::paths::{Drawn, Evidence, Sizes, draw_paths};
use crate::methods::anchored::{Supervision, noise};
use crate::methods::updates::{Figures, Tally};
use crate::smooth::chain::Bridge;
use driftless_core::Stream;
use driftless_kernels::ranks::map;
use driftless_world::pose::Frame;
use driftless_world::random::Random;
use rayon::prelude::*;

const PATHS: Sizes = Sizes { particles: 200, paths: 8 };

/// An image, and the poses it may have been taken at.
pub(super) struct Example {
    walk: usize,
    step: usize,
    poses: Vec<[f32; 3]>,
}

impl Example {
    fn shown<'a>(&'a self, walks: &'a [Walk]) -> Shown<'a> {
        let Walk { images, house, .. } = &walks[self.walk];
        Shown { images, step: self.step, poses: &self.poses, walls: &house.walls }
    }
}

impl RangeScan {
    /// Learns the noise in the first epoch; makes bridges where there are none.
    pub(super) fn prepare(&mut self, epoch: u64, walks: &[Walk]) -> Result<()> {
        if epoch == 1 {
            self.noise = noise_of(walks, self.normalisation.step_size);
        }
        if !walks.iter().any(Walk::has_label) {
            return Err(Error::setting(
                "label_fraction",
                "left no pose known: a range scan is learned from some",
            ));
        }
        if self.supervision == Supervision::BetweenLabels && self.bridges.is_none() {
            let bridge = |walk: &Walk| walk.known.smooth(self.noise).and_then(|found| found.bridge().ok());
            self.bridges = Some(walks.par_iter().map(bridge).collect());
        }
        Ok(())
    }

    /// Whether an epoch learns at known poses alone: all do in the supervised twin, the first ones in any case.
    fn is_at_labels(&self, epoch: u64) -> bool {
        self.supervision == Supervision::LabelsAlone || epoch <= warm_up(self.epochs)
    }

    /// Draws paths in the first epoch of each round.
    pub(super) fn assign(&mut self, epoch: u64, walks: &[Walk]) -> Result<()> {
        let due = (epoch - 1).is_multiple_of(ROUND) || self.paths.is_empty();
        if due && !self.is_at_labels(epoch) { self.draw(epoch, walks) } else { Ok(()) }
    }

    /// The E-step: paths by labels, start, odometry and images.
    fn draw(&mut self, epoch: u64, walks: &[Walk]) -> Result<()> {
        let bridges = self.bridges.as_ref().expect("they were made before");
        let draw = |number: usize| -> Result<Option<Drawn>> {
            let (walk, bridge) = (&walks[number], &bridges[number]);
            let scans = self.learner.net().scans(&walk.images)?;
            let by_labels = bridge.as_ref().filter(|_| walk.has_label());
            let relinearised =
                if walk.has_label() { None } else { self.bridge_from_start(walk, &scans, (epoch, number))? };
            let Some(bridge) = by_labels.or(relinearised.as_ref()) else { return Ok(None) };
            let mut draws = Stream::new(self.seed ^ epoch.rotate_left(32), number as u64);
            Ok(Some(self.paths_along((walk, &scans), bridge, PATHS, &mut draws)))
        };
        let all = map(&*self.ranks, walks.len(), draw)?;
        let sizes: Vec<f64> = all.iter().flatten().map(|drawn| drawn.effective_sample_size).collect();
        self.effective_sample_size = sizes.iter().sum::<f64>() / sizes.len().max(1) as f64;
        self.paths = all.into_iter().map(|drawn| drawn.map_or_else(Vec::new, |drawn| drawn.poses)).collect();
        Ok(())
    }

    /// Those of one episode, by every second column.
    pub(super) fn paths_along(
        &self,
        (walk, scans): (&Walk, &Scans),
        bridge: &Bridge,
        sizes: Sizes,
        draws: &mut Stream,
    ) -> Drawn {
        let sensor = RangeSensor { camera: &self.camera, walls: &walk.house.walls, scans, t: 0, every: 2 };
        let mut evidence = Tempered(sensor, self.tempering as f32);
        draw_paths(bridge, Some(&mut evidence as &mut dyn Evidence), sizes, draws)
    }

    /// All images whose pose is known more or less, but for episodes that are held out.
    fn examples(&self, epoch: u64, walks: &[Walk]) -> Vec<Example> {
        let mut examples = Vec::new();
        for (number, walk) in walks[..walks.len() - held_out(walks.len())].iter().enumerate() {
            for (step, label) in walk.labels.iter().enumerate() {
                let poses = if self.is_at_labels(epoch) {
                    label.iter().copied().collect()
                } else {
                    self.paths[number].get(step).cloned().unwrap_or_default()
                };
                if !poses.is_empty() {
                    examples.push(Example { walk: number, step, poses });
                }
            }
        }
        examples
    }

    /// An epoch of updates.
    pub(super) fn update(&mut self, epoch: u64, walks: &[Walk]) -> Result<EpochReport> {
        let examples = self.examples(epoch, walks);
        if examples.is_empty() {
            return Err(Error::setting("label_fraction", "left no pose known in the episodes to learn from"));
        }
        let lens = Lens::of(&walks[0].images)?;
        let mut random = Random::stream(self.seed, epoch);
        let mut tally = Tally::default();
        for update in 0..self.updates {
            let chosen: Vec<Shown> =
                (0..self.batch).map(|_| examples[random.below(examples.len())].shown(walks)).collect();
            let seed = self.seed ^ ((epoch << 20) | update).rotate_left(20);
            let trainer = Trainer {
                network: self.learner.net(),
                camera: &self.camera,
                lens: &lens,
                workspaces: &self.workspaces,
                ranks: &*self.ranks,
            };
            let through = self.through(epoch, (walks, &examples), &mut random);
            let (found, gradient) = trainer.loss(&chosen, through.as_ref(), seed)?;
            let mut losses = vec![("cross-entropy", found.cross_entropy)];
            if let Some(Through { weight, .. }) = through {
                losses.push(("filter", found.filter));
                losses.insert(0, ("loss", found.cross_entropy + weight * found.filter));
            }
            let step = self.learner.step_by(losses[0].1, &gradient);
            tally.add(&Figures { losses, effective_sample_size: None }, &step);
        }
        Ok(tally.report())
    }
}

impl RangeScan {
    /// The filter that an update goes through, in the last quarter of the epochs, and the blocks that it follows.
    fn through<'a>(
        &self,
        epoch: u64,
        (walks, examples): (&'a [Walk], &[Example]),
        random: &mut Random,
    ) -> Option<Through<'a>> {
        let (kind, weight) = self.through.filter(|_| epoch > self.epochs - self.epochs / 4)?;
        let block = |_| {
            let Example { walk, step, poses } = &examples[random.below(examples.len())];
            Block { walk: &walks[*walk], first: *step, pose: poses[random.below(poses.len())] }
        };
        Some(Through {
            kind,
            weight,
            tempering: self.tempering as f32,
            odometry: noise::motion(self.noise, LEAST_NOISE, Frame::Robot, &self.normalisation),
            spread: through::told_spread(walks),
            blocks: (0..through::BLOCKS).map(block).collect(),
        })
    }
}

/// How many of the episodes, the last ones, are kept from the network, to calibrate the tempering on.
pub(super) fn held_out(walks: usize) -> usize {
    walks / 10
}

impl RangeScan {
    /// The bridge of an episode without labels. What the robot was told of its start is too vague for a linear model, so
    /// a filter follows the episode first, and where its particles began tells where to linearise.
    fn bridge_from_start(
        &self,
        walk: &Walk,
        scans: &Scans,
        (epoch, number): (u64, usize),
    ) -> Result<Option<Bridge>> {
        let draws = Stream::new(self.seed ^ epoch.rotate_left(40), number as u64);
        let found = self.first_pose(walk, scans, draws)?;
        // A robot that was told its room, or nothing, may not have been found.
        if f64::from(found.spread[0].hypot(found.spread[1])) > ONE_PLACE {
            return Ok(None);
        }
        let known = walk.known.clone().with_prior(found.mean, found.spread);
        Ok(known.smooth(self.noise).and_then(|found| found.bridge().ok()))
    }
}
