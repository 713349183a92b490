//! Cells of poses, and how odometry moves what is believed of them.

use super::shift::{Axis, Shift, Way, moved};
use crate::error::{Error, Result};
use crate::learn::Normalisation;
use crate::methods::sensed::{NOISE_SPEED, NOISES};
use driftless_core::pose::{Frame, compose, wrap};
use std::f64::consts::{PI, TAU};

/// Headings around the circle.
const HEADINGS: usize = 16;
/// Cells, at most: a window of a batch of 16 then takes about a gigabyte.
const MOST_CELLS: usize = 1 << 17;
/// The chance that a robot is anywhere else after a step.
const ELSEWHERE: f64 = 1e-4;

/// Square cells over the box of known poses and a cell around it, times headings.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    low: [f64; 2],
    side: f64,
    /// Along x and y, and headings.
    counts: [usize; 3],
    first_heading: f64,
    frame: Frame,
    /// Standard deviations of position and heading where an action is missing.
    missing: [f64; 2],
}

/// How a motion moves cells: along x and y for each heading, and around the circle.
pub(super) struct Move {
    planes: Vec<[Shift; 2]>,
    turn: Shift,
    /// σ of position and heading in cells, by each number of the noise.
    by_noise: [[f64; NOISES]; 2],
}

impl Grid {
    /// As many cells as there may be, at most.
    pub(super) fn new(cells: usize, frame: Frame, normalisation: &Normalisation) -> Result<Self> {
        let Normalisation { low, high, .. } = normalisation;
        let headings = if high[2] > low[2] { HEADINGS } else { 1 };
        if !(9 * headings..=MOST_CELLS).contains(&cells) {
            let problem = format!(
                "is the number of cells of the grid here, and must lie between {} and {MOST_CELLS}: the network has 128 weights \
                 for each, and a window of training keeps all of them at each step",
                9 * headings
            );
            return Err(Error::setting("particles", problem));
        }
        let (plane, size) = (cells / headings, [0, 1].map(|k: usize| (high[k] - low[k]).max(1e-6)));
        let count = |size: f64, side: f64| (size / side).ceil() as usize + 2;
        // From the side that would fit exactly up, until they do.
        let mut side = (size[0] * size[1] / plane as f64).sqrt().max(size[0].max(size[1]) / plane as f64);
        while count(size[0], side) * count(size[1], side) > plane {
            side *= 1.01;
        }
        let counts = [count(size[0], side), count(size[1], side), headings];
        let margin = |k: usize| 0.5 * (counts[k] as f64 * side - size[k]);
        Ok(Self {
            low: [low[0] - margin(0), low[1] - margin(1)],
            side,
            counts,
            first_heading: if headings == 1 { low[2] } else { -PI + 0.5 * TAU / headings as f64 },
            frame,
            missing: normalisation.missing_motion().map(f64::from),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.counts.iter().product()
    }

    /// The volume of a cell; of an area where there are no headings.
    pub(super) fn volume(&self) -> f64 {
        self.side * self.side * if self.counts[2] > 1 { self.turn() } else { 1.0 }
    }

    /// The covariance of poses within a cell.
    pub(super) fn within(&self) -> [[f64; 3]; 3] {
        let turn = if self.counts[2] > 1 { self.turn() } else { 0.0 };
        let [place, heading] = [self.side, turn].map(|size| size * size / 12.0);
        [[place, 0.0, 0.0], [0.0, place, 0.0], [0.0, 0.0, heading]]
    }

    fn turn(&self) -> f64 {
        TAU / self.counts[2] as f64
    }

    /// The middle of a cell.
    pub(super) fn pose(&self, cell: usize) -> [f64; 3] {
        let [columns, rows, _] = self.counts;
        let [x, y, heading] = [cell % columns, cell / columns % rows, cell / (columns * rows)];
        let place = |k: usize, at: usize| self.low[k] + (at as f64 + 0.5) * self.side;
        [place(0, x), place(1, y), self.heading(heading)]
    }

    fn heading(&self, number: usize) -> f64 {
        wrap(self.first_heading + number as f64 * self.turn())
    }

    /// The cell of a pose, or the nearest one; and whether the pose is in the grid.
    pub(super) fn cell(&self, [x, y, heading]: [f64; 3]) -> (usize, bool) {
        let [columns, rows, headings] = self.counts;
        let along = |at: f64, k: usize| ((at - self.low[k]) / self.side).floor();
        let (column, row) = (along(x, 0), along(y, 1));
        let inside = |at: f64, count: usize| at >= 0.0 && at < count as f64;
        let is_in = inside(column, columns) && inside(row, rows);
        let [column, row] =
            [(column, columns), (row, rows)].map(|(at, n)| at.clamp(0.0, n as f64 - 1.0) as usize);
        let turned = ((heading - self.first_heading) / self.turn()).round();
        let heading = turned.rem_euclid(headings as f64) as usize % headings;
        ((heading * rows + row) * columns + column, is_in)
    }

    /// A normal law around a pose, at the middles of cells; a deviation is half a cell at least.
    pub(super) fn around(&self, pose: [f64; 3], std: [f64; 3]) -> Vec<f64> {
        let least = [0.5 * self.side, 0.5 * self.side, 0.5 * self.turn()];
        let log = |cell: usize| -> f64 {
            let at = self.pose(cell);
            let apart = [at[0] - pose[0], at[1] - pose[1], wrap(at[2] - pose[2])];
            (0..3).map(|k| -0.5 * (apart[k] / std[k].max(least[k])).powi(2)).sum()
        };
        let logs: Vec<f64> = (0..self.len()).map(log).collect();
        bayes(&vec![1.0 / self.len() as f64; self.len()], &logs).0
    }

    fn axes(&self) -> [Axis; 3] {
        let [columns, rows, headings] = self.counts;
        let line = |count: usize, stride: usize| Axis { count, stride, is_circle: false };
        let circle = Axis { count: headings, stride: columns * rows, is_circle: true };
        [line(columns, 1), line(rows, columns), circle]
    }

    /// What an action does; where it is missing, what a robot does on average.
    pub(super) fn by(&self, action: Option<[f64; 3]>, noise: &[f64; NOISES]) -> Move {
        let [forward, aside, turn] = action.unwrap_or([0.0; 3]);
        let known = noise.map(|x| (2.0 * NOISE_SPEED * x).exp());
        let shares = [forward * forward + aside * aside, turn * turn];
        let unit = [self.side, self.turn()];
        let mut by_noise = [[0.0; NOISES]; 2];
        let std = [0, 1].map(|k: usize| {
            if action.is_none() {
                return self.missing[k] / unit[k];
            }
            let std = (known[k] + known[2 + k] * shares[k]).sqrt();
            by_noise[k][k] = NOISE_SPEED * known[k] / (std * unit[k]);
            by_noise[k][2 + k] = NOISE_SPEED * known[2 + k] * shares[k] / (std * unit[k]);
            std / unit[k]
        });
        let plane = |number: usize| {
            let (sine, cosine) = (self.frame.turning() * self.heading(number)).sin_cos();
            let step = compose([cosine, sine], [forward, self.frame.side() * aside]);
            step.map(|by| Shift::new(by / self.side, std[0]))
        };
        let planes = (0..self.counts[2]).map(plane).collect();
        let turn = if self.counts[2] == 1 { 0.0 } else { turn / unit[1] };
        Move { planes, turn: Shift::new(turn, std[1]), by_noise }
    }

    /// Moved within the plane, each heading by its own steps, in one of the ways along x and y.
    fn slid(&self, cells: &[f64], by: &Move, ways: [Way; 2]) -> Vec<f64> {
        let [x, y, circle] = self.axes();
        let planes = cells.chunks_exact(circle.stride).zip(&by.planes);
        planes
            .flat_map(|(plane, shifts)| {
                let along = moved(plane, x, &shifts[0], ways[0]);
                moved(&along, y, &shifts[1], ways[1])
            })
            .collect()
    }

    /// Σ_j p(i | j, a) b_j, normalised, and with a little of everywhere: a robot may be carried away. Whatever leaves the grid
    /// is shared by the rest; where all of it would, it stays.
    pub(super) fn predict(&self, belief: &[f64], by: &Move) -> Predicted {
        let slid = self.slid(belief, by, [Way::Forward; 2]);
        let cells = moved(&slid, self.axes()[2], &by.turn, Way::Forward);
        let mass: f64 = cells.iter().sum();
        let is_gone = mass < 1e-12;
        let kept = if is_gone { belief.to_vec() } else { cells.iter().map(|x| x / mass).collect() };
        let share = ELSEWHERE / kept.len() as f64;
        let belief = kept.iter().map(|x| (1.0 - ELSEWHERE) * x + share).collect();
        Predicted { kept, slid, mass, is_gone, belief }
    }

    /// From the gradient by a prediction to that by the belief before it and, added up, by the noise.
    pub(super) fn back(
        &self,
        (before, predicted, by): (&[f64], &Predicted, &Move),
        by_belief: &[f64],
        noise: &mut [f64; NOISES],
    ) -> Vec<f64> {
        let kept: Vec<f64> = by_belief.iter().map(|x| (1.0 - ELSEWHERE) * x).collect();
        if predicted.is_gone {
            return kept;
        }
        let level = dot(&kept, &predicted.kept);
        let by_cells: Vec<f64> = kept.iter().map(|x| (x - level) / predicted.mass).collect();
        let circle = self.axes()[2];
        let by_slid = moved(&by_cells, circle, &by.turn, Way::Back);
        let slopes = [[Way::Slope, Way::Forward], [Way::Forward, Way::Slope]];
        let by_std = [
            slopes.iter().map(|ways| dot(&by_slid, &self.slid(before, by, *ways))).sum::<f64>(),
            dot(&by_cells, &moved(&predicted.slid, circle, &by.turn, Way::Slope)),
        ];
        for (by_std, by_noise) in by_std.iter().zip(&by.by_noise) {
            noise.iter_mut().zip(by_noise).for_each(|(sum, by)| *sum += by_std * by);
        }
        self.slid(&by_slid, by, [Way::Back; 2])
    }
}

/// A belief after a motion, and what its gradient needs.
pub(super) struct Predicted {
    kept: Vec<f64>,
    slid: Vec<f64>,
    mass: f64,
    is_gone: bool,
    pub(super) belief: Vec<f64>,
}

/// Bayes' rule on cells: b_i e^{l_i} / Z, and log Z.
pub(super) fn bayes(belief: &[f64], logs: &[f64]) -> (Vec<f64>, f64) {
    let peak = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut joint: Vec<f64> = belief.iter().zip(logs).map(|(b, log)| b * (log - peak).exp()).collect();
    let whole: f64 = joint.iter().sum();
    for held in &mut joint {
        *held /= whole;
    }
    (joint, whole.ln() + peak)
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
