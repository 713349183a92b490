//! When steps are made, and what belongs to each of them.

use super::{BagOptions, Stepping};
use crate::files::track::{Pose, Track, relative};

/// Seconds between steps where motion cannot tell.
const WITHOUT_ODOMETRY: f64 = 0.5;

/// A step before its scan and image are read.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seconds.
    pub time: f64,
    /// Which message of the topic that makes the steps.
    pub message: u64,
    /// Which message of the images beside it.
    pub image: Option<u64>,
    /// Where odometry says the robot is.
    pub odometry: Option<Pose>,
    /// Where the robot is.
    pub pose: Option<Pose>,
    /// Whether messages stopped for long before it.
    pub paused: bool,
}

/// Chooses among the times of messages, which must be in order.
pub fn choose(
    messages: &[(f64, u64)],
    odometry: Option<&Track>,
    truth: Option<&Track>,
    options: &BagOptions,
) -> Vec<Plan> {
    let at = |track: Option<&Track>, time| track.and_then(|track: &Track| track.at(time, options.max_gap));
    let mut plans: Vec<Plan> = Vec::new();
    let (mut before, mut paused, mut start) = (f64::INFINITY, false, 0.0);
    for &(time, message) in messages {
        paused |= time - before > options.max_pause;
        before = time;
        let moved = at(odometry, time);
        let wanted = plans.last().is_none_or(|last| {
            paused
                || match (options.stepping, last.odometry, moved) {
                    (Stepping::Rate(rate), ..) => ticks(time - start, rate) > ticks(last.time - start, rate),
                    (Stepping::Motion(metres, turn), Some(a), Some(b)) => {
                        let motion = relative(a, b);
                        motion[0].hypot(motion[1]) >= metres || motion[2].abs() >= turn
                    }
                    (Stepping::Motion(..), ..) => time - last.time >= WITHOUT_ODOMETRY,
                }
        });
        if wanted {
            start = if paused || plans.is_empty() { time } else { start };
            plans.push(Plan { time, message, image: None, odometry: moved, pose: at(truth, time), paused });
            paused = false;
        }
    }
    plans
}

/// Ticks of a clock with this rate; messages may come a little before theirs, because clocks jitter.
fn ticks(seconds: f64, rate: f64) -> f64 {
    (seconds * rate + 0.1).floor()
}

/// Gives each step the nearest image that is near enough; an image belongs to one step at most.
pub fn give_images(plans: &mut [Plan], images: &[(f64, u64)], most: f64) {
    let mut given: Option<(usize, f64)> = None;
    for at in 0..plans.len() {
        let time = plans[at].time;
        let after = images.partition_point(|image| image.0 < time);
        let near = images[after.saturating_sub(1)..images.len().min(after + 1)].iter();
        let Some(&(taken, image)) = near
            .filter(|image| (image.0 - time).abs() <= most)
            .min_by(|a, b| (a.0 - time).abs().total_cmp(&(b.0 - time).abs()))
        else {
            continue;
        };
        let apart = (taken - time).abs();
        match given {
            // The step before has the same image, and is nearer to it.
            Some((step, nearer)) if plans[step].image == Some(image) && nearer <= apart => continue,
            Some((step, _)) if plans[step].image == Some(image) => plans[step].image = None,
            _ => {}
        }
        plans[at].image = Some(image);
        given = Some((at, apart));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(stepping: Stepping) -> BagOptions {
        BagOptions { stepping, max_delay: 0.1, ..BagOptions::default() }
    }

    fn chosen(stepping: Stepping, times: &[f64], odometry: Option<&Track>) -> Vec<u64> {
        let messages: Vec<(f64, u64)> = times.iter().zip(0..).map(|(&time, number)| (time, number)).collect();
        let plans = choose(&messages, odometry, None, &options(stepping));
        plans.iter().map(|plan| plan.message).collect()
    }

    #[test]
    fn steps_by_rate_motion_and_after_pauses() {
        let times: Vec<f64> = (0..20).map(|i| f64::from(i) * 0.1).collect();
        assert_eq!(chosen(Stepping::Rate(2.0), &times, None), [0, 5, 10, 15]);
        // 0.3 m/s, turning on the spot after a second.
        let drive = |i: i32| {
            let t = f64::from(i) * 0.05;
            (t, [0.3 * t.min(1.0), 0.0, 1.5 * (t - 1.0).max(0.0)])
        };
        let (track, _) = Track::new((0..=40).map(drive).collect());
        assert_eq!(chosen(Stepping::Motion(0.11, 0.4), &times, Some(&track)), [0, 4, 8, 13, 16, 19]);
        assert_eq!(chosen(Stepping::Motion(0.1, 0.1), &times, None), [0, 5, 10, 15]);
        assert_eq!(chosen(Stepping::Rate(0.1), &[0.0, 1.0, 7.0, 8.0], None), [0, 2]);
    }

    #[test]
    fn an_image_belongs_to_the_nearest_step() {
        let messages: Vec<(f64, u64)> = [0.0, 1.0, 1.2, 3.0].iter().zip(0..).map(|(&t, n)| (t, n)).collect();
        let mut plans = choose(&messages, None, None, &options(Stepping::Rate(10.0)));
        give_images(&mut plans, &[(0.05, 7), (1.12, 8), (2.0, 9)], 0.15);
        let given: Vec<_> = plans.iter().map(|plan| plan.image).collect();
        assert_eq!(given, [Some(7), None, Some(8), None]);
    }
}
