//! The loss of an LSTM baseline with its gradient through time computed by hand.

use super::RecurrentBaseline;
use crate::baseline::unrolled::{CellGradients, Unrolled, Weights};
use crate::baseline::{Cell, Lstm};
use crate::batch::{Batch, LabelMean};
use crate::dropout::Phase;
use crate::model::Encoder;
use burn::tensor::{DType, Device, Gradients, Tensor, TensorData};

/// What a network is to learn from a batch.
#[derive(Clone, Debug)]
pub struct LossByHand {
    /// The loss.
    pub value: f64,
    /// A number, `[1]`, with the gradient of the loss, and its value, too, unless a gradient is not
    /// finite: then neither is this.
    pub surrogate: Tensor<1>,
}

impl<O: Encoder> RecurrentBaseline<O> {
    /// [`RecurrentBaseline::loss`] and its gradient, faster for LSTM cells of 32 bits on a
    /// device with autodiff; the same for all others. Equal up to rounding.
    ///
    /// The encoder and the head are left to Burn. Between them the derivatives are constants G: the
    /// gradient of Σ x ⊙ G, over all parameters and the inputs x of the cells, is that of the loss.
    pub fn loss_by_hand(
        &self,
        batch: &Batch<O::Input>,
        first: Option<Tensor<2>>,
        over: LabelMean,
        phase: Phase,
    ) -> LossByHand {
        let Some(lstms) = self.lstms(&batch.actions).filter(|_| batch.actions.is_autodiff()) else {
            let surrogate = self.loss(batch, first, over, phase);
            return LossByHand { value: number(&surrogate), surrogate };
        };
        let inputs = self.inputs(&batch.observations, &batch.actions, first, phase);
        let [size, steps, _] = inputs.dims();
        let inputs = step_after_step(inputs);
        let unrolled = unrolled(&lstms, &inputs, size);
        let hidden = last(&unrolled).autodiff().require_grad(); // [T B, ·]
        let estimates = self.said(row_after_row(hidden.clone(), [size, steps]));
        let loss = self.error(estimates, batch, over);
        let value = number(&loss);
        let gradients = loss.backward();
        let mut by_outputs = hidden.grad(&gradients).expect("estimates are made of the hidden states");
        let mut pulls = self.pulls_on_head(&gradients);
        for (lstm, unrolled) in lstms.iter().zip(unrolled).rev() {
            let gradients = unrolled.backward(by_outputs.inner());
            pulls.push(pull_on_cell(lstm, &gradients));
            by_outputs = gradients.inputs;
        }
        let pull = pulls.into_iter().fold(pulled(inputs, by_outputs), |sum, pull| sum + pull);
        LossByHand { value, surrogate: pull.clone() - pull.detach() + value }
    }

    /// [`RecurrentBaseline::estimates`] without gradients, faster for LSTM cells of 32 bits; the same for
    /// all others.
    pub fn estimates_by_hand(
        &self,
        observations: &O::Input,
        actions: &Tensor<3>,
        first: Option<Tensor<2>>,
        phase: Phase,
    ) -> Tensor<3> {
        let Some(lstms) = self.lstms(actions) else {
            return self.estimates(observations, actions, first, phase);
        };
        let inputs = self.inputs(observations, actions, first, phase);
        let [size, steps, _] = inputs.dims();
        let inputs = step_after_step(inputs);
        let hidden = last(&unrolled(&lstms, &inputs, size));
        self.said(row_after_row(hidden, [size, steps])).detach()
    }

    /// The cells, if all are LSTMs of 32 bits, and there are steps for them.
    fn lstms(&self, actions: &Tensor<3>) -> Option<Vec<&Lstm>> {
        let [size, steps, _] = actions.dims();
        let usable = size * steps > 0 && actions.dtype() == DType::F32;
        let lstms = self.cells.iter().map(|cell| match cell {
            Cell::Lstm(lstm) if usable => Some(lstm),
            _ => None,
        });
        lstms.collect()
    }

    /// Σ x ⊙ ∂ loss / ∂ x for the parameters of the head, but those that are frozen.
    fn pulls_on_head(&self, gradients: &Gradients) -> Vec<Tensor<1>> {
        let pulls = self.head.layers.iter().flat_map(|layer| {
            let (weight, bias) = (layer.weight.val(), layer.bias.val());
            let (by_weight, by_bias) = (weight.grad(gradients), bias.grad(gradients));
            [by_weight.map(|by| pulled(weight, by)), by_bias.map(|by| pulled(bias, by))]
        });
        pulls.flatten().collect()
    }
}

/// Σ x ⊙ ∂ loss / ∂ x over the parameters of a cell.
fn pull_on_cell(lstm: &Lstm, by: &CellGradients) -> Tensor<1> {
    let bias = TensorData::new(by.bias.clone(), [by.bias.len()]);
    let bias = Tensor::<1>::from_data(bias, &Device::flex());
    pulled(lstm.gates.weight.val(), by.weight.clone()) + pulled(lstm.gates.bias.val(), bias)
}

/// Σ x ⊙ G with G constant.
fn pulled<const D: usize>(x: Tensor<D>, by: Tensor<D>) -> Tensor<1> {
    (x * by.inner()).sum()
}

/// The forward passes of all cells, each on the outputs of the one before.
fn unrolled(lstms: &[&Lstm], inputs: &Tensor<2>, size: usize) -> Vec<Unrolled> {
    let mut passes: Vec<Unrolled> = Vec::with_capacity(lstms.len());
    for lstm in lstms {
        let inputs = passes.last().map_or_else(|| inputs.clone().inner(), Unrolled::outputs);
        passes.push(Unrolled::new(Weights::of(lstm), inputs, size));
    }
    passes
}

fn last(passes: &[Unrolled]) -> Tensor<2> {
    passes.last().expect("a baseline has cells").outputs()
}

/// [B, T, ·] → [T B, ·].
fn step_after_step(values: Tensor<3>) -> Tensor<2> {
    let [size, steps, width] = values.dims();
    values.swap_dims(0, 1).reshape([steps * size, width])
}

/// [T B, ·] → [B, T, ·].
fn row_after_row(values: Tensor<2>, [size, steps]: [usize; 2]) -> Tensor<3> {
    let width = values.dims()[1];
    values.reshape([steps, size, width]).swap_dims(0, 1)
}

fn number(loss: &Tensor<1>) -> f64 {
    loss.try_to_vec_as::<f64>().expect("a loss is a number")[0]
}
