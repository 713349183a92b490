//! A trained run as a localisation node of ROS 2: scans or images and odometry come in, a pose with its covariance, a cloud of
//! particles and the transform from the map to odometry go out, as nav2's amcl has them.
//!
//! What a message does is decided without DDS ([`localiser`]); how messages travel is known to [`peer`] alone.

pub mod clock;
pub mod counts;
pub mod localiser;
pub mod names;
pub mod odometer;
pub mod parameters;
pub mod peer;
pub mod run;
pub mod sights;
pub mod topics;
