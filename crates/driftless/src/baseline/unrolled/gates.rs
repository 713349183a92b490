//! What the gates of an LSTM do to one sequence at one step, and the derivatives of it.

/// 1 / (1 + e^-z).
fn sigmoid(z: f32) -> f32 {
    1.0 / (1.0 + (-z).exp())
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
    pub(super) fn from_sums(self, c_before: &[f32]) {
        let units = c_before.len();
        let (i, rest) = self.gates.split_at_mut(units);
        let (j, rest) = rest.split_at_mut(units);
        let (f, o) = rest.split_at_mut(units);
        for u in 0..units {
            (i[u], j[u]) = (sigmoid(i[u]), j[u].tanh());
            (f[u], o[u]) = (sigmoid(f[u] + 1.0), sigmoid(o[u]));
            self.c[u] = f[u] * c_before[u] + i[u] * j[u];
            self.tanh_c[u] = self.c[u].tanh();
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
