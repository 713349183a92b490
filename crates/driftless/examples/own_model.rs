//! Your own encoder and your own motion model, trained: a cart in a corridor hears three beacons, and
//! its wheels slip by an unknown share.
//!
//! Run it with `cargo run --release -p driftless --example own_model`; give it a file to keep the
//! weights, for instance `-- target/cart.safetensors`.

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless::model::{Encoder, FeatureMatch, GaussianMotion, Motion, StateEncoder};
use driftless::nets::{Activation, Mlp};
use driftless::objective::{Likelihoods, PseudoLikelihood, SquaredError, WeightedSum};
use driftless::optimise::{Adam, Optimiser, Rule};
use driftless::parameters::Init;
use driftless::resample::Scheme;
use driftless::{
    Batch, DrawSizes, Draws, Filter, LabelMean, Labels, Objective, Phase, Prior, Space, StateSpace, weights,
};
use driftless_world::random::Random;

/// My motion model: the cart moves by a share of what its odometer says.
#[derive(Module, Debug)]
struct Slipping {
    share: Param<Tensor<1>>,
}

impl Motion for Slipping {
    fn displacement(&self, _: Tensor<3>, odometer: Tensor<3>) -> Tensor<3> {
        odometer * self.share.val().unsqueeze::<3>()
    }
}

/// My encoder of what is heard, [B, T, 3] → [B, T, 16].
#[derive(Module, Debug)]
struct Ears {
    net: Mlp,
}

impl Encoder for Ears {
    type Input = Tensor<3>;

    fn encode(&self, heard: Tensor<3>, _: Phase) -> Tensor<3> {
        self.net.forward(heard)
    }
}

/// My encoder of places, [B, N, 1] → [B, N, 16]: what does the cart expect to hear there?
#[derive(Module, Debug)]
struct Places {
    net: Mlp,
}

impl StateEncoder for Places {
    fn encode(&self, states: Tensor<3>) -> Tensor<3> {
        self.net.forward(states / 5.0 - 1.0)
    }
}

type Cart = StateSpace<GaussianMotion<Slipping>, FeatureMatch<Ears, Places>>;

const CARTS: usize = 16;
const STEPS: usize = 12;
const SLIP: f64 = 0.8;

fn cart(init: &mut Init) -> Cart {
    let slipping = Slipping { share: init.constant([1], 1.0) };
    let ears = Ears { net: Mlp::new(3, &[32, 16], Activation::Linear, init) };
    let places = Places { net: Mlp::new(1, &[32, 32, 16], Activation::Linear, init) };
    StateSpace {
        transition: GaussianMotion::new(slipping, vec![0.3], Space::LINEAR),
        measurement: FeatureMatch::new(ears, places).with_epsilon(0.02),
    }
}

/// Carts that drive through a corridor of 10 m; every third position is known.
fn drives(seed: u64, device: &Device) -> (Batch<Tensor<3>>, Tensor<3>) {
    let mut random = Random::new(seed);
    let (mut heard, mut odometer, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..CARTS {
        let mut position = random.range(0.0, 3.0);
        for _ in 0..STEPS {
            let wanted = random.range(0.2, 1.2);
            position += SLIP * wanted + 0.05 * random.normal();
            odometer.push(wanted);
            truth.push(position);
            let strength = |beacon: f64| (-(position - beacon).powi(2) / 8.0).exp();
            heard.extend([1.0, 5.0, 9.0].map(|beacon| strength(beacon) + 0.05 * random.normal()));
        }
    }
    let tensor =
        |values, width| Tensor::<3>::from_data(TensorData::new(values, [CARTS, STEPS, width]), device);
    let truth: Tensor<3> = tensor(truth, 1);
    let known = (0..CARTS * STEPS).map(|k| k % 3 == 0).collect::<Vec<_>>();
    let known = Tensor::from_data(TensorData::new(known, [CARTS, STEPS]), device);
    let labels = Labels::new(truth.clone(), known);
    (Batch { observations: tensor(heard, 3), actions: tensor(odometer, 1), labels }, truth)
}

/// Labels first: as long as nothing is known, the filter's own paths train it its own mistakes. Then
/// unlabelled steps as well, with a small weight for the same reason: ten times this one undoes all.
fn stages(prior: &Prior) -> [WeightedSum<Cart>; 2] {
    let labels = || Box::new(SquaredError { scale: vec![1.0], over: LabelMean::Known });
    let paths = PseudoLikelihood {
        likelihoods: Likelihoods::Normalised,
        ..PseudoLikelihood::paper(4, prior.clone())
    };
    [WeightedSum(vec![(1.0, labels())]), WeightedSum(vec![(1.0, labels()), (0.1, Box::new(paths))])]
}

fn main() -> driftless::Result<()> {
    let device = Device::flex().autodiff();
    let (batch, _) = drives(1, &device);
    let (test, truth) = drives(2, &device);
    let filter = Filter::new(Space::LINEAR, Scheme::Systematic).weighing_first();
    let prior = Prior::Uniform { low: vec![0.0], high: vec![12.0] };
    let sizes = DrawSizes { batch: CARTS, steps: STEPS, particles: 100, state: 1, noise: 1, uniforms: 1 };
    let run = |cart: &Cart, batch: &Batch<Tensor<3>>, seed| {
        let draws = Draws::new(sizes, seed, &device, DType::F32);
        filter.run(cart, &prior, &batch.observations, &batch.actions, &draws)
    };
    let error = |cart: &Cart| {
        let difference = run(cart, &test, 0).estimates() - truth.clone();
        difference.square().mean().sqrt().try_to_vec_as::<f64>().expect("a number")[0]
    };

    let stages = stages(&prior);
    let mut optimiser = Optimiser::new(Rule::Adam(Adam::default()), 0.02);
    let mut cart = cart(&mut Init::new(3, &device, DType::F32));
    let before = error(&cart);
    for update in 0..300 {
        let objective = &stages[usize::from(update >= 100)];
        let loss = objective.loss(&cart, &run(&cart, &batch, update as u64 + 1), &batch);
        (cart, _) = optimiser.step(cart, &loss);
    }
    let after = error(&cart);
    let share = cart.transition.motion.share.val().try_to_vec_as::<f64>().expect("a number")[0];
    println!("error in new drives: {before:.2} m untrained, {after:.2} m trained");
    println!("share of the odometer: {share:.2} learned, {SLIP:.2} true");
    assert!(after < 0.5 * before && (share - SLIP).abs() < 0.12, "training did not help");
    if let Some(name) = std::env::args().nth(1) {
        weights::save(&name, &cart)?;
        println!("weights are in {name}");
    }
    Ok(())
}
