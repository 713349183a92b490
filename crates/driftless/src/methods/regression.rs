//! Direct regression: the pose of each image by itself, without a filter, learned at labelled steps.
//!
//! The image encoder of the maze experiments and two layers say position, cosine and sine of the heading (as PoseNet,
//! Kendall, Grimes & Cipolla 2015, in the plane). Crops and noise are redrawn every epoch. What one image cannot tell is
//! not known: places that look alike are averaged.

use super::learner::Learner;
use super::observed::Observed;
use super::tracking::{in_batches, poses};
use super::updates::{Figures, Tally, epoch_seed, update_seed};
use super::windows::piece;
use crate::batch::{Batch, LabelMean};
use crate::dropout::Phase;
use crate::error::{Error, Result};
use crate::learn::{EpochReport, Experiment, Method, Normalisation, Tracking, TrainingSet};
use crate::model::Encoder;
use crate::nets::{Activation, ConvPlan, ImageEncoder, Mlp, StateFeatures};
use crate::parameters::{Init, Named, values, with_values};
use crate::prior::row;
use crate::space::{Space, direction};
use burn::module::Module;
use burn::tensor::{DType, Device, Tensor};
use driftless_world::evaluation::Track;
use driftless_world::labels::Lesson;
use driftless_world::random::Random;
use driftless_world::trajectory::Trajectory;

/// Units of the layer between features and what is said.
const HIDDEN: usize = 128;
/// Position, cosine and sine.
const SAID: usize = 4;
/// Images of an update.
const IMAGES: usize = 16;
/// Adam's; with the filters' 3e-4 it learned more slowly. With either it is still learning after 3700 updates in Maze 1.
const RATE: f64 = 1e-3;
/// Episodes tracked at once.
const AT_ONCE: usize = 32;

/// An image encoder and two layers.
#[derive(Module, Debug)]
struct Network {
    encoder: ImageEncoder,
    head: Mlp,
}

impl Network {
    fn new(seed: u64, normalisation: &Normalisation, device: &Device) -> Self {
        let mut init = Init::new(Random::stream(seed, 0).bits(), device, DType::F32);
        // Fresh crops and noise are enough; with the filters' dropout it stayed at the mean pose for 700 updates.
        let plan = ConvPlan { keep: 1.0, ..ConvPlan::released(normalisation.pixels.shape()) };
        let features = plan.features;
        let encoder = ImageEncoder::new(plan, &mut init);
        Self { encoder, head: Mlp::new(features, &[HIDDEN, SAID], Activation::Linear, &mut init) }
    }

    /// Normalised positions, and headings as directions, [B, T, 4].
    fn say(&self, images: Tensor<5>, phase: Phase) -> Tensor<3> {
        self.head.forward(self.encoder.encode(images, phase))
    }
}

/// The method `regression`.
pub(super) struct Regression {
    experiment: Experiment,
    normalisation: Normalisation,
    learner: Learner<Network>,
}

impl Regression {
    /// For mazes; not trained yet.
    pub(super) fn new(experiment: &Experiment, normalisation: &Normalisation) -> Self {
        let network = Network::new(experiment.seed, normalisation, &Device::flex().autodiff());
        let (experiment, normalisation) = (experiment.clone(), normalisation.clone());
        Self { experiment, normalisation, learner: Learner::with_rate(network, RATE) }
    }

    /// The mean squared error of what is said of labelled images, `[1]`.
    fn loss(&self, batch: &Batch<Tensor<5>>, phase: Phase) -> Tensor<1> {
        let said = self.learner.model().say(batch.observations.clone(), phase);
        let [mean, std] = [self.normalisation.state_mean, self.normalisation.state_std];
        let features = StateFeatures::new(Space::SE2, mean.to_vec(), std.to_vec());
        batch
            .labels
            .mean(LabelMean::Known, |truth| (said - features.of(&truth)).square().sum_dim(2).squeeze_dim(2))
    }

    /// Poses [B, T, 3] of what was said.
    fn poses(&self, said: &Tensor<3>) -> Tensor<3> {
        let part = |k: usize| said.clone().slice_dim(2, k..k + 1);
        let [mean, std] = [self.normalisation.state_mean, self.normalisation.state_std];
        let place = said.clone().slice_dim(2, 0..2) * row(&std[..2], said) + row(&mean[..2], said);
        Tensor::cat(vec![place, direction(part(3), part(2))], 2)
    }
}

/// Each labelled image by itself, in any order.
fn labelled(lessons: &[Lesson], random: &mut Random) -> Result<Vec<Lesson>> {
    let mut all = Vec::new();
    for lesson in lessons {
        let known =
            |t: &usize| lesson.labels().get(*t).is_some_and(|pose| pose.iter().all(|x| x.is_finite()));
        for t in (0..lesson.len()).filter(known) {
            all.push(piece(lesson, t..t + 1, 1, None)?);
        }
    }
    if all.is_empty() {
        let problem = "left no pose known: this method learns from labels alone; raise the share";
        return Err(Error::setting("label_fraction", problem));
    }
    random.shuffle(&mut all);
    Ok(all)
}

