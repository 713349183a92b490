//! By kernels and with tensors: the same losses, and derivatives by all parameters.

use super::super::robot::{Rover, parts, rover};
use super::super::{Variant, init, learned_model, transformer};
use super::*;
use crate::learn::{Alone, Normalisation, TrainingSet};
use crate::methods::own_log::reading_plan;
use crate::model::ActionTransformer;
use crate::objective::WeightedSum;
use crate::parameters::{Init, gradients};
use driftless_world::labels::LabelBudget;
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::pose::wrap;
use driftless_world::random::Random;
use driftless_world::trajectory::{self, Labels, Rows, Start, Trajectory};

fn in_a_maze(count: usize, steps: usize) -> Vec<Trajectory> {
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 9, 8);
    let one = |k: usize| {
        let mut random = Random::stream(1, k as u64);
        world.episode(1, k, steps).into_trajectory(0.1, &mut random).unwrap()
    };
    (0..count).map(one).collect()
}

/// A robot that drives in circles and measures two numbers; steps 3 and 4 are silent, and what was done in step 5 is not
/// known.
fn in_a_log(count: usize, steps: usize) -> Vec<Trajectory> {
    let one = |k: usize| {
        let mut random = Random::stream(4, k as u64);
        let (mut readings, mut actions, mut states) = (Vec::new(), Vec::new(), Labels::new(3));
        let mut pose = [random.normal() as f32, random.normal() as f32, random.normal() as f32];
        let start = pose;
        for t in 0..steps {
            let (ahead, turn) = (0.3 + 0.1 * random.normal() as f32, 0.2 * random.normal() as f32);
            pose = [
                pose[0] + ahead * pose[2].cos(),
                pose[1] + ahead * pose[2].sin(),
                wrap(f64::from(pose[2] + turn)) as f32,
            ];
            let silent = t == 3 || t == 4;
            readings.extend(if silent { [f32::NAN; 2] } else { [pose[0] - 0.3 * pose[1], pose[1] + 1.0] });
            actions.extend(if t == 5 { [f32::NAN; 3] } else { [ahead, 0.0, turn] });
            states.push(Some(&pose));
        }
        let rows = |width, numbers| Rows::new(width, numbers).unwrap();
        let seen = trajectory::Observations::Vectors(rows(2, readings));
        let told = Some(Start::About { pose: start, spread: [0.3, 0.3, 0.2] });
        Trajectory { start: told, ..Trajectory::new(seen, rows(3, actions), states).unwrap() }
    };
    (0..count).map(one).collect()
}

fn lessons(episodes: Vec<Trajectory>, labels: f64) -> (Vec<Lesson>, Normalisation) {
    let count = episodes.len();
    let set = TrainingSet::new(Box::new(episodes), 0..count, LabelBudget::new(labels, 1).unwrap()).unwrap();
    (set.lessons(&(0..count).collect::<Vec<_>>(), 0).unwrap(), Normalisation::measure(&set).unwrap())
}

fn course<M: Model>(choices: Choices, experiment: &Experiment, normalisation: &Normalisation) -> Course<M> {
    let losses = WeightedSum(choices.losses(experiment, normalisation));
    Choices::course(losses, normalisation, choices.resampler(None).unwrap())
}

