//! The few ROS messages that a drive consists of, decoded from CDR (ROS 2) and from ROS 1's encoding.

mod cursor;
mod messages;

pub use cursor::{Cursor, Encoding};
pub use messages::{LaserScan, Stamped, Transform, laser_scan, pose, transforms};

/// The messages that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// sensor_msgs/LaserScan
    LaserScan,
    /// nav_msgs/Odometry
    Odometry,
    /// geometry_msgs/PoseStamped
    PoseStamped,
    /// geometry_msgs/PoseWithCovarianceStamped
    PoseWithCovarianceStamped,
    /// tf2_msgs/TFMessage
    Transforms,
}

impl Kind {
    /// The kind of a schema's name, in ROS 1's form or in ROS 2's.
    pub fn of(schema: &str) -> Option<Self> {
        Some(match schema.replace("/msg/", "/").as_str() {
            "sensor_msgs/LaserScan" => Self::LaserScan,
            "nav_msgs/Odometry" => Self::Odometry,
            "geometry_msgs/PoseStamped" => Self::PoseStamped,
            "geometry_msgs/PoseWithCovarianceStamped" => Self::PoseWithCovarianceStamped,
            "tf2_msgs/TFMessage" | "tf/tfMessage" => Self::Transforms,
            _ => return None,
        })
    }

    /// Whether a message holds one pose.
    pub fn is_pose(self) -> bool {
        matches!(self, Self::Odometry | Self::PoseStamped | Self::PoseWithCovarianceStamped)
    }
}
