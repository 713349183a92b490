//! Closed forms: what is published, when steps are made, and what becomes of messages that are none.

use super::testing::*;
use super::*;
use crate::topics::Heard;
use driftless::online::Place;
use driftless_world::files::estimates::messages;
use driftless_world::files::ros::{self, Cursor, Encoding};
use driftless_world::files::track::composed;
use driftless_world::random::Random;
use std::f64::consts::FRAC_PI_2;

/// By hand: at (2, 3) looking along y, while odometry says (1, 0) looking along x, its origin is a metre behind: (2, 2).
#[test]
fn map_to_odom_is_the_pose_over_odometry() {
    let mut robot = Robot::placed(2.0, 3.0, FRAC_PI_2);
    robot.odometry(10.0, [1.0, 0.0, 0.0]);
    let said = robot.scan(10.0);
    assert_eq!(said.iter().map(|(what, _)| *what).collect::<Vec<_>>(), Said::ALL);
    let (place, frames, time) = transform(&said).unwrap();
    near(place, [2.0, 2.0, FRAC_PI_2]);
    assert_eq!((frames, time), (["map".to_owned(), "odom".to_owned()], 11.0));
    let (at, time) = pose(&said).unwrap();
    near(at, [2.0, 3.0, FRAC_PI_2]);
    assert_eq!(time, 10.0);
    // A metre ahead, and a quarter turn to the left.
    robot.odometry(11.0, [2.0, 0.0, FRAC_PI_2]);
    let said = robot.scan(11.0);
    near(pose(&said).unwrap().0, [2.0, 4.0, -2.0 * FRAC_PI_2]);
    let ([x, y, heading], ..) = transform(&said).unwrap();
    near(composed([x, y, heading], [2.0, 0.0, FRAC_PI_2]), [2.0, 4.0, -2.0 * FRAC_PI_2]);
    // The cloud: ten particles of a tenth each, seven doubles a pose, as the message's definition has them.
    let (_, cloud) = said.iter().find(|(what, _)| *what == Said::Cloud).unwrap();
    let mut cursor = Cursor::new(Encoding::Cdr, cloud.bytes()).unwrap();
    ros::header(&mut cursor).unwrap();
    assert_eq!(cursor.u32().unwrap(), 10);
    let particle = cursor.doubles::<8>().unwrap();
    assert!((particle[0] - 2.0).abs() + (particle[7] - 0.1).abs() < 1e-6, "{particle:?}");
}

/// Below both thresholds the belief stays, and the last correction is published for the new time.
#[test]
fn steps_are_made_by_motion() {
    let mut robot = Robot::placed(0.0, 0.0, 0.0);
    robot.odometry(1.0, [0.0; 3]);
    robot.scan(1.0);
    let mut made = Vec::new();
    let path = [(0.2, 0.0), (0.24, 0.19), (0.26, 0.19), (0.26, 0.0), (0.26, -0.02), (0.0, -0.1), (0.0, -0.1)];
    for (k, (x, heading)) in path.into_iter().enumerate() {
        let time = 2.0 + k as f64;
        robot.odometry(time, [x, 0.0, heading]);
        let said = robot.scan(time);
        assert_eq!(transform(&said).unwrap().2, time + 1.0);
        made.push(pose(&said).is_some());
    }
    assert_eq!(made, [false, false, true, false, true, true, false]);
    let steps = robot.steps();
    assert_eq!(steps[0], None);
    near(steps[1].unwrap(), [0.26, 0.0, 0.19]);
    near(steps[2].unwrap(), [0.0, 0.0, -0.21]);
    assert_eq!((robot.localiser.counts().updates, robot.localiser.counts().scans), (4, 8));
}

