//! Rauch, Tung & Striebel's smoother in covariance form, written plainly: the oracle for smoothing.

pub type Square<const S: usize> = [[f64; S]; S];

pub fn times<const S: usize>(a: &Square<S>, b: &Square<S>) -> Square<S> {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..S).map(|k| a[i][k] * b[k][j]).sum()))
}

pub fn apply<const S: usize>(a: &Square<S>, x: &[f64; S]) -> [f64; S] {
    std::array::from_fn(|i| (0..S).map(|k| a[i][k] * x[k]).sum())
}

pub fn transposed<const S: usize>(a: &Square<S>) -> Square<S> {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
}

pub fn plus<const S: usize>(a: &Square<S>, factor: f64, b: &Square<S>) -> Square<S> {
    std::array::from_fn(|i| std::array::from_fn(|j| a[i][j] + factor * b[i][j]))
}

/// Gauss–Jordan elimination with pivots of largest size.
pub fn inverse(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let unit = |i: usize| (0..n).map(move |j| f64::from(u8::from(i == j)));
    let mut rows: Vec<Vec<f64>> =
        matrix.iter().enumerate().map(|(i, row)| row.iter().copied().chain(unit(i)).collect()).collect();
    for column in 0..n {
        let size = |&row: &usize| rows[row][column].abs();
        let best = (column..n).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap();
        rows.swap(column, best);
        let pivot = rows[column][column];
        rows[column].iter_mut().for_each(|value| *value /= pivot);
        for row in (0..n).filter(|&row| row != column) {
            let (factor, source) = (rows[row][column], rows[column].clone());
            rows[row].iter_mut().zip(source).for_each(|(value, source)| *value -= factor * source);
        }
    }
    rows.into_iter().map(|row| row[n..].to_vec()).collect()
}

fn inverted<const S: usize>(a: &Square<S>) -> Square<S> {
    let rows = inverse(&a.iter().map(|row| row.to_vec()).collect::<Vec<_>>());
    std::array::from_fn(|i| std::array::from_fn(|j| rows[i][j]))
}

/// s_1 ~ N(m, P); s_t = A s_{t-1} + d_t + N(0, Q); any number of readings y = s_t + N(0, R) a step,
/// where R may be zero.
pub struct Linear<const S: usize> {
    pub first: ([f64; S], Square<S>),
    pub motion: Square<S>,
    /// d_t; the first is unused.
    pub drive: Vec<[f64; S]>,
    pub noise: Square<S>,
    pub readings: Vec<Vec<([f64; S], Square<S>)>>,
}

/// Moments of one step given everything.
#[derive(Clone, Debug)]
pub struct Moments<const S: usize> {
    pub mean: [f64; S],
    pub covariance: Square<S>,
    /// Cov(s_t, s_{t+1}); zero at the last.
    pub cross: Square<S>,
}

impl<const S: usize> Linear<S> {
    /// Predicted and filtered moments of every step.
    #[allow(clippy::type_complexity)] // an oracle's inside
    fn filter(&self) -> Vec<[([f64; S], Square<S>); 2]> {
        let (mut mean, mut covariance) = self.first;
        let mut result = Vec::new();
        for (t, readings) in self.readings.iter().enumerate() {
            if t > 0 {
                let moved = apply(&self.motion, &mean);
                mean = std::array::from_fn(|k| moved[k] + self.drive[t][k]);
                covariance = times(&times(&self.motion, &covariance), &transposed(&self.motion));
                covariance = plus(&covariance, 1.0, &self.noise);
            }
            let predicted = (mean, covariance);
            for (value, variance) in readings {
                let gain = times(&covariance, &inverted(&plus(&covariance, 1.0, variance)));
                let innovation = std::array::from_fn(|k| value[k] - mean[k]);
                let shift = apply(&gain, &innovation);
                mean = std::array::from_fn(|k| mean[k] + shift[k]);
                covariance = plus(&covariance, -1.0, &times(&gain, &covariance));
            }
            result.push([predicted, (mean, covariance)]);
        }
        result
    }

    /// Smoothed moments of every step.
    pub fn smooth(&self) -> Vec<Moments<S>> {
        let filtered = self.filter();
        let zero = [[0.0; S]; S];
        let (mean, covariance) = filtered[filtered.len() - 1][1];
        let mut result = vec![Moments { mean, covariance, cross: zero }];
        for t in (0..filtered.len() - 1).rev() {
            let (next, (mean, covariance)) = (result.last().unwrap().clone(), filtered[t][1]);
            let (predicted, spread) = filtered[t + 1][0];
            let gain = times(&times(&covariance, &transposed(&self.motion)), &inverted(&spread));
            let shift = apply(&gain, &std::array::from_fn(|k| next.mean[k] - predicted[k]));
            let less = times(&times(&gain, &plus(&next.covariance, -1.0, &spread)), &transposed(&gain));
            result.push(Moments {
                mean: std::array::from_fn(|k| mean[k] + shift[k]),
                covariance: plus(&covariance, 1.0, &less),
                cross: times(&gain, &next.covariance),
            });
        }
        result.reverse();
        result
    }
}
