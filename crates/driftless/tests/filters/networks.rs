//! Encoders, decoder and likelihood network: gradients, sizes, and the autoencoder's loss.

use crate::common;
use crate::common::numbers;
use crate::differences::{TRAINING, batch, check, count, frame_encoder, init, noise, plan, stirred};
use burn::module::Module;
use burn::tensor::{DType, Device, Tensor};
use driftless::model::{
    Encoder, FeatureMatch, GaussianMotion, GivenOdometry, LikelihoodNetwork, LikelihoodWidths,
    ParticleProposer, StateBox, StateEncoder, WithProposer,
};
use driftless::nets::{Activation, ConvPlan, ImageDecoder, ImageEncoder, PoseEncoder, StateFeatures};
use driftless::objective::{Autoencoding, Decoder, Reconstruction};
use driftless::parameters::{Init, Named, gradients, values, with_values};
use driftless::resample::Scheme;
use driftless::{
    Batch, DrawSizes, Draws, Filter, Injection, Measurement, Objective, Phase, Prior, Space, StateSpace,
};

fn place() -> StateFeatures {
    StateFeatures::new(Space::SE2, vec![0.5, -0.5, 0.0], vec![1.5, 1.5, 1.0])
}

#[test]
fn encoders_and_decoder() {
    let (images, target) = (noise([2, 2, 2, 5, 6], 4), noise([2, 2, 5], 5));
    for phase in [Phase::Evaluation, TRAINING] {
        check("image encoder", &frame_encoder(), |net| {
            (net.encode(images.clone(), phase) * target.clone()).sum()
        });
    }
    for last in [Activation::Relu, Activation::Linear] {
        let decoder = stirred(ImageDecoder::new(plan(), last, &mut init(6)), 7);
        check("decoder", &decoder, |net| (net.decode(target.clone()) - images.clone()).square().sum());
    }
    let encoder = stirred(PoseEncoder::new(place(), &[6, 5], &mut init(8)), 9);
    let (states, weight) = (noise([2, 3, 3], 10), noise([2, 3, 5], 11));
    check("pose encoder", &encoder, |net| (net.encode(states.clone()) * weight.clone()).sum());
}

#[test]
fn likelihood_network() {
    let widths = LikelihoodWidths { encoding: 5, hidden: 6 };
    let network = stirred(LikelihoodNetwork::new(frame_encoder(), widths, place(), &mut init(12)), 13);
    let (images, states) = (noise([2, 2, 2, 5, 6], 14), noise([2, 3, 3], 15));
    check("likelihood network", &network, |net| {
        let cues = net.encode(&images, TRAINING);
        (net.log_likelihood(&cues, 1, states.clone()).square() + net.log_likelihood(&cues, 0, states.clone()))
            .sum()
    });
}

type Maze = StateSpace<GaussianMotion<GivenOdometry>, FeatureMatch<ImageEncoder, PoseEncoder>>;

fn autoencoder() -> Autoencoding<Maze, ImageDecoder> {
    let transition = GaussianMotion::new(GivenOdometry::default(), vec![0.3, 0.3, 0.2], Space::SE2);
    let state = PoseEncoder::new(place(), &[6, 5], &mut init(21));
    let decoder = ImageDecoder::new(plan(), Activation::Linear, &mut init(22));
    let measurement = FeatureMatch::new(frame_encoder(), state);
    Autoencoding { model: StateSpace { transition, measurement }, decoder: stirred(decoder, 23) }
}

fn draws() -> Draws {
    let sizes = DrawSizes { batch: 2, steps: 3, particles: 4, state: 3, noise: 3, uniforms: 1 };
    Draws::new(sizes, 24, &Device::flex().autodiff(), DType::F64)
}

fn reconstruction(model: &Autoencoding<Maze, ImageDecoder>, training: bool) -> Tensor<1> {
    let draws = if training { draws().training() } else { draws() };
    let prior = Prior::Normal { mean: vec![0.0; 3], std: vec![1.0; 3] };
    let batch = batch();
    let filter = Filter::new(Space::SE2, Scheme::Systematic);
    let rollout = filter.run(model, &prior, &batch.observations, &batch.actions, &draws);
    Reconstruction.loss(model, &rollout, &batch)
}

/// The mean square, computed plainly; in training with another dropout than the filter's.
#[test]
fn reconstruction_by_hand() {
    let (model, images) = (autoencoder(), batch().observations);
    let error = |phase| {
        let made = model.decoder.decode(model.model.measurement.encode(&images, phase));
        let pairs = numbers(&made).into_iter().zip(numbers(&images));
        pairs.map(|(made, seen)| (made - seen).powi(2)).sum::<f64>() / 360.0
    };
    let filters = draws().training().phase;
    let used = numbers(&reconstruction(&model, false))[0];
    let trained = numbers(&reconstruction(&model, true))[0];
    // A mean of 360 numbers of order 1.
    assert!((used - error(Phase::Evaluation)).abs() < 1e-12, "{used}");
    assert!((trained - error(filters)).abs() > 1e-3 && (trained - used).abs() > 1e-3, "{trained}");
}

