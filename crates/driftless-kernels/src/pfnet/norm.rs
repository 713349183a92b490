//! Normalisation of a whole image with a factor and a shift for each channel, a ReLU behind it, and the way back.
//!
//! y = γ x̂ + β with x̂ = (x - mean) / σ; mean and σ are those of all pixels and channels, as in TensorFlow's
//! `contrib.layers.layer_norm`.

use super::pooling::{Affine, Moments};
use crate::cpu::Work;
use crate::{Cpu, LANES};

/// γ and β.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Norm {
    pub(super) gamma: Vec<f32>,
    pub(super) beta: Vec<f32>,
}

/// How the mean and the deviation of an image pull at all of its numbers: Σ γ ∂y and Σ γ ∂y x̂, each divided by how
/// many numbers there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common {
    pub(super) along_one: f32,
    pub(super) along_x: f32,
}

impl Norm {
    /// γ = β = 0.
    pub(super) fn new(channels: usize) -> Self {
        Self { gamma: vec![0.0; channels], beta: vec![0.0; channels] }
    }

    /// The map that numbers with these moments go through before the ReLU.
    pub(super) fn affine(&self, moments: Moments) -> Affine {
        moments.affine(&self.gamma, &self.beta)
    }

    /// Makes ∂y 0 where the ReLU is closed, and adds the derivatives by γ and β. `x` and `by` are those numbers whose
    /// ∂y is not 0 in an image of `count` numbers.
    pub(super) fn back_through_relu(
        &self,
        cpu: Cpu,
        (x, moments): (&[f32], Moments),
        by: &mut [f32],
        count: usize,
        sum: &mut Self,
    ) -> Common {
        let channels = self.gamma.len();
        let mut here = Self::new(channels);
        cpu.run(Close { x, affine: &self.affine(moments), moments, by, sum: &mut here });
        let mut common = [0.0_f64; 2];
        for c in 0..channels {
            common[0] += f64::from(self.gamma[c] * here.beta[c]);
            common[1] += f64::from(self.gamma[c] * here.gamma[c]);
            sum.gamma[c] += here.gamma[c];
            sum.beta[c] += here.beta[c];
        }
        let [along_one, along_x] = common.map(|sum| (sum / count as f64) as f32);
        Common { along_one, along_x }
    }

    /// ∂x = (γ ∂y - common) / σ in place of ∂y.
    pub(super) fn back(&self, cpu: Cpu, (x, moments): (&[f32], Moments), common: Common, by: &mut [f32]) {
        cpu.run(Back { x, gamma: &self.gamma, moments, common, by });
    }
}

/// The part of ∂x that all numbers of an image have, in place of x.
pub(super) fn common_part(cpu: Cpu, moments: Moments, common: Common, x: &mut [f32]) {
    cpu.run(CommonPart { moments, common, x });
}

struct Close<'a> {
    x: &'a [f32],
    affine: &'a Affine,
    moments: Moments,
    by: &'a mut [f32],
    sum: &'a mut Norm,
}

impl Work for Close<'_> {
    #[inline(always)]
    fn run(self) {
        // Blocks of channels whose number the compiler knows.
        let (channels, mut work) = (self.affine.a.len(), self);
        let whole = channels / LANES * LANES;
        for first in (0..whole).step_by(LANES) {
            work.block::<LANES>(first);
        }
        for channel in whole..channels {
            work.block::<1>(channel);
        }
    }
}

impl Close<'_> {
    #[inline(always)]
    fn block<const N: usize>(&mut self, first: usize) {
        let Self { x, affine, moments: Moments { mean, sharpness }, by, sum } = self;
        let channels = affine.a.len();
        let [a, b] = [&affine.a, &affine.b].map(|all| block::<N>(&all[first..]));
        let (mut gammas, mut betas) = ([0.0_f32; N], [0.0_f32; N]);
        for (x, by) in x.chunks_exact(channels).zip(by.chunks_exact_mut(channels)) {
            let (x, mut pull) = (block::<N>(&x[first..]), block::<N>(&by[first..]));
            for k in 0..N {
                let open = x[k] * a[k] + b[k] > 0.0;
                pull[k] = if open { pull[k] } else { 0.0 };
                gammas[k] += pull[k] * ((x[k] - *mean) * *sharpness);
                betas[k] += pull[k];
            }
            by[first..first + N].copy_from_slice(&pull);
        }
        for k in 0..N {
            sum.gamma[first + k] += gammas[k];
            sum.beta[first + k] += betas[k];
        }
    }
}

/// The first N numbers.
#[inline(always)]
fn block<const N: usize>(numbers: &[f32]) -> [f32; N] {
    numbers[..N].try_into().expect("as many")
}

struct Back<'a> {
    x: &'a [f32],
    gamma: &'a [f32],
    moments: Moments,
    common: Common,
    by: &'a mut [f32],
}

impl Work for Back<'_> {
    #[inline(always)]
    fn run(self) {
        let Moments { mean, sharpness } = self.moments;
        let Common { along_one, along_x } = self.common;
        let channels = self.gamma.len();
        for (x, by) in self.x.chunks_exact(channels).zip(self.by.chunks_exact_mut(channels)) {
            for k in 0..channels {
                let normal = (x[k] - mean) * sharpness;
                by[k] = sharpness * (self.gamma[k] * by[k] - along_one - normal * along_x);
            }
        }
    }
}

struct CommonPart<'a> {
    moments: Moments,
    common: Common,
    x: &'a mut [f32],
}

impl Work for CommonPart<'_> {
    #[inline(always)]
    fn run(self) {
        let Moments { mean, sharpness } = self.moments;
        let Common { along_one, along_x } = self.common;
        for x in self.x {
            *x = -sharpness * (along_one + (*x - mean) * sharpness * along_x);
        }
    }
}
