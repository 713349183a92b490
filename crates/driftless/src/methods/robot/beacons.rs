//! Beacons and landmarks whose places are learned: distances to them, and bearings where the sensor has those.
//!
//! A distance is scale · d + offset with an error, the same for all; a bearing errs around the true one. Errors have the
//! heavy tails of Student's t, so that a wrong reading neither moves a beacon nor kills a particle.

use super::given;
use super::motion::solved;
use super::sensor::{Example, Model};
use crate::error::{Error, Result};
use crate::learn::{EpochReport, SensorSettings};
use crate::methods::anchored::store::{find, named};
use crate::parameters::Named;
use crate::smooth::chain::Matrix;
use driftless_core::{Particles, Reading};
use driftless_world::evaluation::Surroundings;
use driftless_world::pose::wrap;

/// Degrees of freedom of Student's t.
const FREEDOM: f64 = 4.0;
/// Rounds of robust least squares.
const ROUNDS: usize = 30;
/// Sightings without which a beacon is not placed.
const LEAST_SEEN: usize = 4;
/// Least deviations of distances (in the log's unit) and bearings.
const LEAST: [f64; 2] = [0.02, 0.005];
/// The scale of distances is about 1, and their offset about 0: what is believed before anything is seen.
const USUAL: [f64; 2] = [0.1, 0.5];

/// A sighting: from where, which beacon, how far, in which direction if that is known, and how much it counts.
struct Sighting {
    pose: [f64; 3],
    beacon: usize,
    distance: f64,
    bearing: Option<f64>,
    weight: f64,
}

/// A sensor of beacons, and where they stand.
pub(super) struct Beacons {
    settings: SensorSettings,
    /// Whether scale and offset of distances are learned.
    calibrated: bool,
    /// None where a beacon was not seen often enough.
    places: Vec<Option<[f64; 2]>>,
    /// Of distances: scale and offset.
    scale: [f64; 2],
    /// Of distances and bearings.
    deviations: [f64; 2],
}

impl Beacons {
    /// Nothing known yet.
    pub(super) fn new(settings: &SensorSettings) -> Self {
        Self {
            settings: settings.clone(),
            calibrated: true,
            places: vec![None; settings.width() / settings.kind.each()],
            scale: [1.0, 0.0],
            deviations: [0.5, 0.1],
        }
    }

    /// Distances are taken as they are.
    pub(super) fn uncalibrated(settings: &SensorSettings) -> Self {
        Self { calibrated: false, ..Self::new(settings) }
    }

    /// Distance and bearing of each beacon that a reading has.
    fn seen<'a>(&'a self, reading: &'a [f32]) -> impl Iterator<Item = (usize, f64, Option<f64>)> + 'a {
        let columns = &reading[self.settings.columns[0]..self.settings.columns[1]];
        let has_bearings = self.settings.kind.each() == 2;
        let each = columns.chunks_exact(self.settings.kind.each()).enumerate();
        each.filter_map(move |(beacon, numbers)| {
            let distance = f64::from(numbers[0]);
            let bearing =
                numbers.get(1).map(|&bearing| f64::from(bearing)).filter(|bearing| bearing.is_finite());
            let usable = distance.is_finite() && distance > 0.0 && distance < self.settings.reach;
            (usable && (!has_bearings || bearing.is_some())).then_some((beacon, distance, bearing))
        })
    }

    fn sightings(&self, examples: &[Example]) -> Vec<Sighting> {
        let mut all = Vec::new();
        for example in examples {
            for pose in example.poses {
                for (beacon, distance, bearing) in self.seen(example.seen.numbers) {
                    let weight = 1.0 / example.poses.len() as f64;
                    all.push(Sighting { pose: pose.map(f64::from), beacon, distance, bearing, weight });
                }
            }
        }
        all
    }

