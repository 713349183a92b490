//! Random numbers as an argument: a filter draws nothing by itself.

use crate::cpu::Cpu;
use crate::normal::{fill_normal, uniform};
use crate::random::Random;

/// Where a filter's random numbers come from.
pub trait Draws {
    /// Uniform in [0, 1).
    fn uniform(&mut self) -> f64;
    /// Standard normal numbers in place of those there were.
    fn normals(&mut self, numbers: &mut [f32]);
}

impl Draws for Random {
    fn uniform(&mut self) -> f64 {
        self.unit()
    }

    fn normals(&mut self, numbers: &mut [f32]) {
        for number in numbers {
            *number = self.normal() as f32;
        }
    }
}

/// Numbers named by a seed and their place, many at once.
#[derive(Clone, Debug)]
pub struct Stream {
    seed: u64,
    /// Blocks of normal numbers, and uniform numbers, that were given away.
    blocks: u64,
    uniforms: u64,
}

impl Stream {
    /// The stream that a seed itself names.
    pub fn from_seed(seed: u64) -> Self {
        Self { seed, blocks: 0, uniforms: 0 }
    }

    /// The stream `index` of a seed: independent of all others.
    pub fn new(seed: u64, index: u64) -> Self {
        Self::from_seed(Random::stream(seed, index).bits())
    }

    /// Where it stands.
    pub(crate) fn position(&self) -> [u64; 3] {
        [self.seed, self.blocks, self.uniforms]
    }

    /// One that stands there.
    pub(crate) fn at([seed, blocks, uniforms]: [u64; 3]) -> Self {
        Self { seed, blocks, uniforms }
    }
}

/// Normal numbers come in blocks of so many.
const BLOCK: usize = 64;

impl Draws for Stream {
    fn uniform(&mut self) -> f64 {
        self.uniforms += 1;
        f64::from(uniform(!self.seed, self.uniforms - 1))
    }

    fn normals(&mut self, numbers: &mut [f32]) {
        fill_normal(Cpu::best(), self.seed, self.blocks, numbers);
        self.blocks += numbers.len().div_ceil(BLOCK) as u64;
    }
}

/// Numbers that were drawn before, in their order: replays, and comparisons between implementations.
///
/// # Panics
/// Drawing panics if there are too few.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// To be drawn from the front.
    pub uniforms: std::collections::VecDeque<f64>,
    /// Likewise.
    pub normals: std::collections::VecDeque<f32>,
}

impl Draws for Replay {
    fn uniform(&mut self) -> f64 {
        self.uniforms.pop_front().expect("uniform numbers to replay")
    }

    fn normals(&mut self, numbers: &mut [f32]) {
        for number in numbers {
            *number = self.normals.pop_front().expect("normal numbers to replay");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed, index| {
            let mut stream = Stream::new(seed, index);
            let mut numbers = [0.0; 70];
            stream.normals(&mut numbers);
            stream.normals(&mut numbers[..3]);
            (numbers.to_vec(), stream.uniform(), stream.uniform())
        };
        let (one, again, other) = (draw(1, 2), draw(1, 2), draw(1, 3));
        assert_eq!(one, again);
        assert!(one.0 != other.0 && one.1 != other.1 && one.1 != one.2);
        assert_ne!(one.0[..3], one.0[64..67], "the second call goes on behind the first");
    }
}
