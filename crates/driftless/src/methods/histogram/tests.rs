//! The filter against the forward algorithm of hidden Markov models, its gradient against differences, and its grid by hand.

use super::*;
use driftless_core::pose::Frame;
use driftless_core::random::Random;
use std::f64::consts::TAU;

/// Poses from 0 to 3 by 0 to 2, in units of the mean step 0.5.
fn normalisation() -> Normalisation {
    let json = r#"{
        "pixels": {"height": 1, "width": 1, "mean": [0.0], "std": [1.0]},
        "state_mean": [1.5, 1.0, 0.0], "state_std": [1.0, 1.0, 1.8], "action_std": [0.5, 0.5, 0.3],
        "step_size": [0.5, 0.5, 0.3], "low": [0.0, 0.0, -3.141592653589793], "high": [3.0, 2.0, 3.141592653589793]
    }"#;
    serde_json::from_str(json).expect("statistics")
}

fn histogram(cells: usize) -> Histogram {
    Histogram { grid: Grid::new(cells, Frame::Robot, &normalisation()).unwrap() }
}

const NOISE: [f64; NOISES] = [-0.1, -0.12, -0.15, -0.1];

/// What an action does to a pose's coordinates, as one normal law on whole cells for each: written out for two cells.
fn one_way(shift: f64, std: f64, apart: i64) -> f64 {
    let reach = (4.0 * std).ceil().max(1.0) as i64;
    let g = |n: i64| if n.abs() > reach { 0.0 } else { (-0.5 * (n as f64 / std).powi(2)).exp() };
    let whole: f64 = (-reach..=reach).map(g).sum();
    let (down, part) = (shift.floor(), shift - shift.floor());
    ((1.0 - part) * g(apart - down as i64) + part * g(apart - down as i64 - 1)) / whole
}

/// Σ_j p(i | j, a) b_j, each pair of cells by itself.
fn moved(grid: &Grid, held: &[f64], action: [f64; 3]) -> Vec<f64> {
    let side = (grid.pose(1)[0] - grid.pose(0)[0]).abs();
    let turn = TAU / 16.0;
    let e = |x: f64| (20.0 * x).exp();
    let std = [
        (e(NOISE[0]) + e(NOISE[2]) * (action[0].powi(2) + action[1].powi(2))).sqrt() / side,
        (e(NOISE[1]) + e(NOISE[3]) * action[2].powi(2)).sqrt() / turn,
    ];
    let mut next = vec![0.0; held.len()];
    for (j, held) in held.iter().enumerate() {
        let from = grid.pose(j);
        let (s, c) = from[2].sin_cos();
        let step = [action[0] * c - action[1] * s, action[0] * s + action[1] * c];
        for (i, to) in next.iter_mut().enumerate() {
            let at = grid.pose(i);
            let apart = |k: usize| ((at[k] - from[k]) / side).round() as i64;
            let turned = ((at[2] - from[2]) / turn).round() as i64;
            let around: f64 = (-2..=2).map(|n| one_way(action[2] / turn, std[1], turned + 16 * n)).sum();
            let place = one_way(step[0] / side, std[0], apart(0)) * one_way(step[1] / side, std[0], apart(1));
            *to += place * around * held;
        }
    }
    next
}

/// p(i | j, a) of all pairs of cells, dense, and b' = Σ p b, b'' = b' l / Σ: the forward algorithm.
#[test]
fn the_forward_algorithm() {
    let filter = histogram(16 * 20);
    let (grid, cells) = (&filter.grid, filter.grid.len());
    let mut random = Random::new(3);
    let mut belief = filter.first(None);
    let mut expected = belief.clone();
    for t in 0..5 {
        let action = [0.4 * random.normal(), 0.1 * random.normal(), 0.5 * random.normal()];
        let said: Vec<f64> = (0..cells).map(|_| 2.0 * random.normal()).collect();
        let met = Met { is_first: t == 0, action: Some(action), saw: t != 2, label: None };
        let evidence = filter.go(&mut belief, &said, &NOISE, &met);
        if t > 0 {
            let next = moved(grid, &expected, action);
            let whole: f64 = next.iter().sum();
            expected = next.iter().map(|x| (1.0 - 1e-4) * x / whole + 1e-4 / cells as f64).collect();
        }
        if t != 2 {
            let joint: Vec<f64> = expected.iter().zip(&said).map(|(b, l)| b * l.exp()).collect();
            let whole: f64 = joint.iter().sum();
            assert!((evidence - whole.ln()).abs() < 1e-10, "{evidence} {}", whole.ln());
            expected = joint.iter().map(|x| x / whole).collect();
        }
        // Sums of 320 terms of order 1, rounded to 1e-16 each.
        assert!(belief.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12), "step {t}");
    }
}

