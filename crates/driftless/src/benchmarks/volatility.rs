//! Stochastic volatility: its three parameters learned through each resampler, and what they are worth.

use super::models::{Autoregression, Returns, Runs, numbers, readings, tensor};
use super::{Contender, Figure, Row, Table, average};
use crate::model::StateSpace;
use burn::tensor::Device;
use driftless_core::models::{LinearMotion, Volatility};
use driftless_core::motion::Still;
use driftless_core::{Belief, Filter, FilterState, Particles, Space, Stream, Workspace};
use driftless_world::random::Random;
use driftless_world::simulate::StochasticVolatility;

const TRUTH: StochasticVolatility = StochasticVolatility::USUAL;
const PARTICLES: usize = 32;
/// Steps of walks that learned parameters are tested on, and their number (PyDPF has 100 steps).
const TEST: (usize, u64) = (100, 50);
/// Of a gradient by step, at most 1; it falls by this factor with each update.
const RATE: (f64, f64) = (0.1, 0.98);
/// Of Nesterov's momentum.
const MOMENTUM: f64 = 0.9;

/// Repeats, walks, steps and updates.
fn sizes(quick: bool) -> [usize; 4] {
    if quick { [2, 4, 20, 6] } else { [4, 20, 50, 60] }
}

pub(super) fn table(quick: bool) -> Table {
    let [repeats, count, steps, updates] = sizes(quick);
    let walks: Vec<Walk> = (0..count as u64).map(|k| TRUTH.walk(steps, &mut Random::stream(71, k))).collect();
    let each = |contender: &Contender| {
        let found = learned(contender, &walks, repeats, updates);
        let bounds: Vec<f64> = found.iter().map(|&model| bound(model)).collect();
        let off = |of: fn(&StochasticVolatility) -> f64| {
            Figure::mean(&found.iter().map(|model| (of(model) - of(&TRUTH)).abs()).collect::<Vec<_>>())
        };
        vec![Figure::mean(&bounds), off(|m| m.persistence), off(|m| m.motion), off(|m| m.scale)]
    };
    let mut rows = Contender::rows(each);
    let nothing = Figure::plain(0.0);
    rows.push(Row {
        name: "the truth".to_owned(),
        figures: vec![Figure::plain(bound(TRUTH)), nothing, nothing, nothing],
    });
    Table {
        id: "volatility".to_owned(),
        about: format!(
            "α, σ and β of `volatility` (0.91, 1, 0.5), learned from {count} walks of {steps} steps with {PARTICLES} particles \
             resampled in every step, by {updates} updates from {repeats} random starts: evidence lower bound (mean log Ẑ of \
             {} other walks of {} steps by the plain filter with 100 particles), and errors.",
            TEST.1, TEST.0
        ),
        columns: ["resampler", "ELBO", "α: error", "σ: error", "β: error"].map(ToOwned::to_owned).to_vec(),
        rows,
    }
}

type Walk = Vec<[Vec<f64>; 2]>;

/// The three numbers where they have a meaning.
fn sensible([a, s, b]: [f64; 3]) -> [f64; 3] {
    [a.clamp(0.0, 0.99), s.clamp(0.05, 10.0), b.clamp(0.05, 10.0)]
}

/// What stochastic gradient ascent comes to from each start: α ~ U(0, 1), σ ~ U(0, 5), β ~ U(0, 2) as in PyDPF.
fn learned(
    contender: &Contender,
    walks: &[Walk],
    repeats: usize,
    updates: usize,
) -> Vec<StochasticVolatility> {
    let (device, mut random) = (Device::flex().autodiff(), Random::new(72));
    let mut theta: Vec<[f64; 3]> =
        (0..repeats).map(|_| sensible([random.unit(), 5.0 * random.unit(), 2.0 * random.unit()])).collect();
    let mut velocity = vec![[0.0; 3]; repeats];
    let readings = readings(walks, &device).repeat_dim(0, repeats);
    let mut rate = RATE.0;
    for update in 0..updates {
        let runs = Runs { readings: readings.clone(), particles: PARTICLES, seed: 73 + update as u64 };
        let gradients = gradients(contender, &runs, &theta, walks.len());
        for ((theta, velocity), gradient) in theta.iter_mut().zip(&mut velocity).zip(gradients) {
            let mut moved = *theta;
            for k in 0..3 {
                velocity[k] = MOMENTUM * velocity[k] + gradient[k];
                moved[k] += rate * (gradient[k] + MOMENTUM * velocity[k]);
            }
            *theta = sensible(moved);
        }
        rate *= RATE.1;
    }
    let model = |[persistence, motion, scale]: [f64; 3]| StochasticVolatility { persistence, motion, scale };
    theta.into_iter().map(model).collect()
}

