//! How the robot wanders: arcs with hard turns, away from walls, at the pace of the original data.

use super::body::Body;
use super::layout::{Layout, Side};
use crate::pose::{Pose, compose, wrap};
use crate::random::Random;
use std::collections::VecDeque;
use std::f64::consts::PI;

/// Decisions and small movements a second.
const TICKS: usize = 20;

/// Who steers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Arcs of random curvature, turning away from walls (DPF's random agent).
    #[default]
    Wander,
    /// Shortest ways to random cells (DPF's planning agent).
    Plan,
    /// Odd episodes plan, even ones wander (DPF's mixed data).
    Mix,
}

impl Policy {
    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wander => "wander",
            Self::Plan => "plan",
            Self::Mix => "mix",
        }
    }
}

/// The manner of walking; lengths in hundredths of a cell, times in seconds (= steps).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroll {
    /// Mean speed.
    pub speed: f64,
    /// Spread of the speed from arc to arc, relative.
    pub speed_spread: f64,
    /// Standard deviation of an arc's turn rate, rad/s.
    pub turn: f64,
    /// Mean duration of an arc.
    pub hold: f64,
    /// Distance ahead at which a wall makes the robot turn away.
    pub caution: f64,
    /// Turn rate while turning away, rad/s.
    pub evasion: f64,
    /// Pull towards the side with more room: rad/s for each doubling of the free distance.
    pub pull: f64,
}

impl Default for Stroll {
    /// Tuned so that step, turn, action and state statistics meet the original data's.
    fn default() -> Self {
        Self {
            speed: 128.0,
            speed_spread: 0.6,
            turn: 0.66,
            hold: 1.17,
            caution: 53.0,
            evasion: 3.2,
            pull: 0.27,
        }
    }
}

/// One recorded second: where the robot is, and its velocity there in its own frame
/// (forward, left, turning).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walk {
    /// Pose, heading wrapped.
    pub pose: Pose,
    /// Units a second forward and to the left, radians a second counter-clockwise.
    pub velocity: [f64; 3],
}

impl Stroll {
    /// Walks `steps` seconds through the maze from a random free pose; one entry a second.
    pub fn walk(
        &self,
        layout: &Layout,
        body: &Body,
        policy: Policy,
        steps: usize,
        random: &mut Random,
    ) -> Vec<Walk> {
        let mut robot = Robot::placed(layout, body, *self, random);
        let mut plan = Route::default();
        // The first second is walked but not recorded, so that the walk is under way at step 0.
        for _ in 0..TICKS {
            robot.tick(policy, &mut plan, random);
        }
        let mut walked = Vec::with_capacity(steps);
        for _ in 0..steps {
            walked.push(Walk { pose: robot.pose, velocity: robot.velocity });
            for _ in 0..TICKS {
                robot.tick(policy, &mut plan, random);
            }
        }
        walked
    }
}

/// Cells still to be passed on the way to the present goal.
type Route = VecDeque<(usize, usize)>;

struct Robot<'a> {
    layout: &'a Layout,
    body: &'a Body,
    stroll: Stroll,
    /// Units per hundredth of a cell.
    unit: f64,
    pose: Pose,
    velocity: [f64; 3],
    /// The present arc: speed, turn rate, and ticks that it still lasts.
    arc: (f64, f64, usize),
    /// Turning away from a wall: to the left (+1), to the right (-1) or not (0).
    evading: f64,
}

impl<'a> Robot<'a> {
    fn placed(layout: &'a Layout, body: &'a Body, stroll: Stroll, random: &mut Random) -> Self {
        let [width, height] = layout.extent();
        // At least the middle of every cell is free, so this ends.
        let (x, y) = loop {
            let (x, y) = (random.range(0.0, width), random.range(0.0, height));
            if body.fits(x, y) {
                break (x, y);
            }
        };
        Self {
            layout,
            body,
            stroll,
            unit: layout.cell() / 100.0,
            pose: Pose::new(x, y, random.range(-PI, PI)),
            velocity: [0.0; 3],
            arc: (0.0, 0.0, 0),
            evading: 0.0,
        }
    }

