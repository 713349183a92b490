//! The plain filter's distance from Kalman's answer, which falls with the number of particles.

use super::exact::Exact;
use super::{Figure, Row, Table};
use driftless_core::models::{LinearMotion, LinearSensor};
use driftless_core::motion::Still;
use driftless_core::resample::Scheme;
use driftless_core::{Belief, Filter, FilterState, Particles, Space, Stream, Workspace};
use driftless_world::random::Random;
use driftless_world::simulate::LinearGaussian;
use rayon::prelude::*;
use std::sync::Arc;

/// PyDPF's own results (Brady et al. 2025): particles, ε_x and ε_y of 2000 walks of 1001 steps.
const PUBLISHED: [(usize, f64, f64); 4] =
    [(25, 3.8386, 0.1399), (100, 1.0675, 0.0706), (1000, 0.1143, 0.0224), (10_000, 0.01170, 0.00709)];

/// Walks for each number of particles, and their steps.
fn sizes(quick: bool) -> ([usize; 4], usize) {
    if quick { ([8, 8, 4, 2], 100) } else { ([400, 200, 40, 8], 1001) }
}

pub(super) fn table(quick: bool) -> Table {
    let (model, (walks, steps)) = (LinearGaussian::chain(25), sizes(quick));
    let row = |(&(particles, x, y), count): (&(usize, f64, f64), usize)| {
        let each: Vec<[f64; 2]> =
            (0..count as u64).into_par_iter().map(|walk| errors(&model, particles, steps, walk)).collect();
        let part = |k: usize| Figure::mean(&each.iter().map(|pair| pair[k]).collect::<Vec<_>>());
        Row {
            name: particles.to_string(),
            figures: vec![part(0), Figure::plain(x), part(1), Figure::plain(y)],
        }
    };
    let columns = ["particles", "ε_x", "PyDPF's ε_x", "ε_y", "PyDPF's ε_y"];
    Table {
        id: "particles".to_owned(),
        about: format!(
            "Plain filter, multinomial resampling in every step, on `lgss25`: mean squared distance ε_x of the mean from \
             Kalman's, and mean error ε_y of a step's likelihood as a share of Kalman's; {walks:?} walks of {steps} steps."
        ),
        columns: columns.map(ToOwned::to_owned).to_vec(),
        rows: PUBLISHED.iter().zip(walks).map(row).collect(),
    }
}

/// ε_x and ε_y of a walk.
fn errors(model: &LinearGaussian, particles: usize, steps: usize, walk: u64) -> [f64; 2] {
    let recorded = model.walk(steps, &mut Random::stream(31, walk));
    let exact = Exact::of(model, recorded.iter().map(|[_, read]| read));
    let mut sums = [0.0; 2];
    let mut compare = |t: usize, mean: Vec<f64>, log_factor: f64| {
        sums[0] += mean.iter().zip(&exact.means[t]).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        sums[1] += (1.0 - (log_factor - exact.log_factors[t]).exp()).abs();
    };
    filtered(model, &recorded, particles, walk, &mut compare);
    sums.map(|sum| sum / steps as f64)
}

/// Filters a walk; `each` hears of every step's mean and evidence.
fn filtered(
    model: &LinearGaussian,
    walk: &[[Vec<f64>; 2]],
    particles: usize,
    seed: u64,
    each: &mut dyn FnMut(usize, Vec<f64>, f64),
) {
    let (size, space) = (model.states, Space::linear(model.states));
    let diagonal = |size: usize, x: f64| {
        (0..size * size).map(|k| if k.is_multiple_of(size + 1) { x } else { 0.0 }).collect()
    };
    let (noise, read): (Vec<f64>, Vec<f64>) =
        (diagonal(size, model.motion), diagonal(model.readings, model.noise));
    let first = (0..model.readings * size).map(|k| f64::from(u8::from(k % size == k / size))).collect();
    let matrix = model.matrix.iter().map(|&a| a as f32).collect();
    let mut motion = LinearMotion::new(matrix, vec![0.0; size], &noise).expect("a covariance");
    let sensor = LinearSensor::new(first, read, size).expect("a covariance");
    let mut random = Random::stream(32, seed);
    let start = (0..particles).map(|_| (0..size).map(|_| random.normal() as f32).collect::<Vec<_>>());
    let mut state = FilterState::new(Belief::new(Particles::from_states(space, start)));
    let (mut draws, mut workspace) = (Stream::new(33, seed), Workspace::new(space));
    let resampler = Arc::new(Scheme::Multinomial);
    // Always, but for the first step, whose particles are where the prior put them.
    let filter = Filter { resampler, resample_below: 2.0, ..Filter::bootstrap(particles) };
    let first = Filter { resample_below: 0.0, ..filter.clone() };
    for (t, [_, read]) in walk.iter().enumerate() {
        let mut sensor = sensor.of(read);
        let report = match t {
            0 => first.step(&mut state, &mut Still, &mut sensor, &mut draws, &mut workspace),
            _ => filter.step(&mut state, &mut motion, &mut sensor, &mut draws, &mut workspace),
        };
        each(t, state.belief.mean(), report.log_evidence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ε_x falls like 1 / N and ε_y like 1 / √N: sixteen times the particles, within 40 %, which is far more than four
    /// standard errors of 30 walks of 60 steps.
    #[test]
    fn errors_fall_as_they_must() {
        let model = LinearGaussian::chain(4);
        let mean = |particles: usize| {
            let each: Vec<[f64; 2]> = (0..30).map(|walk| errors(&model, particles, 60, walk)).collect();
            [0, 1].map(|k| each.iter().map(|pair| pair[k]).sum::<f64>() / 30.0)
        };
        let [few, many] = [100, 1600].map(mean);
        assert!((few[0] / many[0] / 16.0 - 1.0).abs() < 0.4, "{few:?} {many:?}");
        assert!((few[1] / many[1] / 4.0 - 1.0).abs() < 0.4, "{few:?} {many:?}");
    }
}
