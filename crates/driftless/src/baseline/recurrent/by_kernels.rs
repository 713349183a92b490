//! The loss and the estimates of an LSTM baseline that sees images, through the kernels.

use super::RecurrentBaseline;
use crate::batch::{Batch, LabelMean};
use crate::dropout::Phase;
use crate::nets::ImageEncoder;
use crate::ops::{estimator, estimator_gradients};
use crate::parameters::Named;
use burn::tensor::{DType, Tensor, TensorData};
use driftless_kernels::Cpu;
use driftless_kernels::recurrent::{Estimator, EstimatorGradient, EstimatorMemory, SequenceFrames};

/// A workspace, kept from one batch to the next.
#[derive(Clone, Debug, Default)]
pub struct KernelWorkspace {
    memory: EstimatorMemory,
    gradient: EstimatorGradient,
}

/// Sequences on plain numbers, and the network's weights where the kernels want them.
struct Lesson {
    net: Estimator,
    images: Vec<f32>,
    masks: Option<Vec<f32>>,
    beside: Vec<f32>,
    /// Steps and sequences.
    sizes: [usize; 2],
}

impl Lesson {
    fn seen(&self) -> SequenceFrames<'_> {
        let Self { images, masks, beside, sizes, .. } = self;
        SequenceFrames { images, masks: masks.as_deref(), beside, sizes: *sizes }
    }
}

impl RecurrentBaseline<ImageEncoder> {
    /// [`RecurrentBaseline::loss`] and its derivatives by all parameters, frozen or not; equal up to rounding.
    ///
    /// Nothing where the kernels cannot: for other precisions than 32 bits, images that are not
    /// finite, without steps, and on a device without autodiff. The loss itself, on a few numbers a step, is left to
    /// tensors, so that it is said once.
    pub fn loss_by_kernels(
        &self,
        batch: &Batch<Tensor<5>>,
        over: LabelMean,
        phase: Phase,
        workspace: &mut KernelWorkspace,
    ) -> Option<(f64, Vec<Named>)> {
        if !batch.actions.is_autodiff() {
            return None;
        }
        let lesson = self.lesson(&batch.observations, &batch.actions, phase)?;
        let (seen, net, KernelWorkspace { memory, gradient }) = (lesson.seen(), &lesson.net, workspace);
        net.forward(Cpu::best(), &seen, memory);
        let said = self.normalised(&lesson, memory.said(), &batch.actions).require_grad();
        let loss = self.error(self.scaled(said.clone()), batch, over);
        let value = loss.try_to_vec_as::<f64>().expect("a loss is a number")[0];
        let by_said = said.grad(&loss.backward()).expect("the loss is made of what is said");
        let by_said = by_step(&by_said, net.head.width());
        net.backward(Cpu::best(), &seen, &by_said, memory, gradient);
        Some((value, estimator_gradients(net, gradient)))
    }

    /// [`RecurrentBaseline::estimates`] without gradients; nothing where the kernels cannot.
    pub fn estimates_by_kernels(
        &self,
        observations: &Tensor<5>,
        actions: &Tensor<3>,
        phase: Phase,
        workspace: &mut KernelWorkspace,
    ) -> Option<Tensor<3>> {
        let lesson = self.lesson(observations, actions, phase)?;
        lesson.net.forward(Cpu::best(), &lesson.seen(), &mut workspace.memory);
        Some(self.scaled(self.normalised(&lesson, workspace.memory.said(), actions)))
    }

    /// Everything on plain numbers, if the kernels can do with it.
    fn lesson(&self, observations: &Tensor<5>, actions: &Tensor<3>, phase: Phase) -> Option<Lesson> {
        let [sequences, steps, _] = actions.dims();
        let precisions = [observations.dtype(), actions.dtype(), self.head.layers[0].weight.val().dtype()];
        if sequences * steps == 0 || precisions != [DType::F32; 3] {
            return None;
        }
        let net = estimator(self);
        let images = observations.clone().try_into_vec_as::<f32>().expect("images are numbers");
        let beside = self.beside(actions).try_into_vec_as::<f32>().expect("actions are numbers");
        let masks = phase.masks(sequences, steps * net.frame_encoder.mask(), self.observation.plan().keep);
        let finite = images.iter().chain(&beside).all(|x| x.is_finite());
        finite.then_some(Lesson { net, images, masks, beside, sizes: [steps, sequences] })
    }

    /// What was said, [B, T, S], beside actions.
    fn normalised(&self, lesson: &Lesson, said: &[f32], actions: &Tensor<3>) -> Tensor<3> {
        let ([steps, sequences], width) = (lesson.sizes, lesson.net.head.width());
        let state = self.normalisation.state_mean.len();
        let row = |at: usize| &said[(at % steps * sequences + at / steps) * width..][..state];
        let numbers: Vec<f32> = (0..steps * sequences).flat_map(row).copied().collect();
        let data = TensorData::new(numbers, [sequences, steps, state]);
        Tensor::from_data(data, (&actions.device(), DType::F32))
    }
}

/// [B, T, S] as padded rows, step after step.
fn by_step(values: &Tensor<3>, width: usize) -> Vec<f32> {
    let [sequences, steps, state] = values.dims();
    let numbers = values.try_to_vec_as::<f32>().expect("derivatives are numbers");
    let mut rows = vec![0.0; steps * sequences * width];
    for (at, from) in numbers.chunks_exact(state).enumerate() {
        let row = at % steps * sequences + at / steps;
        rows[row * width..][..state].copy_from_slice(from);
    }
    rows
}