/// A window with missing readings and actions, by some of what was said and all of the noise. Rounding over the step and its
/// square are 1e-10 each.
#[test]
fn gradients_are_those_of_differences() {
    const H: f64 = 1e-5;
    let filter = histogram(16 * 20);
    let cells = filter.grid.len();
    let mut random = Random::new(9);
    let said: Vec<f64> = (0..5 * cells).map(|_| random.normal()).collect();
    let met: Vec<Met> = (0..5)
        .map(|t| Met {
            is_first: t == 0,
            action: (t != 3).then_some([0.3, 0.1, 0.4]),
            saw: t != 2,
            label: (t % 2 == 0).then_some([1.2 + 0.1 * f64::from(t), 0.7, 3.0]),
        })
        .collect();
    let start = filter.grid.around([1.0, 1.0, 2.0], [0.5, 0.5, 0.5]);
    let loss = |said: &[f64], noise: &[f64; NOISES]| {
        filter.gradient(&start, said, noise, &met).loss.iter().sum::<f64>()
    };
    let found = filter.gradient(&start, &said, &NOISE, &met);
    let near = |found: f64, slope: f64| {
        assert!((found - slope).abs() < 1e-7 * (1.0 + slope.abs()), "{found} {slope}");
    };
    for k in (0..said.len()).step_by(37) {
        let moved = |by: f64| {
            let mut said = said.clone();
            said[k] += by;
            loss(&said, &NOISE)
        };
        near(found.said[k], (moved(H) - moved(-H)) / (2.0 * H));
    }
    for k in 0..NOISES {
        let moved = |by: f64| {
            let mut noise = NOISE;
            noise[k] += by;
            loss(&said, &noise)
        };
        near(found.noise[k], (moved(H) - moved(-H)) / (2.0 * H));
    }
    assert!(found.noise.iter().all(|by| by.abs() > 1e-4), "noise matters: {:?}", found.noise);
}

/// Cells and poses are each other's, headings go around, and a shift of any size is exact on average.
#[test]
fn cells_by_hand() {
    let filter = histogram(4000);
    let grid = &filter.grid;
    assert!(grid.len() <= 4000 && grid.len() > 2000, "{}", grid.len());
    assert!((0..grid.len()).all(|cell| grid.cell(grid.pose(cell)) == (cell, true)));
    let turned = grid.cell([1.0, 1.0, 3.1]).0;
    assert_eq!(grid.cell([1.0, 1.0, 3.1 - TAU]).0, turned);
    assert!(!grid.cell([9.0, 1.0, 0.0]).1 && grid.cell([9.0, 1.0, 0.0]).0 < grid.len());
    let quiet = [-2.0; NOISES];
    let mut belief = filter.grid.around([1.0, 1.0, 0.0], [0.0; 3]);
    let before = filter.mean(&belief).0;
    for _ in 0..20 {
        let met = Met { action: Some([0.013, 0.0, 0.0]), ..Met::default() };
        filter.go(&mut belief, &[], &quiet, &met);
    }
    let after = filter.mean(&belief).0;
    // Headings lie within half a bin of 0 on both sides, whose cosines are 0.98 on average, and 0.2 % are elsewhere.
    assert!((after.x - before.x - 0.26 * 0.97).abs() < 0.015, "{before:?} {after:?}");
    assert!((after.y - before.y).abs() < 0.01, "{before:?} {after:?}");
}

#[test]
fn too_many_cells_are_refused() {
    for cells in [100, 1 << 20] {
        let problem = Grid::new(cells, Frame::Robot, &normalisation()).unwrap_err().to_string();
        assert!(problem.contains("particles") && problem.contains("cells of the grid"), "{problem}");
    }
}
