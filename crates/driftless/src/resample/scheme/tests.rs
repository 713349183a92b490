//! Counts, variances and edges of all schemes.

use super::*;
use crate::belief::LogWeights;
use crate::testing::{f64s, numbers};
use driftless_world::random::Random;

/// Children of each particle.
fn counts(ancestors: &[usize]) -> Vec<f64> {
    let mut counts = vec![0.0; ancestors.len()];
    for &ancestor in ancestors {
        counts[ancestor] += 1.0;
    }
    counts
}

/// Mean and variance of `statistic` over many draws, and five standard errors of each.
fn moments(scheme: Scheme, weights: &[f64], statistic: impl Fn(&[usize]) -> f64) -> [(f64, f64); 2] {
    let (mut random, runs) = (Random::new(11), 20_000);
    let values: Vec<f64> = (0..runs)
        .map(|_| {
            let uniforms: Vec<f64> = weights.iter().map(|_| random.unit()).collect();
            statistic(&scheme.row(weights, weights.len(), &uniforms))
        })
        .collect();
    let mean_of = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mean = mean_of(&values);
    let squares: Vec<f64> = values.iter().map(|value| (value - mean).powi(2)).collect();
    let variance = mean_of(&squares);
    let fourth = mean_of(&squares.iter().map(|square| (square - variance).powi(2)).collect::<Vec<_>>());
    let error = |variance: f64| 5.0 * (variance / f64::from(runs)).sqrt() + 1e-12;
    [(mean, error(variance)), (variance, error(fourth))]
}

/// w = (.15, .35, .5, 0), N = 4: E n = 4 w for all schemes, the variances are known.
#[test]
fn counts_have_the_right_mean_and_variance() {
    let weights = [0.15, 0.35, 0.5, 0.0];
    let few = [0.24, 0.24, 0.0, 0.0];
    for scheme in Scheme::ALL {
        let variances = if scheme == Scheme::Multinomial { [0.51, 0.91, 1.0, 0.0] } else { few };
        for i in 0..4 {
            let [mean, variance] = moments(scheme, &weights, |ancestors| counts(ancestors)[i]);
            assert!((mean.0 - 4.0 * weights[i]).abs() < mean.1, "{scheme:?} mean {i}: {mean:?}");
            assert!((variance.0 - variances[i]).abs() < variance.1, "{scheme:?} {i}: {variance:?}");
        }
    }
}

/// For every test function, stratified and residual draws vary no more than independent ones.
#[test]
fn estimates_vary_less_than_by_independent_draws() {
    let mut random = Random::new(4);
    for _ in 0..5 {
        let weights: Vec<f64> = (0..6).map(|_| random.unit()).collect();
        let values: Vec<f64> = (0..6).map(|_| random.normal()).collect();
        let estimate = |ancestors: &[usize]| ancestors.iter().map(|&a| values[a]).sum::<f64>() / 6.0;
        let truth =
            weights.iter().zip(&values).map(|(w, f)| w * f).sum::<f64>() / weights.iter().sum::<f64>();
        let [_, independent] = moments(Scheme::Multinomial, &weights, estimate);
        for scheme in Scheme::ALL {
            let [mean, variance] = moments(scheme, &weights, estimate);
            assert!((mean.0 - truth).abs() < mean.1, "{scheme:?} {mean:?} {truth}");
            let bounded = [Scheme::Stratified, Scheme::Residual].contains(&scheme);
            assert!(!bounded || variance.0 < independent.0 + independent.1 + variance.1, "{scheme:?}");
        }
    }
}

#[test]
fn certain_children_are_certain() {
    let mut random = Random::new(9);
    for _ in 0..500 {
        let weights: Vec<f64> = (0..7).map(|_| random.unit().powi(3)).collect();
        let sum: f64 = weights.iter().sum();
        let uniforms: Vec<f64> = (0..7).map(|_| random.unit()).collect();
        for scheme in [Scheme::Systematic, Scheme::Residual] {
            let counts = counts(&scheme.row(&weights, 7, &uniforms));
            for (count, weight) in counts.iter().zip(&weights) {
                let expected = 7.0 * weight / sum;
                assert!(*count >= expected.floor(), "{scheme:?} {count} {expected}");
                assert!(scheme == Scheme::Residual || *count <= expected.ceil(), "{count} {expected}");
            }
        }
    }
}