/// Odometry went a metre ahead between the message's time and the scan.
#[test]
fn an_initial_pose_begins_anew_with_its_covariance() {
    let mut robot = Robot::new(&[], wants());
    robot.odometry(1.0, [5.0, 5.0, 0.0]);
    assert!(robot.scan(1.0).is_empty());
    assert_eq!(robot.of(Trouble::WithoutStart), 1);
    robot.odometry(2.0, [5.5, 5.0, 0.0]);
    robot.hear(Heard::InitialPose, &initial_pose(1.5, [1.0, 2.0, FRAC_PI_2], [0.25, 0.04, 0.01], "map"));
    robot.odometry(3.0, [6.25, 5.0, 0.0]);
    let said = robot.scan(3.0);
    near(pose(&said).unwrap().0, [1.0, 3.0, FRAC_PI_2]);
    let begin = robot.calls.borrow()[0].clone();
    let Call::Begin(Place::About { pose: begun, spread }) = begin else { panic!("{begin:?}") };
    near(begun, [1.0, 3.0, FRAC_PI_2]);
    near(spread, [0.5, 0.2, 0.1]);
    // Again, of now; the first step after it moves nothing.
    robot.hear(Heard::InitialPose, &initial_pose(0.0, [7.0, 7.0, 0.0], [1.0; 3], "/map"));
    robot.odometry(4.0, [9.0, 5.0, 0.0]);
    near(pose(&robot.scan(4.0)).unwrap().0, [7.0, 7.0, 0.0]);
    assert_eq!((robot.localiser.counts().starts, robot.steps()), (2, vec![None, None]));
}

#[test]
fn initial_poses_that_are_none() {
    let mut robot = Robot::placed(0.0, 0.0, 0.0);
    robot.hear(Heard::InitialPose, &initial_pose(1.0, [1.0; 3], [1.0; 3], "odom"));
    robot.hear(Heard::InitialPose, &initial_pose(1.0, [1.0; 3], [1.0, -1.0, 1.0], "map"));
    robot.hear(Heard::InitialPose, &initial_pose(1.0, [1.0; 3], [f64::NAN; 3], "map"));
    robot.hear(Heard::InitialPose, &initial_pose(1.0, [f64::INFINITY; 3], [1.0; 3], "map"));
    assert_eq!((robot.of(Trouble::WrongPose), robot.of(Trouble::Garbage)), (1, 3));
    robot.odometry(2.0, [0.0; 3]);
    near(pose(&robot.scan(2.0)).unwrap().0, [0.0; 3]);
    assert!(robot.told[0].contains("is of the frame \"odom\", not of \"map\""), "{:?}", robot.told);
}

/// A scan waits until odometry of its time is there, and has the pose between its neighbours.
#[test]
fn scans_wait_for_odometry() {
    let mut robot = Robot::placed(0.0, 0.0, 0.0);
    robot.odometry(1.0, [0.0; 3]);
    robot.scan(1.0);
    assert!(robot.scan(1.5).is_empty() && robot.scan(1.75).is_empty());
    let said = robot.odometry(2.0, [0.8, 0.0, 0.0]);
    near(pose(&said).unwrap().0, [0.4, 0.0, 0.0]);
    near(robot.steps()[1].unwrap(), [0.4, 0.0, 0.0]);
    // The one at 1.75 s, 0.2 m on, is not far enough for a step.
    assert_eq!((robot.steps().len(), robot.localiser.waiting.len()), (2, 0));
    // Nothing comes any more: what waits is bounded, and counted. Then it comes, after a gap that nobody bridges.
    for k in 0..40 {
        robot.scan(2.1 + 0.1 * f64::from(k));
    }
    assert_eq!((robot.localiser.waiting.len(), robot.of(Trouble::WithoutOdometry)), (WAITING, 24));
    robot.odometry(6.0, [2.0, 0.0, 0.0]);
    robot.odometry(6.02, [2.0, 0.0, 0.0]);
    assert_eq!(robot.steps().len(), 3, "the scan of 6 s alone");
    assert!(robot.localiser.waiting.is_empty());
    robot.scan(100.0);
    assert!(robot.localiser.waiting.is_empty(), "a scan from the future does not wait");
}

