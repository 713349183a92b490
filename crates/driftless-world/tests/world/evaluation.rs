//! Figures of an evaluation, computed by hand; and what becomes of odd inputs.

use driftless_world::evaluation::{Episodes, Particle, Plan, Seen, Thresholds};
use driftless_world::maze::Layout;
use driftless_world::random::Random;
use driftless_world::{About, Episode, Evaluation, Pose, Track};

const STEP_SIZES: [f64; 3] = [10.0, 20.0, 0.5];

fn about() -> About {
    About {
        method: "sdpf".into(),
        label: "SDPF (paper)".into(),
        world: "maze1".into(),
        label_fraction: 0.1,
        particles: 100,
        ..About::default()
    }
}

/// A robot at the origin, and estimates at these offsets.
fn track(offsets: &[[f64; 3]]) -> Track {
    let estimate = offsets.iter().map(|&[x, y, heading]| Pose::new(x, y, heading)).collect();
    Track::new(vec![Pose::default(); offsets.len()], estimate)
}

/// Two trajectories of two steps; all figures below are computed from these numbers on paper.
fn two_tracks() -> [Track; 2] {
    let one = Track {
        effective_sample_size: Some(vec![10.0, 30.0]),
        log_density: Some(vec![-1.0, -2.0]),
        covered: Some(vec![true, false]),
        ..track(&[[120.0, 160.0, 0.0], [3.0, 4.0, 0.3]])
    };
    let two = Track {
        effective_sample_size: Some(vec![20.0, 50.0]),
        log_density: Some(vec![-3.0, -6.0]),
        covered: Some(vec![true, true]),
        ..track(&[[0.0, 0.0, 0.5], [6.0, 8.0, -0.4]])
    };
    [one, two]
}

#[track_caller]
fn near(seen: impl Into<Option<f64>>, expected: f64) {
    let seen: f64 = seen.into().expect("the figure is there");
    // A dozen roundings of 1.1e-16 each.
    assert!((seen - expected).abs() <= 2e-15 * expected.abs().max(1.0), "{seen} is not {expected}");
}

#[test]
fn every_figure_by_hand() {
    let evaluation = Evaluation::of(about(), STEP_SIZES, &two_tracks()).unwrap();
    // Step 0: errors 200 and 0 units, 0 and 0.5 rad; d² = 12² + 8² = 208 and 1.
    let first = &evaluation.steps[0];
    let position = first.position_rmse.unwrap();
    near(position.value, 20_000_f64.sqrt());
    // Squares 40000 and 0: standard error of their mean 20000, divided by 2 √20000.
    near(position.standard_error, 20_000.0 / (2.0 * 20_000_f64.sqrt()));
    assert_eq!(first.position_quartiles, Some([50.0, 100.0, 150.0]));
    near(first.scaled_rmse.unwrap().value, 104.5_f64.sqrt());
    near(first.scaled_distance.unwrap().value, f64::midpoint(208_f64.sqrt(), 1.0));
    near(first.scaled_distance.unwrap().standard_error, (208_f64.sqrt() - 1.0) / 2.0);
    near(first.scaled_mse.unwrap().value, 104.5);
    near(first.heading_rmse.unwrap().value, 0.125_f64.sqrt().to_degrees());
    near(first.heading_median, 0.25_f64.to_degrees());
    // d² = 1 is not below 1; 200 units are beyond 150.
    near(first.error_rate.unwrap().value, 1.0);
    near(first.lost.unwrap().value, 0.5);
    near(first.negative_log_density.unwrap().value, 2.0);
    near(first.coverage.unwrap().value, 1.0);
    near(first.effective_sample_size.unwrap().value, 15.0);
    // Last step: 5 and 10 units; d² = 0.09 + 0.04 + 0.36 = 0.49 and 0.36 + 0.16 + 0.64 = 1.16.
    let last = &evaluation.last;
    near(last.position_rmse.unwrap().value, 62.5_f64.sqrt());
    near(last.scaled_rmse.unwrap().value, 0.825_f64.sqrt());
    near(last.scaled_distance.unwrap().value, f64::midpoint(0.7, 1.16_f64.sqrt()));
    near(last.error_rate.unwrap().value, 0.5);
    near(last.error_rate.unwrap().standard_error, 0.5);
    near(last.negative_log_density.unwrap().value, 4.0);
    near(last.coverage.unwrap().value, 0.5);
    near(last.effective_sample_size.unwrap().value, 40.0);
    assert_eq!(evaluation.localisation.steps, [Some(1), Some(0)]);
    assert_eq!(evaluation.position_errors, [[Some(200.0), Some(5.0)], [Some(0.0), Some(10.0)]]);
    assert_eq!(evaluation.scaled_distances[1], [Some(1.0), Some(1.16_f64.sqrt() as f32)]);
}

