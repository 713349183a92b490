//! RMSProp: steps by the gradient over its root mean square.

/// RMSProp (Tieleman & Hinton 2012) as TensorFlow 1 computes it, with ε inside of the root:
///
/// ms ← ρ ms + (1 - ρ) g², mom ← μ mom + η g / √(ms + ε), θ ← θ - mom.
///
/// PF-net trains with it, and the paper's House3D experiment after PF-net.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsProp {
    /// ρ, in [0, 1).
    pub decay: f64,
    /// μ, in [0, 1).
    pub momentum: f64,
    /// ε, positive.
    pub epsilon: f64,
    /// What ms is before the first update, not negative: 1 in TensorFlow 1, so that first steps are
    /// small; 0 in PyTorch and Keras.
    pub start: f64,
}

impl Default for RmsProp {
    /// ρ = 0.9, no momentum, ε = 1e-10, ms from 1: TensorFlow's own, which PF-net keeps.
    fn default() -> Self {
        Self { decay: 0.9, momentum: 0.0, epsilon: 1e-10, start: 1.0 }
    }
}

impl RmsProp {
    /// What is taken from a parameter.
    pub(super) fn change(&self, state: [&mut f64; 2], gradient: f64, rate: f64) -> f64 {
        let [ms, mom] = state;
        *ms = self.decay * *ms + (1.0 - self.decay) * gradient * gradient;
        *mom = self.momentum * *mom + rate * gradient / (*ms + self.epsilon).sqrt();
        *mom
    }
}
