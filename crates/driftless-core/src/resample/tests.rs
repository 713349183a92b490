//! Counts, variances and edges of all schemes.

use super::*;
use crate::draws::Replay;
use crate::random::Random;

fn drawn(scheme: Scheme, weights: &[f64], count: usize, uniforms: &[f64]) -> Vec<usize> {
    let (mut ancestors, mut uniforms) = (Vec::new(), uniforms.iter());
    scheme.ancestors(weights, count, || *uniforms.next().expect("enough numbers"), &mut ancestors);
    ancestors.iter().map(|&ancestor| ancestor as usize).collect()
}

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
            statistic(&drawn(scheme, weights, weights.len(), &uniforms))
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
            let counts = counts(&drawn(scheme, &weights, 7, &uniforms));
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
        for u in [0.001, 0.5, 0.999] {
            for scheme in [Scheme::Systematic, Scheme::Stratified, Scheme::Residual] {
                let (mut weights, mut ancestors) = (Weights::uniform(particles), Vec::new());
                let mut draws = Replay { uniforms: vec![u; particles].into(), ..Replay::default() };
                assert_eq!(scheme.resample(&mut weights, particles, &mut draws, &mut ancestors), 0.0);
                assert!(
                    ancestors.iter().enumerate().all(|(i, &a)| i == a as usize),
                    "{scheme:?} {particles}"
                );
            }
        }
    }
}

/// The greatest random number, weights that sum to less than 1, no weight at the end; and no child without a parent's
/// weight at the beginning.
#[test]
fn rounding_at_the_ends_finds_those_with_weight() {
    let uniforms = [1.0 - f64::EPSILON / 2.0; 3];
    for scheme in Scheme::ALL {
        for (weights, last) in [([0.1, 0.2, 0.3], 2), ([0.7, 0.2, 0.0], 1), ([0.0, 1e-300, 0.0], 1)] {
            assert_eq!(drawn(scheme, &weights, 3, &uniforms)[2], last, "{scheme:?} {weights:?}");
        }
        let ancestors = drawn(scheme, &[0.0; 3], 3, &uniforms);
        assert!(ancestors.len() == 3 && ancestors.iter().all(|&a| a < 3), "{scheme:?}");
        assert!(drawn(scheme, &[0.0, 0.5, 0.5], 3, &[0.0; 3]).iter().all(|&a| a > 0), "{scheme:?}");
    }
}

/// Fewer or more than there were: M w children in expectation.
#[test]
fn any_number_can_be_drawn() {
    let weights = [0.1, 0.2, 0.3, 0.4];
    for (count, scheme) in [2, 3, 10].into_iter().flat_map(|m| Scheme::ALL.map(|scheme| (m, scheme))) {
        let mut random = Random::new(17);
        let (mut sums, runs) = ([0.0; 4], 4000);
        for _ in 0..runs {
            let uniforms: Vec<f64> = (0..count).map(|_| random.unit()).collect();
            for ancestor in drawn(scheme, &weights, count, &uniforms) {
                sums[ancestor] += 1.0;
            }
        }
        for (sum, weight) in sums.iter().zip(weights) {
            let (mean, expected) = (sum / f64::from(runs), count as f64 * weight);
            // No scheme varies more than independent draws: five standard errors of those.
            let error = 5.0 * (expected * (1.0 - weight) / f64::from(runs)).sqrt();
            assert!((mean - expected).abs() < error, "{scheme:?} {count}: {mean} {expected}");
        }
    }
}

/// w = (.6, .3, .1), f = (1, 2, 4): over the three outcomes of a single draw, E[mass Σ w' f] is Σ w f.
#[test]
fn soft_resampling_is_unbiased_with_its_mass() {
    let (weights, values) = ([0.6_f32, 0.3, 0.1], [1.0, 2.0, 4.0]);
    for alpha in [0.2, 0.5, 1.0] {
        let soft = Soft { alpha, scheme: Scheme::Multinomial };
        let chances = weights.map(|w| alpha * f64::from(w) + (1.0 - alpha) / 3.0);
        let (mut value, mut start) = (0.0, 0.0);
        for chance in chances {
            let mut belief = Weights::normalised(&weights.map(f32::ln));
            let mut draws = Replay { uniforms: vec![start + 0.5 * chance; 3].into(), ..Replay::default() };
            let mut ancestors = Vec::new();
            let mass = soft.resample(&mut belief, 3, &mut draws, &mut ancestors).exp();
            let mean: f64 =
                ancestors.iter().zip(belief.linear()).map(|(&i, &w)| f64::from(w) * values[i as usize]).sum();
            value += chance * mass * mean;
            start += chance;
        }
        // Three products in 32 bits.
        assert!((value - 1.6).abs() < 1e-6, "{alpha}: {value}");
    }
}

/// Systematic resampling is strata with one number: the same ancestors, bit for bit, also at edges, for weights of zero, and
/// for more or fewer children than parents.
#[test]
fn systematic_is_strata_with_one_number() {
    let mut random = Random::new(3);
    for case in 0..400 {
        let size = 1 + random.below(200);
        let sharp = random.range(0.0, 30.0);
        let mut weights: Vec<f32> = (0..size).map(|_| (-sharp * random.unit()).exp() as f32).collect();
        for weight in &mut weights {
            if case % 3 == 0 && random.unit() < 0.4 {
                *weight = 0.0;
            } else if case % 3 == 1 {
                // Multiples of the stratum: markers and sums of weights coincide.
                *weight = weight.max(0.25).round();
            }
        }
        let count = if case % 2 == 0 { size } else { 1 + random.below(300) };
        for u in [0.0, random.unit(), 0.5, 1.0 - f64::EPSILON / 2.0] {
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            by_strata(&weights, count, || u, &mut expected);
            Scheme::Systematic.ancestors(&weights, count, || u, &mut found);
            assert_eq!(found, expected, "{weights:?} {count} {u}");
        }
    }
}
