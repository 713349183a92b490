//! Kalman's filter: the exact answer for linear models with normal noise.

use driftless_world::simulate::LinearGaussian;

/// What is known after each step.
pub(super) struct Exact {
    /// E[s_t | o_1:t].
    pub means: Vec<Vec<f64>>,
    /// log p(o_t | o_1:t-1).
    pub log_factors: Vec<f64>,
}

impl Exact {
    /// Of the readings of a walk. Their noises are independent, so that they may be taken in one after another.
    pub(super) fn of<'a>(model: &LinearGaussian, readings: impl Iterator<Item = &'a Vec<f64>>) -> Self {
        let size = model.states;
        let mut mean = vec![0.0; size];
        let mut covariance: Vec<f64> =
            (0..size * size).map(|k| f64::from(u8::from(k % (size + 1) == 0))).collect();
        let mut found = Self { means: Vec::new(), log_factors: Vec::new() };
        for (step, reading) in readings.enumerate() {
            if step > 0 {
                mean = model.moved(&mean);
                covariance = predicted(model, &covariance);
            }
            let mut log = 0.0;
            for (k, read) in reading.iter().enumerate() {
                // S = P_kk + r, gain P_·k / S.
                let variance = covariance[k * (size + 1)] + model.noise;
                let (column, apart) = (column(&covariance, k, size), read - mean[k]);
                log -= 0.5 * ((std::f64::consts::TAU * variance).ln() + apart * apart / variance);
                for row in 0..size {
                    mean[row] += column[row] * apart / variance;
                    (0..size).for_each(|j| covariance[row * size + j] -= column[row] * column[j] / variance);
                }
            }
            found.means.push(mean.clone());
            found.log_factors.push(log);
        }
        found
    }

    /// log p(o_1:T).
    pub(super) fn log_evidence(&self) -> f64 {
        self.log_factors.iter().sum()
    }
}

fn column(matrix: &[f64], k: usize, size: usize) -> Vec<f64> {
    (0..size).map(|row| matrix[row * size + k]).collect()
}

/// A P Aᵀ + q I: A applied to the rows of P, which is symmetric, then to the columns of what came of it.
fn predicted(model: &LinearGaussian, covariance: &[f64]) -> Vec<f64> {
    let size = model.states;
    let half: Vec<f64> = covariance.chunks(size).flat_map(|row| model.moved(row)).collect();
    let columns: Vec<Vec<f64>> = (0..size).map(|k| model.moved(&column(&half, k, size))).collect();
    let entry =
        |k: usize| columns[k % size][k / size] + if k.is_multiple_of(size + 1) { model.motion } else { 0.0 };
    (0..size * size).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    /// By dense linear algebra, from a first variance of 1: A = [[0.5, 0.2], [0.1, 0.7]], q = 0.3, r = 0.2, where the
    /// first number of three states is read as 0.4, -0.2 and 0.9.
    #[test]
    fn golden_numbers() {
        let matrix = vec![0.5, 0.2, 0.1, 0.7];
        let model = LinearGaussian { matrix, states: 2, readings: 1, motion: 0.3, noise: 0.2 };
        let readings = [0.4, -0.2, 0.9].map(|o| vec![o]);
        let found = Exact::of(&model, readings.iter());
        assert_close(&found.log_factors, &GOLDEN_FACTORS, 1e-10);
        assert_close(&found.means.concat(), &GOLDEN_MEANS, 1e-10);
    }

    const GOLDEN_FACTORS: [f64; 3] = [-1.076_765_978_268, -0.763_577_957_051, -1.426_282_888_706];
    const GOLDEN_MEANS: [f64; 6] = [
        0.333_333_333_333,
        0.0,
        -0.073_925_501_433,
        -0.060_171_919_771,
        0.568_855_632_254,
        0.167_337_327_329,
    ];
}
