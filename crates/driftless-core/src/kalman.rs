//! The Kalman family over any space: one filter, whose functions are linearised by their slopes (extended Kalman filter) or
//! by what they make of sigma points (unscented Kalman filter).
//!
//! Both say f(x) ≈ y + A (x - m) + e with e ~ N(0, E): slopes take E = 0, sigma points regress f on x. The filter never asks
//! where y, A and E come from. It is written for any [`Scalar`], so it is differentiated by giving it [`Dual`]s.

mod matrix;
mod scalar;
#[cfg(test)]
mod tests;

pub use matrix::{Matrix, diagonal, squared};
pub use scalar::{Dual, Scalar};

use crate::Space;
use matrix::{add, back, cholesky, dot, forward, sandwich, symmetric, times, transposed};
use std::array::from_fn;
use std::f64::consts::TAU;

/// A function of a state, for numbers of any kind.
pub trait Function<const N: usize, const M: usize> {
    /// f(x).
    fn at<S: Scalar>(&self, state: [S; N]) -> [S; M];
}

/// The state itself, as a sensor that measures it.
#[derive(Clone, Copy, Debug)]
pub struct Itself;

impl<const N: usize> Function<N, N> for Itself {
    fn at<S: Scalar>(&self, state: [S; N]) -> [S; N] {
        state
    }
}

/// How functions are made linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linearisation {
    /// By their slopes at the mean: the extended Kalman filter.
    Slopes,
    /// By 2 N + 1 points as wide as the belief (Julier & Uhlmann 1997, with κ = ½): the unscented Kalman filter.
    SigmaPoints,
}

/// κ of sigma points: the centre has the weight κ / (N + κ), above 0, so that all covariances stay positive. As in the code of
/// Kloss, Martius & Bohg (2020).
const KAPPA: f64 = 0.5;
/// N(mean, covariance) over a space; angles are near their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normal<S, const N: usize> {
    /// Its mean.
    pub mean: [S; N],
    /// Its covariance.
    pub covariance: Matrix<S, N, N>,
}

/// f(x) ≈ value + slope (x - m) + e, e ~ N(0, rest).
struct Linear<S, const N: usize, const M: usize> {
    value: [S; M],
    slope: Matrix<S, M, N>,
    rest: Matrix<S, M, M>,
}

impl<S: Scalar, const N: usize> Normal<S, N> {
    /// Coordinates that know nothing of each other.
    pub fn independent(mean: [S; N], std: [S; N]) -> Self {
        Self { mean, covariance: diagonal(std.map(|std| std * std)) }
    }

    /// m' = f(m), P' = A P Aᵀ + E + Q with the noise Q.
    pub fn propagate(
        &self,
        how: Linearisation,
        motion: &impl Function<N, N>,
        noise: &Matrix<S, N, N>,
        space: Space,
    ) -> Self {
        let Linear { value, slope, rest } = self.linear(how, motion, space);
        let moved = add(&add(&sandwich(&slope, &self.covariance), &rest), noise);
        Self { mean: wrapped(value, space), covariance: symmetric(&moved) }
    }

    /// What is believed after z = h(x) + v, v ~ N(0, R), was measured, and log p(z).
    ///
    /// S = A P Aᵀ + E + R, K = P Aᵀ S⁻¹, m' = m + K (z - y), and P' = (I - K A) P (I - K A)ᵀ + K (E + R) Kᵀ, Joseph's form,
    /// which is positive however K was rounded. Angles of z are compared within half a turn.
    pub fn update<const M: usize>(
        &self,
        how: Linearisation,
        sensor: &impl Function<N, M>,
        (measured, noise): (&[S; M], &Matrix<S, M, M>),
        [states, readings]: [Space; 2],
    ) -> (Self, S) {
        let Linear { value, slope, rest } = self.linear(how, sensor, readings);
        let noise = add(&rest, noise);
        let root = cholesky(&symmetric(&add(&sandwich(&slope, &self.covariance), &noise)));
        // K = P Aᵀ S⁻¹, a row for each coordinate.
        let shared = times(&self.covariance, &transposed(&slope));
        let gain = shared.map(|row| back(&root, forward(&root, row)));
        let apart = difference(*measured, value, readings);
        let mean = from_fn(|i| self.mean[i] + dot(&gain[i], &apart));
        let kept: Matrix<S, N, N> = from_fn(|i| {
            from_fn(|j| {
                let lost = (0..M).fold(S::of(0.0), |sum, k| sum + gain[i][k] * slope[k][j]);
                S::of(if i == j { 1.0 } else { 0.0 }) - lost
            })
        });
        let covariance = add(&sandwich(&kept, &self.covariance), &sandwich(&gain, &noise));
        let belief = Self { mean: wrapped(mean, states), covariance: symmetric(&covariance) };
        (belief, log_density(&root, apart))
    }

