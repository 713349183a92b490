//! Linear motion with normal noise: random walks, autoregressions, constant velocity.

use super::factor;
use crate::angles::wrapped;
use crate::cpu::{Cpu, Work};
use crate::draws::Draws;
use crate::motion::{Motion, Noise};
use crate::particles::Particles;

/// So many particles are moved at once: their old coordinates stay in the first cache.
const BLOCK: usize = 64;

/// s' = A s + b + N(0, Q). Coordinates that are angles are wrapped.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearMotion {
    /// b: what every state is moved by. May be set before each step, to what an action says.
    pub offset: Vec<f32>,
    matrix: Vec<f32>,
    /// Lower factor of Q.
    factor: Vec<f32>,
    /// The old coordinates of a block.
    old: Vec<f32>,
}

impl LinearMotion {
    /// With matrices row after row; `None` if sizes differ, or Q is no covariance.
    pub fn new(matrix: Vec<f32>, offset: Vec<f32>, covariance: &[f64]) -> Option<Self> {
        let size = offset.len();
        let fits = matrix.len() == size * size && covariance.len() == size * size;
        if !fits || !matrix.iter().chain(&offset).all(|x| x.is_finite()) {
            return None;
        }
        let factor = factor(covariance, size)?.iter().map(|&x| x as f32).collect();
        Some(Self { offset, matrix, factor, old: vec![0.0; size * BLOCK] })
    }

    /// s' = s + N(0, Q).
    pub fn random_walk(covariance: &[f64], size: usize) -> Option<Self> {
        let identity = (0..size * size).map(|k| f32::from(u8::from(k % (size + 1) == 0))).collect();
        Self::new(identity, vec![0.0; size], covariance)
    }

    /// How many coordinates a state has.
    pub fn size(&self) -> usize {
        self.offset.len()
    }
}

impl Motion for LinearMotion {
    fn propagate(&mut self, particles: &mut Particles, draws: &mut dyn Draws, noise: &mut Noise) -> bool {
        let (size, space) = (self.size(), particles.space());
        let noise = noise.draw(size, particles.len(), draws);
        let columns = particles.columns_mut();
        assert_eq!(columns.len(), size, "coordinates of a linear motion");
        Cpu::best().run(Blocks { motion: self, columns, noise });
        for (_, column) in columns.iter_mut().enumerate().filter(|(k, _)| space.is_angle(*k)) {
            for angle in column {
                *angle = wrapped(*angle);
            }
        }
        true
    }
}

struct Blocks<'a> {
    motion: &'a mut LinearMotion,
    columns: &'a mut [Vec<f32>],
    noise: &'a [Vec<f32>],
}

impl Work for Blocks<'_> {
    #[inline(always)]
    fn run(self) {
        let LinearMotion { offset, matrix, factor, old } = self.motion;
        let (size, count) = (offset.len(), self.columns.first().map_or(0, Vec::len));
        for from in (0..count).step_by(BLOCK) {
            let upto = count.min(from + BLOCK);
            for (old, column) in old.chunks_mut(BLOCK).zip(&*self.columns) {
                old[..upto - from].copy_from_slice(&column[from..upto]);
            }
            for (row, column) in self.columns.iter_mut().enumerate() {
                let new = &mut column[from..upto];
                new.fill(offset[row]);
                for k in 0..size {
                    add(new, matrix[row * size + k], &old[k * BLOCK..][..upto - from]);
                    add(new, factor[row * size + k], &self.noise[k][from..upto]);
                }
            }
        }
    }
}

/// Adds a multiple; most entries of the matrices in use are zeros.
#[inline(always)]
fn add(to: &mut [f32], times: f32, numbers: &[f32]) {
    if times != 0.0 {
        to.iter_mut().zip(numbers).for_each(|(to, x)| *to += times * x);
    }
}
