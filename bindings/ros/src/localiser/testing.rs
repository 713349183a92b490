//! A robot by hand for tests: messages as bytes, and a filter that believes its odometry.

use super::*;
use crate::run::Scanner;
use crate::topics::Heard;
use driftless::online::{Estimate, Place};
use driftless_core::{Belief, Particles, Space, Weights};
use driftless_world::files::ros::{self, Encoding, Kind};
use driftless_world::files::track::composed;
use std::cell::RefCell;
use std::rc::Rc;

/// What the filter was told, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    Begin(Place),
    Step {
        readings: Option<Vec<f32>>,
        image: Option<[usize; 3]>,
        odometry: Option<[f64; 3]>,
        time: Option<f64>,
    },
}

/// A filter that believes its odometry and nothing else: where it is can be said by hand.
#[derive(Clone, Default)]
pub struct Reckoner {
    calls: Rc<RefCell<Vec<Call>>>,
    pose: [f64; 3],
    belief: Option<Rc<Belief>>,
}

impl Run for Reckoner {
    fn begin(&self, place: Place, _: usize) -> driftless::Result<Box<dyn Follow>> {
        self.calls.borrow_mut().push(Call::Begin(place));
        let pose = if let Place::About { pose, .. } = place { pose } else { [0.0; 3] };
        let [x, y, heading] = pose.map(|part| part as f32);
        let particles = Particles::from_states(Space::SE2, vec![[x, y, heading]; 10]);
        let belief = Belief { particles, weights: Weights::normalised(&[0.0; 10]) };
        Ok(Box::new(Self { calls: Rc::clone(&self.calls), pose, belief: Some(Rc::new(belief)) }))
    }
}

impl Follow for Reckoner {
    fn step(&mut self, step: Step) -> driftless::Result<Estimate> {
        self.pose = composed(self.pose, step.odometry.unwrap_or_default());
        self.calls.borrow_mut().push(Call::Step {
            readings: step.readings.map(<[f32]>::to_vec),
            image: step.image.map(|image| image.size),
            odometry: step.odometry,
            time: step.time,
        });
        let [x, y, heading] = self.pose;
        Ok(Estimate {
            pose: Pose::new(x, y, heading),
            covariance: [[0.25, 0.0, 0.0], [0.0, 0.16, 0.0], [0.0, 0.0, 0.01]],
            effective_sample_size: 10.0,
            particles: 10,
            lost: None,
            collapsed: false,
            saw: true,
            moved: step.odometry.is_some(),
            state: None,
        })
    }

    fn belief(&self) -> Option<&Belief> {
        self.belief.as_deref()
    }
}

pub fn wants() -> Wants {
    Wants {
        readings: 3,
        scanner: Some(Scanner { first: 0, bearings: vec![-0.1, 0.0, 0.1] }),
        sees: false,
        motion: MotionKind::Odometry,
        frame: driftless_core::pose::Frame::Robot,
        spread: [0.3, 0.3, 0.2],
        image_side: Some(64),
    }
}

/// A robot in ROS's world, by hand.
pub struct Robot {
    pub localiser: Localiser,
    pub calls: Rc<RefCell<Vec<Call>>>,
    pub told: Vec<String>,
}

impl Robot {
    pub fn new(typed: &[&str], wants: Wants) -> Self {
        let (reckoner, mut parameters) = (Reckoner::default(), Parameters::default());
        typed.iter().for_each(|text| assert_eq!(parameters.take(text), Ok(None)));
        let calls = Rc::clone(&reckoner.calls);
        Self { localiser: Localiser::new(parameters, Box::new(reckoner), wants), calls, told: Vec::new() }
    }

    /// Told where it is from the first.
    pub fn placed(x: f64, y: f64, heading: f64) -> Self {
        let typed = [("x", x), ("y", y), ("yaw", heading)].map(|(k, v)| format!("initial_pose.{k}:={v}"));
        Self::new(&["set_initial_pose:=true", &typed[0], &typed[1], &typed[2]], wants())
    }

    pub fn hear(&mut self, topic: Heard, bytes: &[u8]) -> Vec<(Said, Message)> {
        self.localiser.hear(topic, bytes);
        let outcomes = self.localiser.outcomes().into_iter();
        let said = outcomes.filter_map(|outcome| match outcome {
            Outcome::Publish(what, message) => Some((what, message)),
            Outcome::Tell(words) => {
                self.told.push(words);
                None
            }
        });
        said.collect()
    }

    pub fn odometry(&mut self, time: f64, pose: [f64; 3]) -> Vec<(Said, Message)> {
        self.hear(Heard::Odometry, &odometry(time, pose))
    }