    /// First places: where bearings lead, in the middle; else the circles' common point by linear least squares.
    fn first_place(own: &[&Sighting]) -> Option<[f64; 2]> {
        if own.len() < LEAST_SEEN {
            return None;
        }
        if own.iter().all(|sighting| sighting.bearing.is_some()) {
            let at = |k: usize| {
                let mut places: Vec<f64> = own.iter().map(|sighting| sighting.reached()[k]).collect();
                places.sort_by(f64::total_cmp);
                places[places.len() / 2]
            };
            return Some([at(0), at(1)]);
        }
        // r² - |p|² = -2 p·b + |b|², with positions around their middle for the sake of rounding.
        let middle = [0, 1].map(|k| own.iter().map(|s| s.pose[k]).sum::<f64>() / own.len() as f64);
        let (mut normal, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
        for sighting in own {
            let p = [0, 1].map(|k| sighting.pose[k] - middle[k]);
            let (row, value) =
                ([-2.0 * p[0], -2.0 * p[1], 1.0], sighting.distance.powi(2) - p[0] * p[0] - p[1] * p[1]);
            for j in 0..3 {
                right[j] += sighting.weight * row[j] * value;
                (0..3).for_each(|k| normal[j][k] += sighting.weight * row[j] * row[k]);
            }
        }
        let [x, y, _] = solved(normal, right)?;
        Some([x + middle[0], y + middle[1]])
    }

    /// Errors of a sighting: of the distance and of the bearing.
    fn errors(&self, sighting: &Sighting, place: [f64; 2]) -> ([f64; 2], [f64; 2], f64) {
        let apart = [place[0] - sighting.pose[0], place[1] - sighting.pose[1]];
        let distance = apart[0].hypot(apart[1]).max(1e-6);
        let far = sighting.distance - (self.scale[0] * distance + self.scale[1]);
        let bearing = sighting
            .bearing
            .map_or(0.0, |bearing| wrap(bearing - (apart[1].atan2(apart[0]) - sighting.pose[2])));
        ([far, bearing], apart, distance)
    }

    /// A Gauss-Newton step of all places with scale and offset, which must move together: a beacon that is farther away
    /// and a greater scale look almost alike.
    fn improve(&mut self, sightings: &[Sighting]) {
        let size = 2 * self.places.len() + 2;
        let common = size - 2;
        // What is given, or taken as it is, does not move.
        let moves = |column: usize| {
            if column < common { !self.settings.is_given() } else { self.calibrated }
        };
        let (mut normal, mut right) = (vec![0.0; size * size], vec![0.0; size]);
        // A little is added, so that beacons without a place do no harm.
        (0..size).for_each(|k| normal[k * size + k] = 1e-9);
        for (k, usual) in [1.0, 0.0].into_iter().enumerate() {
            normal[(common + k) * (size + 1)] += USUAL[k].powi(-2);
            right[common + k] = (usual - self.scale[k]) * USUAL[k].powi(-2);
        }
        for sighting in sightings {
            let Some(place) = self.places[sighting.beacon] else { continue };
            let (errors, [dx, dy], d) = self.errors(sighting, place);
            let (at, scale) = (2 * sighting.beacon, self.scale[0]);
            let far = [(at, scale * dx / d), (at + 1, scale * dy / d), (common, d), (common + 1, 1.0)];
            let aside = [(at, -dy / (d * d)), (at + 1, dx / (d * d))];
            let rows: [&[(usize, f64)]; 2] = [&far, &aside];
            for (k, row) in rows.into_iter().enumerate().take(1 + usize::from(sighting.bearing.is_some())) {
                let weight = sighting.weight * information(errors[k], self.deviations[k]);
                for (i, x) in row.iter().filter(|(i, _)| moves(*i)) {
                    right[*i] += weight * x * errors[k];
                    for (j, y) in row.iter().filter(|(j, _)| moves(*j)) {
                        normal[i * size + j] += weight * x * y;
                    }
                }
            }
        }
        let normal = Matrix::from_fn(size, |i, j| normal[i * size + j]);
        let Some(change) = normal.cholesky(0.0).map(|root| root.solve(&right)) else { return };
        if !change.iter().all(|x| x.is_finite()) {
            return;
        }
        for (place, change) in self.places.iter_mut().zip(change.chunks_exact(2)) {
            *place = place.map(|[x, y]| [x + change[0], y + change[1]]);
        }
        self.scale = [(self.scale[0] + change[common]).max(0.1), self.scale[1] + change[common + 1]];
    }

    /// Deviations of distances and bearings: the M-step of Student's t.
    fn measure_errors(&mut self, sightings: &[Sighting]) {
        for k in 0..2 {
            let (mut sum, mut count) = (0.0, 0.0);
            for sighting in sightings.iter().filter(|sighting| k == 0 || sighting.bearing.is_some()) {
                let Some(place) = self.places[sighting.beacon] else { continue };
                let (errors, _, _) = self.errors(sighting, place);
                let scaled = information(errors[k], self.deviations[k]) * self.deviations[k].powi(2);
                sum += sighting.weight * scaled * errors[k] * errors[k];
                count += sighting.weight;
            }
            if count > 0.0 {
                self.deviations[k] = (sum / count).sqrt().max(LEAST[k]);
            }
        }
    }

    fn name(&self, part: &str) -> String {
        format!("sensor.{}.{part}", self.settings.name)
    }
}

impl Sighting {
    /// Where bearing and distance lead.
    fn reached(&self) -> [f64; 2] {
        let (sine, cosine) = (self.pose[2] + self.bearing.unwrap_or(0.0)).sin_cos();
        [self.pose[0] + self.distance * cosine, self.pose[1] + self.distance * sine]
    }
}

/// What an error counts in robust least squares: (ν + 1) / (ν σ² + e²).
fn information(error: f64, deviation: f64) -> f64 {
    (FREEDOM + 1.0) / (FREEDOM * deviation * deviation + error * error)
}

/// log of Student's density, but for a constant.
fn log_density(error: f64, deviation: f64) -> f64 {
    -0.5 * (FREEDOM + 1.0) * (error / deviation).powi(2).mul_add(1.0 / FREEDOM, 1.0).ln()
}

impl Model for Beacons {
    fn fresh(&self) -> Box<dyn Model> {
        let places =
            if self.settings.is_given() { self.places.clone() } else { vec![None; self.places.len()] };
        Box::new(Self { calibrated: self.calibrated, places, ..Self::new(&self.settings) })
    }

