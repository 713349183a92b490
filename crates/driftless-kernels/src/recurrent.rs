//! An LSTM over whole sequences, forward and backward through time.
//!
//! What inputs add to the gates is one product for all steps, and so are the derivatives by weights: only what has to
//! wait for another step is computed step by step. Threads take parts of the units, with all four gates of theirs, and
//! meet once a step. Parts follow from the number of units alone and no sum is ever cut, so that any number of threads
//! gives the same bits.

mod backward;
mod estimator;
mod gates;
mod weights;

pub use estimator::{Estimator, EstimatorGradient, EstimatorMemory, SequenceFrames};
pub use weights::{Lstm, LstmGradient};

use crate::dense::Rows;
use crate::gemm::{Blocks, Epilogue, Left, Out, large_product};
use crate::{Cpu, padded};
use gates::Pass;
use rayon::prelude::*;
use weights::Part;

/// What a backward pass needs of a forward pass, and room to work. Nothing is allocated once it has seen as many
/// steps of as many sequences.
///
/// Rows are those of all sequences at step 1, then at step 2, and so on.
#[derive(Clone, Debug, Default)]
pub struct LstmMemory {
    /// Steps and sequences.
    sizes: [usize; 2],
    parts: Vec<PartMemory>,
    /// A zero state, and then h of all steps; rows of the padded number of units.
    h: Vec<f32>,
    /// The derivatives by the sums of the gates at the step that was gone through last, part by part.
    last: Vec<Vec<f32>>,
}

/// What belongs to some of the units. Rows as those of the whole.
#[derive(Clone, Debug, Default)]
struct PartMemory {
    /// What the gates let through, and then the derivatives by their sums.
    gates: Vec<f32>,
    /// A zero state, and then c of all steps.
    c: Vec<f32>,
    tanh_c: Vec<f32>,
    /// h of one step; derivatives by it on the way back.
    h: Vec<f32>,
    by_c: Vec<f32>,
    /// The derivatives by the sums of the gates at one step.
    now: Vec<f32>,
    blocks: Blocks,
}

impl LstmMemory {
    /// h of all steps, rows of the padded number of units.
    pub fn outputs(&self) -> &[f32] {
        &self.h[self.state()..]
    }

    /// h before each step.
    fn before(&self) -> &[f32] {
        &self.h[..self.h.len() - self.state()]
    }

    /// Numbers of all units at one step.
    fn state(&self) -> usize {
        self.h.len() / (self.sizes[0] + 1)
    }

    fn make_room(&mut self, lstm: &Lstm, [steps, sequences]: [usize; 2]) {
        self.sizes = [steps, sequences];
        let state = sequences * padded(lstm.units());
        self.h.resize((steps + 1) * state, 0.0);
        self.h[..state].fill(0.0);
        self.parts.resize(lstm.parts().len(), PartMemory::default());
        self.last.resize(lstm.parts().len(), Vec::new());
        for (memory, part) in self.parts.iter_mut().zip(lstm.parts()) {
            let state = sequences * part.units();
            memory.gates.resize(4 * steps * state, 0.0);
            memory.c.resize((steps + 1) * state, 0.0);
            memory.c[..state].fill(0.0);
            memory.tanh_c.resize(steps * state, 0.0);
            memory.h.resize(state, 0.0);
        }
    }
}

impl Lstm {
    /// h of so many steps of so many sequences, whose inputs are rows; from a state of zeros.
    ///
    /// # Panics
    /// If there are fewer rows, or none are asked for.
    pub fn forward(&self, cpu: Cpu, inputs: Rows, sizes: [usize; 2], memory: &mut LstmMemory) {
        let [steps, sequences] = sizes;
        assert!(steps * sequences > 0, "an LSTM needs steps and sequences");
        memory.make_room(self, sizes);
        let LstmMemory { parts, h, .. } = memory;
        parts.par_iter_mut().zip(self.parts()).for_each(|(memory, part)| {
            part.hear(cpu, inputs, steps * sequences, memory);
        });
        let state = sequences * padded(self.units());
        for t in 0..steps {
            let (before, after) = h[t * state..].split_at_mut(state);
            parts.par_iter_mut().zip(self.parts()).for_each(|(memory, part)| {
                part.step(cpu, before, [t, sequences], memory);
            });
            self.gather(parts, sequences, after);
        }
    }

    /// Rows of all units, of those of the parts.
    fn gather(&self, parts: &[PartMemory], sequences: usize, rows: &mut [f32]) {
        let width = padded(self.units());
        for (memory, part) in parts.iter().zip(self.parts()) {
            let own = memory.h.chunks_exact(part.units()).take(sequences);
            for (row, own) in rows.chunks_exact_mut(width).zip(own) {
                row[part.from()..part.from() + part.units()].copy_from_slice(own);
            }
        }
    }
}

impl Part {
    /// What inputs and biases add to the gates, at all steps.
    fn hear(&self, cpu: Cpu, inputs: Rows, count: usize, memory: &mut PartMemory) {
        let left = Left::rows(inputs.numbers, inputs.stride);
        let mut out = Out { numbers: &mut memory.gates, stride: self.columns() };
        let shape = [count, self.inputs, self.columns()];
        let finish = Epilogue::Bias(&self.bias);
        large_product(cpu, left, self.of_x.right(), shape, finish, &mut out, &mut memory.blocks);
    }

    /// Own units of step t, by the h of all units before.
    fn step(&self, cpu: Cpu, before: &[f32], [t, sequences]: [usize; 2], memory: &mut PartMemory) {
        let (width, state) = (before.len() / sequences, sequences * self.units());
        let PartMemory { gates, c, tanh_c, h, blocks, .. } = memory;
        let gates = &mut gates[4 * t * state..][..4 * state];
        let shape = [sequences, width, self.columns()];
        let mut out = Out { numbers: gates, stride: self.columns() };
        let left = Left::rows(before, width);
        large_product(cpu, left, self.of_h.right(), shape, Epilogue::Add, &mut out, blocks);
        let (c_before, c) = c[t * state..].split_at_mut(state);
        Pass { gates, c_before, c, tanh_c: &mut tanh_c[t * state..], h }.on(cpu);
    }
}

#[cfg(test)]
mod tests;
