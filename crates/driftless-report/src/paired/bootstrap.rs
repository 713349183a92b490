//! A mean of paired differences with its bootstrap interval, over trajectories and seeds.
//!
//! Trajectories and seeds are both drawn with replacement, independently of each other: the pigeonhole bootstrap of
//! Owen (2007), for tables in which rows and columns are both samples. Methods share the drawn trajectories. The
//! interval is between the 2.5 % and the 97.5 % quantile of the means. With two or three seeds it is a little too short:
//! so few say little of all others.

use driftless_world::evaluation::quantile;
use driftless_world::random::Random;

/// How often is drawn; ends of the interval are then known to 3 % of a standard error.
const DRAWS: usize = 10_000;
/// Names the draws, so that the same records give the same bytes.
pub const SEED: u64 = 2007;

/// Whether seeds of two methods belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// Both methods have the same ones, which are drawn together.
    Paired,
    /// Each method has its own, drawn by itself.
    Apart,
}

/// One method minus another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Mean over trajectories of the differences of their means over seeds.
    pub mean: f64,
    /// 95 % of the bootstrap's means lie between these; unknown with one trajectory.
    pub interval: Option<[f64; 2]>,
    /// Share of trajectories on which the first method is better.
    pub improved: f64,
    /// How many trajectories were compared.
    pub trajectories: usize,
    /// How many were not, because a method has no usable estimate there.
    pub left_out: usize,
}

impl Difference {
    /// Whether zero is outside of the interval.
    pub fn is_clear(&self) -> bool {
        self.interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0)
    }
}

