//! PF-net's random walk: straight moves and turns on the spot that never touch anything.

use super::free_space::Obstacles;
use super::plan::{HousePlan, PIXEL};
use crate::pose::{Frame, Pose, wrap};
use crate::random::Random;
use std::ops::Range;

/// How a robot wanders.
#[derive(Clone, Debug, PartialEq)]
pub struct WalkStyle {
    /// Length of a straight move in metres.
    pub forward: Range<f64>,
    /// Size of a turn in degrees, to either side.
    pub turn: Range<f64>,
    /// How often it moves rather than turns while the way is free.
    pub forward_share: f64,
    /// The robot's radius in metres.
    pub radius: f64,
}

impl Default for WalkStyle {
    /// PF-net's walk.
    fn default() -> Self {
        Self { forward: 0.2..0.8, turn: 15.0..60.0, forward_share: 0.8, radius: 0.15 }
    }
}

/// Headings looked at when the way is blocked.
const GLANCES: usize = 6;

impl WalkStyle {
    /// A walk of `steps` poses in metres, from a random free pose.
    pub fn walk(
        &self,
        plan: &HousePlan,
        obstacles: &Obstacles,
        steps: usize,
        random: &mut Random,
    ) -> Vec<Pose> {
        let mut poses = Vec::with_capacity(steps);
        let mut pose = self.start(plan, obstacles, random);
        for _ in 0..steps {
            poses.push(pose);
            pose = self.step(pose, obstacles, random);
        }
        poses
    }

    /// Uniform over the floor on which the robot can stand and from which it can leave.
    fn start(&self, plan: &HousePlan, obstacles: &Obstacles, random: &mut Random) -> Pose {
        loop {
            let [x, y] = plan.extent.map(|side| random.range(0.0, side));
            let pose = Pose::new(x, y, wrap(random.range(0.0, std::f64::consts::TAU)));
            // A little more room than needed, so that nobody starts wedged between chairs.
            if plan.room_at([x, y]).is_some() && obstacles.has_room([x, y], self.radius + 0.1) {
                return pose;
            }
        }
    }

    /// One move or turn. A blocked robot shortens its move, then turns to where it can go.
    fn step(&self, pose: Pose, obstacles: &Obstacles, random: &mut Random) -> Pose {
        if random.chance(self.forward_share) {
            let wished = random.range(self.forward.start, self.forward.end);
            let shorter = random.range(self.forward.start, wished);
            for length in [wished, shorter] {
                if self.is_open(pose, length, obstacles) {
                    return pose.moved([length, 0.0, 0.0], Frame::Robot);
                }
            }
        }
        self.turned(pose, obstacles, random)
    }

    /// A random turn, if possible one after which the robot can move. If none is in reach it goes
    /// on counter-clockwise, so that it sees all directions in the end.
    fn turned(&self, pose: Pose, obstacles: &Obstacles, random: &mut Random) -> Pose {
        let mut size = 0.0;
        for _ in 0..GLANCES {
            size = random.range(self.turn.start, self.turn.end).to_radians();
            let side = if random.chance(0.5) { 1.0 } else { -1.0 };
            let turned = pose.moved([0.0, 0.0, side * size], Frame::Robot);
            if self.is_open(turned, 2.0 * self.forward.start, obstacles) {
                return turned;
            }
        }
        pose.moved([0.0, 0.0, size], Frame::Robot)
    }

    fn is_open(&self, pose: Pose, length: f64, obstacles: &Obstacles) -> bool {
        let end = pose.moved([length, 0.0, 0.0], Frame::Robot);
        obstacles.is_clear([pose.x, pose.y], [end.x, end.y], self.radius)
    }
}

/// A pose in metres as PF-net's state: pixels of the floor map and radians.
pub fn state(pose: Pose) -> [f32; 3] {
    [(pose.x / PIXEL) as f32, (pose.y / PIXEL) as f32, pose.heading as f32]
}

