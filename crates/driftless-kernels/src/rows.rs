//! Small jobs on rows: lengths, and the way back through a division by them.

use crate::cpu::Work;
use crate::{Cpu, LANES};

/// The least length that a row is divided by.
pub const LEAST_LENGTH: f32 = 1e-6;

/// Divides rows by their Euclidean lengths, at least [`LEAST_LENGTH`], which replace those there were.
pub fn to_units(cpu: Cpu, rows: &mut [f32], width: usize, lengths: &mut Vec<f32>) {
    lengths.clear();
    cpu.run(Units { rows, width, lengths });
}

struct Units<'a> {
    rows: &'a mut [f32],
    width: usize,
    lengths: &'a mut Vec<f32>,
}

impl Work for Units<'_> {
    #[inline(always)]
    fn run(self) {
        for row in self.rows.chunks_exact_mut(self.width) {
            let mut length = dot(row, row).sqrt();
            if length == f32::INFINITY {
                // Squares of large numbers are too large, those of their shares are not.
                let large = row.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
                divide(row, large);
                let share = dot(row, row).sqrt();
                divide(row, share);
                length = share * large;
            } else {
                length = if length < LEAST_LENGTH { LEAST_LENGTH } else { length };
                divide(row, length);
            }
            self.lengths.push(length);
        }
    }
}

#[inline(always)]
fn divide(row: &mut [f32], by: f32) {
    for x in row {
        *x /= by;
    }
}

/// Σ a b, in sixteen sums at once.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for k in 0..LANES {
            sums[k] += a[k] * b[k];
        }
    }
    sums.iter().sum()
}

/// ∂x = (∂u - u (u · ∂u)) / |x| for u = x / |x|, in place of ∂u; ∂u / [`LEAST_LENGTH`] where that was the divisor.
pub fn back_through_units(cpu: Cpu, units: &[f32], lengths: &[f32], width: usize, by_units: &mut [f32]) {
    cpu.run(BackThroughUnits { units, lengths, width, by_units });
}

struct BackThroughUnits<'a> {
    units: &'a [f32],
    lengths: &'a [f32],
    width: usize,
    by_units: &'a mut [f32],
}

impl Work for BackThroughUnits<'_> {
    #[inline(always)]
    fn run(self) {
        let rows = self.units.chunks_exact(self.width).zip(self.by_units.chunks_exact_mut(self.width));
        for ((unit, by), length) in rows.zip(self.lengths) {
            let along = if *length > LEAST_LENGTH { dot(unit, by) } else { 0.0 };
            by.iter_mut().zip(unit).for_each(|(by, u)| *by = (*by - u * along) / length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;

    /// 3 and 4 have length 5; nothing, very little and very much are divided by what can be.
    #[test]
    fn lengths_by_hand() {
        for cpu in Cpu::all() {
            let mut rows = vec![0.0; 4 * LANES];
            (rows[0], rows[5]) = (3.0, 4.0);
            rows[2 * LANES] = 1e-7;
            (rows[3 * LANES], rows[3 * LANES + 1]) = (3e30, -4e30);
            let mut lengths = vec![9.0];
            to_units(cpu, &mut rows, LANES, &mut lengths);
            assert_eq!(lengths[..3], [5.0, LEAST_LENGTH, LEAST_LENGTH]);
            assert!((lengths[3] / 5e30 - 1.0).abs() < 1e-6);
            assert_eq!((rows[0], rows[5], rows[LANES]), (0.6, 0.8, 0.0));
            assert!((rows[2 * LANES] - 0.1).abs() < 1e-7, "{}", rows[2 * LANES]);
            assert!((rows[3 * LANES] - 0.6).abs() < 1e-6 && (rows[3 * LANES + 1] + 0.8).abs() < 1e-6);
        }
    }

    /// Against differences of x / |x| in 64 bits.
    #[test]
    fn the_way_back() {
        let (x, pull) = (numbers(LANES, 1), numbers(LANES, 2));
        let loss = |x: &[f64]| {
            let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            x.iter().zip(&pull).map(|(x, &g)| x / length * f64::from(g)).sum::<f64>()
        };
        let (mut units, mut by, mut lengths) = (x.clone(), pull.clone(), Vec::new());
        to_units(Cpu::best(), &mut units, LANES, &mut lengths);
        back_through_units(Cpu::best(), &units, &lengths, LANES, &mut by);
        let exact: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        for (k, found) in by.into_iter().enumerate() {
            let at = |step: f64| {
                let mut x = exact.clone();
                x[k] += step;
                loss(&x)
            };
            let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((f64::from(found) - expected).abs() < 1e-6, "{found} {expected}");
        }
    }
}
