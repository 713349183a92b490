//! Odometry alone, as the log has it: what every filter has to beat.

use super::walks::Walk;
use crate::error::{Error, Result};
use crate::learn::{EpochReport, Method, Tracking, TrainingSet};
use crate::methods::house::told;
use crate::online::{Estimate, Observation, OnlineFilter, Place, Start as OnlineStart, saved};
use crate::parameters::Named;
use driftless_core::Snapshot;
use driftless_world::evaluation::Track;
use driftless_world::pose::{Frame, Pose};
use driftless_world::trajectory::{Start, Trajectory};

/// A method without parameters: it must be told where the robot starts.
pub struct RobotOdometry {
    /// How actions are written.
    pub frame: Frame,
}

/// A robot on its way.
struct Reckoning {
    pose: Pose,
    frame: Frame,
    began: bool,
}

impl Reckoning {
    fn new([x, y, heading]: [f64; 3], frame: Frame) -> Self {
        Self { pose: Pose::new(x, y, heading), frame, began: false }
    }

    /// The first action is not looked at. Where odometry is missing, nothing better is known than that the robot stays.
    fn step(&mut self, action: Option<[f64; 3]>) -> Pose {
        let action = action.filter(|action| self.began && action.iter().all(|x| x.is_finite()));
        self.began = true;
        self.pose = action.map_or(self.pose, |action| self.pose.moved(action, self.frame));
        self.pose
    }
}

impl OnlineFilter for Reckoning {
    fn step(&mut self, seen: Observation) -> Estimate {
        Estimate {
            pose: self.step(seen.action),
            covariance: [[f64::NAN; 3]; 3],
            effective_sample_size: f64::NAN,
            particles: 0,
            lost: None,
            collapsed: false,
            saw: false,
            moved: seen.action.is_some(),
            state: None,
        }
    }

    fn save(&self, to: &mut Vec<u8>) -> Option<()> {
        saved::save_pose(self.pose, to);
        self.began.save(to);
        Some(())
    }

    fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        (self.pose, self.began) = (saved::pose(from)?, bool::load(from)?);
        Some(())
    }
}

fn must_be_told() -> Error {
    Error::setting("robot.start", "must be tracking: odometry alone cannot find a robot")
}

impl RobotOdometry {
    fn follow(&self, number: usize, episode: &Trajectory) -> Result<Track> {
        let (lesson, truth) = told(number, episode)?;
        let walk = Walk::new(&lesson);
        let Some(Start::About { pose, .. }) = walk.start else { return Err(must_be_told()) };
        let mut reckoning = Reckoning::new(pose.map(f64::from), self.frame);
        let estimates = walk.actions.iter().map(|action| reckoning.step(Some(action.map(f64::from))));
        Ok(Track::new(truth, estimates.collect()))
    }
}

impl Method for RobotOdometry {
    fn learns(&self) -> bool {
        false
    }

    fn train(&mut self, _: u64, _: &TrainingSet) -> Result<EpochReport> {
        Ok(EpochReport::default())
    }

    fn track(&self, episodes: &[Trajectory], _: Tracking) -> Result<Vec<Track>> {
        episodes.iter().enumerate().map(|(number, episode)| self.follow(number, episode)).collect()
    }

    fn online_filter(&self, _: usize, start: &OnlineStart) -> Result<Option<Box<dyn OnlineFilter>>> {
        let Place::About { pose, .. } = start.place else { return Err(must_be_told()) };
        Ok(Some(Box::new(Reckoning::new(pose, self.frame))))
    }

    fn parameters(&self) -> Vec<Named> {
        Vec::new()
    }

    fn memory(&self) -> Vec<Named> {
        Vec::new()
    }

    fn restore(&mut self, _: &[Named], _: Option<&[Named]>) -> Result<()> {
        Ok(())
    }
}
