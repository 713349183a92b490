//! Back through time: from derivatives by outputs to those by weights and inputs.

use super::gates::PassBack;
use super::weights::{Lstm, LstmGradient, Part, PartGradient};
use super::{LstmMemory, PartMemory};
use crate::dense::{Rows, add_rows};
use crate::gemm::{Epilogue, Left, Out, Right, large_product, product};
use crate::{Cpu, padded};
use rayon::prelude::*;

/// Rows whose derivatives by inputs are computed at once.
const ROWS: usize = 96;

impl Lstm {
    /// The derivatives by all weights, given those by the outputs of the last forward pass of these inputs; and those
    /// by the inputs, rows of their padded number, if somebody asks. They replace what was there. A memory can be gone
    /// back through once.
    pub fn backward(
        &self,
        cpu: Cpu,
        inputs: Rows,
        by_outputs: &[f32],
        memory: &mut LstmMemory,
        (gradient, by_inputs): (&mut LstmGradient, Option<&mut Vec<f32>>),
    ) {
        let [steps, sequences] = memory.sizes;
        let state = memory.state();
        let LstmMemory { parts, last, .. } = memory;
        for t in (0..steps).rev() {
            let by_h = &by_outputs[t * state..][..state];
            parts.par_iter_mut().zip(self.parts()).for_each(|(memory, part)| {
                let after = if t + 1 < steps { &last[..] } else { &[] };
                part.step_back(cpu, (by_h, after), [t, sequences], memory);
            });
            let pairs = parts.iter_mut().zip(last.iter_mut());
            pairs.for_each(|(memory, last)| std::mem::swap(&mut memory.now, last));
        }
        gradient.parts.resize(self.parts().len(), PartGradient::default());
        let mut parts = std::mem::take(&mut memory.parts);
        let jobs = parts.par_iter_mut().zip(self.parts()).zip(&mut gradient.parts);
        jobs.for_each(|((own, part), gradient)| part.weigh(cpu, inputs, memory, own, gradient));
        memory.parts = parts;
        if let Some(by_inputs) = by_inputs {
            self.to_inputs(cpu, memory, by_inputs);
        }
    }

    fn to_inputs(&self, cpu: Cpu, memory: &LstmMemory, by_inputs: &mut Vec<f32>) {
        let (width, count) = (padded(self.inputs()), memory.sizes.iter().product::<usize>());
        by_inputs.resize(count * width, 0.0);
        by_inputs.par_chunks_mut(ROWS * width).enumerate().for_each(|(number, rows)| {
            let count = rows.len() / width;
            for (memory, part) in memory.parts.iter().zip(self.parts()) {
                let columns = part.columns();
                let left = Left::rows(&memory.gates[number * ROWS * columns..], columns);
                let right = self.back_x.right().below(4 * part.from());
                let finish = if part.from() == 0 { Epilogue::Store } else { Epilogue::Add };
                let mut out = Out { numbers: rows, stride: width };
                product(cpu, left, right, [count, columns, width], finish, &mut out);
            }
        });
    }
}

impl Part {
    /// The derivatives by own gates at step t, given those by the outputs of all units, and those by the gates of all
    /// parts at the step after it, if there is one.
    fn step_back(
        &self,
        cpu: Cpu,
        (by_outputs, after): (&[f32], &[Vec<f32>]),
        [t, sequences]: [usize; 2],
        memory: &mut PartMemory,
    ) {
        let (units, state) = (self.units(), sequences * self.units());
        let PartMemory { gates, c, tanh_c, h: by_h, by_c, now, .. } = memory;
        if after.is_empty() {
            by_c.clear();
            by_c.resize(state, 0.0);
        }
        let rows = by_outputs.chunks_exact(by_outputs.len() / sequences);
        for (to, row) in by_h.chunks_exact_mut(units).zip(rows) {
            to.copy_from_slice(&row[self.from()..self.from() + units]);
        }
        let mut row = 0;
        for theirs in after {
            let columns = theirs.len() / sequences;
            let (left, right) = (Left::rows(theirs, columns), self.back_h.right().below(row));
            let mut out = Out { numbers: by_h, stride: units };
            product(cpu, left, right, [sequences, columns, units], Epilogue::Add, &mut out);
            row += columns;
        }
        let gates = &mut gates[4 * t * state..][..4 * state];
        let (c_before, tanh_c) = (&c[t * state..][..state], &tanh_c[t * state..][..state]);
        PassBack { gates, by_c, by_h, c_before, tanh_c }.on(cpu);
        now.clear();
        now.extend_from_slice(gates);
    }

    /// The derivatives by own weights, of those by own gates at all steps.
    fn weigh(
        &self,
        cpu: Cpu,
        inputs: Rows,
        memory: &LstmMemory,
        own: &mut PartMemory,
        gradient: &mut PartGradient,
    ) {
        let ([steps, sequences], columns) = (memory.sizes, self.columns());
        let (count, width) = (steps * sequences, memory.state() / sequences);
        let before = Rows { numbers: memory.before(), stride: width };
        for (x, height, sum) in
            [(inputs, self.inputs, &mut gradient.of_x), (before, width, &mut gradient.of_h)]
        {
            sum.resize(height * columns, 0.0);
            let (left, right) = (Left::transposed(x.numbers, x.stride), Right::rows(&own.gates, columns));
            let mut out = Out { numbers: sum, stride: columns };
            let shape = [height, count, columns];
            large_product(cpu, left, right, shape, Epilogue::Store, &mut out, &mut own.blocks);
        }
        gradient.bias.clear();
        add_rows(cpu, &own.gates, columns, &mut gradient.bias);
    }
}