/// PF-net's odometry in pixels and radians: row t is the motion from t to t + 1 in the robot's
/// frame, the last row is zeros.
pub fn odometry(poses: &[Pose]) -> Vec<[f32; 3]> {
    let motions = poses.windows(2).map(|pair| {
        let [forward, left, turn] = pair[0].motion_to(pair[1], Frame::Robot);
        [(forward / PIXEL) as f32, (left / PIXEL) as f32, turn as f32]
    });
    motions.chain(poses.last().map(|_| [0.0; 3])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::furnish;

    fn walks(steps: usize) -> Vec<(Obstacles, Vec<Pose>)> {
        let style = WalkStyle::default();
        let walk = |seed| {
            let plan = HousePlan::generate(seed);
            let obstacles = Obstacles::of(&plan, &furnish(&plan, seed));
            let poses = style.walk(&plan, &obstacles, steps, &mut Random::new(seed));
            (obstacles, poses)
        };
        (0..40).map(walk).collect()
    }

    /// Asked of points along the way, not of the path test the walk itself uses.
    #[test]
    fn robots_never_touch_anything() {
        for (obstacles, poses) in walks(100) {
            for pair in poses.windows(2) {
                for i in 0..=20 {
                    let t = f64::from(i) / 20.0;
                    let at =
                        [pair[0].x + t * (pair[1].x - pair[0].x), pair[0].y + t * (pair[1].y - pair[0].y)];
                    let clearance = obstacles.clearance(at);
                    assert!(clearance >= 0.15 - 1e-9, "{clearance} at {at:?}");
                }
            }
        }
    }

    #[test]
    fn moves_and_turns_have_pf_nets_sizes() {
        let (mut moves, mut turns) = (Vec::new(), Vec::new());
        for (_, poses) in walks(100) {
            for [forward, left, turn] in poses.windows(2).map(|p| p[0].motion_to(p[1], Frame::Robot)) {
                let turns_only = forward.abs() < 1e-9;
                assert!(left.abs() < 1e-9 && turns_only != (turn.abs() < 1e-9));
                if turns_only { turns.push(turn.abs().to_degrees()) } else { moves.push(forward) }
            }
            let farthest = poses.iter().map(|pose| pose.distance(poses[0])).fold(0.0, f64::max);
            assert!(farthest > 1.0, "stuck: never more than {farthest} m from the start");
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert!(moves.iter().all(|m| (0.2 - 1e-9..0.8).contains(m)));
        assert!(turns.iter().all(|t| (15.0 - 1e-9..60.0 + 1e-9).contains(t)));
        let share = moves.len() as f64 / (moves.len() + turns.len()) as f64;
        // Blocked moves become turns, so there are fewer moves than in an empty hall.
        assert!((0.6..0.82).contains(&share), "{share}");
        assert!((0.4..0.52).contains(&mean(&moves)), "{}", mean(&moves));
        assert!((34.0..41.0).contains(&mean(&turns)), "{}", mean(&turns));
    }

    #[test]
    fn odometry_leads_from_state_to_state() {
        for (_, poses) in walks(25) {
            let odometry = odometry(&poses);
            assert_eq!((odometry.len(), odometry[24]), (25, [0.0; 3]));
            for t in 0..24 {
                let [x, y, heading] = state(poses[t]).map(f64::from);
                let next = Pose::new(x, y, heading).moved(odometry[t].map(f64::from), Frame::Robot);
                let truth = state(poses[t + 1]).map(f64::from);
                let error = (next.x - truth[0]).abs() + (next.y - truth[1]).abs();
                assert!(error < 1e-3 && wrap(next.heading - truth[2]).abs() < 1e-6, "{error}");
            }
        }
        assert!(odometry(&[]).is_empty());
        // The walk never moves sideways, but odometry must not rely on it: facing +y, +x is right.
        let poses = [Pose::new(1.0, 1.0, std::f64::consts::FRAC_PI_2), Pose::new(1.4, 1.6, 0.0)];
        let expected = [30.0, -20.0, -std::f32::consts::FRAC_PI_2];
        assert!(odometry(&poses)[0].iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4));
    }
}
