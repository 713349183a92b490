//! How likely poses are under an image: through the network, or not at all.

use crate::Cpu;
use crate::mlp::MlpMemory;
use crate::scan::{PoseNet, weigh_columns};

/// Poses that are encoded at once: their features stay in the nearest cache.
const AT_ONCE: usize = 96;

/// Room of one part of the particles.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    inputs: Vec<f32>,
    layers: MlpMemory,
}

/// Says how likely poses are.
pub(super) trait Weigh: Sync {
    /// l of each pose, given as columns: positions, headings, cosines and sines.
    fn weigh(&self, cpu: Cpu, columns: [&[f32]; 5], seen: &[f32], room: &mut Room, likelihoods: &mut [f32]);
}

/// Has seen nothing.
pub(super) struct Blind;

impl Weigh for Blind {
    fn weigh(&self, _: Cpu, _: [&[f32]; 5], _: &[f32], _: &mut Room, likelihoods: &mut [f32]) {
        likelihoods.fill(1.0);
    }
}

impl Weigh for PoseNet {
    fn weigh(&self, cpu: Cpu, columns: [&[f32]; 5], seen: &[f32], room: &mut Room, likelihoods: &mut [f32]) {
        for (number, likelihoods) in likelihoods.chunks_mut(AT_ONCE).enumerate() {
            let [x, y, _, cosines, sines] = columns;
            let own = [x, y, cosines, sines].map(|column| &column[number * AT_ONCE..][..likelihoods.len()]);
            let room = (&mut room.inputs, &mut room.layers);
            weigh_columns(self, cpu, own, seen, room, likelihoods);
        }
    }
}
