//! PF-net's filter put to use: any number of particles, drawn anew when few of them count.

use super::network::Network;
use super::particles::{State, drive, first};
use super::teaching::{Pool, look};
use super::walk::{PIXELS_PER_UNIT, Walk};
use crate::error::Result;
use crate::learn::HouseSettings;
use crate::methods::cloud::Cloud;
use crate::resample::choose_by_markers;
use driftless_kernels::Cpu;
use driftless_kernels::pfnet::PfnetMemory;
use driftless_world::random::Random;
use rayon::prelude::*;

/// Particles that a thread looks at together: two rows of lanes.
pub(super) const TOGETHER: usize = 32;

/// Follows a walk; `show` is given each belief, in the experiment's units, and the log evidence of what was seen.
pub(super) fn follow(
    network: &Network,
    settings: &HouseSettings,
    walk: &Walk,
    particles: usize,
    random: &mut Random,
    mut show: impl FnMut(&Cloud, f64),
) -> Result<()> {
    let (noise, pool) = (settings.noise(), Pool::default());
    let poses = first(walk.start, &walk.maps, particles, random)?;
    let mut cloud = Cloud { poses, weights: vec![1.0 / particles as f64; particles] };
    let mut seen = PfnetMemory::default();
    for (t, action) in walk.actions.iter().enumerate() {
        if t > 0 {
            cloud.poses.iter_mut().for_each(|pose| {
                drive(pose, *action, noise, random);
            });
        }
        let said = weigh(network, settings, walk, (t, &cloud.poses), &mut seen, &pool);
        let evidence = reweight(&mut cloud.weights, &said, settings.likelihood_tempering);
        show(&in_units(&cloud), evidence);
        if cloud.effective_sample_size() < 0.5 * particles as f64 {
            resample(&mut cloud, random.unit());
        }
    }
    Ok(())
}

/// What the network says of all particles of a step.
fn weigh(
    network: &Network,
    settings: &HouseSettings,
    walk: &Walk,
    (t, poses): (usize, &[State]),
    seen: &mut PfnetMemory,
    pool: &Pool,
) -> Vec<f32> {
    let (net, cpu) = (network.net(), Cpu::best());
    net.see(cpu, &walk.images[t * net.pixels()..][..net.pixels()], 1, false, seen);
    let mut said = vec![0.0; poses.len()];
    said.par_chunks_mut(TOGETHER).zip(poses.par_chunks(TOGETHER)).for_each(|(said, poses)| {
        let mut views = vec![0.0; poses.len() * net.view()];
        look(walk, settings, poses, &mut views);
        pool.with(|memory| {
            net.see_again(poses.len(), seen, memory);
            net.weigh(cpu, 0, &views, memory, said);
        });
    });
    said
}

/// Multiplies weights by likelihoods to the power of `sharpness` and normalises; returns the log evidence. What is not finite counts for
/// nothing; if nothing is left, the weights stay as they are.
fn reweight(weights: &mut [f64], said: &[f32], sharpness: f64) -> f64 {
    let finite = |x: f32| if x.is_finite() { sharpness * f64::from(x) } else { f64::NEG_INFINITY };
    let most = said.iter().map(|&x| finite(x)).fold(f64::NEG_INFINITY, f64::max);
    let new: Vec<f64> = weights.iter().zip(said).map(|(w, &x)| w * (finite(x) - most).exp()).collect();
    let sum: f64 = new.iter().sum();
    if !(sum > 0.0 && sum.is_finite()) {
        return 0.0;
    }
    weights.iter_mut().zip(new).for_each(|(weight, new)| *weight = new / sum);
    most + sum.ln()
}

/// Systematic: the k-th of N particles comes from where the sum of weights passes (u + k) / N.
fn resample(cloud: &mut Cloud, u: f64) {
    let (count, mut parents) = (cloud.poses.len(), Vec::new());
    let markers = (0..count).map(|k| (u + k as f64) / count as f64);
    choose_by_markers(&cloud.weights, markers, &mut Vec::new(), &mut parents);
    cloud.poses = parents.into_iter().map(|parent| cloud.poses[parent]).collect();
    cloud.weights.fill(1.0 / count as f64);
}

/// The same belief in the experiment's units.
fn in_units(cloud: &Cloud) -> Cloud {
    let pose = |[x, y, heading]: &State| [x / PIXELS_PER_UNIT, y / PIXELS_PER_UNIT, *heading];
    Cloud { poses: cloud.poses.iter().map(pose).collect(), weights: cloud.weights.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_likelihoods_keep_the_weights() {
        let mut weights = vec![0.25, 0.75];
        assert_eq!(reweight(&mut weights, &[f32::NAN, f32::NEG_INFINITY], 1.0), 0.0);
        assert_eq!(weights, [0.25, 0.75]);
        let evidence = reweight(&mut weights, &[f32::NAN, 2.0], 0.5);
        assert_eq!(weights, [0.0, 1.0]);
        assert!((evidence - (1.0 + 0.75_f64.ln())).abs() < 1e-12);
    }

    /// Each particle has as many children as its weight says, but for less than one.
    #[test]
    fn children_by_weight() {
        let weights = vec![0.0, 0.05, 0.5, 0.15, 0.3];
        for u in [0.0, 0.3, 0.999_999] {
            let poses = (0..5).map(|k| [f64::from(k), 0.0, 0.0]).collect();
            let mut cloud = Cloud { poses, weights: weights.clone() };
            resample(&mut cloud, u);
            for (k, weight) in weights.iter().enumerate() {
                let children = cloud.poses.iter().filter(|pose| pose[0] == k as f64).count() as f64;
                assert!((children - 5.0 * weight).abs() < 1.0, "{k}: {children}");
                assert!(*weight > 0.0 || children == 0.0, "a child without a parent's weight");
            }
        }
    }
}
