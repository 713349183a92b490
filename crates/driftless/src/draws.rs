//! Every random number of a rollout, drawn on the host from one seed.
//!
//! Burn's own generator is global to the process, so two tests or two runs beside each other would
//! disturb each other; and a filter whose randomness is an argument can be replayed, compared
//! across implementations, and checked by finite differences.

use crate::dropout::Phase;
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless_core::Snapshot;
use driftless_world::random::Random;

/// How many numbers a rollout needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawSizes {
    /// Sequences, B.
    pub batch: usize,
    /// Time steps, T.
    pub steps: usize,
    /// Particles, N.
    pub particles: usize,
    /// Numbers in a state, S: as many are drawn for the first particles.
    pub state: usize,
    /// Numbers of noise a particle and step.
    pub noise: usize,
    /// Uniform numbers a sequence and step, for the resampler.
    pub uniforms: usize,
}

/// The numbers of one step.
#[derive(Clone, Debug)]
pub struct Draw {
    /// Standard normal, [B, N, noise].
    pub noise: Tensor<3>,
    /// Uniform in [0, 1), row after row: `uniforms` numbers a sequence.
    pub uniforms: Vec<f64>,
    /// Names further numbers, for parts that need many and seldom, such as a proposer's dropout.
    pub seed: u64,
}

/// The numbers of a whole rollout.
#[derive(Clone, Debug)]
pub struct Draws {
    /// For the first particles: uniform in [0, 1), [B, N, S].
    pub uniform_start: Tensor<3>,
    /// For the first particles: standard normal, [B, N, S].
    pub normal_start: Tensor<3>,
    /// For each step; step 0 moves nothing, so its noise is unused.
    pub steps: Vec<Draw>,
    /// What networks are run for; in training, which features are dropped.
    pub phase: Phase,
    seed: u64,
}

/// Streams that no sequence has.
const STEP_SEEDS: u64 = u64::MAX;
const DROPOUT_SEED: u64 = u64::MAX - 1;

impl Draws {
    /// The draws named by `seed`, for evaluation. Row b is a stream of its own: it does not change
    /// with the batch.
    pub fn new(sizes: DrawSizes, seed: u64, device: &Device, precision: DType) -> Self {
        let mut rows: Vec<Random> = (0..sizes.batch as u64).map(|row| Random::stream(seed, row)).collect();
        let mut tensor = |width: usize, draw: &dyn Fn(&mut Random) -> f64| {
            let mut values = Vec::with_capacity(sizes.batch * sizes.particles * width);
            for random in &mut rows {
                values.extend((0..sizes.particles * width).map(|_| draw(random)));
            }
            let data = TensorData::new(values, [sizes.batch, sizes.particles, width]);
            Tensor::<3>::from_data(data, (device, precision))
        };
        let uniform_start = tensor(sizes.state, &Random::unit);
        let normal_start = tensor(sizes.state, &Random::normal);
        let noises: Vec<Tensor<3>> = (0..sizes.steps).map(|_| tensor(sizes.noise, &Random::normal)).collect();
        let uniforms = |rows: &mut Vec<Random>| {
            rows.iter_mut()
                .flat_map(|random| (0..sizes.uniforms).map(|_| random.unit()).collect::<Vec<_>>())
                .collect()
        };
        let mut seeds = Random::stream(seed, STEP_SEEDS);
        let draw = |noise| Draw { noise, uniforms: uniforms(&mut rows), seed: seeds.bits() };
        let steps = noises.into_iter().map(draw).collect();
        Self { uniform_start, normal_start, steps, phase: Phase::Evaluation, seed }
    }

    /// The same numbers for training: networks drop features.
    pub fn training(self) -> Self {
        let seed = Random::stream(self.seed, DROPOUT_SEED).bits();
        Self { phase: Phase::Training { seed }, ..self }
    }
}

/// The numbers of one sequence of which nobody knows how long it will be, drawn as they are needed.
pub(crate) struct Drawing {
    sizes: DrawSizes,
    random: Random,
    seeds: Random,
}

