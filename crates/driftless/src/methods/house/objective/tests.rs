//! The gradients against differences of the loss.

use super::*;
use crate::learn::HousePseudoLikelihood;
use crate::objective::Genealogy;
use driftless_world::random::Random;

const COUNT: usize = 5;
const STEPS: usize = 3;

fn terms(label_loss: LabelLoss, known: f64, pseudo: f64) -> Terms {
    Terms {
        label_loss,
        known,
        pseudo,
        switches: HousePseudoLikelihood::default(),
        softness: 0.0,
        threshold: 1.0,
        goes_on: false,
        is_first: false,
        last: None,
    }
}

/// A block with known poses in two of three steps, and moves in between. Given the block of other numbers, its ancestors
/// are drawn once more, so that differences do not jump, and its weights are those of a Q that holds them.
fn run(terms: Terms, network: &[f64], other: Option<&Block>) -> (f64, Block) {
    let mut random = Random::new(3);
    let mut poses: Vec<[f64; 3]> = (0..COUNT).map(|_| [0; 3].map(|_| 20.0 * random.normal())).collect();
    let mut log_weights: Vec<f64> = (0..COUNT).map(|_| random.normal()).collect();
    normalise(&mut log_weights);
    let children = (terms.switches.genealogy == Genealogy::Final).then(|| vec![0.0, 3.0, 1.0, 0.0, 1.0]);
    let mut block = Block::new(terms, log_weights, children);
    for (t, a) in network.chunks(COUNT).enumerate() {
        block.came((0..COUNT).map(|_| random.normal()));
        poses.iter_mut().flatten().for_each(|x| *x += random.normal());
        let mut uniforms: Vec<f64> = (0..COUNT).map(|_| random.unit()).collect();
        if let Some(ancestors) = other.and_then(|other| other.steps[t].ancestors.as_ref()) {
            uniforms = choosing(ancestors, &block.log_weights, a, terms.softness);
        }
        block.weigh(a.to_vec());
        for resamples in [terms.resamples_first(), !terms.resamples_first()] {
            if !resamples {
                if t != 1 {
                    block.know(&poses, [1.0, -2.0, 3.0], if t == 0 { 1.0 } else { 0.4 });
                }
            } else if let Some(ancestors) = block.resample(&uniforms) {
                poses = ancestors.iter().map(|&i| poses[i]).collect();
            }
        }
    }
    let held = other.filter(|_| terms.switches.hold_weights).unwrap_or(&block).counts();
    let pseudo: f64 = held.iter().zip(&block.last().past).map(|(count, past)| count * past).sum();
    (terms.known * block.evaluated - terms.pseudo * pseudo, block)
}

/// Numbers that choose these ancestors, so that differences do not jump.
fn choosing(ancestors: &[usize], log_weights: &[f64], a: &[f64], softness: f64) -> Vec<f64> {
    let mut log_w: Vec<f64> = log_weights.iter().zip(a).map(|(w, a)| w + a).collect();
    normalise(&mut log_w);
    let shares: Vec<f64> =
        log_w.iter().map(|w| softness * w.exp() + (1.0 - softness) / COUNT as f64).collect();
    ancestors.iter().map(|&i| shares[..i].iter().sum::<f64>() + 0.5 * shares[i]).collect()
}

/// Every pull against a difference.
fn assert_derivatives(terms: Terms, network: &[f64]) {
    let (_, block) = run(terms, network, None);
    for (k, &pull) in block.log_gradients().iter().enumerate() {
        let at = |step: f64| {
            let mut network = network.to_vec();
            network[k] += step;
            run(terms, &network, Some(&block)).0
        };
        let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
        // Differences: 1e-10 and rounding of a loss of 10 by 1e-5; gradients are f32.
        let error = (f64::from(pull) - expected).abs();
        assert!(error < 1e-7 + 1e-6 * expected.abs(), "{terms:?} {k}: {pull} {expected}");
    }
}

fn numbers() -> Vec<f64> {
    let mut random = Random::new(7);
    (0..STEPS * COUNT).map(|_| f64::from(random.normal() as f32)).collect()
}

#[test]
fn pulls_are_derivatives() {
    for softness in [0.0, 0.6, 1.0] {
        for (evaluate, known, pseudo) in [
            (LabelLoss::SquaredError, 1.3, 0.0),
            (LabelLoss::Density, 1.3, 0.0),
            (LabelLoss::SquaredError, 0.0, 0.7),
            (LabelLoss::Density, 1.3, 0.7),
        ] {
            assert_derivatives(Terms { softness, ..terms(evaluate, known, pseudo) }, &numbers());
        }
    }
}

