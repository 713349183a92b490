//! Each loss and its gradient against closed forms.

use super::*;
use crate::batch::{LabelMean, Labels};
use crate::draws::DrawSizes;
use crate::dropout::Phase;
use crate::model::{
    ActionSampler, ActionSamplerConfig, GivenOdometry, LikelihoodNetwork, LikelihoodWidths, ParticleProposer,
    StateBox, StateSpace, WithProposer,
};
use crate::nets::{Activation, StateFeatures, VectorEncoder};
use crate::parameters::{Init, Named, gradients, values, with_values};
use crate::testing::{assert_close, f64s, numbers};
use burn::tensor::{DType, Device};
use std::f64::consts::TAU;

type Tiny = WithProposer<
    StateSpace<ActionSampler<GivenOdometry>, LikelihoodNetwork<VectorEncoder>>,
    ParticleProposer,
>;

/// Noise linear in z, vectors instead of images.
fn tiny() -> Tiny {
    let mut init = Init::new(4, &Device::flex().autodiff(), DType::F64);
    let config = ActionSamplerConfig {
        hidden: vec![],
        action_std: vec![1.0; 3],
        space: Space::SE2,
        floor: vec![0.1; 3],
    };
    let transition = ActionSampler::new(GivenOdometry::default(), config, &mut init);
    let encoder = VectorEncoder::new(2, &[3], Activation::Relu, &mut init);
    let features = StateFeatures::new(Space::SE2, vec![0.0; 3], vec![1.0; 3]);
    let widths = LikelihoodWidths { encoding: 3, hidden: 5 };
    let measurement = LikelihoodNetwork::new(encoder, widths, features, &mut init);
    let within = StateBox { low: [-1.0, -1.0], high: [1.0, 1.0] };
    let proposer = ParticleProposer::with_units(8, 3, within, &mut init);
    WithProposer { model: StateSpace { transition, measurement }, proposer }
}

fn kernel(bandwidth: f64) -> KernelDensity {
    KernelDensity { scale: vec![2.0, 2.0, 0.5], bandwidth, over: LabelMean::Known }
}

/// Sequences of labelled steps, [B, T, 3], with one action for all.
fn batch<const B: usize, const T: usize>(poses: [[[f64; 3]; T]; B], action: [f64; 3]) -> Batch<Tensor<3>> {
    let seen: Vec<f64> = (0..B * T * 2).map(|k| (k as f64 * 0.7).cos() + 0.5).collect();
    let known = Tensor::from_data([[true; T]; B], &Device::flex().autodiff());
    Batch {
        observations: f64s(TensorData::new(seen, [B, T, 2])),
        actions: f64s([[action; T]; B]),
        labels: Labels::new(f64s(poses), known),
    }
}

fn draws(batch: usize, particles: usize) -> Draws {
    let sizes = DrawSizes { batch, steps: 1, particles, state: 3, noise: 3, uniforms: 1 };
    Draws::new(sizes, 7, &Device::flex().autodiff(), DType::F64).training()
}

/// Names of the parameters that a loss moves: gradients here are of order one, rounding is far below 1e-12.
fn moved_by(model: &Tiny, loss: &Tensor<1>) -> Vec<String> {
    let found = gradients(model, &loss.backward()).into_iter();
    found
        .filter(|gradient| gradient.values.iter().any(|&g| g.abs() > 1e-12))
        .map(|gradient| gradient.name)
        .collect()
}

