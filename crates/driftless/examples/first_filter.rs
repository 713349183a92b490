//! A first filter: a robot drives along a line and sees how far it is from a wall at 10 m.
//!
//! Run it with `cargo run --release -p driftless --example first_filter`.

use burn::module::Module;
use burn::tensor::{DType, Device, Tensor};
use driftless::model::{GaussianMotion, Motion};
use driftless::resample::{Scheme, WhenBelow};
use driftless::{DrawSizes, Draws, Filter, Measurement, Phase, Prior, Space, StateSpace};

/// The odometer says how far the robot drove.
#[derive(Module, Debug)]
struct Drive {}

impl Motion for Drive {
    fn displacement(&self, _: Tensor<3>, driven: Tensor<2>) -> Tensor<3> {
        driven.unsqueeze_dim(1) // [B, 1, 1]: the same for all particles
    }
}

/// A range finder with a standard deviation of half a metre.
#[derive(Module, Debug)]
struct RangeToWall {}

impl Measurement for RangeToWall {
    type Observations = Tensor<3>;
    type Cues = Tensor<3>;

    fn encode(&self, ranges: &Tensor<3>, _: Phase) -> Tensor<3> {
        ranges.clone()
    }

    fn log_likelihood(&self, ranges: &Tensor<3>, t: usize, states: Tensor<3>) -> Tensor<2> {
        let expected = -states + 10.0;
        ((expected - ranges.clone().slice_dim(1, t..t + 1)) / 0.5).square().squeeze_dim(2) * -0.5
    }
}

fn main() {
    let device = Device::flex();
    let transition = GaussianMotion::new(Drive {}, vec![0.2], Space::LINEAR);
    let model = StateSpace { transition, measurement: RangeToWall {} };
    let resampler = WhenBelow { fraction: 0.5, inner: Box::new(Scheme::Systematic) };
    let filter = Filter::new(Space::LINEAR, resampler).weighing_first();

    // One drive of five steps, a metre each, from an unknown place: 1 m, if one could see it.
    let driven = Tensor::<3>::from_data([[[0.0], [1.0], [1.0], [1.0], [1.0]]], &device);
    let ranges = Tensor::<3>::from_data([[[9.3], [7.8], [7.1], [5.7], [5.2]]], &device);
    let prior = Prior::Uniform { low: vec![0.0], high: vec![10.0] };
    let sizes = DrawSizes { batch: 1, steps: 5, particles: 1000, state: 1, noise: 1, uniforms: 1 };
    let draws = Draws::new(sizes, 1, &device, DType::F32);

    let rollout = filter.run(&model, &prior, &ranges, &driven, &draws);
    let estimates = rollout.estimates().try_to_vec_as::<f64>().expect("estimates are numbers");
    println!("step  truth  estimate  particles that matter");
    for (t, (estimate, belief)) in estimates.iter().zip(&rollout.beliefs).enumerate() {
        let matter = belief.weights.effective_sample_size().try_to_vec_as::<f64>().expect("a number")[0];
        println!("{t:4}  {:5.1}  {estimate:8.2}  {matter:10.0}", 1.0 + t as f64);
        assert!((estimate - 1.0 - t as f64).abs() < 1.0, "lost at step {t}: {estimate}");
    }
}
