//! The paper's measurement model: how alike are the features of an observation and of a state.

use super::{Learnable, Measurement};
use crate::dropout::Phase;
use burn::module::Module;
use burn::tensor::{Bool, Tensor};

/// The easy door: features of observations.
pub trait Encoder: Learnable {
    /// What a batch carries: images [B, T, C, H, W], vectors [B, T, V], or anything else.
    type Input: Screen;

    /// Features [B, T, E]; in training, with the phase's dropout.
    fn encode(&self, input: Self::Input, phase: Phase) -> Tensor<3>;
}

/// Observations among which those can be found that say nothing, because they are not finite.
///
/// This happens before an encoder sees them: a NaN that enters a network poisons the gradient of all
/// its weights, whatever is done with the output.
pub trait Screen: Clone {
    /// With zeros in the steps that are not finite, and which these are, [B, T].
    fn screen(self) -> (Self, Tensor<2, Bool>);
}

impl<const D: usize> Screen for Tensor<D> {
    /// [B, T, ...]: a step is lost if any of its numbers is not finite.
    fn screen(self) -> (Self, Tensor<2, Bool>) {
        let dims = self.dims();
        let flat = self.reshape([dims[0] as i64, dims[1] as i64, -1]); // [B, T, ·]
        let lost = flat.clone().is_finite().bool_not().any_dim(2); // [B, T, 1]
        let everywhere = lost.clone().expand(flat.dims());
        (flat.mask_fill(everywhere, 0.0).reshape(dims), lost.squeeze_dim(2))
    }
}

/// The easy door: features of states.
pub trait StateEncoder: Learnable {
    /// [B, N, S] → [B, N, E].
    fn encode(&self, states: Tensor<3>) -> Tensor<3>;
}

/// l = 1 / (ε + c) with the cosine distance c = 1 - cos(e, ê): paper section on the measurement
/// model. c is clamped at 0, because rounding can make a cosine exceed 1 and the logarithm NaN.
///
/// An observation that is not finite is lost: its likelihood is NaN for all states, so that a filter
/// keeps its weights and reports it, and no gradient comes from it.
#[derive(Module, Debug)]
pub struct FeatureMatch<O: Learnable, H: Learnable> {
    /// Features of observations, h.
    pub observation: O,
    /// Features of states, ĥ.
    pub state: H,
    #[module(skip)]
    epsilon: f64,
}

impl<O: Learnable, H: Learnable> FeatureMatch<O, H> {
    /// ε = 1e-8, as in the authors' code: likelihoods are at most 1e8.
    pub fn new(observation: O, state: H) -> Self {
        Self { observation, state, epsilon: 1e-8 }
    }

    /// Another ε.
    ///
    /// # Panics
    /// If it is not positive: equal features would have infinite likelihood.
    pub fn with_epsilon(self, epsilon: f64) -> Self {
        assert!(epsilon > 0.0, "epsilon must be positive, not {epsilon}");
        Self { epsilon, ..self }
    }
}

impl<O: Learnable, H: Learnable> FeatureMatch<O, H> {
    /// ε.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }
}

impl<O: Encoder, H: StateEncoder> Measurement for FeatureMatch<O, H> {
    type Observations = O::Input;
    /// Features, [B, T, E]; NaN where an observation was lost.
    type Cues = Tensor<3>;

    fn encode(&self, observations: &O::Input, phase: Phase) -> Tensor<3> {
        screened_features(&self.observation, observations, phase)
    }

    fn log_likelihood(&self, cues: &Tensor<3>, t: usize, states: Tensor<3>) -> Tensor<2> {
        let seen = cues.clone().slice_dim(1, t..t + 1); // [B, 1, E]
        log_match(self.state.encode(states), seen, self.epsilon)
    }
}

/// Features of observations, [B, T, E]; NaN where an observation was not finite. The encoder itself sees
/// zeros there, and learns nothing.
pub(super) fn screened_features<O: Encoder>(encoder: &O, observations: &O::Input, phase: Phase) -> Tensor<3> {
    let (clean, lost) = observations.clone().screen();
    let features = encoder.encode(clean, phase);
    let lost = lost.unsqueeze_dim::<3>(2).expand(features.dims());
    features.mask_fill(lost, f64::NAN)
}

/// -log(ε + max(0, 1 - cos)), [B, N, E] and [B, 1 or N, E] → [B, N]. A dead feature (all zeros)
/// has cosine 0 with everything, and no gradient. A feature that is not finite makes the result NaN,
/// which has no gradient either; nor has a cosine of 1 or, by rounding, more.
pub fn log_match(states: Tensor<3>, seen: Tensor<3>, epsilon: f64) -> Tensor<2> {
    let ((states, unknown), (seen, lost)) = (states.screen(), seen.screen()); // [B, N], [B, 1 or N]
    let unusable = lost.expand(unknown.dims()).bool_or(unknown);
    let cosine = (unit(states) * unit(seen)).sum_dim(2).squeeze_dim::<2>(2); // [B, N]
    let gap = -cosine + 1.0;
    let ended = gap.clone().lower_equal_elem(0.0);
    let log = -(gap.mask_fill(ended, 0.0) + epsilon).log();
    log.mask_fill(unusable, f64::NAN)
}

