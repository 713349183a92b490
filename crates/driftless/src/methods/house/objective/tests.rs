//! The pulls against differences of the loss.

use super::*;
use driftless_world::random::Random;

const COUNT: usize = 5;
const STEPS: usize = 3;

/// A block with known poses in two of three steps, and moves in between.
fn run(terms: Terms, network: &[f64], fixed: Option<&[Vec<usize>]>) -> (f64, Block) {
    let mut random = Random::new(3);
    let mut poses: Vec<[f64; 3]> = (0..COUNT).map(|_| [0; 3].map(|_| 20.0 * random.normal())).collect();
    let mut log_weights: Vec<f64> = (0..COUNT).map(|_| random.normal()).collect();
    normalise(&mut log_weights);
    let mut block = Block::new(terms, log_weights);
    for (t, a) in network.chunks(COUNT).enumerate() {
        if t > 0 {
            block.moved((0..COUNT).map(|_| random.normal()));
            poses.iter_mut().flatten().for_each(|x| *x += random.normal());
        }
        let mut uniforms: Vec<f64> = (0..COUNT).map(|_| random.unit()).collect();
        if let Some(fixed) = fixed.filter(|_| terms.softness > 0.0) {
            uniforms = choosing(&fixed[t], &block.log_weights, a, terms.softness);
        }
        if let Some(ancestors) = block.weigh(a.to_vec(), &uniforms) {
            poses = ancestors.iter().map(|&i| poses[i]).collect();
        }
        if t != 1 {
            block.know(&poses, [1.0, -2.0, 3.0], if t == 0 { 1.0 } else { 0.4 });
        }
    }
    let loss = terms.known * block.judged - terms.pseudo * block.pseudo_likelihood();
    (loss, block)
}

/// Numbers that choose these ancestors, so that differences do not jump.
fn choosing(ancestors: &[usize], log_weights: &[f64], a: &[f64], softness: f64) -> Vec<f64> {
    let mut log_w: Vec<f64> = log_weights.iter().zip(a).map(|(w, a)| w + a).collect();
    normalise(&mut log_w);
    let shares: Vec<f64> =
        log_w.iter().map(|w| softness * w.exp() + (1.0 - softness) / COUNT as f64).collect();
    ancestors.iter().map(|&i| shares[..i].iter().sum::<f64>() + 0.5 * shares[i]).collect()
}

#[test]
fn pulls_are_derivatives() {
    let mut random = Random::new(7);
    let network: Vec<f64> = (0..STEPS * COUNT).map(|_| f64::from(random.normal() as f32)).collect();
    for normalised in [true, false] {
        for softness in [0.0, 0.6, 1.0] {
            for (judge, known, pseudo) in [
                (Judge::SquaredError, 1.3, 0.0),
                (Judge::Density, 1.3, 0.0),
                (Judge::SquaredError, 0.0, 0.7),
                (Judge::Density, 1.3, 0.7),
            ] {
                let terms = Terms { judge, known, pseudo, normalised, softness, goes_on: false };
                let (_, block) = run(terms, &network, None);
                let ancestors: Vec<Vec<usize>> =
                    block.steps.iter().map(|step| step.ancestors.clone().unwrap_or_default()).collect();
                for (k, &pull) in block.pulls().iter().enumerate() {
                    let at = |step: f64| {
                        let mut network = network.clone();
                        network[k] += step;
                        run(terms, &network, Some(&ancestors)).0
                    };
                    let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
                    // Differences: 1e-10 and rounding of a loss of 10 by 1e-5; pulls are f32.
                    let error = (f64::from(pull) - expected).abs();
                    assert!(error < 1e-7 + 1e-6 * expected.abs(), "{terms:?} {k}: {pull} {expected}");
                }
            }
        }
    }
}

/// Two particles, one step, by hand: weights 1/4 and 3/4, errors 1 m and 0.
#[test]
fn by_hand() {
    let terms = Terms {
        judge: Judge::SquaredError,
        known: 2.0,
        pseudo: 1.0,
        normalised: true,
        softness: 0.0,
        goes_on: false,
    };
    let mut block = Block::new(terms, vec![0.5_f64.ln(); 2]);
    assert!(block.weigh(vec![0.0, 3.0_f64.ln()], &[]).is_none());
    block.know(&[[50.0, 0.0, 0.0], [0.0; 3]], [0.0; 3], 1.0);
    assert!((block.error - 1.0 / 16.0).abs() < 1e-7);
    let expected = 0.25 * 0.25_f64.ln() + 0.75 * 0.75_f64.ln();
    assert!((block.pseudo_likelihood() - expected).abs() < 1e-7);
    assert_eq!(block.known, 1.0);
}

/// Numbers beyond all reason neither spread NaN nor vanish.
#[test]
fn extreme_numbers() {
    let terms = Terms {
        judge: Judge::Density,
        known: 1.0,
        pseudo: 1.0,
        normalised: true,
        softness: 0.5,
        goes_on: false,
    };
    let mut block = Block::new(terms, vec![0.5_f64.ln(); 2]);
    block.weigh(vec![-1e30, 1e30], &[0.3, 0.9]);
    block.know(&[[50.0, 0.0, 0.0], [0.0; 3]], [0.0; 3], 1.0);
    assert!(block.pulls().iter().all(|pull| pull.is_finite()));
    assert!(block.weights().iter().all(|weight| weight.is_finite()));
}