/// Compares numbers of two methods, by seed and trajectory. Trajectories of which a number is missing are left out and
/// counted; nothing if none is left.
pub fn difference(
    one: &[Vec<Option<f64>>],
    other: &[Vec<Option<f64>>],
    seeds: Seeds,
    more_is_better: bool,
) -> Option<Difference> {
    let all = one.iter().chain(other).map(Vec::len).min()?;
    let usable = |i: &usize| one.iter().chain(other).all(|seed| seed[*i].is_some());
    let kept: Vec<usize> = (0..all).filter(usable).collect();
    let select = |seeds: &[Vec<Option<f64>>]| -> Vec<Vec<f64>> {
        seeds.iter().map(|seed| kept.iter().filter_map(|&i| seed[i]).collect()).collect()
    };
    let (one, other) = (select(one), select(other));
    if kept.is_empty() || one.is_empty() || other.is_empty() {
        return None;
    }
    let everyone = |seeds: &[Vec<f64>]| vec![1.0 / seeds.len() as f64; seeds.len()];
    let plain = differences(&one, &other, &everyone(&one), &everyone(&other));
    let better = |value: &&f64| if more_is_better { **value > 0.0 } else { **value < 0.0 };
    Some(Difference {
        mean: mean(&plain),
        interval: (kept.len() > 1).then(|| interval(&one, &other, seeds)),
        improved: plain.iter().filter(better).count() as f64 / plain.len() as f64,
        trajectories: kept.len(),
        left_out: all - kept.len(),
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Of each trajectory, with weights of seeds.
fn differences(one: &[Vec<f64>], other: &[Vec<f64>], of_one: &[f64], of_other: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; one[0].len()];
    let signed = of_other.iter().map(|weight| -weight);
    for (seed, weight) in one.iter().chain(other).zip(of_one.iter().copied().chain(signed)) {
        sums.iter_mut().zip(seed).for_each(|(sum, value)| *sum += weight * value);
    }
    sums
}

fn interval(one: &[Vec<f64>], other: &[Vec<f64>], seeds: Seeds) -> [f64; 2] {
    let mut random = Random::new(SEED);
    let mut means = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let of_one = drawn_weights(one.len(), &mut random);
        let of_other = match seeds {
            Seeds::Paired => of_one.clone(),
            Seeds::Apart => drawn_weights(other.len(), &mut random),
        };
        let of_each = differences(one, other, &of_one, &of_other);
        let drawn: f64 = (0..of_each.len()).map(|_| of_each[random.below(of_each.len())]).sum();
        means.push(drawn / of_each.len() as f64);
    }
    means.sort_by(f64::total_cmp);
    [0.025, 0.975].map(|share| quantile(&means, share).unwrap_or_default())
}

/// How often each of some seeds is drawn, as a share.
fn drawn_weights(count: usize, random: &mut Random) -> Vec<f64> {
    let mut weights = vec![0.0; count];
    (0..count).for_each(|_| weights[random.below(count)] += 1.0 / count as f64);
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::evaluation::Figure;

    fn seen(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    /// Differences are -2 and 0. Of four equally likely draws one has the mean -2, two -1 and one 0.
    #[test]
    fn two_trajectories_by_hand() {
        let found = difference(&[seen(&[1.0, 5.0])], &[seen(&[3.0, 5.0])], Seeds::Paired, false).unwrap();
        assert_eq!((found.mean, found.interval, found.improved), (-1.0, Some([-2.0, 0.0]), 0.5));
        assert!(!found.is_clear());
        let more = difference(&[seen(&[1.0, 5.0])], &[seen(&[3.0, 5.0])], Seeds::Paired, true).unwrap();
        assert_eq!(more.improved, 0.0);
    }

    /// Differences are N(0.3, 1), n = 400: the interval is that of the normal distribution around their mean, and the
    /// difficulty of a trajectory, which is much larger, has no part in it.
    #[test]
    fn the_closed_form_for_trajectories() {
        let mut random = Random::new(5);
        let difficulty: Vec<f64> = (0..400).map(|_| 100.0 * random.normal()).collect();
        let ours: Vec<f64> = difficulty.iter().map(|hard| hard + 0.3 + random.normal()).collect();
        let found = difference(&[seen(&ours)], &[seen(&difficulty)], Seeds::Paired, false).unwrap();
        let expected = Figure::mean(ours.iter().zip(&difficulty).map(|(a, b)| a - b)).unwrap();
        let error = expected.standard_error.unwrap();
        assert!((found.mean - expected.value).abs() < 1e-12);
        for (end, sign) in found.interval.unwrap().into_iter().zip([-1.0, 1.0]) {
            // An end of 10,000 draws is known to √(0.025 · 0.975 / 10,000) / φ(1.96) = 0.027 standard errors; five.
            let off = (end - (expected.value + sign * 1.96 * error)) / error;
            assert!(off.abs() < 0.14, "{off}");
        }
    }

    /// What depends on the seed alone and on the trajectory alone: variances of the two means add up.
    #[test]
    fn the_closed_form_for_seeds_and_trajectories() {
        let mut random = Random::new(6);
        let mut normals = |count: usize, deviation: f64| -> Vec<f64> {
            (0..count).map(|_| deviation * random.normal()).collect()
        };
        let (luck, rough) = (normals(200, 1.0), normals(300, 2.0));
        let ours: Vec<Vec<Option<f64>>> =
            luck.iter().map(|luck| rough.iter().map(|rough| Some(rough + luck)).collect()).collect();
        let zero = vec![Some(0.0); 300];
        let square = |values: &[f64]| {
            let mean = Figure::mean(values.iter().copied()).unwrap();
            mean.standard_error.unwrap().powi(2)
        };
        let apart = difference(&ours, std::slice::from_ref(&zero), Seeds::Apart, false).unwrap();
        let paired = difference(&ours, &vec![zero; 200], Seeds::Paired, false).unwrap();
        let length = 2.0 * 1.96 * (square(&luck) + square(&rough)).sqrt();
        for found in [apart, paired] {
            let [low, high] = found.interval.unwrap();
            // Both ends, each known to 0.027 standard errors, a quarter of the length: five of √2 · 0.027 / 3.92.
            assert!(((high - low) / length - 1.0).abs() < 0.05, "{found:?} {length}");
        }
    }

    /// Luck of a seed that both methods share cancels, if seeds are paired.
    #[test]
    fn shared_luck_cancels() {
        let by_luck = |shift: f64| -> Vec<Vec<Option<f64>>> {
            (0..5).map(|seed| seen(&[f64::from(seed) + shift, f64::from(seed) + shift + 1.0])).collect()
        };
        let found = |seeds| difference(&by_luck(1.0), &by_luck(0.0), seeds, false).unwrap();
        let [low, high] = found(Seeds::Paired).interval.unwrap();
        assert!((low - 1.0).abs() < 1e-9 && (high - 1.0).abs() < 1e-9, "{low} {high}");
        let [low, high] = found(Seeds::Apart).interval.unwrap();
        assert!(low < 0.0 && high > 2.0, "{low} {high}");
    }

    #[test]
    fn missing_numbers_are_counted_and_nothing_is_nan() {
        let found = difference(&[vec![None, Some(2.0)]], &[seen(&[3.0, 5.0])], Seeds::Paired, false).unwrap();
        assert_eq!((found.mean, found.interval, found.trajectories, found.left_out), (-3.0, None, 1, 1));
        assert_eq!(difference(&[vec![None]], &[seen(&[3.0])], Seeds::Paired, false), None);
        assert_eq!(difference(&[], &[seen(&[3.0])], Seeds::Apart, false), None);
    }
}
