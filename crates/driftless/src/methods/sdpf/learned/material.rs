//! Lessons, features and draws as plain numbers.

use crate::draws::Draws;
use crate::methods::sdpf::fused::material::{by_sequence, known, triples};
use crate::prior::Prior;
use burn::tensor::Tensor;
use driftless_kernels::Cpu;
use driftless_kernels::rows::to_units;
use driftless_world::labels::Lesson;

/// Everything a batch needs, sequence after sequence.
pub(super) struct Material {
    first: Vec<[f32; 3]>,
    /// `None` where it is missing.
    actions: Vec<Option<[f32; 3]>>,
    noise: Vec<[f32; 3]>,
    /// For the resampler, as many a step for each sequence.
    uniforms: Vec<Vec<f64>>,
    /// Features of length 1, and the lengths they had; zeros where nothing was seen.
    units: Vec<f32>,
    lengths: Vec<f32>,
    silent: Vec<bool>,
    labels: Vec<Option<[f32; 3]>>,
    /// Sequences, steps, particles.
    pub(super) sizes: [usize; 3],
}

/// One step of one sequence.
pub(super) struct Now<'a> {
    pub(super) action: Option<[f32; 3]>,
    pub(super) noise: &'a [[f32; 3]],
    pub(super) uniforms: &'a [f64],
    pub(super) seen: Option<&'a [f32]>,
}

impl Material {
    /// Of lessons with their actions [B, T, 3] and features, rows of so many numbers, which are not finite where nothing
    /// was seen.
    pub(super) fn of(
        start: &Prior,
        lessons: &[Lesson],
        (actions, (mut units, width)): (&Tensor<3>, (Vec<f32>, usize)),
        draws: &Draws,
    ) -> Self {
        let [sequences, steps, _] = actions.dims();
        let noise: Vec<_> = draws.steps.iter().map(|draw| triples(&draw.noise)).collect();
        let particles = noise[0].len() / sequences;
        let mut silent = Vec::with_capacity(sequences * steps);
        for row in units.chunks_exact_mut(width) {
            silent.push(row.iter().any(|x| !x.is_finite()));
            if silent[silent.len() - 1] {
                row.fill(0.0);
            }
        }
        let mut lengths = Vec::new();
        to_units(Cpu::best(), &mut units, width, &mut lengths);
        let finite = |action: [f32; 3]| action.iter().all(|x| x.is_finite()).then_some(action);
        Self {
            first: triples(&start.sample(draws).states),
            actions: triples(actions).into_iter().map(finite).collect(),
            noise: by_sequence(&noise, sequences),
            uniforms: draws.steps.iter().map(|draw| draw.uniforms.clone()).collect(),
            units,
            lengths,
            silent,
            labels: lessons.iter().flat_map(known).collect(),
            sizes: [sequences, steps, particles],
        }
    }

    /// Whether kernels can do with it: features that are missing must mean that nothing was measured.
    pub(super) fn is_usable(&self, silence: bool) -> bool {
        let width = self.width();
        width > 0
            && width.is_multiple_of(driftless_kernels::LANES)
            && (silence || !self.silent.contains(&true))
    }

    /// Numbers of a feature.
    pub(super) fn width(&self) -> usize {
        self.units.len() / self.lengths.len().max(1)
    }

    /// All features, their lengths, and their numbers.
    pub(super) fn units(&self) -> (&[f32], &[f32], usize) {
        (&self.units, &self.lengths, self.width())
    }

    /// How many poses are known.
    pub(super) fn known(&self) -> usize {
        self.labels.iter().flatten().count()
    }

    /// Where the particles of a sequence start.
    pub(super) fn first(&self, k: usize) -> &[[f32; 3]] {
        let [_, _, count] = self.sizes;
        &self.first[k * count..][..count]
    }

    /// Known poses of a sequence.
    pub(super) fn labels(&self, k: usize) -> &[Option<[f32; 3]>] {
        let [_, steps, _] = self.sizes;
        &self.labels[k * steps..][..steps]
    }

    /// Step t of sequence k.
    pub(super) fn at(&self, k: usize, t: usize) -> Now<'_> {
        let ([sequences, steps, count], width) = (self.sizes, self.width());
        let (step, uniforms) = (k * steps + t, &self.uniforms[t]);
        let own = uniforms.len() / sequences;
        Now {
            action: self.actions[step],
            noise: &self.noise[step * count..][..count],
            uniforms: &uniforms[k * own..][..own],
            seen: (!self.silent[step]).then(|| &self.units[step * width..][..width]),
        }
    }
}
