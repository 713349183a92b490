//! Where the robot starts: told by parameters or by a message, brought to the time of the first scan by odometry.

use super::Localiser;
use crate::counts::Trouble;
use crate::odometer::{At, Reading};
use crate::parameters::Parameters;
use driftless::online::Place;
use driftless_world::files::ros::{self, Cursor, Encoding, Kind, header};
use driftless_world::files::track::{composed, relative};
use driftless_world::{Error, Result};

/// What was told, and of when; nothing where it is of now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    place: Place,
    time: Option<f64>,
}

impl Told {
    /// As parameters say, with the run's own deviations.
    pub fn first(parameters: &Parameters, spread: [f64; 3]) -> Option<Self> {
        let place = if parameters.set_initial_pose {
            Place::About { pose: parameters.initial_pose, spread }
        } else if parameters.global_localization {
            Place::Anywhere
        } else {
            return None;
        };
        Some(Self { place, time: None })
    }
}

/// Numbers of x, y and the turn around z in the covariance of a pose in space.
const PLANE: [usize; 3] = [0, 7, 35];

/// Standard deviations of a message; its other numbers are not looked at.
fn spread(bytes: &[u8]) -> Result<[f64; 3]> {
    let mut cursor = Cursor::new(Encoding::Cdr, bytes)?;
    header(&mut cursor)?;
    cursor.doubles::<7>()?;
    let covariance = cursor.doubles::<36>()?;
    let variances = PLANE.map(|k| covariance[k]);
    if !variances.iter().all(|variance| (0.0..1e12).contains(variance)) {
        return Err(Error::new("has variances that are none").in_field("covariance"));
    }
    Ok(variances.map(f64::sqrt))
}

impl Localiser {
    /// `/initialpose`: the filter begins anew there, with the deviations of the message.
    pub(super) fn hear_initial_pose(&mut self, bytes: &[u8]) -> Result<()> {
        let message = ros::pose(Kind::PoseWithCovarianceStamped, Encoding::Cdr, bytes)?;
        let spread = spread(bytes)?;
        let (frame, wanted) = (message.header.frame, &self.parameters.global_frame);
        if frame != *wanted {
            let told = format!("an initial pose is of the frame {frame:?}, not of {wanted:?}: passed over");
            self.note(Trouble::WrongPose, || told);
            return Ok(());
        }
        let pose = message.place.on_floor();
        // Whoever leaves the stamp at zero means now.
        self.told = Some(Told { place: Place::About { pose, spread }, time: message.header.time });
        Ok(())
    }

    /// Begins at what was told, moved by odometry from then to now.
    pub(super) fn begin(&mut self, told: Told, time: f64, odometry: Option<Reading>) {
        let then = told.time.filter(|then| *then < time).map(|then| self.odometer.at(then));
        let place = match (told.place, odometry, then) {
            (Place::About { pose, spread }, Some(now), Some(At::Known(then)))
                if then.stretch == now.stretch =>
            {
                Place::About { pose: composed(pose, relative(then.pose, now.pose)), spread }
            }
            (place, ..) => place,
        };
        let number = usize::try_from(self.counts.starts).unwrap_or(usize::MAX);
        match self.run.begin(place, number) {
            Ok(filter) => {
                self.counts.starts += 1;
                self.tell(match place {
                    Place::About { pose: [x, y, heading], spread: [a, b, c] } => format!(
                        "the robot starts at {x:.2}, {y:.2}, {heading:.2} within {a:.2}, {b:.2}, {c:.2}"
                    ),
                    _ => "the robot may be anywhere".to_owned(),
                });
                (self.filter, self.updated) = (Some(filter), None);
            }
            Err(error) => self.note(Trouble::WrongPose, || format!("the filter cannot start there: {error}")),
        }
    }
}
