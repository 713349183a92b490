//! Products of matrices on all cores, with the same bits on any number of them.

use burn::tensor::{Device, Tensor, TensorData};
use rayon::prelude::*;

/// Into how many parts a product is cut where it is large enough.
const PARTS: usize = 8;

/// Rows or columns of a part at least: below, starting a thread costs more than it saves. A multiple of
/// what a processor adds at once.
const LEAST: usize = 32;

/// Rows of numbers as a matrix that no gradient is asked of.
pub(super) fn matrix(values: Vec<f32>, columns: usize) -> Tensor<2> {
    let shape = [values.len() / columns, columns];
    Tensor::from_data(TensorData::new(values, shape), &Device::flex())
}

/// The numbers of a matrix, row after row.
pub(super) fn numbers(matrix: Tensor<2>) -> Vec<f32> {
    matrix.try_into_vec_as::<f32>().expect("a matrix holds numbers")
}

/// The transpose, its rows lying one after another: a product that is taken at every step reads it so.
pub(super) fn transposed(matrix: &Tensor<2>) -> Tensor<2> {
    let [rows, _] = matrix.dims();
    self::matrix(numbers(matrix.clone().transpose()), rows)
}

/// left · right, row after row.
///
/// What is cut is the longer side of the result, never the sums, and where it is cut follows from the
/// shapes alone.
pub(super) fn product(left: &Tensor<2>, right: &Tensor<2>) -> Vec<f32> {
    let ([rows, _], [_, columns]) = (left.dims(), right.dims());
    let longer = rows.max(columns);
    let part = longer.div_ceil(PARTS).next_multiple_of(LEAST);
    if part >= longer {
        return numbers(left.clone().matmul(right.clone()));
    }
    let cuts: Vec<_> = (0..longer).step_by(part).map(|from| from..longer.min(from + part)).collect();
    let mut all = vec![0.0; rows * columns];
    if rows >= columns {
        all.par_chunks_mut(part * columns).zip(cuts).for_each(|(place, cut)| {
            place.copy_from_slice(&numbers(left.clone().slice_dim(0, cut).matmul(right.clone())));
        });
        return all;
    }
    let parts: Vec<Vec<f32>> = cuts
        .par_iter()
        .map(|cut| numbers(left.clone().matmul(right.clone().slice_dim(1, cut.clone()))))
        .collect();
    for (row, place) in all.chunks_exact_mut(columns).enumerate() {
        for (cut, part) in cuts.iter().zip(&parts) {
            place[cut.clone()].copy_from_slice(&part[row * cut.len()..(row + 1) * cut.len()]);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small whole numbers, of which 32 bits hold every product and sum: the result must be exact.
    fn whole(rows: usize, columns: usize) -> Vec<f32> {
        (0..rows * columns).map(|k| (k * 7 % 11) as f32 - 5.0).collect()
    }

    /// Three loops; results that are one part, many parts of rows or columns, the last one shorter.
    #[test]
    fn against_loops() {
        for [rows, inner, columns] in [[1, 1, 1], [3, 5, 7], [300, 9, 20], [5, 40, 301], [257, 3, 257]] {
            let (left, right) = (whole(rows, inner), whole(inner, columns));
            let term = |row: usize, column: usize| {
                (0..inner).map(|k| left[row * inner + k] * right[k * columns + column]).sum::<f32>()
            };
            let expected: Vec<f32> = (0..rows * columns).map(|k| term(k / columns, k % columns)).collect();
            let (left, right) = (matrix(left.clone(), inner), matrix(right.clone(), columns));
            assert_eq!(product(&left, &right), expected, "{rows} x {inner} x {columns}");
            let turned = transposed(&right);
            assert_eq!(turned.dims(), [columns, inner]);
            assert_eq!(product(&left, &turned.transpose()), expected, "turned twice");
        }
    }
}
