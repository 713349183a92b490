//! Particles, in parts that threads share.

use super::drawing::Drawing;
use super::estimate::{Estimate, Sums};
use super::weigh::{Room, weigh};
use crate::Cpu;
use crate::angles::{turn, wrapped};
use crate::cpu::Work;
use crate::normal::fill_normal;
use crate::scan::{Motion, PoseNet};
use driftless_core::pose::compose;
use rayon::prelude::*;

/// So many particles are one part: waking a thread costs more than they do.
const FEW: usize = 512;
/// Parts of more particles.
const PARTS: usize = 16;
/// Normal numbers come in blocks of so many, and parts hold whole blocks.
const BLOCK: usize = 64;

/// A position, a heading from -π to π, and its cosine and sine.
pub(super) type Particle = [f32; 5];

/// How all particles move in a step.
pub(super) struct Moved {
    pub cpu: Cpu,
    pub motion: Motion,
    pub action: [f32; 3],
    /// These two name the noise.
    pub seed: u64,
    pub step: u64,
}

/// All particles.
#[derive(Debug)]
pub(super) struct Particles {
    now: Vec<Particle>,
    /// What weights are proportional to.
    likelihoods: Vec<f32>,
    parts: Vec<Part>,
    /// Particles of a part; the last one may have fewer.
    size: usize,
}

/// Room of a part: its particles as columns, and what they need.
#[derive(Clone, Debug, Default)]
struct Part {
    ancestors: Vec<u32>,
    columns: [Vec<f32>; 5],
    /// Of all its particles, not normalised.
    weight: f64,
    noise: [Vec<f32>; 3],
    room: Room,
    sums: Sums,
}

impl Particles {
    pub(super) fn new(first: &[[f32; 3]]) -> Self {
        let count = first.len();
        let size = if count <= FEW { FEW } else { count.div_ceil(PARTS).next_multiple_of(BLOCK) };
        let particle = |&[x, y, heading]: &[f32; 3]| {
            let heading = wrapped(heading);
            [x, y, heading, heading.cos(), heading.sin()]
        };
        let part = |poses: &[[f32; 3]]| Part {
            ancestors: vec![0; poses.len()],
            weight: poses.len() as f64,
            ..Part::default()
        };
        let parts = first.chunks(size).map(part).collect();
        Self { now: first.iter().map(particle).collect(), likelihoods: vec![1.0; count], parts, size }
    }

    /// Draws the next generation by weight, systematically, and moves it.
    pub(super) fn advance(&mut self, way: &Moved, offset: f32) {
        let Self { now, likelihoods, parts, size, .. } = self;
        let mut below = [0.0; PARTS + 1];
        for (k, part) in parts.iter().enumerate() {
            below[k + 1] = below[k] + part.weight;
        }
        let drawing = Drawing { weights: likelihoods, below: &below[..=parts.len()], size: *size, offset };
        let blocks = now.len().div_ceil(BLOCK) as u64;
        let one = |(number, part): (usize, &mut Part)| {
            drawing.draw(number, &mut part.ancestors);
            let first = way.step.wrapping_mul(3 * blocks).wrapping_add((number * *size / BLOCK) as u64);
            part.advance(way, now, [first, blocks]);
        };
        if let [part] = &mut parts[..] {
            one((0, part));
        } else {
            parts.par_iter_mut().enumerate().for_each(one);
        }
    }

    /// How likely each of the next generation is, which becomes the present one.
    pub(super) fn weigh(&mut self, cpu: Cpu, net: &PoseNet, seen: Option<&[f32]>) {
        let Self { now, likelihoods, parts, size, .. } = self;
        let one = |part: &mut Part, now: &mut [Particle], likelihoods: &mut [f32]| {
            let columns = std::array::from_fn(|k| &part.columns[k][..]);
            weigh(net, cpu, columns, seen, &mut part.room, likelihoods);
            part.write(now);
            part.sums = Sums::begin(now, likelihoods);
            part.weight = part.sums.compass[0];
        };
        if let [part] = &mut parts[..] {
            one(part, now, likelihoods);
        } else {
            let rows = now.par_chunks_mut(*size).zip(likelihoods.par_chunks_mut(*size));
            parts.par_iter_mut().zip(rows).for_each(|(part, (now, likelihoods))| one(part, now, likelihoods));
        }
    }