    pub fn scan(&mut self, time: f64) -> Vec<(Said, Message)> {
        self.hear(Heard::Scan, &scan(time, &[1.0, 2.0, 3.0]))
    }

    pub fn steps(&self) -> Vec<Option<[f64; 3]>> {
        let calls = self.calls.borrow();
        calls
            .iter()
            .filter_map(|call| if let Call::Step { odometry, .. } = call { Some(*odometry) } else { None })
            .collect()
    }

    pub fn of(&self, trouble: Trouble) -> u64 {
        self.localiser.counts().of(trouble)
    }
}

/// CDR by hand, apart from the writer that is tested.
pub struct Bytes(Vec<u8>);

impl Bytes {
    fn with_header(time: f64, frame: &str) -> Self {
        let mut bytes = Self(vec![0, 1, 0, 0]);
        bytes.put((time.floor() as i32).to_le_bytes());
        bytes.put(((time.fract() * 1e9).round() as u32).to_le_bytes());
        bytes.text(frame);
        bytes
    }

    fn put<const N: usize>(&mut self, number: [u8; N]) {
        while (self.0.len() - 4) % N > 0 {
            self.0.push(0);
        }
        self.0.extend(number);
    }

    fn text(&mut self, text: &str) {
        self.put((text.len() as u32 + 1).to_le_bytes());
        self.0.extend(text.bytes().chain([0]));
    }

    fn doubles(&mut self, numbers: &[f64]) {
        numbers.iter().for_each(|number| self.put(number.to_le_bytes()));
    }
}

pub fn odometry(time: f64, [x, y, heading]: [f64; 3]) -> Vec<u8> {
    let mut bytes = Bytes::with_header(time, "odom");
    bytes.text("base_footprint");
    bytes.doubles(&[x, y, 0.0, 0.0, 0.0, (heading / 2.0).sin(), (heading / 2.0).cos()]);
    bytes.doubles(&[0.0; 36 + 6 + 36]);
    bytes.0
}

pub fn scan(time: f64, ranges: &[f32]) -> Vec<u8> {
    let mut bytes = Bytes::with_header(time, "base_footprint");
    for number in [-0.1, 0.1, 0.1, 0.0, 0.0, 0.05, 10.0_f32] {
        bytes.put(number.to_le_bytes());
    }
    bytes.put((ranges.len() as u32).to_le_bytes());
    ranges.iter().for_each(|range| bytes.put(range.to_le_bytes()));
    bytes.put(0_u32.to_le_bytes());
    bytes.0
}

pub fn image(time: f64, side: usize) -> Vec<u8> {
    let mut bytes = Bytes::with_header(time, "camera");
    bytes.put((side as u32).to_le_bytes());
    bytes.put((side as u32).to_le_bytes());
    bytes.text("mono8");
    bytes.0.push(0);
    bytes.put((side as u32).to_le_bytes());
    bytes.put(((side * side) as u32).to_le_bytes());
    bytes.0.extend(vec![7; side * side]);
    bytes.0
}

pub fn initial_pose(time: f64, pose: [f64; 3], variances: [f64; 3], frame: &str) -> Vec<u8> {
    let [x, y, heading] = pose;
    let mut bytes = Bytes::with_header(time, frame);
    bytes.doubles(&[x, y, 0.0, 0.0, 0.0, (heading / 2.0).sin(), (heading / 2.0).cos()]);
    let at = |k| [0, 7, 35].iter().position(|&own| own == k).map_or(0.0, |which| variances[which]);
    bytes.doubles(&(0..36).map(at).collect::<Vec<f64>>());
    bytes.0
}

pub fn near(a: [f64; 3], b: [f64; 3]) {
    let off = [a[0] - b[0], a[1] - b[1], driftless_core::pose::wrap(a[2] - b[2])];
    assert!(off.iter().all(|x| x.abs() < 1e-9), "{a:?} is not {b:?}");
}

/// The one transform of a message, its frames and its time.
pub fn transform(said: &[(Said, Message)]) -> Option<([f64; 3], [String; 2], f64)> {
    let (_, message) = said.iter().find(|(what, _)| *what == Said::Transform)?;
    let one = ros::transforms(Encoding::Cdr, message.bytes()).unwrap().remove(0);
    Some((one.place.on_floor(), [one.header.frame, one.child], one.header.time.unwrap()))
}

pub fn pose(said: &[(Said, Message)]) -> Option<([f64; 3], f64)> {
    let (_, message) = said.iter().find(|(what, _)| *what == Said::Pose)?;
    let one = ros::pose(Kind::PoseWithCovarianceStamped, Encoding::Cdr, message.bytes()).unwrap();
    assert_eq!(one.header.frame, "map");
    Some((one.place.on_floor(), one.header.time.unwrap()))
}
