//! From observations and actions to states, through cells with or without memory.

mod by_hand;
mod by_kernels;

pub use by_hand::LossByHand;
pub use by_kernels::KernelRoom;

use super::{Cell, CellKind};
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
    /// Which kind of cells.
    pub cell: CellKind,
    /// Features of an observation, E.
    pub encoding: usize,
    /// Outputs of each of the two cells.
    pub units: usize,
    /// Units of each of the two layers after them.
    pub head: usize,
    /// Whether the first state is told.
    pub tracking: bool,
}

impl BaselinePlan {
    /// As released: 128 features, twice 512 units, twice 256; the first state is to be found.
    pub fn released(cell: CellKind) -> Self {
        Self { cell, encoding: 128, units: 512, head: 256, tracking: false }
    }
}

/// In which units a baseline sees actions and says states.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineScales {
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

impl BaselineScales {
    fn check(&self) {
        let positive = |scale: &[f64]| scale.iter().all(|&scale| scale > 0.0);
        let scales = [&self.action_std, &self.state_std, &self.step];
        assert!(scales.iter().all(|scale| positive(scale)), "scales must be positive: {self:?}");
        let sizes = [self.state_std.len(), self.step.len()];
        assert_eq!(sizes, [self.state_mean.len(); 2], "as many scales as coordinates");
    }
}

/// (features of o_t, a_t / std) through two cells and two layers with ReLU to ŝ_t, in units of the
/// states' standard deviations around their means (Jonschkowski et al. 2018, baselines).
///
/// Told the first state, it gets ((s_1 - mean) / std, 1) beside the features at the first step, and
/// zeros at all others.
#[derive(Module, Debug)]
pub struct RecurrentBaseline<O: Learnable> {
    /// Features of observations.
    pub observation: O,
    /// From the first on.
    pub cells: Vec<Cell>,
    /// From the last cell to normalised states.
    pub head: Mlp,
    #[module(skip)]
    plan: BaselinePlan,
    #[module(skip)]
    scales: BaselineScales,
}

impl<O: Learnable> RecurrentBaseline<O> {
    /// A network with first weights as in Sonnet 1.
    ///
    /// # Panics
    /// If a scale is not positive, or there are not as many as coordinates.
    pub fn new(observation: O, plan: BaselinePlan, scales: BaselineScales, init: &mut Init) -> Self {
        scales.check();
        let state = scales.state_mean.len();
        let told = if plan.tracking { state + 1 } else { 0 };
        let inputs = plan.encoding + told + scales.action_std.len();
        let cells = [inputs, plan.units].map(|inputs| Cell::new(plan.cell, inputs, plan.units, init)).into();
        let head = Mlp::new(plan.units, &[plan.head, plan.head, state], Activation::Linear, init);
        Self { observation, cells, head, plan, scales }
    }

    /// The first state [B, S], normalised, and a 1, at the first of T steps; [B, T, S + 1].
    fn told(&self, first: Option<Tensor<2>>, like: &Tensor<3>) -> Tensor<3> {
        let [batch, steps, _] = like.dims();
        let zeros = |steps: usize| {
            let shape = [batch, steps, self.scales.state_mean.len() + 1];
            Tensor::<3>::zeros(shape, (&like.device(), like.dtype()))
        };
        let Some(first) = first else { return zeros(steps) };
        let first = first.unsqueeze_dim::<3>(1); // [B, 1, S]
        let normalised = (first - row(&self.scales.state_mean, like)) / row(&self.scales.state_std, like);
        let flag = normalised.clone().slice_dim(2, 0..1).ones_like();
        let known = Tensor::cat(vec![normalised, flag], 2); // [B, 1, S + 1]
        if steps > 1 { Tensor::cat(vec![known, zeros(steps - 1)], 1) } else { known }
    }

    /// What the first cell is given beside features, [B, T, ·]: the first state, if it is told, and actions.
    fn beside(&self, actions: &Tensor<3>, first: Option<Tensor<2>>) -> Tensor<3> {
        assert!(self.plan.tracking || first.is_none(), "this network was not planned for a first state");
        let (actions, _) = screened(actions.clone());
        let scaled = actions.clone() / row(&self.scales.action_std, &actions);
        if self.plan.tracking { Tensor::cat(vec![self.told(first, &actions), scaled], 2) } else { scaled }
    }

    /// States of what is said in units of their standard deviations around their means, [B, T, S].
    fn scaled(&self, normalised: Tensor<3>) -> Tensor<3> {
        let (mean, std) =
            (row(&self.scales.state_mean, &normalised), row(&self.scales.state_std, &normalised));
        normalised * std + mean
    }
}

impl<O: Encoder> RecurrentBaseline<O> {
    /// ŝ for all steps, [B, T, S]. Angles are as the network says them, not wrapped.
    ///
    /// # Shapes
    /// observations [B, T, ...], actions [B, T, A], first [B, S]. A network that tracks may do
    /// without the first state, and gets zeros. Observations and actions that are not finite count as
    /// zeros.
    ///
    /// # Panics
    /// If a first state is given to a network that does not track.
    pub fn estimates(
        &self,
        observations: &O::Input,
        actions: &Tensor<3>,
        first: Option<Tensor<2>>,
        phase: Phase,
    ) -> Tensor<3> {
        let inputs = self.inputs(observations, actions, first, phase); // [B, T, ·]
        let steps = actions.dims()[1];
        let step = |t: usize| inputs.clone().slice_dim(1, t..t + 1).squeeze_dim::<2>(1); // [B, ·]
        let hidden =
            self.cells.iter().fold((0..steps).map(step).collect(), |steps, cell| cell.forward(steps));
        self.said(Tensor::stack::<3>(hidden, 1))
    }

    /// What the first cell is given, [B, T, ·].
    fn inputs(
        &self,
        observations: &O::Input,
        actions: &Tensor<3>,
        first: Option<Tensor<2>>,
        phase: Phase,
    ) -> Tensor<3> {
        let seen = self.observation.encode(observations.clone().screen().0, phase); // [B, T, E]
        Tensor::cat(vec![seen, self.beside(actions, first)], 2)
    }

    /// The states, [B, T, S], that are said of what the last cell makes, [B, T, ·].
    fn said(&self, hidden: Tensor<3>) -> Tensor<3> {
        self.scaled(self.head.forward(hidden))
    }

    /// The mean over labelled steps of Σ_k ((s*_k - ŝ_k) / step_k)², angles wrapped: [`SquaredError`].
    pub fn loss(
        &self,
        batch: &Batch<O::Input>,
        first: Option<Tensor<2>>,
        over: LabelMean,
        phase: Phase,
    ) -> Tensor<1> {
        self.error(self.estimates(&batch.observations, &batch.actions, first, phase), batch, over)
    }

    fn error(&self, estimates: Tensor<3>, batch: &Batch<O::Input>, over: LabelMean) -> Tensor<1> {
        SquaredError { scale: self.scales.step.clone(), over }.of(estimates, &batch.labels, self.scales.space)
    }
}
