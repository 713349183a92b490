//! Numbers that formulas are written for: plain ones, and numbers that carry their derivatives.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// What a Kalman filter computes with. A formula over all of them is differentiated exactly by giving it [`Dual`]s.
pub trait Scalar:
    Copy
    + Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// A constant.
    fn of(number: f64) -> Self;
    /// Without derivatives.
    fn value(self) -> f64;
    /// Its square root.
    fn sqrt(self) -> Self;
    /// e to its power.
    fn exp(self) -> Self;
    /// Its natural logarithm.
    fn ln(self) -> Self;
    /// Its sine and cosine.
    fn sin_cos(self) -> (Self, Self);
    /// The direction of (`cosine`, `self`).
    fn atan2(self, cosine: Self) -> Self;
}

impl Scalar for f64 {
    fn of(number: f64) -> Self {
        number
    }

    fn value(self) -> f64 {
        self
    }

    fn sqrt(self) -> Self {
        self.sqrt()
    }

    fn exp(self) -> Self {
        self.exp()
    }

    fn ln(self) -> Self {
        self.ln()
    }

    fn sin_cos(self) -> (Self, Self) {
        self.sin_cos()
    }

    fn atan2(self, cosine: Self) -> Self {
        self.atan2(cosine)
    }
}

/// A number and its derivatives by K others (forward mode). Derivatives may be numbers with derivatives again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual<S, const K: usize> {
    /// The number.
    pub number: S,
    /// Its derivatives.
    pub by: [S; K],
}

impl<S: Scalar, const K: usize> Dual<S, K> {
    /// The k-th of the numbers that derivatives are taken by.
    pub fn variable(number: S, k: usize) -> Self {
        Self { number, by: std::array::from_fn(|i| S::of(if i == k { 1.0 } else { 0.0 })) }
    }

    /// f(x) with f'(x).
    fn chained(self, number: S, slope: S) -> Self {
        Self { number, by: self.by.map(|by| by * slope) }
    }

    /// f(x, y) with both its slopes.
    fn joined(self, other: Self, number: S, [a, b]: [S; 2]) -> Self {
        Self { number, by: std::array::from_fn(|k| self.by[k] * a + other.by[k] * b) }
    }
}

impl<S: Scalar, const K: usize> Add for Dual<S, K> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { number: self.number + other.number, by: std::array::from_fn(|k| self.by[k] + other.by[k]) }
    }
}

impl<S: Scalar, const K: usize> Sub for Dual<S, K> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { number: self.number - other.number, by: std::array::from_fn(|k| self.by[k] - other.by[k]) }
    }
}

impl<S: Scalar, const K: usize> Mul for Dual<S, K> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        self.joined(other, self.number * other.number, [other.number, self.number])
    }
}

impl<S: Scalar, const K: usize> Div for Dual<S, K> {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let (number, inverse) = (self.number / other.number, S::of(1.0) / other.number);
        self.joined(other, number, [inverse, -number * inverse])
    }
}

impl<S: Scalar, const K: usize> Neg for Dual<S, K> {
    type Output = Self;

    fn neg(self) -> Self {
        Self { number: -self.number, by: self.by.map(|by| -by) }
    }
}

impl<S: Scalar, const K: usize> Scalar for Dual<S, K> {
    fn of(number: f64) -> Self {
        Self { number: S::of(number), by: [S::of(0.0); K] }
    }

    fn value(self) -> f64 {
        self.number.value()
    }

    fn sqrt(self) -> Self {
        let root = self.number.sqrt();
        self.chained(root, S::of(0.5) / root)
    }

    fn exp(self) -> Self {
        let number = self.number.exp();
        self.chained(number, number)
    }

    fn ln(self) -> Self {
        self.chained(self.number.ln(), S::of(1.0) / self.number)
    }

    fn sin_cos(self) -> (Self, Self) {
        let (sine, cosine) = self.number.sin_cos();
        (self.chained(sine, cosine), self.chained(cosine, -sine))
    }

    fn atan2(self, cosine: Self) -> Self {
        let (y, x) = (self.number, cosine.number);
        let square = x * x + y * y;
        self.joined(cosine, y.atan2(x), [x / square, -y / square])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything a formula may use, once.
    fn formula<S: Scalar>([x, y]: [S; 2]) -> S {
        let (sine, cosine) = (x * y).sin_cos();
        (x / y + sine.exp()).sqrt() * (x - cosine).atan2(-y) + (x * x + S::of(1.0)).ln()
    }

    /// First and second derivatives against differences; the step's square and rounding over the step make the tolerance.
    #[test]
    fn derivatives_are_those_of_differences() {
        const H: f64 = 1e-4;
        let at = [0.7, 1.3];
        let by = |point: [f64; 2]| {
            let duals: [Dual<f64, 2>; 2] = std::array::from_fn(|k| Dual::variable(point[k], k));
            formula(duals)
        };
        let nested: [Dual<Dual<f64, 2>, 2>; 2] =
            std::array::from_fn(|k| Dual::variable(Dual::variable(at[k], k), k));
        let nested = formula(nested);
        assert_eq!((by(at).number, nested.number.number), (formula(at), formula(at)));
        for k in 0..2 {
            let moved = |by: f64| std::array::from_fn(|i| if i == k { at[i] + by } else { at[i] });
            let slope = (formula(moved(H)) - formula(moved(-H))) / (2.0 * H);
            assert!((by(at).by[k] - slope).abs() < 1e-6, "{} {slope}", by(at).by[k]);
            for j in 0..2 {
                let second = (by(moved(H)).by[j] - by(moved(-H)).by[j]) / (2.0 * H);
                let found = nested.by[j].by[k];
                assert!((found - second).abs() < 1e-6, "{found} {second}");
            }
        }
    }
}