/// Noise w z in the first number of the action and nowhere else; z = ±1 for two particles. At heading 0 they
/// stand at x = 1 + a ± w, 2 e ± w from the truth, in units of 2. With k(u) = N(u; 0, σ²) the loss is
/// -log ½ (k(e + w/2) + k(e - w/2)); dk/du = -k u / σ².
#[test]
fn motion_by_hand() {
    let (w, action, offset, sigma) = (0.3, 0.25, 0.1, 0.2);
    let mut weights = values(&tiny());
    let weight = weights.iter_mut().find(|part| part.name == "model.transition.generator.layers.0.weight");
    let weight = weight.unwrap();
    weight.values.fill(0.0);
    weight.values[3 * 3] = w; // Row 3 belongs to z_0, column 0 to a_x.
    let model = with_values(tiny(), &weights);
    let truth = 1.0 + action - offset;
    let pairs = batch([[[1.0, 2.0, 0.0], [truth, 2.0, 0.0]]], [action, 0.0, 0.0]);
    let noise = f64s::<3>([[[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]]);
    let loss = motion(&model, &pairs, noise, &kernel(sigma));
    let k = |u: f64| (-0.5 * (u / sigma).powi(2)).exp() / (TAU.sqrt() * sigma);
    let [far, near] = [0.5 * (offset + w), 0.5 * (offset - w)];
    assert_close(&numbers(&loss), &[-(0.5 * (k(far) + k(near))).ln()], 1e-12);
    let by_w = (k(far) * far - k(near) * near) * 0.5 / (sigma * sigma) / (k(far) + k(near));
    let found = gradients(&model, &loss.backward());
    let found = found.iter().find(|g| g.name.ends_with("generator.layers.0.weight")).unwrap();
    assert_close(&found.values[9..10], &[by_w], 1e-12);
}

/// Two pairs have the mean of their losses, each with noise of its own, and from each its own true pose.
#[test]
fn motion_is_a_mean_over_pairs() {
    let poses = [[[1.0, 2.0, 0.0], [1.2, 2.1, 0.1]], [[5.0, -2.0, 2.0], [5.1, -1.9, 2.2]]];
    let z = draws(2, 6).steps[0].noise.clone();
    let loss = |model: &Tiny, rows: std::ops::Range<usize>| {
        let noise = z.clone().slice_dim(0, rows.clone());
        let action = [0.2, 0.1, 0.1];
        numbers(&match rows.len() {
            2 => motion(model, &batch(poses, action), noise, &kernel(0.5)),
            _ => motion(model, &batch([poses[rows.start]], action), noise, &kernel(0.5)),
        })[0]
    };
    let model = tiny();
    let [first, second] = [loss(&model, 0..1), loss(&model, 1..2)];
    assert!((first - second).abs() > 1e-3, "{first} {second}");
    assert_close(&[loss(&model, 0..2)], &[0.5 * (first + second)], 1e-12);
}

/// Row i is an image, column j a pose. With three images: right 3, wrong 6.
#[test]
fn contrast_by_hand() {
    let l = [[0.9_f64, 0.2, 0.1], [0.3, 0.8, 0.4], [0.05, 0.6, 0.7]];
    let log = f64s::<2>(l.map(|row| row.map(f64::ln))).require_grad();
    let loss = contrast(log.clone());
    let right = -(0.9_f64 * 0.8 * 0.7).ln() / 3.0;
    let wrong = -(0.8_f64 * 0.9 * 0.7 * 0.6 * 0.95 * 0.4).ln() / 6.0;
    assert_close(&numbers(&loss), &[right + wrong], 1e-13);
    // d log(1 - l) / d log l = -l / (1 - l).
    let slope = |i: usize, j: usize| if i == j { -1.0 / 3.0 } else { l[i][j] / (1.0 - l[i][j]) / 6.0 };
    let expected: Vec<f64> = (0..9).map(|k| slope(k / 3, k % 3)).collect();
    assert_close(&numbers(&log.grad(&loss.backward()).unwrap()), &expected, 1e-13);
}

/// Sure of a wrong pose: 1 - l counts as 1e-7, and there is no gradient; one image has no wrong pose.
#[test]
fn contrast_at_its_ends() {
    let log = f64s::<2>([[0.0, 0.0], [-1.0, -2.0]]).require_grad();
    let loss = contrast(log.clone());
    let expected = 1.0 - 0.5 * (1e-7_f64.ln() + (1.0 - (-1.0_f64).exp()).ln());
    assert_close(&numbers(&loss), &[expected], 1e-12);
    let gradient = numbers(&log.grad(&loss.backward()).unwrap());
    assert_eq!(gradient[..2], [-0.5, 0.0]);
    assert_close(&numbers(&contrast(f64s([[-0.7]]))), &[0.7], 1e-15);
}

/// The matrix has image i in its row i and pose j in its column j, encoded with dropout's phase.
#[test]
fn measurement_sees_all_images_in_all_poses() {
    let (model, poses) = (tiny(), [[[0.1, 0.2, 0.3]], [[-0.5, 0.4, 2.0]], [[0.9, -0.9, -1.0]]]);
    let steps = batch(poses, [0.0; 3]);
    let loss = measurement(&model, &steps, &draws(3, 1));
    let cues = model.measurement().encode(&steps.observations, Phase::Evaluation);
    let likelihood = |i: usize, j: usize| {
        let cue = cues.clone().slice_dim(0, i..i + 1);
        numbers(&model.measurement().log_likelihood(&cue, 0, f64s([poses[j]])))[0]
    };
    let right: f64 = (0..3).map(|i| likelihood(i, i)).sum::<f64>() / 3.0;
    let wrong = (0..9).filter(|k| k / 3 != k % 3).map(|k| (1.0 - likelihood(k / 3, k % 3).exp()).ln());
    assert_close(&numbers(&loss), &[-right - wrong.sum::<f64>() / 6.0], 1e-12);
}

/// -log of the mean kernel at the truth, over poses that the proposer itself tells.
#[test]
fn proposer_by_hand() {
    let (model, poses) = (tiny(), [[[0.1, 0.2, 3.0]], [[-0.5, 0.4, -3.0]]]);
    let (steps, draws, sigma) = (batch(poses, [0.0; 3]), draws(2, 5), 0.7);
    let cues = model.measurement().encode(&steps.observations, draws.phase);
    let proposed = numbers(&model.propose(&cues, 0, 5, draws.steps[0].seed).unwrap());
    let one = |(pose, particles): (&[[f64; 3]; 1], &[f64])| {
        let kernel = |particle: &[f64]| {
            let turn = (particle[2] - pose[0][2] + TAU / 2.0).rem_euclid(TAU) - TAU / 2.0;
            let squared = ((particle[0] - pose[0][0]) / 2.0).powi(2)
                + ((particle[1] - pose[0][1]) / 2.0).powi(2)
                + (turn / 0.5).powi(2);
            (-0.5 * squared / (sigma * sigma)).exp() / (TAU.sqrt() * sigma)
        };
        -(1e-16 + particles.chunks_exact(3).map(kernel).sum::<f64>() / 5.0).ln()
    };
    let expected = poses.iter().zip(proposed.chunks_exact(15)).map(one).sum::<f64>() / 2.0;
    let found = proposer(&model, &steps, &draws, &kernel(sigma));
    assert_close(&numbers(&found), &[expected], 1e-10);
}

/// Only the proposer learns to propose: the encoder is held. The others reach their own parts too.
#[test]
fn each_loss_reaches_its_own_parts() {
    let model = tiny();
    let steps = batch([[[0.1, 0.2, 0.3]], [[-0.5, 0.4, 2.0]]], [0.0; 3]);
    let pairs = batch([[[0.1, 0.2, 0.3], [0.2, 0.2, 0.3]]], [0.1, 0.0, 0.0]);
    let noise = draws(1, 4).steps[0].noise.clone();
    let all: Vec<String> = values(&model).into_iter().map(|part: Named| part.name).collect();
    let of = |prefix: &str| all.iter().filter(|name| name.starts_with(prefix)).cloned().collect::<Vec<_>>();
    let by_motion = moved_by(&model, &motion(&model, &pairs, noise, &kernel(0.5)));
    // Centred noise does not see what is the same for all particles: the bias.
    assert_eq!(by_motion, ["model.transition.generator.layers.0.weight"]);
    let by_measurement = moved_by(&model, &measurement(&model, &steps, &draws(2, 1)));
    assert_eq!(by_measurement, of("model.measurement"));
    let by_proposer = moved_by(&model, &proposer(&model, &steps, &draws(2, 40), &kernel(0.7)));
    assert_eq!(by_proposer, of("proposer"));
}
