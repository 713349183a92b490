//! Readings that are expected of each state: a polynomial for each number, fitted by least squares, and how exact it is.
//!
//! The closed-form M-step of z = W φ(s) + N(0, σ²), column by column. The degree is chosen by cross-validation.

use super::basis::{Basis, Range};
use super::motion::State;
use super::sums::Sums;
use crate::error::{Error, Result};
use crate::learn::{EpochReport, Normalisation, SensorSettings};
use crate::methods::anchored::store::{find, named};
use crate::methods::robot::sensor::{Example, Model};
use crate::parameters::Named;
use driftless_core::{Particles, Reading};
use driftless_world::statistics::Moments;
use std::collections::BTreeMap;

/// Monomials, at most; and at most one for so many readings.
const MOST: usize = 220;
const READINGS_EACH: usize = 3;
/// The highest degree that is tried.
const MOST_DEGREE: usize = 6;
/// Parts of the readings, each of which is foretold by the others.
const FOLDS: usize = 5;
/// A higher degree must foretell readings better by this much, in nats a number.
const WORTH: f64 = 0.01;
/// States of a reading that are looked at, at most.
const STATES: usize = 4;
/// Readings are exact within this share of their deviation at best.
const LEAST: f64 = 1e-4;
/// A reading that is farther off than so many deviations is odd, and says no more than that.
const FARTHEST: f32 = 6.0;

/// A sensor of a vector.
#[derive(Clone)]
pub(in crate::methods::robot) struct Expected {
    name: String,
    columns: [usize; 2],
    range: Range,
    fitted: Option<Fitted>,
}

/// What was learned.
#[derive(Clone)]
struct Fitted {
    degree: usize,
    basis: Basis,
    /// A row of weights for each column.
    weights: Vec<f32>,
    /// Inverse standard deviation of each column; 0 says nothing.
    exactness: Vec<f32>,
}

impl Expected {
    /// Not fitted yet.
    pub(in crate::methods::robot) fn new(settings: &SensorSettings, normalisation: &Normalisation) -> Self {
        let range = Range::new(normalisation);
        Self { name: settings.name.clone(), columns: settings.columns, range, fitted: None }
    }

