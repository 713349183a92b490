//! Against the textbook's filter on linear systems, closed forms on curved ones, differences, and long random walks.

use super::*;
use crate::pose::compose;
use crate::random::Random;
use std::f64::consts::PI;

const BOTH: [Linearisation; 2] = [Linearisation::Slopes, Linearisation::SigmaPoints];

/// x → A x + b.
struct Affine<const N: usize, const M: usize>(Matrix<f64, M, N>, [f64; M]);

impl<const N: usize, const M: usize> Function<N, M> for Affine<N, M> {
    fn at<S: Scalar>(&self, state: [S; N]) -> [S; M] {
        from_fn(|i| dot(&self.0[i].map(S::of), &state) + S::of(self.1[i]))
    }
}

fn normals<const N: usize>(random: &mut Random) -> [f64; N] {
    from_fn(|_| random.normal())
}

/// A random positive matrix.
fn positive<const N: usize>(random: &mut Random, scale: f64) -> Matrix<f64, N, N> {
    let root: Matrix<f64, N, N> = from_fn(|_| normals(random));
    let mut all = squared(&root);
    (0..N).for_each(|k| all[k][k] += 0.1);
    all.map(|row| row.map(|x| scale * x))
}

/// A⁻¹ by Gauss and Jordan, and |A|.
fn inverse<const N: usize>(mut a: Matrix<f64, N, N>) -> (Matrix<f64, N, N>, f64) {
    let mut b = diagonal([1.0; N]);
    let mut determinant = 1.0;
    for k in 0..N {
        let pivot = a[k][k];
        determinant *= pivot;
        (a[k], b[k]) = (a[k].map(|x| x / pivot), b[k].map(|x| x / pivot));
        for i in (0..N).filter(|&i| i != k) {
            let factor = a[i][k];
            for j in 0..N {
                (a[i][j], b[i][j]) = (a[i][j] - factor * a[k][j], b[i][j] - factor * b[k][j]);
            }
        }
    }
    (b, determinant)
}

fn assert_near<const N: usize, const M: usize>(found: &Matrix<f64, N, M>, expected: &Matrix<f64, N, M>) {
    // Some hundred operations on numbers up to 10, whose matrices have conditions up to about 1000.
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((found - expected).abs() < 1e-9 * (1.0 + expected.abs()), "{found} {expected}");
    }
}

/// torchfilter's system: five coordinates, seven readings. Both ways are the information filter of textbooks, written with
/// inverses: P' = (P⁻¹ + Hᵀ R⁻¹ H)⁻¹, m' = P' (P⁻¹ m + Hᵀ R⁻¹ z). On lines sigma points leave nothing over.
#[test]
fn both_are_kalmans_filter_on_linear_systems() {
    let mut random = Random::new(7);
    let (states, readings) = (Space::linear(5), Space::linear(7));
    let motion: Affine<5, 5> =
        Affine(from_fn(|_| normals(&mut random).map(|x| 0.4 * x)), normals(&mut random));
    let sensor: Affine<5, 7> = Affine(from_fn(|_| normals(&mut random)), normals(&mut random));
    let (q, r) = (positive(&mut random, 0.02), positive(&mut random, 0.05));
    let mut beliefs = [Normal { mean: normals(&mut random), covariance: positive(&mut random, 1.0) }; 2];
    let Normal { mut mean, covariance: mut p } = beliefs[0];
    for _ in 0..100 {
        let z: [f64; 7] = normals(&mut random);
        mean = motion.at(mean);
        p = add(&sandwich(&motion.0, &p), &q);
        let (of_p, of_r) = (inverse(p).0, inverse(r).0);
        let predicted = sensor.at(mean);
        let apart: [f64; 7] = from_fn(|k| z[k] - predicted[k]);
        let (of_s, determinant) = inverse(add(&sandwich(&sensor.0, &p), &r));
        let evidence =
            -0.5 * (dot(&apart, &of_s.map(|row| dot(&row, &apart))) + determinant.ln() + 7.0 * TAU.ln());
        p = inverse(add(&of_p, &sandwich(&transposed(&sensor.0), &of_r))).0;
        let drive: [f64; 5] = {
            let back = transposed(&sensor.0);
            let weighed: [f64; 7] = from_fn(|i| dot(&of_r[i], &from_fn(|k| z[k] - sensor.1[k])));
            from_fn(|i| dot(&back[i], &weighed) + dot(&of_p[i], &mean))
        };
        mean = from_fn(|i| dot(&p[i], &drive));
        for (how, belief) in BOTH.into_iter().zip(&mut beliefs) {
            let moved = belief.propagate(how, &motion, &q, states);
            let (updated, log) = moved.update(how, &sensor, (&z, &r), [states, readings]);
            assert_near(&[updated.mean], &[mean]);
            assert_near(&updated.covariance, &p);
            assert_near(&[[log]], &[[evidence]]);
            *belief = updated;
        }
    }
}

