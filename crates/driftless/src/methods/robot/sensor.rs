//! Sensors of a robot: what a learned map or network says of a reading at a pose, and where a robot could be by it.

use super::beacons::Beacons;
use super::network::{Beams, Network, Numbers, Pictures, World};
use super::scan::Scan;
use super::textbook_scan::TextbookScan;
use super::walks::{Measured, Walk};
use crate::error::Result;
use crate::learn::{EpochReport, Normalisation, SensorEncoder, SensorKind, SensorSettings};
use crate::methods::anchored::paths::Evidence;
use crate::parameters::Named;
use driftless_core::exponential::{exponentials, log_sum_exp};
use driftless_core::resample::Scheme;
use driftless_core::sensor::Proposal;
use driftless_core::{Cpu, Draws, Particles, Reading, Sensor, Space};
use driftless_kernels::contrast::Atlas;
use driftless_world::evaluation::Surroundings;
use driftless_world::random::Random;
use driftless_world::trajectory::Rows;
use std::f64::consts::PI;
use std::ops::Deref;

/// Share of the extent of known positions by which a robot may be beyond them.
const MARGIN: f64 = 0.05;
/// Poses that each further reading is compared with, to find a robot that is elsewhere.
const LATER: usize = 20_000;

/// What was measured at a step, and the poses it may have been measured at, all equally likely.
pub(super) struct Example<'a> {
    pub(super) seen: Measured<'a>,
    pub(super) poses: &'a [[f32; 3]],
}

/// A sensor and what it has learned, a map or a network: one file, and one line in [`model_of`].
pub(super) trait Model: Send + Sync {
    /// One that can be fitted: a map begins anew, a network goes on from where it is.
    fn fresh(&self) -> Box<dyn Model>;

    /// Whether it goes on, and must not be fitted to episodes that it is evaluated on.
    fn goes_on(&self) -> bool {
        false
    }

    /// Reads what is given instead of learned, once before training.
    fn prepare(&mut self) -> Result<()> {
        Ok(())
    }

    /// Learns: the M-step of an epoch. A network says what its updates came to.
    fn fit(&mut self, epoch: u64, examples: &[Example]) -> Option<EpochReport>;

    /// What the steps of an episode are scored by, a row each, if that takes time to compute; else the numbers themselves.
    fn encode(&self, _steps: &[Measured]) -> Option<Rows> {
        None
    }

    /// Writes log l(o | s) of each pose, given the row of a step that [`Model::encode`] says.
    fn score(&self, reading: &[f32], poses: &Particles, log: &mut [f32]) -> Reading;

    /// Poses that many readings will be compared with, arranged for [`Model::look_up`] if that saves time.
    fn atlas(&self, _poses: &Particles) -> Option<Atlas> {
        None
    }

    /// The same as [`Model::score`] for all poses of an atlas.
    fn look_up(&self, _reading: &[f32], _atlas: &Atlas, _log: &mut [f32]) -> Reading {
        Reading::Missing
    }

    /// Somewhere a robot can stand, if that was learned.
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

    /// What it needs besides to go on exactly, by name.
    fn memory(&self) -> Vec<Named> {
        Vec::new()
    }

    /// Takes both back; without memory it is to be used, or begins its optimisation anew.
    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()>;
}

/// The sensor of some settings.
pub(super) fn model_of(settings: &SensorSettings, world: &World) -> Box<dyn Model> {
    match (settings.kind, settings.encoder()) {
        (SensorKind::Scan, SensorEncoder::Map) => Box::new(Scan::new(settings)),
        (SensorKind::Ranges | SensorKind::Landmarks, _) => Box::new(Beacons::new(settings)),
        (SensorKind::Scan, SensorEncoder::Network) => {
            Box::new(Network::new(Beams::new(settings), settings, world))
        }
        (SensorKind::Vector, _) => Box::new(Network::new(Numbers::new(settings), settings, world)),
        (SensorKind::Image, _) => Box::new(Network::new(Pictures::new(world), settings, world)),
    }
}

