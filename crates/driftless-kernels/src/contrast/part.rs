//! One part of the images with their own poses: encode, compare with all places, go back.

use super::{AT_ONCE, Cost, Examples, Pair, PairGradient, across};
use crate::cpu::Work;
use crate::dense::Rows;
use crate::exponential::{exp_of_negative, log_sum_exp};
use crate::gemm::{Epilogue, Left, Out, Panels, Right, product};
use crate::images::ImageMemory;
use crate::mlp::MlpMemory;
use crate::ranks::{Message, Wire};
use crate::rows::{back_through_units, to_units};
use crate::{Cpu, LANES, padded};
use std::ops::Range;

/// What all parts need of each other.
#[derive(Debug, Default)]
pub(super) struct All {
    images: usize,
    poses: usize,
    width: usize,
    /// Features of length 1 of images, and of places.
    seen: Vec<f32>,
    places: Vec<f32>,
    across: Panels,
    /// Derivatives by κ⁻¹ score, a row for each image, as wide as there are poses, padded.
    log_gradients: Vec<f32>,
}

#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) number: usize,
    frame_encoder: ImageMemory,
    mlp: MlpMemory,
    seen: Vec<f32>,
    places: Vec<f32>,
    seen_lengths: Vec<f32>,
    place_lengths: Vec<f32>,
    scores: Vec<f32>,
    by_seen: Vec<f32>,
    by_places: Vec<f32>,
    by_features: Vec<f32>,
    loss: f64,
    gradient: PairGradient,
}

impl All {
    /// The features of all parts.
    pub(super) fn gather(&mut self, parts: &[Part], [images, poses]: [usize; 2], width: usize) {
        (self.images, self.poses, self.width) = (images, poses, width);
        self.seen.clear();
        self.places.clear();
        for part in parts {
            self.seen.extend_from_slice(&part.seen);
            self.places.extend_from_slice(&part.places);
        }
        across(&self.places, width, &mut self.across);
    }

    /// What gradients at the scores of all parts.
    pub(super) fn gather_gradients(&mut self, parts: &[Part]) {
        self.log_gradients.clear();
        for part in parts {
            self.log_gradients.extend_from_slice(&part.scores);
        }
    }
}

impl Part {
    pub(super) fn loss(&self) -> f64 {
        self.loss
    }

    pub(super) fn gradient(&self) -> &PairGradient {
        &self.gradient
    }

    pub(super) fn gradient_mut(&mut self) -> &mut PairGradient {
        &mut self.gradient
    }

    /// Features of length 1 of the part's images and poses.
    pub(super) fn encode(&mut self, pair: &Pair, cpu: Cpu, of: &Examples, each: usize) {
        let number = self.number;
        let images = part_of(of.images, number, AT_ONCE * pair.frame_encoder.pixels());
        let masks = of.masks.map(|masks| part_of(masks, number, AT_ONCE * pair.frame_encoder.mask()));
        pair.frame_encoder.forward(cpu, images, masks, &mut self.frame_encoder);
        let count = images.len() / pair.frame_encoder.pixels();
        self.seen.resize(count * pair.last.width(), 0.0);
        let features = Rows { numbers: self.frame_encoder.features(), stride: pair.frame_encoder.width() };
        pair.last.forward(cpu, features, count, &mut self.seen);
        to_units(cpu, &mut self.seen, pair.last.width(), &mut self.seen_lengths);
        let places = self.inputs(pair, of, each);
        pair.places.forward(cpu, places, count * each, &mut self.mlp);
        self.places.clear();
        self.places.extend_from_slice(self.mlp.results());
        to_units(cpu, &mut self.places, pair.places.width(), &mut self.place_lengths);
    }