/// With a decoder beside it a model still proposes: the same particles as without.
#[test]
fn autoencoding_models_propose() {
    let Autoencoding { model, decoder } = autoencoder();
    let within = StateBox { low: [-1.0; 2], high: [1.0; 2] };
    let proposer = ParticleProposer::with_units(8, 5, within, &mut init(26));
    let proposing = WithProposer { model, proposer };
    let filter = Filter::new(Space::SE2, Scheme::Systematic).injecting(Injection::new(0.5));
    let prior = Prior::Normal { mean: vec![0.0; 3], std: vec![1.0; 3] };
    let batch = batch();
    let plain = filter.run(&proposing, &prior, &batch.observations, &batch.actions, &draws());
    let model = Autoencoding { model: proposing, decoder };
    let found = filter.run(&model, &prior, &batch.observations, &batch.actions, &draws());
    assert_eq!(found.infos.iter().map(|info| info.proposed).collect::<Vec<_>>(), [0, 2, 1]);
    assert_eq!(numbers(&found.estimates()), numbers(&plain.estimates()));
}

/// A lost image adds nothing, and takes nothing from the others.
#[test]
fn lost_images_are_not_reconstructed() {
    let (model, images) = (autoencoder(), batch().observations);
    let made = model.decoder.decode(model.model.measurement.encode(&images, Phase::Evaluation));
    let pairs = numbers(&made).into_iter().zip(numbers(&images));
    let squares: Vec<f64> = pairs.map(|(made, seen)| (made - seen).powi(2)).collect();
    let mut pixels = numbers(&images);
    pixels[70] = f64::NAN; // the second of six images
    let observations = common::f64s::<5>(burn::tensor::TensorData::new(pixels, images.dims()));
    let batch = Batch { observations, ..batch() };
    let filter = Filter::new(Space::SE2, Scheme::Systematic);
    let prior = Prior::Normal { mean: vec![0.0; 3], std: vec![1.0; 3] };
    let rollout = filter.run(&model, &prior, &batch.observations, &batch.actions, &draws());
    let loss = Reconstruction.loss(&model, &rollout, &batch);
    let expected = (squares[..60].iter().sum::<f64>() + squares[120..].iter().sum::<f64>()) / 360.0;
    assert!((numbers(&loss)[0] - expected).abs() < 1e-12, "{loss}");
    let found = gradients(&model, &loss.backward());
    assert!(!found.is_empty() && found.iter().flat_map(|g| &g.values).all(|g| g.is_finite()));
}

/// The parameters that reconstruction trains.
#[derive(Module, Debug)]
struct Halves {
    encoder: ImageEncoder,
    decoder: ImageDecoder,
}

/// Encoder and decoder learn from it; the state encoder does not take part.
#[test]
fn reconstruction_gradients() {
    let model = autoencoder();
    let found = gradients(&model, &reconstruction(&model, true).backward());
    let learns = |part: &str| found.iter().any(|gradient| gradient.name.starts_with(part));
    assert!(learns("model.measurement.observation") && learns("decoder"));
    assert!(!learns("model.measurement.state"));
    let halves =
        Halves { encoder: model.model.measurement.observation.clone(), decoder: model.decoder.clone() };
    check("reconstruction", &halves, |halves| {
        let Halves { encoder, decoder } = halves.clone();
        let mut model = model.clone();
        (model.model.measurement.observation, model.decoder) = (encoder, decoder);
        reconstruction(&model, true)
    });
}

/// By hand for 24x24 images of 3 channels. A convolution has 9 c c' + c', a layer m n + n:
/// encoder 448 + 4640 + 18 496 + 73 856; state encoder 80 + 544 + 2112 + 8320.
#[test]
fn parameters_of_the_released_encoders() {
    let mut init = Init::new(1, &Device::flex(), DType::F32);
    let encoder = ImageEncoder::new(ConvPlan::released([3, 24, 24]), &mut init);
    assert_eq!(count(&encoder), 97_440);
    assert_eq!(count(&PoseEncoder::new(place(), &PoseEncoder::RELEASED, &mut init)), 11_056);
}

/// Images on which every unit is dead give zero features: the likelihood of all states is 1 / (1 + ε)
/// and gradients stay finite.
#[test]
fn dead_features_are_finite() {
    let model = autoencoder().model.measurement;
    let dead: Vec<Named> = values(&model)
        .into_iter()
        .filter(|value| value.name == "observation.dense.bias")
        .map(|value| Named { values: vec![-1e6; value.values.len()], ..value })
        .collect();
    let model = with_values(model, &dead);
    let cues = model.encode(&batch().observations, TRAINING);
    assert!(numbers(&cues).iter().all(|&feature| feature == 0.0));
    let log = model.log_likelihood(&cues, 1, noise([2, 4, 3], 25));
    assert!(numbers(&log).iter().all(|log| (log + 1e-8).abs() < 1e-12), "{log}");
    let found = gradients(&model, &log.sum().backward());
    assert!(!found.is_empty() && found.iter().flat_map(|g| &g.values).all(|g| g.is_finite()));
}