impl Drawing {
    /// Those named by `seed`; of the sizes, sequences and steps are not looked at.
    pub(crate) fn new(sizes: DrawSizes, seed: u64) -> Self {
        Self { sizes, random: Random::stream(seed, 0), seeds: Random::stream(seed, STEP_SEEDS) }
    }

    /// For the first particles and the first step.
    pub(crate) fn first(&mut self) -> Draws {
        let uniform_start = self.tensor(self.sizes.state, Random::unit);
        let normal_start = self.tensor(self.sizes.state, Random::normal);
        Draws { uniform_start, normal_start, steps: vec![self.step()], phase: Phase::Evaluation, seed: 0 }
    }

    /// For the next step.
    pub(crate) fn step(&mut self) -> Draw {
        let noise = self.tensor(self.sizes.noise, Random::normal);
        let uniforms = (0..self.sizes.uniforms).map(|_| self.random.unit()).collect();
        Draw { noise, uniforms, seed: self.seeds.bits() }
    }

    /// Adds where it stands.
    pub(crate) fn save(&self, to: &mut Vec<u8>) {
        self.random.save(to);
        self.seeds.save(to);
    }

    /// Goes on from there.
    pub(crate) fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        (self.random, self.seeds) = (Random::load(from)?, Random::load(from)?);
        Some(())
    }

    fn tensor(&mut self, width: usize, draw: impl Fn(&mut Random) -> f64) -> Tensor<3> {
        let particles = self.sizes.particles;
        let values: Vec<f32> = (0..particles * width).map(|_| draw(&mut self.random) as f32).collect();
        Tensor::from_data(TensorData::new(values, [1, particles, width]), (&Device::flex(), DType::F32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;

    const SIZES: DrawSizes = DrawSizes { batch: 3, steps: 4, particles: 5, state: 2, noise: 1, uniforms: 6 };

    #[test]
    fn a_seed_names_the_draws() {
        let parts = |seed| {
            let draws = Draws::new(SIZES, seed, &Device::flex(), DType::F64);
            let mut parts = vec![numbers(&draws.uniform_start), numbers(&draws.normal_start)];
            for step in draws.steps {
                parts.extend([numbers(&step.noise), step.uniforms, vec![step.seed as f64]]);
            }
            parts
        };
        let (one, other) = (parts(1), parts(2));
        assert_eq!(one, parts(1));
        let sizes: Vec<usize> = one.iter().map(Vec::len).collect();
        assert_eq!(sizes, [30, 30, 15, 18, 1, 15, 18, 1, 15, 18, 1, 15, 18, 1]);
        // No part is the same for another seed, or at another step.
        let all: Vec<&Vec<f64>> = one.iter().chain(&other).collect();
        assert!((0..all.len()).all(|i| (0..i).all(|j| all[i] != all[j])), "{all:?}");
    }

    #[test]
    fn a_sequence_does_not_depend_on_its_batch() {
        let device = Device::flex();
        let draws = |batch| Draws::new(DrawSizes { batch, ..SIZES }, 1, &device, DType::F64);
        let (alone, together) = (draws(1), draws(3));
        let noise = |draws: &Draws| draws.steps[2].noise.try_to_vec_as::<f64>().unwrap();
        assert_eq!(noise(&alone), noise(&together)[..5]);
        assert_eq!(alone.steps[3].uniforms, together.steps[3].uniforms[..6]);
        assert_ne!(noise(&together)[..5], noise(&together)[5..10]);
    }

    #[test]
    fn features_are_dropped_only_in_training() {
        let phase = |seed| Draws::new(SIZES, seed, &Device::flex(), DType::F32).training().phase;
        assert_eq!(Draws::new(SIZES, 1, &Device::flex(), DType::F32).phase, Phase::Evaluation);
        assert_eq!(phase(1), phase(1));
        assert_ne!(phase(1), phase(2));
    }
}
