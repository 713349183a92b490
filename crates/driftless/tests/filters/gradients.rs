//! Reverse-mode gradients of whole rollouts against central differences, with all randomness fixed.

use crate::common::{LinearMotion, NoisyReading, Problem, f64s, numbers};
use crate::tiny::TinyModel;
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless::model::{GivenOdometry, Motion};
use driftless::resample::{Diffusion, OptimalTransport, Resampler, Scheme, Soft, Truncate, WhenBelow};
use driftless::{DrawSizes, Draws, Filter, Prior, Space, StateSpace, Transition};
use driftless_world::random::Random;

/// Fails unless the gradient of `loss` agrees with central differences of steps h and h / 2, of which the error by the
/// third derivative is taken away (Richardson), relative to its largest component.
fn check(name: &str, values: &[f64], loss: impl Fn(Tensor<1>) -> Tensor<1>) {
    let tensor = |values: &[f64]| f64s::<1>(TensorData::new(values.to_vec(), [values.len()]));
    let parameters = tensor(values).require_grad();
    let gradient = numbers(&parameters.grad(&loss(parameters.clone()).backward()).unwrap());
    let difference = |k: usize| {
        let h = 1e-5 * values[k].abs().max(1.0);
        let at = |shift: f64| {
            let mut moved = values.to_vec();
            moved[k] += shift;
            numbers(&loss(tensor(&moved)))[0]
        };
        let central = |h: f64| (at(h) - at(-h)) / (2.0 * h);
        (4.0 * central(0.5 * h) - central(h)) / 3.0
    };
    let expected: Vec<f64> = (0..values.len()).map(difference).collect();
    let largest = expected.iter().fold(0.0_f64, |largest, g| largest.max(g.abs()));
    assert!(largest > 1e-3, "{name}: nothing to compare: {expected:?}");
    for (k, (found, expected)) in gradient.iter().zip(&expected).enumerate() {
        assert!((found - expected).abs() < 1e-6 * largest, "{name} {k}: {found} is not {expected}");
    }
}

/// Resamplers whose gradient is that of the computed numbers, ancestors held fixed.
fn resamplers(space: Space) -> Vec<(&'static str, Box<dyn Resampler>)> {
    let mut transport = OptimalTransport::new(space, 0.5);
    (transport.tolerance, transport.max_iterations, transport.differentiated) = (1e-10, 300, 40);
    vec![
        ("never", Box::new(WhenBelow { fraction: 0.0, inner: Box::new(Scheme::Systematic) })),
        ("systematic", Box::new(Scheme::Systematic)),
        ("soft", Box::new(Soft::new(0.5, Scheme::Systematic))),
        (
            "soft when needed",
            Box::new(WhenBelow { fraction: 0.8, inner: Box::new(Soft::new(0.5, Scheme::Residual)) }),
        ),
        ("transport", Box::new(transport)),
        ("diffusion", Box::new(Diffusion { steps: 3, ..Diffusion::new(space) })),
    ]
}

fn draws(state: usize, steps: usize, particles: usize) -> Draws {
    let sizes = DrawSizes { batch: 2, steps, particles, state, noise: state, uniforms: 80 };
    Draws::new(sizes, 21, &Device::flex().autodiff(), DType::F64)
}

/// As many uniform numbers as the resampler wants.
fn trimmed(mut draws: Draws, wanted: usize) -> Draws {
    draws.steps.iter_mut().for_each(|step| step.uniforms.truncate(2 * wanted));
    draws
}

/// (a, b, q, r) of a linear-Gaussian model: evidence and estimates.
#[test]
fn linear_gaussian_rollouts() {
    let problem = Problem::golden_b();
    let repeat = |values: &[f64]| f64s::<3>(TensorData::new(values.to_vec(), [1, 3, 1])).expand([2, 3, 1]);
    for (name, resampler) in resamplers(Space::LINEAR) {
        let draws = trimmed(draws(1, 3, 6), resampler.uniforms(6, 1));
        let filter = Filter::new(Space::LINEAR, resampler).weighing_first();
        check(name, &[0.7, 0.5, 0.2, 0.4], |theta| {
            let model = StateSpace {
                transition: LinearMotion { theta: theta.clone().slice_dim(0, 0..3) },
                measurement: NoisyReading { variance: theta.slice_dim(0, 3..4), shift: 0.0 },
            };
            let prior = Prior::Normal { mean: vec![0.0], std: vec![1.2] }.sample(&draws);
            let cues = repeat(&problem.observations);
            let rollout = filter.rollout(&model, prior, cues, &repeat(&problem.actions), &draws);
            rollout.log_evidence().sum() + rollout.estimates().square().sum()
        });
    }
}

