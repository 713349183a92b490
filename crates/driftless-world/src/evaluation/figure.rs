//! A mean with its standard error, and quantiles.

use serde::{Deserialize, Serialize};

/// A mean over trajectories, or the root of one, and how far it may be off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The mean, or its root.
    pub value: f64,
    /// Its standard error over trajectories; unknown with fewer than two.
    pub standard_error: Option<f64>,
    /// How many trajectories it is the mean of.
    pub count: usize,
}

impl Figure {
    /// x̄ and s / √n with s² = Σ (x - x̄)² / (n - 1); nothing without numbers.
    ///
    /// ```
    /// use driftless_world::evaluation::Figure;
    /// let figure = Figure::mean([1.0, 2.0, 6.0]).unwrap();
    /// // s² = (4 + 1 + 9) / 2 = 7.
    /// assert_eq!((figure.value, figure.standard_error), (3.0, Some((7.0_f64 / 3.0).sqrt())));
    /// ```
    pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let count = values.len();
        if count == 0 {
            return None;
        }
        let value = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|x| (x - value).powi(2)).sum();
        let standard_error = (count > 1).then(|| (squares / (count - 1) as f64 / count as f64).sqrt());
        Some(Self { value, standard_error, count })
    }

    /// √m of the mean m of `squares`, with the delta method's standard error se(m) / (2 √m).
    ///
    /// Where m = 0 all squares are 0 and so is the error. Nothing without numbers.
    pub fn root_mean(squares: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mean = Self::mean(squares)?;
        let value = mean.value.sqrt();
        let slope = if value > 0.0 { 0.5 / value } else { 0.0 };
        Some(Self { value, standard_error: mean.standard_error.map(|error| slope * error), ..mean })
    }

    /// The share of `true`, a mean of zeros and ones.
    pub fn share(values: impl IntoIterator<Item = bool>) -> Option<Self> {
        Self::mean(values.into_iter().map(|value| f64::from(u8::from(value))))
    }

    /// The figure of the negated numbers.
    pub(super) fn negated(self) -> Self {
        // Adding zero turns -0 into 0.
        Self { value: 0.0 - self.value, ..self }
    }
}

/// The `share` quantile of sorted numbers, linear between neighbours (numpy's default, type 7 of
/// Hyndman & Fan 1996); nothing without numbers.
///
/// ```
/// use driftless_world::evaluation::quantile;
/// assert_eq!(quantile(&[1.0, 2.0, 4.0, 8.0], 0.5), Some(3.0));
/// ```
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let position = share.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let below = position as usize;
    let above = (below + 1).min(sorted.len() - 1);
    Some(sorted[below] + (position - below as f64) * (sorted[above] - sorted[below]))
}

/// The numbers in order; NaN does not occur here.
pub(super) fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn roots_have_the_error_of_the_delta_method() {
        let figure = Figure::root_mean([9.0, 25.0, 2.0]).unwrap();
        // m = 12, s² = (9 + 169 + 100) / 2 = 139, se(m) = √(139/3).
        assert!((figure.value - 12_f64.sqrt()).abs() < 1e-15);
        let expected = (139.0_f64 / 3.0).sqrt() / (2.0 * 12_f64.sqrt());
        assert!((figure.standard_error.unwrap() - expected).abs() < 1e-14);
        let zero = Figure::root_mean([0.0, 0.0]).unwrap();
        assert_eq!((zero.value, zero.standard_error), (0.0, Some(0.0)));
    }

    /// The spread of 4000 roots of means of 200 squared normals, which the error must predict.
    #[test]
    fn the_error_of_a_root_is_its_spread_over_repetitions() {
        let mut random = Random::new(5);
        let mut one = || Figure::root_mean((0..200).map(|_| random.normal().powi(2))).unwrap();
        let repetitions: Vec<Figure> = (0..4000).map(|_| one()).collect();
        let spread = Figure::mean(repetitions.iter().map(|figure| figure.value)).unwrap();
        let spread = spread.standard_error.unwrap() * 4000_f64.sqrt();
        let predicted = Figure::mean(repetitions.iter().filter_map(|figure| figure.standard_error)).unwrap();
        // A standard deviation of 4000 numbers is known to 1 / √8000 = 1.1 %; four of those, and
        // about 2 % for the bias of the prediction at n = 200.
        assert!((predicted.value / spread - 1.0).abs() < 0.065, "{predicted:?} {spread}");
    }

    #[test]
    fn shares_and_few_numbers() {
        let figure = Figure::share([true, false, true, true]).unwrap();
        // p (1 - p) / (n - 1) = 0.75 · 0.25 / 3.
        assert_eq!((figure.value, figure.standard_error, figure.count), (0.75, Some(0.25), 4));
        assert_eq!(Figure::mean([4.0]).unwrap().standard_error, None);
        assert_eq!(Figure::mean([]), None);
    }

    #[test]
    fn quantiles_agree_with_numpy() {
        let values = sorted([8.0, 1.0, 4.0, 2.0]);
        let seen = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| quantile(&values, share).unwrap());
        assert_eq!(seen, [1.0, 1.75, 3.0, 5.0, 8.0]);
        assert_eq!((quantile(&[], 0.5), quantile(&[7.0], 0.9)), (None, Some(7.0)));
    }
}
