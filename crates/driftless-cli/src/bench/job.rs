//! The standard training step: data, random numbers and weights, of our own or as the Python contenders have them.

use super::objective::{Labels, Objective};
use anyhow::{Context, Result, bail};
use driftless_kernels::images::{ImagePlan, Padding};
use driftless_kernels::ranks::Alone;
use driftless_kernels::scan::{First, Motion, Sequence};
use driftless_kernels::training::{Decoded, Gradient, Lesson, Networks, Path as Way, Workspace};
use driftless_kernels::{Cpu, fill_normal, uniform};
use std::path::Path;

/// Trajectories, steps and particles.
pub const SIZES: [usize; 3] = [32, 99, 100];
pub const IMAGE: [usize; 3] = [3, 24, 24];
pub const PIXELS: usize = IMAGE[0] * IMAGE[1] * IMAGE[2];
/// Numbers of a mask of dropout, and the share of them that is kept.
pub const MASK: usize = 576;
const KEEP: f32 = 0.3;
pub const MOTION: Motion = Motion { side: 1.0, noise: [20.0, 20.0, 0.5] };
/// Weights of the three losses: kernel density, pseudo-likelihood, reconstruction.
pub const FACTORS: [f64; 3] = [10.0, 0.01, 200.0];

pub fn plan() -> ImagePlan {
    ImagePlan { image: IMAGE, channels: vec![16, 32, 64], features: 128, padding: Padding::One }
}

/// Data of a batch.
pub struct Job {
    images: Vec<f32>,
    actions: Vec<[f32; 3]>,
    first: Vec<[f32; 3]>,
    labels: Vec<Option<[f32; 3]>>,
    sizes: [usize; 3],
}

/// The random numbers of a step.
#[derive(Default)]
pub struct Draws {
    /// Trajectory after trajectory, step after step.
    noise: Vec<[f32; 3]>,
    offsets: Vec<f32>,
    masks: Vec<f32>,
    flat: Vec<f32>,
}

/// What a step came to.
pub struct Outcome {
    pub loss: f64,
    pub gradient: Gradient,
}

impl Job {
    /// Data without a meaning, as many as asked for.
    pub fn new(sizes: [usize; 3]) -> Self {
        let [batch, steps, count] = sizes;
        let pose = |k: u64, salt: u64| [0, 1, 2].map(|c| uniform(salt + c, k));
        let state = |k: u64| {
            let [x, y, heading] = pose(k, 10);
            [1000.0 * x, 500.0 * y, std::f32::consts::TAU * heading - std::f32::consts::PI]
        };
        let all = (batch * steps) as u64;
        let near = |b: u64| (0..count as u64).map(move |i| (state(b * steps as u64), pose(b * 7919 + i, 30)));
        let first = (0..batch as u64)
            .flat_map(near)
            .map(|(at, z)| [0, 1, 2].map(|k| at[k] + [100.0, 100.0, 1.0][k] * (z[k] - 0.5)));
        let action = |k: u64| {
            let z = pose(k, 20);
            [40.0 * z[0] - 20.0, 10.0 * z[1] - 5.0, 0.6 * z[2] - 0.3]
        };
        Self {
            images: (0..all * PIXELS as u64).map(|k| uniform(1, k)).collect(),
            actions: (0..all).map(action).collect(),
            first: first.collect(),
            labels: (0..all).map(|k| (uniform(2, k) < 0.1).then(|| state(k))).collect(),
            sizes,
        }
    }

    /// The contenders' data and random numbers.
    pub fn of_peers(folder: &Path) -> Result<(Self, Draws)> {
        let [batch, steps, count] = SIZES;
        let (states, known) = (triples(folder, "state", batch * steps)?, read(folder, "lab", batch * steps)?);
        let noise = triples(folder, "noise", steps * batch * count)?;
        let offsets = read(folder, "u", steps * batch)?;
        let job = Self {
            images: read(folder, "obs", batch * steps * PIXELS)?,
            actions: triples(folder, "act", batch * steps)?,
            first: triples(folder, "init", batch * count)?,
            labels: states.iter().zip(known).map(|(state, known)| (known > 0.0).then_some(*state)).collect(),
            sizes: SIZES,
        };
        let by_step = |b: usize| (0..steps).map(move |t| t * batch + b);
        let draws = Draws {
            noise: (0..batch).flat_map(by_step).flat_map(|k| noise[k * count..][..count].to_vec()).collect(),
            offsets: (0..batch).flat_map(by_step).map(|k| offsets[k]).collect(),
            masks: read(folder, "drop", batch * steps * MASK)?,
            flat: Vec::new(),
        };
        Ok((job, draws))
    }

