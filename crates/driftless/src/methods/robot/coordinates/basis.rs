//! States as polynomials: of coordinates within their range, and of cosines and sines of angles.

use crate::learn::Normalisation;
use driftless_core::angles::cos_sin;
use driftless_core::{Particles, Space};

/// How far from the middle a polynomial goes on, in halves of the range of training; farther out it stays what it was. A line
/// means something there still, higher degrees soon do not.
fn end(degree: usize) -> f32 {
    match degree {
        0 | 1 => 4.0,
        2 => 1.5,
        _ => 1.15,
    }
}

/// Where states were in training.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Range {
    space: Space,
    /// Middle and inverse half of each coordinate's range.
    scale: Vec<[f32; 2]>,
}

impl Range {
    /// Of all known states.
    pub(super) fn new(normalisation: &Normalisation) -> Self {
        let of = |low: f64, high: f64, deviation: f64| {
            let half = if high > low { 0.5 * (high - low) } else { deviation };
            [(0.5 * (low + high)) as f32, (1.0 / half) as f32]
        };
        let all = normalisation.coordinates.iter();
        Self {
            space: normalisation.space(),
            scale: all.map(|one| of(one.low, one.high, one.deviation)).collect(),
        }
    }

    /// Half of the range of coordinate k.
    pub(super) fn half(&self, k: usize) -> f64 {
        f64::from(1.0 / self.scale[k][1])
    }

    /// The space they are in.
    pub(super) fn space(&self) -> Space {
        self.space
    }

    /// Variables of each coordinate: one, or cosine and sine of an angle.
    fn variables(&self) -> Vec<(usize, bool)> {
        let of =
            |k: usize| if self.space.is_angle(k) { vec![(k, false), (k, true)] } else { vec![(k, false)] };
        (0..self.space.dimension()).flat_map(of).collect()
    }

    /// The numbers that polynomials are made of, particle by particle.
    fn write(&self, states: &Particles, end: f32, variables: &mut Vec<f32>) {
        variables.clear();
        for i in 0..states.len() {
            for (k, x) in states.state(i).enumerate() {
                if self.space.is_angle(k) {
                    variables.extend(cos_sin(x));
                } else {
                    let [middle, factor] = self.scale[k];
                    variables.push(((x - middle) * factor).clamp(-end, end));
                }
            }
        }
    }
}

impl Range {
    /// The same of one state in 64 bits.
    fn variables_of(&self, state: &[f64], end: f64) -> Vec<f64> {
        let mut variables = Vec::with_capacity(2 * state.len());
        for (k, x) in state.iter().enumerate() {
            if self.space.is_angle(k) {
                variables.extend([x.cos(), x.sin()]);
            } else {
                let [middle, factor] = self.scale[k].map(f64::from);
                variables.push(((x - middle) * factor).clamp(-end, end));
            }
        }
        variables
    }
}

/// All monomials up to a degree, each made of one before it times a variable; sin² is 1 - cos², and left out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Basis {
    range: Range,
    /// Variables of a state, and where they end.
    width: usize,
    end: f32,
    /// The monomial and the variable that the next ones are the product of; the first is 1.
    products: Vec<(usize, usize)>,
}

impl Basis {
    /// Of a degree; nothing if there are more than so many.
    pub(super) fn new(range: &Range, degree: usize, most: usize) -> Option<Self> {
        let variables = range.variables();
        let mut products = Vec::new();
        // The monomials of the degree before, with their last variable.
        let mut before = vec![(0, 0)];
        for level in 1..=degree {
            let mut next = Vec::new();
            for &(monomial, last) in &before {
                for (variable, (_, is_sine)) in variables.iter().enumerate().skip(last) {
                    if level > 1 && variable == last && *is_sine {
                        continue;
                    }
                    products.push((monomial, variable));
                    next.push((products.len(), variable));
                }
            }
            if products.len() >= most {
                return None;
            }
            before = next;
        }
        Some(Self { range: range.clone(), width: variables.len(), end: end(degree), products })
    }

    /// How many monomials.
    pub(super) fn len(&self) -> usize {
        1 + self.products.len()
    }

    /// The monomials of a state in 64 bits, for derivatives.
    pub(super) fn row(&self, state: &[f64]) -> Vec<f64> {
        let variables = self.range.variables_of(state, f64::from(self.end));
        let mut row = vec![1.0];
        for &(monomial, variable) in &self.products {
            row.push(row[monomial] * variables[variable]);
        }
        row
    }

    /// A row of monomials for each state.
    pub(super) fn rows(&self, states: &Particles) -> Vec<f32> {
        let (mut variables, mut rows) = (Vec::new(), Vec::with_capacity(self.len() * states.len()));
        self.range.write(states, self.end, &mut variables);
        for variables in variables.chunks_exact(self.width) {
            let first = rows.len();
            rows.push(1.0);
            for &(monomial, variable) in &self.products {
                rows.push(rows[first + monomial] * variables[variable]);
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::robot::coordinates::testing::{angle_and_level, normalisation};

    /// 1, c, s, z; then c², cs, cz, sz, z², with s² left out.
    #[test]
    fn monomials_by_hand() {
        let range = Range::new(&normalisation(angle_and_level([0.1, 1.0], [1.0, 2.0])));
        let basis = Basis::new(&range, 2, 100).unwrap();
        let rows = basis.rows(&Particles::from_states(range.space, [[0.6_f32, 1.0], [0.0, 99.0]]));
        let (c, s, z) = (0.6_f32.cos(), 0.6_f32.sin(), 0.25_f32);
        let expected = [1.0, c, s, z, c * c, c * s, c * z, s * z, z * z];
        assert_eq!(basis.len(), 9);
        let row = basis.row(&[f64::from(0.6_f32), 1.0]);
        assert!(row.iter().zip(&rows).all(|(wide, narrow)| (wide - f64::from(*narrow)).abs() < 2e-6));
        assert!(
            rows[..9].iter().zip(expected).all(|(found, exact)| (found - exact).abs() < 2e-6),
            "{rows:?}"
        );
        assert_eq!((rows[9 + 3], rows[9 + 8]), (1.5, 1.5 * 1.5), "held behind where training ended");
        // Of degree 3 in two linear variables and an angle: 9 more.
        assert!(Basis::new(&range, 2, 8).is_none());
        assert_eq!(Basis::new(&range, 0, 8).unwrap().len(), 1);
    }
}