fn length(numbers: impl IntoIterator<Item = f64>) -> f64 {
    numbers.into_iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Sums of 32 bits in another order, through a dozen layers and as many steps; poses of 32 bits differ in their last
/// digit, and ReLUs may be on the other side for one particle of thousands.
fn compare<M: Model>(
    case: &str,
    model: &M,
    course: &Course<M>,
    lessons: &[Lesson],
    mut fused: Box<dyn Fused<M>>,
    particles: usize,
) where
    Observations<M>: Observed,
{
    let (loss, told) = course.loss(model, lessons, particles, 3).unwrap();
    let by_tensors = gradients(model, &loss.backward());
    let found = fused.loss(model, course, lessons, 3, &Alone).unwrap().expect("kernels can do it");
    for ((name, found), (other, expected)) in found.figures.losses.iter().zip(&told.losses) {
        assert_eq!(name, other);
        assert!((found - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{name}: {found} {expected}");
    }
    assert_eq!(found.figures.losses.len(), told.losses.len());
    let sizes = [&found.figures, &told].map(|figures| figures.effective_sample_size.unwrap());
    assert!((sizes[0] / sizes[1] - 1.0).abs() < 1e-4, "{sizes:?}");
    assert_eq!(found.gradients.len(), by_tensors.len());
    let whole = length(by_tensors.iter().flat_map(|g| g.values.clone()));
    for expected in &by_tensors {
        let found = found.gradients.iter().find(|found| found.name == expected.name).expect("all of them");
        assert_eq!(found.shape, expected.shape);
        let error = length(found.values.iter().zip(&expected.values).map(|(a, b)| a - b));
        let size = length(expected.values.iter().copied());
        assert!(error < 2e-3 * size + 1e-5 * whole, "{case} {}: {error} of {size}", found.name);
    }
}

fn resamplings<M: Model>(
    model: &M,
    course: &Course<M>,
    lessons: &[Lesson],
    (parts, threshold): (&Parts, f64),
    particles: usize,
) -> usize
where
    M::Measurement: Measurement<Cues = Tensor<3>>,
    Observations<M>: Observed,
{
    let batch = Observed::batch(lessons, &course.normalisation, &Device::flex(), DType::F32).unwrap();
    let draws = course.draws(&batch, particles, 3);
    let seen = Seen::of(model, parts.frames, &batch.observations, draws.phase);
    let material =
        Material::of(&course.start(lessons), lessons, (&batch.actions, seen.rows(&Alone).unwrap()), &draws);
    let (nets, mut memory) = (Nets::of(parts, threshold), Memory::default());
    let follow = |k| follow(&nets, &material, k, &mut memory).unwrap().trace.resampled;
    (0..lessons.len()).flat_map(follow).filter(|resampled| *resampled).count()
}

/// Two blocks and some steps more; fewer steps than a block; no labels; one particle.
#[test]
fn mazes_as_with_tensors() {
    let mut resampled = 0;
    let cases = [(0.3, 9, 3, 45), (0.5, 1, 2, 3), (0.2, 30, 9, 20), (0.0, 5, 2, 21), (0.3, 40, 3, 25)];
    // Networks that have not learned yet find all particles alike: a high threshold resamples all the same.
    for ((labels, particles, count, steps), threshold) in cases.into_iter().zip([0.5, 0.5, 0.5, 0.5, 0.98]) {
        let experiment = Experiment { label_fraction: labels, particles, ..Experiment::default() };
        // Without any label nothing is known of how large the world is, and motions run away.
        let (_, normalisation) = lessons(in_a_maze(count, steps), labels.max(0.3));
        let (lessons, _) = lessons(in_a_maze(count, steps), labels);
        let choices = Choices { threshold: Some(threshold), ..Choices::of(Variant::Paper, &experiment) };
        let model = learned_model(choices, &normalisation, &mut init(7, &Device::flex().autodiff()));
        let course = course(choices, &experiment, &normalisation);
        let name = format!("{labels} {particles} {count} {steps}");
        compare(&name, &model, &course, &lessons, in_mazes(choices, &experiment).unwrap(), particles);
        let plain = learned_model(choices, &normalisation, &mut init(7, &Device::flex()));
        resampled += resamplings(&plain, &course, &lessons, (&maze_parts(&plain), threshold), particles);
    }
    assert!(resampled > 0, "some belief was resampled");
}

fn log_model(
    experiment: &Experiment,
    normalisation: &Normalisation,
    device: &Device,
) -> Rover<ActionTransformer> {
    let plan = reading_plan(experiment, normalisation, 1.0).unwrap();
    let motion = |init: &mut Init| transformer(normalisation, init);
    rover(plan, normalisation, &mut init(7, device), motion)
}

#[test]
fn logs_as_with_tensors() {
    for (labels, particles, count, steps) in [(0.4, 12, 4, 20), (0.2, 40, 3, 9)] {
        let experiment = Experiment { label_fraction: labels, particles, ..Experiment::default() };
        let (lessons, normalisation) = lessons(in_a_log(count, steps), labels);
        let model = log_model(&experiment, &normalisation, &Device::flex().autodiff());
        let choices = Choices::of(Variant::Paper, &experiment);
        let course = course(choices, &experiment, &normalisation);
        let fused = by_kernels(choices, &experiment, parts).unwrap();
        compare(&format!("{labels} {particles}"), &model, &course, &lessons, fused, particles);
    }
}

/// In mazes an image that is not finite is left to the tensors.
#[test]
fn what_is_not_finite_is_left_to_tensors() {
    let experiment = Experiment { label_fraction: 0.5, particles: 4, ..Experiment::default() };
    let (lessons, normalisation) = lessons(in_a_maze(2, 4), 0.5);
    let choices = Choices::of(Variant::Paper, &experiment);
    let model = learned_model(choices, &normalisation, &mut init(7, &Device::flex()));
    let course: Course<Learned> = course(choices, &experiment, &normalisation);
    let batch = Observed::batch(&lessons, &normalisation, &Device::flex(), DType::F32).unwrap();
    let draws = course.draws(&batch, 4, 3);
    let features = model.measurement().encode(&batch.observations, draws.phase);
    let of = |features: Tensor<3>| {
        let rows = Seen::Features(features).rows(&Alone).unwrap();
        Material::of(&course.start(&lessons), &lessons, (&batch.actions, rows), &draws)
    };
    assert!(of(features.clone()).is_usable(false));
    let lost = of(features * f64::NAN);
    assert!(!lost.is_usable(false) && lost.is_usable(true));
}
