//! What particles are matched with: features of images by the kernels, those of all other readings by tensors.

use crate::dropout::Phase;
use crate::error::Result;
use crate::learn::{Lost, Ranks};
use crate::methods::observed::Observed;
use crate::model::{Measurement, Model, Observations};
use crate::nets::ImageEncoder;
use crate::ops::{image_gradients, image_net};
use crate::parameters::{Named, gradients};
use burn::tensor::{DType, Tensor, TensorData};
use driftless_kernels::Cpu;
use driftless_kernels::images::{ImageGradient, ImageMemory, ImageNet};
use driftless_kernels::ranks::{is_own, map, share};
use rayon::prelude::*;

/// An image encoder, and what it is called among a model's parameters.
pub(in crate::methods::sdpf) type Frames<'a> = (&'a str, &'a ImageEncoder);

/// Features of a batch, and the way back from them.
pub(super) enum Seen<'a> {
    /// Images, sequence after sequence.
    Images { encoder: Frames<'a>, net: Box<ImageNet>, images: Vec<f32>, sequences: usize },
    /// Features [B, T, E] that know their way back.
    Features(Tensor<3>),
}

impl<'a> Seen<'a> {
    /// By the kernels, if there is an image encoder, nothing is dropped, and all pixels are finite.
    pub(super) fn of<M: Model>(
        model: &M,
        encoder: Option<Frames<'a>>,
        observations: &Observations<M>,
        phase: Phase,
    ) -> Self
    where
        M::Measurement: Measurement<Cues = Tensor<3>>,
        Observations<M>: Observed,
    {
        let whole = encoder.filter(|(_, encoder)| encoder.plan().keep >= 1.0);
        let images = whole.and_then(|encoder| Some((encoder, observations.pixels()?)));
        match images.filter(|(_, (images, _))| images.iter().all(|x| x.is_finite())) {
            Some((encoder, (images, sequences))) => {
                Self::Images { encoder, net: Box::new(image_net(encoder.1)), images, sequences }
            }
            None => Self::Features(model.measurement().encode(observations, phase)),
        }
    }

    /// Row after row, and the numbers of each.
    pub(super) fn rows(&self, ranks: &dyn Ranks) -> Result<(Vec<f32>, usize)> {
        let (net, images, sequences) = match self {
            Self::Features(features) => {
                let rows = features.try_to_vec_as::<f32>().expect("features are numbers");
                return Ok((rows, features.dims()[2]));
            }
            Self::Images { net, images, sequences, .. } => (net, images, *sequences),
        };
        let see = |memory: &mut ImageMemory, (number, images): (usize, &[f32])| {
            if !is_own(ranks, number) {
                return Vec::new();
            }
            net.forward(Cpu::best(), images, None, memory);
            memory.features().to_vec()
        };
        let parts = images.par_chunks(images.len() / sequences).enumerate();
        let mut rows: Vec<Vec<f32>> = parts.map_init(ImageMemory::default, see).collect();
        share(ranks, &mut rows)?;
        Ok((rows.concat(), net.width()))
    }

    /// Derivatives by the encoder's parameters, given those by its features.
    pub(super) fn back<M: Model>(&self, model: &M, by: Vec<f32>, ranks: &dyn Ranks) -> Result<Vec<Named>> {
        let (encoder, net, images, sequences) = match self {
            Self::Features(features) => return Ok(through_tensors(model, features, by)),
            Self::Images { encoder, net, images, sequences } => (encoder, net, images, *sequences),
        };
        let (pixels, numbers) = (images.len() / sequences, by.len() / sequences);
        // Seen once more: what convolutions make of all images is not small.
        let back = |number: usize| {
            let (mut memory, mut gradient) = <(ImageMemory, ImageGradient)>::default();
            let (images, mut by) =
                (&images[number * pixels..][..pixels], by[number * numbers..][..numbers].to_vec());
            gradient.reset(net);
            net.forward(Cpu::best(), images, None, &mut memory);
            net.backward(Cpu::best(), &mut by, None, &mut memory, &mut gradient);
            Ok::<_, Lost>(gradient)
        };
        let parts = map(ranks, sequences, back)?;
        let mut sum = ImageGradient::default();
        sum.reset(net);
        for part in &parts {
            sum.add(part);
        }
        Ok(image_gradients(encoder.0, net, &sum))
    }
}

fn through_tensors<M: Model>(model: &M, features: &Tensor<3>, by: Vec<f32>) -> Vec<Named> {
    let data = TensorData::new(by, features.dims());
    let by = Tensor::<3>::from_data(data, (&features.device(), DType::F32));
    gradients(model, &(features.clone() * by).sum().backward())
}