#[test]
fn equal_weights_keep_everybody() {
    for particles in [1, 3, 10, 100, 1000] {
        let weights = vec![(-(f64::from(particles)).ln()).exp(); particles as usize];
        for u in [0.001, 0.5, 0.999] {
            for scheme in [Scheme::Systematic, Scheme::Stratified, Scheme::Residual] {
                let ancestors = scheme.row(&weights, weights.len(), &vec![u; particles as usize]);
                assert!(ancestors.iter().enumerate().all(|(i, &a)| i == a), "{scheme:?} {particles}");
            }
        }
    }
}

/// The greatest random number, weights that sum to less than 1, no weight at the end.
#[test]
fn rounding_at_the_end_finds_the_last_with_weight() {
    let uniforms = [1.0 - f64::EPSILON / 2.0; 3];
    for scheme in Scheme::ALL {
        for (weights, last) in [([0.1, 0.2, 0.3], 2), ([0.7, 0.2, 0.0], 1), ([0.0, 1e-300, 0.0], 1)] {
            assert_eq!(scheme.row(&weights, 3, &uniforms)[2], last, "{scheme:?} {weights:?}");
        }
        let ancestors = scheme.row(&[0.0; 3], 3, &uniforms);
        assert!(ancestors.len() == 3 && ancestors.iter().all(|&a| a < 3), "{scheme:?}");
    }
}

#[test]
fn rows_use_their_own_numbers_and_weights_become_equal() {
    let states = f64s::<3>([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]]);
    let log = f64s::<2>([[0.0, -50.0, -50.0], [-50.0, 0.0, 0.0]]);
    for scheme in Scheme::ALL {
        let belief = Belief { states: states.clone(), weights: LogWeights::normalised(log.clone()) };
        let mut uniforms = vec![0.3; scheme.uniforms(3)];
        uniforms.extend(vec![0.9; scheme.uniforms(3)]);
        let result = scheme.resample(belief, 3, &uniforms);
        let ancestors = result.ancestors.try_to_vec_as::<i32>().unwrap();
        let found = numbers(&result.belief.states);
        assert_eq!(found[..3], [1.0; 3], "{scheme:?}");
        for (row, (ancestor, found)) in ancestors.iter().zip(&found).enumerate() {
            assert_eq!(*found, f64::from(row as i32 / 3 * 3 + ancestor + 1), "{scheme:?}");
        }
        assert_eq!(found[5], 6.0, "{scheme:?}");
        assert!(numbers(&result.belief.weights.exp()).iter().all(|w| (w - 1.0 / 3.0).abs() < 1e-12));
    }
}

/// Fewer or more than there were: M w children in expectation, from the first numbers of a row.
#[test]
fn any_number_can_be_drawn() {
    let weights = f64s::<2>([[0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]]);
    for (count, scheme) in [2, 3, 10].into_iter().flat_map(|m| Scheme::ALL.map(|scheme| (m, scheme))) {
        let mut random = Random::new(17);
        let (mut sums, runs) = ([0.0; 4], 4000);
        for _ in 0..runs {
            let uniforms: Vec<f64> = (0..24).map(|_| random.unit()).collect();
            let drawn = scheme.ancestors(&weights, count, &uniforms);
            assert_eq!(drawn.dims(), [2, count]);
            let drawn = drawn.try_to_vec_as::<i64>().unwrap();
            drawn[..count].iter().for_each(|&ancestor| sums[ancestor as usize] += 1.0);
            assert!(drawn[count..].iter().all(|&ancestor| ancestor == 0), "{scheme:?} {count}");
        }
        for (sum, weight) in sums.iter().zip([0.1, 0.2, 0.3, 0.4]) {
            let (mean, expected) = (sum / f64::from(runs), count as f64 * weight);
            // No scheme varies more than independent draws: five standard errors of those.
            let error = 5.0 * (expected * (1.0 - weight) / f64::from(runs)).sqrt();
            assert!((mean - expected).abs() < error, "{scheme:?} {count}: {mean} {expected}");
        }
    }
}