#[test]
fn thresholds_can_be_chosen() {
    let thresholds = Thresholds { lost: 7.0, localised: 7.0 };
    let evaluation = Evaluation::with(about(), STEP_SIZES, thresholds, &two_tracks()).unwrap();
    assert_eq!(evaluation.last.lost.unwrap().value, 0.5);
    assert_eq!(evaluation.localisation.steps, [Some(1), None]);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let thresholds = Thresholds { lost: bad, localised: 50.0 };
        assert!(Evaluation::with(about(), STEP_SIZES, thresholds, &two_tracks()).is_err(), "{bad}");
    }
}

#[test]
fn one_track_has_no_standard_error() {
    let evaluation = Evaluation::of(about(), STEP_SIZES, &[track(&[[3.0, 4.0, 0.0]])]).unwrap();
    let figure = evaluation.last.position_rmse.unwrap();
    assert_eq!((figure.value, figure.standard_error, figure.count), (5.0, None, 1));
    assert_eq!((evaluation.last.coverage, evaluation.last.negative_log_density), (None, None));
}

#[test]
fn lengths_may_differ_between_tracks() {
    let tracks = [track(&[[1.0, 0.0, 0.0]; 3]), track(&[[3.0, 0.0, 0.0]; 2])];
    let evaluation = Evaluation::of(about(), STEP_SIZES, &tracks).unwrap();
    let counts: Vec<usize> = evaluation.steps.iter().map(|figures| figures.trajectories).collect();
    assert_eq!(counts, [2, 2, 1]);
    assert_eq!(evaluation.steps[2].position_rmse.unwrap().value, 1.0);
    // At the last step of each: 1 and 3 units.
    assert_eq!(evaluation.last.position_rmse.unwrap().value, 5_f64.sqrt());
    assert_eq!((evaluation.last.trajectories, evaluation.last.step), (2, 2));
}

#[test]
fn mistakes_are_named() {
    let message = |tracks: &[Track]| Evaluation::of(about(), STEP_SIZES, tracks).unwrap_err().to_string();
    assert_eq!(message(&[]), "there is no trajectory to evaluate");
    assert_eq!(message(&[track(&[[0.0; 3]]), track(&[])]), "trajectory 1: has no steps");
    let unsure = About { label_fraction: f64::NAN, ..about() };
    let error = Evaluation::of(unsure, STEP_SIZES, &two_tracks()).unwrap_err().to_string();
    assert!(error.starts_with("field about: label fraction NaN"), "{error}");
    let error = Evaluation::of(about(), [10.0, 0.0, 0.5], &two_tracks()).unwrap_err().to_string();
    assert!(error.starts_with("field step sizes: [10.0, 0.0, 0.5] are not"), "{error}");
}

#[test]
fn estimates_that_are_nowhere_are_counted() {
    let nan = [f64::NAN, 0.0, 0.0];
    let mut broken = track(&[[3.0, 4.0, 0.0], nan]);
    broken.log_density = Some(vec![f64::NEG_INFINITY, -1.0]);
    broken.effective_sample_size = Some(vec![f64::NAN, 5.0]);
    let evaluation = Evaluation::of(about(), STEP_SIZES, &[broken, track(&[[0.0; 3]; 2])]).unwrap();
    let unusable = evaluation.unusable;
    assert_eq!((unusable.estimates, unusable.trajectories, unusable.beliefs), (1, 1, 2));
    let last = &evaluation.last;
    assert_eq!((last.unusable, last.position_rmse.unwrap().count), (1, 1));
    assert_eq!((last.lost.unwrap().value, last.error_rate.unwrap().value), (0.5, 0.5));
    assert_eq!(evaluation.steps[0].negative_log_density, None);
    assert_eq!(evaluation.localisation.steps, [None, Some(0)]);
    assert_eq!(evaluation.position_errors[0], [Some(5.0), None]);
    let nothing = Evaluation::of(about(), STEP_SIZES, &[track(&[nan])]).unwrap();
    assert_eq!((nothing.last.position_rmse, nothing.last.lost.unwrap().value), (None, 1.0));
    let text = evaluation.to_json() + &nothing.to_json();
    assert!(!text.contains("NaN") && !text.contains("inf"));
}

