//! The first particles of a robot that is told about where it is.

use driftless_core::{Draws, Particles, Space, Stream};

/// Particles of a normal distribution.
pub(super) fn around(pose: [f32; 3], spread: [f32; 3], count: usize, draws: &mut Stream) -> Particles {
    let mut particles = Particles::from_states(Space::SE2, vec![pose; count]);
    let mut noise = vec![0.0; count];
    for (k, column) in particles.columns_mut().iter_mut().enumerate() {
        draws.normals(&mut noise);
        column.iter_mut().zip(&noise).for_each(|(x, z)| *x += spread[k] * z);
    }
    particles
}
