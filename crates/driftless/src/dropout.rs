//! Dropout whose masks come in as data, like all randomness here.

use burn::tensor::{Tensor, TensorData};
use driftless_world::random::Random;
use rayon::prelude::*;

/// What a network is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// To be used: nothing is dropped.
    Evaluation,
    /// To be trained: the seed names which features are dropped.
    Training {
        /// Names the masks.
        seed: u64,
    },
}

impl Phase {
    /// The same phase with other, independent masks: for a second use of the same network.
    pub fn split(self, use_number: u64) -> Self {
        match self {
            Self::Evaluation => Self::Evaluation,
            Self::Training { seed } => Self::Training { seed: Random::stream(seed, use_number).bits() },
        }
    }

    /// What [`Phase::dropout`] multiplies [rows, width] features by, if by anything.
    pub(crate) fn masks(self, rows: usize, width: usize, keep: f64) -> Option<Vec<f32>> {
        match self {
            Self::Evaluation => None,
            Self::Training { seed } => {
                let mut all = vec![0.0; rows * width];
                let rows = all.par_chunks_mut(width.max(1)).enumerate();
                rows.for_each(|(row, to)| {
                    to.iter_mut().zip(mask(row as u64, keep, seed)).for_each(|(x, mask)| *x = mask as f32);
                });
                Some(all)
            }
        }
    }

    /// Keeps each feature with probability `keep`, and normalisation the kept by 1 / keep, so that means
    /// stay; nothing happens in evaluation.
    ///
    /// # Shapes
    /// [B, ...] to the same. Row b has a mask of its own, which does not change with the batch.
    pub fn dropout<const D: usize>(self, features: Tensor<D>, keep: f64) -> Tensor<D> {
        match self {
            Self::Evaluation => features,
            Self::Training { seed } => drop_out(features, keep, seed),
        }
    }
}

/// Dropout that is always on: for networks whose randomness it is.
pub fn drop_out<const D: usize>(features: Tensor<D>, keep: f64, seed: u64) -> Tensor<D> {
    let dims = features.dims();
    let mask: Vec<f64> = masks(dims[0], dims[1..].iter().product(), keep, seed).collect();
    let mask = Tensor::from_data(TensorData::new(mask, dims), (&features.device(), features.dtype()));
    features * mask
}

/// What features are multiplied by, row after row.
fn masks(rows: usize, width: usize, keep: f64, seed: u64) -> impl Iterator<Item = f64> {
    (0..rows as u64).flat_map(move |row| mask(row, keep, seed).take(width))
}

/// What one row is multiplied by, without an end.
fn mask(row: u64, keep: f64, seed: u64) -> impl Iterator<Item = f64> {
    let mut random = Random::stream(seed, row);
    std::iter::repeat_with(move || if random.chance(keep) { 1.0 / keep } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;
    use burn::tensor::Device;

    fn masks(phase: Phase, rows: usize) -> Vec<f64> {
        numbers(&phase.dropout(Tensor::<2>::ones([rows, 5000], &Device::flex()), 0.3))
    }

    #[test]
    fn means_stay_and_rows_are_their_own() {
        let phase = Phase::Training { seed: 4 };
        let two = masks(phase, 2);
        let mean = two.iter().sum::<f64>() / 1e4;
        // A kept feature is 1 / 0.3: the variance of one is 0.7 / 0.3; five standard errors.
        assert!((mean - 1.0).abs() < 5.0 * (0.7 / 0.3 / 1e4_f64).sqrt(), "{mean}");
        assert!(two.iter().all(|&m| m == 0.0 || (m - 1.0 / 0.3).abs() < 1e-6));
        assert_eq!(masks(phase, 1), two[..5000]);
        assert_ne!(two[..5000], two[5000..]);
        assert_ne!(masks(phase.split(1), 1), two[..5000]);
        assert_ne!(masks(phase.split(1), 1), masks(phase.split(2), 1));
    }

    #[test]
    fn nothing_is_dropped_in_use() {
        assert!(masks(Phase::Evaluation, 1).iter().all(|&m| m == 1.0));
        assert_eq!(Phase::Evaluation.split(3), Phase::Evaluation);
    }
}
