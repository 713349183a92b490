//! Resampling: particles are resampled in proportion to their weights.
//!
//! A [`Resampler`] is an object chosen by configuration. A [`Scheme`] draws ancestors, and the
//! gradient ignores that it did. [`Soft`] and [`StopGradient`] give the drawn particles weights
//! through which a gradient flows, [`KernelMixture`] also to where their ancestors stood;
//! [`OptimalTransport`] and [`Diffusion`] move particles instead of drawing them.
//! [`WhenBelow`] decides when, [`Truncate`] where the gradient ends; these two wrap any other, so
//! the filter has no branch for any of them.

mod adaptive;
mod diffusion;
mod kernel;
mod registry;
mod scheme;
mod sinkhorn;
mod soft;
mod stop_gradient;
mod transport;
mod truncate;

pub use adaptive::WhenBelow;
pub use diffusion::{Diffusion, Integrator};
pub use kernel::{Bandwidth, KernelMixture};
pub use registry::{Built, RESAMPLERS, RegisteredResampler, ResamplerSettings};
pub use scheme::Scheme;
pub use soft::Soft;
pub use stop_gradient::StopGradient;
pub use transport::OptimalTransport;
pub use truncate::Truncate;

use crate::belief::Belief;
use burn::tensor::{Int, Tensor, TensorData};
use scheme::draw_ancestors;

/// Draws particles anew.
pub trait Resampler: Send + Sync + std::fmt::Debug {
    /// Uniform random numbers needed a sequence, for N particles of `size` numbers.
    fn uniforms(&self, particles: usize, size: usize) -> usize;

    /// Draws `count` particles for each sequence, from N. Each has a row of uniform numbers, given
    /// one after another, of which the first `uniforms(count, size)` are used.
    ///
    /// # Panics
    /// If there are too few numbers, or `count` is 0.
    fn resample(&self, belief: Belief, count: usize, uniforms: &[f64]) -> Resampled;
}

impl Resampler for Box<dyn Resampler> {
    fn uniforms(&self, particles: usize, size: usize) -> usize {
        self.as_ref().uniforms(particles, size)
    }

    fn resample(&self, belief: Belief, count: usize, uniforms: &[f64]) -> Resampled {
        self.as_ref().resample(belief, count, uniforms)
    }
}

/// The new particles and where they come from.
#[derive(Clone, Debug)]
pub struct Resampled {
    /// Particles and their new weights.
    pub belief: Belief,
    /// Which particle each one was before, [B, count].
    pub ancestors: Tensor<2, Int>,
    /// What the new weights summed to before they were normalised, log Σ w'. It is part of the
    /// evidence: without it neither the estimate nor its gradient would be unbiased. 0 where all
    /// new weights are equal. `[B]`
    pub log_mass: Tensor<1>,
}

/// `states[b, ancestors[b, i], ·]`: [B, N, S] by [B, M] → [B, M, S].
pub(crate) fn gather_states(states: Tensor<3>, ancestors: Tensor<2, Int>) -> Tensor<3> {
    let ([batch, count], size) = (ancestors.dims(), states.dims()[2]);
    states.gather(1, ancestors.unsqueeze_dim::<3>(2).expand([batch, count, size]))
}

/// Each particle its own ancestor, [B, N].
pub(crate) fn identity(belief: &Belief) -> Tensor<2, Int> {
    let [batch, particles, _] = belief.dims();
    let one = Tensor::<1, Int>::arange(0..particles as i64, &belief.states.device());
    one.unsqueeze_dim::<2>(0).expand([batch, particles])
}

/// Old particles evenly spaced by index, one for each of `count` new ones that have no single ancestor.
pub(crate) fn spaced(belief: &Belief, count: usize) -> Tensor<1, Int> {
    let particles = belief.dims()[1];
    let spaced: Vec<i64> = (0..count).map(|i| (i * particles / count) as i64).collect();
    Tensor::from_data(spaced.as_slice(), &belief.states.device())
}

/// How many uniform numbers [`normals`] needs for `count` standard normal ones.
pub(crate) fn uniforms_of_normals(count: usize) -> usize {
    count.next_multiple_of(2)
}

/// Standard normal numbers of uniform ones, by pairs (Box & Muller 1958): [B, M, S], from place `from` of each row on.
pub(crate) fn normals(like: &Belief, uniforms: &[f64], from: usize, count: usize) -> Tensor<3> {
    let [batch, _, size] = like.dims();
    let needed = uniforms_of_normals(count * size);
    let mut all = Vec::with_capacity(batch * count * size);
    for row in uniforms.chunks_exact(uniforms.len() / batch) {
        let numbers = row[from..from + needed].chunks_exact(2).flat_map(|pair| {
            // 1 - u is never 0.
            let (radius, angle) = ((-2.0 * (1.0 - pair[0]).ln()).sqrt(), std::f64::consts::TAU * pair[1]);
            [radius * angle.cos(), radius * angle.sin()]
        });
        all.extend(numbers.take(count * size));
    }
    let data = TensorData::new(all, [batch, count, size]);
    Tensor::from_data(data, (&like.states.device(), like.states.dtype()))
}

/// No mass lost or won, `[B]`.
pub(crate) fn no_mass(belief: &Belief) -> Tensor<1> {
    belief.weights.log().detach().slice_dim(1, 0..1).squeeze_dim::<1>(1).zeros_like()
}

/// Draws M from a proposal q [B, N] instead of the weights w, and makes up for it: w' = w / (M q).
///
/// q may be anything that is positive where w is; what the gradient sees of it is the caller's
/// choice. The drawing itself is not differentiated.
pub(crate) fn draw_from(
    belief: &Belief,
    log_proposal: Tensor<2>,
    scheme: Scheme,
    count: usize,
    uniforms: &[f64],
) -> Resampled {
    let ancestors = draw_ancestors(scheme, &log_proposal.clone().exp(), count, uniforms);
    let ratio = (belief.weights.log() - log_proposal).gather(1, ancestors.clone()); // [B, M]
    let states = gather_states(belief.states.clone(), ancestors.clone());
    let corrected = Belief::uniform(states.clone()).weights.reweight(ratio);
    Resampled {
        belief: Belief { states, weights: corrected.weights },
        ancestors,
        log_mass: corrected.log_evidence,
    }
}
