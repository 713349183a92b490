//! The differentiable histogram filter: a grid of poses, moved by odometry with learned noise and multiplied by what a network
//! says of each cell, trained end to end (Jonschkowski & Brock 2016): `histogram`.
//!
//! Theirs are the belief over cells, motion as a convolution with learned noise, a network that says how likely a reading is in
//! each cell, and learning through the filter. Ours is everything else, as their code was not at hand: the grid, a shift by odometry
//! that is exact on average, the loss, -log of the belief's density at known poses, and that of the reading alone beside
//! it, the chance of 1 in 10,000 to be anywhere else, and first noise and bias of the odometry, fitted to labels as `driftless`
//! does. `particles` is the number of cells, at most.

mod grid;
mod shift;

use super::sensed::{self, Gradient, Met, NOISES, SensedFilter};
use crate::error::Result;
use crate::learn::{Experiment, Method, Normalisation};
use driftless_world::pose::{Pose, wrap};
use driftless_world::trajectory::Start;
use grid::{Grid, Move, Predicted, bayes, dot};

/// What a network says beyond this is no reading.
const MOST_SAID: f64 = 1e4;
/// A belief below this has no logarithm.
const LEAST: f64 = 1e-300;
/// The share of the belief in its region.
const REGION: f64 = 0.9;

/// Not trained yet.
pub(super) fn build(experiment: &Experiment, normalisation: &Normalisation) -> Result<Box<dyn Method>> {
    let grid = Grid::new(experiment.particles, experiment.frame(), normalisation)?;
    sensed::build(Histogram { grid }, experiment, normalisation)
}

#[derive(Clone, Debug)]
struct Histogram {
    grid: Grid,
}

/// A step with all that its gradient needs.
struct Walked {
    before: Vec<f64>,
    moved: Option<(Move, Predicted)>,
    /// Before and after the reading, if there was one.
    predicted: Vec<f64>,
    belief: Vec<f64>,
    evidence: f64,
    saw: bool,
}

impl Histogram {
    fn step(&self, before: Vec<f64>, said: &[f64], noise: &[f64; NOISES], met: &Met) -> Walked {
        let moved = (!met.is_first).then(|| {
            let by = self.grid.by(met.action, noise);
            let predicted = self.grid.predict(&before, &by);
            (by, predicted)
        });
        let predicted = moved.as_ref().map_or_else(|| before.clone(), |(_, found)| found.belief.clone());
        let saw = met.saw && said.iter().all(|x| x.abs() < MOST_SAID);
        let (belief, evidence) = if saw { bayes(&predicted, said) } else { (predicted.clone(), 0.0) };
        // What has underflowed to nothing everywhere was no reading.
        let is_sound = belief.iter().all(|x| x.is_finite());
        let (belief, evidence) = if is_sound { (belief, evidence) } else { (predicted.clone(), 0.0) };
        Walked { before, moved, predicted, belief, evidence, saw: saw && is_sound }
    }

    /// -log of a belief's density at a cell, and its derivative by that cell's.
    fn surprise(&self, belief: &[f64], cell: usize) -> (f64, f64) {
        let (held, volume) = (belief[cell], self.grid.volume());
        (volume.ln() - held.max(LEAST).ln(), if held > LEAST { -1.0 / held } else { 0.0 })
    }
}

impl SensedFilter for Histogram {
    type Belief = Vec<f64>;
    const WINDOW: usize = 20;

    fn width(&self) -> usize {
        self.grid.len()
    }

    fn first(&self, start: Option<Start>) -> Vec<f64> {
        match start {
            Some(Start::About { pose, spread }) => {
                self.grid.around(pose.map(f64::from), spread.map(f64::from))
            }
            _ => vec![1.0 / self.grid.len() as f64; self.grid.len()],
        }
    }

    fn go(&self, belief: &mut Vec<f64>, said: &[f64], noise: &[f64; NOISES], met: &Met) -> f64 {
        let walked = self.step(std::mem::take(belief), said, noise, met);
        *belief = walked.belief;
        walked.evidence
    }

