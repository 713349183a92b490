//! What the gates of an LSTM do at one step, and the derivatives of it; sixteen units at a time.

use crate::cpu::Work;
use crate::exponential::exp_of_negative;
use crate::{Cpu, LANES};

/// Of a row: sixteen units' i, then j, f and o.
pub(super) const BLOCK: usize = 4 * LANES;

/// 1 / (1 + e^-z).
#[inline(always)]
fn sigmoid(z: f32) -> f32 {
    let e = exp_of_negative(-z.abs());
    let part = if z < 0.0 { e } else { 1.0 };
    part / (1.0 + e)
}

/// tanh. Where 1 - e^-2z would cancel, the first terms of the series; the next is below a rounding.
#[inline(always)]
fn tanh(z: f32) -> f32 {
    let (square, e) = (z * z, exp_of_negative(-2.0 * z.abs()));
    let terms = [-1.0 / 3.0, 2.0 / 15.0, -17.0 / 315.0, 62.0 / 2835.0];
    let series = z + z * square * (terms[0] + square * (terms[1] + square * (terms[2] + square * terms[3])));
    let far = ((1.0 - e) / (1.0 + e)).copysign(z);
    if z.abs() < 0.3 { series } else { far }
}

/// c' = σ(f + 1) c + σ(i) tanh(j); h' = tanh(c') σ(o), for some units of all sequences.
pub(super) struct Pass<'a> {
    /// Sums of the gates before, and what the gates make of them after; blocks of [`BLOCK`].
    pub gates: &'a mut [f32],
    /// c before, in the order of blocks.
    pub c_before: &'a [f32],
    /// c'.
    pub c: &'a mut [f32],
    /// tanh c'.
    pub tanh_c: &'a mut [f32],
    /// h'.
    pub h: &'a mut [f32],
}

impl Pass<'_> {
    pub(super) fn on(self, cpu: Cpu) {
        cpu.run(self);
    }
}

impl Work for Pass<'_> {
    #[inline(always)]
    fn run(self) {
        let blocks = self.gates.chunks_exact_mut(BLOCK).zip(self.c_before.chunks_exact(LANES));
        let blocks = blocks.zip(self.c.chunks_exact_mut(LANES)).zip(self.tanh_c.chunks_exact_mut(LANES));
        for ((((gates, c_before), c), tanh_c), h) in blocks.zip(self.h.chunks_exact_mut(LANES)) {
            let [i, j, f, o] = quarters(gates);
            for u in 0..LANES {
                (i[u], j[u]) = (sigmoid(i[u]), tanh(j[u]));
                (f[u], o[u]) = (sigmoid(f[u] + 1.0), sigmoid(o[u]));
                c[u] = f[u] * c_before[u] + i[u] * j[u];
                tanh_c[u] = tanh(c[u]);
                h[u] = tanh_c[u] * o[u];
            }
        }
    }
}

/// From the derivatives by h' and c' to those by the sums of the gates and by c.
pub(super) struct PassBack<'a> {
    /// i, j, f, o, and then the derivatives by their sums.
    pub gates: &'a mut [f32],
    /// By c', and then by c.
    pub by_c: &'a mut [f32],
    /// By h'.
    pub by_h: &'a [f32],
    pub c_before: &'a [f32],
    pub tanh_c: &'a [f32],
}

impl PassBack<'_> {
    pub(super) fn on(self, cpu: Cpu) {
        cpu.run(self);
    }
}

