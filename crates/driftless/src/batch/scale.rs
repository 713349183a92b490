//! What readings of sensors are divided by before a network sees them.

use driftless_world::labels::Lesson;
use driftless_world::trajectory::Observations;
use serde::{Deserialize, Serialize};

/// (o - median) / spread, column by column, cut off at ±5, measured on finite readings of training data alone. Means would
/// not do: scanners say 80 m where they met nothing, among walls at 3 m.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadingScale {
    /// Medians.
    centre: Vec<f32>,
    /// Distances between quartiles, in units of those of a normal distribution of deviation 1.
    spread: Vec<f32>,
}

/// Between the quartiles of a standard normal distribution.
const BETWEEN_QUARTILES: f64 = 1.349;
/// Normalised readings are at most this.
const MOST: f32 = 5.0;

impl ReadingScale {
    /// Whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.centre.is_empty()
    }

    /// How many columns.
    pub fn width(&self) -> usize {
        self.centre.len()
    }

    /// Of all lessons whose observations are vectors; those of the first width count.
    pub(crate) fn measure(lessons: &[Lesson]) -> Self {
        let rows = lessons.iter().filter_map(|lesson| match lesson.observations() {
            Observations::Vectors(rows) => Some(rows),
            Observations::Images(_) => None,
        });
        let Some(width) = rows.clone().next().map(driftless_world::trajectory::Rows::width) else {
            return Self::default();
        };
        let (mut centre, mut spread) = (Vec::with_capacity(width), Vec::with_capacity(width));
        for column in 0..width {
            let same = rows.clone().filter(|rows| rows.width() == width);
            let own = same.flat_map(|rows| rows.values().iter().skip(column).step_by(width));
            let (middle, size) = measured(own.copied().filter(|x| x.is_finite()).collect());
            centre.push(middle);
            spread.push(size);
        }
        Self { centre, spread }
    }

    /// Fails if numbers do not fit together, or nothing can be divided by them: for what was read.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let finite = self.centre.iter().all(|x| x.is_finite());
        let positive = self.spread.iter().all(|x| x.is_finite() && *x > 0.0);
        if self.centre.len() != self.spread.len() || !finite || !positive {
            return Err("as many finite medians as spreads above 0 are wanted".to_owned());
        }
        Ok(())
    }

    /// A reading of a column; nothing if it is not finite.
    pub(crate) fn normalised(&self, column: usize, reading: f32) -> Option<f32> {
        let scaled = (reading - self.centre[column]) / self.spread[column];
        reading.is_finite().then(|| scaled.clamp(-MOST, MOST))
    }
}

/// Median and spread of some numbers. Where more than half of them are equal, the spread is the mean distance from there;
/// where all are, 1.
fn measured(mut values: Vec<f32>) -> (f32, f32) {
    if values.is_empty() {
        return (0.0, 1.0);
    }
    values.sort_by(f32::total_cmp);
    let quantile = |share: f64| f64::from(values[((values.len() - 1) as f64 * share).round() as usize]);
    let (middle, between) = (quantile(0.5), (quantile(0.75) - quantile(0.25)) / BETWEEN_QUARTILES);
    let mean = || values.iter().map(|x| (f64::from(*x) - middle).abs()).sum::<f64>() / values.len() as f64;
    let size = if between > 0.0 { between } else { mean() } as f32;
    (middle as f32, if size.is_finite() && size > 0.0 { size } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of 0 to 100 the median is 50 and the quartiles are 25 and 75, whatever is said where nothing was met.
    #[test]
    fn medians_and_quartiles() {
        let (centre, spread) = measured((0_u8..=100).map(f32::from).collect());
        assert!(centre == 50.0 && (spread - 50.0 / 1.349).abs() < 1e-4);
        let (centre, _) = measured((0_u8..=100).map(f32::from).chain([8000.0; 3]).collect());
        assert!((centre - 52.0).abs() < 1.0);
        assert_eq!(measured(Vec::new()), (0.0, 1.0));
        assert_eq!(measured(vec![7.0; 9]), (7.0, 1.0));
        assert_eq!(measured(vec![2.0, 2.0, 2.0, 2.0, 7.0]), (2.0, 1.0));
        let scale = ReadingScale { centre: vec![2.0], spread: vec![0.5] };
        assert_eq!(
            [2.5, 1e30, f32::NAN, f32::INFINITY].map(|x| scale.normalised(0, x)),
            [Some(1.0), Some(5.0), None, None]
        );
    }
}