    fn gradient(&self, start: &Vec<f64>, said: &[f64], noise: &[f64; NOISES], met: &[Met]) -> Gradient {
        let cells = self.grid.len();
        let mut steps: Vec<Walked> = Vec::with_capacity(met.len());
        for (said, met) in said.chunks_exact(cells).zip(met) {
            let before = steps.last().map_or_else(|| start.clone(), |step| step.belief.clone());
            steps.push(self.step(before, said, noise, met));
        }
        let mut found = Gradient { loss: [0.0; 2], said: vec![0.0; said.len()], noise: [0.0; NOISES] };
        let even = vec![1.0 / cells as f64; cells];
        let mut by_belief = vec![0.0; cells];
        for (t, step) in steps.iter().enumerate().rev() {
            let (own, by_said) = (t * cells..(t + 1) * cells, &mut found.said[t * cells..(t + 1) * cells]);
            if let Some(label) = met[t].label {
                let cell = self.grid.cell(label).0;
                let (loss, slope) = self.surprise(&step.belief, cell);
                found.loss[0] += loss;
                by_belief[cell] += slope;
                if step.saw {
                    let alone = bayes(&even, &said[own]).0;
                    found.loss[1] += self.surprise(&alone, cell).0;
                    by_said.iter_mut().zip(&alone).for_each(|(by, held)| *by += held);
                    by_said[cell] -= 1.0;
                }
            }
            if step.saw {
                // b' = b e^l / Z: by l b' (g - Σ b' g), by b the same over b.
                let level = dot(&by_belief, &step.belief);
                for (i, by) in by_belief.iter_mut().enumerate() {
                    let centred = *by - level;
                    by_said[i] += step.belief[i] * centred;
                    *by = if step.predicted[i] > LEAST {
                        step.belief[i] / step.predicted[i] * centred
                    } else {
                        0.0
                    };
                }
            }
            if let Some((by, predicted)) = &step.moved {
                by_belief = self.grid.back((&step.before, predicted, by), &by_belief, &mut found.noise);
            }
        }
        found
    }

    fn mean(&self, belief: &Vec<f64>) -> (Pose, [[f64; 3]; 3]) {
        let cells = || belief.iter().enumerate().filter(|(_, held)| **held > 0.0);
        let mut sums = [0.0; 4];
        for (cell, held) in cells() {
            let [x, y, heading] = self.grid.pose(cell);
            let parts = [x, y, heading.cos(), heading.sin()];
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += held * part);
        }
        let mean = [sums[0], sums[1], sums[3].atan2(sums[2])];
        let mut covariance = self.grid.within();
        for (cell, held) in cells() {
            let pose = self.grid.pose(cell);
            let apart = [pose[0] - mean[0], pose[1] - mean[1], wrap(pose[2] - mean[2])];
            for (row, a) in covariance.iter_mut().zip(apart) {
                row.iter_mut().zip(apart).for_each(|(sum, b)| *sum += held * a * b);
            }
        }
        (Pose::new(mean[0], mean[1], mean[2]), covariance)
    }

    fn density(&self, belief: &Vec<f64>, pose: [f64; 3]) -> (f64, bool) {
        let (cell, is_in) = self.grid.cell(pose);
        if !is_in {
            return (f64::NEG_INFINITY, false);
        }
        let denser: f64 = belief.iter().filter(|held| **held > belief[cell]).sum();
        (-self.surprise(belief, cell).0, denser < REGION)
    }

    fn save(&self, belief: &Vec<f64>) -> Vec<f64> {
        belief.clone()
    }

    fn load(&self, numbers: &[f64]) -> Option<Vec<f64>> {
        let whole: f64 = numbers.iter().sum();
        let is_sound = numbers.len() == self.grid.len() && (whole - 1.0).abs() < 1e-6;
        (is_sound && numbers.iter().all(|x| *x >= 0.0)).then(|| numbers.to_vec())
    }
}

#[cfg(test)]
mod tests;
