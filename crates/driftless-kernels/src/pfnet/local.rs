//! Locally connected kernels: at each of 12x12 places others, 5x5 taps, sixteen outputs; lanes are particles.
//!
//! PF-net has 3x3 and 5x5 kernels with the same middles and eight outputs each. Here the smaller ones are larger ones
//! with zeros around them: a third more multiplications, half as many products.

use crate::Cpu;
use crate::gemm::{Epilogue, Left, Out, Right, product};

/// Places, a side.
pub(super) const PLACES: usize = 12;
/// All places.
pub(super) const ALL_PLACES: usize = PLACES * PLACES;
/// Outputs at a place.
pub(super) const OUTPUTS: usize = 16;
/// Taps a side.
pub(super) const TAPS: usize = 5;
/// Pixels of what is seen, a side, a pixel of zeros on both sides included.
pub(super) const SEEN: usize = PLACES + TAPS - 1;

/// The weights for some channels of what is seen.
#[derive(Clone, Debug)]
pub(super) struct Local {
    channels: usize,
    /// [place, row · column · channel, output].
    weights: Vec<f32>,
}

/// Numbers of `lanes` particles each, pixel after pixel, channel after channel.
#[derive(Clone, Debug, Default)]
pub(super) struct Planes {
    pub(super) numbers: Vec<f32>,
    pub(super) lanes: usize,
    /// Where the numbers lie that a place sees, from the first of them.
    moves: Vec<usize>,
}

impl Planes {
    /// Zeros for so many channels and lanes.
    pub(super) fn reset(&mut self, channels: usize, lanes: usize) {
        let line = |u: usize| (0..TAPS * channels).map(move |k| (u * SEEN * channels + k) * lanes);
        self.lanes = lanes;
        self.moves.clear();
        self.moves.extend((0..TAPS).flat_map(line));
        self.numbers.clear();
        self.numbers.resize(SEEN * SEEN * channels * lanes, 0.0);
    }

    /// Puts the features of one particle into its lane, or takes them out of it: 14x14 pixels.
    pub(super) fn each(&mut self, channels: usize, lane: usize, mut visit: impl FnMut(usize, &mut f32)) {
        let side = SEEN - 2;
        for pixel in 0..side * side {
            let place = (pixel / side + 1) * SEEN + pixel % side + 1;
            for channel in 0..channels {
                let number = (place * channels + channel) * self.lanes + lane;
                visit(pixel * channels + channel, &mut self.numbers[number]);
            }
        }
    }
}

/// Row and column of the first tap of a place.
fn places() -> impl Iterator<Item = (usize, usize)> {
    (0..ALL_PLACES).map(|place| (place, place / PLACES * SEEN + place % PLACES))
}

impl Local {
    /// Zeros.
    pub(super) fn new(channels: usize) -> Self {
        Self { channels, weights: vec![0.0; ALL_PLACES * TAPS * TAPS * channels * OUTPUTS] }
    }

    /// How many weights.
    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }

    /// Weights by place, tap, channel and output.
    pub(super) fn set(&mut self, weight: impl Fn(usize, usize, usize, usize) -> f32) {
        for (k, to) in self.weights.iter_mut().enumerate() {
            let (place, tap, channel, output) = self::number(k, self.channels);
            *to = weight(place, tap, channel, output);
        }
    }

    /// Visits derivatives as [`Local::set`] asks for weights.
    pub(super) fn each_gradient(
        &self,
        gradient: &[f32],
        mut visit: impl FnMut((usize, usize, usize, usize), f32),
    ) {
        gradient.iter().enumerate().for_each(|(k, &by)| visit(number(k, self.channels), by));
    }

    fn taps(&self) -> usize {
        TAPS * TAPS * self.channels
    }

    /// [place, output] rows of lanes, from lane `first` on, `count` of them.
    pub(super) fn forward(&self, cpu: Cpu, seen: &Planes, [first, count]: [usize; 2], out: &mut [f32]) {
        let (lanes, taps) = (seen.lanes, self.taps());
        for (place, start) in places() {
            let left = Left::transposed(&self.weights[place * taps * OUTPUTS..], OUTPUTS);
            let right = Right::moved(&seen.numbers[start * self.channels * lanes + first..], &seen.moves);
            let numbers = &mut out[place * OUTPUTS * lanes + first..];
            let shape = [OUTPUTS, taps, count];
            product(cpu, left, right, shape, Epilogue::Store, &mut Out { numbers, stride: lanes });
        }
    }

    /// Adds the derivatives by weights and by what was seen, given those by results, [place, output] rows of lanes,
    /// and the same [place] rows of lanes of outputs.
    pub(super) fn backward(
        &self,
        cpu: Cpu,
        seen: &Planes,
        (by_results, turned): (&[f32], &[f32]),
        by_seen: &mut [f32],
        sum: &mut [f32],
    ) {
        let (lanes, taps, line) = (seen.lanes, self.taps(), TAPS * self.channels);
        for (place, start) in places() {
            for u in 0..TAPS {
                let from = (start + u * SEEN) * self.channels * lanes;
                let weights = (place * taps + u * line) * OUTPUTS;
                let rows = Right::rows(&by_results[place * OUTPUTS * lanes..], lanes);
                let left = Left::rows(&self.weights[weights..], OUTPUTS);
                let mut out = Out { numbers: &mut by_seen[from..], stride: lanes };
                product(cpu, left, rows, [line, OUTPUTS, lanes], Epilogue::Add, &mut out);
                let left = Left::rows(&seen.numbers[from..], lanes);
                let rows = Right::rows(&turned[place * lanes * OUTPUTS..], OUTPUTS);
                let mut out = Out { numbers: &mut sum[weights..], stride: OUTPUTS };
                product(cpu, left, rows, [line, lanes, OUTPUTS], Epilogue::Add, &mut out);
            }
        }
    }
}

/// Place, tap, channel and output of a weight.
fn number(k: usize, channels: usize) -> (usize, usize, usize, usize) {
    let (output, rest) = (k % OUTPUTS, k / OUTPUTS);
    let (channel, rest) = (rest % channels, rest / channels);
    (rest / (TAPS * TAPS), rest % (TAPS * TAPS), channel, output)
}

/// [place, output] rows of lanes as [place] rows of outputs, lane after lane.
pub(super) fn turn(rows: &[f32], lanes: usize, turned: &mut Vec<f32>) {
    turned.resize(rows.len(), 0.0);
    let places = rows.chunks_exact(OUTPUTS * lanes).zip(turned.chunks_exact_mut(OUTPUTS * lanes));
    for (from, to) in places {
        for (output, row) in from.chunks_exact(lanes).enumerate() {
            row.iter().enumerate().for_each(|(lane, &x)| to[lane * OUTPUTS + output] = x);
        }
    }
}
