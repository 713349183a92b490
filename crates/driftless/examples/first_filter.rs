//! A first filter: a boat with a rough idea of its own speed and now and then a poor position fix.
//!
//! Run it with `cargo run --release -p driftless --example first_filter`.

use burn::tensor::{DType, Device, Tensor};
use driftless::model::{GaussianMotion, GaussianReading, Shift};
use driftless::resample::{Scheme, WhenBelow};
use driftless::{DrawSizes, Draws, Filter, Prior, Space, StateSpace};

fn main() {
    let device = Device::flex();
    // It moves as its log says, give or take 20 m a minute, and a fix is right within 50 m.
    let transition = GaussianMotion::new(Shift::default(), vec![0.02, 0.02], Space::LINEAR);
    let measurement = GaussianReading::new(vec![0.05, 0.05], Space::LINEAR);
    let model = StateSpace { transition, measurement };
    let resampler = WhenBelow { fraction: 0.5, inner: Box::new(Scheme::Systematic) };
    let filter = Filter::new(Space::LINEAR, resampler).weighing_first();

    // Five minutes at 0.3 km a minute to the east, in kilometres; no fix in the third and fourth.
    let none = f32::NAN;
    let moved =
        Tensor::from_data([[[0.0, 0.0], [0.31, 0.0], [0.28, 0.01], [0.3, 0.0], [0.32, 0.0]]], &device);
    let fixes =
        Tensor::from_data([[[0.04, -0.03], [0.27, 0.02], [none, none], [none, none], [1.25, 0.04]]], &device);
    let prior = Prior::Uniform { low: vec![-2.0, -2.0], high: vec![2.0, 2.0] };
    let sizes = DrawSizes { batch: 1, steps: 5, particles: 5000, state: 2, noise: 2, uniforms: 1 };
    let draws = Draws::new(sizes, 1, &device, DType::F32);

    let rollout = filter.run(&model, &prior, &fixes, &moved, &draws);
    let estimates = rollout.estimates().try_to_vec_as::<f64>().expect("estimates are numbers");
    for (t, place) in estimates.chunks(2).enumerate() {
        println!("minute {t}: {:5.2} km east, {:5.2} km north", place[0], place[1]);
        assert!((place[0] - 0.3 * t as f64).abs() < 0.1 && place[1].abs() < 0.1, "lost in minute {t}");
    }
}
