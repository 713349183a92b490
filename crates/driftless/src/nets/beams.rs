//! Features of scans: the image network of the maze experiments in one dimension, over neighbouring beams.

use super::conv::{KERNEL, STRIDE, halved, same_padding};
use super::dense::{Activation, Dense};
use crate::dropout::Phase;
use crate::parameters::Init;
use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::module::conv1d;
use burn::tensor::ops::ConvOptions;

/// A convolution over beams with kernels of 3, stride 2 and TensorFlow's "SAME" padding.
#[derive(Module, Debug)]
pub struct BeamConv {
    /// W, [outputs, inputs, 3].
    pub weight: Param<Tensor<3>>,
    /// b, one number an output channel.
    pub bias: Param<Tensor<1>>,
}

impl BeamConv {
    /// A layer with the first weights of Sonnet 1; a unit has 3 times `inputs` inputs.
    pub fn new(inputs: usize, outputs: usize, init: &mut Init) -> Self {
        let std = ((KERNEL * inputs) as f64).sqrt().recip();
        let weight = init.truncated_normal([outputs, inputs, KERNEL], std);
        Self { weight, bias: init.constant([outputs], 0.0) }
    }

    /// [B, inputs, W] → [B, outputs, ⌈W / 2⌉].
    pub fn forward(&self, beams: Tensor<3>) -> Tensor<3> {
        let mut options = ConvOptions::new([STRIDE], [0], [1], 1);
        options.padding = [same_padding(beams.dims()[2])];
        conv1d(beams, self.weight.val(), Some(self.bias.val()), options)
    }
}

/// What a scan encoder is built of.
#[derive(Clone, Debug, PartialEq)]
pub struct BeamPlan {
    /// Beams of a scan.
    pub beams: usize,
    /// Channels after each convolution.
    pub channels: Vec<usize>,
    /// Probability with which dropout keeps a feature, in (0, 1].
    pub keep: f64,
    /// Features in the end, E.
    pub features: usize,
}

/// The last convolution leaves at most so many places.
const MOST_PLACES: usize = 32;

impl BeamPlan {
    /// The channels of the image network, 16, 32 and 64, and more of 64 for scans that are still long after them; 128
    /// features.
    pub fn of(beams: usize, keep: f64) -> Self {
        let mut channels = vec![16, 32, 64];
        while beams >> channels.len() > MOST_PLACES {
            channels.push(64);
        }
        Self { beams, channels, keep, features: 128 }
    }

    /// Numbers that the last convolution makes of a scan.
    fn innermost(&self) -> usize {
        let places = self.channels.iter().fold(self.beams, |beams, _| halved(beams));
        places * self.channels.last().copied().unwrap_or(INPUTS)
    }
}

/// Channels of a scan: distances, and whether there is one.
const INPUTS: usize = 2;

/// Convolutions with ReLU over distances and over which of them there are, dropout, a layer with ReLU.
#[derive(Module, Debug)]
pub struct BeamEncoder {
    /// From the scan on.
    pub convs: Vec<BeamConv>,
    /// From all places of the last convolution, channel after channel, to the features.
    pub dense: Dense,
    #[module(skip)]
    plan: BeamPlan,
}

impl BeamEncoder {
    /// A network with the first weights of Sonnet 1.
    ///
    /// # Panics
    /// If a size of the plan is 0, or `keep` is not in (0, 1].
    pub fn new(plan: BeamPlan, init: &mut Init) -> Self {
        assert!(
            plan.beams > 0 && plan.features > 0 && plan.channels.iter().all(|&size| size > 0),
            "{plan:?}"
        );
        assert!(plan.keep > 0.0 && plan.keep <= 1.0, "dropout keeps a share in (0, 1]: {plan:?}");
        let inputs = std::iter::once(&INPUTS).chain(&plan.channels);
        let convs =
            inputs.zip(&plan.channels).map(|(&inputs, &outputs)| BeamConv::new(inputs, outputs, init));
        let convs = convs.collect();
        let dense = Dense::new(plan.innermost(), plan.features, init);
        Self { convs, dense, plan }
    }

    /// Features, [B, T, E], of distances that are 0 where missing, and which there are (1, else 0); both [B, T, W].
    pub fn encode(&self, distances: Tensor<3>, known: Tensor<3>, phase: Phase) -> Tensor<3> {
        let [batch, steps, beams] = distances.dims();
        let channels = Tensor::stack::<4>(vec![distances, known], 2); // [B, T, 2, W]
        let scans = channels.reshape([batch * steps, INPUTS, beams]);
        let fold = |scan, conv: &BeamConv| Activation::Relu.apply(conv.forward(scan));
        let inner = self.convs.iter().fold(scans, fold); // [B T, c, w]
        let flat = inner.reshape([batch, steps, self.plan.innermost()]);
        Activation::Relu.apply(self.dense.forward(phase.dropout(flat, self.plan.keep)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, f64s, numbers};
    use burn::tensor::{DType, Device};

    fn init() -> Init {
        Init::new(5, &Device::flex().autodiff(), DType::F64)
    }

    /// Plain loops over places, channels and taps: of an even number of beams the kernel starts at the first, of an odd
    /// number one before it.
    #[test]
    fn a_convolution_against_loops() {
        for beams in [4_usize, 5] {
            let conv = BeamConv::new(2, 3, &mut init());
            let values: Vec<f64> = (0..2 * beams).map(|k| ((7 * k % 5) as f64) - 1.5).collect();
            let input = Tensor::<1>::from_data(values.as_slice(), (&Device::flex().autodiff(), DType::F64));
            let found = numbers(&conv.forward(input.reshape([1, 2, beams])));
            let (weight, before) = (numbers(&conv.weight.val()), beams % 2);
            let mut expected = Vec::new();
            for output in 0..3 {
                for place in 0..beams.div_ceil(2) {
                    let taps = (0..2).flat_map(|input| (0..3).map(move |tap| (input, tap)));
                    let seen = |(input, tap): (usize, usize)| {
                        let beam = (2 * place + tap).checked_sub(before).filter(|beam| *beam < beams);
                        beam.map_or(0.0, |beam| values[input * beams + beam])
                            * weight[(output * 2 + input) * 3 + tap]
                    };
                    expected.push(taps.map(seen).sum::<f64>());
                }
            }
            assert_close(&found, &expected, 1e-12);
        }
    }

    /// Of 180 beams come 23 places; of 1440 two more convolutions make 45, then 23.
    #[test]
    fn long_scans_have_more_layers() {
        assert_eq!(BeamPlan::of(180, 1.0).channels.len(), 3);
        assert_eq!(BeamPlan::of(180, 1.0).innermost(), 23 * 64);
        let long = BeamPlan::of(1440, 1.0);
        assert_eq!((long.channels.len(), long.innermost()), (6, 23 * 64));
    }

    /// A distance that is missing is not one of 0, because the second channel tells.
    #[test]
    fn missing_is_not_zero() {
        let encoder =
            BeamEncoder::new(BeamPlan { beams: 4, channels: vec![3], keep: 1.0, features: 5 }, &mut init());
        let distances = f64s::<3>([[[0.0, 0.5, -1.0, 0.0]]]);
        let features =
            |known: [f64; 4]| numbers(&encoder.encode(distances.clone(), f64s([[known]]), Phase::Evaluation));
        assert_ne!(features([1.0; 4]), features([0.0, 1.0, 1.0, 1.0]));
        assert_eq!(features([1.0; 4]).len(), 5);
    }
}