impl Work for PassBack<'_> {
    #[inline(always)]
    fn run(self) {
        let blocks = self.gates.chunks_exact_mut(BLOCK).zip(self.by_c.chunks_exact_mut(LANES));
        let blocks = blocks.zip(self.by_h.chunks_exact(LANES)).zip(self.c_before.chunks_exact(LANES));
        for ((((gates, by_c), by_h), c_before), tanh_c) in blocks.zip(self.tanh_c.chunks_exact(LANES)) {
            let [i, j, f, o] = quarters(gates);
            for u in 0..LANES {
                let all = by_c[u] + by_h[u] * o[u] * (1.0 - tanh_c[u] * tanh_c[u]);
                by_c[u] = all * f[u];
                o[u] = by_h[u] * tanh_c[u] * o[u] * (1.0 - o[u]);
                f[u] = all * c_before[u] * f[u] * (1.0 - f[u]);
                (i[u], j[u]) = (all * j[u] * i[u] * (1.0 - i[u]), all * i[u] * (1.0 - j[u] * j[u]));
            }
        }
    }
}

#[inline(always)]
fn quarters(block: &mut [f32]) -> [&mut [f32]; 4] {
    let (first, last) = block.split_at_mut(2 * LANES);
    let ((i, j), (f, o)) = (first.split_at_mut(LANES), last.split_at_mut(LANES));
    [i, j, f, o]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both against 64 bits, from 1e-6 to 1e6 on both sides, the seam at 0.3 included. A rounding is 6e-8 of a number:
    /// e^-z has four of them, the sum or difference and the quotient two more, and e^-z, where it cancels most
    /// (1 - e^-0.6 = 0.45), counts 1.2 times.
    #[test]
    fn functions_against_64_bits() {
        let sizes = (-600..=600).map(|k| 10.0_f32.powf(k as f32 / 100.0)).chain([0.3, 0.299_999_98]);
        for z in sizes.flat_map(|size| [size, -size]) {
            let (found, expected) = (f64::from(tanh(z)), f64::from(z).tanh());
            assert!((found - expected).abs() <= 4.2e-7 * expected.abs(), "tanh {z}: {found}, not {expected}");
            let (found, expected) = (f64::from(sigmoid(z)), 1.0 / (1.0 + (-f64::from(z)).exp()));
            // Below 1e-37 the result is as good as 0.
            assert!((found - expected).abs() <= 4.2e-7 * expected + 1e-37, "σ {z}: {found}, not {expected}");
        }
        assert_eq!((tanh(0.0), tanh(f32::INFINITY), tanh(f32::NEG_INFINITY)), (0.0, 1.0, -1.0));
        assert_eq!((sigmoid(0.0), sigmoid(f32::INFINITY), sigmoid(f32::NEG_INFINITY)), (0.5, 1.0, 0.0));
        assert!(tanh(f32::NAN).is_nan() && sigmoid(f32::NAN).is_nan());
    }

    /// i = σ(0), j = tanh(∞), f = σ(-1 + 1), o = σ(∞): c' = c / 2 + 1 / 2, h' = tanh c'. With derivatives 1 by h' and 2
    /// by c', c' = 0 has 2 + 1, of which c gets a half; of i, f and j: 3 · 1 / 4, 3 · (-1) / 4 and 0.
    #[test]
    fn a_unit_by_hand() {
        for cpu in Cpu::all() {
            let mut gates = [0.0, 50.0, -1.0, 200.0].map(|z| [z; LANES]).concat();
            let [mut c, mut tanh_c, mut h, mut by_c] =
                [[7.0; LANES], [7.0; LANES], [7.0; LANES], [2.0; LANES]];
            let c_before = &[-1.0; LANES];
            Pass { gates: &mut gates, c_before, c: &mut c, tanh_c: &mut tanh_c, h: &mut h }.on(cpu);
            assert_eq!(gates, [0.5, 1.0, 0.5, 1.0].map(|x| [x; LANES]).concat());
            assert_eq!([c, tanh_c, h], [[0.0; LANES]; 3]);
            let (by_h, tanh_c) = (&[1.0; LANES], &tanh_c);
            PassBack { gates: &mut gates, by_c: &mut by_c, by_h, c_before, tanh_c }.on(cpu);
            assert_eq!(gates, [0.75, 0.0, -0.75, 0.0].map(|x| [x; LANES]).concat());
            assert_eq!(by_c, [1.5; LANES]);
        }
    }
}
