//! A measurement whose sharpness is learned: l = exp(τ κ cos(e, ê)).

use super::matching::unit;
use super::{Encoder, Learnable, Measurement, Screen, StateEncoder};
use crate::belief::log_sum_exp;
use crate::dropout::Phase;
use crate::parameters::Init;
use burn::module::{Module, Param};
use burn::tensor::{Int, Tensor, TensorData};

/// log l = τ κ cos(e(o), ê(s)): κ = exp(learned) makes the contrast between places; the tempering τ, which
/// the contrast cannot know, allows for the likeness of neighbouring frames and is to be calibrated on
/// whole trajectories.
///
/// Normalised over a batch of poses by [`SharpMatch::contrast`], it is a classifier of places (InfoNCE,
/// van den Oord et al. 2018). An observation that is not finite is lost: its likelihood is NaN for all
/// states, so that a filter keeps its weights and reports it.
#[derive(Module, Debug)]
pub struct SharpMatch<O: Learnable, H: Learnable> {
    /// Features of observations, e.
    pub observation: O,
    /// Features of states, ê.
    pub state: H,
    /// log κ, `[1]`; counted within ± 5.
    pub log_sharpness: Param<Tensor<1>>,
    #[module(skip)]
    tempering: f64,
}

const FIRST_SHARPNESS: f64 = 10.0;
/// |log κ|, at most.
pub(crate) const MOST_LOG_SHARPNESS: f64 = 5.0;

impl<O: Learnable, H: Learnable> SharpMatch<O, H> {
    /// κ = 10 and τ = 1 at first.
    pub fn new(observation: O, state: H, init: &Init) -> Self {
        let log_sharpness = init.constant([1], FIRST_SHARPNESS.ln());
        Self { observation, state, log_sharpness, tempering: 1.0 }
    }

    /// Another tempering τ.
    ///
    /// # Panics
    /// If it is negative or not finite.
    pub fn with_tempering(self, tempering: f64) -> Self {
        assert!(tempering >= 0.0 && tempering.is_finite(), "the tempering must not be negative: {tempering}");
        Self { tempering, ..self }
    }

    /// κ, `[1]`.
    pub fn sharpness(&self) -> Tensor<1> {
        self.log_sharpness.val().clamp(-MOST_LOG_SHARPNESS, MOST_LOG_SHARPNESS).exp()
    }
}

impl<O: Encoder, H: StateEncoder> SharpMatch<O, H> {
    /// The mean over M observations of log Σ_all exp(score) - log Σ_own exp(score), `[1]`: how hard it is
    /// to tell an observation's own K poses from those of all others; without tempering.
    ///
    /// # Shapes
    /// features of observations [1, M, E], poses [1, M·K, S], those of an observation side by side.
    pub fn contrast(&self, seen: Tensor<3>, poses: Tensor<3>) -> Tensor<1> {
        let (count, all) = (seen.dims()[1], poses.dims()[1]);
        let places = unit(self.state.encode(poses)).swap_dims(1, 2); // [1, E, M K]
        let cosines = unit(seen).matmul(places).reshape([count, all]);
        let scores = cosines * self.sharpness().reshape([1, 1]); // [M, M K]
        let each = all / count;
        let own: Vec<i64> = (0..count * each).map(|k| k as i64).collect();
        let own = Tensor::<2, Int>::from_data(TensorData::new(own, [count, each]), &scores.device());
        let positive = log_sum_exp(scores.clone().gather(1, own), 1);
        (log_sum_exp(scores, 1) - positive).mean()
    }

    /// Features of states of length 1, [B, N, S] → [B, N, E].
    pub fn places(&self, states: Tensor<3>) -> Tensor<3> {
        unit(self.state.encode(states))
    }
}

impl<O: Encoder, H: StateEncoder> Measurement for SharpMatch<O, H> {
    type Observations = O::Input;
    /// Features of length 1, [B, T, E]; NaN where an observation was lost.
    type Cues = Tensor<3>;

    fn encode(&self, observations: &O::Input, phase: Phase) -> Tensor<3> {
        let (clean, lost) = observations.clone().screen();
        let features = unit(self.observation.encode(clean, phase)); // [B, T, E]
        let lost = lost.unsqueeze_dim::<3>(2).expand(features.dims());
        features.mask_fill(lost, f64::NAN)
    }

    fn log_likelihood(&self, cues: &Tensor<3>, t: usize, states: Tensor<3>) -> Tensor<2> {
        let (seen, lost) = cues.clone().slice_dim(1, t..t + 1).screen(); // [B, 1, E], [B, 1]
        let cosine = (self.places(states) * seen).sum_dim(2).squeeze_dim::<2>(2); // [B, N]
        let log = cosine * self.sharpness().reshape([1, 1]) * self.tempering;
        let dims = log.dims();
        log.mask_fill(lost.expand(dims), f64::NAN)
    }
}
