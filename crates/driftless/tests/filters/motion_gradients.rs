//! Learned motions and the proposer: gradients by all their parameters against central differences.

use crate::common::f64s;
use crate::differences::{check, check_but, init, noise, stirred};
use driftless::model::{
    ActionSampler, ActionSamplerConfig, ActionTransformer, ActionTransformerConfig, GaussianMotion,
    GivenOdometry, ParticleProposer, Proposer, StateBox,
};
use driftless::{Space, Transition};

fn transformer(hidden: Vec<usize>) -> ActionTransformer {
    let config = ActionTransformerConfig {
        hidden,
        space: Space::SE2,
        state_mean: vec![0.1, -0.2, 0.0],
        state_std: vec![0.9, 1.1, 1.0],
        action_std: vec![0.3, 0.2, 0.1],
        step_size: vec![0.5, 0.4, 0.2],
    };
    ActionTransformer::new(config, &mut init(3))
}

/// Samples and densities of a transition, by all its parameters but one.
fn check_transition<T: Transition>(name: &str, transition: &T, idle: &str) {
    let (parents, noise) = (noise([2, 5, 3], 21), noise([2, 5, 3], 22));
    let states = parents.clone() + noise.clone() * 0.3;
    let action = f64s::<2>([[0.3, -0.2, 0.1], [0.1, 0.4, -0.2]]);
    check_but(name, &stirred(transition.clone(), 7), idle, |transition| {
        let samples = transition.sample(parents.clone(), action.clone(), noise.clone());
        let density = transition.log_density(parents.clone(), states.clone(), action.clone());
        samples.powi_scalar(3).sum() + density.sum()
    });
}

/// The noise of a sampler is centred, so its last bias changes nothing.
#[test]
fn learned_motions() {
    let std = vec![0.3, 0.2, 0.1];
    let learned = GaussianMotion::new(transformer(vec![5, 4]), std, Space::SE2);
    check_transition("action transformer", &learned, "");
    let config = ActionSamplerConfig {
        hidden: vec![6, 5],
        action_std: vec![0.3, 0.2, 0.1],
        space: Space::SE2,
        floor: vec![0.2, 0.2, 0.1],
    };
    let odometry = ActionSampler::new(GivenOdometry::default(), config.clone(), &mut init(3));
    check_transition("action sampler", &odometry, "generator.layers.2.bias");
    let both = ActionSampler::new(transformer(vec![4]), config, &mut init(3));
    check_transition("action sampler with a learned displacement", &both, "generator.layers.2.bias");
}

#[test]
fn proposals_by_all_parameters() {
    let within = StateBox { low: [-1.0, 2.0], high: [3.0, 5.0] };
    let proposer = ParticleProposer::with_units(12, 3, within, &mut init(3));
    let cues = f64s::<3>([[[0.3, -0.8, 1.1], [0.9, 0.2, -0.4]]]);
    check("proposer", &stirred(proposer, 7), |proposer| {
        let poses = proposer.propose(&cues, 1, 9, 5);
        (poses.clone().sin() + poses.square() * 0.1).sum()
    });
}
