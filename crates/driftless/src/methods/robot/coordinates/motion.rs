//! How named coordinates change: by what actions say, each with a gain and a drift that were learned from pairs of known
//! states, and with normal noise.

use super::basis::Range;
use super::field::{Field, Learned};
use crate::learn::Normalisation;
use crate::methods::robot::motion::solved;
use crate::methods::robot::walks::Walk;
use crate::smooth::chain::{Dynamics, Matrix};
use crate::space;
use driftless_core::angles::wrapped;
use driftless_core::motion::density::NormalDensity;
use driftless_core::motion::{Motion, Noise};
use driftless_core::{Draws, Particles, Space};
use driftless_world::pose::wrap;

/// A state, or a change of one.
pub(in crate::methods::robot) type State = Vec<f32>;

/// Labels farther apart than this say little of a single step.
const MOST_STEPS: usize = 40;
/// Rounds of least squares, with the weights and the scale of the round before.
const ROUNDS: usize = 8;
/// What is believed of a gain before any label, and of a drift in mean steps: deviations.
const USUAL: f64 = 0.2;
/// Errors beyond so many deviations count less (Huber).
const FAR: f64 = 3.0;
/// An angle between two labels says nothing of whole turns: they are used while they err by less than this.
const WITHIN: f64 = 1.0;
/// Noise before anything is learned, where there are actions, and least noise, in mean steps.
const FIRST: f64 = 0.1;
const LEAST: f64 = 1e-3;
/// Least noise of the filter, in mean steps: particles that descend from one must part.
const LEAST_OF_FILTER: f64 = 0.05;

/// s' = s + (1 + gain) a + drift + N(0, noise²), coordinate by coordinate; without actions also with a law of changes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moving {
    space: Space,
    pub(super) gain: Vec<f64>,
    pub(super) drift: Vec<f64>,
    /// Standard deviation of a step.
    pub(super) noise: Vec<f64>,
    /// The same, added where an action is missing.
    missing: Vec<f64>,
    /// Mean absolute steps.
    steps: Vec<f64>,
    has_actions: bool,
    range: Range,
    /// In place of drifts, if there is one.
    pub(super) field: Option<Field>,
}

/// Two known values of a coordinate, so many steps apart, and what actions say lies between them.
struct Pair {
    steps: f64,
    apart: f64,
    said: f64,
}

impl Moving {
    /// Before anything is learned.
    pub(super) fn new(normalisation: &Normalisation, has_actions: bool) -> Self {
        let all = &normalisation.coordinates;
        let first = if has_actions { FIRST } else { 1.0 };
        Self {
            space: normalisation.space(),
            gain: vec![0.0; all.len()],
            drift: vec![0.0; all.len()],
            noise: all.iter().map(|scale| first * scale.missing()).collect(),
            missing: all.iter().map(|scale| if has_actions { scale.missing() } else { 0.0 }).collect(),
            steps: all.iter().map(|scale| scale.step).collect(),
            has_actions,
            range: Range::new(normalisation),
            field: None,
        }
    }

    /// Where nothing says how the state changes, learns a law of it from paths, and its noise.
    pub(super) fn learn_law(&mut self, paths: &[Vec<Vec<State>>]) {
        let learned = if self.has_actions { None } else { Field::learn(&self.range, paths) };
        if let Some(Learned { field, noise }) = learned {
            let least = self.steps.iter().map(|step| LEAST * step);
            self.noise = noise.iter().zip(least).map(|(noise, least)| noise.max(least)).collect();
            self.field = Some(field);
        }
    }

    /// Takes back a law as it was stored; false if it does not fit.
    pub(super) fn take_law(&mut self, numbers: &[f64]) -> bool {
        self.field = Field::of(&self.range, numbers);
        self.field.is_some() || numbers.is_empty()
    }

    /// By how much coordinate k changes; a number that is not finite is missing.
    fn change(&self, k: usize, action: f64) -> f64 {
        match (action.is_finite(), self.has_actions) {
            (true, _) => (1.0 + self.gain[k]) * action + self.drift[k],
            (false, true) => 0.0,
            (false, false) => self.drift[k],
        }
    }

