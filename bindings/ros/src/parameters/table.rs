//! The parameters, line by line, and those of nav2's amcl that mean nothing here.

use super::Parameters;
use crate::names::is_name;

/// A line of the table.
pub struct Parameter {
    /// As it is typed.
    pub name: &'static str,
    /// Its usual value.
    pub usual: &'static str,
    /// What it says.
    pub what: &'static str,
    pub(super) take: fn(&mut Parameters, &str) -> Option<()>,
}

/// One line, and how a value is taken.
macro_rules! parameter {
    ($name:literal, $usual:literal, $what:literal, $take:expr) => {
        Parameter { name: $name, usual: $usual, what: $what, take: $take }
    };
}

/// All there are.
pub const PARAMETERS: &[Parameter] = &[
    parameter!("base_frame_id", "base_footprint", "the robot's frame", |p, v| frame(&mut p.base_frame, v)),
    parameter!("global_frame_id", "map", "the frame of poses", |p, v| frame(&mut p.global_frame, v)),
    parameter!("odom_frame_id", "odom", "the frame of odometry", |p, v| frame(&mut p.odom_frame, v)),
    parameter!("scan_topic", "scan", "sensor_msgs/LaserScan", |p, v| topic(&mut p.scan_topic, v)),
    parameter!("image_topic", "image", "sensor_msgs/Image", |p, v| topic(&mut p.image_topic, v)),
    parameter!("odom_topic", "odom", "nav_msgs/Odometry", |p, v| topic(&mut p.odom_topic, v)),
    parameter!("set_initial_pose", "false", "start at initial_pose", |p, v| set(
        &mut p.set_initial_pose,
        truth(v)
    )),
    parameter!("initial_pose.x", "0", "metres", |p, v| set(&mut p.initial_pose[0], number(v, -1e6, 1e6))),
    parameter!("initial_pose.y", "0", "metres", |p, v| set(&mut p.initial_pose[1], number(v, -1e6, 1e6))),
    parameter!("initial_pose.yaw", "0", "radians", |p, v| set(&mut p.initial_pose[2], number(v, -1e3, 1e3))),
    parameter!("global_localization", "false", "start anywhere", |p, v| set(
        &mut p.global_localization,
        truth(v)
    )),
    parameter!("update_min_d", "0.25", "metres to the next step", |p, v| set(
        &mut p.update_min_d,
        number(v, 0.0, 1e6)
    )),
    parameter!("update_min_a", "0.2", "radians to the next step", |p, v| set(
        &mut p.update_min_a,
        number(v, 0.0, 1e3)
    )),
    parameter!("max_particles", "as trained", "particles of a robot that was found", |p, v| set(
        &mut p.max_particles,
        number(v, 1.0, 1e6).filter(|n| n.fract() == 0.0).map(|n| Some(n as usize))
    )),
    parameter!("cloud_particles", "500", "of a cloud, at most; 0: no clouds", |p, v| set(
        &mut p.cloud_particles,
        number(v, 0.0, 1e5).filter(|n| n.fract() == 0.0).map(|n| n as usize)
    )),
    parameter!("transform_tolerance", "1.0", "seconds that map -> odom is dated ahead", |p, v| set(
        &mut p.transform_tolerance,
        number(v, 0.0, 1e3)
    )),
    parameter!("tf_broadcast", "true", "whether map -> odom is published", |p, v| set(
        &mut p.tf_broadcast,
        truth(v)
    )),
    parameter!("laser_min_range", "-1", "readings below are missing; -1: as the scan says", |p, v| set(
        &mut p.laser_min_range,
        number(v, -1.0, 1e6)
    )),
    parameter!("laser_max_range", "-1", "readings above are missing; -1: as the scan says", |p, v| set(
        &mut p.laser_max_range,
        number(v, -1.0, 1e6)
    )),
    parameter!("mount", "as /tf_static says", "where the scanner sits: forward,left,turn", |p, v| set(
        &mut p.mount,
        mount(v).map(Some)
    )),
    parameter!("seed", "1", "names the random numbers", |p, v| set(&mut p.seed, v.parse().ok())),
];

/// Parameters of nav2's amcl that mean nothing here, and why; lines of launch files that set them change nothing.
pub const OF_AMCL_ALONE: &[(&str, &[&str])] = &[
    (
        "the run has learned it",
        &[
            "alpha1",
            "alpha2",
            "alpha3",
            "alpha4",
            "alpha5",
            "robot_model_type",
            "laser_model_type",
            "max_beams",
            "laser_likelihood_max_dist",
            "lambda_short",
            "sigma_hit",
            "z_hit",
            "z_max",
            "z_rand",
            "z_short",
            "do_beamskip",
            "beam_skip_distance",
            "beam_skip_error_threshold",
            "beam_skip_threshold",
            "map_topic",
            "first_map_only",
            "recovery_alpha_fast",
            "recovery_alpha_slow",
        ],
    ),
    ("the filter does it its own way", &["min_particles", "pf_err", "pf_z", "resample_interval"]),
    ("messages carry their times", &["use_sim_time"]),
    (
        "there is no such thing here",
        &[
            "save_pose_rate",
            "always_reset_initial_pose",
            "bond_heartbeat_period",
            "initial_pose.z",
            "random_seed",
        ],
    ),
];

fn set<T>(to: &mut T, value: Option<T>) -> Option<()> {
    *to = value?;
    Some(())
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

fn number(text: &str, least: f64, most: f64) -> Option<f64> {
    text.parse().ok().filter(|x| (least..=most).contains(x))
}

fn frame(to: &mut String, text: &str) -> Option<()> {
    let text = text.trim_start_matches('/');
    set(to, (!text.is_empty() && text.len() <= 200).then(|| text.to_owned()))
}

fn topic(to: &mut String, text: &str) -> Option<()> {
    set(to, is_name(text).then(|| text.to_owned()))
}

fn mount(text: &str) -> Option<[f64; 3]> {
    let parts: Option<Vec<f64>> = text.split(',').map(|part| number(part.trim(), -1e3, 1e3)).collect();
    parts?.try_into().ok()
}
