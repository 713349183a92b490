//! What odometry gets wrong in the same way again and again, learned from pairs of known poses.

use super::walks::Walk;
use driftless_world::pose::{Frame, Pose, wrap};

/// Labels farther apart than this say little of a single step.
const MOST_STEPS: usize = 40;
/// Gauss-Newton steps.
const ROUNDS: usize = 8;
/// A bias is about this at most: what is believed before any label.
const USUAL: f64 = 0.2;
/// Errors of a step that are expected, in mean steps and in radians; beyond three of it labels count less (Huber).
const EXPECTED: [f64; 2] = [0.15, 0.05];

/// Scale of forward motion, drift to the left a unit forward, scale of turns, and turn a unit forward: all 0 where
/// odometry is right on average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::methods) struct Bias(pub(in crate::methods) [f64; 4]);

/// Two known poses, and what odometry says lies between them.
struct Pair<'a> {
    frame: Frame,
    from: Pose,
    to: Pose,
    actions: &'a [[f32; 3]],
}

impl Bias {
    /// The motion that odometry means.
    pub(in crate::methods) fn corrected(&self, [forward, left, turn]: [f64; 3]) -> [f64; 3] {
        let [scale, drift, turned, curve] = self.0;
        [
            forward * (1.0 + scale),
            left * (1.0 + scale) + drift * forward,
            turn * (1.0 + turned) + curve * forward,
        ]
    }

    /// The bias under which odometry leads from label to label best: robust least squares, with a prior around 0.
    pub(in crate::methods) fn fit(walks: &[Walk], frame: Frame, step: [f64; 3]) -> Self {
        let pairs: Vec<Pair> = walks.iter().flat_map(|walk| pairs(walk, frame)).collect();
        let mut bias = Self::default();
        for _ in 0..ROUNDS {
            let (mut normal, mut right) = ([[0.0; 4]; 4], [0.0; 4]);
            for k in 0..4 {
                normal[k][k] = USUAL.powi(-2);
                right[k] = -bias.0[k] * USUAL.powi(-2);
            }
            for pair in &pairs {
                pair.add_to(&bias, step[0], &mut normal, &mut right);
            }
            let Some(change) = solved(normal, right) else { break };
            bias.0.iter_mut().zip(change).for_each(|(bias, change)| *bias += change);
        }
        if bias.0.iter().all(|x| x.is_finite() && x.abs() < 1.0) { bias } else { Self::default() }
    }
}

/// Neighbouring labels; where an action is missing between them, they say nothing of odometry.
fn pairs(walk: &Walk, frame: Frame) -> Vec<Pair<'_>> {
    let pose = |t: usize| walk.labels[t].map(|[x, y, h]| Pose::new(x.into(), y.into(), h.into()));
    let known: Vec<usize> = (0..walk.labels.len()).filter(|&t| walk.labels[t].is_some()).collect();
    let near = known.windows(2).filter(|pair| pair[1] - pair[0] <= MOST_STEPS);
    near.filter_map(|pair| {
        let actions = &walk.actions[pair[0] + 1..=pair[1]];
        let complete = actions.iter().flatten().all(|x| x.is_finite());
        complete.then_some(Pair { frame, from: pose(pair[0])?, to: pose(pair[1])?, actions })
    })
    .collect()
}

impl Pair<'_> {
    /// How far off odometry is, in standard deviations of that many steps.
    fn errors(&self, bias: &Bias, step: f64) -> [f64; 3] {
        let go =
            |pose: Pose, action: &[f32; 3]| pose.moved(bias.corrected(action.map(f64::from)), self.frame);
        let reached = self.actions.iter().fold(self.from, go);
        let steps = (self.actions.len() as f64).sqrt();
        // A turn that errs by 0.05 a step also leads aside.
        let aside = 1.0 + EXPECTED[1] * self.actions.len() as f64 / EXPECTED[0];
        let [place, turn] = [EXPECTED[0] * step * steps * aside, EXPECTED[1] * steps];
        [
            (reached.x - self.to.x) / place,
            (reached.y - self.to.y) / place,
            wrap(reached.heading - self.to.heading) / turn,
        ]
    }

    fn add_to(&self, bias: &Bias, step: f64, normal: &mut [[f64; 4]; 4], right: &mut [f64; 4]) {
        const SMALL: f64 = 1e-5;
        let errors = self.errors(bias, step);
        let size = errors.iter().map(|e| e * e).sum::<f64>().sqrt();
        let weight = if size > 3.0 { 3.0 / size } else { 1.0 };
        let by: [[f64; 3]; 4] = std::array::from_fn(|k| {
            let mut moved = *bias;
            moved.0[k] += SMALL;
            let moved = self.errors(&moved, step);
            std::array::from_fn(|i| (moved[i] - errors[i]) / SMALL)
        });
        for j in 0..4 {
            right[j] -= weight * (0..3).map(|i| by[j][i] * errors[i]).sum::<f64>();
            for k in 0..4 {
                normal[j][k] += weight * (0..3).map(|i| by[j][i] * by[k][i]).sum::<f64>();
            }
        }
    }
}

/// A x = b by elimination with pivots; None if A is singular.
pub(super) fn solved<const N: usize>(mut a: [[f64; N]; N], mut b: [f64; N]) -> Option<[f64; N]> {
    for k in 0..N {
        let pivot = (k..N).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()))?;
        if a[pivot][k].abs() < 1e-12 || !a[pivot][k].is_finite() {
            return None;
        }
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..N {
            let factor = a[i][k] / a[k][k];
            let row = a[k];
            a[i].iter_mut().zip(row).skip(k).for_each(|(x, y)| *x -= factor * y);
            b[i] -= factor * b[k];
        }
    }
    for k in (0..N).rev() {
        let known: f64 = (k + 1..N).map(|j| a[k][j] * b[j]).sum();
        b[k] = (b[k] - known) / a[k][k];
    }
    Some(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::random::Random;
    use driftless_world::trajectory::Rows;

    /// Odometry that is wrong in a known way, exact otherwise: the way is found.
    #[test]
    fn bias_is_found() {
        let truth = Bias([-0.05, 0.02, 0.1, -0.04]);
        let mut random = Random::new(3);
        let mut walk =
            Walk { readings: Rows::default(), camera: None, actions: vec![], labels: vec![], start: None };
        let mut pose = Pose::default();
        for t in 0..200 {
            let action = [0.2 + 0.05 * random.normal(), 0.0, 0.3 * random.normal()].map(|x| x as f32);
            if t > 0 {
                pose = pose.moved(truth.corrected(action.map(f64::from)), Frame::Robot);
            }
            walk.actions.push(action);
            let label = [pose.x, pose.y, pose.heading].map(|x| x as f32);
            walk.labels.push((t % 7 == 0).then_some(label));
        }
        let found = Bias::fit(&[walk], Frame::Robot, [0.15, 0.15, 0.3]);
        // The prior pulls by its share of the information; labels of 32 bits are exact to 1e-6.
        for (found, truth) in found.0.iter().zip(truth.0) {
            assert!((found - truth).abs() < 0.01, "{found} {truth}");
        }
    }

    #[test]
    fn linear_equations() {
        let x = solved([[0.0, 2.0], [4.0, 1.0]], [6.0, 11.0]).unwrap();
        assert_eq!(x, [2.0, 3.0]);
        assert_eq!(solved([[1.0, 1.0], [1.0, 1.0]], [1.0, 2.0]), None);
    }
}