    fn variance(&self, k: usize, action: f64) -> f64 {
        let more = if action.is_finite() { 0.0 } else { self.missing[k] };
        self.noise[k].powi(2) + more.powi(2)
    }

    /// Learns gains, drifts and noise from neighbouring labels: robust least squares with a prior around 0.
    pub(super) fn fit(&mut self, walks: &[Walk<State>]) {
        for k in 0..self.space.dimension() {
            let pairs: Vec<Pair> = walks.iter().flat_map(|walk| self.pairs(walk, k)).collect();
            if !pairs.is_empty() {
                self.fit_one(k, &pairs);
            }
        }
    }

    /// Where an action is missing between labels, they say nothing of actions.
    fn pairs<'a>(&'a self, walk: &'a Walk<State>, k: usize) -> impl Iterator<Item = Pair> + 'a {
        let known: Vec<usize> = (0..walk.labels.len()).filter(|&t| walk.labels[t].is_some()).collect();
        (1..known.len()).filter_map(move |i| {
            let [from, to] = [known[i - 1], known[i]];
            let value = |t: usize| Some(f64::from(walk.labels[t].as_ref()?[k]));
            let actions = walk.actions[from + 1..=to].iter().map(|action| f64::from(action[k]));
            let said = if self.has_actions { actions.sum() } else { 0.0_f64 };
            let is_usable = said.is_finite() && to - from <= MOST_STEPS;
            let pair = Pair { steps: (to - from) as f64, apart: value(to)? - value(from)?, said };
            is_usable.then_some(pair)
        })
    }

    fn fit_one(&mut self, k: usize, pairs: &[Pair]) {
        let (step, is_angle) = (self.steps[k], self.space.is_angle(k));
        let nearest = pairs.iter().map(|pair| pair.steps).fold(f64::INFINITY, f64::min);
        let (mut gain, mut drift, mut noise) = (0.0, 0.0, self.noise[k]);
        for _ in 0..ROUNDS {
            let (mut normal, mut right) = ([[0.0; 2]; 2], [0.0; 2]);
            let (mut squares, mut weights) = (0.0, 0.0);
            let near =
                |pair: &&Pair| !is_angle || pair.steps <= nearest || noise * pair.steps.sqrt() < WITHIN;
            for &Pair { steps, apart, said } in pairs.iter().filter(near) {
                let error = apart - (1.0 + gain) * said - drift * steps;
                let error = if is_angle { wrap(error) } else { error };
                let size = error.abs() / (noise * steps.sqrt());
                let weight = if size > FAR { FAR / size } else { 1.0 };
                let by = [said, steps];
                for i in 0..2 {
                    right[i] += weight * by[i] * error / steps;
                    (0..2).for_each(|j| normal[i][j] += weight * by[i] * by[j] / steps);
                }
                (squares, weights) = (squares + weight * error * error / steps, weights + 1.0);
            }
            let prior = [USUAL, USUAL * step].map(|deviation| (noise / deviation).powi(2));
            for (i, before) in [gain, drift].into_iter().enumerate() {
                normal[i][i] += prior[i];
                right[i] -= prior[i] * before;
            }
            noise = (squares / weights).sqrt().max(LEAST * step);
            let Some([more, further]) = solved(normal, right) else { break };
            (gain, drift) = (gain + more, drift + further);
        }
        if [gain, drift, noise].iter().all(|x| x.is_finite()) && gain.abs() < 1.0 {
            (self.gain[k], self.drift[k], self.noise[k]) = (gain, drift, noise);
        }
    }

    /// The filter's motion by an action, with noise times a factor.
    pub(super) fn by<'a>(&'a self, action: &'a [f32], factor: f64) -> Driven<'a> {
        Driven { moving: self, action, factor }
    }

    /// Checks what was read from a file.
    pub(super) fn is_valid(&self) -> bool {
        let count = self.space.dimension();
        let fits = |all: &Vec<f64>| all.len() == count && all.iter().all(|x| x.is_finite());
        fits(&self.gain) && fits(&self.drift) && fits(&self.noise) && self.noise.iter().all(|x| *x > 0.0)
    }
}