impl Method for Regression {
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        let seed = epoch_seed(self.experiment.seed, epoch);
        let all: Vec<usize> = (0..lessons.len()).collect();
        let images = labelled(&lessons.lessons(&all, epoch)?, &mut Random::new(seed))?;
        let (device, mut tally) = (Device::flex().autodiff(), Tally::default());
        for (update, chosen) in images.chunks(IMAGES).enumerate() {
            let batch = Observed::batch(chosen, &self.normalisation, &device, DType::F32)?;
            let loss = self.loss(&batch, Phase::Training { seed: update_seed(seed, update) });
            let value = loss.try_to_vec_as::<f64>().expect("a loss is a number")[0];
            let figures = Figures { losses: vec![("loss", value)], effective_sample_size: None };
            tally.add(&figures, &self.learner.step(&loss));
        }
        Ok(tally.report())
    }

    fn track(&self, episodes: &[Trajectory], _: Tracking) -> Result<Vec<Track>> {
        let device = Device::flex();
        let fresh = Network::new(self.experiment.seed, &self.normalisation, &device);
        let network = with_values(fresh, &values(self.learner.model()));
        in_batches(episodes, AT_ONCE, |_, lessons, truths| {
            let batch: Batch<Tensor<5>> = Observed::batch(lessons, &self.normalisation, &device, DType::F32)?;
            let said = network.say(batch.observations, Phase::Evaluation);
            let said = self.poses(&said).try_to_vec_as::<f64>().expect("estimates are numbers");
            let (estimates, steps) = (poses(&said), batch.actions.dims()[1]);
            let pairs = truths.into_iter().zip(estimates.chunks_exact(steps));
            Ok(pairs.map(|(truth, estimate)| Track::new(truth, estimate.to_vec())).collect())
        })
    }

    fn parameters(&self) -> Vec<Named> {
        self.learner.parameters()
    }

    fn memory(&self) -> Vec<Named> {
        self.learner.memory()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.learner.restore(parameters, memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::Detail;
    use driftless_world::labels::LabelBudget;
    use driftless_world::trajectory::{Images, Labels, Observations, Pixels, Rows};

    /// Images whose two halves are as bright as x and y are large; the heading is that of (x, y). Half of the poses are
    /// known, and an episode is not learned from.
    fn episodes() -> Vec<Trajectory> {
        let one = |k: usize| {
            let (mut pixels, mut states) = (Vec::new(), Labels::new(3));
            let mut random = Random::stream(3, k as u64);
            for _ in 0..20 {
                let [x, y] = [random.unit(), random.unit()].map(|x| x as f32);
                for pixel in 0..64 {
                    pixels.push((200.0 * if pixel % 8 < 4 { x } else { y }) as u8);
                }
                states.push(Some(&[x, y, y.atan2(x)]));
            }
            let images = Images { height: 8, width: 8, channels: 1, pixels: Pixels::Bytes(pixels) };
            let actions = Rows::new(3, vec![0.0; 60]).unwrap();
            Trajectory::new(Observations::Images(images), actions, states).unwrap()
        };
        (0..9).map(one).collect()
    }

    /// It finds out what brightness means, for images it was not told about; the constant guess errs by 0.41, the root of
    /// two variances of 1 / 12.
    #[test]
    fn learns_what_an_image_tells() {
        let (episodes, experiment) =
            (episodes(), Experiment { label_fraction: 0.5, ..Experiment::default() });
        let budget = LabelBudget::new(0.5, 1).unwrap();
        let set = TrainingSet::new(Box::new(episodes.clone()), 0..8, budget).unwrap();
        let normalisation = Normalisation::measure(&set).unwrap();
        let mut method = Regression::new(&experiment, &normalisation);
        let error = |method: &Regression| {
            let how = Tracking { particles: 1, seed: 1, detail: Detail::Means };
            let tracks = method.track(&episodes[8..], how).unwrap();
            let pairs = tracks[0].estimate.iter().zip(&tracks[0].truth);
            let squares = pairs.map(|(a, b)| (a.x - b.x).powi(2) + (a.y - b.y).powi(2));
            (squares.sum::<f64>() / 20.0).sqrt()
        };
        let before = error(&method);
        for epoch in 1..=150 {
            method.train(epoch, &set).unwrap();
        }
        let after = error(&method);
        assert!(before > 0.3 && after < 0.15, "{before} {after}");
    }

    /// What was said becomes a pose in the units of the maze.
    #[test]
    fn poses_by_hand() {
        let set = TrainingSet::new(Box::new(episodes()), 0..8, LabelBudget::new(1.0, 1).unwrap()).unwrap();
        let mut normalisation = Normalisation::measure(&set).unwrap();
        (normalisation.state_mean, normalisation.state_std) = ([10.0, 20.0, 0.0], [2.0, 4.0, 1.0]);
        let method = Regression::new(&Experiment::default(), &normalisation);
        let said = Tensor::<3>::from_data([[[1.0, -0.5, 0.0, -3.0]]], &Device::flex());
        let found = method.poses(&said).try_to_vec_as::<f32>().unwrap();
        assert_eq!(found[..2], [12.0, 18.0]);
        assert!((found[2] + std::f32::consts::FRAC_PI_2).abs() < 1e-6);
    }
}