/// Squares and a product of two normal numbers: their means are exact by sigma points, and slopes say the middle. The variance of
/// x² is 4 m² σ² + 2 σ⁴ for normal numbers; three points with κ = ½ say 4 m² σ² + κ σ⁴ + … what their fourth moments say.
#[test]
fn curved_functions_by_hand() {
    struct Curved;
    impl Function<2, 2> for Curved {
        fn at<S: Scalar>(&self, [x, y]: [S; 2]) -> [S; 2] {
            [x * x, x * y]
        }
    }
    let belief = Normal { mean: [1.0, -2.0], covariance: [[0.5, 0.2], [0.2, 0.3]] };
    let nothing = [[0.0; 2]; 2];
    let [slopes, points] = BOTH.map(|how| belief.propagate(how, &Curved, &nothing, Space::linear(2)));
    assert_near(&[slopes.mean], &[[1.0, -2.0]]);
    assert_near(&[points.mean], &[[1.5, -1.8]]);
    // A P Aᵀ with A = [[2, 0], [-2, 1]].
    assert_near(&slopes.covariance, &[[2.0, -1.6], [-1.6, 1.5]]);
    // Columns of P's root are (√½, 0.2 / √½) and (0, √0.22); x² is odd 2 √2.5 √½ and even 1.25 along the first, so that
    // the variance is 2 + w₀ 0.25 + 0.4 (0.75² + 0.5²), with w₀ = 0.2 and a shift of 0.5.
    let expected = 2.0 + 0.2 * 0.25 + 0.4 * (0.75_f64.powi(2) + 0.25);
    assert!((points.covariance[0][0] - expected).abs() < 1e-12, "{points:?}");
}

/// The robot of the plane: forward and a turn.
struct Drive([f64; 2]);

impl Function<3, 3> for Drive {
    fn at<S: Scalar>(&self, [x, y, heading]: [S; 3]) -> [S; 3] {
        let (sine, cosine) = heading.sin_cos();
        let [dx, dy] = compose([cosine, sine], [S::of(self.0[0]), S::of(0.0)]);
        [x + dx, y + dy, heading + S::of(self.0[1])]
    }
}

/// A belief seen from a turned world is the turned belief: everything across ±π is what it is at 0, means, covariances and
/// evidence.
#[test]
fn nothing_happens_at_half_a_turn() {
    let (space, noise) = (Space::SE2, diagonal([0.01, 0.02, 0.03]));
    let start =
        Normal { mean: [1.0, 2.0, 0.1], covariance: [[0.5, 0.1, 0.05], [0.1, 0.4, -0.1], [0.05, -0.1, 0.3]] };
    let run = |how: Linearisation, turned: f64| {
        let (sine, cosine) = turned.sin_cos();
        let turn = |[x, y, heading]: [f64; 3]| {
            let [x, y] = compose([cosine, sine], [x, y]);
            wrapped([x, y, heading + turned], space)
        };
        let frame = [[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]];
        let turned_noise = sandwich(&frame, &noise);
        let mut belief = Normal { mean: turn(start.mean), covariance: sandwich(&frame, &start.covariance) };
        let mut evidence = 0.0;
        for t in 0..30 {
            belief = belief.propagate(how, &Drive([0.3, 0.4]), &turned_noise, space);
            let seen = turn([1.0 + 0.02 * f64::from(t), 2.0, 0.1 + 0.41 * f64::from(t + 1)]);
            let (next, log) = belief.update(how, &Itself, (&seen, &turned_noise), [space; 2]);
            (belief, evidence) = (next, evidence + log);
        }
        let back = [[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]];
        let [x, y] = compose([cosine, -sine], [belief.mean[0], belief.mean[1]]);
        (wrapped([x, y, belief.mean[2] - turned], space), sandwich(&back, &belief.covariance), evidence)
    };
    for how in BOTH {
        let (mean, covariance, evidence) = run(how, 0.0);
        for turned in [3.0, PI, -2.9, 1.3] {
            // Sigma points lie along a Cholesky factor, whose axes do not turn with the world; on their curves that makes a
            // difference of the fourth order, and a scaled half turn makes none.
            let exact = how == Linearisation::Slopes || turned == PI;
            let most = if exact { 1e-9 } else { 0.05 };
            let found = run(how, turned);
            let apart = difference(found.0, mean, space);
            let covariances = found.1.iter().flatten().zip(covariance.iter().flatten());
            assert!(apart.iter().all(|x| x.abs() < most), "{how:?} {turned}: {apart:?}");
            assert!(covariances.clone().all(|(a, b)| (a - b).abs() < most), "{how:?} {turned}");
            assert!((found.2 - evidence).abs() < 30.0 * most, "{how:?} {turned}");
        }
    }
}