    fn prepare(&mut self) -> Result<()> {
        if self.settings.is_given() {
            let places = given::places(&self.settings.beacons, self.places.len())?;
            self.places = places.into_iter().map(Some).collect();
        }
        Ok(())
    }

    fn fit(&mut self, _: u64, examples: &[Example]) -> Option<EpochReport> {
        let sightings = self.sightings(examples);
        let own: Vec<Vec<&Sighting>> = (0..self.places.len())
            .map(|beacon| sightings.iter().filter(|sighting| sighting.beacon == beacon).collect())
            .collect();
        if !self.settings.is_given() {
            self.places = own.iter().map(|own| Self::first_place(own)).collect();
        }
        for _ in 0..ROUNDS {
            self.improve(&sightings);
            self.measure_errors(&sightings);
        }
        None
    }

    fn score(&self, reading: &[f32], poses: &Particles, log: &mut [f32]) -> Reading {
        // Looked through again for each pose: few numbers, and no memory.
        let seen = || self.seen(reading).filter_map(|(k, d, b)| Some((self.places[k]?, d, b)));
        if seen().next().is_none() {
            return Reading::Missing;
        }
        let [x, y, heading] = [0, 1, 2].map(|k| poses.column(k));
        for (i, log) in log.iter_mut().enumerate() {
            let mut sum = 0.0;
            for (place, distance, bearing) in seen() {
                let apart = [place[0] - f64::from(x[i]), place[1] - f64::from(y[i])];
                let expected = self.scale[0] * apart[0].hypot(apart[1]) + self.scale[1];
                sum += log_density(distance - expected, self.deviations[0]);
                if let Some(bearing) = bearing {
                    let direction = apart[1].atan2(apart[0]) - f64::from(heading[i]);
                    sum += log_density(wrap(bearing - direction), self.deviations[1]);
                }
            }
            *log = sum as f32;
        }
        Reading::Present
    }

    /// Around beacons that are given, by half of their extent, if nothing better is known.
    fn extent(&self, seen: bool) -> Option<[[f64; 2]; 2]> {
        let places = || self.places.iter().flatten();
        let edge = |k: usize, pick: fn(f64, f64) -> f64| places().map(|place| place[k]).reduce(pick);
        let low = [edge(0, f64::min)?, edge(1, f64::min)?];
        let high = [edge(0, f64::max)?, edge(1, f64::max)?];
        let room = 0.5 * (high[0] - low[0]).max(high[1] - low[1]).max(1.0);
        let extent = [low.map(|x| x - room), high.map(|x| x + room)];
        (self.settings.is_given() && !seen).then_some(extent)
    }

