//! The network that matches images and poses as a sensor, with a map of poses all over the world.

use crate::batch::PixelScale;
use crate::error::{Error, Result};
use crate::learn::Normalisation;
use crate::model::SharpMatch;
use crate::nets::{ConvPlan, ImageEncoder, PlaceEncoder, Projected, Waves};
use crate::ops::{EncoderWorkspace, FrameEncoder};
use crate::parameters::Init;
use burn::tensor::{DType, Device};
use driftless_core::exponential::{exponentials, log_sum_exp};
use driftless_core::motion::density::log_evenly;
use driftless_core::resample::Scheme;
use driftless_core::sensor::Proposal;
use driftless_core::{Cpu, Draws, Particles, Reading, Sensor, Space};
use driftless_kernels::contrast::Atlas;
use driftless_world::labels::Lesson;
use driftless_world::random::Random;
use driftless_world::trajectory::Observations;
use std::ops::Deref;

/// Images against poses.
pub type Matcher = SharpMatch<Projected<ImageEncoder>, PlaceEncoder>;

/// Poses in the map, for each square of a mean step's side, and at least. Larger worlds need more to be found in.
const MAP_DENSITY: f64 = 45.0;
const LEAST_MAP: usize = 10_000;
const MOST_MAP: usize = 200_000;
/// Waves down to a sixteenth of twice the extent.
const OCTAVES: usize = 5;
const WIDTHS: [usize; 3] = [128, 128, 128];
/// The share of features that dropout keeps; the authors' 0.3 learns slower and not better.
const KEEP: f64 = 0.5;

/// The first network.
pub fn matcher(normalisation: &Normalisation, seed: u64, device: &Device) -> Matcher {
    let plan = ConvPlan { keep: KEEP, ..ConvPlan::released(normalisation.pixels.shape()) };
    matcher_of(plan, waves_of(normalisation, OCTAVES), seed, device)
}

/// So many waves of poses.
pub fn waves_of(normalisation: &Normalisation, octaves: usize) -> Waves {
    let middle = |k: usize| 0.5 * (normalisation.low[k] + normalisation.high[k]);
    let extent = (0..2).map(|k| normalisation.high[k] - normalisation.low[k]).fold(0.0, f64::max);
    Waves::new([middle(0), middle(1)], if extent > 0.0 { extent } else { 1.0 }, octaves)
}

/// The same of other readings, and with other waves.
pub fn matcher_of(plan: ConvPlan, waves: Waves, seed: u64, device: &Device) -> Matcher {
    let mut init = Init::new(seed, device, DType::F32);
    let inner = plan.features;
    let frame_encoder = Projected::new(ImageEncoder::new(plan, &mut init), inner, WIDTHS[2], &mut init);
    let places = PlaceEncoder::new(waves, &WIDTHS, &mut init);
    SharpMatch::new(frame_encoder, places, &init)
}

/// Normalised images of a lesson, one after the other.
pub fn images(lesson: &Lesson, scale: &PixelScale) -> Result<Vec<f32>> {
    let wrong = |problem: String| Error::File(driftless_world::Error::new(problem));
    let Observations::Images(images) = lesson.observations() else {
        return Err(wrong("a trajectory has no images".to_owned()));
    };
    let mut values = Vec::with_capacity(images.len() * images.stride());
    scale.normalise(images, &mut values).map_err(|problem| wrong(format!("a trajectory {problem}")))?;
    Ok(values)
}

/// A trained network put to use, with the features of a map of poses.
pub struct ImageSensor {
    encoder: FrameEncoder,
    /// Poses all over the box, evenly.
    map: Particles,
    atlas: Atlas,
    /// Least and greatest position that can be.
    bounds: [[f32; 2]; 2],
    /// How far the map's poses are apart, roughly, as standard deviations: half the side of the box each has to itself.
    jitter: [f32; 3],
}

impl ImageSensor {
    /// The network, and a map of the box from `low` to `high`.
    pub fn new(encoder: &FrameEncoder, normalisation: &Normalisation, bounds: [[f64; 2]; 2]) -> Self {
        let (mut random, [low, high], encoder) = (Random::new(0), bounds, encoder.rotated());
        let steps = |k: usize| (high[k] - low[k]) / normalisation.step_size[k];
        let size = ((MAP_DENSITY * steps(0) * steps(1)) as usize).clamp(LEAST_MAP, MOST_MAP);
        let turn = std::f64::consts::PI;
        let ranges = [[low[0], high[0]], [low[1], high[1]], [-turn, turn]];
        let pose = |_| ranges.map(|[low, high]| random.range(low, high) as f32);
        let map = Particles::from_states(Space::SE2, (0..size).map(pose));
        let side = 0.5 / (size as f64).cbrt();
        Self {
            atlas: encoder.atlas(&map),
            encoder,
            map,
            bounds: bounds.map(|corner| corner.map(|x| x as f32)),
            jitter: ranges.map(|[low, high]| (side * (high - low)) as f32),
        }
    }

    /// How many poses the map has.
    pub fn map_size(&self) -> usize {
        self.map.len()
    }