    /// log N(state; mean, covariance), angles within half a turn of the mean.
    pub fn log_density(&self, state: [S; N], space: Space) -> S {
        log_density(&cholesky(&self.covariance), difference(state, self.mean, space))
    }

    /// The squared Mahalanobis distance of a state from the mean.
    pub fn distance(&self, state: [S; N], space: Space) -> S {
        let white = forward(&cholesky(&self.covariance), difference(state, self.mean, space));
        dot(&white, &white)
    }

    fn linear<const M: usize>(
        &self,
        how: Linearisation,
        function: &impl Function<N, M>,
        space: Space,
    ) -> Linear<S, N, M> {
        match how {
            Linearisation::Slopes => {
                let said = function.at(from_fn(|k| Dual::<S, N>::variable(self.mean[k], k)));
                let rest = [[S::of(0.0); M]; M];
                Linear { value: said.map(|one| one.number), slope: said.map(|one| one.by), rest }
            }
            Linearisation::SigmaPoints => self.regressed(function, space),
        }
    }

    /// Points m ± √(N + κ) Lᵢ, columns of P = L Lᵀ. With what f makes of them around f(m), d₀ = 0 and dᵢ±, their halves of
    /// odd and even parts aᵢ and bᵢ, and the mean shift s: A = [aᵢ / √(N + κ)] L⁻¹, and E, what a line leaves over, is
    /// a sum of squares, w₀ s sᵀ + 2 w Σ (bᵢ - s)(bᵢ - s)ᵀ: A P Aᵀ + E is the usual weighted covariance, and E is positive.
    fn regressed<const M: usize>(&self, function: &impl Function<N, M>, space: Space) -> Linear<S, N, M> {
        let root = cholesky(&self.covariance);
        let all = N as f64 + KAPPA;
        let (spread, weight) = (S::of(all.sqrt()), S::of(0.5 / all));
        let centre = function.at(self.mean);
        let around = |i: usize, sign: f64| {
            let point = from_fn(|k| self.mean[k] + S::of(sign) * spread * root[k][i]);
            difference(function.at(point), centre, space)
        };
        let both: [[[S; M]; 2]; N] = from_fn(|i| [around(i, 1.0), around(i, -1.0)]);
        let half = S::of(0.5);
        let odd = both.map(|[plus, minus]| -> [S; M] { from_fn(|k| (plus[k] - minus[k]) * half) });
        let even = both.map(|[plus, minus]| -> [S; M] { from_fn(|k| (plus[k] + minus[k]) * half) });
        let shift: [S; M] =
            from_fn(|k| even.iter().fold(S::of(0.0), |sum, even| sum + even[k]) * weight * S::of(2.0));
        // bᵀ L⁻¹ = (L⁻ᵀ b)ᵀ, row by row.
        let slope = from_fn(|k| back(&root, from_fn(|i| odd[i][k] / spread)));
        let rest = from_fn(|j| {
            from_fn(|k| {
                let centre = shift[j] * shift[k] * S::of(KAPPA / all);
                even.iter().fold(centre, |sum, even| {
                    sum + (even[j] - shift[j]) * (even[k] - shift[k]) * weight * S::of(2.0)
                })
            })
        });
        Linear { value: from_fn(|k| centre[k] + shift[k]), slope, rest }
    }
}

/// An angle within half a turn; its derivative is 1.
pub fn wrap<S: Scalar>(angle: S) -> S {
    angle - S::of(TAU * (angle.value() / TAU).round())
}

fn wrapped<S: Scalar, const N: usize>(state: [S; N], space: Space) -> [S; N] {
    from_fn(|k| if space.is_angle(k) { wrap(state[k]) } else { state[k] })
}

fn difference<S: Scalar, const N: usize>(a: [S; N], b: [S; N], space: Space) -> [S; N] {
    wrapped(from_fn(|k| a[k] - b[k]), space)
}

/// log N(apart; 0, L Lᵀ).
fn log_density<S: Scalar, const N: usize>(root: &Matrix<S, N, N>, apart: [S; N]) -> S {
    let white = forward(root, apart);
    let volume = (0..N).fold(S::of(0.5 * N as f64 * TAU.ln()), |sum, k| sum + root[k][k].ln());
    -(dot(&white, &white) * S::of(0.5) + volume)
}
