//! Features of images: the convolutional network of the maze experiments.

use super::conv::{Conv, halved};
use super::dense::{Activation, Dense};
use crate::dropout::Phase;
use crate::model::Encoder;
use crate::parameters::Init;
use burn::module::Module;
use burn::tensor::Tensor;

/// What an image encoder, and the decoder that mirrors it, are built of.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvPlan {
    /// Channels, height and width of an image.
    pub image: [usize; 3],
    /// Channels after each convolution.
    pub channels: Vec<usize>,
    /// Probability with which dropout keeps a feature, in (0, 1].
    pub keep: f64,
    /// Features in the end, E.
    pub features: usize,
}

impl ConvPlan {
    /// As released with both papers: 16, 32 and 64 channels, 0.3 kept, 128 features.
    pub fn released(image: [usize; 3]) -> Self {
        Self { image, channels: vec![16, 32, 64], keep: 0.3, features: 128 }
    }

    /// Height and width of the image, and of what each convolution makes of it.
    pub fn sizes(&self) -> Vec<[usize; 2]> {
        let [_, height, width] = self.image;
        let next = |size: &[usize; 2]| Some(size.map(halved));
        std::iter::successors(Some([height, width]), next).take(self.channels.len() + 1).collect()
    }

    /// Channels of the image, and of what each convolution makes of it.
    pub fn depths(&self) -> Vec<usize> {
        std::iter::once(self.image[0]).chain(self.channels.iter().copied()).collect()
    }

    /// Channels, height and width of what the last convolution makes.
    pub(crate) fn innermost(&self) -> [usize; 3] {
        let [height, width] = self.sizes()[self.channels.len()];
        [self.depths()[self.channels.len()], height, width]
    }

    pub(crate) fn check(&self) {
        let sized = self.image.iter().chain(&self.channels).all(|&size| size > 0) && self.features > 0;
        assert!(sized, "an image network needs sizes above 0: {self:?}");
        assert!(self.keep > 0.0 && self.keep <= 1.0, "dropout keeps a share in (0, 1]: {self:?}");
    }
}

/// The observation encoder h: convolutions with ReLU, dropout, a layer with ReLU. Features are
/// non-negative, so cosines between them are, too.
///
/// ```
/// use burn::tensor::{DType, Device, Tensor};
/// use driftless::Phase;
/// use driftless::model::Encoder;
/// use driftless::nets::{ConvPlan, ImageEncoder};
/// use driftless::parameters::{Init, values};
///
/// let device = Device::flex();
/// let encoder = ImageEncoder::new(ConvPlan::released([3, 24, 24]), &mut Init::new(1, &device, DType::F32));
/// assert_eq!(values(&encoder).iter().map(|p| p.values.len()).sum::<usize>(), 97_440);
/// let images = Tensor::<5>::ones([2, 7, 3, 24, 24], &device);
/// assert_eq!(encoder.encode(images, Phase::Evaluation).dims(), [2, 7, 128]);
/// ```
#[derive(Module, Debug)]
pub struct ImageEncoder {
    /// From the image on.
    pub convs: Vec<Conv>,
    /// From all pixels of the last convolution, channel after channel, to the features.
    pub dense: Dense,
    #[module(skip)]
    plan: ConvPlan,
}

impl ImageEncoder {
    /// A network with the first weights of Sonnet 1.
    ///
    /// # Panics
    /// If a size of the plan is 0, or `keep` is not in (0, 1].
    pub fn new(plan: ConvPlan, init: &mut Init) -> Self {
        plan.check();
        let convs = plan.depths().windows(2).map(|pair| Conv::new(pair[0], pair[1], init)).collect();
        let dense = Dense::new(plan.innermost().iter().product(), plan.features, init);
        Self { convs, dense, plan }
    }

    /// What it is built of.
    pub fn plan(&self) -> &ConvPlan {
        &self.plan
    }
}

impl Encoder for ImageEncoder {
    /// Normalised images, [B, T, C, H, W].
    type Input = Tensor<5>;

    /// # Panics
    /// If the images are not of the size planned for.
    fn encode(&self, images: Tensor<5>, phase: Phase) -> Tensor<3> {
        let [batch, steps, channels, height, width] = images.dims();
        assert_eq!([channels, height, width], self.plan.image, "channels, height and width of images");
        let images = images.reshape([batch * steps, channels, height, width]);
        let fold = |image, conv: &Conv| Activation::Relu.apply(conv.forward(image));
        let inner = self.convs.iter().fold(images, fold); // [B T, c, h, w]
        let flat = inner.reshape([batch, steps, self.plan.innermost().iter().product()]);
        let kept = phase.dropout(flat, self.plan.keep);
        Activation::Relu.apply(self.dense.forward(kept)) // [B, T, E]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, numbers};
    use burn::tensor::{DType, Device};

    const PLAN: fn() -> ConvPlan =
        || ConvPlan { image: [1, 5, 4], channels: vec![6, 8], keep: 0.5, features: 10 };

    fn features(images: &Tensor<5>, phase: Phase) -> Vec<f64> {
        let mut init = Init::new(2, &Device::flex(), DType::F32);
        numbers(&ImageEncoder::new(PLAN(), &mut init).encode(images.clone(), phase))
    }

    #[test]
    fn sizes_halve_rounding_up() {
        assert_eq!(ConvPlan::released([3, 24, 24]).sizes(), [[24, 24], [12, 12], [6, 6], [3, 3]]);
        assert_eq!(ConvPlan::released([3, 24, 24]).innermost(), [64, 3, 3]);
        assert_eq!(PLAN().sizes(), [[5, 4], [3, 2], [2, 1]]);
        assert_eq!(PLAN().depths(), [1, 6, 8]);
    }

    #[test]
    fn dropout_in_training_only() {
        let images = Tensor::ones([2, 3, 1, 5, 4], &Device::flex());
        let used = features(&images, Phase::Evaluation);
        let trained = |seed| features(&images, Phase::Training { seed });
        assert_eq!(used, features(&images, Phase::Evaluation));
        assert_ne!(used, trained(1));
        assert_eq!(trained(1), trained(1));
        assert_ne!(trained(1), trained(2));
        // Equal images, but each step of each sequence has a mask of its own.
        assert_close(&used[..10], &used[50..], 0.0);
        assert_ne!(trained(1)[..10], trained(1)[10..20]);
        assert_ne!(trained(1)[..10], trained(1)[30..40]);
    }

    /// Folding sequences and steps must not mix them: one image alone gives the same features.
    #[test]
    fn an_image_does_not_depend_on_its_neighbours() {
        let ramp = Tensor::<1, burn::tensor::Int>::arange(0..120, &Device::flex()).float();
        let images = (ramp / 17.0).sin().reshape([2, 3, 1, 5, 4]);
        let alone = images.clone().slice([0..1, 1..2]);
        // The same sums of 32 bits, though perhaps in another order.
        assert_close(
            &features(&alone, Phase::Evaluation),
            &features(&images, Phase::Evaluation)[10..20],
            1e-5,
        );
    }
}
