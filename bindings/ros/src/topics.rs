//! Topics of the node: their names, types and how they are delivered.

/// What is listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// sensor_msgs/LaserScan
    Scan,
    /// sensor_msgs/Image
    Image,
    /// nav_msgs/Odometry
    Odometry,
    /// geometry_msgs/PoseWithCovarianceStamped
    InitialPose,
    /// tf2_msgs/TFMessage of transforms that never change
    Fixed,
}

/// What is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// geometry_msgs/PoseWithCovarianceStamped
    Pose,
    /// nav2_msgs/ParticleCloud
    Cloud,
    /// tf2_msgs/TFMessage
    Transform,
}

/// How messages of a topic travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Whether what is lost comes again.
    pub reliable: bool,
    /// Whether who comes late is given the last ones.
    pub latched: bool,
    /// How many are kept.
    pub depth: usize,
}

impl Heard {
    /// Package and name of its type.
    pub fn kind(self) -> [&'static str; 2] {
        match self {
            Self::Scan => ["sensor_msgs", "LaserScan"],
            Self::Image => ["sensor_msgs", "Image"],
            Self::Odometry => ["nav_msgs", "Odometry"],
            Self::InitialPose => ["geometry_msgs", "PoseWithCovarianceStamped"],
            Self::Fixed => ["tf2_msgs", "TFMessage"],
        }
    }

    /// Sensors are listened to as they come, which matches publishers of all kinds: poses of odometry say all anew, and a
    /// scan that is lost says nothing. An initial pose comes once.
    pub fn delivery(self) -> Delivery {
        match self {
            Self::Scan | Self::Image => Delivery { reliable: false, latched: false, depth: 5 },
            Self::Odometry => Delivery { reliable: false, latched: false, depth: 100 },
            Self::InitialPose => Delivery { reliable: true, latched: false, depth: 1 },
            Self::Fixed => Delivery { reliable: true, latched: true, depth: 100 },
        }
    }
}

impl Said {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Pose, Self::Cloud, Self::Transform];

    /// Its name before it is changed by who starts the node.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pose => "amcl_pose",
            Self::Cloud => "particle_cloud",
            Self::Transform => "/tf",
        }
    }

    /// Package and name of its type.
    pub fn kind(self) -> [&'static str; 2] {
        match self {
            Self::Pose => ["geometry_msgs", "PoseWithCovarianceStamped"],
            Self::Cloud => ["nav2_msgs", "ParticleCloud"],
            Self::Transform => ["tf2_msgs", "TFMessage"],
        }
    }

    /// As nav2's amcl delivers them; its clouds are not reliable, which ours may be, as whoever listens to the one hears the
    /// other.
    pub fn delivery(self) -> Delivery {
        match self {
            Self::Pose => Delivery { reliable: true, latched: true, depth: 1 },
            Self::Cloud => Delivery { reliable: true, latched: false, depth: 1 },
            Self::Transform => Delivery { reliable: true, latched: false, depth: 100 },
        }
    }
}
