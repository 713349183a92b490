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

/// l of each pose, given as columns: positions, headings, cosines and sines. All are alike if nothing was seen.
pub(super) fn weigh(
    net: &PoseNet,
    cpu: Cpu,
    [x, y, _, cosines, sines]: [&[f32]; 5],
    seen: Option<&[f32]>,
    room: &mut Room,
    likelihoods: &mut [f32],
) {
    let Some(seen) = seen else { return likelihoods.fill(1.0) };
    for (number, likelihoods) in likelihoods.chunks_mut(AT_ONCE).enumerate() {
        let own = [x, y, cosines, sines].map(|column| &column[number * AT_ONCE..][..likelihoods.len()]);
        let room = (&mut room.inputs, &mut room.layers);
        weigh_columns(net, cpu, own, seen, room, likelihoods);
    }
}