    fn surroundings(&self, known: &mut Surroundings) {
        known.marks.extend(self.places.iter().flatten());
    }

    fn parameters(&self) -> Vec<Named> {
        // A beacon that has no place is stored as far as it goes: how often places are known is a number, too.
        let places = self.places.iter().flat_map(|place| place.map_or([0.0; 3], |[x, y]| [1.0, x, y]));
        let errors = [self.scale, self.deviations].concat();
        vec![named(&self.name("places"), places.collect()), named(&self.name("errors"), errors)]
    }

    fn restore(&mut self, parameters: &[Named], _: Option<&[Named]>) -> Result<()> {
        let (places, errors) =
            (find(parameters, &self.name("places"))?, find(parameters, &self.name("errors"))?);
        let wrong = || Error::setting(self.name("places"), "does not fit the sensor's beacons");
        let &[scale, offset, distance, bearing] = errors else { return Err(wrong()) };
        let sound = places.iter().chain(errors).all(|x| x.is_finite()) && distance > 0.0 && bearing > 0.0;
        if !sound || places.len() != 3 * self.places.len() {
            return Err(wrong());
        }
        let place = |place: &[f64]| (place[0] > 0.0).then_some([place[1], place[2]]);
        self.places = places.chunks_exact(3).map(place).collect();
        (self.scale, self.deviations) = ([scale, offset], [distance, bearing]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::walks::Measured;
    use super::*;
    use driftless_core::Space;
    use driftless_world::random::Random;

    /// Ranges that are 7 % too long, with a tenth of them wild: places and scale are found, and restored.
    #[test]
    fn beacons_are_placed() {
        let truth = [[-4.0, 9.0], [12.0, 1.0], [3.0, -7.0]];
        let settings = SensorSettings {
            kind: crate::learn::SensorKind::named("ranges"),
            columns: [0, 3],
            reach: 1e3,
            ..SensorSettings::default()
        };
        let mut random = Random::new(7);
        let mut seen: Vec<([f32; 3], [f32; 3])> = Vec::new();
        for k in 0..600 {
            let pose = [random.range(-5.0, 10.0), random.range(-5.0, 10.0), 0.0];
            let reading = truth.map(|[x, y]: [f64; 2]| {
                let wild = if k % 10 == 0 { 5.0 * random.unit() } else { 0.0 };
                (1.07 * (x - pose[0]).hypot(y - pose[1]) + 0.05 * random.normal() + wild) as f32
            });
            let reading = if k % 4 == 0 { [reading[0], f32::NAN, reading[2]] } else { reading };
            seen.push((pose.map(|x| x as f32), reading));
        }
        let examples: Vec<Example> = seen
            .iter()
            .map(|(pose, reading)| Example {
                seen: Measured { numbers: reading, image: None },
                poses: std::slice::from_ref(pose),
            })
            .collect();
        let mut beacons = Beacons::new(&settings);
        beacons.fit(1, &examples);
        for (found, truth) in beacons.places.iter().zip(truth) {
            let found = found.unwrap();
            assert!((found[0] - truth[0]).hypot(found[1] - truth[1]) < 0.1, "{found:?} {truth:?}");
        }
        assert!((beacons.scale[0] - 1.07).abs() < 0.01, "{:?}", beacons.scale);
        let mut again = Beacons::new(&settings);
        again.restore(&beacons.parameters(), None).unwrap();
        let poses = Particles::from_states(Space::SE2, [[1.0_f32, 2.0, 0.5], [3.0, 4.0, 1.0]]);
        let [mut first, mut second] = [[0.0; 2]; 2];
        assert_eq!(beacons.score(&seen[1].1, &poses, &mut first), Reading::Present);
        again.score(&seen[1].1, &poses, &mut second);
        assert_eq!(first, second);
        assert_eq!(beacons.score(&[f32::NAN; 3], &poses, &mut first), Reading::Missing);
    }
}
