//! The end of PF-net's network: features of image and map together, locally connected, maxima, one number.
//!
//! An image's features are the same for all particles, so its part of the sums is computed once an image.

use super::local::{ALL_PLACES, Local, OUTPUTS, PLACES, Planes, turn};
use super::observation::FEATURES;
use super::second::MAP_FEATURES;
use crate::cpu::Work;
use crate::gemm::{Epilogue, Left, Out, Right, product};
use crate::rows::dot;
use crate::{Cpu, LANES, padded};

/// Maxima, a side.
const MAXIMA: usize = 5;
/// Numbers that the last layer sees.
pub(super) const LAST: usize = MAXIMA * MAXIMA * OUTPUTS;

/// Weights.
#[derive(Clone, Debug)]
pub(super) struct Joint {
    pub(super) of_map: Local,
    pub(super) of_image: Local,
    /// [place, output].
    pub(super) bias: Vec<f32>,
    /// [row · column · output of the maxima], and a bias.
    pub(super) last: Vec<f32>,
    pub(super) last_bias: f32,
}

/// The derivatives by all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct JointGradient {
    pub(super) of_map: Vec<f32>,
    pub(super) of_image: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) last: Vec<f32>,
    pub(super) last_bias: f32,
}

/// What is remembered of all particles of some steps; lanes are steps of particles, each step padded.
#[derive(Clone, Debug, Default)]
pub(super) struct Joined {
    pub(super) map: Planes,
    pub(super) images: Planes,
    steps: usize,
    /// [place, output] rows of lanes: sums over the map's features, later derivatives.
    results: Vec<f32>,
    /// The same of images, one a lane.
    of_images: Vec<f32>,
    /// Maxima above 0 and where they were, [row · column · output] rows of lanes.
    kept: Vec<f32>,
    places: Vec<u8>,
    turned: Vec<f32>,
    pub(super) by_map: Planes,
    pub(super) by_images: Planes,
}

impl Joined {
    /// Room for so many steps of so many particles.
    pub(super) fn reset(&mut self, steps: usize, particles: usize) {
        let (lanes, images) = (steps * padded(particles), padded(steps));
        self.steps = steps;
        self.map.reset(MAP_FEATURES, lanes);
        self.images.reset(FEATURES, images);
        self.results.resize(ALL_PLACES * OUTPUTS * lanes, 0.0);
        self.of_images.resize(ALL_PLACES * OUTPUTS * images, 0.0);
        self.kept.resize(LAST * lanes, 0.0);
        self.places.resize(LAST * lanes, 0);
    }

    /// Takes the part of one image from another.
    pub(super) fn share_image(&mut self, other: &Self) {
        self.of_images.copy_from_slice(&other.of_images);
    }
}

impl Joint {
    /// Zeros.
    pub(super) fn new() -> Self {
        Self {
            of_map: Local::new(MAP_FEATURES),
            of_image: Local::new(FEATURES),
            bias: vec![0.0; ALL_PLACES * OUTPUTS],
            last: vec![0.0; LAST],
            last_bias: 0.0,
        }
    }

    /// The images' part of the sums.
    pub(super) fn see(&self, cpu: Cpu, joined: &mut Joined) {
        let lanes = joined.images.lanes;
        self.of_image.forward(cpu, &joined.images, [0, lanes], &mut joined.of_images);
    }

