//! Poses in the plane, angle wrapping, and the two frames in which people write a robot's motion.

use std::f64::consts::PI;
use std::ops::{Add, Mul, Sub};

/// Wraps an angle into [-π, π), as DPF does: `((θ - π) mod 2π) - π`.
///
/// ```
/// use driftless_core::pose::wrap;
/// assert!((wrap(3.5 * std::f64::consts::PI) + 0.5 * std::f64::consts::PI).abs() < 1e-12);
/// ```
pub fn wrap(angle: f64) -> f64 {
    if (-PI..PI).contains(&angle) {
        return angle;
    }
    let turned = (angle - PI).rem_euclid(2.0 * PI) - PI;
    // rem_euclid of a tiny negative number rounds to 2π itself.
    if turned >= PI { -PI } else { turned }
}

/// Where a robot is and looks: position in the world's length unit, heading in radians
/// counter-clockwise from +x.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pose {
    /// Position along x.
    pub x: f64,
    /// Position along y.
    pub y: f64,
    /// Heading in radians, counter-clockwise from +x.
    pub heading: f64,
}

/// SE(2): the step [forward, left] of a robot whose heading has this [cosine, sine], in the world. For numbers, rows of
/// them, and tensors. With [cosine, -sine] it is the way back: a step in the world as the robot sees it.
#[inline(always)]
pub fn compose<T>([cosine, sine]: [T; 2], [forward, left]: [T; 2]) -> [T; 2]
where
    T: Clone + Mul<Output = T> + Add<Output = T> + Sub<Output = T>,
{
    let across = left.clone() * sine.clone();
    [forward.clone() * cosine.clone() - across, forward * sine + left * cosine]
}

/// How a motion from one pose to the next is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// DPF's reflected frame: `a_x = c dx + s dy`, `a_y = s dx - c dy` (y points to the *right*).
    Reflected,
    /// PF-net's robot frame: `o_x = c dx + s dy`, `o_y = -s dx + c dy` (y points to the left).
    Robot,
    /// The world's frame: `(dx, dy)` wherever the robot looks, as a compass or a satellite tells it.
    World,
}

impl Frame {
    /// 1 if the second number of an action points to the left, -1 if to the right.
    pub const fn side(self) -> f64 {
        match self {
            Self::Reflected => -1.0,
            Self::Robot | Self::World => 1.0,
        }
    }

    /// What a heading is multiplied by where it turns an action: 0 if actions do not turn with the robot.
    pub const fn turning(self) -> f64 {
        match self {
            Self::World => 0.0,
            Self::Reflected | Self::Robot => 1.0,
        }
    }
}

impl Pose {
    /// A pose from position and heading (radians).
    pub const fn new(x: f64, y: f64, heading: f64) -> Self {
        Self { x, y, heading }
    }

    /// The motion that leads from `self` to `next`, in `frame`; the turn is wrapped.
    pub fn motion_to(self, next: Self, frame: Frame) -> [f64; 3] {
        let (s, c) = (frame.turning() * self.heading).sin_cos();
        let (dx, dy) = (next.x - self.x, next.y - self.y);
        let [forward, left] = compose([c, -s], [dx, dy]);
        [forward, frame.side() * left, wrap(next.heading - self.heading)]
    }

    /// Where the motion `action`, written in `frame`, leads; the inverse of [`Pose::motion_to`].
    ///
    /// ```
    /// use driftless_core::pose::{Frame, Pose};
    /// let (a, b) = (Pose::new(1.0, 2.0, 0.3), Pose::new(-4.0, 0.5, -2.0));
    /// let back = a.moved(a.motion_to(b, Frame::Reflected), Frame::Reflected);
    /// assert!((back.x - b.x).abs() + (back.y - b.y).abs() + (back.heading - b.heading).abs() < 1e-12);
    /// ```
    pub fn moved(self, action: [f64; 3], frame: Frame) -> Self {
        let (s, c) = (frame.turning() * self.heading).sin_cos();
        let [dx, dy] = compose([c, s], [action[0], frame.side() * action[1]]);
        Self { x: self.x + dx, y: self.y + dy, heading: wrap(self.heading + action[2]) }
    }

    /// Distance between two positions.
    pub fn distance(self, other: Self) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_into_the_half_open_interval() {
        for (angle, expected) in [(PI, -PI), (-PI, -PI), (0.0, 0.0), (3.0 * PI, -PI), (PI - 1e-9, PI - 1e-9)]
        {
            assert!((wrap(angle) - expected).abs() < 1e-12, "{angle}");
        }
        assert!(wrap(-PI - 1e-17) < PI);
    }

    #[test]
    fn frames_mirror_the_sideways_part() {
        let from = Pose::new(0.0, 0.0, 0.0);
        let to = Pose::new(3.0, 2.0, 0.1);
        assert_eq!(from.motion_to(to, Frame::Robot)[1], 2.0);
        assert_eq!(from.motion_to(to, Frame::Reflected)[1], -2.0);
        let turned = Pose::new(1.0, 1.0, 2.0);
        assert_eq!(turned.motion_to(Pose::new(4.0, 3.0, 2.5), Frame::World), [3.0, 2.0, 0.5]);
        assert_eq!(turned.moved([3.0, 2.0, 0.5], Frame::World), Pose::new(4.0, 3.0, 2.5));
    }
}