    fn own<'a>(&self, numbers: &'a [f32]) -> &'a [f32] {
        numbers.get(self.columns[0]..self.columns[1]).unwrap_or(&[])
    }

    /// Columns that are known at the same examples, and which those are.
    fn groups(&self, examples: &[Example<State>]) -> BTreeMap<Vec<bool>, Vec<usize>> {
        let mut groups: BTreeMap<Vec<bool>, Vec<usize>> = BTreeMap::new();
        for k in 0..self.columns[1] - self.columns[0] {
            let is_known = |example: &Example<State>| {
                !example.poses.is_empty()
                    && self.own(example.seen.numbers).get(k).is_some_and(|x| x.is_finite())
            };
            groups.entry(examples.iter().map(is_known).collect()).or_default().push(k);
        }
        groups
    }

    /// Sums of each fold, of some columns at the examples where they are known.
    fn sums(
        &self,
        basis: &Basis,
        examples: &[&Example<State>],
        group: &[usize],
        scale: &[[f64; 2]],
    ) -> Vec<Sums> {
        let mut folds: Vec<Sums> = (0..FOLDS).map(|_| Sums::new(basis.len(), group.len())).collect();
        for (number, example) in examples.iter().enumerate() {
            let own = self.own(example.seen.numbers);
            let normalised = |k: &usize| (f64::from(own[*k]) - scale[*k][0]) / scale[*k][1];
            let readings: Vec<f64> = group.iter().map(normalised).collect();
            let every = example.poses.len().div_ceil(STATES);
            let states = Particles::from_states(self.range.space(), example.poses.iter().step_by(every));
            let weight = 1.0 / states.len() as f64;
            let fold = &mut folds[number * FOLDS / examples.len()];
            basis.rows(&states).chunks_exact(basis.len()).for_each(|row| fold.add(row, &readings, weight));
        }
        folds
    }

    /// The mean surprise, in nats a number, of readings of one fold that the others foretell.
    fn surprise(folds: &[Sums]) -> Option<f64> {
        let all = Sums::total(folds);
        let (mut errors, mut count) = (vec![0.0; all.squares.len()], 0.0);
        for fold in folds.iter().filter(|fold| fold.count > 0.0) {
            let mut others = Sums::total(folds);
            others.plus(-1.0, fold);
            let found = fold.errors(&others.solve()?);
            errors.iter_mut().zip(found).for_each(|(sum, error)| *sum += error);
            count += fold.count;
        }
        let surprise = |error: &f64| 0.5 * (error / count).max(LEAST * LEAST).ln();
        Some(errors.iter().map(surprise).sum::<f64>() / errors.len() as f64)
    }

    /// The degree that foretells best, for all columns.
    fn degree(&self, groups: &[(Vec<&Example<State>>, Vec<usize>)], scale: &[[f64; 2]]) -> usize {
        let least = groups.iter().map(|(examples, _)| examples.len()).min().unwrap_or(0);
        let most = (least / READINGS_EACH).min(MOST);
        let mut best = (0, f64::INFINITY);
        for degree in 0..=MOST_DEGREE {
            let Some(basis) = Basis::new(&self.range, degree, most.max(1)) else { break };
            let of_group = |(examples, group): &(Vec<&Example<State>>, Vec<usize>)| {
                let found = Self::surprise(&self.sums(&basis, examples, group, scale))?;
                Some(found * group.len() as f64)
            };
            let columns: usize = groups.iter().map(|(_, group)| group.len()).sum();
            let Some(sum) = groups.iter().map(of_group).sum::<Option<f64>>() else { break };
            let surprise = sum / columns.max(1) as f64;
            if surprise < best.1 - WORTH {
                best = (degree, surprise);
            } else if degree > best.0 + 1 {
                break;
            }
        }
        best.0
    }

    fn fitted(&self, examples: &[Example<State>]) -> Option<Fitted> {
        let width = self.columns[1] - self.columns[0];
        let known = |pattern: &[bool]| -> Vec<&Example<State>> {
            examples.iter().zip(pattern).filter(|(_, known)| **known).map(|(example, _)| example).collect()
        };
        let all = self.groups(examples);
        let groups: Vec<(Vec<&Example<State>>, Vec<usize>)> =
            all.iter().map(|(pattern, group)| (known(pattern), group.clone())).collect();
        // A column that is hardly ever there says nothing.
        let groups: Vec<_> = groups.into_iter().filter(|(examples, _)| examples.len() > FOLDS).collect();
        let mut scale = vec![[0.0, 1.0]; width];
        for (examples, group) in &groups {
            for &k in group {
                let mut moments = Moments::default();
                for one in examples {
                    moments.push(f64::from(self.own(one.seen.numbers)[k]));
                }
                let varies = moments.std() > 1e-9 * (1.0 + moments.mean.abs());
                scale[k] = [moments.mean, if varies { moments.std() } else { 1.0 }];
            }
        }
        let degree = self.degree(&groups, &scale);
        let basis = Basis::new(&self.range, degree, usize::MAX)?;
        let size = basis.len();
        let (mut weights, mut exactness) = (vec![0.0; width * size], vec![0.0; width]);
        for (examples, group) in &groups {
            let sums = Sums::total(&self.sums(&basis, examples, group, &scale));
            let solved = sums.solve()?;
            let free = (sums.count - size as f64).max(0.25 * sums.count);
            for ((&k, own), errors) in group.iter().zip(&solved).zip(sums.errors(&solved)) {
                let [mean, deviation] = scale[k];
                let to = &mut weights[k * size..(k + 1) * size];
                to.iter_mut().zip(own).for_each(|(to, w)| *to = (w * deviation) as f32);
                to[0] += mean as f32;
                exactness[k] = (1.0 / (deviation * (errors / free).sqrt().max(LEAST))) as f32;
            }
        }
        Some(Fitted { degree, basis, weights, exactness })
    }

    fn part(&self, part: &str) -> String {
        format!("sensor.{}.{part}", self.name)
    }
}

impl Model<State> for Expected {
    fn fresh(&self) -> Box<dyn Model<State>> {
        Box::new(Self { fitted: None, ..self.clone() })
    }

    fn fit(&mut self, _: u64, examples: &[Example<State>]) -> Option<EpochReport> {
        self.fitted = self.fitted(examples);
        None
    }

    fn score(&self, reading: &[f32], states: &Particles, log: &mut [f32]) -> Reading {
        let (own, Some(fitted)) = (self.own(reading), &self.fitted) else { return Reading::Missing };
        let size = fitted.basis.len();
        let columns: Vec<(f32, f32, &[f32])> = own
            .iter()
            .zip(&fitted.exactness)
            .zip(fitted.weights.chunks_exact(size))
            .filter(|((z, exactness), _)| z.is_finite() && **exactness > 0.0)
            .map(|((z, exactness), weights)| (*z, *exactness, weights))
            .collect();
        if columns.is_empty() {
            return Reading::Missing;
        }
        for (log, row) in log.iter_mut().zip(fitted.basis.rows(states).chunks_exact(size)) {
            let one = |(z, exactness, weights): &(f32, f32, &[f32])| {
                let expected: f32 = row.iter().zip(*weights).map(|(a, w)| a * w).sum();
                ((z - expected) * exactness).clamp(-FARTHEST, FARTHEST).powi(2)
            };
            *log = -0.5 * columns.iter().map(one).sum::<f32>();
        }
        Reading::Present
    }

    fn parameters(&self) -> Vec<Named> {
        let Some(fitted) = &self.fitted else { return vec![named(&self.part("degree"), vec![-1.0])] };
        let wide = |numbers: &[f32]| numbers.iter().map(|&x| f64::from(x)).collect();
        vec![
            named(&self.part("degree"), vec![fitted.degree as f64]),
            named(&self.part("weights"), wide(&fitted.weights)),
            named(&self.part("exactness"), wide(&fitted.exactness)),
        ]
    }

