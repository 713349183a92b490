//! A measurement that says nothing where nothing was measured.

use super::{Measurement, Screen};
use crate::dropout::Phase;
use burn::module::Module;
use burn::tensor::Tensor;

/// A measurement by features, of sensors that are silent at some steps: there the likelihood is 1 for all states. Weights
/// stay as they are, the evidence is 1, and nothing is learned. Without this a lost observation counts as a collapse,
/// since a camera ought to see something at every step.
#[derive(Module, Debug)]
pub struct WhereSeen<L: Measurement<Cues = Tensor<3>>> {
    /// What is said where something was measured.
    pub inner: L,
}

impl<L: Measurement<Cues = Tensor<3>>> Measurement for WhereSeen<L> {
    type Observations = L::Observations;
    /// Features, [B, T, E]; NaN where nothing was measured.
    type Cues = Tensor<3>;

    fn encode(&self, observations: &L::Observations, phase: Phase) -> Tensor<3> {
        self.inner.encode(observations, phase)
    }

    fn log_likelihood(&self, cues: &Tensor<3>, t: usize, states: Tensor<3>) -> Tensor<2> {
        let (_, silent) = cues.clone().slice_dim(1, t..t + 1).screen(); // [B, 1]
        let log = self.inner.log_likelihood(cues, t, states);
        let dims = log.dims();
        log.mask_fill(silent.expand(dims), 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FeatureMatch;
    use crate::nets::{Activation, PoseEncoder, StateFeatures, VectorEncoder};
    use crate::parameters::{Init, gradients};
    use crate::space::Space;
    use crate::testing::{f64s, numbers};
    use burn::tensor::{DType, Device};

    /// One step of two sequences, the second of which measured nothing.
    #[test]
    fn silence_is_not_a_collapse() {
        let mut init = Init::new(3, &Device::flex().autodiff(), DType::F64);
        let features = StateFeatures::new(Space::SE2, vec![0.0; 3], vec![1.0; 3]);
        let observation = VectorEncoder::new(2, &[4], Activation::Linear, &mut init);
        let inner = FeatureMatch::new(observation, PoseEncoder::new(features, &[4], &mut init));
        let measurement = WhereSeen { inner };
        let seen = f64s::<3>([[[0.3, -0.2]], [[f64::NAN, 1.0]]]);
        let cues = measurement.encode(&seen, Phase::Evaluation);
        let states = f64s::<3>([[[0.0, 1.0, 2.0], [3.0, -1.0, 0.3]]; 2]);
        let log = measurement.log_likelihood(&cues, 0, states.clone());
        let alone = numbers(&measurement.inner.log_likelihood(&cues, 0, states));
        let found = numbers(&log);
        assert!(found[..2] == alone[..2] && alone[2..].iter().all(|log| log.is_nan()));
        assert_eq!(found[2..], [0.0; 2]);
        let slopes = gradients(&measurement, &log.sum().backward());
        assert!(slopes.iter().flat_map(|slope| &slope.values).all(|slope| slope.is_finite()));
        assert!(slopes.iter().flat_map(|slope| &slope.values).any(|slope| *slope != 0.0));
    }
}
