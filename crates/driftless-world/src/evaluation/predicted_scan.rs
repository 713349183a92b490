//! What a robot believes of the walls around it: a range scan that a network predicted, beside what the map says.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A range scan of one step, ray by ray; distances along the rays, in units of length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictedScan {
    /// Directions from the robot's heading, to the left, in radians.
    pub bearings: Vec<f32>,
    /// What the image is believed to show: below these the next wall is with a probability of 10, 50 and 90 %.
    pub predicted: Vec<[f32; 3]>,
    /// How far the map's next wall is from the estimate.
    pub from_estimate: Vec<f32>,
    /// The same from the truth; empty where that is not known.
    pub from_truth: Vec<f32>,
}

impl PredictedScan {
    /// How many rays.
    pub fn len(&self) -> usize {
        self.bearings.len()
    }

    /// True if there is no ray.
    pub fn is_empty(&self) -> bool {
        self.bearings.is_empty()
    }

    /// Where a ray that is seen from a pose ends, at a distance.
    pub fn end(&self, ray: usize, [x, y, heading]: [f32; 3], distance: f32) -> [f64; 2] {
        let (sine, cosine) = f64::from(heading + self.bearings[ray]).sin_cos();
        [f64::from(x) + f64::from(distance) * cosine, f64::from(y) + f64::from(distance) * sine]
    }

    /// Fails unless all parts have the same rays, and distances are finite and in order.
    pub(super) fn check(&self) -> Result<()> {
        let rays = self.len();
        let lengths = [
            ("predicted", self.predicted.len()),
            ("from_estimate", self.from_estimate.len()),
            ("from_truth", if self.from_truth.is_empty() { rays } else { self.from_truth.len() }),
        ];
        if let Some((name, length)) = lengths.into_iter().find(|(_, length)| *length != rays) {
            return Err(Error::new(format!("has {length} rays, the bearings {rays}")).in_field(name));
        }
        let is_distance = |x: &f32| x.is_finite() && *x >= 0.0;
        let is_ordered = |[low, middle, high]: &[f32; 3]| {
            is_distance(low) && low <= middle && middle <= high && high.is_finite()
        };
        if !self.predicted.iter().all(is_ordered) {
            return Err(Error::new("must be finite distances that grow").in_field("predicted"));
        }
        if !self.bearings.iter().all(|x| x.is_finite()) {
            return Err(Error::new("must be finite").in_field("bearings"));
        }
        if self.from_estimate.iter().chain(&self.from_truth).all(is_distance) {
            return Ok(());
        }
        Err(Error::new("distances on the map must be finite, and 0 or more"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rays_by_hand() {
        let scan = PredictedScan {
            bearings: vec![0.5, -0.5],
            predicted: vec![[1.0, 2.0, 3.0]; 2],
            from_estimate: vec![2.0, 1.0],
            from_truth: vec![],
        };
        scan.check().unwrap();
        // A quarter of a turn in all: straight up.
        let [x, y] = scan.end(0, [1.0, 2.0, std::f32::consts::FRAC_PI_2 - 0.5], 3.0);
        assert!((x - 1.0).abs() < 1e-6 && (y - 5.0).abs() < 1e-6);
        for (broken, field) in [
            (PredictedScan { predicted: vec![[1.0, 2.0, 3.0]], ..scan.clone() }, "predicted"),
            (PredictedScan { predicted: vec![[2.0, 1.0, 3.0]; 2], ..scan.clone() }, "predicted"),
            (PredictedScan { bearings: vec![f32::NAN; 2], ..scan.clone() }, "bearings"),
            (PredictedScan { from_truth: vec![1.0], ..scan.clone() }, "from_truth"),
            (PredictedScan { from_estimate: vec![-1.0, 1.0], ..scan.clone() }, "on the map"),
        ] {
            let found = broken.check().unwrap_err().to_string();
            assert!(found.contains(field), "{field}: {found}");
        }
    }
}
