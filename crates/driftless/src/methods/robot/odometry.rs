//! Odometry alone, as the log has it: what every filter has to beat.

use super::walks::Walk;
use crate::error::{Error, Result};
use crate::learn::{EpochReport, Method, Tracking, TrainingSet};
use crate::methods::house::told;
use crate::parameters::Named;
use driftless_world::evaluation::Track;
use driftless_world::pose::{Frame, Pose};
use driftless_world::trajectory::{Start, Trajectory};

/// A method without parameters: it must be told where the robot starts.
pub struct RobotOdometry {
    /// How actions are written.
    pub frame: Frame,
}

impl RobotOdometry {
    fn follow(&self, number: usize, episode: &Trajectory) -> Result<Track> {
        let (lesson, truth) = told(number, episode)?;
        let walk = Walk::new(&lesson);
        let Some(Start::About { pose: [x, y, heading], .. }) = walk.start else {
            return Err(Error::setting(
                "robot.start",
                "must be tracking: odometry alone cannot find a robot",
            ));
        };
        let mut pose = Pose::new(x.into(), y.into(), heading.into());
        let mut estimates = vec![pose];
        for action in &walk.actions[1..] {
            // Where odometry is missing, nothing better is known than that the robot stays.
            let known = action.iter().all(|x| x.is_finite());
            pose = pose.moved(if known { action.map(f64::from) } else { [0.0; 3] }, self.frame);
            estimates.push(pose);
        }
        Ok(Track::new(truth, estimates))
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
