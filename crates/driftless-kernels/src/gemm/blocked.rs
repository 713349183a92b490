//! Products of matrices that no cache holds, in blocks that one does.

use super::{Epilogue, Left, Order, Out, Right, product};
use crate::{Cpu, LANES};

/// Of K at once: a panel of so many rows is half of the nearest cache.
const DEEP: usize = 256;
/// Rows of the left factor at once: with [`DEEP`], well within the second cache; whole tiles of any CPU.
const TALL: usize = 48;

/// Room for the blocks of a product, kept from one to the next.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    pub(super) left: Vec<f32>,
    pub(super) right: Vec<f32>,
}

/// As [`product`], for large matrices. Blocks follow from the shape alone.
///
/// # Panics
/// As [`product`]; and if it is to be finished by a ReLU or a gate, which need the whole sum.
pub fn large_product(
    cpu: Cpu,
    left: Left,
    right: Right,
    [m, k, n]: [usize; 3],
    epilogue: Epilogue,
    out: &mut Out,
    blocks: &mut Blocks,
) {
    let sums = matches!(epilogue, Epilogue::Store | Epilogue::Add | Epilogue::Bias(_));
    assert!(sums, "large products are sums");
    left.check_bounds(m, k);
    for from in (0..k.max(1)).step_by(DEEP) {
        let deep = DEEP.min(k - from);
        let right = right.packed(from, [deep, n], &mut blocks.right);
        let epilogue = if from == 0 { epilogue } else { Epilogue::Add };
        for top in (0..m).step_by(TALL) {
            let tall = TALL.min(m - top);
            let left = left.block([top, from], [tall, deep], &mut blocks.left);
            let mut out = Out { numbers: &mut out.numbers[top * out.stride..], stride: out.stride };
            product(cpu, left, right, [tall, deep, n], epilogue, &mut out);
        }
    }
}

impl<'a> Left<'a> {
    /// Some rows and columns of it, copied where columns would have to be read one by one.
    fn block<'b>(
        &self,
        [top, from]: [usize; 2],
        [tall, deep]: [usize; 2],
        workspace: &'b mut Vec<f32>,
    ) -> Left<'b>
    where
        'a: 'b,
    {
        match self.order {
            Order::Rows => return Left::rows(&self.numbers[top * self.stride + from..], self.stride),
            Order::Turned => {}
            Order::Taps(_) | Order::TapRows(_) => {
                panic!("an image as kernels see it is not multiplied in blocks")
            }
        }
        // Rows that begin a power of two apart would all want the same lines of a cache.
        let stride = deep + LANES;
        workspace.resize(tall * stride, 0.0);
        for (k, column) in self.numbers[from * self.stride..].chunks(self.stride).take(deep).enumerate() {
            for (row, x) in column[top..top + tall].iter().enumerate() {
                workspace[row * stride + k] = *x;
            }
        }
        Left::rows(workspace, stride)
    }
}

impl<'a> Right<'a> {
    /// All from a row on.
    pub(crate) fn below(self, row: usize) -> Self {
        Self { numbers: &self.numbers[row * self.stride..], ..self }
    }

    /// Some rows of it as panels, copied where they are not.
    fn packed<'b>(self, from: usize, [deep, n]: [usize; 2], workspace: &'b mut Vec<f32>) -> Right<'b>
    where
        'a: 'b,
    {
        let below = self.below(from);
        // Without rows there is nothing to copy.
        if self.stride == LANES || deep == 0 {
            return below;
        }
        below.check_bounds(deep, n);
        workspace.resize(deep * n, 0.0);
        for (panel, lines) in workspace.chunks_exact_mut(deep * LANES).enumerate() {
            let rows = below.numbers[panel * LANES..].chunks(self.stride);
            for (line, row) in lines.chunks_exact_mut(LANES).zip(rows) {
                line.copy_from_slice(&row[..LANES]);
            }
        }
        Right { numbers: workspace, stride: LANES, panel: deep * LANES, offsets: None }
    }
}
