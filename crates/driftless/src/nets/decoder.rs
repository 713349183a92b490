//! Images of features: the image encoder backwards.

use super::conv::Deconv;
use super::dense::{Activation, Dense};
use super::image::ConvPlan;
use crate::objective::Decoder;
use crate::parameters::Init;
use burn::module::Module;
use burn::tensor::Tensor;

/// The decoder of the autoencoder, mirroring [`ImageEncoder`](super::ImageEncoder): a layer with
/// ReLU, then transposed convolutions through the same sizes, with ReLU between them.
#[derive(Module, Debug)]
pub struct ImageDecoder {
    /// From the features to all pixels of the smallest image, channel after channel.
    pub dense: Dense,
    /// From the smallest image on.
    pub deconvs: Vec<Deconv>,
    #[module(skip)]
    plan: ConvPlan,
    #[module(skip)]
    last: Activation,
}

impl ImageDecoder {
    /// A network with the first weights of Sonnet 1. The released code ends with a ReLU, which
    /// cannot make the negative half of a normalised image; a linear end can.
    ///
    /// # Panics
    /// If a size of the plan is 0. Nothing is dropped.
    pub fn new(plan: ConvPlan, last: Activation, init: &mut Init) -> Self {
        plan.check();
        let dense = Dense::new(plan.features, plan.innermost().iter().product(), init);
        let deconvs =
            plan.depths().windows(2).rev().map(|pair| Deconv::new(pair[1], pair[0], init)).collect();
        Self { dense, deconvs, plan, last }
    }
}

impl ImageDecoder {
    /// What it is built of.
    pub fn plan(&self) -> &ConvPlan {
        &self.plan
    }

    /// What is done to its images.
    pub fn last(&self) -> Activation {
        self.last
    }
}

impl Decoder for ImageDecoder {
    type Output = Tensor<5>;

    fn decode(&self, features: Tensor<3>) -> Tensor<5> {
        let [batch, steps, _] = features.dims();
        let [channels, height, width] = self.plan.innermost();
        let flat = Activation::Relu.apply(self.dense.forward(features)); // [B, T, c h w]
        let mut image = flat.reshape([batch * steps, channels, height, width]);
        for (k, size) in self.plan.sizes().into_iter().rev().skip(1).enumerate() {
            let after = if k + 1 < self.deconvs.len() { Activation::Relu } else { self.last };
            image = after.apply(self.deconvs[k].forward(image, size)); // [B T, ·, ·, ·]
        }
        let [channels, height, width] = self.plan.image;
        image.reshape([batch, steps, channels, height, width])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::values;
    use crate::testing::numbers;
    use burn::tensor::{DType, Device};

    fn decode(image: [usize; 3], last: Activation) -> Tensor<5> {
        let mut init = Init::new(4, &Device::flex(), DType::F32);
        let decoder = ImageDecoder::new(ConvPlan::released(image), last, &mut init);
        decoder.decode(Tensor::ones([2, 3, 128], &Device::flex()))
    }

    #[test]
    fn images_have_the_size_of_the_encoders_images() {
        for image in [[3, 24, 24], [3, 32, 32], [4, 25, 19], [1, 7, 1]] {
            let [channels, height, width] = image;
            assert_eq!(decode(image, Activation::Relu).dims(), [2, 3, channels, height, width]);
        }
    }

    #[test]
    fn only_a_linear_end_goes_below_zero() {
        let least = |last| numbers(&decode([3, 24, 24], last)).into_iter().fold(f64::MAX, f64::min);
        assert_eq!(least(Activation::Relu), 0.0);
        assert!(least(Activation::Linear) < -0.01);
    }

    /// By hand: 128·576 + 576, then 9·64·32 + 32, 9·32·16 + 16 and 9·16·3 + 3.
    #[test]
    fn parameters_of_the_released_decoder() {
        let mut init = Init::new(4, &Device::flex(), DType::F32);
        let decoder = ImageDecoder::new(ConvPlan::released([3, 24, 24]), Activation::Relu, &mut init);
        let counts: Vec<usize> = values(&decoder).iter().map(|value| value.values.len()).collect();
        assert_eq!(counts, [73_728, 576, 18_432, 32, 4608, 16, 432, 3]);
        assert_eq!(counts.iter().sum::<usize>(), 97_827);
    }
}