/// x / √max(Σ x², 1e-12), over the last dimension.
pub(super) fn unit(features: Tensor<3>) -> Tensor<3> {
    // A common factor does not matter, so the gradient need not know of this one, which keeps
    // squares of large features representable; small ones are left alone because of the limit.
    let large = features.clone().detach().abs().max_dim(2).clamp_min(1.0); // [B, ·, 1]
    let features = features / large;
    let length = features.clone().square().sum_dim(2).clamp_min(1e-12).sqrt();
    features / length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, f64s, numbers};

    /// Golden: (3, 4) and (4, 3) have cosine .96, so l = 1 / (.04 + ε).
    #[test]
    fn golden_likelihood() {
        let (state, seen) = (f64s::<3>([[[3.0, 4.0]]]).require_grad(), f64s::<3>([[[4.0, 3.0]]]));
        let likelihood = log_match(state.clone(), seen.clone(), 1e-8).exp();
        assert_close(&numbers(&likelihood), &[24.999_993_75], 1e-8);
        assert_close(&numbers(&log_match(state.clone(), seen, 1e-300).exp()), &[25.0], 1e-11);
        let gradient = numbers(&state.grad(&likelihood.backward()).unwrap());
        // Length does not matter: e · dl/de = 0. The direction does.
        assert!((3.0 * gradient[0] + 4.0 * gradient[1]).abs() < 1e-10, "{gradient:?}");
        assert!(gradient[0] > 1.0);
    }

    /// Squares of 1e25 are infinite in 32 bits, directions are not: the golden numbers again.
    #[test]
    fn large_features_have_directions() {
        let device = burn::tensor::Device::flex().autodiff();
        let state = Tensor::<3>::from_data([[[3e25_f32, 4e25]]], &device).require_grad();
        let log = log_match(state.clone(), Tensor::from_data([[[4e25_f32, 3e25]]], &device), 1e-8);
        // A cosine in 32 bits is off by a few 6e-8, its distance of .04 by a few 1.5e-6 of itself.
        assert_close(&numbers(&log), &[25.0_f64.ln()], 1e-5);
        let gradient = numbers(&state.grad(&log.backward()).unwrap());
        assert!(gradient.iter().all(|g| g.is_finite()) && gradient[0] > 0.0, "{gradient:?}");
    }

    /// A dead feature has cosine 0 with everything: l = 1 / (1 + ε), no gradient.
    #[test]
    fn dead_features() {
        let state = f64s::<3>([[[0.0, 0.0], [1.0, 0.0]]]).require_grad();
        let log = log_match(state.clone(), f64s([[[0.0, 2.0]]]), 1e-8);
        assert_close(&numbers(&log), &[-1e-8, -1e-8], 1e-12);
        let gradient = numbers(&state.grad(&log.sum().backward()).unwrap());
        assert!(gradient.iter().all(|g| g.is_finite()), "{gradient:?}");
        let dead = log_match(state.clone(), f64s([[[0.0, 0.0]]]), 1e-8);
        assert_close(&numbers(&dead), &[-1e-8, -1e-8], 1e-12);
        assert_eq!(numbers(&state.grad(&dead.sum().backward()).unwrap()), [0.0; 4]);
    }

    /// Where features agree to the last bit the likelihood is at its end, and nothing gradients: by tensors and by kernels.
    #[test]
    fn a_cosine_of_one_has_no_gradient() {
        use driftless_kernels::Cpu;
        use driftless_kernels::mlp::{Mlp, MlpGradient};
        use driftless_kernels::scan::{First, Motion, PoseNet, Sequence, Trace, TraceMemory};
        let device = burn::tensor::Device::flex().autodiff();
        let mut features = [0.0_f32; 16];
        features[3] = 1.0;
        let seen = Tensor::<3>::from_data([[features]], &device).require_grad();
        let state = Tensor::<3>::from_data([[features]], &device).require_grad();
        let log = log_match(state.clone(), seen.clone(), 1e-8);
        let by_tensors = log.backward();
        for by in [state.grad(&by_tensors), seen.grad(&by_tensors)] {
            assert_eq!(numbers(&by.unwrap()), [0.0; 16]);
        }
        let mut layers = Mlp::new(4, &[16], true);
        layers.layers_mut()[0].set_by(|_, _| 0.0, &features);
        let net = PoseNet { layers, centre: [0.0; 2], extent: [1.0; 2], epsilon: 1e-8 };
        let way = (&Motion { side: 1.0, noise: [0.0; 3] }, First::Moves);
        let (one, offsets) = ([[0.0; 3]], [0.5]);
        let sequence =
            Sequence { first: &one, actions: &one, noise: &one, offsets: &offsets, seen: &features };
        let (mut memory, mut trace, mut sum) = <(TraceMemory, Trace, MlpGradient)>::default();
        net.follow(Cpu::best(), way, (&sequence, 0..1), &mut memory, &mut trace);
        assert_close(&[f64::from(trace.log_likelihoods[0])], &numbers(&log), 1e-5);
        let mut by_seen = [0.0; 16];
        net.go_back(Cpu::best(), (&trace, 0..1, &[1.0], &features), &mut memory, (&mut sum, &mut by_seen));
        assert_eq!(by_seen, [0.0; 16]);
        assert!(sum[0].bias.iter().all(|&by| by == 0.0), "{:?}", sum[0].bias);
    }

    /// In 32 bits the cosine of a vector with itself often exceeds 1.
    #[test]
    fn identical_features_are_never_nan() {
        let mut random = driftless_world::random::Random::new(3);
        let values: Vec<f32> = (0..1000 * 7).map(|_| random.normal() as f32 * 3.0).collect();
        let data = burn::tensor::TensorData::new(values, [1, 1000, 7]);
        let features = Tensor::<3>::from_data(data, &burn::tensor::Device::flex());
        let log = log_match(features.clone(), features, 1e-8);
        let most = -(1e-8_f64.ln()) + 1e-4;
        assert!(numbers(&log).iter().all(|&log| log > 10.0 && log < most), "{log}");
    }
}