/// The same as textbooks have it, for `mcl`: they know maps alone.
pub(super) fn textbook_model_of(settings: &SensorSettings) -> Option<Box<dyn Model>> {
    match settings.kind {
        SensorKind::Scan => Some(Box::new(TextbookScan::new(settings))),
        SensorKind::Ranges | SensorKind::Landmarks => Some(Box::new(Beacons::uncalibrated(settings))),
        SensorKind::Vector | SensorKind::Image => None,
    }
}

/// Log-likelihoods of all sensors multiply; what is missing says nothing. `own` is memory.
fn sum(
    models: &[Box<dyn Model>],
    log: &mut [f32],
    own: &mut Vec<f32>,
    mut score: impl FnMut(usize, &dyn Model, &mut [f32]) -> Reading,
) -> Reading {
    let mut found = Reading::Missing;
    log.fill(0.0);
    for (number, model) in models.iter().enumerate() {
        own.resize(log.len(), 0.0);
        if score(number, &**model, own) == Reading::Present {
            found = Reading::Present;
            log.iter_mut().zip(&*own).for_each(|(log, own)| *log += own);
        }
    }
    found
}

/// Readings of an episode as each sensor scores by them, computed once.
pub(super) struct Encoded<'a> {
    models: &'a [Box<dyn Model>],
    walk: &'a Walk,
    rows: Vec<Option<Rows>>,
}

impl<'a> Encoded<'a> {
    /// All steps.
    pub(super) fn new(models: &'a [Box<dyn Model>], walk: &'a Walk) -> Self {
        let steps: Vec<Measured> = (0..walk.actions.len()).map(|t| walk.at(t)).collect();
        Self { models, walk, rows: models.iter().map(|model| model.encode(&steps)).collect() }
    }

    /// The sensors.
    pub(super) fn models(&self) -> &'a [Box<dyn Model>] {
        self.models
    }

    /// What a sensor, by its number, scores a step by.
    pub(super) fn row(&self, number: usize, t: usize) -> &[f32] {
        self.rows[number].as_ref().unwrap_or(&self.walk.readings).row(t)
    }
}

/// What is seen along an episode, for the E-step.
pub(super) struct Seen<'a> {
    pub(super) encoded: Encoded<'a>,
    pub(super) tempering: f32,
    pub(super) memory: Vec<f32>,
}

impl Evidence for Seen<'_> {
    fn scores(&mut self, t: usize, poses: &Particles, log: &mut [f32]) -> Reading {
        let Self { encoded, memory, .. } = self;
        let reading = sum(encoded.models, log, memory, |number, model, own| {
            model.score(encoded.row(number, t), poses, own)
        });
        for score in log {
            *score *= self.tempering;
        }
        reading
    }
}

/// Poses, and what each sensor has arranged of them.
struct Surveyed {
    poses: Particles,
    atlases: Vec<Option<Atlas>>,
}

impl Surveyed {
    fn new(models: &[Box<dyn Model>], poses: Particles) -> Self {
        Self { atlases: models.iter().map(|model| model.atlas(&poses)).collect(), poses }
    }
}

/// Poses all over the space, drawn evenly, and how far they lie apart.
pub(super) struct Anywhere {
    first: Surveyed,
    later: Surveyed,
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
        let [first, later] = [poses(count), poses(count.min(LATER))];
        let turns = high[2] > low[2];
        Self { first: Surveyed::new(models, first), later: Surveyed::new(models, later), bounds, turns }
    }

    fn surveyed(&self, is_first: bool) -> &Surveyed {
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

    /// What the sensors score one step by, in place of what was there.
    pub(super) fn encode(&self, seen: Measured, rows: &mut Vec<Option<Rows>>) {
        rows.clear();
        rows.extend(self.models.iter().map(|model| model.encode(&[seen])));
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
        let Surveyed { poses, atlases } = anywhere.surveyed(self.is_first);
        *self.looked_up.get_or_insert_with(|| {
            found.resize(poses.len(), 0.0);
            sum(models, found, own, |number, model, own| match atlases.get(number) {
                Some(Some(atlas)) => model.look_up(&readings[number], atlas, own),
                _ => model.score(&readings[number], poses, own),
            })
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
        sum(models, log, own, |number, model, own| model.score(&readings[number], particles, own))
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
        let poses = &anywhere.surveyed(self.is_first).poses;
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