    /// Where the particles are, in sums over parts in their order. Weights are equal where nothing was possible.
    pub(super) fn estimate(&mut self, told: [bool; 2]) -> Estimate {
        let Self { now, likelihoods, parts, size, .. } = self;
        let mut sums = Sums::default();
        for part in &*parts {
            sums.add(&part.sums);
        }
        if !(sums.compass[0] > 0.0 && sums.compass[0].is_finite()) {
            likelihoods.fill(1.0);
            sums = Sums::begin(now, likelihoods);
            let counts = likelihoods.chunks(*size).map(|own| own.len() as f64);
            parts.iter_mut().zip(counts).for_each(|(part, count)| part.weight = count);
        }
        let origin = [now[0][0], now[0][1], sums.heading()];
        if parts.len() == 1 {
            sums.go_on(origin, now, likelihoods);
        } else {
            let shares = now.par_chunks(*size).zip(likelihoods.par_chunks(*size));
            parts.par_iter_mut().zip(shares).for_each(|(part, (now, likelihoods))| {
                part.sums = Sums::default();
                part.sums.go_on(origin, now, likelihoods);
            });
            for part in parts {
                sums.add(&part.sums);
            }
        }
        sums.estimate(origin, told)
    }

    /// Poses and weights.
    pub(super) fn all(&self) -> impl Iterator<Item = ([f32; 3], f32)> {
        let whole: f64 = self.likelihoods.iter().map(|&l| f64::from(l)).sum();
        let particle = move |(&[x, y, heading, ..], &l): (&Particle, &f32)| {
            ([x, y, heading], (f64::from(l) / whole) as f32)
        };
        self.now.iter().zip(&self.likelihoods).map(particle)
    }
}

impl Part {
    /// Moves descendants of the ancestors; blocks of noise begin at `first`, and are `blocks` for a coordinate.
    fn advance(&mut self, way: &Moved, before: &[Particle], [first, blocks]: [u64; 2]) {
        let ancestors = &self.ancestors;
        for (k, noise) in self.noise.iter_mut().enumerate() {
            noise.resize(ancestors.len(), 0.0);
            fill_normal(way.cpu, way.seed, first.wrapping_add(k as u64 * blocks), noise);
        }
        self.columns.iter_mut().for_each(|column| column.resize(ancestors.len(), 0.0));
        for (i, &ancestor) in ancestors.iter().enumerate() {
            let particle = before[ancestor as usize];
            (0..5).for_each(|k| self.columns[k][i] = particle[k]);
        }
        way.cpu.run(Advance { way, noise: &self.noise, columns: &mut self.columns });
        let [_, _, headings, cosines, sines] = &mut self.columns;
        turn(way.cpu, headings, [cosines, sines]);
    }

    fn write(&self, to: &mut [Particle]) {
        for (i, particle) in to.iter_mut().enumerate() {
            *particle = std::array::from_fn(|k| self.columns[k][i]);
        }
    }
}

struct Advance<'a> {
    way: &'a Moved,
    noise: &'a [Vec<f32>; 3],
    columns: &'a mut [Vec<f32>; 5],
}

impl Work for Advance<'_> {
    #[inline(always)]
    fn run(self) {
        let Motion { side, noise: scale } = self.way.motion;
        let [ahead, aside, turn] = self.way.action;
        let aside = side * aside;
        let [x, y, headings, cosines, sines] = self.columns;
        let count = x.len();
        let (x, y, headings) = (&mut x[..count], &mut y[..count], &mut headings[..count]);
        let (cosines, sines) = (&cosines[..count], &sines[..count]);
        let [zx, zy, zh] = self.noise.each_ref().map(|z| &z[..count]);
        for i in 0..count {
            let [dx, dy] = compose([cosines[i], sines[i]], [ahead, aside]);
            x[i] += dx + scale[0] * zx[i];
            y[i] += dy + scale[1] * zy[i];
            headings[i] = wrapped(headings[i] + turn + scale[2] * zh[i]);
        }
    }
}
