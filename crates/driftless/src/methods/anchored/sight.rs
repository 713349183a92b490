//! The network that matches images and poses, and what it sees in one trajectory.

use super::tracker::View;
use crate::batch::{Batch, PixelScale};
use crate::dropout::Phase;
use crate::error::Result;
use crate::learn::Scales;
use crate::model::{Measurement, SharpMatch};
use crate::nets::{ConvPlan, ImageEncoder, PlaceEncoder, Projected, Waves};
use crate::parameters::{Init, values, with_values};
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless_world::labels::Lesson;
use driftless_world::random::Random;

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

/// Normalised images of a lesson, [1, T, C, H, W].
pub fn images(lesson: &Lesson, scale: &PixelScale) -> Result<Tensor<5>> {
    let batch = Batch::of_images(std::slice::from_ref(lesson), scale, &Device::flex(), DType::F32)?;
    Ok(batch.observations)
}

/// Poses as [1, N, 3], on a device.
pub fn tensor(poses: &[[f64; 3]], device: &Device) -> Tensor<3> {
    let flat: Vec<f32> = poses.iter().flatten().map(|&x| x as f32).collect();
    Tensor::from_data(TensorData::new(flat, [1, poses.len(), 3]), (device, DType::F32))
}

/// How many poses a map of the box has.
fn map_size(scales: &Scales, [low, high]: [[f64; 2]; 2]) -> usize {
    let steps = |k: usize| (high[k] - low[k]) / scales.step_size[k];
    ((MAP_DENSITY * steps(0) * steps(1)) as usize).clamp(LEAST_MAP, MOST_MAP)
}

/// A network put to use: without gradients, and with the features of a map of poses.
pub struct Sight {
    matcher: Matcher,
    sharpness: f64,
    /// Poses all over the box.
    pub map: Vec<[f64; 3]>,
    places: Tensor<3>,
}

impl Sight {
    /// A copy of the network, and a map of the box from `low` to `high`.
    pub fn new(trained: &Matcher, scales: &Scales, bounds: [[f64; 2]; 2]) -> Self {
        let device = Device::flex();
        let matcher = with_values(matcher(scales, 0, &device), &values(trained));
        let mut random = Random::new(0);
        let [low, high] = bounds;
        let turn = std::f64::consts::PI;
        let mut pose = || {
            let place = [random.range(low[0], high[0]), random.range(low[1], high[1])];
            [place[0], place[1], random.range(-turn, turn)]
        };
        let map: Vec<[f64; 3]> = (0..map_size(scales, bounds)).map(|_| pose()).collect();
        let places = matcher.places(tensor(&map, &device)).swap_dims(1, 2); // [1, E, G]
        let sharpness = matcher.sharpness().try_to_vec_as::<f64>().expect("a number")[0];
        Self { matcher, sharpness, map, places }
    }

    /// How far the map's poses are apart: half the side of the box each has to itself.
    pub fn jitter(&self, bounds: [[f64; 2]; 2]) -> [f64; 3] {
        let side = 0.5 / (self.map.len() as f64).cbrt();
        let [low, high] = bounds;
        [side * (high[0] - low[0]), side * (high[1] - low[1]), side * std::f64::consts::TAU]
    }

    /// What is seen in a trajectory.
    pub fn of(&self, images: &Tensor<5>) -> Seen<'_> {
        let features = self.matcher.encode(images, Phase::Evaluation); // [1, T, E]
        // A lost image says nothing: zeros have cosine 0 with everything.
        let lost = features.clone().is_nan();
        Seen { sight: self, features: features.mask_fill(lost, 0.0) }
    }
}

/// A trajectory's images, encoded.
pub struct Seen<'a> {
    sight: &'a Sight,
    features: Tensor<3>,
}

impl Seen<'_> {
    fn against(&self, t: usize, places: Tensor<3>) -> Vec<f64> {
        let seen = self.features.clone().slice_dim(1, t..t + 1); // [1, 1, E]
        let cosines = seen.matmul(places); // [1, 1, N]
        let cosines = cosines.try_to_vec_as::<f64>().expect("cosines are numbers");
        cosines.into_iter().map(|cosine| cosine * self.sight.sharpness).collect()
    }
}

impl View for Seen<'_> {
    fn scores(&self, t: usize, poses: &[[f64; 3]]) -> Vec<f64> {
        let places = self.sight.matcher.places(tensor(poses, &Device::flex()));
        self.against(t, places.swap_dims(1, 2))
    }

    fn of_map(&self, t: usize) -> Vec<f64> {
        self.against(t, self.sight.places.clone())
    }
}
