//! The regression against differences and numbers by hand, and on images that tell where they are.

use super::*;
use crate::learn::Detail;
use crate::online::Observation;
use driftless_world::labels::LabelBudget;
use driftless_world::trajectory::{Images, Labels, Observations, Pixels, Rows};

/// Images whose two halves are as bright as x and y are large; the heading is that of (x, y). Half of the poses are
/// known, and an episode is not learned from.
fn episodes() -> Vec<Trajectory> {
    let one = |k: usize| {
        let (mut pixels, mut states) = (Vec::new(), Labels::new(3));
        let mut random = Random::stream(3, k as u64);
        for _ in 0..20 {
            let [x, y] = [random.unit(), random.unit()].map(|x| x as f32);
            for pixel in 0..64 {
                pixels.push((200.0 * if pixel % 8 < 4 { x } else { y }) as u8);
            }
            states.push(Some(&[x, y, y.atan2(x)]));
        }
        let images = Images { height: 8, width: 8, channels: 1, pixels: Pixels::Bytes(pixels) };
        let actions = Rows::new(3, vec![0.0; 60]).unwrap();
        Trajectory::new(Observations::Images(images), actions, states).unwrap()
    };
    (0..9).map(one).collect()
}

/// It finds out what brightness means, for images it was not told about; the constant guess errs by 0.41, the root of
/// two variances of 1 / 12.
#[test]
fn learns_what_an_image_tells() {
    let (episodes, experiment) =
        (episodes(), Experiment { label_fraction: 0.5, epochs: 200, ..Experiment::default() });
    let budget = LabelBudget::new(0.5, 1).unwrap();
    let set = TrainingSet::new(Box::new(episodes.clone()), 0..8, budget).unwrap();
    let normalisation = Normalisation::measure(&set).unwrap();
    let mut method = Regression::new(&experiment, &normalisation);
    let error = |method: &Regression| {
        let how = Tracking { particles: 1, seed: 1, detail: Detail::Means };
        let tracks = method.track(&episodes[8..], how).unwrap();
        let pairs = tracks[0].estimate.iter().zip(&tracks[0].truth);
        let squares = pairs.map(|(a, b)| (a.x - b.x).powi(2) + (a.y - b.y).powi(2));
        (squares.sum::<f64>() / 20.0).sqrt()
    };
    let before = error(&method);
    for epoch in 1..=200 {
        method.train(epoch, &set).unwrap();
    }
    let after = error(&method);
    assert!(before > 0.3 && after < 0.15, "{before} {after}");
}

/// Wrong by 1 in x and by 0.5 in the cosine of all images: a loss of 1.25, and the derivatives of a mean.
#[test]
fn loss_by_hand() {
    let set = TrainingSet::new(Box::new(episodes()), 0..8, LabelBudget::new(1.0, 1).unwrap()).unwrap();
    let normalisation = Normalisation::measure(&set).unwrap();
    let method = Regression::new(&Experiment::default(), &normalisation);
    let all = method.examples(&load(&set, 0).unwrap()).unwrap();
    assert_eq!(all.targets.len(), 160);
    let mut workspace = Workspace::default();
    workspace.draw(&all, &mut Random::new(1));
    workspace.loss(method.learner.net());
    let ([steps, sequences], width) = (BATCH, method.learner.net().head.width());
    let said: Vec<f32> = workspace.memory.said().to_vec();
    for (k, target) in workspace.targets.iter_mut().enumerate() {
        let row = &said[(k % steps * sequences + k / steps) * width..][..SAID];
        *target = [row[0] - 1.0, row[1], row[2] + 0.5, row[3]];
    }
    let loss = workspace.loss(method.learner.net());
    assert!((loss - 1.25).abs() < 1e-5, "{loss}");
    for by in workspace.by_said.chunks_exact(width) {
        let expected = [2.0 / 64.0, 0.0, -1.0 / 64.0, 0.0];
        assert!(by.iter().zip(expected).all(|(by, expected)| (by - expected).abs() < 1e-7), "{by:?}");
    }
}

/// Along its gradient the loss falls as fast as its length says: differences of 32 bits, with noise of 1e-6 over a step
/// that changes the loss by 1e-3, and a second-order part of a step to either side that cancels.
#[test]
fn the_gradient_is_that_of_the_loss() {
    let set = TrainingSet::new(Box::new(episodes()), 0..8, LabelBudget::new(1.0, 1).unwrap()).unwrap();
    let normalisation = Normalisation::measure(&set).unwrap();
    let mut method = Regression::new(&Experiment::default(), &normalisation);
    let mut workspace = Workspace::default();
    workspace.draw(&method.examples(&load(&set, 0).unwrap()).unwrap(), &mut Random::new(1));
    workspace.loss(method.learner.net());
    let values = method.learner.values().to_vec();
    let gradients = gradients(method.learner.net(), &workspace.gradient);
    let names: Vec<&String> = gradients.iter().map(|named| &named.name).collect();
    assert_eq!(names, values.iter().map(|named| &named.name).collect::<Vec<_>>());
    for (part, gradient) in gradients.iter().enumerate() {
        let square: f64 = gradient.values.iter().map(|x| x * x).sum();
        let mut at = |step: f64| {
            let mut moved = values.clone();
            let pairs = moved[part].values.iter_mut().zip(&gradient.values);
            pairs.for_each(|(value, by)| *value += step * by);
            method.learner.set(&moved).unwrap();
            workspace.loss(method.learner.net())
        };
        let step = 5e-4 / square;
        let found = (at(step) - at(-step)) / 2.0 / step;
        assert!((found / square - 1.0).abs() < 0.05, "{}: {found} {square}", gradient.name);
    }
}

/// What was said becomes a pose in the units of the maze; what is not finite becomes none.
#[test]
fn poses_by_hand() {
    let set = TrainingSet::new(Box::new(episodes()), 0..8, LabelBudget::new(1.0, 1).unwrap()).unwrap();
    let mut normalisation = Normalisation::measure(&set).unwrap();
    (normalisation.state_mean, normalisation.state_std) = ([10.0, 20.0, 0.0], [2.0, 4.0, 1.0]);
    let method = Regression::new(&Experiment::default(), &normalisation);
    let pose = follow::pose(&method.normalisation, &[1.0, -0.5, 0.0, -3.0]).unwrap();
    assert_eq!([pose.x, pose.y], [12.0, 18.0]);
    assert!((pose.heading + std::f64::consts::FRAC_PI_2).abs() < 1e-6);
    assert!(follow::pose(&method.normalisation, &[1.0, f32::NAN, 0.0, -3.0]).is_none());
}

/// An image of numbers that are none leaves the robot where it was seen last.
#[test]
fn a_lost_image_says_nothing() {
    let set = TrainingSet::new(Box::new(episodes()), 0..8, LabelBudget::new(1.0, 1).unwrap()).unwrap();
    let method = Regression::new(&Experiment::default(), &Normalisation::measure(&set).unwrap());
    let mut pixels = vec![100.0; 128];
    pixels[70] = f32::NAN;
    let images = Images { height: 8, width: 8, channels: 1, pixels: Pixels::Floats(pixels) };
    let mut robot = method.robot();
    let mut at = |t| robot.step(Observation { image: Some((&images, t)), ..Observation::default() });
    let (seen, lost) = (at(0), at(1));
    assert!(seen.saw && !lost.saw);
    assert_eq!(seen.pose, lost.pose);
    assert!(lost.pose.x.is_finite());
}
