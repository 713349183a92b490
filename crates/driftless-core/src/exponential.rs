//! Exponentials of many numbers at once.

use crate::cpu::Work;
use crate::{Cpu, LANES};

/// Below this, e^x is taken as 0; it would be no normal number of 32 bits.
const LEAST: f32 = -87.3;
/// Added to a small number, this leaves it rounded in the last bits.
pub const ROUNDER: f32 = 12_582_912.0;
/// ln 2 in two parts, the first of which has few bits, so that products with whole numbers are exact.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
/// (e^r - 1 - r) / r² for |r| ≤ ln 2 / 2, within 1e-8 (Cephes, Moshier 1989).
const SERIES: [f32; 6] = [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5];

/// e^x of x ≤ 0, within two roundings; 0 below -87.3, and what is not a number stays so.
#[inline(always)]
pub fn exp_of_negative(x: f32) -> f32 {
    // x = n ln 2 + r.
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
    let n = shifted - ROUNDER;
    let r = x - n * LN_2[0] - n * LN_2[1];
    let series = SERIES.iter().fold(0.0, |sum, c| sum * r + c);
    let mantissa = series * r * r + r + 1.0;
    let power = f32::from_bits((shifted.to_bits().wrapping_add(127)) << 23);
    if x < LEAST { 0.0 } else { mantissa * power }
}

/// log Σ exp(factor x) in 32 bits, for a factor that is not negative; -∞ of no numbers, and NaN if one is.
pub fn log_sum_exp(cpu: Cpu, numbers: &[f32], factor: f32) -> f64 {
    if numbers.is_empty() {
        return f64::NEG_INFINITY;
    }
    let mut result = 0.0;
    cpu.run(LogSumExp { numbers, factor, result: &mut result });
    result
}

/// The terms of that sum up to a common factor, so that the largest is 1, in place of those there were; 0 for what is
/// not a number.
pub fn exponentials(cpu: Cpu, numbers: &[f32], factor: f32, terms: &mut Vec<f32>) {
    terms.clear();
    terms.extend_from_slice(numbers);
    cpu.run(Exponentials { numbers: terms, factor });
}

/// log Σ exp x in 64 bits; what is not above -∞ counts for nothing.
pub fn log_sum_exp_64(numbers: &[f64]) -> f64 {
    let highest = numbers.iter().copied().filter(|x| x.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    let terms = numbers.iter().filter(|x| x.is_finite()).map(|x| (x - highest).exp());
    if highest == f64::NEG_INFINITY { highest } else { highest + terms.sum::<f64>().ln() }
}

/// The highest of some numbers, of which NaN is none; -∞ if there is none above.
///
/// Sixteen at once: one after the other, each comparison would wait for the one before.
#[inline(always)]
pub(crate) fn highest(numbers: impl ExactSizeIterator<Item = f32>) -> f32 {
    let mut most = [f32::NEG_INFINITY; LANES];
    let mut numbers = numbers;
    while numbers.len() >= LANES {
        for most in &mut most {
            let x = numbers.next().unwrap_or(f32::NEG_INFINITY);
            *most = if x > *most { x } else { *most };
        }
    }
    let all = most.into_iter().chain(numbers);
    all.fold(f32::NEG_INFINITY, |most, x| if x > most { x } else { most })
}

struct Exponentials<'a> {
    numbers: &'a mut [f32],
    factor: f32,
}

impl Work for Exponentials<'_> {
    #[inline(always)]
    fn run(self) {
        let highest = highest(self.numbers.iter().copied());
        for x in self.numbers {
            let term = exp_of_negative(self.factor * (*x - highest));
            *x = if term > 0.0 { term } else { 0.0 };
        }
    }
}

struct LogSumExp<'a> {
    numbers: &'a [f32],
    factor: f32,
    result: &'a mut f64,
}

