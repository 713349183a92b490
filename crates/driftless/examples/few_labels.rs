//! Semi-supervised learning on vectors: a rover hears four beacons and knows one pose in ten.
//!
//! The same filter is trained three times: on the known poses alone, with the pseudo-likelihood of
//! its own paths in addition, and on poses that odometry carries from known steps to the others.
//!
//! Run it with `cargo run --release -p driftless --example few_labels`.

use burn::tensor::{DType, Device, Tensor};
use driftless::model::{FeatureMatch, GaussianMotion, GivenOdometry};
use driftless::nets::{Activation, PoseEncoder, StateFeatures, VectorEncoder};
use driftless::objective::{KernelDensity, Likelihoods, PseudoLikelihood, WeightedSum};
use driftless::optimise::{Adam, Optimiser, Rule};
use driftless::parameters::Init;
use driftless::resample::{Scheme, Truncate};
use driftless::smooth::chain::{Odometry, soft_labels};
use driftless::{Batch, DrawSizes, Draws, Filter, LabelMean, Objective, Prior, Space, StateSpace};
use driftless_world::labels::{LabelBudget, Lesson};
use driftless_world::pose::{Frame, Pose};
use driftless_world::random::Random;
use driftless_world::trajectory::{Labels, Observations, Rows, Trajectory};

use std::f64::consts::PI;

type Rover = StateSpace<GaussianMotion<GivenOdometry>, FeatureMatch<VectorEncoder, PoseEncoder>>;

const DRIVES: usize = 16;
const STEPS: usize = 25;
const PARTICLES: usize = 100;
/// The rover drives in a square of 10 m.
const SIDE: f64 = 10.0;

/// A drive: strengths of four beacons, seen ahead or behind; odometry with 5 % noise; all poses.
fn drive(seed: u64) -> Trajectory {
    let mut random = Random::new(seed);
    let mut pose = Pose::new(random.range(3.0, 7.0), random.range(3.0, 7.0), random.range(-3.0, 3.0));
    let (mut heard, mut moved, mut poses) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..STEPS {
        let ahead = pose.moved([1.0, 0.0, 0.0], Frame::Reflected);
        let outside = [ahead.x, ahead.y].iter().any(|&x| !(1.0..SIDE - 1.0).contains(&x));
        let turn = if outside { 1.2 } else { 0.4 * random.normal() };
        let action = [if outside { 0.1 } else { 0.8 }, 0.0, turn];
        pose = pose.moved(action, Frame::Reflected);
        moved.extend(action.map(|a| (a * (1.0 + 0.05 * random.normal())) as f32));
        poses.extend([pose.x as f32, pose.y as f32, pose.heading as f32]);
        for [x, y] in [[0.0, 0.0], [SIDE, 0.0], [0.0, SIDE], [SIDE, SIDE]] {
            let (distance, bearing) = ((x - pose.x).hypot(y - pose.y), (y - pose.y).atan2(x - pose.x));
            let strength = (-distance / 5.0).exp() * (1.5 + (bearing - pose.heading).cos());
            heard.push((strength + 0.05 * random.normal()) as f32);
        }
    }
    let rows = |width, values| Rows::new(width, values).expect("whole rows");
    Trajectory::new(Observations::Vectors(rows(4, heard)), rows(3, moved), Labels::all(rows(3, poses)))
        .expect("as many of each")
}

/// Lessons of which a share of the poses is known.
fn lessons(share: f64, first_seed: u64) -> driftless::Result<Vec<Lesson>> {
    let plan = LabelBudget::new(share, 7)?.plan(vec![vec![true; STEPS]; DRIVES]);
    (0..DRIVES).map(|k| Ok(plan.lesson(k, drive(first_seed + k as u64))?)).collect()
}

/// The same lessons with a pose wherever odometry, from known poses on both sides, is sure within 0.4 m.
fn with_soft_labels(lessons: &[Lesson]) -> driftless::Result<Vec<Lesson>> {
    let odometry = Odometry::new(Frame::Reflected, [0.01, 0.005], [0.05; 2]);
    let triple = |row: &[f32]| [f64::from(row[0]), f64::from(row[1]), f64::from(row[2])];
    let soft = |lesson: &Lesson| {
        let actions: Vec<[f64; 3]> = (0..STEPS).map(|t| triple(lesson.actions().row(t))).collect();
        let labels: Vec<Option<[f64; 3]>> = lesson.labels().iter().map(|pose| pose.map(triple)).collect();
        let mut poses = Labels::new(3);
        // A drive without any known pose stays without.
        let found = soft_labels(&odometry, &actions, &labels, None).ok();
        for t in 0..STEPS {
            let sure =
                found.as_ref().filter(|soft| soft.covariance[t][0][0] + soft.covariance[t][1][1] < 0.16);
            poses.push(sure.map(|soft| soft.mean[t].map(|x| x as f32)).as_ref().map(|pose| &pose[..]));
        }
        let known = poses.iter().map(|pose| pose.is_some()).collect();
        let plan = LabelBudget::new(1.0, 0)?.plan([known]);
        let trajectory = Trajectory::new(lesson.observations().clone(), lesson.actions().clone(), poses)?;
        Ok(plan.lesson(0, trajectory)?)
    };
    lessons.iter().map(soft).collect()
}