    /// One number for each particle of a step.
    pub(super) fn forward(&self, cpu: Cpu, step: usize, joined: &mut Joined, out: &mut [f32]) {
        let Joined { map, images, results, of_images, kept, places, .. } = joined;
        let (lanes, width) = (map.lanes, padded(out.len()));
        let first = step * width;
        self.of_map.forward(cpu, map, [first, width], results);
        let image = of_images.iter().skip(step).step_by(images.lanes);
        let shifts: Vec<f32> = image.zip(&self.bias).map(|(image, bias)| image + bias).collect();
        cpu.run(Maxima { results, shifts: &shifts, first, width, lanes, kept, places });
        let mut sums = vec![0.0; width];
        let (left, right) = (Left::rows(&self.last, LAST), Right::rows(&kept[first..], lanes));
        let mut row = Out { numbers: &mut sums, stride: width };
        product(cpu, left, right, [1, LAST, width], Epilogue::Store, &mut row);
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum + self.last_bias);
    }

    /// Adds the derivatives by all weights, given those by all results (a row of lanes, 0 where no particle is);
    /// leaves those by features in `joined`.
    pub(super) fn backward(&self, cpu: Cpu, by: &[f32], joined: &mut Joined, sum: &mut JointGradient) {
        self.back_to_results(by, joined, sum);
        let Joined { map, images, results, of_images, turned, by_map, by_images, steps, .. } = joined;
        let (lanes, width) = (map.lanes, map.lanes / *steps);
        let rows = results.chunks_exact(lanes).zip(of_images.chunks_exact_mut(images.lanes));
        for ((row, to), bias) in rows.zip(&mut sum.bias) {
            to.fill(0.0);
            to.iter_mut().zip(row.chunks_exact(width)).for_each(|(to, step)| *to = step.iter().sum());
            *bias += to.iter().sum::<f32>();
        }
        turn(results, lanes, turned);
        by_map.reset(MAP_FEATURES, lanes);
        self.of_map.backward(cpu, map, (results, turned), &mut by_map.numbers, &mut sum.of_map);
        turn(of_images, images.lanes, turned);
        by_images.reset(FEATURES, images.lanes);
        self.of_image.backward(cpu, images, (of_images, turned), &mut by_images.numbers, &mut sum.of_image);
    }

    /// Back through the last layer and the maxima: derivatives take the place of results.
    fn back_to_results(&self, by: &[f32], joined: &mut Joined, sum: &mut JointGradient) {
        let Joined { map, results, kept, places, .. } = joined;
        let lanes = map.lanes;
        results.fill(0.0);
        sum.last_bias += by.iter().sum::<f32>();
        let rows = kept.chunks_exact(lanes).zip(places.chunks_exact(lanes));
        for (number, ((kept, places), (weight, sum))) in
            rows.zip(self.last.iter().zip(&mut sum.last)).enumerate()
        {
            *sum += dot(kept, by);
            let (window, output) = (number / OUTPUTS, number % OUTPUTS);
            for (lane, (&x, &place)) in kept.iter().zip(places).enumerate() {
                if x > 0.0 {
                    let row = under(window, usize::from(place)) * OUTPUTS + output;
                    results[row * lanes + lane] += weight * by[lane];
                }
            }
        }
    }
}

/// The place that is number `k` of the nine under a window.
fn under(window: usize, k: usize) -> usize {
    (window / MAXIMA * 2 + k / 3) * PLACES + window % MAXIMA * 2 + k % 3
}

/// Maxima above 0 of sums and shifts.
struct Maxima<'a> {
    results: &'a [f32],
    shifts: &'a [f32],
    first: usize,
    width: usize,
    lanes: usize,
    kept: &'a mut [f32],
    places: &'a mut [u8],
}

impl Work for Maxima<'_> {
    #[inline(always)]
    fn run(self) {
        for number in 0..LAST {
            let (window, output) = (number / OUTPUTS, number % OUTPUTS);
            for lane in (self.first..self.first + self.width).step_by(LANES) {
                let (mut best, mut place) = ([0.0_f32; LANES], [0_u32; LANES]);
                for k in 0..9 {
                    let row = under(window, k) * OUTPUTS + output;
                    let (numbers, shift) =
                        (&self.results[row * self.lanes + lane..][..LANES], self.shifts[row]);
                    for i in 0..LANES {
                        let value = numbers[i] + shift;
                        let better = value > best[i];
                        best[i] = if better { value } else { best[i] };
                        place[i] = if better { k as u32 } else { place[i] };
                    }
                }
                let to = number * self.lanes + lane;
                self.kept[to..to + LANES].copy_from_slice(&best);
                self.places[to..to + LANES].iter_mut().zip(place).for_each(|(to, from)| *to = from as u8);
            }
        }
    }
}
