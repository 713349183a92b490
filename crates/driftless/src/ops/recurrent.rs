//! The recurrent baseline: image encoder, LSTMs and layers.

use super::dense::{chain, chain_gradient};
use super::images::{image_gradients, image_net};
use super::numbers;
use crate::baseline::{Lstm, RecurrentBaseline};
use crate::nets::ImageEncoder;
use crate::parameters::Named;
use driftless_kernels::recurrent::{self, Estimator, EstimatorGradient};

/// Its weights where the kernels want them.
pub(crate) fn estimator(of: &RecurrentBaseline<ImageEncoder>) -> Estimator {
    let cells = of.cells.iter().map(kernel).collect();
    Estimator { frame_encoder: image_net(&of.observation), cells, head: chain(&of.head) }
}

fn kernel(lstm: &Lstm) -> recurrent::Lstm {
    let [rows, columns] = lstm.gates.weight.dims();
    let units = columns / 4;
    recurrent::Lstm::new([rows - units, units], &numbers(&lstm.gates.weight), &numbers(&lstm.gates.bias))
}

/// Derivatives by all parameters, in the order of the fields.
pub(crate) fn estimator_gradients(net: &Estimator, by: &EstimatorGradient) -> Vec<Named> {
    let mut all = image_gradients("observation", &net.frame_encoder, &by.frame_encoder);
    for (number, (cell, by)) in net.cells.iter().zip(&by.cells).enumerate() {
        let (name, [weight, bias]) = (format!("cells.{number}.gates"), cell.gradient(by));
        let shape = [cell.inputs() + cell.units(), 4 * cell.units()];
        all.push(Named::singles(format!("{name}.weight"), &shape, weight));
        all.push(Named::singles(format!("{name}.bias"), &shape[1..], bias));
    }
    all.extend(chain_gradient("head", &net.head, &by.head));
    all
}
