//! What is published: pose and cloud after each step, and the transform with each scan.

use super::{Localiser, Outcome, Updated};
use crate::counts::Trouble;
use crate::odometer::Reading;
use crate::sights::Sight;
use crate::topics::Said;
use driftless::online::Estimate;
use driftless_core::pose::Pose;
use driftless_world::files::estimates::messages::{self, Stamp};
use driftless_world::files::track::{composed, relative};

impl Localiser {
    /// Pose, cloud and transform after a step.
    pub(super) fn publish(&mut self, sight: &Sight, odometry: Option<Reading>, estimate: &Estimate) {
        self.counts.updates += 1;
        let Pose { x, y, heading } = estimate.pose;
        let pose = [x, y, heading];
        let is_sound = pose.iter().all(|part| part.is_finite());
        // map -> odom = pose ∘ odometry⁻¹ (REP 105), so that map -> odom -> base is the pose.
        let correction =
            odometry.filter(|_| is_sound).map(|reading| composed(pose, relative(reading.pose, [0.0; 3])));
        let stamp = sight.stamp;
        self.updated = Some(Updated { time: sight.time, odometry, correction });
        if !is_sound {
            self.note(Trouble::Refused, || "the filter has no estimate: nothing is published".to_owned());
            return;
        }
        let frame = &self.parameters.global_frame;
        let pose = messages::pose(estimate.pose, &estimate.covariance, stamp, frame);
        self.outcomes.push(Outcome::Publish(Said::Pose, pose));
        let most = self.parameters.cloud_particles;
        let belief = self.filter.as_ref().and_then(|filter| filter.belief()).filter(|_| most > 0);
        if let Some(belief) = belief {
            let cloud = messages::cloud(belief, most, stamp, frame, &mut self.chosen);
            self.outcomes.push(Outcome::Publish(Said::Cloud, cloud));
        }
        self.publish_transform(stamp, odometry);
    }

    /// The last correction, dated ahead: odometry is believed until then.
    pub(super) fn publish_transform(&mut self, stamp: Stamp, odometry: Option<Reading>) {
        let Some(Updated { odometry: last, correction, .. }) = self.updated else { return };
        let is_valid = odometry.zip(last).is_some_and(|(now, last)| now.stretch == last.stretch);
        let Some([x, y, heading]) = correction.filter(|_| is_valid) else { return };
        let stamp = ahead(stamp, self.parameters.transform_tolerance);
        if self.parameters.tf_broadcast {
            let (parent, child) = (&self.parameters.global_frame, &self.parameters.odom_frame);
            let message = messages::transform(Pose::new(x, y, heading), stamp, parent, child);
            self.outcomes.push(Outcome::Publish(Said::Transform, message));
        }
    }
}

/// A stamp so many seconds later.
fn ahead((seconds, nanoseconds): Stamp, by: f64) -> Stamp {
    let all = i64::from(nanoseconds) + (by * 1e9).round() as i64;
    let seconds = i64::from(seconds) + all.div_euclid(1_000_000_000);
    (seconds.min(i64::from(i32::MAX)) as i32, all.rem_euclid(1_000_000_000) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_ahead() {
        assert_eq!(ahead((7, 900_000_001), 0.25), (8, 150_000_001));
        assert_eq!(ahead((7, 4_000_000_000), 1.0), (12, 0));
        assert_eq!(ahead((i32::MAX, 0), 5.0), (i32::MAX, 0));
    }
}