/// The scanner's frame is not the robot's, and nobody says where it is until a transform comes: then ahead is behind.
#[test]
fn a_mount_that_comes_late() {
    let bearings = vec![0.0, std::f64::consts::PI];
    let scanner = Some(crate::run::Scanner { first: 0, bearings });
    let typed = ["global_localization:=true", "update_min_d:=0", "update_min_a:=0", "base_frame_id:=base"];
    let mut robot = Robot::new(&typed, Wants { readings: 2, scanner, ..wants() });
    let turned =
        messages::transform(Pose::new(0.0, 0.0, std::f64::consts::PI), (1, 0), "base", "base_footprint");
    for time in [1.0, 2.0, 3.0] {
        robot.odometry(time, [0.0; 3]);
        robot.scan(time);
        robot.hear(Heard::Fixed, turned.bytes());
    }
    let calls = robot.calls.borrow();
    let found: Vec<[bool; 2]> = calls
        .iter()
        .filter_map(|call| if let Call::Step { readings, .. } = call { readings.as_ref() } else { None })
        .map(|readings| [readings[0].is_finite(), readings[1].is_finite()])
        .collect();
    assert_eq!(found, [[true, false], [false, true], [false, true]]);
    let mounts = robot.told.iter().filter(|told| told.starts_with("the scanner")).count();
    assert_eq!(mounts, 2, "{:?}", robot.told);
}

#[test]
fn late_twice_jumping_and_anew() {
    let mut robot = Robot::placed(0.0, 0.0, 0.0);
    robot.odometry(10.0, [0.0; 3]);
    robot.scan(10.0);
    robot.odometry(10.0, [3.0, 0.0, 0.0]);
    robot.odometry(9.9, [3.0, 0.0, 0.0]);
    robot.scan(10.0);
    robot.scan(9.0);
    assert_eq!((robot.of(Trouble::Twice), robot.of(Trouble::Late), robot.steps().len()), (2, 2, 1));
    // Somebody resets odometry: the motion is not known, and the pose stays where it was.
    robot.odometry(11.0, [50.0, 0.0, 0.0]);
    let said = robot.scan(11.0);
    assert_eq!((robot.of(Trouble::Jump), robot.steps().last()), (1, Some(&None)));
    near(transform(&said).unwrap().0, [-50.0, 0.0, 0.0]);
    // A bag begins again.
    robot.odometry(1.0, [50.0, 0.0, 0.0]);
    robot.scan(1.0);
    robot.odometry(2.0, [51.0, 0.0, 0.0]);
    robot.scan(2.0);
    assert_eq!(robot.of(Trouble::Restart), 2);
    near(robot.steps().last().unwrap().unwrap(), [1.0, 0.0, 0.0]);
    // Without a stamp.
    robot.odometry(0.0, [0.0; 3]);
    robot.scan(0.0);
    assert_eq!(robot.of(Trouble::WithoutTime), 2);
}

/// What the importer makes of them: NaN, infinite, zero, negative, too near and too far readings are missing.
#[test]
fn readings_that_are_none_are_missing() {
    let mut robot = Robot::placed(0.0, 0.0, 0.0);
    robot.localiser.parameters.update_min_d = 0.0;
    robot.localiser.parameters.update_min_a = 0.0;
    for (k, ranges) in
        [[f32::NAN, 1.0, f32::INFINITY], [0.0, 9.9, -1.0], [0.01, 10.5, 2.0]].iter().enumerate()
    {
        robot.odometry(1.0 + k as f64, [0.0; 3]);
        robot.hear(Heard::Scan, &scan(1.0 + k as f64, ranges));
    }
    robot.localiser.parameters.laser_max_range = 5.0;
    robot.odometry(9.0, [0.0; 3]);
    robot.hear(Heard::Scan, &scan(9.0, &[4.0, 6.0, 5.0]));
    let calls = robot.calls.borrow();
    let found: Vec<Vec<bool>> = calls
        .iter()
        .filter_map(|call| {
            if let Call::Step { readings: Some(readings), .. } = call { Some(readings) } else { None }
        })
        .map(|readings| readings.iter().map(|x| x.is_finite()).collect())
        .collect();
    let (no, yes) = (false, true);
    assert_eq!(found, [[no, yes, no], [no, yes, no], [no, no, yes], [yes, no, yes]]);
}