impl Dynamics for Moving {
    fn space(&self) -> space::Space {
        self.space.into()
    }

    fn moved(&self, state: &[f64], action: &[f64]) -> Vec<f64> {
        if let Some(field) = &self.field {
            return state.iter().zip(field.changes(state)).map(|(x, change)| x + change).collect();
        }
        state.iter().zip(action).enumerate().map(|(k, (x, a))| x + self.change(k, *a)).collect()
    }

    fn noise(&self, action: &[f64]) -> Matrix {
        Matrix::diagonal(&action.iter().enumerate().map(|(k, a)| self.variance(k, *a)).collect::<Vec<_>>())
    }

    /// A row of NaN is a missing action.
    fn accepts(&self, action: &[f64]) -> bool {
        action.iter().all(|x| x.is_finite()) || action.iter().all(|x| x.is_nan())
    }

    fn jacobian(&self, state: &[f64], _: &[f64]) -> Matrix {
        let Some(field) = &self.field else { return Matrix::identity(state.len()) };
        // The law is smooth, and of the order of 1 in the coordinates' ranges.
        let column = |k: usize| {
            let h = 1e-5 * self.range.half(k);
            let at = |by: f64| {
                let mut near = state.to_vec();
                near[k] += by;
                field.changes(&near)
            };
            at(h).iter().zip(at(-h)).map(|(a, b)| (a - b) / (2.0 * h)).collect::<Vec<_>>()
        };
        let columns: Vec<Vec<f64>> = (0..state.len()).map(column).collect();
        Matrix::from_fn(state.len(), |i, j| columns[j][i] + f64::from(u8::from(i == j)))
    }

    fn before(&self, next: &[f64], action: &[f64]) -> Vec<f64> {
        if let Some(field) = &self.field {
            // For a first guess: the state changed by about as much as it would from here on.
            return next.iter().zip(field.changes(next)).map(|(x, change)| x - change).collect();
        }
        next.iter().zip(action).enumerate().map(|(k, (x, a))| x - self.change(k, *a)).collect()
    }
}

impl Driven<'_> {
    /// Standard deviation of coordinate k.
    fn deviation(&self, k: usize) -> f64 {
        let least = LEAST_OF_FILTER * self.moving.steps[k];
        (self.factor * self.moving.variance(k, self.number(k)).sqrt()).max(least)
    }

    fn number(&self, k: usize) -> f64 {
        self.action.get(k).map_or(f64::NAN, |x| f64::from(*x))
    }

    /// How probable it is to come from these states to others; `None` where a coordinate moves without noise.
    pub(super) fn density(&self, from: &Particles) -> Option<NormalDensity> {
        let (mut reached, size) = (from.clone(), from.space().dimension());
        let changes = self.moving.field.as_ref().map(|field| field.all_changes(from));
        for (k, column) in reached.columns_mut().iter_mut().enumerate() {
            let change = self.moving.change(k, self.number(k)) as f32;
            for (i, x) in column.iter_mut().enumerate() {
                *x += changes.as_ref().map_or(change, |all| all[size * i + k]);
            }
        }
        let deviations: Vec<f64> = (0..size).map(|k| self.deviation(k)).collect();
        let is_proper = deviations.iter().all(|x| *x > 0.0 && x.is_finite());
        is_proper.then(|| NormalDensity::new(reached, &deviations))
    }
}

/// The motion into one step.
pub(super) struct Driven<'a> {
    moving: &'a Moving,
    action: &'a [f32],
    factor: f64,
}

