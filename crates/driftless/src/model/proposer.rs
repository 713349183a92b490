//! States proposed from what is seen alone, for filters that start blind or have lost their way.

use super::{Cues, Learnable, Model};
use crate::dropout::drop_out;
use crate::nets::{Activation, Dense, Mlp};
use crate::parameters::Init;
use crate::space::direction;
use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::activation::relu;

/// Draws states given one observation.
pub trait Proposer<C>: Learnable {
    /// `count` states for what is seen at time t, with random numbers named by `seed`.
    ///
    /// # Shapes
    /// Result [B, count, S].
    fn propose(&self, cues: &C, t: usize, count: usize, seed: u64) -> Tensor<3>;
}

/// A model that can propose states, besides all it can do already.
#[derive(Module, Debug)]
pub struct WithProposer<M: Learnable, P: Learnable> {
    /// How states move and observations arise.
    pub model: M,
    /// Where states may be.
    pub proposer: P,
}

impl<M: Model, P: Proposer<Cues<M>>> Model for WithProposer<M, P> {
    type Transition = M::Transition;
    type Measurement = M::Measurement;

    fn transition(&self) -> &M::Transition {
        self.model.transition()
    }

    fn measurement(&self) -> &M::Measurement {
        self.model.measurement()
    }

    fn propose(&self, cues: &Cues<M>, t: usize, count: usize, seed: u64) -> Option<Tensor<3>> {
        Some(self.proposer.propose(cues, t, count, seed))
    }
}

/// Where poses may be: least and greatest x and y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateBox {
    /// Least x and y.
    pub low: [f64; 2],
    /// Greatest x and y.
    pub high: [f64; 2],
}

/// DPF's proposer of poses (Jonschkowski et al. 2018): features → 128, of which 85 % are dropped, in
/// use as in training, for this is its randomness → three times 128 → x and y in the box by tanh,
/// the heading by its cosine and sine. Each particle has a mask of its own.
///
/// Where features are not finite, an observation was lost; there poses are what the network makes of
/// zeros.
#[derive(Module, Debug)]
pub struct ParticleProposer {
    eye: Dense,
    mind: Mlp,
    #[module(skip)]
    within: StateBox,
}

/// How many of the first layer's units are kept.
const KEEP: f64 = 0.15;

impl ParticleProposer {
    /// As published, with layers of 128.
    pub fn new(features: usize, within: StateBox, init: &mut Init) -> Self {
        Self::with_units(128, features, within, init)
    }

    /// With layers of another size.
    pub fn with_units(units: usize, features: usize, within: StateBox, init: &mut Init) -> Self {
        let eye = Dense::new(features, units, init);
        let mind = Mlp::new(units, &[units, units, units, 4], Activation::Linear, init);
        Self { eye, mind, within }
    }
}

impl Proposer<Tensor<3>> for ParticleProposer {
    fn propose(&self, cues: &Tensor<3>, t: usize, count: usize, seed: u64) -> Tensor<3> {
        let seen = cues.clone().slice_dim(1, t..t + 1); // [B, 1, E]
        let lost = seen.clone().is_finite().bool_not();
        let looked = relu(self.eye.forward(seen.mask_fill(lost, 0.0))); // [B, 1, units]
        let [batch, _, units] = looked.dims();
        let masked = drop_out(looked.expand([batch, count, units]), KEEP, seed);
        let output = self.mind.forward(masked).tanh(); // [B, count, 4]
        let part = |k: usize| output.clone().slice_dim(2, k..k + 1);
        let StateBox { low, high } = self.within;
        let place = |k: usize| part(k) * (0.5 * (high[k] - low[k])) + 0.5 * (high[k] + low[k]);
        Tensor::cat(vec![place(0), place(1), direction(part(3), part(2))], 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{f64s, numbers};
    use burn::tensor::{DType, Device};

    const WITHIN: StateBox = StateBox { low: [-3.0, 10.0], high: [5.0, 11.0] };

    fn proposed(cues: &Tensor<3>, seed: u64) -> Vec<f64> {
        let mut init = Init::new(8, &Device::flex().autodiff(), DType::F64);
        numbers(&ParticleProposer::new(2, WITHIN, &mut init).propose(cues, 1, 40, seed))
    }

    /// Poses lie in the box, differ between particles and seeds, and know only their own time.
    #[test]
    fn one_mask_a_particle() {
        let cues = f64s::<3>([[[9.0, 9.0], [1.0, -2.0]], [[7.0, 7.0], [1.0, -2.0]]]);
        let poses = proposed(&cues, 1);
        for pose in poses.chunks_exact(3) {
            let inside = (-3.0..=5.0).contains(&pose[0]) && (10.0..=11.0).contains(&pose[1]);
            assert!(inside && pose[2].abs() <= std::f64::consts::PI, "{pose:?}");
        }
        let first: Vec<&[f64]> = poses[..120].chunks_exact(3).collect();
        for i in 0..40 {
            assert!((0..i).all(|j| first[i] != first[j]), "two particles share a mask");
        }
        assert_ne!(poses[..120], poses[120..], "sequences have masks of their own");
        assert_ne!(poses, proposed(&cues, 2));
        let other_times = f64s::<3>([[[0.0, 1.0], [1.0, -2.0]], [[0.0, 1.0], [1.0, -2.0]]]);
        assert_eq!(poses, proposed(&other_times, 1));
    }

    #[test]
    fn lost_observations_have_finite_proposals() {
        let poses = proposed(&f64s([[[1.0, 1.0], [f64::NAN, f64::INFINITY]]]), 1);
        assert!(poses.iter().all(|x| x.is_finite()));
    }
}
