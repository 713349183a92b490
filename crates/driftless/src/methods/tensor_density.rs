//! The density of a model's transition, for looking back on what a filter of tensors believed.

use crate::filter::moving;
use crate::model::Model;
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless_core::Particles;
use driftless_core::motion::Density;

/// Numbers in a pose, and in an action.
const POSE: usize = 3;
/// Pairs of states that are computed at once.
const AT_ONCE: usize = 1 << 18;

/// A transition with its action bound to it. All pairs of a step are computed at once, as tensors are slow one by one.
pub(super) struct TensorDensity<M> {
    model: M,
    action: [f32; POSE],
    logs: Vec<f32>,
}

impl<M: Model> TensorDensity<M> {
    /// Of a missing action, as the filter moves particles then.
    pub(super) fn new(model: M, action: Option<[f64; POSE]>) -> Self {
        let action = action.map_or([f32::NAN; POSE], |action| action.map(|x| x as f32));
        Self { model, action, logs: Vec::new() }
    }

    /// Rows of particles for some later states.
    fn compute(&mut self, from: &Particles, to: &[Vec<f32>]) {
        let (count, particles) = (to.len(), from.len());
        let on = |values: Vec<f32>, dims: [usize; 3]| {
            Tensor::<3>::from_data(TensorData::new(values, dims), (&Device::flex(), DType::F32))
        };
        let parents: Vec<f32> = (0..particles).flat_map(|i| from.state(i)).collect();
        let dims = [count, particles, POSE];
        let parents = on(parents, [1, particles, POSE]).expand(dims);
        let states = on(to.concat(), [count, 1, POSE]).expand(dims);
        let actions = on(self.action.repeat(count), [count, 1, POSE]);
        let logs = moving::log_density(&self.model, parents, states, &actions, 0);
        self.logs.extend(logs.try_to_vec_as::<f32>().expect("densities are numbers"));
    }
}

impl<M: Model + Send> Density for TensorDensity<M> {
    fn prepare(&mut self, from: &Particles, to: &Particles) {
        self.logs.clear();
        let states: Vec<Vec<f32>> = (0..to.len()).map(|m| to.state(m).collect()).collect();
        for some in states.chunks((AT_ONCE / from.len().max(1)).max(1)) {
            self.compute(from, some);
        }
    }

    fn log_density(&mut self, from: &Particles, m: usize, _: &[f32], log: &mut [f32]) {
        log.copy_from_slice(&self.logs[m * from.len()..][..from.len()]);
    }

    fn release(&mut self) {
        self.logs = Vec::new();
    }
}
