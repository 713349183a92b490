//! Adam: steps by the mean gradient over its root mean square.

/// Adam (Kingma & Ba 2015), in the form at the end of their section 2, which TensorFlow 1 computes:
///
/// m ← β₁ m + (1 - β₁) g, v ← β₂ v + (1 - β₂) g²,
/// θ ← θ - η √(1 - β₂ᵗ) / (1 - β₁ᵗ) · m / (√v + ε̂).
///
/// ε̂ stands beside the biased √v. Their Algorithm 1, as in PyTorch, has ε beside the unbiased one:
/// the same where gradients are large against ε √(1 - β₂ᵗ).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// β₁, in [0, 1).
    pub beta1: f64,
    /// β₂, in [0, 1).
    pub beta2: f64,
    /// ε̂, positive.
    pub epsilon: f64,
}

impl Default for Adam {
    /// β₁ = 0.9, β₂ = 0.999, ε̂ = 1e-8: the published ones, which the authors' code keeps.
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }
}

impl Adam {
    /// η √(1 - β₂ᵗ) / (1 - β₁ᵗ) of update t = 1, 2, …: the same for all parameters.
    pub(super) fn unbiased_rate(&self, rate: f64, update: u64) -> f64 {
        let t = update as f64;
        rate * ((1.0 - self.beta2.powf(t)).sqrt() / (1.0 - self.beta1.powf(t)))
    }

    /// What is taken from a parameter, given [`Adam::unbiased_rate`].
    pub(super) fn change(&self, state: [&mut f64; 2], gradient: f64, unbiased_rate: f64) -> f64 {
        let Self { beta1, beta2, epsilon } = *self;
        let [m, v] = state;
        *m = beta1 * *m + (1.0 - beta1) * gradient;
        *v = beta2 * *v + (1.0 - beta2) * gradient * gradient;
        unbiased_rate * *m / (v.sqrt() + epsilon)
    }
}
