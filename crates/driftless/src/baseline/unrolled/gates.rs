//! What the gates of an LSTM do to one sequence at one step, and the derivatives of it.

/// 1 / (1 + e^-z).
fn sigmoid(z: f32) -> f32 {
    1.0 / (1.0 + (-z).exp())
}

/// tanh to within four roundings, faster than the system's function. Where 1 - e^-2z would
/// cancel, the first terms of the series; the next is below a rounding.
fn tanh(z: f32) -> f32 {
    let (square, e) = (z * z, (-2.0 * z.abs()).exp());
    let terms = [-1.0 / 3.0, 2.0 / 15.0, -17.0 / 315.0, 62.0 / 2835.0];
    let series = z + z * square * (terms[0] + square * (terms[1] + square * (terms[2] + square * terms[3])));
    if z.abs() < 0.3 { series } else { ((1.0 - e) / (1.0 + e)).copysign(z) }
}

/// What one sequence remembers of one step. `U` units.
pub(super) struct Remembered<'a> {
    /// Sums of the gates i, j, f, o before, and what the gates make of them after: 4 U.
    pub gates: &'a mut [f32],
    /// c, U.
    pub c: &'a mut [f32],
    /// tanh c, U.
    pub tanh_c: &'a mut [f32],
    /// h, U.
    pub h: &'a mut [f32],
}

impl Remembered<'_> {
    /// c' = σ(f + 1) c + σ(i) tanh(j); h' = tanh(c') σ(o).
    pub(super) fn pass(self, c_before: &[f32]) {
        let units = c_before.len();
        let (i, rest) = self.gates.split_at_mut(units);
        let (j, rest) = rest.split_at_mut(units);
        let (f, o) = rest.split_at_mut(units);
        for u in 0..units {
            (i[u], j[u]) = (sigmoid(i[u]), tanh(j[u]));
            (f[u], o[u]) = (sigmoid(f[u] + 1.0), sigmoid(o[u]));
            self.c[u] = f[u] * c_before[u] + i[u] * j[u];
            self.tanh_c[u] = tanh(self.c[u]);
            self.h[u] = self.tanh_c[u] * o[u];
        }
    }
}

/// From the derivatives by h' and c' to those by the sums of the gates and by c.
///
/// `gates` holds i, j, f, o and then the derivatives by their sums; `d_c` that by c' and then by c.
pub(super) fn derivatives(gates: &mut [f32], d_c: &mut [f32], d_h: &[f32], c_before: &[f32], tanh_c: &[f32]) {
    let units = c_before.len();
    let (i, rest) = gates.split_at_mut(units);
    let (j, rest) = rest.split_at_mut(units);
    let (f, o) = rest.split_at_mut(units);
    for u in 0..units {
        let by_c = d_c[u] + d_h[u] * o[u] * (1.0 - tanh_c[u] * tanh_c[u]);
        d_c[u] = by_c * f[u];
        o[u] = d_h[u] * tanh_c[u] * o[u] * (1.0 - o[u]);
        f[u] = by_c * c_before[u] * f[u] * (1.0 - f[u]);
        (i[u], j[u]) = (by_c * j[u] * i[u] * (1.0 - i[u]), by_c * i[u] * (1.0 - j[u] * j[u]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both against 64 bits, from 1e-6 to 1e6 on both sides, the seam at 0.3 included. A rounding is 6e-8 of
    /// a number: e^-z, the sum or difference and the quotient make three, and e^-z, where it cancels most
    /// (1 - e^-0.6 = 0.45), counts 1.2 times.
    #[test]
    fn functions_against_64_bits() {
        let sizes = (-600..=600).map(|k| 10.0_f32.powf(k as f32 / 100.0)).chain([0.3, 0.299_999_98]);
        for z in sizes.flat_map(|size| [size, -size]) {
            let (found, expected) = (f64::from(tanh(z)), f64::from(z).tanh());
            assert!(
                (found - expected).abs() <= 2.4e-7 * expected.abs(),
                "tanh {z}: {found} is not {expected}"
            );
            let (found, expected) = (f64::from(sigmoid(z)), 1.0 / (1.0 + (-f64::from(z)).exp()));
            // Below 1e-30 the result is as good as 0.
            let close = (found - expected).abs() <= 2.4e-7 * expected + 1e-30;
            assert!(close, "sigmoid {z}: {found} is not {expected}");
        }
        assert_eq!((tanh(0.0), tanh(f32::INFINITY), tanh(f32::NEG_INFINITY)), (0.0, 1.0, -1.0));
        assert!(tanh(f32::NAN).is_nan() && sigmoid(f32::NAN).is_nan());
    }

    /// i = σ(0), j = tanh(∞), f = σ(-1 + 1), o = σ(∞): c' = c / 2 + 1 / 2, h' = tanh c'. With derivatives 1 by
    /// h' and 2 by c', c' = 0 has 2 + 1, of which c gets a half; of i, f and j: 3 · 1 / 4, 3 · (-1) / 4 and 0.
    #[test]
    fn a_unit_by_hand() {
        let (mut gates, mut c, mut tanh_c, mut h) = ([0.0, 50.0, -1.0, 200.0], [7.0], [7.0], [7.0]);
        Remembered { gates: &mut gates, c: &mut c, tanh_c: &mut tanh_c, h: &mut h }.pass(&[-1.0]);
        assert_eq!((gates, c, tanh_c, h), ([0.5, 1.0, 0.5, 1.0], [0.0], [0.0], [0.0]));
        let mut d_c = [2.0];
        derivatives(&mut gates, &mut d_c, &[1.0], &[-1.0], &tanh_c);
        assert_eq!((gates, d_c), ([0.75, 0.0, -0.75, 0.0], [1.5]));
    }
}
