//! What is believed as ROS 2 messages: a pose with its covariance, a cloud of particles, a transform between two frames.

pub use super::cdr::{Message, Stamp};
use crate::error::{Error, Result};
use crate::pose::Pose;
use driftless_core::Belief;
use driftless_core::resample::Scheme;

/// `geometry_msgs/msg/PoseWithCovarianceStamped`. A covariance that is not known is zeros.
pub fn pose(pose: Pose, covariance: &[[f64; 3]; 3], stamp: Stamp, frame: &str) -> Message {
    let mut message = Message::new(stamp, frame);
    message.pose(pose);
    message.covariance(covariance);
    message
}

/// `nav2_msgs/msg/ParticleCloud`: the particles; of more than are wanted as many drawn systematically, which then weigh the
/// same. `chosen` is room to work in.
pub fn cloud(belief: &Belief, most: usize, stamp: Stamp, frame: &str, chosen: &mut Vec<u32>) -> Message {
    let [x, y, heading] = [0, 1, 2].map(|k| belief.particles.column(k));
    let (weights, all) = (belief.weights.linear(), belief.particles.len());
    let pose = |i: usize| Pose::new(x[i].into(), y[i].into(), heading[i].into());
    let mut message = Message::new(stamp, frame);
    message.count(all.min(most) as u32);
    if all <= most {
        for (i, &weight) in weights.iter().enumerate() {
            message.pose(pose(i));
            message.number(f64::from(weight));
        }
        return message;
    }
    // Not random: a file is the same for the same track.
    Scheme::Systematic.ancestors(weights, most, || 0.5, chosen);
    for &i in chosen.iter() {
        message.pose(pose(i as usize));
        message.number(1.0 / most as f64);
    }
    message
}

/// `tf2_msgs/msg/TFMessage` with one transform: where the frame `child` is in the frame `parent`.
pub fn transform(place: Pose, stamp: Stamp, parent: &str, child: &str) -> Message {
    let mut message = Message::array(1);
    message.header(stamp, parent);
    message.text(child);
    message.pose(place);
    message
}

/// Seconds as ROS has them, and as nanoseconds.
pub fn stamp(time: f64) -> Result<(Stamp, u64)> {
    if !(0.0..f64::from(i32::MAX)).contains(&time) {
        let problem = format!("{time} s cannot be a time of a ROS message: from 0 to 2147483647 is possible");
        return Err(Error::new(problem).in_field("times"));
    }
    let nanoseconds = time.floor() as u64 * 1_000_000_000 + (time.fract() * 1e9).round() as u64;
    let stamp = ((nanoseconds / 1_000_000_000) as i32, (nanoseconds % 1_000_000_000) as u32);
    Ok((stamp, nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::ros::{Encoding, Kind, transforms};

    /// What the importer reads from other programs' bytes is what was written.
    #[test]
    fn the_reader_of_bags_understands_them() {
        let place = Pose::new(1.5, -2.0, 2.5);
        let message = transform(place, (7, 500_000_000), "map", "odom");
        let read = transforms(Encoding::Cdr, message.bytes()).unwrap();
        assert_eq!((read.len(), read[0].child.as_str()), (1, "odom"));
        assert_eq!((read[0].header.frame.as_str(), read[0].header.time), ("map", Some(7.5)));
        let [x, y, heading] = read[0].place.on_floor();
        assert!((x - 1.5).abs() + (y + 2.0).abs() + (heading - 2.5).abs() < 1e-12);
        let message = pose(place, &[[1.0, 0.0, 0.0]; 3], (7, 0), "map");
        let kind = Kind::PoseWithCovarianceStamped;
        let read = crate::files::ros::pose(kind, Encoding::Cdr, message.bytes()).unwrap();
        assert!((read.place.on_floor()[2] - 2.5).abs() < 1e-12);
    }
}
