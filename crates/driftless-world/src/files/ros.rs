//! The few ROS messages that a drive consists of, decoded from CDR (ROS 2) and from ROS 1's encoding.

mod cloud;
mod cursor;
mod messages;
mod picture;

pub use cloud::{BINS, planar};
pub use cursor::{Cursor, Encoding};
pub use messages::{Header, LaserScan, Stamped, header, laser_scan, pose, transforms};
pub use picture::picture;

/// The messages that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// sensor_msgs/LaserScan
    LaserScan,
    /// sensor_msgs/PointCloud2
    PointCloud,
    /// sensor_msgs/Image
    Image,
    /// sensor_msgs/CompressedImage
    CompressedImage,
    /// nav_msgs/Odometry
    Odometry,
    /// geometry_msgs/PoseStamped
    PoseStamped,
    /// geometry_msgs/PoseWithCovarianceStamped
    PoseWithCovarianceStamped,
    /// geometry_msgs/TransformStamped
    TransformStamped,
    /// tf2_msgs/TFMessage
    Transforms,
}

impl Kind {
    /// The kind of a schema's name, in ROS 1's form or in ROS 2's.
    pub fn of(schema: &str) -> Option<Self> {
        Some(match schema.replace("/msg/", "/").as_str() {
            "sensor_msgs/LaserScan" => Self::LaserScan,
            "sensor_msgs/PointCloud2" => Self::PointCloud,
            "sensor_msgs/Image" => Self::Image,
            "sensor_msgs/CompressedImage" => Self::CompressedImage,
            "nav_msgs/Odometry" => Self::Odometry,
            "geometry_msgs/PoseStamped" => Self::PoseStamped,
            "geometry_msgs/PoseWithCovarianceStamped" => Self::PoseWithCovarianceStamped,
            "geometry_msgs/TransformStamped" => Self::TransformStamped,
            "tf2_msgs/TFMessage" | "tf/tfMessage" => Self::Transforms,
            _ => return None,
        })
    }

    /// Whether a message holds one pose.
    pub fn is_pose(self) -> bool {
        matches!(
            self,
            Self::Odometry | Self::PoseStamped | Self::PoseWithCovarianceStamped | Self::TransformStamped
        )
    }

    /// Whether a message is a scan, or can be made one.
    pub fn is_scan(self) -> bool {
        matches!(self, Self::LaserScan | Self::PointCloud)
    }

    /// Whether a message holds an image.
    pub fn is_image(self) -> bool {
        matches!(self, Self::Image | Self::CompressedImage)
    }
}
