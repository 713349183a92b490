//! Places and rotations in space, and what is left of them on the floor.

use crate::files::track::Pose;
use driftless_core::pose::wrap;

/// A frame as seen from another: its origin, and its rotation as a unit quaternion x, y, z, w.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rigid {
    /// Metres.
    pub place: [f64; 3],
    /// Of length 1.
    pub turn: [f64; 4],
}

impl Rigid {
    /// A frame seen from itself.
    pub const SAME: Self = Self { place: [0.0; 3], turn: [0.0, 0.0, 0.0, 1.0] };

    /// Nothing if a number is not finite, or the rotation is none.
    pub fn new(place: [f64; 3], turn: [f64; 4]) -> Option<Self> {
        let norm = turn.iter().map(|part| part * part).sum::<f64>().sqrt();
        let sound = place.iter().all(|part| part.abs() < 1e9) && norm > 1e-3 && norm.is_finite();
        sound.then(|| Self { place, turn: turn.map(|part| part / norm) })
    }

    /// A vector of this frame, in the directions of the other one.
    pub fn rotated(&self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        // v + 2 u × (u × v + w v), with the rotation's vector part u.
        let [a, b, c, w] = self.turn;
        let p = [b * z - c * y + w * x, c * x - a * z + w * y, a * y - b * x + w * z];
        [x + 2.0 * (b * p[2] - c * p[1]), y + 2.0 * (c * p[0] - a * p[2]), z + 2.0 * (a * p[1] - b * p[0])]
    }

    /// A frame that is seen from this one, seen from where this one is seen from.
    pub fn then(&self, next: &Self) -> Self {
        let moved = self.rotated(next.place);
        let [a, b, c, w] = self.turn;
        let [x, y, z, v] = next.turn;
        Self {
            place: [0, 1, 2].map(|i| self.place[i] + moved[i]),
            turn: [
                w * x + a * v + b * z - c * y,
                w * y - a * z + b * v + c * x,
                w * z + a * y - b * x + c * v,
                w * v - a * x - b * y - c * z,
            ],
        }
    }

    /// The other frame, seen from this one.
    pub fn inverse(&self) -> Self {
        let [a, b, c, w] = self.turn;
        let back = Self { place: [0.0; 3], turn: [-a, -b, -c, w] };
        Self { place: back.rotated(self.place).map(|part| -part), ..back }
    }

    /// Between two, `share` of the way, turning evenly.
    pub fn between(&self, end: &Self, share: f64) -> Self {
        let cosine: f64 = self.turn.iter().zip(end.turn).map(|(a, b)| a * b).sum();
        let sign = cosine.signum();
        let angle = cosine.abs().min(1.0).acos();
        let weights = if angle < 1e-9 {
            [1.0 - share, share]
        } else {
            [((1.0 - share) * angle).sin() / angle.sin(), (share * angle).sin() / angle.sin()]
        };
        Self {
            place: [0, 1, 2].map(|i| self.place[i] + share * (end.place[i] - self.place[i])),
            turn: [0, 1, 2, 3].map(|i| weights[0] * self.turn[i] + sign * weights[1] * end.turn[i]),
        }
    }

    /// x, y and heading: where the frame's x axis points on the floor.
    pub fn on_floor(&self) -> Pose {
        let [x, y, _] = self.rotated([1.0, 0.0, 0.0]);
        [self.place[0], self.place[1], wrap(y.atan2(x))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::track::composed;
    use std::f64::consts::{FRAC_PI_2, PI};

    fn near(a: &[f64], b: &[f64]) -> bool {
        a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-12)
    }

    /// On the floor it must be what the plane's own composition says.
    #[test]
    fn agrees_with_the_plane() {
        let flat = |[x, y, heading]: Pose| {
            Rigid::new([x, y, 0.3], [0.0, 0.0, (heading / 2.0).sin(), (heading / 2.0).cos()]).unwrap()
        };
        let (a, b) = ([1.0, 2.0, 2.7], [0.5, -3.0, 1.2]);
        assert!(near(&flat(a).then(&flat(b)).on_floor(), &composed(a, b)));
        let same = flat(a).then(&flat(a).inverse());
        assert!(near(&same.place, &[0.0; 3]) && near(&same.turn[..3], &[0.0; 3]));
        let half = flat([0.0, 0.0, PI - 0.1]).between(&flat([2.0, 0.0, -PI + 0.3]), 0.25).on_floor();
        assert!(near(&half, &[0.5, 0.0, PI]) || near(&half, &[0.5, 0.0, -PI]), "{half:?}");
    }

    /// A scanner that hangs upside down sees left and right exchanged.
    #[test]
    fn upside_down() {
        let hanging = Rigid::new([0.0; 3], [1.0, 0.0, 0.0, 0.0]).unwrap();
        assert!(near(&hanging.rotated([0.0, 1.0, 0.0]), &[0.0, -1.0, 0.0]));
        let back = Rigid::new([0.0; 3], [0.0, 0.0, 2.0, 0.0]).unwrap();
        assert!(near(&back.rotated([1.0, 0.0, 0.0]), &[-1.0, 0.0, 0.0]));
        let lying = hanging.then(&Rigid::new([1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]).unwrap());
        assert!(near(&lying.on_floor(), &[1.0, -1.0, -FRAC_PI_2]));
        assert_eq!((Rigid::new([0.0; 3], [0.0; 4]), Rigid::new([f64::NAN; 3], [1.0; 4])), (None, None));
    }
}