/// ∇ of the mean log Ẑ by step, of each repeat, no number beyond 1.
fn gradients(contender: &Contender, runs: &Runs, theta: &[[f64; 3]], walks: usize) -> Vec<[f64; 3]> {
    let ([batch, steps, _], device) = (runs.readings.dims(), runs.readings.device());
    let now = tensor::<2>(theta.concat(), [theta.len(), 3], &device).require_grad();
    let each = now.clone().unsqueeze_dim::<3>(1).expand([theta.len(), walks, 3]).reshape([batch, 3]);
    let part = |k: usize| each.clone().slice_dim(1, k..k + 1); // [B, 1]
    let model = StateSpace {
        transition: Autoregression { a: part(0), std: part(1) },
        measurement: Returns { scale: part(2) },
    };
    let spread = part(1) / (-part(0).square() + 1.0).sqrt();
    let log = runs.log_evidence(&model, contender.build(None), spread).sum() * (1.0 / (walks * steps) as f64);
    let gradient = numbers(&now.grad(&log.backward()).expect("the evidence depends on it"));
    let row =
        |row: &[f64]| [row[0], row[1], row[2]].map(|g| if g.is_finite() { g.clamp(-1.0, 1.0) } else { 0.0 });
    gradient.chunks_exact(3).map(row).collect()
}

/// Mean log Ẑ of other walks, by the plain filter.
fn bound(model: StochasticVolatility) -> f64 {
    let of = |walk: u64| log_evidence(model, &TRUTH.walk(TEST.0, &mut Random::stream(74, walk)), walk);
    average(&(0..TEST.1).map(of).collect::<Vec<_>>())
}

fn log_evidence(model: StochasticVolatility, walk: &Walk, seed: u64) -> f64 {
    const PARTICLES: usize = 100;
    let (space, mut random) = (Space::linear(1), Random::stream(75, seed));
    let start = (0..PARTICLES).map(|_| [(model.spread() * random.normal()) as f32]);
    let mut state = FilterState::new(Belief::new(Particles::from_states(space, start)));
    let persistence = vec![model.persistence as f32];
    let mut motion = LinearMotion::new(persistence, vec![0.0], &[model.motion.powi(2)]).expect("a variance");
    let (mut draws, mut workspace) = (Stream::new(76, seed), Workspace::new(space));
    let filter = Filter::bootstrap(PARTICLES);
    let each = walk.iter().enumerate().map(|(t, [_, read])| {
        let mut sensor = Volatility { scale: model.scale, reading: read[0] };
        let report = match t {
            0 => filter.step(&mut state, &mut Still, &mut sensor, &mut draws, &mut workspace),
            _ => filter.step(&mut state, &mut motion, &mut sensor, &mut draws, &mut workspace),
        };
        report.log_evidence
    });
    each.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without motion, α = 0 and σ → 0, returns are independent N(0, β²): the evidence is theirs.
    #[test]
    fn without_volatility_the_evidence_is_closed() {
        let still = StochasticVolatility { persistence: 0.0, motion: 1e-4, scale: 0.5 };
        let walk = still.walk(20, &mut Random::new(3));
        let exact: f64 = walk
            .iter()
            .map(|[_, read]| -0.5 * ((std::f64::consts::TAU * 0.25).ln() + read[0] * read[0] / 0.25))
            .sum();
        let plain = log_evidence(still, &walk, 0);
        // Weights are of 32 bits, and σ is 1e-4 of a logarithm of variances.
        assert!((plain - exact).abs() < 1e-3, "{plain} is not {exact}");
    }

    /// The plain filter and the differentiable one estimate the same: within four standard errors of 40 runs.
    #[test]
    fn both_filters_agree() {
        let walk = TRUTH.walk(15, &mut Random::new(4));
        let plain: Vec<f64> = (0..40).map(|seed| log_evidence(TRUTH, &walk, seed)).collect();
        let device = Device::flex();
        let one = |x: f64| tensor(vec![x; 40], [40, 1], &device);
        let model = StateSpace {
            transition: Autoregression { a: one(TRUTH.persistence), std: one(TRUTH.motion) },
            measurement: Returns { scale: one(TRUTH.scale) },
        };
        let contenders = Contender::all();
        let runs = Runs { readings: readings(&vec![walk; 40], &device), particles: 100, seed: 5 };
        let found = numbers(&runs.log_evidence(&model, contenders[0].build(Some(0.5)), one(TRUTH.spread())));
        let [plain, found] = [Figure::mean(&plain), Figure::mean(&found)];
        let error = plain.error.unwrap().hypot(found.error.unwrap());
        assert!((plain.value - found.value).abs() < 4.0 * error && error < 0.2, "{plain:?} {found:?}");
    }
}
