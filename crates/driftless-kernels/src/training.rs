//! One training step of a filter: images, particles, decoder, forward and backward, sequence by sequence.
//!
//! A sequence is followed to its end before the next: its images, particles and gradients stay in the caches, and
//! nothing of a whole batch is ever stored. The objective is somebody else's, who sees each sequence's trace and says
//! what pulls at it. Groups of sequences run in parallel; they do not depend on the number of threads, and their
//! gradients are added in order.

use crate::Cpu;
use crate::decoder::{DecoderGradient, DecoderMemory, DecoderNet};
use crate::dense::{LayerGradient, Rows};
use crate::images::{ImageGradient, ImageMemory, ImageNet};
use crate::mlp::MlpGradient;
use crate::rows::{back_through_units, to_units};
use crate::scan::{First, Motion, PoseNet, Sequence, Trace, TraceMemory};
use rayon::prelude::*;
use std::sync::Mutex;

/// Groups of sequences, at most.
const GROUPS: usize = 8;
/// Images that are decoded at once: their larger levels stay in the caches.
const DECODED: usize = 12;

/// All networks of the filter.
#[derive(Clone, Debug)]
pub struct Networks {
    /// Features of images.
    pub eyes: ImageNet,
    /// Features of poses.
    pub poses: PoseNet,
    /// Images of features.
    pub decoder: DecoderNet,
}

/// One sequence: T images, T masks, and what its filter needs but the features of images.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// Images one after the other, each channel after channel.
    pub images: &'a [f32],
    /// A mask of dropout for each, or none.
    pub masks: Option<&'a [f32]>,
    /// Everything else; `seen` is not looked at.
    pub sequence: Sequence<'a>,
}

/// The derivatives by all weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gradient {
    /// Of the image encoder.
    pub eyes: ImageGradient,
    /// Of the layers of the pose encoder.
    pub poses: MlpGradient,
    /// Of the decoder.
    pub decoder: DecoderGradient,
}

/// What a teacher says of a sequence, to be added up.
pub type Figures = [f64; 3];

/// Knows the objective.
pub trait Teacher: Sync {
    /// Writes the derivatives of the objective by each log l of a lesson's trace over zeros, and says what it came to.
    fn teach(&self, lesson: usize, trace: &Trace, pulls: &mut [f32]) -> Figures;
}

/// How particles move, and the autoencoder's part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Of particles.
    pub motion: Motion,
    /// What becomes of the first step.
    pub first: First,
    /// Factor of each squared difference between a pixel and its image's decoded; 0 if nothing is decoded.
    pub reconstruction: f32,
}

/// Room to work, kept from one batch to the next.
#[derive(Debug, Default)]
pub struct Workshop {
    groups: Vec<Group>,
    /// One for each thread that was ever at work.
    rooms: Mutex<Vec<Room>>,
}

#[derive(Debug, Default)]
struct Group {
    gradient: Gradient,
    figures: Figures,
    reconstruction: f64,
}

#[derive(Debug, Default)]
struct Room {
    eyes: ImageMemory,
    way: TraceMemory,
    trace: Trace,
    decoder: DecoderMemory,
    seen: Vec<f32>,
    lengths: Vec<f32>,
    pulls: Vec<f32>,
    by_seen: Vec<f32>,
    by_decoded: Vec<f32>,
}

impl Networks {
    /// Sums of what the teacher said, of squared differences of pixels, and the gradient of the objective. The
    /// autoencoder sees images through masks of its own.
    pub fn learn_from(
        &self,
        cpu: Cpu,
        path: &Path,
        (lessons, masks): (&[Lesson], &[Option<&[f32]>]),
        teacher: &impl Teacher,
        shop: &mut Workshop,
    ) -> (Figures, f64, Gradient) {
        let size = lessons.len().div_ceil(GROUPS).max(1);
        let (groups, rooms) = (&mut shop.groups, &shop.rooms);
        groups.resize_with(lessons.len().div_ceil(size), Group::default);
        groups.par_iter_mut().enumerate().for_each(|(number, group)| {
            let mut room = rooms.lock().expect("no thread has panicked").pop().unwrap_or_default();
            group.gradient.reset(self);
            (group.figures, group.reconstruction) = Default::default();
            for k in number * size..((number + 1) * size).min(lessons.len()) {
                room.follow(self, cpu, path, &lessons[k]);
                let said = room.listen(teacher, k);
                group.figures.iter_mut().zip(said).for_each(|(sum, part)| *sum += part);
                room.go_back(self, cpu, &lessons[k], group);
                if path.reconstruction > 0.0 {
                    room.decode(self, cpu, path.reconstruction, (lessons[k].images, masks[k]), group);
                }
            }
            rooms.lock().expect("no thread has panicked").push(room);
        });
        let (mut figures, mut pixels, mut gradient) = (Figures::default(), 0.0, Gradient::default());
        for group in groups {
            figures.iter_mut().zip(group.figures).for_each(|(sum, part)| *sum += part);
            pixels += group.reconstruction;
            gradient.add(&group.gradient);
        }
        (figures, pixels, gradient)
    }
}

