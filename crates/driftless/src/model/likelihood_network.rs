//! DPF's measurement model: a network that sees the features of an observation and of a state.

use super::matching::screened_features;
use super::{Encoder, Learnable, Measurement, Screen};
use crate::dropout::Phase;
use crate::nets::dense::multiply;
use crate::nets::{Activation, Dense, Mlp, StateFeatures};
use crate::parameters::Init;
use burn::module::{Module, Param};
use burn::tensor::{Tensor, activation};

/// How wide the layers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LikelihoodWidths {
    /// Features of an observation, E.
    pub encoding: usize,
    /// Units of both hidden layers.
    pub hidden: usize,
}

impl LikelihoodWidths {
    /// 128 and 128.
    pub const RELEASED: Self = Self { encoding: 128, hidden: 128 };
}

/// l = m + (1 - m) sigmoid(net(e, features of s)) with two hidden ReLU layers and the floor
/// m = 0.004, so log l is in [log m, 0] (Jonschkowski et al. 2018).
///
/// The first layer is (e, f) W + b = e W_e + f W_f + b. All particles share e W_e, which is computed
/// once a step; the network is the same as with e copied to every particle.
///
/// An observation that is not finite is lost, as with [`FeatureMatch`](super::FeatureMatch).
#[derive(Module, Debug)]
pub struct LikelihoodNetwork<O: Learnable> {
    /// Features of observations.
    pub observation: O,
    /// W_e, [E, hidden].
    pub by_observation: Param<Tensor<2>>,
    /// W_f and b, from the features of states.
    pub by_state: Dense,
    /// The second hidden layer, and the number whose sigmoid counts.
    pub rest: Mlp,
    #[module(skip)]
    states: StateFeatures,
    #[module(skip)]
    floor: f64,
}

impl<O: Learnable> LikelihoodNetwork<O> {
    /// A network with the first weights of Sonnet 1.
    pub fn new(observation: O, widths: LikelihoodWidths, states: StateFeatures, init: &mut Init) -> Self {
        let LikelihoodWidths { encoding, hidden } = widths;
        // Two parts of one layer: a unit's inputs are those of both.
        let std = ((encoding + states.count()) as f64).sqrt().recip();
        Self {
            observation,
            by_observation: init.truncated_normal([encoding, hidden], std),
            by_state: Dense {
                weight: init.truncated_normal([states.count(), hidden], std),
                bias: init.constant([hidden], 0.0),
            },
            rest: Mlp::new(hidden, &[hidden, 1], Activation::Linear, init),
            states,
            floor: 0.004,
        }
    }

    /// Another floor.
    ///
    /// # Panics
    /// If it is not in (0, 1): an impossible observation would have log-likelihood -∞.
    pub fn with_floor(self, floor: f64) -> Self {
        assert!(floor > 0.0 && floor < 1.0, "the least likelihood must be in (0, 1), not {floor}");
        Self { floor, ..self }
    }
}

impl<O: Encoder> Measurement for LikelihoodNetwork<O> {
    type Observations = O::Input;
    /// Features, [B, T, E]; NaN where an observation was lost.
    type Cues = Tensor<3>;

    fn encode(&self, observations: &O::Input, phase: Phase) -> Tensor<3> {
        screened_features(&self.observation, observations, phase)
    }