    fn inputs<'a>(&self, pair: &Pair, of: &Examples<'a>, each: usize) -> &'a [f32] {
        part_of(of.places, self.number, AT_ONCE * each * pair.places.input_width())
    }

    /// Cosines of the part's images and all places; what they cost, and the derivatives of that in their place.
    pub(super) fn compare(&mut self, cpu: Cpu, all: &All, cost: &Cost) {
        let (count, wide) = (self.seen.len() / all.width, padded(all.poses));
        self.scores.resize(count * wide, 0.0);
        let mut out = Out { numbers: &mut self.scores, stride: wide };
        let left = Left::rows(&self.seen, all.width);
        product(cpu, left, all.across.right(), [count, all.width, wide], Epilogue::Store, &mut out);
        self.gradient.clear();
        self.loss = 0.0;
        for (k, row) in self.scores.chunks_exact_mut(wide).enumerate() {
            let (cosines, pads) = row.split_at_mut(all.poses);
            pads.fill(0.0);
            let (loss, by_sharpness) = cost(self.number * AT_ONCE + k, cosines);
            self.loss += loss;
            self.gradient.sharpness += by_sharpness;
        }
    }

    /// From scores to the weights of all networks.
    pub(super) fn go_back(&mut self, pair: &Pair, cpu: Cpu, of: &Examples, all: &All, each: usize) {
        let (count, wide, width) = (self.seen.len() / all.width, padded(all.poses), all.width);
        self.by_seen.resize(self.seen.len(), 0.0);
        let mut out = Out { numbers: &mut self.by_seen, stride: width };
        let (left, right) = (Left::rows(&self.scores, wide), Right::rows(&all.places, width));
        product(cpu, left, right, [count, all.poses, width], Epilogue::Store, &mut out);
        back_through_units(cpu, &self.seen, &self.seen_lengths, width, &mut self.by_seen);
        self.back_to_frame_encoder(pair, cpu, of, count);
        self.by_places.resize(self.places.len(), 0.0);
        let mut out = Out { numbers: &mut self.by_places, stride: width };
        let left = Left::transposed(&all.log_gradients[self.number * AT_ONCE * each..], wide);
        let shape = [count * each, all.images, width];
        product(cpu, left, Right::rows(&all.seen, width), shape, Epilogue::Store, &mut out);
        back_through_units(cpu, &self.places, &self.place_lengths, width, &mut self.by_places);
        let inputs = self.inputs(pair, of, each);
        pair.places.backward(cpu, inputs, &self.by_places, &mut self.mlp, &mut self.gradient.places);
    }

    fn back_to_frame_encoder(&mut self, pair: &Pair, cpu: Cpu, of: &Examples, count: usize) {
        let features = Rows { numbers: self.frame_encoder.features(), stride: pair.frame_encoder.width() };
        pair.last.differentiate(cpu, features, &self.by_seen, count, &mut self.gradient.last);
        self.by_features.resize(count * pair.frame_encoder.width(), 0.0);
        pair.last.backward(cpu, &self.by_seen, count, None, &mut self.by_features);
        let masks = of.masks.map(|masks| part_of(masks, self.number, AT_ONCE * pair.frame_encoder.mask()));
        pair.frame_encoder.backward(
            cpu,
            &mut self.by_features,
            masks,
            &mut self.frame_encoder,
            &mut self.gradient.frame_encoder,
        );
    }
}

/// What a part tells all others: the features of its images and places.
pub(super) struct Features<'a>(pub(super) &'a mut Part);

impl Message for Features<'_> {
    fn pass(&mut self, wire: &mut Wire) {
        self.0.seen.pass(wire);
        self.0.places.pass(wire);
    }
}

/// The cost of one image, log Σ_all exp(κ cos) - log Σ_own exp(κ cos), and its derivative by κ times `share`; those by
/// the cosines, times `share`, take their place.
pub(super) fn cost(
    cpu: Cpu,
    cosines: &mut [f32],
    own: Range<usize>,
    sharpness: f32,
    share: f32,
) -> (f64, f64) {
    let all = log_sum_exp(cpu, cosines, sharpness);
    let mine = log_sum_exp(cpu, &cosines[own.clone()], sharpness);
    let expected = |&cosine: &f32| share * exp_of_negative(sharpness * cosine - mine as f32);
    let by_own: f64 = cosines[own.clone()].iter().map(|c| f64::from(expected(c)) * f64::from(*c)).sum();
    // Fewer than all, so that a second pass over them is nothing.
    let owned: Vec<f32> = cosines[own.clone()].iter().map(|c| sharpness * expected(c)).collect();
    let mut by_all = 0.0;
    cpu.run(Softmax { cosines, sharpness, all: all as f32, share, by_all: &mut by_all });
    cosines[own].iter_mut().zip(owned).for_each(|(cosine, owned)| *cosine -= owned);
    (all - mine, by_all - by_own)
}

/// κ share exp(κ cos - all) in place of each cosine, and the sum of share exp(κ cos - all) cos.
struct Softmax<'a> {
    cosines: &'a mut [f32],
    sharpness: f32,
    all: f32,
    share: f32,
    by_all: &'a mut f64,
}

impl Work for Softmax<'_> {
    #[inline(always)]
    fn run(self) {
        let mut sums = [0.0_f32; LANES];
        for row in self.cosines.chunks_mut(LANES) {
            for (sum, cosine) in sums.iter_mut().zip(row) {
                let weight = self.share * exp_of_negative(self.sharpness * *cosine - self.all);
                *sum += weight * *cosine;
                *cosine = self.sharpness * weight;
            }
        }
        *self.by_all = sums.iter().map(|&sum| f64::from(sum)).sum();
    }
}

/// Part `number` of so many numbers each, the last of which may be shorter.
fn part_of(numbers: &[f32], number: usize, size: usize) -> &[f32] {
    &numbers[number * size..((number + 1) * size).min(numbers.len())]
}