    fn tick(&mut self, policy: Policy, route: &mut Route, random: &mut Random) {
        let (speed, turn) = match policy {
            Policy::Plan => self.follow(route, random),
            Policy::Wander | Policy::Mix => self.wander(random),
        };
        let dt = 1.0 / TICKS as f64;
        let heading = self.pose.heading + 0.5 * turn * dt;
        let (sin, cos) = heading.sin_cos();
        let step = speed * self.unit * dt;
        let from = self.pose;
        let [x, y] = self.body.slide([from.x, from.y], [cos * step, sin * step]);
        self.pose = Pose::new(x, y, wrap(from.heading + turn * dt));
        let (sin, cos) = self.pose.heading.sin_cos();
        let [forward, left] = compose([cos, -sin], [(x - from.x) / dt, (y - from.y) / dt]);
        self.velocity = [forward, left, turn];
    }

    fn free(&self, offset: f64) -> f64 {
        self.layout.free_distance(self.pose.x, self.pose.y, self.pose.heading + offset) / self.unit
    }

    /// Speed and turn rate of the wandering robot.
    fn wander(&mut self, random: &mut Random) -> (f64, f64) {
        let stroll = self.stroll;
        if self.arc.2 == 0 {
            let speed = stroll.speed * (1.0 + stroll.speed_spread * random.normal()).clamp(0.0, 2.0);
            let ticks = (-stroll.hold * (1.0 - random.unit()).ln() * TICKS as f64) as usize;
            self.arc = (speed, stroll.turn * random.normal(), 1 + ticks);
        }
        self.arc.2 -= 1;
        let ahead = self.free(0.0);
        if ahead > 1.6 * stroll.caution {
            self.evading = 0.0;
        } else if ahead < stroll.caution && self.evading == 0.0 {
            self.evading = if self.free(0.7) > self.free(-0.7) { 1.0 } else { -1.0 };
        }
        if self.evading == 0.0 {
            let room = (self.free(0.7) / self.free(-0.7)).log2().clamp(-3.0, 3.0);
            return (self.arc.0, self.arc.1 + stroll.pull * room);
        }
        // Slower the nearer the wall: the robot turns almost on the spot in front of it.
        let slow = ((ahead - 16.0) / stroll.caution).clamp(0.0, 1.0);
        (self.arc.0 * slow, self.evading * stroll.evasion)
    }

    /// Speed and turn rate on the way to a random cell.
    fn follow(&mut self, route: &mut Route, random: &mut Random) -> (f64, f64) {
        let here = self.layout.cell_at(self.pose.x, self.pose.y);
        let target = loop {
            match route.front() {
                Some(&next) if self.distance_to(next) > 25.0 * self.unit => break next,
                Some(_) => drop(route.pop_front()),
                None => {
                    let [columns, rows] = self.layout.cells();
                    let goal = (random.below(columns), random.below(rows));
                    *route = shortest_way(self.layout, here, goal);
                    if route.is_empty() {
                        return (0.0, self.stroll.evasion);
                    }
                }
            }
        };
        let [x, y] = self.middle(target);
        let error = wrap((y - self.pose.y).atan2(x - self.pose.x) - self.pose.heading);
        let turn = (3.0 * error).clamp(-self.stroll.evasion, self.stroll.evasion);
        (self.stroll.speed * error.cos().max(0.0), turn)
    }

    fn middle(&self, (column, row): (usize, usize)) -> [f64; 2] {
        [column, row].map(|k| (k as f64 + 0.5) * self.layout.cell())
    }

    fn distance_to(&self, cell: (usize, usize)) -> f64 {
        let [x, y] = self.middle(cell);
        (x - self.pose.x).hypot(y - self.pose.y)
    }
}

/// Cells on a shortest way, the start included; empty if there is none or the goal is the start.
fn shortest_way(layout: &Layout, start: (usize, usize), goal: (usize, usize)) -> Route {
    let [columns, rows] = layout.cells();
    let mut towards = vec![None; columns * rows];
    let mut queue = VecDeque::from([goal]);
    // Searched from the goal, so that following `towards` leads there.
    while let Some((column, row)) = queue.pop_front() {
        for side in [Side::West, Side::East, Side::South, Side::North] {
            if layout.wall(column, row, side) {
                continue;
            }
            let next = match side {
                Side::West => (column - 1, row),
                Side::East => (column + 1, row),
                Side::South => (column, row - 1),
                Side::North => (column, row + 1),
            };
            if next != goal && towards[next.1 * columns + next.0].is_none() {
                towards[next.1 * columns + next.0] = Some((column, row));
                queue.push_back(next);
            }
        }
    }
    let mut route = Route::new();
    let mut at = start;
    while let Some(next) = towards[at.1 * columns + at.0] {
        route.push_back(at);
        at = next;
    }
    if !route.is_empty() {
        route.push_back(goal);
    }
    route
}
