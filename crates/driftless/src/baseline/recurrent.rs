//! From observations and actions to states, through cells with memory.

mod by_kernels;

pub use by_kernels::KernelWorkspace;

use super::Lstm;
use crate::batch::{Batch, LabelMean};
use crate::dropout::Phase;
use crate::filter::moving::screened;
use crate::model::{Encoder, Learnable, Screen};
use crate::nets::{Activation, Mlp};
use crate::objective::SquaredError;
use crate::parameters::Init;
use crate::prior::row;
use crate::space::Space;
use burn::module::Module;
use burn::tensor::Tensor;

/// What a baseline is built of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaselinePlan {
    /// Features of an observation, E.
    pub encoding: usize,
    /// Outputs of each of the two cells.
    pub units: usize,
    /// Units of each of the two layers after them.
    pub head: usize,
}

impl BaselinePlan {
    /// As released: 128 features, twice 512 units, twice 256; the first state is to be found.
    pub const RELEASED: Self = Self { encoding: 128, units: 512, head: 256 };
}

/// In which units a baseline sees actions and says states.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineNormalisation {
    /// Which coordinates are angles.
    pub space: Space,
    /// Standard deviations of actions, A numbers.
    pub action_std: Vec<f64>,
    /// Means of states, S numbers; 0 for angles.
    pub state_mean: Vec<f64>,
    /// Standard deviations of states, S numbers.
    pub state_std: Vec<f64>,
    /// What counts as an error of one, for instance the mean size of a step. S numbers.
    pub step: Vec<f64>,
}

impl BaselineNormalisation {
    fn check(&self) {
        let positive = |scale: &[f64]| scale.iter().all(|&scale| scale > 0.0);
        let normalisation = [&self.action_std, &self.state_std, &self.step];
        assert!(
            normalisation.iter().all(|scale| positive(scale)),
            "normalisation must be positive: {self:?}"
        );
        let sizes = [self.state_std.len(), self.step.len()];
        assert_eq!(sizes, [self.state_mean.len(); 2], "as many normalisation as coordinates");
    }
}

/// (features of o_t, a_t / std) through two cells and two layers with ReLU to ŝ_t, in units of the
/// states' standard deviations around their means (Jonschkowski et al. 2018, baselines).
#[derive(Module, Debug)]
pub struct RecurrentBaseline<O: Learnable> {
    /// Features of observations.
    pub observation: O,
    /// From the first on.
    pub cells: Vec<Lstm>,
    /// From the last cell to normalised states.
    pub head: Mlp,
    #[module(skip)]
    normalisation: BaselineNormalisation,
}

impl<O: Learnable> RecurrentBaseline<O> {
    /// A network with first weights as in Sonnet 1.
    ///
    /// # Panics
    /// If a scale is not positive, or there are not as many as coordinates.
    pub fn new(
        observation: O,
        plan: BaselinePlan,
        normalisation: BaselineNormalisation,
        init: &mut Init,
    ) -> Self {
        normalisation.check();
        let state = normalisation.state_mean.len();
        let inputs = plan.encoding + normalisation.action_std.len();
        let cells = [inputs, plan.units].map(|inputs| Lstm::new(inputs, plan.units, init)).into();
        let head = Mlp::new(plan.units, &[plan.head, plan.head, state], Activation::Linear, init);
        Self { observation, cells, head, normalisation }
    }

    /// What the first cell is given beside features, [B, T, A].
    fn beside(&self, actions: &Tensor<3>) -> Tensor<3> {
        let (actions, _) = screened(actions.clone());
        let units = row(&self.normalisation.action_std, &actions);
        actions / units
    }

    /// States of what is said in units of their standard deviations around their means, [B, T, S].
    fn scaled(&self, normalised: Tensor<3>) -> Tensor<3> {
        let (mean, std) = (
            row(&self.normalisation.state_mean, &normalised),
            row(&self.normalisation.state_std, &normalised),
        );
        normalised * std + mean
    }
}

impl<O: Encoder> RecurrentBaseline<O> {
    /// ŝ for all steps, [B, T, S]. Angles are as the network says them, not wrapped.
    ///
    /// # Shapes
    /// observations [B, T, ...], actions [B, T, A]. Those that are not finite count as zeros.
    pub fn estimates(&self, observations: &O::Input, actions: &Tensor<3>, phase: Phase) -> Tensor<3> {
        let seen = self.observation.encode(observations.clone().screen().0, phase); // [B, T, E]
        let inputs = Tensor::cat(vec![seen, self.beside(actions)], 2); // [B, T, ·]
        let steps = actions.dims()[1];
        let step = |t: usize| inputs.clone().slice_dim(1, t..t + 1).squeeze_dim::<2>(1); // [B, ·]
        let hidden =
            self.cells.iter().fold((0..steps).map(step).collect(), |steps, cell| cell.forward(steps));
        self.scaled(self.head.forward(Tensor::stack::<3>(hidden, 1)))
    }

    /// ŝ for one more step, [B, S]. `memory` holds what each cell said and remembers, and is empty before the first.
    ///
    /// # Shapes
    /// observations [B, 1, ...], actions [B, 1, A].
    pub fn step(
        &self,
        observations: &O::Input,
        actions: &Tensor<3>,
        memory: &mut Vec<(Tensor<2>, Tensor<2>)>,
    ) -> Tensor<2> {
        let seen = self.observation.encode(observations.clone().screen().0, Phase::Evaluation); // [B, 1, E]
        let mut said = Tensor::cat(vec![seen, self.beside(actions)], 2).squeeze_dim::<2>(1); // [B, ·]
        if memory.is_empty() {
            let nothing = |cell: &Lstm| (cell.nothing(&said), cell.nothing(&said));
            *memory = self.cells.iter().map(nothing).collect();
        }
        for (cell, state) in self.cells.iter().zip(memory) {
            *state = cell.step(said, state.clone());
            said = state.0.clone();
        }
        self.scaled(self.head.forward(said.unsqueeze_dim::<3>(1))).squeeze_dim(1)
    }

    /// Whether this is what [`RecurrentBaseline::step`] of one sequence remembers, or nothing.
    pub(crate) fn fits(&self, memory: &[(Tensor<2>, Tensor<2>)]) -> bool {
        let units = |cell: &Lstm| [1, cell.gates.bias.dims()[0] / 4];
        let cells = self.cells.iter().zip(memory);
        memory.is_empty()
            || memory.len() == self.cells.len()
                && cells.into_iter().all(|(cell, (h, c))| [h.dims(), c.dims()] == [units(cell); 2])
    }

    /// The mean over labelled steps of Σ_k ((s*_k - ŝ_k) / step_k)², angles wrapped: [`SquaredError`].
    pub fn loss(&self, batch: &Batch<O::Input>, over: LabelMean, phase: Phase) -> Tensor<1> {
        self.error(self.estimates(&batch.observations, &batch.actions, phase), batch, over)
    }

    fn error(&self, estimates: Tensor<3>, batch: &Batch<O::Input>, over: LabelMean) -> Tensor<1> {
        SquaredError { scale: self.normalisation.step.clone(), over }.of(
            estimates,
            &batch.labels,
            self.normalisation.space,
        )
    }
}
