//! Parameters found by ascending the likelihood that a filter estimates, with the gradient of each resampler.

use super::exact::Exact;
use super::models::{Autoregression, Read, Runs, numbers, readings, tensor};
use super::{Contender, Figure, Table};
use crate::model::StateSpace;
use burn::tensor::Device;
use driftless_world::random::Random;
use driftless_world::simulate::LinearGaussian;

const TRUTH: f64 = 0.5;
/// Two thirds of the truth (Corenflos et al. 2021).
const FIRST: f64 = TRUTH * 2.0 / 3.0;
const PARTICLES: usize = 25;
/// Of a gradient by step, at most 1: its curvature is 1 / (1 - θ²) where readings are exact.
const RATE: f64 = 0.5;
/// The answer is the mean of the last few, as each is off by the noise of its gradient.
const LAST: usize = 5;

/// Walks, steps and updates.
fn sizes(quick: bool) -> [usize; 3] {
    if quick { [4, 20, 8] } else { [20, 50, 25] }
}

pub(super) fn table(quick: bool) -> Table {
    let [count, steps, updates] = sizes(quick);
    let walks: Vec<Walk> = (0..count as u64)
        .map(|k| LinearGaussian::plane(TRUTH).walk(steps, &mut Random::stream(61, k)))
        .collect();
    let likeliest: Vec<[f64; 2]> = walks.iter().map(likeliest).collect();
    let each = |contender: &Contender| {
        let found = ascended(contender, &walks, updates, PARTICLES);
        let pairs = || found.iter().zip(&likeliest);
        let off: Vec<f64> = pairs().map(|(f, best)| 0.5 * (f[0] - best[0] + f[1] - best[1])).collect();
        let apart: Vec<f64> = pairs().flat_map(|(f, best)| [f[0] - best[0], f[1] - best[1]]).collect();
        let wrong: Vec<f64> = found.iter().flatten().map(|theta| theta - TRUTH).collect();
        vec![Figure::mean(&off), Figure::root_mean_square(&apart), Figure::root_mean_square(&wrong)]
    };
    let mut rows = Contender::rows(each);
    let exact: Vec<f64> = likeliest.iter().flatten().map(|theta| theta - TRUTH).collect();
    rows.push(super::Row {
        name: "Kalman, exact".to_owned(),
        figures: vec![Figure::plain(0.0), Figure::plain(0.0), Figure::root_mean_square(&exact)],
    });
    let columns = ["resampler", "bias from the likeliest", "RMS from the likeliest", "RMS from the truth"];
    Table {
        id: "recovery".to_owned(),
        about: format!(
            "Both diagonal entries of A on {count} walks of `lgss` of {steps} steps (truth 0.5), from 1/3 by {updates} steps \
             of gradient ascent with {PARTICLES} particles, resampled where less than half count; mean of the last {LAST}."
        ),
        columns: columns.map(ToOwned::to_owned).to_vec(),
        rows,
    }
}

type Walk = Vec<[Vec<f64>; 2]>;

/// A step uphill, of a gradient by step.
fn uphill(theta: f64, gradient: f64) -> f64 {
    (theta + RATE * gradient.clamp(-1.0, 1.0)).clamp(-0.99, 0.99)
}

/// What maximises the exact likelihood.
fn likeliest(walk: &Walk) -> [f64; 2] {
    let log = |[first, second]: [f64; 2]| {
        let model = LinearGaussian { matrix: vec![first, 0.0, 0.0, second], ..LinearGaussian::plane(0.0) };
        Exact::of(&model, walk.iter().map(|[_, read]| read)).log_evidence() / walk.len() as f64
    };
    let mut theta = [FIRST; 2];
    for _ in 0..200 {
        let slope = |k: usize| {
            let at = |h: f64| {
                let mut moved = theta;
                moved[k] += h;
                log(moved)
            };
            (at(1e-5) - at(-1e-5)) / 2e-5
        };
        let slopes = [slope(0), slope(1)];
        theta = [0, 1].map(|k| uphill(theta[k], slopes[k]));
    }
    theta
}

/// What each walk's ascent comes to.
fn ascended(contender: &Contender, walks: &[Walk], updates: usize, particles: usize) -> Vec<[f64; 2]> {
    let (count, steps, device) = (walks.len(), walks[0].len(), Device::flex().autodiff());
    let (plane, readings) = (LinearGaussian::plane(TRUTH), readings(walks, &device));
    let constant = |x: f64| tensor(vec![x; 2 * count], [count, 2], &device);
    let mut theta = vec![FIRST; 2 * count];
    let mut sums = vec![0.0; 2 * count];
    for update in 0..updates {
        let now = tensor::<2>(theta.clone(), [count, 2], &device).require_grad();
        let model = StateSpace {
            transition: Autoregression { a: now.clone(), std: constant(plane.motion.sqrt()) },
            measurement: Read { std: constant(plane.noise.sqrt()) },
        };
        let runs = Runs { readings: readings.clone(), particles, seed: 62 + update as u64 };
        let log = runs.log_evidence(&model, contender.build(Some(0.5)), constant(1.0)).sum();
        let gradient = numbers(&now.grad(&log.backward()).expect("the evidence depends on it"));
        theta.iter_mut().zip(gradient).for_each(|(theta, g)| *theta = uphill(*theta, g / steps as f64));
        if update + LAST >= updates {
            sums.iter_mut().zip(&theta).for_each(|(sum, theta)| *sum += theta / LAST.min(updates) as f64);
        }
    }
    sums.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The likeliest parameters have no slope, and a filter's ascent ends near them: by the gradient that ends at resamplings,
    /// whose noise is the least. What that leaves out is less than 1 in the whole gradient (the table of gradients), whose
    /// slope is 1.3 a step of 30: 0.03, and as much is allowed thrice for the noise of five updates.
    #[test]
    fn ascent_finds_the_likeliest() {
        let walks: Vec<Walk> =
            (0..3).map(|k| LinearGaussian::plane(TRUTH).walk(30, &mut Random::stream(61, k))).collect();
        let contenders = Contender::all();
        let plain = contenders.iter().find(|one| one.name == "systematic").expect("it is registered");
        for (walk, found) in walks.iter().zip(ascended(plain, &walks, 15, 400)) {
            let best = likeliest(walk);
            for (found, best) in found.iter().zip(best) {
                assert!((found - best).abs() < 0.12, "{found} is not {best}");
            }
        }
    }
}
