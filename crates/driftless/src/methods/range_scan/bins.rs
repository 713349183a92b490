//! Distances as bins: equally wide in the logarithm, so that an error of a tenth counts the same near and far.

use driftless_core::Cpu;
use driftless_core::exponential::log_sum_exp;

/// Bins of the distance along the camera's axis.
pub(in crate::methods) const BINS: usize = 40;
/// The middle of the first and of the last bin, in metres.
pub(in crate::methods) const ENDS: [f64; 2] = [0.15, 15.0];
/// Standard deviation of a target around its distance, in bins: what is between two bins belongs to both.
const TARGET_WIDTH: f32 = 0.6;
/// Bins to either side that a target reaches.
const REACH: isize = 3;
/// Probability that a column says nothing: no reading can exclude a pose.
const FLOOR: f32 = 0.02;
/// Steps of a pixel in the table of logarithms.
const STEPS: f32 = 4.0;
/// Longest ray, in metres: what is farther is in the last bin as well.
const LONGEST: f64 = 20.0;
/// The same in pixels, at most: maps of tiny cells are looked at no farther.
const MOST_PIXELS: f64 = 20_000.0;

/// Longest ray in pixels of this size.
pub(in crate::methods) fn longest(metres_per_pixel: f64) -> f32 {
    (LONGEST / metres_per_pixel).clamp(1.0, MOST_PIXELS) as f32
}

/// Where distances in pixels lie among the bins, by table.
#[derive(Clone)]
pub(in crate::methods) struct Scale {
    places: Vec<f32>,
}

impl Scale {
    /// For pixels of this size in metres.
    pub(in crate::methods) fn new(metres_per_pixel: f64) -> Self {
        let width = (ENDS[1] / ENDS[0]).ln() / (BINS - 1) as f64;
        let place = |k: usize| {
            let metres = k as f64 / f64::from(STEPS) * metres_per_pixel;
            ((metres.max(1e-3) / ENDS[0]).ln() / width) as f32
        };
        Self { places: (0..=(longest(metres_per_pixel) * STEPS) as usize + 1).map(place).collect() }
    }

    /// What a column whose ray has this cosine with the axis adds to places.
    pub(in crate::methods) fn shift(cosine: f64) -> f32 {
        let width = (ENDS[1] / ENDS[0]).ln() / (BINS - 1) as f64;
        (cosine.ln() / width) as f32
    }

    /// The depth at a place, in metres.
    pub(in crate::methods) fn metres(place: f32) -> f64 {
        let width = (ENDS[1] / ENDS[0]).ln() / (BINS - 1) as f64;
        ENDS[0] * (f64::from(place) * width).exp()
    }

    /// The bin of a ray of this length, with fractions, before its column's shift; within half a percent.
    #[inline]
    pub(in crate::methods) fn place(&self, pixels: f32) -> f32 {
        self.places[((pixels * STEPS + 0.5) as usize).min(self.places.len() - 1)]
    }
}

/// A place among the bins that there are.
#[inline]
pub(in crate::methods) fn clamped(place: f32) -> f32 {
    place.clamp(0.0, (BINS - 1) as f32)
}

/// The logarithm at a place between two bins.
#[inline]
pub(in crate::methods) fn interpolated(log: &[f32], place: f32) -> f32 {
    let place = clamped(place);
    let below = (place as usize).min(BINS - 2);
    let share = place - below as f32;
    log[below] + share * (log[below + 1] - log[below])
}

/// The place below which a column's wall is with this probability; a bin reaches half way to its neighbours.
pub(in crate::methods) fn quantile(log: &[f32], share: f32) -> f32 {
    let mut below = 0.0;
    for (bin, log) in log.iter().enumerate() {
        let p = log.exp();
        if below + p >= share {
            return clamped(bin as f32 - 0.5 + (share - below) / p);
        }
        below += p;
    }
    (BINS - 1) as f32
}

/// Turns the scores of a column into logarithms of probabilities, none below the floor's.
pub(in crate::methods) fn log_probabilities(scores: &mut [f32]) {
    let total = log_sum_exp(Cpu::best(), scores, 1.0) as f32;
    let (kept, evenly) = (1.0 - FLOOR, FLOOR / BINS as f32);
    for score in scores.iter_mut() {
        *score = (kept * (*score - total).exp() + evenly).ln();
    }
}

