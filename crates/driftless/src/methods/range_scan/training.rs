//! What the range network is trained in an epoch: which images, at which poses.

use super::bins::{BINS, add_target};
use super::sensor::{RangeSensor, Scans, Tempered};
use super::views::{Lens, View};
use super::walks::Walk;
use super::{ROUND, RangeScan, noise_of, warm_up};
use crate::error::{Error, Result};
use crate::learn::EpochReport;
use crate::methods::anchored::Supervision;
use crate::methods::anchored::paths::{Drawn, Evidence, Sizes, draw_paths};
use crate::methods::updates::{Figures, Tally};
use crate::smooth::chain::Bridge;
use driftless_core::Stream;
use driftless_core::exponential::log_sum_exp;
use driftless_kernels::Cpu;
use driftless_kernels::range_scan::{ScanGradient, ScanMemory};
use driftless_world::random::Random;
use driftless_world::trajectory::Start;
use rayon::prelude::*;
use std::sync::Mutex;

/// Images of an update that a thread takes.
const PART: usize = 4;
const PATHS: Sizes = Sizes { particles: 200, paths: 8 };
/// Share of features that an update does not see.
const DROPOUT: f64 = 0.1;
/// What weights are pulled towards 0 by, times the rate.
const DECAY: f64 = 0.05;
/// Gradients longer than this are shortened.
const LONGEST_GRADIENT: f32 = 5.0;

/// What a part of an update works in.
#[derive(Default)]
pub(super) struct Workspace {
    memory: ScanMemory,
    gradient: ScanGradient,
}

/// Workspaces that threads take and give back: fresh pages would cost a tenth of an update.
#[derive(Default)]
pub(super) struct Workspaces(Mutex<Vec<Workspace>>);

impl Workspaces {
    fn take(&self) -> Workspace {
        self.0.lock().expect("no thread panicked").pop().unwrap_or_default()
    }

    fn give_back(&self, workspace: Workspace) {
        self.0.lock().expect("no thread panicked").push(workspace);
    }
}