    /// A forward and a backward pass.
    pub fn step(&self, nets: &Networks, draws: &Draws, workspace: &mut Workspace) -> Outcome {
        let [batch, steps, count] = self.sizes;
        let lesson = |k: usize| Lesson {
            images: &self.images[k * steps * PIXELS..][..steps * PIXELS],
            masks: Some(&draws.masks[k * steps * MASK..][..steps * MASK]),
            sequence: Sequence {
                first: &self.first[k * count..][..count],
                actions: &self.actions[k * steps..][..steps],
                noise: &draws.noise[k * steps * count..][..steps * count],
                offsets: &draws.offsets[k * steps..][..steps],
                seen: &[],
            },
        };
        let lessons: Vec<Lesson> = (0..batch).map(lesson).collect();
        let labels = Labels { states: &self.labels, steps };
        let objective = Objective::new(labels, &draws.noise, [batch, steps, count], [FACTORS[0], FACTORS[1]]);
        let pixels = self.images.len() as f64;
        let decoded = Decoded::AsSeen((FACTORS[2] / pixels) as f32);
        let way = Way { motion: MOTION, first: First::Moves };
        let (said, squares, gradient) = nets
            .learn_from(Cpu::best(), &way, (&lessons, decoded), &objective, &Alone, workspace)
            .expect("one process is never lost");
        Outcome { loss: said[0] + said[1] + FACTORS[2] * squares / pixels, gradient }
    }

    /// Numbers multiplied and added in a step, twice each: what is needed, not what is done.
    pub fn flops(&self, nets: &Networks) -> f64 {
        let [batch, steps, count] = self.sizes;
        let poses: usize =
            nets.poses.layers.layers().iter().map(|layer| layer.shape().iter().product::<usize>()).sum();
        // Convolutions by patches of 9 times the channels before; the decoder mirrors them.
        let images = 144 * 27 * 16 + 36 * 144 * 32 + 9 * 288 * 64 + MASK * 128;
        let (first_conv, first_layer) = (144 * 27 * 16, 4 * 16);
        // Forward, by inputs and by weights; nobody asks for derivatives by pixels or poses.
        let an_image = 3 * (2 * images) - first_conv;
        let a_pose = 3 * poses - first_layer;
        2.0 * (batch * steps) as f64 * (an_image + count * a_pose) as f64
    }
}

impl Draws {
    /// New numbers, named by a seed.
    pub fn draw(&mut self, [batch, steps, count]: [usize; 3], seed: u64) {
        self.flat.resize(3 * batch * steps * count, 0.0);
        fill_normal(Cpu::best(), seed, 0, &mut self.flat);
        self.noise.clear();
        self.noise.extend(self.flat.chunks_exact(3).map(|z| [z[0], z[1], z[2]]));
        self.offsets.clear();
        self.offsets.extend((0..(batch * steps) as u64).map(|k| uniform(seed ^ 1, k)));
        self.masks.clear();
        let keep = |k: u64| if uniform(seed ^ 2, k) < KEEP { 1.0 / KEEP } else { 0.0 };
        self.masks.extend((0..(batch * steps * MASK) as u64).map(keep));
    }
}

/// Little-endian numbers of 32 bits.
pub fn read(folder: &Path, name: &str, count: usize) -> Result<Vec<f32>> {
    let path = folder.join(format!("{name}.bin"));
    let bytes = std::fs::read(&path).with_context(|| {
        format!("cannot read {}: make it with benches/side_by_side/inputs.py", path.display())
    })?;
    if bytes.len() != 4 * count {
        bail!("{} has {} bytes, not {}", path.display(), bytes.len(), 4 * count);
    }
    Ok(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

fn triples(folder: &Path, name: &str, count: usize) -> Result<Vec<[f32; 3]>> {
    Ok(read(folder, name, 3 * count)?.chunks_exact(3).map(|x| [x[0], x[1], x[2]]).collect())
}