impl Networks {
    /// Filters sequences and writes down all of them.
    pub fn follow(&self, cpu: Cpu, path: &Path, lessons: &[Lesson]) -> Vec<Trace> {
        let follow = |room: &mut Room, lesson: &Lesson| {
            room.follow(self, cpu, path, lesson);
            room.trace.clone()
        };
        lessons.par_iter().map_init(Room::default, follow).collect()
    }
}

impl Room {
    fn follow(&mut self, nets: &Networks, cpu: Cpu, path: &Path, lesson: &Lesson) {
        nets.eyes.forward(cpu, lesson.images, lesson.masks, &mut self.eyes);
        self.seen.clear();
        self.seen.extend_from_slice(self.eyes.features());
        to_units(cpu, &mut self.seen, nets.eyes.width(), &mut self.lengths);
        let sequence = Sequence { seen: &self.seen, ..lesson.sequence };
        nets.poses.follow(cpu, (&path.motion, path.first), &sequence, &mut self.way, &mut self.trace);
    }

    fn listen(&mut self, teacher: &impl Teacher, number: usize) -> Figures {
        self.pulls.clear();
        self.pulls.resize(self.trace.log_likelihoods.len(), 0.0);
        teacher.teach(number, &self.trace, &mut self.pulls)
    }

    fn go_back(&mut self, nets: &Networks, cpu: Cpu, lesson: &Lesson, group: &mut Group) {
        let (width, sinks) = (nets.eyes.width(), (&mut group.gradient.poses, &mut self.by_seen));
        nets.poses.go_back(cpu, (&self.trace, &self.pulls, &self.seen), &mut self.way, sinks);
        back_through_units(cpu, &self.seen, &self.lengths, width, &mut self.by_seen);
        nets.eyes.backward(cpu, &mut self.by_seen, lesson.masks, &mut self.eyes, &mut group.gradient.eyes);
    }

    /// Encodes once more, decodes, and goes all the way back, some images at a time.
    fn decode(
        &mut self,
        nets: &Networks,
        cpu: Cpu,
        factor: f32,
        (images, masks): (&[f32], Option<&[f32]>),
        group: &mut Group,
    ) {
        let Self { eyes, decoder, by_decoded, .. } = self;
        let (pixels, mask) = (DECODED * nets.eyes.pixels(), DECODED * nets.eyes.mask());
        for (number, images) in images.chunks(pixels).enumerate() {
            let masks = masks.map(|masks| &masks[number * mask..((number + 1) * mask).min(masks.len())]);
            nets.eyes.forward(cpu, images, masks, eyes);
            let features = Rows { numbers: eyes.features(), stride: nets.eyes.width() };
            nets.decoder.forward(cpu, features, images.len() / nets.eyes.pixels(), decoder);
            let sinks = (&mut group.gradient.decoder, &mut *by_decoded);
            group.reconstruction +=
                nets.decoder.squared_error(cpu, features, (images, factor), decoder, sinks);
            nets.eyes.backward(cpu, by_decoded, masks, eyes, &mut group.gradient.eyes);
        }
    }
}

impl Gradient {
    /// Zeros for all weights, so that a batch that teaches a layer nothing says so.
    fn reset(&mut self, nets: &Networks) {
        let Self { eyes, poses, decoder } = self;
        eyes.reset(&nets.eyes);
        poses.resize(nets.poses.layers.layers().len(), LayerGradient::default());
        poses.iter_mut().zip(nets.poses.layers.layers()).for_each(|(by, layer)| by.reset(layer));
        decoder.reset(&nets.decoder);
    }

    fn add(&mut self, other: &Self) {
        self.eyes.add(&other.eyes);
        self.decoder.add(&other.decoder);
        self.poses.resize(other.poses.len(), LayerGradient::default());
        self.poses.iter_mut().zip(&other.poses).for_each(|(sum, part)| sum.add(part));
    }
}

#[cfg(test)]
mod tests;
