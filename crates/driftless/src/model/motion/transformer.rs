//! A learned displacement: a network that turns actions in the robot's frame into the world's.

use super::{Motion, per_particle};
use crate::nets::{Activation, Mlp, StateFeatures};
use crate::parameters::Init;
use crate::prior::row;
use crate::space::Space;
use burn::module::Module;
use burn::tensor::Tensor;

/// What an [`ActionTransformer`] is made of: the sizes of its layers, and statistics of the data that
/// bring its inputs and outputs to the size of one.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionTransformerConfig {
    /// Units of the hidden layers: 128, 128, 128 in DPF.
    pub hidden: Vec<usize>,
    /// Which coordinates are angles.
    pub space: Space,
    /// Mean of each coordinate of the state; unused for angles. S numbers.
    pub state_mean: Vec<f64>,
    /// Standard deviation of each coordinate; unused for angles. S numbers.
    pub state_std: Vec<f64>,
    /// Standard deviation of each number of an action. A numbers.
    pub action_std: Vec<f64>,
    /// Mean size of a step in each coordinate. S numbers.
    pub step_size: Vec<f64>,
}

/// f_θ(s, a) = MLP((x - mean) / std of linear coordinates, cos and sin of angles, a / std_a) · step
/// size: the paper's action transformer, DPF's learned odometry.
///
/// ```
/// use burn::tensor::{DType, Device, Tensor};
/// use driftless::Space;
/// use driftless::model::{ActionTransformer, ActionTransformerConfig, Motion};
/// use driftless::parameters::Init;
///
/// let config = ActionTransformerConfig {
///     hidden: vec![16],
///     space: Space::SE2,
///     state_mean: vec![500.0, 250.0, 0.0],
///     state_std: vec![200.0, 200.0, 1.0],
///     action_std: vec![20.0, 20.0, 0.5],
///     step_size: vec![15.0, 15.0, 0.3],
/// };
/// let device = Device::flex();
/// let motion = ActionTransformer::new(config, &mut Init::new(1, &device, DType::F32));
/// let states = Tensor::zeros([2, 7, 3], &device);
/// assert_eq!(motion.displacement(states, Tensor::zeros([2, 1, 3], &device)).dims(), [2, 7, 3]);
/// ```
#[derive(Module, Debug)]
pub struct ActionTransformer {
    net: Mlp,
    #[module(skip)]
    features: StateFeatures,
    #[module(skip)]
    config: ActionTransformerConfig,
}

impl ActionTransformer {
    /// With first weights of its own.
    ///
    /// # Panics
    /// If statistics of states differ in number, or a standard deviation is not positive.
    pub fn new(config: ActionTransformerConfig, init: &mut Init) -> Self {
        let ActionTransformerConfig { space, state_mean, state_std, action_std, step_size, .. } = &config;
        assert_eq!(state_mean.len(), step_size.len(), "as many step sizes as coordinates");
        assert!(action_std.iter().all(|&std| std > 0.0), "{config:?}");
        let features = StateFeatures::new(*space, state_mean.clone(), state_std.clone());
        let widths: Vec<usize> = config.hidden.iter().copied().chain([step_size.len()]).collect();
        let net = Mlp::new(features.count() + action_std.len(), &widths, Activation::Linear, init);
        Self { net, features, config }
    }
}

impl ActionTransformer {
    /// From features and action to the displacement in step sizes.
    pub(crate) fn net(&self) -> &Mlp {
        &self.net
    }

    /// Features of states.
    pub(crate) fn features(&self) -> &StateFeatures {
        &self.features
    }

    /// What it is made of.
    pub(crate) fn config(&self) -> &ActionTransformerConfig {
        &self.config
    }
}

impl Motion for ActionTransformer {
    fn displacement(&self, states: Tensor<3>, actions: Tensor<3>) -> Tensor<3> {
        let actions = per_particle(actions, &states) / row(&self.config.action_std, &states);
        let output = self.net.forward(Tensor::cat(vec![self.features.of(&states), actions], 2)); // [B, N, S]
        output * row(&self.config.step_size, &states)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{values, with_values};
    use crate::testing::{assert_close, f64s, numbers};
    use burn::tensor::{DType, Device};

    fn transformer(hidden: Vec<usize>) -> ActionTransformer {
        let config = ActionTransformerConfig {
            hidden,
            space: Space::SE2,
            state_mean: vec![1.0, 2.0, 9.0],
            state_std: vec![2.0, 4.0, 9.0],
            action_std: vec![0.5, 0.25, 0.1],
            step_size: vec![10.0, 20.0, 0.5],
        };
        ActionTransformer::new(config, &mut Init::new(4, &Device::flex().autodiff(), DType::F64))
    }

    /// The formula in plain loops, with a bias, for one hidden layer.
    #[test]
    fn displacement_is_the_formula() {
        let motion = transformer(vec![4]);
        let mut weights = values(&motion);
        weights[1].values = vec![5.0, -9.0, 0.3, 0.4];
        weights[3].values = vec![0.5, -0.6, 0.7];
        let motion = with_values(motion, &weights);
        let (pose, action) = ([2.0, -2.0, 2.5], [0.3, -0.2, 0.1]);
        let input =
            [0.5, -1.0, 2.5_f64.cos(), 2.5_f64.sin(), action[0] / 0.5, action[1] / 0.25, action[2] / 0.1];
        let layer = |input: &[f64], k: usize| -> Vec<f64> {
            let (weight, bias) = (&weights[k].values, &weights[k + 1].values);
            let sum = |j: usize| -> f64 {
                input.iter().enumerate().map(|(i, x)| x * weight[i * bias.len() + j]).sum::<f64>() + bias[j]
            };
            (0..bias.len()).map(sum).collect()
        };
        let hidden: Vec<f64> = layer(&input, 0).into_iter().map(|x| x.max(0.0)).collect();
        assert!(hidden.contains(&0.0) && hidden.iter().any(|&x| x > 0.0), "both sides of the kink");
        let output = layer(&hidden, 2);
        let expected = [output[0] * 10.0, output[1] * 20.0, output[2] * 0.5];
        let found = motion.displacement(f64s([[pose, pose]]), f64s([[action]]));
        assert_close(&numbers(&found), &[expected, expected].concat(), 1e-12);
    }

    #[test]
    #[should_panic(expected = "as many step sizes")]
    fn statistics_must_fit() {
        let config = ActionTransformerConfig { step_size: vec![1.0], ..transformer(vec![]).config };
        ActionTransformer::new(config, &mut Init::new(4, &Device::flex(), DType::F64));
    }
}