/// 10,000 steps with turns of all sizes, readings of all qualities (from 1e-6 to 1e6) and long silences, in which nothing is
/// lost of symmetry, sign or finiteness.
#[test]
fn covariances_stay_positive() {
    for how in BOTH {
        let mut random = Random::new(11);
        let mut belief = Normal::independent([0.0; 3], [1.0, 1.0, 0.5]);
        for step in 0..10_000 {
            let drive = Drive([3.0 * random.normal(), 2.0 * random.normal()]);
            let rest = 10.0_f64.powf(random.range(-6.0, 0.0));
            belief = belief.propagate(how, &drive, &diagonal([rest, rest, 0.1 * rest]), Space::SE2);
            if step % 100 < 60 {
                let quality = 10.0_f64.powf(random.range(-6.0, 6.0));
                let noise = positive::<3>(&mut random, quality);
                let mut near: [f64; 3] = normals(&mut random);
                (0..3).for_each(|k| near[k] += belief.mean[k]);
                belief = belief.update(how, &Itself, (&near, &noise), [Space::SE2; 2]).0;
            }
            let p = belief.covariance;
            assert!(
                (0..3).all(|i| (0..3).all(|j| p[i][j] == p[j][i] && p[i][j].is_finite())),
                "{step}: {p:?}"
            );
            let minor = p[0][0] * p[1][1] - p[0][1] * p[0][1];
            let whole = inverse(p).1;
            assert!(p[0][0] > 0.0 && minor > 0.0 && whole > 0.0, "{how:?}, step {step}: {p:?}");
            assert!(belief.mean.iter().all(|x| x.is_finite()) && belief.mean[2].abs() <= PI);
        }
    }
}

/// Derivatives of a step's evidence and mean by everything that goes in, against differences of the fourth order; each is of the
/// size of one, so that 1e-7 is what rounding over the step leaves.
#[test]
fn a_step_is_differentiated_exactly() {
    const INPUTS: usize = 12;
    const H: f64 = 1e-3;
    fn step<S: Scalar>(how: Linearisation, x: [S; INPUTS]) -> [S; 3] {
        let root: Matrix<S, 3, 3> =
            [[x[3], S::of(0.0), S::of(0.0)], [x[4], x[5], S::of(0.0)], [x[6], x[7], x[8]]];
        let belief = Normal { mean: [x[0], x[1], x[2]], covariance: squared(&root) };
        let noise = diagonal([x[9] * x[9]; 3]);
        let moved = belief.propagate(how, &Drive([0.7, 0.5]), &noise, Space::SE2);
        let seen = [x[10], x[11], x[10] * x[11]];
        let (updated, log) = moved.update(how, &Itself, (&seen, &noise), [Space::SE2; 2]);
        [log, dot(&updated.mean, &[S::of(1.0); 3]), updated.log_density(seen, Space::SE2)]
    }
    let at = [0.3, -0.4, 2.9, 0.9, 0.2, 0.8, -0.1, 0.15, 0.4, 0.6, 0.5, -1.1];
    for how in BOTH {
        let found = step(how, from_fn(|k| Dual::<f64, INPUTS>::variable(at[k], k)));
        for k in 0..INPUTS {
            let moved = |by: f64| step(how, from_fn(|i| if i == k { at[i] + by } else { at[i] }));
            let [a, b, c, d] = [moved(-2.0 * H), moved(-H), moved(H), moved(2.0 * H)];
            for out in 0..3 {
                let slope = (a[out] - 8.0 * b[out] + 8.0 * c[out] - d[out]) / (12.0 * H);
                let exact = found[out].by[k];
                assert!(
                    (exact - slope).abs() < 1e-7 * (1.0 + slope.abs()),
                    "{how:?} {k} {out}: {exact} {slope}"
                );
            }
        }
    }
}

/// A start that is known exactly has no root, and is moved and updated all the same.
#[test]
fn a_belief_without_doubt() {
    for how in BOTH {
        let start = Normal::independent([1.0, 2.0, 3.0], [0.0; 3]);
        let moved = start.propagate(how, &Drive([0.5, 0.2]), &diagonal([0.01; 3]), Space::SE2);
        let (updated, log) =
            moved.update(how, &Itself, (&[1.0, 2.0, 3.0], &diagonal([0.01; 3])), [Space::SE2; 2]);
        assert!(updated.mean.iter().chain(updated.covariance.iter().flatten()).all(|x| x.is_finite()));
        assert!(log.is_finite() && (updated.covariance[0][0] - 0.005).abs() < 1e-9, "{updated:?}");
    }
}
