//! Sensors of a robot: what a learned map or network says of a reading at a pose, and where a robot could be by it.

use super::beacons::Beacons;
use super::network::{Beams, Network, Numbers, Pictures, World};
use super::scan::Scan;
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
use driftless_world::random::Random;
use driftless_world::trajectory::Rows;
use std::f64::consts::PI;

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

    /// Log-likelihoods of all sensors multiply; what is missing says nothing.
    fn sum(
        &self,
        t: usize,
        log: &mut [f32],
        mut score: impl FnMut(usize, &dyn Model, &[f32], &mut [f32]) -> Reading,
    ) -> Reading {
        let (mut found, mut own) = (Reading::Missing, vec![0.0; log.len()]);
        log.fill(0.0);
        for (number, (model, rows)) in self.models.iter().zip(&self.rows).enumerate() {
            let reading = rows.as_ref().unwrap_or(&self.walk.readings).row(t);
            if score(number, &**model, reading, &mut own) == Reading::Present {
                found = Reading::Present;
                log.iter_mut().zip(&own).for_each(|(log, own)| *log += own);
            }
        }
        found
    }

    fn scores(&self, t: usize, poses: &Particles, log: &mut [f32]) -> Reading {
        self.sum(t, log, |_, model, reading, own| model.score(reading, poses, own))
    }

    fn look_up(&self, t: usize, surveyed: &Surveyed, log: &mut [f32]) -> Reading {
        self.sum(t, log, |number, model, reading, own| match surveyed.atlases.get(number) {
            Some(Some(atlas)) => model.look_up(reading, atlas, own),
            _ => model.score(reading, &surveyed.poses, own),
        })
    }
}

/// What is seen along an episode, for the E-step.
pub(super) struct Seen<'a> {
    pub(super) encoded: Encoded<'a>,
    pub(super) tempering: f32,
}

impl Evidence for Seen<'_> {
    fn scores(&mut self, t: usize, poses: &Particles, log: &mut [f32]) -> Reading {
        let reading = self.encoded.scores(t, poses, log);
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
        let bounds = [[low[0] - margin, low[1] - margin], [high[0] + margin, high[1] + margin]];
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

    /// Standard deviations that fill the space between neighbours.
    fn jitter(&self, count: usize) -> [f32; 3] {
        let [low, high] = self.bounds;
        let area = (high[0] - low[0]) * (high[1] - low[1]);
        let headings = if self.turns { 36.0_f64 } else { 1.0 };
        let apart = 0.5 * (area * headings / count.max(1) as f64).sqrt();
        [apart as f32, apart as f32, if self.turns { (PI / headings) as f32 } else { 0.0 }]
    }
}

/// All sensors with the readings of an episode, of which one is bound.
pub(super) struct Bound<'a> {
    encoded: &'a Encoded<'a>,
    anywhere: &'a Anywhere,
    pub(super) t: usize,
    looked_up: Option<usize>,
    scores: Vec<f32>,
    weights: Vec<f32>,
    chosen: Vec<u32>,
}

impl<'a> Bound<'a> {
    /// The first reading.
    pub(super) fn new(encoded: &'a Encoded<'a>, anywhere: &'a Anywhere) -> Self {
        let (scores, weights, chosen) = Default::default();
        Self { encoded, anywhere, t: 0, looked_up: None, scores, weights, chosen }
    }

    /// The first reading chooses among many poses, others among fewer.
    fn surveyed(&self) -> &'a Surveyed {
        if self.t == 0 { &self.anywhere.first } else { &self.anywhere.later }
    }

    fn look_up(&mut self) {
        if self.looked_up != Some(self.t) {
            let surveyed = self.surveyed();
            self.scores.resize(surveyed.poses.len(), 0.0);
            self.encoded.look_up(self.t, surveyed, &mut self.scores);
            self.looked_up = Some(self.t);
        }
    }
}

impl Sensor for Bound<'_> {
    /// Zero where no robot was ever near.
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        self.encoded.scores(self.t, particles, log)
    }

    fn proposal(&mut self) -> Option<&mut dyn Proposal> {
        Some(self)
    }
}

impl Proposal for Bound<'_> {
    fn log_evidence(&mut self, tempering: f32) -> f64 {
        self.look_up();
        log_sum_exp(Cpu::best(), &self.scores, tempering) - (self.scores.len().max(1) as f64).ln()
    }

    fn propose(&mut self, tempering: f32, count: usize, draws: &mut dyn Draws, particles: &mut Particles) {
        self.look_up();
        let poses = &self.surveyed().poses;
        exponentials(Cpu::best(), &self.scores, tempering, &mut self.weights);
        Scheme::Systematic.ancestors(&self.weights, count, || draws.uniform(), &mut self.chosen);
        let mut noise = vec![0.0; count];
        for (k, jitter) in self.anywhere.jitter(poses.len()).into_iter().enumerate() {
            draws.normals(&mut noise);
            let column = poses.column(k);
            let shaken = self.chosen.iter().zip(&noise).map(|(&i, z)| column[i as usize] + jitter * z);
            particles.columns_mut()[k].extend(shaken);
        }
    }
}
