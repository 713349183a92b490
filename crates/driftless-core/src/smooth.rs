//! Looking back: whole paths drawn from what a filter believed at each step.

use crate::belief::Belief;
use crate::draws::Draws;
use crate::particles::Particles;
use crate::weights::Weights;

/// How probable it is to come from one state to another.
pub trait Transition {
    /// Writes log p(s_{t+1} = `to` | s_t) of each particle of step t, up to a constant.
    fn log_density(&mut self, t: usize, from: &Particles, to: &[f32], log: &mut [f32]);
}

/// Backward simulation (Godsill, Doucet & West 2004): from the last step to the first, the particle that a later one
/// came from, by weight and density. M states for each step; the m-th of all steps are one path.
pub fn backward_simulation(
    beliefs: &[Belief],
    transition: &mut dyn Transition,
    paths: usize,
    draws: &mut dyn Draws,
) -> Vec<Particles> {
    let mut drawn: Vec<Particles> = beliefs.iter().map(|belief| Particles::new(belief.space())).collect();
    let (mut weights, mut log, mut to) = (Weights::default(), Vec::new(), Vec::new());
    for (t, belief) in beliefs.iter().enumerate().rev() {
        log.resize(belief.particles.len(), 0.0);
        for path in 0..paths {
            weights.clone_from(&belief.weights);
            if let Some(later) = drawn.get(t + 1) {
                to.clear();
                to.extend(later.state(path));
                transition.log_density(t, &belief.particles, &to, &mut log);
                weights.reweight(&log);
            }
            let chosen = choose(weights.linear(), draws.uniform());
            to.clear();
            to.extend(belief.particles.state(chosen));
            drawn[t].push(&to);
        }
    }
    drawn
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
