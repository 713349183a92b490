//! How a state changes by itself, where nothing says it: changes as a linear function of the coordinates and of cosines and
//! sines of angles, learned from the paths that were drawn. A pendulum's speed follows the sine of its angle, its angle the speed.

use super::basis::{Basis, Range};
use super::motion::State;
use super::sums::Sums;
use driftless_core::{Particles, Space};
use driftless_world::pose::wrap;

/// Parts of the episodes, one of which says whether what the others learned holds.
const PARTS: usize = 5;
/// A law is believed if it explains this share of the variance of changes of other paths, in the mean over coordinates. Of a
/// random walk none explains any.
const WORTH: f64 = 0.02;
/// Changes between two steps of a path, at least, for each number that is learned.
const CHANGES_EACH: f64 = 10.0;

/// A law of changes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    basis: Basis,
    /// A row for each coordinate.
    weights: Vec<Vec<f64>>,
}

/// A law that was learned, and how far changes are from it.
pub(super) struct Learned {
    pub(super) field: Field,
    /// Standard deviations of a step.
    pub(super) noise: Vec<f64>,
}

impl Field {
    /// What was stored; nothing if it does not fit.
    pub(super) fn of(range: &Range, numbers: &[f64]) -> Option<Self> {
        let basis = basis(range)?;
        let count = range.space().dimension();
        let fits = numbers.len() == count * basis.len() && numbers.iter().all(|x| x.is_finite());
        let weights = numbers.chunks_exact(basis.len()).map(<[f64]>::to_vec).collect();
        fits.then_some(Self { basis, weights })
    }

    /// To be stored.
    pub(super) fn numbers(&self) -> Vec<f64> {
        self.weights.concat()
    }

    /// By how much a state changes in a step.
    pub(super) fn changes(&self, state: &[f64]) -> Vec<f64> {
        let row = self.basis.row(state);
        self.weights.iter().map(|weights| weights.iter().zip(&row).map(|(w, a)| w * a).sum()).collect()
    }

    /// The same of many states, a row for each.
    pub(super) fn all_changes(&self, states: &Particles) -> Vec<f32> {
        let rows = self.basis.rows(states);
        let of = |row: &[f32], weights: &Vec<f64>| -> f32 {
            weights.iter().zip(row).map(|(w, a)| *w as f32 * a).sum()
        };
        rows.chunks_exact(self.basis.len())
            .flat_map(|row| self.weights.iter().map(move |w| of(row, w)))
            .collect()
    }

    /// The law of the changes along paths, if there is one that holds for paths it was not learned from.
    pub(super) fn learn(range: &Range, paths: &[Vec<Vec<State>>]) -> Option<Learned> {
        let (basis, space) = (basis(range)?, range.space());
        let parts: Vec<Sums> = (0..PARTS).map(|part| sums(&basis, space, paths, part)).collect();
        let count: f64 = parts.iter().map(|part| part.count).sum();
        if count < CHANGES_EACH * basis.len() as f64 {
            return None;
        }
        let mut explained = vec![[0.0; 2]; space.dimension()];
        for part in parts.iter().filter(|part| part.count > 0.0) {
            let mut others = Sums::total(&parts);
            others.plus(-1.0, part);
            let errors = part.errors(&others.solve()?);
            // A drift alone is what is known without a law.
            let drifts = part.errors(&others.means());
            for (sum, both) in explained.iter_mut().zip(errors.iter().zip(drifts)) {
                *sum = [sum[0] + both.0, sum[1] + both.1];
            }
        }
        let shares = explained.iter().map(|[law, drift]| 1.0 - law / drift.max(f64::MIN_POSITIVE));
        let share = shares.sum::<f64>() / space.dimension() as f64;
        if share.is_nan() || share < WORTH {
            return None;
        }
        let all = Sums::total(&parts);
        let weights = all.solve()?;
        let noise = all.errors(&weights).iter().map(|error| (error / all.count).sqrt()).collect();
        Some(Learned { field: Self { basis, weights }, noise })
    }
}

fn basis(range: &Range) -> Option<Basis> {
    Basis::new(range, 1, usize::MAX)
}

/// Changes along the paths of some episodes, against the states they begin at; all paths of an episode count as one.
fn sums(basis: &Basis, space: Space, paths: &[Vec<Vec<State>>], part: usize) -> Sums {
    let mut sums = Sums::new(basis.len(), space.dimension());
    for path in paths.iter().skip(part).step_by(PARTS) {
        for pair in path.windows(2) {
            let weight = 1.0 / pair[0].len().max(1) as f64;
            let rows = basis.rows(&Particles::from_states(space, &pair[0]));
            for ((from, to), row) in pair[0].iter().zip(&pair[1]).zip(rows.chunks_exact(basis.len())) {
                let change = |(k, (to, from)): (usize, (&f32, &f32))| {
                    let change = f64::from(*to) - f64::from(*from);
                    if space.is_angle(k) { wrap(change) } else { change }
                };
                let changes: Vec<f64> = to.iter().zip(from).enumerate().map(change).collect();
                sums.add(row, &changes, weight);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::robot::coordinates::testing::{angle_and_level, normalisation};
    use driftless_world::random::Random;

    /// Paths of a pendulum, θ' = θ + 0.2 ω, ω' = ω - 0.4 sin θ, with noise of 0.02 and 0.05; or of random walks.
    fn paths(is_pendulum: bool) -> Vec<Vec<Vec<State>>> {
        let mut random = Random::new(8);
        let mut one = |_| {
            let (mut angle, mut speed) = (random.range(-1.0, 1.0), random.normal());
            let mut step = |_| {
                let pull = if is_pendulum { -0.4 * angle.sin() } else { 0.0 };
                angle += if is_pendulum { 0.2 * speed } else { 0.0 } + 0.02 * random.normal();
                speed += pull + 0.05 * random.normal();
                vec![vec![wrap(angle) as f32, speed as f32]]
            };
            (0..60).map(&mut step).collect()
        };
        (0..10).map(&mut one).collect()
    }

    #[test]
    fn the_law_of_a_pendulum_is_found() {
        let range = Range::new(&normalisation(angle_and_level([0.2, 0.2], [1.0, 2.0])));
        let Learned { field, noise } = Field::learn(&range, &paths(true)).unwrap();
        // 600 changes: noise within 3 %, three of that; a slope of the sine within 0.05 / √600 / 0.6.
        assert!((noise[0] / 0.02 - 1.0).abs() < 0.1 && (noise[1] / 0.05 - 1.0).abs() < 0.1, "{noise:?}");
        let found = field.changes(&[0.7, 0.5]);
        assert!((found[0] - 0.1).abs() < 0.01 && (found[1] + 0.4 * 0.7_f64.sin()).abs() < 0.02, "{found:?}");
        let many = field.all_changes(&Particles::from_states(range.space(), [[0.7_f32, 0.5]]));
        assert!(many.iter().zip(found).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-6));
        assert_eq!(Field::of(&range, &field.numbers()), Some(field));
        assert!(Field::of(&range, &[0.0; 3]).is_none());
    }

    #[test]
    fn a_random_walk_has_no_law() {
        let range = Range::new(&normalisation(angle_and_level([0.2, 0.2], [1.0, 2.0])));
        assert!(Field::learn(&range, &paths(false)).is_none());
    }
}
