//! The estimate of log-likelihood that a filter has with each resampler, against Kalman's.

use super::exact::Exact;
use super::models::{Autoregression, Read, Runs, numbers, readings, tensor};
use super::{Contender, Figure, Table};
use crate::model::StateSpace;
use burn::tensor::Device;
use driftless_world::random::Random;
use driftless_world::simulate::LinearGaussian;

const THETAS: [f64; 3] = [0.25, 0.5, 0.75];

/// Runs, steps and particles.
fn sizes(quick: bool) -> (usize, usize, &'static [usize]) {
    if quick { (8, 30, &[25]) } else { (40, 150, &[25, 100]) }
}

pub(super) fn table(quick: bool) -> Table {
    let (runs, steps, counts) = sizes(quick);
    let cases: Vec<(f64, usize)> =
        counts.iter().flat_map(|&count| THETAS.map(|theta| (theta, count))).collect();
    let each = |contender: &Contender| {
        cases.iter().flat_map(|&(theta, count)| off(contender, theta, [runs, steps, count])).collect()
    };
    let names = cases
        .iter()
        .flat_map(|(theta, count)| [format!("θ = {theta}, N = {count}"), "its deviation".to_owned()]);
    Table {
        id: "likelihood".to_owned(),
        about: format!(
            "Differentiable filter on `lgss`, resampled where less than half of the particles count: mean of (log Ẑ - log \
             Z) / T over {runs} runs on one walk of T = {steps} steps, and their standard deviation."
        ),
        columns: std::iter::once("resampler".to_owned()).chain(names).collect(),
        rows: Contender::rows(each),
    }
}

/// (log Ẑ - log Z) / T of many runs: mean and deviation.
fn off(contender: &Contender, theta: f64, [runs, steps, particles]: [usize; 3]) -> [Figure; 2] {
    let (model, device) = (LinearGaussian::plane(theta), Device::flex());
    let walk = model.walk(steps, &mut Random::stream(41, (100.0 * theta) as u64));
    let exact = Exact::of(&model, walk.iter().map(|[_, read]| read)).log_evidence();
    let filter = Runs { readings: readings(&vec![walk; runs], &device), particles, seed: 42 };
    let pair = |x: f64| tensor(vec![x; 2 * runs], [runs, 2], &device);
    let model = StateSpace {
        transition: Autoregression { a: pair(theta), std: pair(model.motion.sqrt()) },
        measurement: Read { std: pair(model.noise.sqrt()) },
    };
    let found = numbers(&filter.log_evidence(&model, contender.build(Some(0.5)), pair(1.0)));
    let off: Vec<f64> = found.iter().map(|log| (log - exact) / steps as f64).collect();
    [Figure::mean(&off), Figure::deviation(&off)]
}