#[test]
fn actions_are_written_as_the_run_has_them() {
    let mut velocity = Robot::placed(0.0, 0.0, 0.0);
    velocity.localiser.wants.motion = MotionKind::Velocity;
    let mut mirrored = Robot::placed(0.0, 0.0, 0.0);
    mirrored.localiser.wants.frame = driftless_core::pose::Frame::Reflected;
    let mut free = Robot::placed(0.0, 0.0, 0.0);
    free.localiser.wants.motion = MotionKind::None;
    free.scan(0.5);
    for robot in [&mut velocity, &mut mirrored, &mut free] {
        for (time, pose) in [(1.0, [0.0, 0.0, FRAC_PI_2]), (1.5, [-0.1, 0.3, FRAC_PI_2 + 0.2])] {
            robot.odometry(time, pose);
            robot.scan(time);
        }
    }
    near(velocity.steps()[1].unwrap(), [0.6, 0.2, 0.4]);
    near(mirrored.steps()[1].unwrap(), [0.3, -0.1, 0.2]);
    assert_eq!(free.steps(), [None; 3]);
}

/// Images are looked at with the scan that they are nearest to, once.
#[test]
fn images_beside_scans_and_alone() {
    let typed = ["global_localization:=true", "update_min_d:=0", "update_min_a:=0"];
    let mut beside = Robot::new(&typed, Wants { sees: true, ..wants() });
    let mut alone = Robot::new(&typed, Wants { sees: true, scanner: None, readings: 0, ..wants() });
    for robot in [&mut beside, &mut alone] {
        for (time, seen) in [(1.0, 1.05), (2.0, 2.5), (3.0, 3.0)] {
            robot.hear(Heard::Image, &image(seen, 100));
            robot.odometry(time, [time, 0.0, 0.0]);
            robot.odometry(time + 0.9, [time, 0.0, 0.0]);
            robot.scan(time);
        }
    }
    let images = |robot: &Robot| -> Vec<Option<[usize; 3]>> {
        let calls = robot.calls.borrow();
        calls
            .iter()
            .filter_map(|call| if let Call::Step { image, .. } = call { Some(*image) } else { None })
            .collect()
    };
    let small = Some([64, 64, 1]);
    assert_eq!(images(&beside), [small, None, small]);
    assert_eq!(images(&alone), [small; 3]);
}

/// 4000 damaged messages of each topic: nothing panics, and a sound one is understood afterwards.
#[test]
fn garbage_does_no_harm() {
    let sound = [
        (Heard::Scan, scan(1.0, &[1.0, 2.0, 3.0])),
        (Heard::Odometry, odometry(1.0, [1.0, 2.0, 0.3])),
        (Heard::InitialPose, initial_pose(1.0, [1.0; 3], [1.0; 3], "map")),
        (Heard::Image, image(1.0, 4)),
        (
            Heard::Fixed,
            messages::transform(Pose::new(1.0, 2.0, 0.5), (1, 0), "base_footprint", "laser").bytes().to_vec(),
        ),
    ];
    let mut random = Random::stream(5, 0);
    let mut robot = Robot::new(&["set_initial_pose:=true"], Wants { sees: true, ..wants() });
    for (topic, bytes) in &sound {
        for _ in 0..4000 {
            let mut bytes = bytes.clone();
            let at = (random.range(0.0, bytes.len() as f64)) as usize;
            if random.range(0.0, 1.0) < 0.3 {
                bytes.truncate(at);
            } else {
                bytes[at] = random.bits() as u8;
            }
            robot.hear(*topic, &bytes);
        }
    }
    assert!(robot.of(Trouble::Garbage) > 4000, "{}", robot.localiser.counts());
    robot.hear(Heard::InitialPose, &initial_pose(0.0, [1.0; 3], [1.0; 3], "map"));
    // Stamps were damaged, too: time begins anew, at the second message at the latest.
    for time in [5000.0, 100.0, 101.0] {
        robot.odometry(time, [0.0; 3]);
        robot.scan(time);
    }
    assert!(robot.localiser.counts().updates > 0);
    near(robot.localiser.updated.unwrap().correction.unwrap(), [1.0; 3]);
}
