//! Sensors of a robot: what a learned map says of a reading at a pose, and where a robot could be by it.

use super::beacons::Beacons;
use super::scan::Scan;
use super::textbook_scan::TextbookScan;
use super::walks::Walk;
use crate::error::Result;
use crate::learn::{Normalisation, SensorKind, SensorSettings};
use crate::methods::anchored::paths::Evidence;
use crate::parameters::Named;
use driftless_core::exponential::{exponentials, log_sum_exp};
use driftless_core::resample::Scheme;
use driftless_core::sensor::Proposal;
use driftless_core::{Cpu, Draws, Particles, Reading, Sensor, Space};
use driftless_world::evaluation::Surroundings;
use driftless_world::random::Random;
use std::f64::consts::PI;
use std::ops::Deref;

/// Share of the extent of known positions by which a robot may be beyond them.
const MARGIN: f64 = 0.05;
/// Poses that each further reading is compared with, to find a robot that is elsewhere.
const LATER: usize = 20_000;

/// A reading, and the poses it may have been taken at, all equally likely.
pub(super) struct Example<'a> {
    pub(super) reading: &'a [f32],
    pub(super) poses: &'a [[f32; 3]],
}

/// A sensor and the map it has learned: one file, and one line in [`model_of`].
pub(super) trait Model: Send + Sync {
    /// One that has learned nothing yet.
    fn fresh(&self) -> Box<dyn Model>;

    /// Reads what is given instead of learned, once before training.
    fn prepare(&mut self) -> Result<()> {
        Ok(())
    }

    /// Learns the map: the M-step.
    fn fit(&mut self, examples: &[Example]);

    /// Writes log l(o | s) of each pose.
    fn score(&self, reading: &[f32], poses: &Particles, log: &mut [f32]) -> Reading;

    /// Somewhere a robot can stand, if the map tells.
    fn place(&self, _random: &mut Random) -> Option<[f64; 2]> {
        None
    }

    /// Where robots can be by what is given, whether or not they were seen anywhere.
    fn extent(&self, _seen: bool) -> Option<[[f64; 2]; 2]> {
        None
    }

    /// Tells what reports can draw below paths.
    fn surroundings(&self, _known: &mut Surroundings) {}

    /// What was learned, by name.
    fn parameters(&self) -> Vec<Named>;

    /// Takes it back.
    fn restore(&mut self, parameters: &[Named]) -> Result<()>;
}

/// The sensor of some settings.
pub(super) fn model_of(settings: &SensorSettings) -> Box<dyn Model> {
    match settings.kind {
        SensorKind::Scan => Box::new(Scan::new(settings)),
        SensorKind::Ranges | SensorKind::Landmarks => Box::new(Beacons::new(settings)),
    }
}

/// The same as textbooks have it, for `mcl`.
pub(super) fn textbook_model_of(settings: &SensorSettings) -> Box<dyn Model> {
    match settings.kind {
        SensorKind::Scan => Box::new(TextbookScan::new(settings)),
        SensorKind::Ranges | SensorKind::Landmarks => Box::new(Beacons::uncalibrated(settings)),
    }
}

/// Log-likelihoods of all sensors multiply; what is missing says nothing. `own` is memory.
fn scores<'r>(
    models: &[Box<dyn Model>],
    reading: impl Fn(usize) -> &'r [f32],
    poses: &Particles,
    log: &mut [f32],
    own: &mut Vec<f32>,
) -> Reading {
    let mut found = Reading::Missing;
    log.fill(0.0);
    for (number, model) in models.iter().enumerate() {
        own.resize(log.len(), 0.0);
        if model.score(reading(number), poses, own) == Reading::Present {
            found = Reading::Present;
            log.iter_mut().zip(&*own).for_each(|(log, own)| *log += own);
        }
    }
    found
}

/// What is seen along an episode, for the E-step.
pub(super) struct Seen<'a> {
    pub(super) models: &'a [Box<dyn Model>],
    pub(super) walk: &'a Walk,
    pub(super) tempering: f32,
}

impl Evidence for Seen<'_> {
    fn scores(&mut self, t: usize, poses: &Particles, log: &mut [f32]) -> Reading {
        let reading = scores(self.models, |_| self.walk.readings.row(t), poses, log, &mut Vec::new());
        for score in log {
            *score *= self.tempering;
        }
        reading
    }
}

/// Poses all over the space, drawn evenly, and how far they lie apart.
pub(super) struct Anywhere {
    first: Particles,
    later: Particles,
    bounds: [[f64; 2]; 2],
    /// Whether headings differ.
    turns: bool,
}

