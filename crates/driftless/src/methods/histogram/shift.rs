//! How the probability of cells moves along an axis: by a shift that is no whole number, with normal noise.

/// Noise is followed so many standard deviations far, and so many cells at most.
const FAR: [f64; 2] = [4.0, 64.0];

/// k(d) = (1 - f) g(d - ⌊s⌋) + f g(d - ⌊s⌋ - 1) with f = s - ⌊s⌋: a shift by s cells, exact on average, and normal noise g
/// with a standard deviation of σ cells, normalised over whole cells.
#[derive(Clone, Debug)]
pub(super) struct Shift {
    /// The least d.
    first: isize,
    /// k(d), and its derivative by σ.
    weights: [Vec<f64>; 2],
}

impl Shift {
    pub(super) fn new(shift: f64, std: f64) -> Self {
        let reach = (FAR[0] * std).min(FAR[1]).ceil().max(1.0) as isize;
        let place = |n: isize| n as f64 / std;
        let normal: Vec<f64> = (-reach..=reach).map(|n| (-0.5 * place(n) * place(n)).exp()).collect();
        let slope: Vec<f64> = (-reach..=reach)
            .zip(&normal)
            .map(|(n, g)| if *g > 0.0 { g * place(n) * place(n) / std } else { 0.0 })
            .collect();
        let (whole, sloped) = (normal.iter().sum::<f64>(), slope.iter().sum::<f64>());
        let noise: [Vec<f64>; 2] = [
            normal.iter().map(|g| g / whole).collect(),
            normal.iter().zip(&slope).map(|(g, slope)| (slope - g * sloped / whole) / whole).collect(),
        ];
        let (down, part) = (shift.floor(), shift - shift.floor());
        let joined = |noise: &Vec<f64>| {
            let at = |k: usize| noise.get(k).copied().unwrap_or(0.0);
            (0..=noise.len())
                .map(|k| (1.0 - part) * at(k) + if k > 0 { part * at(k - 1) } else { 0.0 })
                .collect()
        };
        Self { first: down as isize - reach, weights: [joined(&noise[0]), joined(&noise[1])] }
    }
}

/// Cells in a row: how many, how far apart in memory, and whether the last is beside the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) count: usize,
    pub(super) stride: usize,
    pub(super) is_circle: bool,
}

/// Which way, and by the kernel or its derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Forward,
    /// The transpose, for gradients.
    Back,
    /// Forward by dk / dσ.
    Slope,
}

/// What becomes of cells that are moved along an axis; what leaves the grid is gone.
pub(super) fn moved(cells: &[f64], axis: Axis, shift: &Shift, way: Way) -> Vec<f64> {
    let Axis { count, stride, is_circle } = axis;
    let mut out = vec![0.0; cells.len()];
    let weights = &shift.weights[usize::from(way == Way::Slope)];
    for (k, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
        let by = shift.first + k as isize;
        for from in 0..count as isize {
            let to = if is_circle { (from + by).rem_euclid(count as isize) } else { from + by };
            if !(0..count as isize).contains(&to) {
                continue;
            }
            let (from, to) = if way == Way::Back { (to, from) } else { (from, to) };
            let (from, to) = (from as usize * stride, to as usize * stride);
            for block in (0..cells.len()).step_by(count * stride) {
                for i in block..block + stride {
                    out[i + to] += weight * cells[i + from];
                }
            }
        }
    }
    out
}
