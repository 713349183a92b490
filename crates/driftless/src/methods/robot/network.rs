//! Sensors without geometry: one network makes features of readings, another of poses, and a contrast learns which belong
//! together, as in mazes. κ cos(e, ê) is the log-likelihood but for a constant.

mod beams;
mod input;
mod numbers;
mod pictures;

pub(super) use beams::Beams;
pub(super) use input::World;
pub(super) use numbers::Numbers;
pub(super) use pictures::Pictures;

use super::sensor::{Example, Model};
use super::walks::Measured;
use crate::dropout::Phase;
use crate::error::{Error, Result};
use crate::learn::{CoordinateScale, EpochReport, Normalisation, SensorSettings};
use crate::methods::anchored::sensor::{matcher_of, waves_of};
use crate::methods::anchored::store::{find, named};
use crate::methods::anchored::{LEAST_RATE, learner};
use crate::methods::learner::Learner;
use crate::methods::updates::{Figures, Tally};
use crate::nets::Waves;
use crate::ops::{EncoderWorkspace, FrameEncoder};
use crate::optimise::Schedule;
use crate::parameters::Named;
use burn::tensor::Device;
use driftless_core::{Particles, Reading, Space};
use driftless_kernels::contrast::{Atlas, Workspace};
use driftless_kernels::ranks::{Alone, Ranks};
use driftless_world::random::Random;
use driftless_world::trajectory::Rows;
use input::Input;

/// Readings of an update, and poses of each.
const READINGS: usize = 128;
const POSES: usize = 4;
/// Readings that are encoded at once.
const AT_ONCE: usize = 64;
/// Positions of robots that are remembered, at most, to look for others there.
const MOST_PLACES: usize = 4000;
/// Where robots may be around those, as a standard deviation in mean steps.
const AROUND: f64 = 2.0;
/// The shortest wave is about so many mean steps long, whatever the extent of the world, as in mazes.
const SHORTEST: f64 = 6.0;
/// Octaves of named coordinates, at most.
const MOST_OCTAVES: f64 = 5.0;

/// Waves down to a few mean steps.
fn waves(normalisation: &Normalisation) -> Waves {
    if !normalisation.coordinates.is_empty() {
        return state_waves(normalisation);
    }
    let extent = (0..2).map(|k| normalisation.high[k] - normalisation.low[k]).fold(0.0, f64::max);
    let octaves = (2.0 * extent / (SHORTEST * normalisation.step_size[0])).log2().round().clamp(3.0, 8.0);
    waves_of(normalisation, octaves as usize)
}

/// The same of named coordinates, each with its own extent; angles have as many octaves as the others, the first being a
/// whole turn.
fn state_waves(normalisation: &Normalisation) -> Waves {
    let all = &normalisation.coordinates;
    let extents: Vec<f64> = all.iter().map(|one| (one.high - one.low).max(one.deviation)).collect();
    let short = |(one, extent): (&CoordinateScale, &f64)| 2.0 * extent / (SHORTEST * one.step);
    let most = all.iter().zip(&extents).map(short).fold(0.0, f64::max);
    let octaves = most.log2().round().clamp(2.0, MOST_OCTAVES) as usize;
    let middles: Vec<f64> = all.iter().map(|one| 0.5 * (one.low + one.high)).collect();
    Waves::of_states(normalisation.space(), &middles, &extents, octaves)
}

/// A sensor of any readings.
#[derive(Clone)]
pub(in crate::methods::robot) struct Network<I> {
    input: I,
    name: String,
    learner: Learner<FrameEncoder>,
    /// The network for use, see [`FrameEncoder::rotated`].
    used: FrameEncoder,
    updates: usize,
    seed: u64,
    space: Space,
    /// Where robots were, and how far around they may be.
    places: Vec<[f32; 2]>,
    around: f64,
}

impl<I: Input> Network<I> {
    /// First weights.
    pub(in crate::methods::robot) fn new(input: I, settings: &SensorSettings, world: &World) -> Self {
        let World { normalisation, seed, epochs } = *world;
        // Sensors of different names have different weights.
        let seed = settings.name.bytes().fold(seed, |seed, byte| Random::stream(seed, byte.into()).bits());
        let weights = Random::stream(seed, 0).bits();
        let matcher = matcher_of(input.plan(), waves(normalisation), weights, &Device::flex());
        let schedule = Schedule::Cosine { updates: epochs * settings.updates as u64, least: LEAST_RATE };
        let learner = learner(&matcher, schedule);
        Self {
            input,
            name: settings.name.clone(),
            used: learner.net().rotated(),
            learner,
            updates: settings.updates,
            seed,
            space: normalisation.space(),
            places: Vec::new(),
            around: AROUND * normalisation.step_size[0],
        }
    }

    /// One update by readings drawn at random.
    fn update<S: AsRef<[f32]>>(
        &mut self,
        examples: &[&Example<S>],
        workspace: &mut Workspace,
        random: &mut Random,
        tally: &mut Tally,
    ) {
        let count = READINGS.min(examples.len());
        let (mut numbers, mut poses) = (Vec::new(), Particles::new(self.space));
        for _ in 0..count {
            let example = examples[random.below(examples.len())];
            self.input.write(&example.seen, Some(random), &mut numbers);
            (0..POSES).for_each(|_| poses.push(example.poses[random.below(example.poses.len())].as_ref()));
        }
        let phase = Phase::Training { seed: random.bits() };
        let shared = (&Alone as &dyn Ranks, workspace);
        let found = self.learner.net().contrast(&numbers, &poses, phase, shared);
        let (loss, gradients) = found.expect("one process is never lost");
        let step = self.learner.step_by(loss, &gradients);
        tally.add(&Figures { losses: vec![("contrast", loss)], effective_sample_size: None }, &step);
    }