impl Anywhere {
    /// So many poses where the map says that robots can be, else in the box of known ones.
    pub(super) fn new(
        models: &[Box<dyn Model>],
        normalisation: &Normalisation,
        count: usize,
        seed: u64,
    ) -> Self {
        let (low, high) = (normalisation.low, normalisation.high);
        let margin = MARGIN * (high[0] - low[0]).max(high[1] - low[1]).max(1e-6);
        let seen = [[low[0] - margin, low[1] - margin], [high[0] + margin, high[1] + margin]];
        let bounds = models.iter().find_map(|model| model.extent(low[0] < high[0])).unwrap_or(seen);
        let mut random = Random::stream(seed, 0x706c_6163_6573);
        let inside = |[x, y]: [f64; 2]| {
            (bounds[0][0]..=bounds[1][0]).contains(&x) && (bounds[0][1]..=bounds[1][1]).contains(&y)
        };
        let mut poses = |count: usize| {
            let mut all = Particles::new(Space::SE2);
            for _ in 0..count {
                let told = (0..4).find_map(|_| {
                    models.iter().find_map(|model| model.place(&mut random)).filter(|p| inside(*p))
                });
                let [x, y] = told.unwrap_or_else(|| [0, 1].map(|k| random.range(bounds[0][k], bounds[1][k])));
                all.push(&[x, y, random.range(low[2], high[2])].map(|x| x as f32));
            }
            all
        };
        Self { first: poses(count), later: poses(count.min(LATER)), bounds, turns: high[2] > low[2] }
    }

    fn poses(&self, is_first: bool) -> &Particles {
        if is_first { &self.first } else { &self.later }
    }

    /// Standard deviations that fill the space between neighbours.
    fn jitter(&self, count: usize) -> [f32; 3] {
        let [low, high] = self.bounds;
        let area = (high[0] - low[0]) * (high[1] - low[1]);
        let headings = if self.turns { 36.0_f64 } else { 1.0 };
        let apart = 0.5 * (area * headings / count.max(1) as f64).sqrt();
        [apart as f32, apart as f32, if self.turns { (PI / headings) as f32 } else { 0.0 }]
    }
}

/// All sensors with one reading bound to them: borrowed in evaluation, shared by robots online.
pub(super) struct Bound<M, A> {
    models: M,
    anywhere: A,
    /// What each sensor scores by.
    readings: Vec<Vec<f32>>,
    /// Whether it is the first reading, which chooses among many poses; others choose among fewer.
    is_first: bool,
    /// Whether `scores` are those of this reading, and whether it says anything.
    looked_up: Option<Reading>,
    scores: Vec<f32>,
    weights: Vec<f32>,
    chosen: Vec<u32>,
    noise: Vec<f32>,
    own: Vec<f32>,
}

impl<M, A> Bound<M, A>
where
    M: Deref<Target = [Box<dyn Model>]>,
    A: Deref<Target = Anywhere>,
{
    /// No reading yet.
    pub(super) fn new(models: M, anywhere: A) -> Self {
        let (scores, weights, chosen, noise, own) = Default::default();
        Self {
            readings: vec![Vec::new(); models.len()],
            models,
            anywhere,
            is_first: true,
            looked_up: None,
            scores,
            weights,
            chosen,
            noise,
            own,
        }
    }

    /// The reading of the next step: what each sensor, by its number, scores by.
    pub(super) fn bind<'r>(&mut self, reading: impl Fn(usize) -> &'r [f32], is_first: bool) {
        for (number, own) in self.readings.iter_mut().enumerate() {
            own.clear();
            own.extend_from_slice(reading(number));
        }
        (self.is_first, self.looked_up) = (is_first, None);
    }

    /// Scores of poses all over the space; says whether the reading tells anything.
    pub(super) fn look_up(&mut self) -> Reading {
        let Self { models, anywhere, readings, scores: found, own, .. } = self;
        let poses = anywhere.poses(self.is_first);
        *self.looked_up.get_or_insert_with(|| {
            found.resize(poses.len(), 0.0);
            scores(models, |number| &readings[number], poses, found, own)
        })
    }
}

impl<M, A> Sensor for Bound<M, A>
where
    M: Deref<Target = [Box<dyn Model>]>,
    A: Deref<Target = Anywhere>,
{
    /// Zero where no robot was ever near.
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        let Self { models, readings, own, .. } = self;
        scores(models, |number| &readings[number], particles, log, own)
    }

    fn proposal(&mut self) -> Option<&mut dyn Proposal> {
        Some(self)
    }
}

impl<M, A> Proposal for Bound<M, A>
where
    M: Deref<Target = [Box<dyn Model>]>,
    A: Deref<Target = Anywhere>,
{
    fn log_evidence(&mut self, tempering: f32) -> f64 {
        self.look_up();
        log_sum_exp(Cpu::best(), &self.scores, tempering) - (self.scores.len().max(1) as f64).ln()
    }

    fn propose(&mut self, tempering: f32, count: usize, draws: &mut dyn Draws, particles: &mut Particles) {
        self.look_up();
        let Self { anywhere, scores, weights, chosen, noise, .. } = self;
        let poses = anywhere.poses(self.is_first);
        exponentials(Cpu::best(), scores, tempering, weights);
        Scheme::Systematic.ancestors(weights, count, || draws.uniform(), chosen);
        noise.resize(count, 0.0);
        for (k, jitter) in anywhere.jitter(poses.len()).into_iter().enumerate() {
            draws.normals(noise);
            let column = poses.column(k);
            let shaken = chosen.iter().zip(&*noise).map(|(&i, z)| column[i as usize] + jitter * z);
            particles.columns_mut()[k].extend(shaken);
        }
    }
}
