//! Features of all that a robot's own sensors say at a step: each sensor has a network that fits it.

use super::beams::{BeamEncoder, BeamPlan};
use super::dense::{Activation, Dense};
use super::image::{ConvPlan, ImageEncoder};
use super::vector::VectorEncoder;
use crate::batch::Readings;
use crate::dropout::Phase;
use crate::model::Encoder;
use crate::parameters::Init;
use burn::module::Module;
use burn::tensor::Tensor;

/// Features of each sensor, and of all of them together.
const FEATURES: usize = 128;

/// Which sensors there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadingPlan {
    /// Columns of each scan: the first, and the one behind the last.
    pub scans: Vec<[usize; 2]>,
    /// Columns of each other sensor.
    pub vectors: Vec<[usize; 2]>,
    /// Channels, height and width of the camera's images, if there is a camera.
    pub image: Option<[usize; 3]>,
    /// Probability with which dropout keeps what convolutions make, in (0, 1].
    pub keep: f64,
}

impl ReadingPlan {
    /// Features of a step, E.
    pub const FEATURES: usize = FEATURES;

    fn sensors(&self) -> usize {
        self.scans.len() + self.vectors.len() + usize::from(self.image.is_some())
    }
}

/// Convolutions over the beams of scans, layers of 128 on other numbers, convolutions on images. Of several sensors the
/// features are joined by one more layer with ReLU. Numbers that are missing are 0, and the networks are told which.
#[derive(Module, Debug)]
pub struct ReadingEncoder {
    /// Of scans.
    pub scans: Vec<BeamEncoder>,
    /// Of other numbers.
    pub vectors: Vec<VectorEncoder>,
    /// Of images; none or one.
    pub cameras: Vec<ImageEncoder>,
    /// Of several sensors; none or one.
    pub join: Vec<Dense>,
    #[module(skip)]
    plan: ReadingPlan,
}

impl ReadingEncoder {
    /// A network with the first weights of Sonnet 1.
    ///
    /// # Panics
    /// If there is no sensor, or one without columns.
    pub fn new(plan: ReadingPlan, init: &mut Init) -> Self {
        let sensors = plan.sensors();
        assert!(sensors > 0, "an encoder needs a sensor");
        let scans = plan.scans.iter().map(|[first, end]| BeamPlan::of(end - first, plan.keep));
        let scans = scans.map(|scan| BeamEncoder::new(scan, init)).collect();
        let widths = [FEATURES, FEATURES];
        let vectors = plan.vectors.iter().map(|[first, end]| 2 * (end - first));
        let vectors =
            vectors.map(|inputs| VectorEncoder::new(inputs, &widths, Activation::Relu, init)).collect();
        let camera = plan.image.map(|image| ConvPlan { keep: plan.keep, ..ConvPlan::released(image) });
        let cameras = camera.into_iter().map(|camera| ImageEncoder::new(camera, init)).collect();
        let join = (sensors > 1).then(|| Dense::new(sensors * FEATURES, FEATURES, init));
        Self { scans, vectors, cameras, join: join.into_iter().collect(), plan }
    }
}

impl Encoder for ReadingEncoder {
    type Input = Readings;

    fn encode(&self, readings: Readings, phase: Phase) -> Tensor<3> {
        let cut = |[first, end]: &[usize; 2]| {
            let [values, known] = [&readings.values, &readings.known];
            [values.clone().slice_dim(2, *first..*end), known.clone().slice_dim(2, *first..*end)]
        };
        let mut features = Vec::with_capacity(self.plan.sensors());
        for (scan, columns) in self.scans.iter().zip(&self.plan.scans) {
            let [values, known] = cut(columns);
            features.push(scan.encode(values, known, phase));
        }
        for (layers, columns) in self.vectors.iter().zip(&self.plan.vectors) {
            features.push(layers.encode(Tensor::cat(cut(columns).to_vec(), 2), phase));
        }
        for (camera, (images, there)) in self.cameras.iter().zip(&readings.images) {
            let seen = camera.encode(images.clone(), phase);
            let dims = seen.dims();
            features.push(seen * there.clone().expand(dims)); // nothing is seen without an image
        }
        match self.join.first() {
            Some(join) => Activation::Relu.apply(join.forward(Tensor::cat(features, 2))),
            None => features.remove(0),
        }
    }
}

/// Features and, behind them, the first pose that a robot was told, as DPF's authors give it to their recurrent network:
/// normalised, with a 1 beside it, at the first step, and zeros everywhere else. [B, T, E + 4]
#[derive(Module, Debug)]
pub struct WithStart {
    /// Features of readings.
    pub seen: ReadingEncoder,
}

impl WithStart {
    /// Features of a step.
    pub const FEATURES: usize = FEATURES + 4;
}

impl Encoder for WithStart {
    type Input = Readings;

    fn encode(&self, readings: Readings, phase: Phase) -> Tensor<3> {
        let told = readings.told.clone();
        Tensor::cat(vec![self.seen.encode(readings, phase), told], 2)
    }
}