impl Work for LogSumExp<'_> {
    #[inline(always)]
    fn run(self) {
        let highest = highest(self.numbers.iter().copied());
        let mut sums = [0.0; LANES];
        let rows = self.numbers.chunks_exact(LANES);
        for (sum, &x) in sums.iter_mut().zip(rows.remainder()) {
            *sum = exp_of_negative(self.factor * (x - highest));
        }
        for row in rows {
            for (sum, &x) in sums.iter_mut().zip(row) {
                *sum += exp_of_negative(self.factor * (x - highest));
            }
        }
        let sum: f64 = sums.iter().map(|&sum| f64::from(sum)).sum();
        // Nothing above -∞: exponents were -∞ + ∞.
        *self.result =
            if highest == f32::NEG_INFINITY && sum.is_nan() && self.numbers.iter().all(|x| !x.is_nan()) {
                f64::NEG_INFINITY
            } else {
                f64::from(self.factor * highest) + sum.ln()
            };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;

    /// Against 64 bits, all over the range.
    #[test]
    fn within_two_roundings() {
        for k in 0..200_000 {
            let x = -87.0 * (k as f32 / 200_000.0);
            let (found, expected) = (f64::from(exp_of_negative(x)), f64::from(x).exp());
            assert!(
                (found / expected - 1.0).abs() < 2.0 * f64::from(f32::EPSILON),
                "{x}: {found} {expected}"
            );
        }
        assert_eq!([0.0, -88.0, f32::NEG_INFINITY].map(exp_of_negative), [1.0, 0.0, 0.0]);
        assert!(exp_of_negative(f32::NAN).is_nan());
    }

    /// Terms are those of the sum, the largest 1; NaN and -∞ are 0, and none is left where nothing is above.
    #[test]
    fn terms_of_the_sum() {
        let mut terms = vec![9.0; 3];
        for cpu in Cpu::all() {
            for count in [1, 16, 37] {
                let x = numbers(count, 5);
                exponentials(cpu, &x, 4.0, &mut terms);
                let most = x.iter().copied().fold(f32::MIN, f32::max);
                let expected = x.iter().map(|x| (4.0 * f64::from(x - most)).exp());
                let close = |(found, expected): (&f32, f64)| (f64::from(*found) - expected).abs() < 1e-6;
                assert!(terms.len() == count && terms.iter().zip(expected).all(close), "{terms:?}");
            }
            exponentials(cpu, &[f32::NAN, 2.0, f32::NEG_INFINITY, 2.0], 3.0, &mut terms);
            assert_eq!(terms, [0.0, 1.0, 0.0, 1.0]);
            exponentials(cpu, &[f32::NAN, f32::NEG_INFINITY], 3.0, &mut terms);
            assert_eq!(terms, [0.0; 2]);
        }
    }

    /// Wherever it stands, in whole rows of sixteen and behind them.
    #[test]
    fn the_highest_is_found() {
        for count in [0, 1, 15, 16, 40] {
            for place in 0..count {
                let mut x = numbers(count, 7);
                x[place] = 5.0;
                x[(place + 1) % count] = if count > 1 { f32::NAN } else { 5.0 };
                assert_eq!(highest(x.into_iter()), 5.0, "{place} of {count}");
            }
        }
        assert_eq!(highest([f32::NAN].into_iter()), f32::NEG_INFINITY);
    }

    /// A sum of a thousand terms in 32 bits, sixteen at a time, is exact within some 60 roundings.
    #[test]
    fn sums_of_exponentials() {
        for (count, factor) in [(1, 3.0), (15, 0.0), (1000, 20.0)] {
            let x = numbers(count, 3);
            let terms = x.iter().map(|&x| (f64::from(factor) * f64::from(x)).exp());
            let expected = terms.sum::<f64>().ln();
            for cpu in Cpu::all() {
                let found = log_sum_exp(cpu, &x, factor);
                assert!((found - expected).abs() < 1e-5, "{cpu:?}: {found} {expected}");
            }
            let wide: Vec<f64> = x.iter().map(|&x| f64::from(factor) * f64::from(x)).collect();
            assert!((log_sum_exp_64(&wide) - expected).abs() < 1e-12);
        }
        assert!(log_sum_exp(Cpu::best(), &[1.0, f32::NAN], 1.0).is_nan());
        assert_eq!(log_sum_exp(Cpu::best(), &[f32::NEG_INFINITY; 3], 1.0), f64::NEG_INFINITY);
        assert_eq!(log_sum_exp_64(&[f64::NAN, f64::NEG_INFINITY]), f64::NEG_INFINITY);
        assert_eq!(log_sum_exp_64(&[f64::NAN, 2.0]), 2.0);
    }
}