/// For all switches of Q, with and without resampling.
#[test]
fn switches_are_followed_by_log_gradients() {
    let values = [Likelihoods::Literal, Likelihoods::Normalised, Likelihoods::Released];
    for (likelihoods, genealogy) in
        values.into_iter().flat_map(|l| [Genealogy::BlockEnd, Genealogy::Final].map(|g| (l, g)))
    {
        for (hold_weights, first_likelihood) in [(true, true), (true, false), (false, true), (false, false)] {
            let switches = HousePseudoLikelihood {
                likelihoods,
                genealogy,
                first_likelihood,
                hold_weights,
                ..HousePseudoLikelihood::default()
            };
            for (softness, last) in [(0.0, None), (0.6, Some(2)), (1.0, Some(2))] {
                let terms = terms(LabelLoss::SquaredError, 1.3, 0.7);
                let terms = Terms { switches, softness, threshold: 0.9, is_first: true, last, ..terms };
                assert_derivatives(terms, &numbers());
            }
        }
    }
}

/// Expectation maximisation: with equal weights before, and one step, the weights are those that Q asks for, and
/// nothing gradients. With weights that are not held, Q is -entropy: it gradients, and beliefs become sharp.
#[test]
fn a_uniform_belief_and_one_step_teach_nothing() {
    let log_gradients = |hold_weights: bool| {
        let switches = HousePseudoLikelihood { hold_weights, ..HousePseudoLikelihood::default() };
        let terms = Terms { switches, ..terms(LabelLoss::SquaredError, 0.0, 1.0) };
        let mut block = Block::new(terms, vec![-(COUNT as f64).ln(); COUNT], None);
        block.weigh(numbers()[..COUNT].to_vec());
        block.log_gradients()
    };
    assert!(HousePseudoLikelihood::default().hold_weights);
    // Weights and shares are the same numbers but for rounding of 64 bits.
    assert!(log_gradients(true).iter().all(|pull| pull.abs() < 1e-15), "{:?}", log_gradients(true));
    assert!(log_gradients(false).iter().any(|pull| pull.abs() > 0.01), "{:?}", log_gradients(false));
}

/// Particles are resampled where few of them count.
#[test]
fn resampled_below_the_threshold() {
    let resampled = |a: f64, threshold: f64| {
        let terms = Terms { softness: 1.0, threshold, ..terms(LabelLoss::SquaredError, 1.0, 0.0) };
        let mut block = Block::new(terms, vec![0.5_f64.ln(); 2], None);
        block.weigh(vec![a, 0.0]);
        let found = block.resample(&[0.2, 0.9]).is_some();
        (found, block.effective_sample_size(), block.log_weights().to_vec())
    };
    // Weights 3/4 and 1/4 count as 1.6 particles of 2.
    let (found, effective, _) = resampled(3.0_f64.ln(), 0.79);
    assert!(!found && (effective - 1.6).abs() < 1e-12);
    let (found, _, log_weights) = resampled(3.0_f64.ln(), 0.81);
    assert!(found && log_weights == [0.5_f64.ln(); 2]);
    assert!(resampled(0.0, 1.0).0, "at every step");
}

/// Two children of the first particle, of which the second has one in the end.
#[test]
fn children_are_counted_back() {
    let terms = Terms { softness: 1.0, ..terms(LabelLoss::SquaredError, 0.0, 1.0) };
    let mut block = Block::new(terms, vec![0.5_f64.ln(); 2], None);
    for uniforms in [[0.1, 0.2], [0.1, 0.9]] {
        block.weigh(vec![0.0; 2]);
        block.resample(&uniforms);
    }
    let [at_end, before] = block.children_before(vec![0.0, 2.0], true);
    assert_eq!((at_end, before), (vec![0.0, 2.0], vec![2.0, 0.0]));
    // In the last block all particles of the last step are there in the end.
    let [at_end, before] = block.children_before(vec![1.0; 2], false);
    assert_eq!((at_end, before), (vec![1.0; 2], vec![2.0, 0.0]));
}

/// Two particles, one step, by hand: weights 1/4 and 3/4, errors 1 m and 0.
#[test]
fn by_hand() {
    let mut block = Block::new(terms(LabelLoss::SquaredError, 2.0, 1.0), vec![0.5_f64.ln(); 2], None);
    block.weigh(vec![0.0, 3.0_f64.ln()]);
    block.know(&[[50.0, 0.0, 0.0], [0.0; 3]], [0.0; 3], 1.0);
    assert!((block.error - 1.0 / 16.0).abs() < 1e-7);
    let expected = 0.25 * 0.25_f64.ln() + 0.75 * 0.75_f64.ln();
    assert!((block.pseudo_likelihood() - expected).abs() < 1e-7);
    assert_eq!(block.known, 1.0);
}

/// Numbers beyond all reason neither spread NaN nor vanish.
#[test]
fn extreme_numbers() {
    let terms = Terms { softness: 0.5, ..terms(LabelLoss::Density, 1.0, 1.0) };
    let mut block = Block::new(terms, vec![0.5_f64.ln(); 2], None);
    block.weigh(vec![-1e30, 1e30]);
    block.resample(&[0.3, 0.9]);
    block.know(&[[50.0, 0.0, 0.0], [0.0; 3]], [0.0; 3], 1.0);
    assert!(block.log_gradients().iter().all(|pull| pull.is_finite()));
    assert!(block.last().weights.iter().all(|weight| weight.is_finite()));
}
