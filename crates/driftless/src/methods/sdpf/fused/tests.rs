//! By hand and with tensors: the same losses, and the same derivatives by all parameters.

use super::super::{given, init};
use super::*;
use crate::learn::{Alone, Normalisation, TrainingSet};
use crate::methods::observed::Observed;
use crate::methods::sdpf::Variant;
use crate::nets::Activation;
use crate::objective::{Reconstruction, WeightedSum};
use crate::parameters::{Named, gradients};
use crate::testing::{assert_close, numbers};
use burn::tensor::{DType, Device};
use driftless_world::labels::LabelBudget;
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::pose::wrap;
use driftless_world::random::Random;
use driftless_world::trajectory::{Observations, Pixels, Trajectory};

fn episodes(count: usize, steps: usize) -> Vec<Trajectory> {
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 9, 8);
    let one = |k: usize| {
        let mut random = Random::stream(1, k as u64);
        world.episode(1, k, steps).into_trajectory(0.1, &mut random).unwrap()
    };
    (0..count).map(one).collect()
}

fn lessons(episodes: Vec<Trajectory>, labels: f64) -> (Vec<Lesson>, Normalisation) {
    let count = episodes.len();
    let set = TrainingSet::new(Box::new(episodes), 0..count, LabelBudget::new(labels, 1).unwrap()).unwrap();
    (set.lessons(&(0..count).collect::<Vec<_>>(), 0).unwrap(), Normalisation::measure(&set).unwrap())
}

fn experiment(label_fraction: f64, particles: usize) -> Experiment {
    Experiment { label_fraction, particles, ..Experiment::default() }
}

/// Loss and gradients of both, for a seed.
fn both(
    variant: Variant,
    experiment: &Experiment,
    lessons: &[Lesson],
    normalisation: &Normalisation,
    seed: u64,
) -> [(f64, Vec<Named>, Figures); 2] {
    let (choices, device) = (Choices::of(variant, experiment), Device::flex().autodiff());
    let mut first = init(7, &device);
    let model = given(choices, normalisation, &mut first);
    let mut parts = choices.losses(experiment, normalisation);
    if choices.reconstruction == 0.0 {
        let course = Choices::course(
            WeightedSum(choices.losses(experiment, normalisation)),
            normalisation,
            choices.resampler(None).unwrap(),
        );
        let (loss, figures) = course.loss(&model, lessons, experiment.particles, seed).unwrap();
        let tensors = (figures.losses[0].1, gradients(&model, &loss.backward()), figures);
        let found = alone(choices, experiment)
            .unwrap()
            .loss(&model, &course, lessons, seed, &Alone)
            .unwrap()
            .unwrap();
        return [tensors, (found.value, found.gradients, found.figures)];
    }
    parts.push((choices.reconstruction, Box::new(Reconstruction)));
    let decoder = ImageDecoder::new(choices.plan(normalisation), Activation::Relu, &mut first);
    let model = Autoencoding { model, decoder };
    let course = Choices::course(WeightedSum(parts), normalisation, choices.resampler(None).unwrap());
    let (loss, figures) = course.loss(&model, lessons, experiment.particles, seed).unwrap();
    let tensors = (figures.losses[0].1, gradients(&model, &loss.backward()), figures);
    let found = autoencoding(choices, experiment)
        .unwrap()
        .loss(&model, &course, lessons, seed, &Alone)
        .unwrap()
        .unwrap();
    [tensors, (found.value, found.gradients, found.figures)]
}