fn some_number(random: &mut Random) -> f64 {
    const ODD: [f64; 8] = [0.0, -0.0, 1e-320, 1e9, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    if random.chance(0.1) { ODD[random.below(ODD.len())] } else { 300.0 * random.normal() }
}

#[test]
fn json_keeps_every_bit_of_any_evaluation() {
    let mut random = Random::new(17);
    for _ in 0..200 {
        let tracks: Vec<Track> = (0..=random.below(6))
            .map(|_| {
                let offsets: Vec<[f64; 3]> =
                    (0..=random.below(8)).map(|_| [(); 3].map(|()| some_number(&mut random))).collect();
                let log_density = Some(offsets.iter().map(|_| some_number(&mut random)).collect());
                Track { log_density, ..track(&offsets) }
            })
            .collect();
        let evaluation = Evaluation::of(about(), [21.7, 0.1 + random.unit(), 0.3], &tracks).unwrap();
        let text = evaluation.to_json();
        // What is not finite would be written as null, and not come back as it was.
        let back = Evaluation::from_json(&text).unwrap();
        assert_eq!(back, evaluation);
        assert_eq!(back.to_json(), text);
    }
    assert!(Evaluation::from_json("{}").is_err());
}

#[test]
fn episodes_come_back_whole() {
    let plan = Plan::of_maze(&Layout::built_in("maze1").unwrap());
    let mut episode = Episode::new("trajectory 1", about(), plan).unwrap();
    let particles = [Particle { pose: Pose::new(500.0, 250.0, 1.0), weight: 1.0 }];
    let image: Vec<u8> = (0..2 * 3 * 3).collect();
    let seen = Seen {
        truth: Pose::new(500.0, 250.0, 1.0),
        particles: &particles,
        camera: Some((2, 3, &image)),
        log_evidence: Some(-1.5),
        ..Seen::default()
    };
    episode.push(&seen).unwrap();
    let nowhere = Pose::new(f64::NAN, 0.0, 0.0);
    episode.push(&Seen { estimate: nowhere, log_evidence: Some(f64::NAN), camera: None, ..seen }).unwrap();
    assert_eq!((episode.steps[1].estimate, episode.steps[1].log_evidence), (None, None));
    let unknown = Track::UNKNOWN;
    episode.push(&Seen { truth: unknown, ..seen }).unwrap();
    assert_eq!((episode.steps[2].truth, episode.steps[2].estimate), (None, Some([0.0; 3])));
    let error = episode.push(&Seen { camera: Some((2, 2, &image)), ..seen }).unwrap_err().to_string();
    assert_eq!(error, "step 3: field camera: 18 bytes do not make 2 x 2 RGB pixels");

    let episodes = Episodes { episodes: vec![episode], ..Episodes::default() };
    let back = Episodes::from_json(&episodes.to_json()).unwrap();
    assert_eq!(back, episodes);
    let step = &back.episodes[0].steps[0];
    let picture = driftless_world::files::png_image::decode(&step.camera).unwrap();
    assert_eq!((picture.height, picture.width, picture.channels), (2, 3, 3));
    let seen = step.particles.particles(&back.episodes[0].plan)[0];
    assert!(seen.pose.distance(particles[0].pose) < 0.02 && seen.weight == 1.0);
    let damaged = episodes.to_json().replace("\"high\":[1000.0", "\"high\":[0.0");
    assert!(Episodes::from_json(&damaged).unwrap_err().to_string().starts_with("episode 0: field plan"));
}