    fn restore(&mut self, parameters: &[Named], _: Option<&[Named]>) -> Result<()> {
        let wrong = |part: &str| Error::setting(self.part(part), "does not fit the sensor");
        let degree = match find(parameters, &self.part("degree"))? {
            [-1.0] => {
                self.fitted = None;
                return Ok(());
            }
            [degree] if (0.0..=MOST_DEGREE as f64).contains(degree) => *degree as usize,
            _ => return Err(wrong("degree")),
        };
        let narrow = |part: &str| -> Result<Vec<f32>> {
            let numbers = find(parameters, &self.part(part))?;
            let all: Vec<f32> = numbers.iter().map(|&x| x as f32).collect();
            if all.iter().all(|x| x.is_finite()) { Ok(all) } else { Err(wrong(part)) }
        };
        let basis = Basis::new(&self.range, degree, usize::MAX).ok_or_else(|| wrong("degree"))?;
        let (weights, exactness) = (narrow("weights")?, narrow("exactness")?);
        let width = self.columns[1] - self.columns[0];
        if exactness.len() != width || weights.len() != width * basis.len() {
            return Err(wrong("weights"));
        }
        self.fitted = Some(Fitted { degree, basis, weights, exactness });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::robot::coordinates::testing::{angle_and_level, normalisation};
    use crate::methods::robot::walks::Measured;
    use driftless_world::random::Random;

    /// Three readings: cos θ · level + 2, exact within 0.05; the level within 0.2, at every other step; and noise.
    fn readings(count: usize) -> Vec<(Vec<f32>, Vec<State>)> {
        let mut random = Random::new(6);
        let one = |t: usize| {
            let (angle, level) = (random.range(-3.1, 3.1), random.range(-2.0, 2.0));
            let read = [
                angle.cos() * level + 2.0 + 0.05 * random.normal(),
                if t.is_multiple_of(2) { level + 0.2 * random.normal() } else { f64::NAN },
                random.normal(),
            ];
            (read.map(|x| x as f32).to_vec(), vec![vec![angle as f32, level as f32]])
        };
        (0..count).map(one).collect()
    }

    fn fitted(count: usize) -> Expected {
        let settings = SensorSettings { name: "three".into(), columns: [0, 3], ..SensorSettings::default() };
        let mut sensor = Expected::new(&settings, &normalisation(angle_and_level([0.1, 0.1], [1.8, 1.0])));
        let data = readings(count);
        let examples: Vec<Example<State>> = data
            .iter()
            .map(|(numbers, poses)| Example { seen: Measured { numbers, image: None }, poses })
            .collect();
        sensor.fit(1, &examples);
        sensor
    }

    /// The degree of the product is found, and how exact each column is: of 400 readings within 1 / √800 = 4 %, three of
    /// that, and of 200 within 5 %.
    #[test]
    fn expectations_and_noise_are_found() {
        let sensor = fitted(400);
        let found = sensor.fitted.as_ref().unwrap();
        assert_eq!(found.degree, 2);
        for (exactness, deviation, within) in [
            (found.exactness[0], 0.05, 0.12),
            (found.exactness[1], 0.2, 0.15),
            (found.exactness[2], 1.0, 0.12),
        ] {
            assert!((exactness * deviation - 1.0).abs() < within, "{exactness} {deviation}");
        }
        let states = Particles::from_states(sensor.range.space(), [[0.5_f32, 1.0], [0.5, 1.5]]);
        let (mut log, read) = ([0.0; 2], [2.0 + 0.5_f32.cos(), 1.0, f32::NAN]);
        assert_eq!(sensor.score(&read, &states, &mut log), Reading::Present);
        // Nothing but errors of the fit; then 0.44 / 0.05 held at 6, and 0.5 / 0.2.
        assert!(log[0] > -0.5 && (log[1] + 0.5 * (36.0 + 6.25)).abs() < 1.5, "{log:?}");
        assert_eq!(sensor.score(&[f32::NAN; 3], &states, &mut log), Reading::Missing);
    }

    #[test]
    fn what_was_learned_comes_back() {
        let (sensor, states) = (fitted(60), [[0.5_f32, 1.0], [2.5, -0.5]]);
        let mut other = Expected { fitted: None, ..sensor.clone() };
        other.restore(&sensor.parameters(), None).unwrap();
        let states = Particles::from_states(sensor.range.space(), states);
        let [mut a, mut b] = [[0.0; 2]; 2];
        sensor.score(&[1.0, 0.0, 0.0], &states, &mut a);
        other.score(&[1.0, 0.0, 0.0], &states, &mut b);
        assert_eq!(a, b);
        let mut broken = sensor.parameters();
        broken[1].values.pop();
        assert!(other.restore(&broken, None).unwrap_err().to_string().contains("sensor.three.weights"));
        assert!(fitted(3).fitted.is_none_or(|fitted| fitted.exactness == [0.0; 3]), "too few to learn from");
    }
}