impl Motion for Driven<'_> {
    fn propagate(&mut self, particles: &mut Particles, draws: &mut dyn Draws, noise: &mut Noise) -> bool {
        let (moving, space, count) = (self.moving, particles.space(), particles.len());
        let noise = noise.draw(space.dimension(), count, draws);
        let changes = moving.field.as_ref().map(|field| field.all_changes(particles));
        let size = space.dimension();
        for (k, (column, noise)) in particles.columns_mut().iter_mut().zip(noise).enumerate() {
            let change = moving.change(k, self.number(k)) as f32;
            let deviation = self.deviation(k) as f32;
            for (i, (x, z)) in column.iter_mut().zip(noise).enumerate() {
                *x += changes.as_ref().map_or(change, |all| all[size * i + k]) + deviation * z;
                if space.is_angle(k) {
                    *x = wrapped(*x);
                }
            }
        }
        self.action.iter().all(|x| x.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::robot::coordinates::testing::{angle_and_level, normalisation};
    use driftless_world::random::Random;
    use driftless_world::trajectory::Rows;

    fn walk(actions: Vec<State>, labels: Vec<Option<State>>) -> Walk<State> {
        Walk { readings: Rows::default(), camera: None, actions, labels, start: None }
    }

    /// Actions that are wrong in a known way, with noise that is known: both are found, across whole turns of the angle.
    /// 80 pairs of 5 steps: noise within 1 / √160 = 8 %, three of that; a gain within 0.1 √5 / (5 · 0.6 √80) = 0.01.
    #[test]
    fn gains_drifts_and_noise_are_found() {
        let (mut random, mut state) = (Random::new(4), [0.0_f64; 2]);
        let (mut actions, mut labels) = (Vec::new(), Vec::new());
        for t in 0..401 {
            let action = [0.6 + 0.2 * random.normal(), -3.0 + 5.0 * random.normal()];
            if t > 0 {
                state[0] += 1.1 * action[0] + 0.1 * random.normal();
                state[1] += 0.9 * action[1] + 0.5 + 0.8 * random.normal();
            }
            actions.push(action.map(|x| x as f32).to_vec());
            labels.push((t % 5 == 0).then(|| vec![wrap(state[0]) as f32, state[1] as f32]));
        }
        let normalisation = normalisation(angle_and_level([0.6, 4.0], [1.8, 40.0]));
        let mut moving = Moving::new(&normalisation, true);
        moving.fit(&[walk(actions, labels)]);
        let close =
            |found: f64, truth: f64, within: f64| assert!((found - truth).abs() < within, "{found} {truth}");
        close(moving.gain[0] + moving.drift[0] / 0.6, 0.1, 0.03);
        close(moving.gain[1], -0.1, 0.04);
        close(moving.noise[0], 0.1, 0.03);
        close(moving.noise[1], 0.8, 0.24);
    }

    /// A random walk with gaps of missing labels; its noise per step does not depend on the gaps.
    #[test]
    fn the_noise_of_a_random_walk_is_found() {
        let (mut random, mut state) = (Random::new(5), [0.0_f64; 2]);
        let (mut actions, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..3000 {
            state[0] += 0.2 * random.normal();
            state[1] += 2.0 * random.normal();
            actions.push(vec![f32::NAN; 2]);
            labels.push(random.chance(0.1).then(|| vec![wrap(state[0]) as f32, state[1] as f32]));
        }
        let mut moving = Moving::new(&normalisation(angle_and_level([0.16, 1.6], [1.8, 40.0])), false);
        moving.fit(&[walk(actions, labels)]);
        // 300 pairs: 4 %, three of that, and 2 % that Huber's weights take.
        for (found, truth) in moving.noise.iter().zip([0.2, 2.0]) {
            assert!((found / truth - 1.0).abs() < 0.14, "{found} {truth}");
        }
    }

    #[test]
    fn a_missing_action_tells_nothing() {
        let moving = Moving::new(&normalisation(angle_and_level([0.1, 1.0], [1.0, 1.0])), true);
        assert_eq!(moving.moved(&[1.0, 2.0], &[f64::NAN; 2]), [1.0, 2.0]);
        let [known, missing] = [[0.5; 2], [f64::NAN; 2]].map(|action| moving.noise(&action).at(1, 1));
        assert!(missing > 50.0 * known, "{missing} {known}");
        assert!(moving.accepts(&[f64::NAN; 2]) && !moving.accepts(&[1.0, f64::NAN]));
    }
}