/// Adds derivatives by scores, given those by the logarithms that [`log_probabilities`] makes of them: with q = softmax and
/// p = 0.98 q + 0.02 / bins, ∂ log p_b / ∂ score_k = 0.98 q_b (δ_bk - q_k) / p_b.
pub(in crate::methods) fn by_scores(scores: &[f32], by_log: &[f32], by_scores: &mut [f32]) {
    let total = log_sum_exp(Cpu::best(), scores, 1.0) as f32;
    let (kept, evenly) = (1.0 - FLOOR, FLOOR / BINS as f32);
    let mut sum = 0.0;
    for ((score, by_log), by) in scores.iter().zip(by_log).zip(&mut *by_scores) {
        let q = (score - total).exp();
        let direct = by_log * kept * q / (kept * q + evenly);
        *by += direct;
        sum += direct;
    }
    for (score, by) in scores.iter().zip(by_scores) {
        *by -= (score - total).exp() * sum;
    }
}

/// Adds a share of a target around a place to a column's histogram.
pub(in crate::methods) fn add_target(place: f32, share: f32, histogram: &mut [f32]) {
    let place = clamped(place);
    let middle = place.round() as isize;
    let near = (middle - REACH).max(0)..(middle + REACH + 1).min(BINS as isize);
    let weight = |bin: isize| (-0.5 * ((bin as f32 - place) / TARGET_WIDTH).powi(2)).exp();
    let total: f32 = near.clone().map(weight).sum();
    for bin in near {
        histogram[bin as usize] += share * weight(bin) / total;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ray of 1.5 m lies half way between 0.15 m and 15 m, in the logarithm; one 60 degrees off the axis is half as
    /// deep. The table has quarters of a pixel: an eighth of 75, 0.17 %, or 0.014 bins.
    #[test]
    fn places_by_hand() {
        let scale = Scale::new(0.02);
        assert!((scale.place(75.0) - 19.5).abs() < 0.02, "{}", scale.place(75.0));
        let width = 100.0_f64.ln() / 39.0;
        assert!((f64::from(Scale::shift(0.5)) + 2.0_f64.ln() / width).abs() < 1e-5);
        assert!((Scale::metres(19.5) - 1.5).abs() < 1e-6);
        assert_eq!(clamped(scale.place(0.0)), 0.0);
        assert_eq!(clamped(scale.place(f32::INFINITY)), 39.0);
        assert_eq!(clamped(scale.place(999.0)), 39.0);
        assert_eq!(longest(0.02), 1000.0);
    }

    #[test]
    fn targets_are_distributions() {
        for place in [-5.0, 0.0, 0.4, 17.5, 38.9, 39.0, 80.0] {
            let mut histogram = [0.0; BINS];
            add_target(place, 0.25, &mut histogram);
            add_target(place, 0.75, &mut histogram);
            assert!((histogram.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            let mean: f32 = histogram.iter().enumerate().map(|(bin, p)| bin as f32 * p).sum();
            // At the ends half of it is cut away.
            assert!((mean - place.clamp(0.0, 39.0)).abs() < 0.5, "{place} {mean}");
        }
    }

    /// A quarter of the probability in each of four bins: half of it is below the border of the middle two.
    #[test]
    fn quantiles_by_hand() {
        let log: Vec<f32> =
            (0..BINS).map(|bin| if (10..14).contains(&bin) { 0.25_f32.ln() } else { -80.0 }).collect();
        for (share, place) in [(0.5, 11.5), (0.25, 10.5), (0.125, 10.0), (0.9, 13.1), (2.0, 39.0)] {
            assert!((quantile(&log, share) - place).abs() < 1e-4, "{share}: {}", quantile(&log, share));
        }
    }

    #[test]
    fn probabilities_have_a_floor() {
        let mut scores = [0.0; BINS];
        (scores[3], scores[4]) = (1000.0, 1000.0);
        log_probabilities(&mut scores);
        let total: f32 = scores.iter().map(|log| log.exp()).sum();
        // Numbers near 1000 have steps of 6e-5.
        assert!((total - 1.0).abs() < 1e-4);
        assert!((scores[0] - (0.02_f32 / 40.0).ln()).abs() < 1e-5);
        assert!((interpolated(&scores, 3.5) - scores[3]).abs() < 1e-5);
        let between = interpolated(&scores, 4.25);
        assert!((between - (0.75 * scores[4] + 0.25 * scores[5])).abs() < 1e-5);
        assert_eq!(interpolated(&scores, 99.0), scores[39]);
    }
}