fn rover(device: &Device) -> Rover {
    let mut init = Init::new(5, device, DType::F32);
    let features = StateFeatures::new(Space::SE2, vec![SIDE / 2.0, SIDE / 2.0, 0.0], vec![2.0, 2.0, 1.0]);
    let ears = VectorEncoder::new(4, &[32, 32], Activation::Linear, &mut init);
    let places = PoseEncoder::new(features, &[32, 32, 32], &mut init);
    StateSpace {
        transition: GaussianMotion::new(GivenOdometry::default(), vec![0.1, 0.1, 0.1], Space::SE2),
        measurement: FeatureMatch::new(ears, places).with_epsilon(0.02),
    }
}

/// Everything but the data: filter, prior and random numbers.
struct Setting {
    device: Device,
    filter: Filter,
    prior: Prior,
}

impl Setting {
    fn draws(&self, seed: u64) -> Draws {
        let sizes =
            DrawSizes { batch: DRIVES, steps: STEPS, particles: PARTICLES, state: 3, noise: 3, uniforms: 1 };
        Draws::new(sizes, seed, &self.device, DType::F32)
    }

    fn trained(&self, lessons: &[Lesson], paths: f64) -> driftless::Result<Rover> {
        let batch = Batch::of_vectors(lessons, &self.device, DType::F32)?;
        let known = KernelDensity { scale: vec![1.0, 1.0, 0.5], bandwidth: 0.5, over: LabelMean::Known };
        let own = PseudoLikelihood {
            likelihoods: Likelihoods::Normalised,
            ..PseudoLikelihood::paper(5, self.prior.clone())
        };
        let mut objective = WeightedSum::<Rover>(vec![(1.0, Box::new(known))]);
        if paths > 0.0 {
            objective.0.push((paths, Box::new(own)));
        }
        let (mut rover, mut optimiser) =
            (rover(&self.device), Optimiser::new(Rule::Adam(Adam::default()), 0.003));
        for update in 0..100 {
            let draws = self.draws(update).training();
            let rollout = self.filter.run(&rover, &self.prior, &batch.observations, &batch.actions, &draws);
            let loss = objective.loss(&rover, &rollout, &batch);
            (rover, _) = optimiser.step(rover, &loss);
        }
        Ok(rover)
    }

    /// Root of the mean squared distance from the truth, in the second half of new drives.
    fn error(&self, rover: &Rover, test: &[Lesson]) -> driftless::Result<f64> {
        let batch = Batch::of_vectors(test, &self.device, DType::F32)?;
        let rollout =
            self.filter.run(rover, &self.prior, &batch.observations, &batch.actions, &self.draws(1_000));
        let estimates: Tensor<3> = rollout.estimates();
        let late = STEPS / 2;
        let squared = batch.labels.mean(LabelMean::Known, |truth| {
            let place = |states: Tensor<3>| states.slice_dim(2, 0..2);
            let distance = (place(truth) - place(estimates)).square().sum_dim(2).squeeze_dim::<2>(2);
            Tensor::cat(
                vec![distance.zeros_like().slice_dim(1, 0..late), distance.slice_dim(1, late..STEPS)],
                1,
            )
        });
        let share = (STEPS - late) as f64 / STEPS as f64;
        Ok((squared / share).sqrt().try_to_vec_as::<f64>().expect("a number")[0])
    }
}

fn main() -> driftless::Result<()> {
    let setting = Setting {
        device: Device::flex().autodiff(),
        filter: Filter::new(Space::SE2, Truncate(Box::new(Scheme::Systematic))).weighing_first(),
        prior: Prior::Uniform { low: vec![0.0, 0.0, -PI], high: vec![SIDE, SIDE, PI] },
    };
    let (few, test) = (lessons(0.1, 100)?, lessons(1.0, 900)?);
    let soft = with_soft_labels(&few)?;
    let count = |lessons: &[Lesson]| lessons.iter().map(|lesson| lesson.labels().known()).sum::<usize>();
    println!(
        "{} poses known, {} with those that odometry adds, of {}",
        count(&few),
        count(&soft),
        DRIVES * STEPS
    );
    let untrained = setting.error(&rover(&setting.device), &test)?;
    let labels = setting.error(&setting.trained(&few, 0.0)?, &test)?;
    let paths = setting.error(&setting.trained(&few, 0.01)?, &test)?;
    let carried = setting.error(&setting.trained(&soft, 0.0)?, &test)?;
    println!("error in new drives, in metres");
    println!("  untrained                  {untrained:.2}");
    println!("  known poses                {labels:.2}");
    println!("  and the filter's own paths {paths:.2}");
    println!("  and odometry between them  {carried:.2}");
    assert!(carried < 0.8 * untrained && carried < labels, "learning between labels did not help");
    Ok(())
}