/// An image, and the poses it may have been taken at.
pub(super) struct Example {
    walk: usize,
    step: usize,
    poses: Vec<[f32; 3]>,
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
        let draw = |(number, (walk, bridge)): (usize, (&Walk, &Option<Bridge>))| -> Result<Option<Drawn>> {
            let Some(bridge) = bridge else { return Ok(None) };
            if !walk.has_label() && !matches!(walk.start, Start::About { .. }) {
                return Ok(None);
            }
            let scans = self.network.scans(&walk.images)?;
            let relinearised;
            let bridge = if walk.has_label() {
                bridge
            } else {
                let Some(found) = self.bridge_from_start(walk, &scans, (epoch, number))? else {
                    return Ok(None);
                };
                relinearised = found;
                &relinearised
            };
            let sensor =
                RangeSensor { camera: &self.camera, walls: &walk.house.walls, scans: &scans, t: 0, every: 2 };
            let mut evidence = Tempered(sensor, self.tempering as f32);
            let mut draws = Stream::new(self.seed ^ epoch.rotate_left(32), number as u64);
            let evidence: Option<&mut dyn Evidence> = Some(&mut evidence);
            Ok(Some(draw_paths(bridge, evidence, PATHS, &mut draws)))
        };
        let all = walks.par_iter().zip(bridges).enumerate().map(draw).collect::<Result<Vec<_>>>()?;
        let sizes: Vec<f64> = all.iter().flatten().map(|drawn| drawn.effective_sample_size).collect();
        self.effective_sample_size = sizes.iter().sum::<f64>() / sizes.len().max(1) as f64;
        self.paths = all.into_iter().map(|drawn| drawn.map_or_else(Vec::new, |drawn| drawn.poses)).collect();
        Ok(())
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
            let chosen: Vec<&Example> =
                (0..self.batch).map(|_| &examples[random.below(examples.len())]).collect();
            let (loss, gradient) = self.loss(walks, &lens, &chosen, (epoch << 20) | update);
            let step = self.network.update(&mut self.optimiser, loss, gradient, DECAY);
            tally.add(&Figures { losses: vec![("cross-entropy", loss)], effective_sample_size: None }, &step);
        }
        Ok(tally.report())
    }

    /// The mean cross-entropy of some images' scans, and its gradient.
    fn loss(&self, walks: &[Walk], lens: &Lens, examples: &[&Example], number: u64) -> (f64, Vec<Vec<f32>>) {
        let part = |(part, examples): (usize, &[&Example])| {
            let mut random = Random::stream(self.seed ^ number.rotate_left(20), part as u64 + 1);
            self.part(walks, lens, examples, &mut random)
        };
        let parts: Vec<(f64, Workspace)> = examples.par_chunks(PART).enumerate().map(part).collect();
        let mut parts = parts.into_iter();
        let (mut loss, mut sum) = parts.next().expect("an update has images");
        for (value, part) in parts {
            loss += value;
            sum.gradient.add(&part.gradient);
            self.workspaces.give_back(part);
        }
        let scale = 1.0 / (examples.len() * self.camera.columns()) as f32;
        let mut tensors = sum.gradient.tensors(self.network.net());
        self.workspaces.give_back(sum);
        tensors.iter_mut().flatten().for_each(|x| *x *= scale);
        let length = tensors.iter().flatten().map(|x| x * x).sum::<f32>().sqrt();
        if length > LONGEST_GRADIENT {
            tensors.iter_mut().flatten().for_each(|x| *x *= LONGEST_GRADIENT / length);
        }
        (loss * f64::from(scale), tensors)
    }

    /// The same sums over some images, by one thread.
    fn part(
        &self,
        walks: &[Walk],
        lens: &Lens,
        examples: &[&Example],
        random: &mut Random,
    ) -> (f64, Workspace) {
        let (net, cpu) = (self.network.net(), Cpu::best());
        let plan = net.plan();
        let (mut seen, mut targets) = (Vec::new(), vec![0.0; examples.len() * plan.columns() * BINS]);
        for (example, targets) in examples.iter().zip(targets.chunks_exact_mut(plan.columns() * BINS)) {
            let (walk, view) = (&walks[example.walk], lens.drawn(random));
            view.show(&walk.images, example.step, &mut seen);
            self.aim(walk, example, &view, targets);
        }
        let kept = (1.0 / (1.0 - DROPOUT)) as f32;
        let mask = |_| if random.chance(DROPOUT) { 0.0 } else { kept };
        let masks: Vec<f32> = (0..examples.len() * plan.mask()).map(mask).collect();
        let Workspace { mut memory, mut gradient } = self.workspaces.take();
        gradient.reset(net);
        net.forward(cpu, &seen, Some(&masks), &mut memory);
        let mut by_scores = memory.scores().to_vec();
        let columns = by_scores.chunks_exact_mut(plan.width()).zip(targets.chunks_exact(BINS));
        let loss = columns.map(|(scores, target)| f64::from(cross_entropy(scores, target))).sum();
        net.backward(cpu, &by_scores, Some(&masks), &mut memory, &mut gradient);
        (loss, Workspace { memory, gradient })
    }

    /// Where the walls are that an image shows, as far as its pose is known: histograms by column.
    fn aim(&self, walk: &Walk, example: &Example, view: &View, targets: &mut [f32]) {
        let (columns, share) = (self.camera.columns(), 1.0 / example.poses.len() as f32);
        for pose in &example.poses {
            self.camera.look(&walk.house.walls, *pose, 1, |column, place| {
                let column = view.column(column, columns);
                add_target(place, share, &mut targets[column * BINS..(column + 1) * BINS]);
            });
        }
    }
}

/// -Σ target log softmax(scores); scores become its derivatives, those of the padding 0.
fn cross_entropy(scores: &mut [f32], target: &[f32]) -> f32 {
    let (scores, padding) = scores.split_at_mut(BINS);
    padding.fill(0.0);
    let log_total = log_sum_exp(Cpu::best(), scores, 1.0) as f32;
    let mut loss = 0.0;
    for (score, target) in scores.iter_mut().zip(target) {
        let log = *score - log_total;
        loss -= target * log;
        *score = log.exp() - target;
    }
    loss
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
        let known = walk.known.clone().with_prior(found.mean, found.spread);
        Ok(known.smooth(self.noise).and_then(|found| found.bridge().ok()))
    }
}