/// Sums of 32 bits in another order, through a dozen layers. Ancestors are the same as long as no marker falls within
/// rounding of a border between weights, which it does about once in 10⁵ draws.
#[test]
fn the_same_as_with_tensors() {
    let cases = [
        (Variant::Released, experiment(0.3, 9), 3, 45),
        (Variant::Released, experiment(0.5, 1), 2, 3),
        (Variant::Released, experiment(0.2, 30), 9, 20),
        (Variant::Released, experiment(0.0, 5), 2, 21),
        (Variant::Supervised, experiment(0.4, 11), 3, 12),
    ];
    for (case, (variant, experiment, count, steps)) in cases.into_iter().enumerate() {
        let (lessons, normalisation) = lessons(episodes(count, steps), experiment.label_fraction);
        let [(expected, by_tensors, told), (found, fused, said)] =
            both(variant, &experiment, &lessons, &normalisation, 3);
        assert!((found - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{case}: {found}, not {expected}");
        for ((name, found), (other, expected)) in said.losses.iter().zip(&told.losses) {
            assert_eq!(name, other);
            assert!((found - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{name}: {found} {expected}");
        }
        let sizes = [said, told].map(|figures| figures.effective_sample_size.unwrap());
        assert!((sizes[0] / sizes[1] - 1.0).abs() < 1e-4, "{sizes:?}");
        let length = |numbers: &[f64]| numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
        let whole = length(&by_tensors.iter().flat_map(|g| g.values.clone()).collect::<Vec<_>>());
        for expected in &by_tensors {
            let found = fused.iter().find(|found| found.name == expected.name).expect("all of them");
            assert_eq!(found.shape, expected.shape);
            let apart: Vec<f64> = found.values.iter().zip(&expected.values).map(|(a, b)| a - b).collect();
            let (error, size) = (length(&apart), length(&expected.values));
            assert!(error < 1e-3 * size + 1e-5 * whole, "{case} {}: {error} of {size}", found.name);
        }
    }
}

/// An image that is not finite is left to the tensors.
#[test]
fn what_is_not_finite_is_left_to_tensors() {
    let experiment = experiment(0.5, 4);
    let mut lost = episodes(2, 4);
    if let Observations::Images(images) = &mut lost[1].observations {
        let numbers = (0..images.pixels.len()).map(|k| if k == 5 { f32::NAN } else { images.pixels.get(k) });
        images.pixels = Pixels::Floats(numbers.collect());
    }
    let (_, normalisation) = lessons(episodes(2, 4), 0.5);
    let (lessons, _) = lessons(lost, 0.5);
    let choices = Choices::of(Variant::Supervised, &experiment);
    let model = given(choices, &normalisation, &mut init(7, &Device::flex()));
    let course = Choices::course(
        WeightedSum(choices.losses(&experiment, &normalisation)),
        &normalisation,
        choices.resampler(None).unwrap(),
    );
    let found = alone(choices, &experiment).unwrap().loss(&model, &course, &lessons, 3, &Alone).unwrap();
    assert!(found.is_none());
}

/// The same beliefs as a rollout on tensors that draws the same numbers, particle by particle.
#[test]
fn believes_as_with_tensors() {
    let experiment = experiment(0.5, 20);
    let choices = Choices::of(Variant::Supervised, &experiment);
    let (lessons, normalisation) = lessons(episodes(3, 30), 0.5);
    let model = given(choices, &normalisation, &mut init(7, &Device::flex()));
    let course = Choices::course(
        WeightedSum(choices.losses(&experiment, &normalisation)),
        &normalisation,
        choices.resampler(None).unwrap(),
    );
    let batch = Observed::batch(&lessons, &normalisation, &Device::flex(), DType::F32).unwrap();
    let rollout = course.run(&model, &lessons, &batch, &course.draws(&batch, 20, 3));
    let fused = alone(choices, &experiment).unwrap();
    let found = fused.beliefs(&model, &course, &lessons, 20, 3).unwrap().unwrap();
    assert_eq!((found.len(), found[0].len()), (3, 30));
    for (t, (belief, info)) in rollout.beliefs.iter().zip(&rollout.infos).enumerate() {
        let [states, logs] = [numbers(&belief.states), numbers(&belief.weights.log())];
        let evidence = numbers(&info.log_evidence);
        for (k, sequence) in found.iter().enumerate() {
            let Believed { belief, log_evidence } = &sequence[t];
            assert_close(&[*log_evidence], &[evidence[k]], 1e-3);
            let own: Vec<f64> = belief.weights.log().iter().map(|x| f64::from(*x)).collect();
            assert_close(&own, &logs[20 * k..20 * (k + 1)], 1e-3);
            for (i, state) in states[60 * k..60 * (k + 1)].chunks_exact(3).enumerate() {
                let at = [0, 1, 2].map(|c| f64::from(belief.particles.column(c)[i]));
                // Positions are some hundred units in 32 bits.
                assert_close(&[at[0], at[1], wrap(at[2] - state[2])], &[state[0], state[1], 0.0], 0.02);
            }
        }
    }
}
