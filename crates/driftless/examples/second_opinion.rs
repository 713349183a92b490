//! Trains a very small semi-supervised filter for ten steps and writes down all that went in and
//! came out, for `checks/second_opinion.py` to compute once more in numpy.
//!
//! ```text
//! second_opinion released OUT.npz     resampled at every step, gradients stopped, Adam
//! second_opinion paper OUT.npz        resampled when needed, gradients whole, RMSProp, falling rate
//! ```

use burn::module::{Module, Param};
use burn::tensor::{Bool, DType, Device, Tensor, TensorData};
use driftless::model::{Encoder, FeatureMatch, StateEncoder, Transition};
use driftless::objective::{KernelDensity, PseudoLikelihood, SquaredError, WeightedSum};
use driftless::optimise::{Adam, Optimiser, RmsProp, Rule, Schedule};
use driftless::parameters::{Init, gradients, values};
use driftless::resample::{Scheme, Truncate, WhenBelow};
use driftless::{
    Batch, DrawSizes, Draws, Filter, LabelMean, Labels, Objective, Phase, Prior, Space, StateSpace,
};
use driftless_world::files::npz::NpzWriter;
use driftless_world::files::{NewFile, Overwrite, npy::Dtype, zip::Method};
use driftless_world::random::Random;
use driftless_world::{Error, Result};
use std::f64::consts::{PI, TAU};

const BATCH: usize = 2;
const STEPS: usize = 7;
const PARTICLES: usize = 8;
const BLOCK: usize = 3;
const UPDATES: usize = 10;
const SCALE: [f64; 3] = [0.9, 0.9, 0.7];

/// s' = s + tanh([s, a] A) B + e^r ε, with the size of the noise learned.
#[derive(Module, Debug)]
struct Walk {
    hidden: Param<Tensor<2>>,
    out: Param<Tensor<2>>,
    log_std: Param<Tensor<1>>,
}

impl Walk {
    fn expected(&self, states: Tensor<3>, action: Tensor<2>) -> Tensor<3> {
        let [batch, particles, _] = states.dims();
        let action = action.unsqueeze_dim::<3>(1).expand([batch, particles, 3]);
        let input = Tensor::cat(vec![states.clone(), action], 2); // [B, N, 6]
        states + input.matmul(self.hidden.val().unsqueeze()).tanh().matmul(self.out.val().unsqueeze())
    }
}

impl Transition for Walk {
    fn sample(&self, parents: Tensor<3>, action: Tensor<2>, noise: Tensor<3>) -> Tensor<3> {
        Space::SE2.wrap(self.expected(parents, action) + noise * self.log_std.val().exp().unsqueeze())
    }

    fn log_density(&self, parents: Tensor<3>, states: Tensor<3>, action: Tensor<2>) -> Tensor<2> {
        let residual = Space::SE2.difference(states, self.expected(parents, action));
        let log_std = self.log_std.val().unsqueeze::<3>();
        let z = residual / log_std.clone().exp();
        (z.square() * -0.5 - log_std - 0.5 * TAU.ln()).sum_dim(2).squeeze_dim(2)
    }
}

/// tanh(o A + b).
#[derive(Module, Debug)]
struct FrameEncoder {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

impl Encoder for FrameEncoder {
    type Input = Tensor<3>;

    fn encode(&self, seen: Tensor<3>, _: Phase) -> Tensor<3> {
        (seen.matmul(self.weight.val().unsqueeze()) + self.bias.val().unsqueeze()).tanh()
    }
}

/// tanh((x, y, cos θ, sin θ) A).
#[derive(Module, Debug)]
struct Place {
    weight: Param<Tensor<2>>,
}

impl StateEncoder for Place {
    fn encode(&self, states: Tensor<3>) -> Tensor<3> {
        let heading = states.clone().slice_dim(2, 2..3);
        let place = vec![states.slice_dim(2, 0..2), heading.clone().cos(), heading.sin()];
        Tensor::cat(place, 2).matmul(self.weight.val().unsqueeze()).tanh()
    }
}

type Tiny = StateSpace<Walk, FeatureMatch<FrameEncoder, Place>>;

fn device() -> Device {
    Device::flex().autodiff()
}

fn model() -> Tiny {
    let mut init = Init::new(5, &device(), DType::F64);
    let transition = Walk {
        hidden: init.truncated_normal([6, 4], 0.5),
        out: init.truncated_normal([4, 3], 0.4),
        log_std: init.values([3], vec![-1.2, -1.0, -1.6]),
    };
    let frame_encoder =
        FrameEncoder { weight: init.truncated_normal([4, 5], 0.6), bias: init.truncated_normal([5], 0.3) };
    let place = Place { weight: init.truncated_normal([4, 5], 0.6) };
    StateSpace { transition, measurement: FeatureMatch::new(frame_encoder, place).with_epsilon(1e-3) }
}

/// What the two variants differ in.
struct Variant {
    filter: Filter,
    objective: WeightedSum<Tiny>,
    optimiser: Optimiser,
}

fn prior() -> Prior {
    Prior::Uniform { low: vec![-2.0, -1.5, -PI], high: vec![2.0, 1.5, PI] }
}

fn released() -> Variant {
    let density = -(4.0 * 3.0 * TAU).ln();
    let labels = KernelDensity { scale: SCALE.to_vec(), bandwidth: 0.6, over: LabelMean::Share(0.3) };
    Variant {
        filter: Filter::new(Space::SE2, Truncate(Box::new(Scheme::Systematic))),
        objective: WeightedSum(vec![
            (10.0, Box::new(labels)),
            (0.1, Box::new(PseudoLikelihood::released(BLOCK, density))),
        ]),
        optimiser: Optimiser::new(Rule::Adam(Adam::default()), 0.02),
    }
}

fn paper() -> Variant {
    let needed = WhenBelow { fraction: 0.7, inner: Box::new(Scheme::Multinomial) };
    let rule = RmsProp { momentum: 0.5, ..RmsProp::default() };
    let schedule = Schedule::Cosine { updates: 8, least: 0.25 };
    Variant {
        filter: Filter::new(Space::SE2, needed),
        objective: WeightedSum(vec![
            (1.0, Box::new(SquaredError { scale: SCALE.to_vec(), over: LabelMean::Known })),
            (0.5, Box::new(PseudoLikelihood::paper(BLOCK, prior()))),
        ]),
        optimiser: Optimiser::new(Rule::RmsProp(rule), 0.02).with_schedule(schedule),
    }
}

/// Arrays by name, each a list of rows of the same shape.
#[derive(Default)]
struct Record(Vec<(String, Vec<usize>, Vec<f64>)>);

impl Record {
    /// Appends a row to the array `name`.
    fn push(&mut self, name: &str, row: &[usize], values: &[f64]) {
        let Some(array) = self.0.iter_mut().find(|(known, ..)| known == name) else {
            return self.0.push((name.to_owned(), [&[1], row].concat(), values.to_vec()));
        };
        array.1[0] += 1;
        array.2.extend_from_slice(values);
    }

