//! Parameters, named as nav2's amcl names them where they mean the same.

mod table;

pub use table::{OF_AMCL_ALONE, PARAMETERS, Parameter};

use driftless::config::nearest_name;

/// What the node is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// The robot's frame.
    pub base_frame: String,
    /// The frame of poses.
    pub global_frame: String,
    /// The frame of odometry.
    pub odom_frame: String,
    /// Topics of scans, images and odometry.
    pub scan_topic: String,
    /// Of images.
    pub image_topic: String,
    /// Of odometry.
    pub odom_topic: String,
    /// Whether the pose below is where the robot starts.
    pub set_initial_pose: bool,
    /// x, y and heading.
    pub initial_pose: [f64; 3],
    /// Whether the robot may be anywhere at first.
    pub global_localization: bool,
    /// A step of the filter is made when the robot came farther than this,
    pub update_min_d: f64,
    /// or turned by more than this.
    pub update_min_a: f64,
    /// Particles of a robot that was found; as in training unless said.
    pub max_particles: Option<usize>,
    /// Particles of a cloud, at most; 0 for no clouds.
    pub cloud_particles: usize,
    /// Seconds that map -> odom is dated ahead.
    pub transform_tolerance: f64,
    /// Whether map -> odom is published.
    pub tf_broadcast: bool,
    /// Readings below are missing; negative: as the scan says.
    pub laser_min_range: f64,
    /// Readings above are missing; negative: as the scan says.
    pub laser_max_range: f64,
    /// Where the scanner sits on the robot: forward, left, turn; without it as /tf_static says.
    pub mount: Option<[f64; 3]>,
    /// Names the filter's random numbers.
    pub seed: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            base_frame: "base_footprint".to_owned(),
            global_frame: "map".to_owned(),
            odom_frame: "odom".to_owned(),
            scan_topic: "scan".to_owned(),
            image_topic: "image".to_owned(),
            odom_topic: "odom".to_owned(),
            set_initial_pose: false,
            initial_pose: [0.0; 3],
            global_localization: false,
            update_min_d: 0.25,
            update_min_a: 0.2,
            max_particles: None,
            cloud_particles: 500,
            transform_tolerance: 1.0,
            tf_broadcast: true,
            laser_min_range: -1.0,
            laser_max_range: -1.0,
            mount: None,
            seed: 1,
        }
    }
}

impl Parameters {
    /// Takes one `name:=value`. What is to be told of it, if it was nothing of ours.
    pub fn take(&mut self, text: &str) -> Result<Option<String>, String> {
        let Some((name, value)) = text.split_once(":=") else {
            return Err(format!("{text:?}: must be NAME:=VALUE"));
        };
        let value = value.trim().trim_matches(['"', '\'']);
        if let Some(parameter) = PARAMETERS.iter().find(|parameter| parameter.name == name) {
            let what = || format!("{name}:={value} cannot be; {} ({})", parameter.what, parameter.usual);
            return (parameter.take)(self, value).map(|()| None).ok_or_else(what);
        }
        if let Some((why, _)) = OF_AMCL_ALONE.iter().find(|(_, names)| names.contains(&name)) {
            return Ok(Some(format!("{name} of nav2_amcl changes nothing here: {why}")));
        }
        let near = nearest_name(name, PARAMETERS.iter().map(|parameter| parameter.name));
        let advice = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        Err(format!("there is no parameter {name:?}{advice}"))
    }

    /// Fails if they do not fit together.
    pub fn check(&self) -> Result<(), String> {
        if self.set_initial_pose && self.global_localization {
            return Err("set_initial_pose and global_localization exclude each other".to_owned());
        }
        if self.laser_max_range >= 0.0 && self.laser_max_range <= self.laser_min_range {
            return Err("laser_max_range must be above laser_min_range".to_owned());
        }
        if self.global_frame == self.odom_frame {
            return Err("global_frame_id and odom_frame_id must be different frames".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_or_refused() {
        let mut p = Parameters::default();
        for text in [
            "initial_pose.yaw:=-1.5",
            "set_initial_pose:=True",
            "max_particles:=2000",
            "base_frame_id:=/base_link",
            "scan_topic:=/front/scan",
            "update_min_d:=0",
            "mount:=0.1, 0,3.14",
            "seed:=7",
        ] {
            assert_eq!(p.take(text), Ok(None), "{text}");
        }
        assert_eq!((p.initial_pose[2], p.set_initial_pose, p.max_particles), (-1.5, true, Some(2000)));
        assert_eq!((p.base_frame.as_str(), p.mount, p.seed), ("base_link", Some([0.1, 0.0, 3.14]), 7));
        for text in [
            "seed",
            "seed:=-1",
            "max_particles:=0",
            "max_particles:=1.5",
            "initial_pose.x:=nan",
            "update_min_a:=-1",
            "scan_topic:=a b",
            "mount:=1,2",
            "tf_broadcast:=maybe",
            "base_frame_id:=",
            "initial_pose.x:=inf",
        ] {
            let before = p.clone();
            assert!(p.take(text).is_err() && p == before, "{text}");
        }
        p.global_localization = true;
        assert!(p.check().is_err());
    }

    #[test]
    fn unknown_names_get_the_nearest_and_amcls_own_are_passed_over() {
        let mut p = Parameters::default();
        let problem = p.take("update_min_dd:=1").unwrap_err();
        assert!(problem.ends_with("did you mean `update_min_d`?"), "{problem}");
        assert_eq!(p.take("wheels:=4"), Err("there is no parameter \"wheels\"".to_owned()));
        let told = p.take("alpha1:=0.2").unwrap().unwrap();
        assert_eq!(told, "alpha1 of nav2_amcl changes nothing here: the run has learned it");
        assert_eq!(p, Parameters::default());
    }

    /// The usual values of the table are those of the code, and docs/ros.md has a row for each.
    #[test]
    fn the_table_says_what_is() {
        let page = include_str!("../../../docs/ros.md");
        for parameter in PARAMETERS {
            assert!(
                page.contains(&format!("| `{}` | {} |", parameter.name, parameter.usual)),
                "{}",
                parameter.name
            );
            let mut p = Parameters::default();
            if (parameter.take)(&mut p, parameter.usual).is_some() {
                assert_eq!(p, Parameters::default(), "{}", parameter.name);
            } else {
                assert!(parameter.usual.starts_with("as "), "{}", parameter.name);
            }
        }
    }
}