    /// The logarithm of how dense poses are that may be anywhere.
    pub fn log_anywhere(&self) -> f64 {
        log_evenly(self.bounds.map(|corner| corner.map(f64::from)))
    }

    /// What is seen in a trajectory.
    pub fn encode(&self, images: &[f32]) -> EncodedFrames<&Self> {
        let mut frames = EncodedFrames::new(self);
        frames.encode(images);
        frames
    }
}

/// Images that are compared with the map at once: one alone would read all of the map for a few products.
const LOOKED_UP: usize = 12;

/// A trajectory's images, encoded; a sensor whose reading is that of one step.
pub struct EncodedFrames<S> {
    sensor: S,
    features: Vec<f32>,
    t: usize,
    workspace: EncoderWorkspace,
    /// The first of the steps whose scores of the map are known, before the sharpness.
    looked_up: Option<usize>,
    map_scores: Vec<f32>,
    map_weights: Vec<f32>,
    chosen: Vec<u32>,
    noise: [Vec<f32>; 3],
}

impl<S: Deref<Target = ImageSensor>> EncodedFrames<S> {
    /// Nothing yet.
    pub fn new(sensor: S) -> Self {
        Self {
            sensor,
            features: Vec::new(),
            t: 0,
            workspace: EncoderWorkspace::default(),
            looked_up: None,
            map_scores: Vec::new(),
            map_weights: Vec::new(),
            chosen: Vec::new(),
            noise: Default::default(),
        }
    }

    /// Encodes other images instead, in the same memory. One that is not finite says nothing.
    pub fn encode(&mut self, images: &[f32]) {
        self.sensor.encoder.encode(images, &mut self.workspace, &mut self.features);
        (self.looked_up, self.t) = (None, 0);
    }

    /// Memory to score so many particles.
    pub fn reserve(&mut self, count: usize) {
        self.sensor.encoder.reserve(count, &mut self.workspace);
    }

    /// The reading of step t.
    pub fn at(&mut self, t: usize) -> &mut Self {
        self.t = t;
        self
    }

    /// Whether this step has an image: zeros are the encoder's word for one that is not finite.
    pub fn sees(&self) -> bool {
        let width = self.sensor.encoder.width();
        self.features[self.t * width..][..width].iter().any(|&feature| feature != 0.0)
    }

    /// log l before tempering of any poses, wherever they are.
    pub fn scores(&mut self, poses: &Particles, scores: &mut [f32]) -> Reading {
        if !self.sees() {
            return Reading::Missing;
        }
        let width = self.sensor.encoder.width();
        let features = &self.features[self.t * width..][..width];
        self.sensor.encoder.scores(features, poses, &mut self.workspace, scores);
        Reading::Present
    }

    /// Cosines of this step's image and the map, which are looked up for some steps at once.
    fn look_up(&mut self) -> std::ops::Range<usize> {
        let first = self.t / LOOKED_UP * LOOKED_UP;
        let width = self.sensor.encoder.width();
        let end = ((first + LOOKED_UP) * width).min(self.features.len());
        let features = &self.features[first * width..end];
        if self.looked_up != Some(first) {
            self.sensor.encoder.look_up(features, &self.sensor.atlas, &mut self.map_scores);
            self.looked_up = Some(first);
        }
        let wide = self.map_scores.len() / (features.len() / width);
        let from = (self.t - first) * wide;
        from..from + self.sensor.map.len()
    }
}

impl<S: Deref<Target = ImageSensor>> Sensor for EncodedFrames<S> {
    /// Zero outside of the world.
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        if self.scores(particles, log) == Reading::Missing {
            return Reading::Missing;
        }
        let [low, high] = self.sensor.bounds;
        for k in 0..2 {
            for (log, x) in log.iter_mut().zip(particles.column(k)) {
                if !(low[k]..=high[k]).contains(x) {
                    *log = f32::NEG_INFINITY;
                }
            }
        }
        Reading::Present
    }

    fn proposal(&mut self) -> Option<&mut dyn Proposal> {
        Some(self)
    }
}

impl<S: Deref<Target = ImageSensor>> Proposal for EncodedFrames<S> {
    fn log_evidence(&mut self, tempering: f32) -> f64 {
        let factor = tempering * self.sensor.encoder.sharpness();
        let own = self.look_up();
        log_sum_exp(Cpu::best(), &self.map_scores[own.clone()], factor) - (own.len() as f64).ln()
    }

    fn propose(&mut self, tempering: f32, count: usize, draws: &mut dyn Draws, particles: &mut Particles) {
        let (factor, own) = (tempering * self.sensor.encoder.sharpness(), self.look_up());
        let Self { sensor, map_scores, map_weights, chosen, noise, .. } = self;
        exponentials(Cpu::best(), &map_scores[own], factor, map_weights);
        Scheme::Systematic.ancestors(map_weights, count, || draws.uniform(), chosen);
        for (k, column) in noise.iter_mut().enumerate() {
            column.resize(count, 0.0);
            draws.normals(column);
            let (map, jitter) = (sensor.map.column(k), sensor.jitter[k]);
            let shaken = chosen.iter().zip(&*column).map(|(&i, z)| map[i as usize] + jitter * z);
            particles.columns_mut()[k].extend(shaken);
        }
    }
}
