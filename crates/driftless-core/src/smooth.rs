//! Looking back: whole paths drawn from what a filter believed at each step, and how probable each particle was after all.

#[cfg(test)]
mod tests;

use crate::belief::Belief;
use crate::draws::Draws;
use crate::motion::Density;
use crate::particles::Particles;
use crate::weights::Weights;

/// How probable it is to come from one state to another.
pub trait Transition {
    /// What is asked from here on is of step t: of its particles, and of states of the step after.
    fn prepare(&mut self, _t: usize, _from: &Particles, _to: &Particles) {}

    /// Writes log p(s_{t+1} = `to` | s_t) of each particle of step t, up to a constant; `to` is state m of those prepared for.
    fn log_density(&mut self, t: usize, from: &Particles, m: usize, to: &[f32], log: &mut [f32]);
}

/// The motion into each step but the first; the one into step t + 1 is in place t.
pub struct Motions<D>(pub Vec<D>);

impl<D: Density> Transition for Motions<D> {
    fn prepare(&mut self, t: usize, from: &Particles, to: &Particles) {
        if let Some(later) = self.0.get_mut(t + 1) {
            later.release();
        }
        self.0[t].prepare(from, to);
    }

    fn log_density(&mut self, t: usize, from: &Particles, m: usize, to: &[f32], log: &mut [f32]) {
        self.0[t].log_density(from, m, to, log);
    }
}

/// Memory of a look back, for one later state after the other.
struct Ancestry {
    weights: Weights,
    log: Vec<f32>,
    to: Vec<f32>,
}

impl Ancestry {
    /// As much as the largest belief needs.
    fn new(beliefs: &[Belief]) -> Self {
        let most = beliefs.iter().map(|belief| belief.particles.len()).max().unwrap_or(0);
        let mut weights = Weights::default();
        weights.reserve(most);
        Self { weights, log: Vec::with_capacity(most), to: Vec::new() }
    }

    /// p(s_t = s_i | s_{t+1}) ∝ w_i p(s_{t+1} | s_i), for state m of the step after. A state that no particle leads to says
    /// nothing of where it came from.
    fn of(
        &mut self,
        t: usize,
        belief: &Belief,
        (later, m): (&Particles, usize),
        transition: &mut dyn Transition,
    ) -> &Weights {
        let Self { weights, log, to } = self;
        log.resize(belief.particles.len(), 0.0);
        to.clear();
        to.extend(later.state(m));
        transition.log_density(t, &belief.particles, m, to, log);
        weights.copy_from(&belief.weights);
        weights.reweight(log);
        weights
    }
}

/// Backward simulation (Godsill, Doucet & West 2004): from the last step to the first, the particle that a later one
/// came from, by weight and density. M states for each step; the m-th of all steps are one path.
pub fn backward_simulation(
    beliefs: &[Belief],
    transition: &mut dyn Transition,
    paths: usize,
    draws: &mut dyn Draws,
) -> Vec<Particles> {
    let empty = |belief: &Belief| {
        let mut none = Particles::new(belief.space());
        none.reserve(paths);
        none
    };
    let mut drawn: Vec<Particles> = beliefs.iter().map(empty).collect();
    let (mut ancestry, mut chosen) = (Ancestry::new(beliefs), Vec::with_capacity(paths));
    for (t, belief) in beliefs.iter().enumerate().rev() {
        let (now, later) = drawn.split_at_mut(t + 1);
        let later = later.first();
        if let Some(later) = later {
            transition.prepare(t, &belief.particles, later);
        }
        chosen.clear();
        for m in 0..paths {
            let weights = match later {
                Some(later) => ancestry.of(t, belief, (later, m), transition),
                None => &belief.weights,
            };
            chosen.push(choose(weights.linear(), draws.uniform()) as u32);
        }
        now[t].gather(&belief.particles, &chosen);
    }
    drawn
}

/// What backward simulation is drawn from: the weight of each particle given all readings (forward filtering, backward
/// smoothing; Doucet, Godsill & Andrieu 2000, eq. 16). As many densities as pairs of particles.
///
/// w_{t|T}^i = Σ_j w_{t+1|T}^j w_t^i p(s_{t+1}^j | s_t^i) / Σ_k w_t^k p(s_{t+1}^j | s_t^k).
pub fn smoothed_weights(beliefs: &[Belief], transition: &mut dyn Transition) -> Vec<Weights> {
    let mut all: Vec<Weights> = beliefs.iter().map(|belief| belief.weights.clone()).collect();
    let mut ancestry = Ancestry::new(beliefs);
    let mut sums: Vec<f64> = Vec::new();
    for t in (0..beliefs.len().saturating_sub(1)).rev() {
        let (belief, later) = (&beliefs[t], &beliefs[t + 1].particles);
        transition.prepare(t, &belief.particles, later);
        sums.clear();
        sums.resize(belief.particles.len(), 0.0);
        for m in 0..later.len() {
            let share = f64::from(all[t + 1].linear()[m]);
            if share > 0.0 {
                let from = ancestry.of(t, belief, (later, m), transition);
                sums.iter_mut().zip(from.linear()).for_each(|(sum, w)| *sum += share * f64::from(*w));
            }
        }
        all[t].set_from_linear(sums.iter().map(|sum| *sum as f32));
    }
    all
}

/// The first particle whose cumulative weight exceeds u; the last with weight if rounding leaves a little.
fn choose(weights: &[f32], u: f64) -> usize {
    let mut left = u;
    let found = weights.iter().position(|&weight| {
        left -= f64::from(weight);
        left < 0.0
    });
    found.or_else(|| weights.iter().rposition(|&weight| weight > 0.0)).unwrap_or(0)
}