    fn tensor<const D: usize>(&mut self, name: &str, tensor: &Tensor<D>) {
        self.push(name, &tensor.dims(), &tensor.try_to_vec_as::<f64>().expect("numbers"));
    }

    fn write(&self, out: &str) -> Result<()> {
        let mut writer = NpzWriter::<NewFile>::create(out, Overwrite::Replace, Method::Stored)?;
        for (name, shape, values) in &self.0 {
            writer.array(name, Dtype::F64, shape)?;
            writer.write(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
            writer.end()?;
        }
        writer.finish("second opinion")?.commit()
    }
}

/// Observations, actions and true states out of nowhere; three steps in ten are labelled.
fn batch(record: &mut Record) -> Batch<Tensor<3>> {
    let mut random = Random::new(11);
    let mut tensor = |name: &str, width: usize, size: f64| {
        let numbers = (0..BATCH * STEPS * width).map(|_| size * random.normal()).collect::<Vec<_>>();
        let data = TensorData::new(numbers, [BATCH, STEPS, width]);
        let tensor = Tensor::<3>::from_data(data, (&device(), DType::F64));
        record.tensor(name, &tensor);
        tensor
    };
    let (observations, actions) = (tensor("observations", 4, 1.0), tensor("actions", 3, 0.5));
    let states = tensor("states", 3, 1.0);
    let known =
        [[true, false, false, true, false, false, true], [false, true, false, false, false, true, false]];
    let known = Tensor::<2, Bool>::from_data(known, &device());
    record.tensor("known", &known.clone().float());
    Batch { observations, actions, labels: Labels::new(states, known) }
}

fn draws(update: usize, uniforms: usize, record: &mut Record) -> Draws {
    let sizes = DrawSizes { batch: BATCH, steps: STEPS, particles: PARTICLES, state: 3, noise: 3, uniforms };
    let draws = Draws::new(sizes, 100 + update as u64, &device(), DType::F64);
    record.tensor("start", &draws.uniform_start);
    for step in &draws.steps {
        record.tensor("noise", &step.noise);
        record.push("uniforms", &[BATCH, uniforms], &step.uniforms);
    }
    draws
}

fn train(variant: Variant, record: &mut Record) {
    let Variant { filter, objective, mut optimiser } = variant;
    let (batch, mut model) = (batch(record), model());
    for update in 0..UPDATES {
        let draws = draws(update, filter.resampler.uniforms(PARTICLES, 3), record);
        let run = |model: &Tiny| filter.run(model, &prior(), &batch.observations, &batch.actions, &draws);
        let rollout = run(&model);
        for (name, part) in objective.parts(&model, &rollout, &batch) {
            record.tensor(&format!("loss {name}"), &part);
        }
        let loss = objective.loss(&model, &rollout, &batch);
        record.tensor("loss", &loss);
        for value in values(&model) {
            record.push(&format!("value {}", value.name), &value.shape, &value.values);
        }
        for gradient in gradients(&model, &loss.backward()) {
            record.push(&format!("gradient {}", gradient.name), &gradient.shape, &gradient.values);
        }
        // A graph is gone once it was walked: the optimiser gets one of its own.
        let again = objective.loss(&model, &run(&model), &batch);
        let report;
        (model, report) = optimiser.step(model, &again);
        record.push("gradient norm", &[1], &[report.gradient_norm]);
        assert_eq!(report.skipped, None);
    }
    for value in values(&model) {
        record.push(&format!("value {}", value.name), &value.shape, &value.values);
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (variant, out) = match arguments.as_slice() {
        ["released", out] => (released(), out),
        ["paper", out] => (paper(), out),
        _ => return Err(Error::new("usage: second_opinion released | paper OUT.npz")),
    };
    let mut record = Record::default();
    train(variant, &mut record);
    record.write(out)
}
