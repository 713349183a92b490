//! Particles in six bytes each: fine enough to look at, small enough for a web page.

use super::plan::Plan;
use crate::error::{Error, Result};
use crate::files::base64;
use crate::pose::{Pose, wrap};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Bytes of a particle, see [`Cloud::packed`].
const BYTES: usize = 6;

/// A weighted pose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Particle {
    /// Where it is and looks.
    pub pose: Pose,
    /// Its weight; weights of a cloud sum to 1.
    pub weight: f64,
}

/// All particles of a step, rounded: positions to 1 / 65535 of the plan's extent (particles outside
/// of the plan are moved to its edge), headings to 1.4°, weights to 1 / 255 of the largest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cloud {
    /// The largest weight.
    pub largest: f32,
    /// How many particles were left out because they are nowhere (NaN, infinite).
    pub omitted: usize,
    #[serde(with = "text")]
    packed: Vec<u8>,
}

impl Cloud {
    /// Rounds particles to the grid of `plan`. A weight that is not a positive number counts as 0.
    pub fn pack(plan: &Plan, particles: &[Particle]) -> Self {
        let weight =
            |particle: &Particle| if particle.weight > 0.0 { particle.weight.min(1e30) } else { 0.0 };
        let is_somewhere = |pose: &Pose| [pose.x, pose.y, pose.heading].iter().all(|value| value.is_finite());
        let somewhere = || particles.iter().filter(|particle| is_somewhere(&particle.pose));
        let largest = somewhere().map(weight).fold(0.0, f64::max);
        let mut packed = Vec::with_capacity(BYTES * particles.len());
        let [width, height] = plan.size();
        for particle in somewhere() {
            let pose = particle.pose;
            // The cast holds what is outside within 0..=65535.
            let steps = |offset: f64, size: f64| (offset / size * 65535.0).round() as u16;
            packed.extend(steps(pose.x - plan.low[0], width).to_le_bytes());
            packed.extend(steps(pose.y - plan.low[1], height).to_le_bytes());
            packed.push(((wrap(pose.heading) + PI) / (2.0 * PI) * 256.0).round() as u16 as u8);
            let share = if largest > 0.0 { weight(particle) / largest } else { 0.0 };
            packed.push((255.0 * share).round() as u8);
        }
        let omitted = particles.len() - packed.len() / BYTES;
        Self { largest: largest as f32, omitted, packed }
    }

    /// The rounded particles.
    pub fn particles(&self, plan: &Plan) -> Vec<Particle> {
        let [width, height] = plan.size();
        let particle = |bytes: &[u8]| {
            let part = |i: usize| f64::from(u16::from_le_bytes([bytes[i], bytes[i + 1]])) / 65535.0;
            let heading = f64::from(bytes[4]) / 256.0 * 2.0 * PI - PI;
            Particle {
                pose: Pose::new(plan.low[0] + part(0) * width, plan.low[1] + part(2) * height, heading),
                weight: f64::from(self.largest) * f64::from(bytes[5]) / 255.0,
            }
        };
        self.packed.chunks_exact(BYTES).map(particle).collect()
    }

    /// The rounded particles as bytes, six each, low byte first: x and y in 65535ths of the plan's extent
    /// (16 bits), heading in 256ths of a turn from -π on (8), weight in 255ths of the largest (8).
    pub fn packed(&self) -> &[u8] {
        &self.packed
    }

    /// Number of particles kept.
    pub fn len(&self) -> usize {
        self.packed.len() / BYTES
    }

    /// True if there is none, as for a method without particles.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.packed.len().is_multiple_of(BYTES) && self.largest.is_finite() {
            return Ok(());
        }
        Err(Error::new(format!("{} bytes are not whole particles", self.packed.len())).in_field("particles"))
    }
}

/// Bytes as base64 inside JSON.
pub(super) mod text {
    use super::base64;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in super::super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&base64::encode(bytes))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        base64::decode(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan { low: [-100.0, 50.0], high: [900.0, 550.0], unit: "units".into(), ..Plan::default() }
    }

    #[test]
    fn rounding_errors_are_half_a_step() {
        let mut random = crate::random::Random::new(3);
        let particles: Vec<Particle> = (0..500)
            .map(|_| Particle {
                pose: Pose::new(
                    random.range(-100.0, 900.0),
                    random.range(50.0, 550.0),
                    random.range(-9.0, 9.0),
                ),
                weight: random.unit(),
            })
            .collect();
        let cloud = Cloud::pack(&plan(), &particles);
        for (before, after) in particles.iter().zip(cloud.particles(&plan())) {
            // Half steps: 1000 / 65535 / 2, 500 / 65535 / 2, 2π / 256 / 2, 1 / 255 / 2; weights are f32.
            assert!(
                (before.pose.x - after.pose.x).abs() < 0.00763
                    && (before.pose.y - after.pose.y).abs() < 0.00382
            );
            assert!(wrap(before.pose.heading - after.pose.heading).abs() < 0.01228);
            assert!((before.weight - after.weight).abs() < 0.00197);
        }
        assert_eq!(Cloud::pack(&plan(), &cloud.particles(&plan())).packed, cloud.packed);
    }

    #[test]
    fn odd_particles_are_held_at_the_edge_or_left_out() {
        let odd = [
            (Pose::new(-1e300, 1e300, 0.0), 2.0),
            (Pose::new(f64::NAN, 0.0, 0.0), 9.0),
            (Pose::new(0.0, 100.0, f64::INFINITY), 9.0),
            (Pose::new(0.0, 100.0, PI - 1e-9), f64::NAN),
            (Pose::new(0.0, 100.0, 0.0), -1.0),
        ];
        let cloud = Cloud::pack(&plan(), &odd.map(|(pose, weight)| Particle { pose, weight }));
        let seen = cloud.particles(&plan());
        assert_eq!((cloud.len(), cloud.omitted, cloud.largest), (3, 2, 2.0));
        assert_eq!((seen[0].pose, seen[0].weight), (Pose::new(-100.0, 550.0, 0.0), 2.0));
        assert_eq!((seen[1].pose.heading, seen[1].weight, seen[2].weight), (-PI, 0.0, 0.0));
        let nothing = Cloud::pack(&plan(), &[]);
        assert!(nothing.is_empty() && nothing.check().is_ok());
    }
}