/// All weights of a learned motion and of both encoders, through poses, images and cosines.
#[test]
fn learned_motion_and_encoders() {
    let mut random = Random::new(2);
    let weights: Vec<f64> = (0..TinyModel::PARAMETERS).map(|_| 0.6 * random.normal()).collect();
    for (name, resampler) in resamplers(Space::SE2) {
        let draws = trimmed(draws(3, 4, 5), resampler.uniforms(5, 3));
        let filter = Filter::new(Space::SE2, resampler).weighing_first();
        check(name, &weights, |theta| {
            let model = TinyModel::new(&theta);
            let prior = Prior::Normal { mean: vec![0.2, -0.1, 3.0], std: vec![1.0, 1.0, 0.4] }.sample(&draws);
            let rollout = filter.rollout(&model.0, prior, model.cues(), &TinyModel::actions(), &draws);
            let path = rollout.sum_along_paths(1..4, |t| rollout.infos[t].log_likelihood.clone());
            rollout.log_evidence().sum() + rollout.estimates().square().sum() + path.square().sum() * 0.1
        });
    }
}

#[test]
fn given_odometry_by_pose_and_action() {
    check("odometry", &[1.0, -2.0, 0.4, 0.3, 0.8, -0.2], |values| {
        let pose = values.clone().slice_dim(0, 0..3).reshape([1, 1, 3]);
        let action = values.slice_dim(0, 3..6).reshape([1, 1, 3]);
        (GivenOdometry::default().displacement(pose.clone(), action) + pose).powi_scalar(3).sum()
    });
}

/// At its own samples log g is the density of the noise, whatever the parameters: no gradient. With
/// the samples held, it is the score, which differences confirm.
#[test]
fn the_density_of_own_samples_trains_nothing_unless_held() {
    let mut random = Random::new(2);
    let weights: Vec<f64> = (0..TinyModel::PARAMETERS).map(|_| 0.6 * random.normal()).collect();
    let draws = draws(3, 1, 5);
    let (parents, noise) = (draws.normal_start.clone(), draws.steps[0].noise.clone());
    let action = f64s::<2>([[0.3, -0.2, 0.1]; 2]);
    let theta = f64s::<1>(TensorData::new(weights.clone(), [weights.len()])).require_grad();
    let motion = TinyModel::new(&theta).0.transition;
    let samples = motion.sample(parents.clone(), action.clone(), noise);
    let density = motion.log_density(parents.clone(), samples.clone(), action.clone()).sum();
    let gradient = numbers(&theta.grad(&density.backward()).unwrap());
    assert!(gradient.iter().all(|g| g.abs() < 1e-12), "{gradient:?}");
    let held = samples.detach();
    check("held", &weights, |theta| {
        let motion = TinyModel::new(&theta).0.transition;
        motion.log_density(parents.clone(), held.clone(), action.clone()).sum()
    });
}

/// With the noise's size learned too, its log-density only ever asks for less: -1 per log σ.
#[test]
fn the_density_of_own_samples_shrinks_the_noise() {
    let theta = f64s::<1>([0.7, 0.5, 0.2]).require_grad();
    let motion = LinearMotion { theta: theta.clone() };
    let draws = draws(1, 1, 5);
    let action = f64s::<2>([[0.3], [0.1]]);
    let samples = motion.sample(draws.normal_start.clone(), action.clone(), draws.steps[0].noise.clone());
    let density = motion.log_density(draws.normal_start, samples, action).sum();
    let gradient = numbers(&theta.grad(&density.backward()).unwrap());
    // Ten particles; d log σ = dq / (2 q).
    assert!(gradient[0].abs() < 1e-12 && gradient[1].abs() < 1e-12, "{gradient:?}");
    assert!((gradient[2] * 2.0 * 0.2 + 10.0).abs() < 1e-9, "{gradient:?}");
}

/// A cut at every resampling: the last estimate knows the last action, but none before.
#[test]
fn truncation_confines_gradients_to_a_step() {
    let problem = Problem::golden_b();
    let reached = |resampler: Box<dyn Resampler>| {
        let draws = trimmed(draws(1, 3, 6), resampler.uniforms(6, 1));
        let filter = Filter::new(Space::LINEAR, resampler).weighing_first();
        let prior = Prior::Normal { mean: vec![0.0], std: vec![1.2] }.sample(&draws);
        let actions = f64s::<3>([[[0.3], [-1.0], [0.8]]; 2]).require_grad();
        let cues = f64s::<3>([[[0.2], [-0.6], [0.9]]; 2]);
        let rollout = filter.rollout(&problem.model(0.0), prior, cues, &actions, &draws);
        let gradients = rollout.beliefs[2].mean(Space::LINEAR).sum().backward();
        numbers(&actions.grad(&gradients).unwrap())[..3].iter().map(|g| *g != 0.0).collect::<Vec<_>>()
    };
    assert_eq!(reached(Box::new(Scheme::Systematic)), [false, true, true]);
    assert_eq!(reached(Box::new(Truncate(Box::new(Scheme::Systematic)))), [false, false, true]);
}
