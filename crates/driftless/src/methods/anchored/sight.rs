//! The network that matches images and poses, and what it sees in one trajectory.

use super::tracker::View;
use crate::batch::{Batch, PixelScale};
use crate::error::Result;
use crate::learn::Scales;
use crate::model::SharpMatch;
use crate::nets::{ConvPlan, ImageEncoder, PlaceEncoder, Projected, Waves};
use crate::ops::{Eyes, Room};
use crate::parameters::Init;
use burn::tensor::{DType, Device};
use driftless_kernels::contrast::Atlas;
use driftless_kernels::{Cpu, log_mean_exp};
use driftless_world::labels::Lesson;
use driftless_world::random::Random;
use std::cell::RefCell;
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
pub fn matcher(scales: &Scales, seed: u64, device: &Device) -> Matcher {
    let mut init = Init::new(seed, device, DType::F32);
    let plan = ConvPlan { keep: KEEP, ..ConvPlan::released(scales.pixels.shape()) };
    let inner = plan.features;
    let eyes = Projected::new(ImageEncoder::new(plan, &mut init), inner, WIDTHS[2], &mut init);
    let middle = |k: usize| 0.5 * (scales.low[k] + scales.high[k]);
    let extent = (0..2).map(|k| scales.high[k] - scales.low[k]).fold(0.0, f64::max);
    let waves = Waves::new([middle(0), middle(1)], if extent > 0.0 { extent } else { 1.0 }, OCTAVES);
    let places = PlaceEncoder::new(waves, &WIDTHS, &mut init);
    SharpMatch::new(eyes, places, &init)
}

/// Normalised images of a lesson, one after the other.
pub fn images(lesson: &Lesson, scale: &PixelScale) -> Result<Vec<f32>> {
    let batch = Batch::of_images(std::slice::from_ref(lesson), scale, &Device::flex(), DType::F32)?;
    Ok(batch.observations.try_into_vec_as::<f32>().expect("pixels are numbers"))
}

/// How many poses a map of the box has.
fn map_size(scales: &Scales, [low, high]: [[f64; 2]; 2]) -> usize {
    let steps = |k: usize| (high[k] - low[k]) / scales.step_size[k];
    ((MAP_DENSITY * steps(0) * steps(1)) as usize).clamp(LEAST_MAP, MOST_MAP)
}

/// A network put to use: without gradients, and with the features of a map of poses.
pub struct Sight {
    eyes: Eyes,
    /// Poses all over the box.
    pub map: Vec<[f64; 3]>,
    atlas: Atlas,
}

impl Sight {
    /// A copy of the network, and a map of the box from `low` to `high`.
    pub fn new(trained: &Matcher, scales: &Scales, bounds: [[f64; 2]; 2]) -> Self {
        let mut random = Random::new(0);
        let [low, high] = bounds;
        let turn = std::f64::consts::PI;
        let mut pose = || {
            let place = [random.range(low[0], high[0]), random.range(low[1], high[1])];
            [place[0], place[1], random.range(-turn, turn)]
        };
        let map: Vec<[f64; 3]> = (0..map_size(scales, bounds)).map(|_| pose()).collect();
        let eyes = Eyes::of(trained);
        Self { atlas: eyes.atlas(&map), eyes, map }
    }

    /// How far the map's poses are apart: half the side of the box each has to itself.
    pub fn jitter(&self, bounds: [[f64; 2]; 2]) -> [f64; 3] {
        let side = 0.5 / (self.map.len() as f64).cbrt();
        let [low, high] = bounds;
        [side * (high[0] - low[0]), side * (high[1] - low[1]), side * std::f64::consts::TAU]
    }

    /// What is seen in a trajectory. A lost image says nothing.
    pub fn of(&self, images: &[f32]) -> Seen<&Self> {
        let mut seen = Seen::nothing(self);
        seen.look(images);
        seen
    }
}

/// Images that are compared with the map at once: one alone would read all of the map for a few products.
const LOOKED_UP: usize = 12;

/// A trajectory's images, encoded.
pub struct Seen<S> {
    sight: S,
    features: Vec<f32>,
    room: RefCell<Room>,
    /// Some steps' scores of the map, and the first of these steps.
    looked_up: RefCell<(Option<usize>, Vec<f32>)>,
}

impl<S: Deref<Target = Sight>> Seen<S> {
    /// Nothing yet.
    pub fn nothing(sight: S) -> Self {
        Self { sight, features: Vec::new(), room: RefCell::default(), looked_up: RefCell::default() }
    }

    /// The poses it is compared with.
    pub fn map(&self) -> &[[f64; 3]] {
        &self.sight.map
    }

    /// Sees other images instead, in the same memory.
    pub fn look(&mut self, images: &[f32]) {
        self.sight.eyes.see(images, &mut self.room.borrow_mut().memory, &mut self.features);
        self.looked_up.borrow_mut().0 = None;
    }

    /// Features of some steps, as many as there are.
    fn of_steps(&self, first: usize, count: usize) -> &[f32] {
        let width = self.sight.eyes.width();
        &self.features[first * width..((first + count) * width).min(self.features.len())]
    }

    /// Something of the scores of the map at step t.
    fn with_map<T>(&self, t: usize, of: impl FnOnce(&[f32]) -> T) -> T {
        let first = t / LOOKED_UP * LOOKED_UP;
        let (known, scores) = &mut *self.looked_up.borrow_mut();
        if *known != Some(first) {
            self.sight.eyes.look_up(self.of_steps(first, LOOKED_UP), &self.sight.atlas, scores);
            *known = Some(first);
        }
        let wide = scores.len() / (self.of_steps(first, LOOKED_UP).len() / self.sight.eyes.width());
        of(&scores[(t - first) * wide..][..self.sight.map.len()])
    }
}

impl<S: Deref<Target = Sight>> View for Seen<S> {
    fn scores(&self, t: usize, poses: &[[f64; 3]], scores: &mut Vec<f64>) {
        self.sight.eyes.scores(self.of_steps(t, 1), poses, &mut self.room.borrow_mut(), scores);
    }

    fn of_map(&self, t: usize, scores: &mut Vec<f64>) {
        scores.clear();
        self.with_map(t, |found| scores.extend(found.iter().map(|&score| f64::from(score))));
    }

    fn everywhere(&self, t: usize, temper: f64) -> f64 {
        self.with_map(t, |scores| log_mean_exp(Cpu::best(), scores, temper as f32))
    }
}