    fn remember_places<S: AsRef<[f32]>>(&mut self, examples: &[&Example<S>], random: &mut Random) {
        let place = |_| {
            let example = examples[random.below(examples.len())];
            let state = example.poses[random.below(example.poses.len())].as_ref();
            [0, 1].map(|k| state.get(k).copied().unwrap_or_default())
        };
        self.places = (0..MOST_PLACES.min(4 * examples.len())).map(place).collect();
    }

    /// Whether features say nothing: nothing was seen, or nothing learned, as on a given map without labels.
    fn is_silent(&self, features: &[f32]) -> bool {
        self.places.is_empty() || features.iter().all(|&feature| feature == 0.0)
    }

    fn prefix(&self, part: &str) -> String {
        format!("sensor.{}.{part}", self.name)
    }

    /// The numbers of others that begin with a part of this sensor's name, without it.
    fn own(&self, all: &[Named], part: &str) -> Vec<Named> {
        let prefix = self.prefix(part);
        let rest =
            |one: &Named| Some(Named { name: one.name.strip_prefix(&prefix)?.to_owned(), ..one.clone() });
        all.iter().filter_map(rest).collect()
    }

    fn prefixed(&self, all: Vec<Named>, part: &str) -> impl Iterator<Item = Named> {
        let prefix = self.prefix(part);
        all.into_iter().map(move |one| Named { name: format!("{prefix}{}", one.name), ..one })
    }
}

impl<I: Input, S: AsRef<[f32]>> Model<S> for Network<I> {
    fn fresh(&self) -> Box<dyn Model<S>> {
        Box::new(self.clone())
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn fit(&mut self, epoch: u64, examples: &[Example<S>]) -> Option<EpochReport> {
        if self.learner.updates() == 0 {
            self.input.measure(&examples.iter().map(|example| example.seen).collect::<Vec<_>>());
        }
        let mut numbers = Vec::new();
        let mut is_usable = |example: &&Example<S>| {
            numbers.clear();
            !example.poses.is_empty() && self.input.write(&example.seen, None, &mut numbers)
        };
        let examples: Vec<&Example<S>> = examples.iter().filter(&mut is_usable).collect();
        let (mut tally, mut workspace) = (Tally::default(), Workspace::default());
        let mut random = Random::stream(self.seed, epoch);
        if !examples.is_empty() {
            for _ in 0..self.updates {
                self.update(&examples, &mut workspace, &mut random, &mut tally);
            }
            self.remember_places(&examples, &mut random);
        }
        self.used = self.learner.net().rotated();
        Some(tally.report())
    }

    fn encode(&self, steps: &[Measured]) -> Option<Rows> {
        let size = self.input.plan().image.iter().product::<usize>();
        let (mut workspace, mut all, mut features) = (EncoderWorkspace::default(), Vec::new(), Vec::new());
        for steps in steps.chunks(AT_ONCE) {
            let mut numbers = Vec::with_capacity(steps.len() * size);
            for seen in steps {
                // The encoder makes zeros of what is not finite, which say nothing.
                if !self.input.write(seen, None, &mut numbers) {
                    numbers.resize(numbers.len() + size, f32::NAN);
                }
            }
            self.used.encode(&numbers, &mut workspace, &mut features);
            all.append(&mut features);
        }
        Some(Rows::new(self.used.width(), all).expect("features are rows"))
    }

    fn score(&self, reading: &[f32], poses: &Particles, log: &mut [f32]) -> Reading {
        if self.is_silent(reading) {
            return Reading::Missing;
        }
        self.used.scores(reading, poses, &mut EncoderWorkspace::default(), log);
        Reading::Present
    }

    fn atlas(&self, poses: &Particles) -> Option<Atlas> {
        Some(self.used.atlas(poses))
    }

    fn look_up(&self, reading: &[f32], atlas: &Atlas, log: &mut [f32]) -> Reading {
        if self.is_silent(reading) {
            return Reading::Missing;
        }
        let mut cosines = Vec::new();
        self.used.look_up(reading, atlas, &mut cosines);
        log.iter_mut().zip(cosines).for_each(|(log, cosine)| *log = self.used.sharpness() * cosine);
        Reading::Present
    }

    fn place(&self, random: &mut Random) -> Option<[f64; 2]> {
        let &place =
            self.places.get(if self.places.is_empty() { 0 } else { random.below(self.places.len()) })?;
        Some(place.map(|x| f64::from(x) + self.around * random.normal()))
    }

    fn parameters(&self) -> Vec<Named> {
        let mut all: Vec<Named> = self.prefixed(self.learner.values().to_vec(), "").collect();
        let places = self.places.iter().flatten().copied();
        all.push(named(&self.prefix("scale"), self.input.scale()));
        all.push(Named::singles(self.prefix("places"), &[self.places.len(), 2], places));
        all
    }

    fn memory(&self) -> Vec<Named> {
        self.prefixed(self.learner.memory(), "").collect()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        let scale = find(parameters, &self.prefix("scale"))?;
        if !scale.iter().all(|x| x.is_finite()) || !self.input.set_scale(scale) {
            return Err(Error::setting(self.prefix("scale"), "does not fit the sensor's readings"));
        }
        let places = find(parameters, &self.prefix("places"))?;
        self.places = places.chunks_exact(2).map(|place| [place[0] as f32, place[1] as f32]).collect();
        let (weights, memory) = (self.own(parameters, ""), memory.map(|memory| self.own(memory, "")));
        self.learner.restore(&weights, memory.as_deref())?;
        self.used = self.learner.net().rotated();
        Ok(())
    }
}