    fn log_likelihood(&self, cues: &Tensor<3>, t: usize, states: Tensor<3>) -> Tensor<2> {
        let (seen, lost) = cues.clone().slice_dim(1, t..t + 1).screen(); // [B, 1, E], [B, 1]
        let seen = multiply(seen, self.by_observation.val()); // [B, 1, hidden]
        let hidden = Activation::Relu.apply(self.by_state.forward(self.states.of(&states)) + seen);
        let sure = activation::sigmoid(self.rest.forward(hidden)).squeeze_dim::<2>(2); // [B, N]
        // Rounding can make the sum exceed 1.
        let log = (sure * (1.0 - self.floor) + self.floor).clamp_max(1.0).log();
        let lost = lost.expand(log.dims());
        log.mask_fill(lost, f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nets::VectorEncoder;
    use crate::parameters::values;
    use crate::space::Space;
    use crate::testing::{assert_close, f64s, numbers};
    use burn::tensor::{DType, Device};

    fn network(precision: DType) -> LikelihoodNetwork<VectorEncoder> {
        let mut init = Init::new(9, &Device::flex().autodiff(), precision);
        let observation = VectorEncoder::new(2, &[3], Activation::Linear, &mut init);
        let states = StateFeatures::new(Space::SE2, vec![1.0, 2.0, 0.0], vec![2.0, 2.0, 1.0]);
        LikelihoodNetwork::new(observation, LikelihoodWidths { encoding: 3, hidden: 6 }, states, &mut init)
    }

    /// e copied to every particle and concatenated with f, through one layer of both parts.
    #[test]
    fn equals_the_concatenated_form() {
        let network = network(DType::F64);
        let cues = f64s::<3>([[[9.0; 3], [0.5, -1.0, 2.0]], [[9.0; 3], [1.5, 0.1, -0.7]]]);
        let states = f64s::<3>([[[0.0, 1.0, 2.0], [3.0, -1.0, 0.3]], [[1.0, 1.0, -2.0], [0.5, 4.0, 1.0]]]);
        let copies = cues.clone().slice_dim(1, 1..2).expand([2, 2, 3]);
        let joint = Tensor::cat(vec![copies, network.states.of(&states)], 2); // [B, N, E + 4]
        let parts = vec![network.by_observation.val(), network.by_state.weight.val()];
        let weight = Param::from_tensor(Tensor::cat(parts, 0).detach());
        let bias = network.by_state.bias.clone();
        let first = Activation::Relu.apply(Dense { weight, bias }.forward(joint));
        let expected: Vec<f64> = numbers(&network.rest.forward(first))
            .iter()
            .map(|z| (0.996 / (1.0 + (-z).exp()) + 0.004).ln())
            .collect();
        // Sums of 7 numbers of order 1.
        assert_close(&numbers(&network.log_likelihood(&cues, 1, states)), &expected, 1e-13);
    }

    /// Whatever the network says, l is in [m, 1] and has a finite gradient; NaN never.
    #[test]
    fn bounds() {
        for (floor, precision) in [(0.004, DType::F32), (0.3, DType::F32), (1e-9, DType::F64)] {
            let mut network = network(precision).with_floor(floor);
            let tensor = |values: [[[f64; 3]; 2]; 1]| {
                Tensor::<3>::from_data(values, (&Device::flex().autodiff(), precision))
            };
            for (scale, logit) in [(0.0, 0.0), (1.0, -1e4), (1.0, 1e4), (1e8, 0.0), (1e8, -1e12), (1e8, 1e12)]
            {
                let init = Init::new(1, &Device::flex().autodiff(), precision);
                network.rest.layers[1].bias = init.constant([1], logit);
                let states = tensor([[[scale, -scale, 1.0], [-scale, scale, 2.0]]]).require_grad();
                let cues = tensor([[[scale; 3], [0.0; 3]]]);
                let log = network.log_likelihood(&cues, 0, states.clone());
                // 32 bits round the floor by a part in 10^7.
                let least = floor.ln() - 1e-6;
                assert!(numbers(&log).iter().all(|&log| log >= least && log <= 0.0), "{log}");
                let gradient = numbers(&states.grad(&log.sum().backward()).unwrap());
                assert!(gradient.iter().all(|g| g.is_finite()), "{gradient:?}");
            }
        }
    }

    /// A lost observation is NaN for its own step and sequence, and trains nothing to anybody.
    #[test]
    fn lost_observations() {
        let network = network(DType::F64);
        let seen = f64s::<3>([[[1.0, 2.0], [f64::NAN, 2.0]], [[1.0, f64::INFINITY], [1.0, 2.0]]]);
        let cues = network.encode(&seen, Phase::Evaluation);
        let states = f64s::<3>([[[0.0, 1.0, 2.0], [3.0, -1.0, 0.3]]; 2]);
        let log = [0, 1].map(|t| network.log_likelihood(&cues, t, states.clone()));
        let lost = |log: &Tensor<2>| numbers(log).iter().map(|log| log.is_nan()).collect::<Vec<_>>();
        assert_eq!(lost(&log[0]), [false, false, true, true]);
        assert_eq!(lost(&log[1]), [true, true, false, false]);
        let [first, second] = log.map(|log| log.clone().mask_fill(log.is_nan(), 0.0).sum());
        let found = crate::parameters::gradients(&network, &(first + second).backward());
        assert_eq!(found.len(), values(&network).len());
        assert!(found.iter().flat_map(|g| &g.values).all(|g| g.is_finite()), "{found:?}");
    }

    /// By hand: 132·128 + 128, 128·128 + 128, 128 + 1.
    #[test]
    fn parameters_of_the_released_network() {
        let mut init = Init::new(1, &Device::flex(), DType::F32);
        let states = StateFeatures::new(Space::SE2, vec![0.0; 3], vec![1.0; 3]);
        let observation = VectorEncoder::new(1, &[128], Activation::Relu, &mut init);
        let network = LikelihoodNetwork::new(observation, LikelihoodWidths::RELEASED, states, &mut init);
        let count = values(&network).iter().map(|value| value.values.len()).sum::<usize>();
        assert_eq!(count - 256, 33_665);
    }

    #[test]
    #[should_panic(expected = "the least likelihood must be in (0, 1), not 0")]
    fn no_floor_no_network() {
        network(DType::F32).with_floor(0.0);
    }
}
