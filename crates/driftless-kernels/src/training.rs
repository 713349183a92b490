//! One training step of a filter: images, particles, decoder, forward and backward, sequence by sequence.
//!
//! A sequence is followed to its end before the next: its images, particles and gradients stay in the caches, and
//! nothing of a whole batch is ever stored. The objective is somebody else's, who sees each sequence's trace, stretch by
//! stretch, and says what pulls at it. Groups of sequences run in parallel; they do not depend on the number of threads, and their
//! gradients are added in order.

use crate::Cpu;
use crate::decoder::{DecoderGradient, DecoderMemory, DecoderNet};
use crate::dense::{LayerGradient, Rows};
use crate::images::{ImageGradient, ImageMemory, ImageNet};
use crate::mlp::MlpGradient;
use crate::rows::{back_through_units, to_units};
use crate::scan::{First, Motion, PoseNet, Sequence, Trace, TraceMemory};
use rayon::prelude::*;
use std::ops::Range;
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
    /// After how many steps it can say what pulls at them: all of a sequence, unless it knows better.
    fn stretch(&self) -> usize {
        usize::MAX
    }

    /// Writes the derivatives of the objective by each log l of these steps of a lesson over zeros, and says what it
    /// came to. The trace ends with the last of them.
    fn teach(&self, lesson: usize, trace: &Trace, steps: Range<usize>, pulls: &mut [f32]) -> Figures;
}

/// How particles move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// From step to step.
    pub motion: Motion,
    /// What becomes of the first step.
    pub first: First,
}

/// The autoencoder's part, with the factor of each squared difference between a pixel and its image's decoded.
#[derive(Clone, Copy, Debug)]
pub enum Decoded<'a> {
    /// None.
    Nothing,
    /// From the features that the filter sees.
    AsSeen(f32),
    /// From features through other masks of dropout, one for each lesson.
    Through(f32, &'a [Option<&'a [f32]>]),
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
    /// Sums of what the teacher said, of squared differences of pixels, and the gradient of the objective.
    pub fn learn_from(
        &self,
        cpu: Cpu,
        path: &Path,
        (lessons, decoded): (&[Lesson], Decoded),
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
                room.learn(self, cpu, path, (k, &lessons[k]), teacher, group);
                if let Decoded::AsSeen(factor) = decoded {
                    room.decode_seen(self, cpu, factor, lessons[k].images, group);
                }
                room.go_back_to_images(self, cpu, lessons[k].masks, group);
                if let Decoded::Through(factor, masks) = decoded {
                    room.decode(self, cpu, factor, (lessons[k].images, masks[k]), group);
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
    /// Encodes all images.
    fn look(&mut self, nets: &Networks, cpu: Cpu, lesson: &Lesson) {
        nets.eyes.forward(cpu, lesson.images, lesson.masks, &mut self.eyes);
        self.seen.clear();
        self.seen.extend_from_slice(self.eyes.features());
        to_units(cpu, &mut self.seen, nets.eyes.width(), &mut self.lengths);
    }

    fn follow(&mut self, nets: &Networks, cpu: Cpu, path: &Path, lesson: &Lesson) {
        self.look(nets, cpu, lesson);
        let sequence = Sequence { seen: &self.seen, ..lesson.sequence };
        let (way, all) = ((&path.motion, path.first), 0..sequence.actions.len());
        nets.poses.follow(cpu, way, (&sequence, all), &mut self.way, &mut self.trace);
    }

    /// There and back, stretch by stretch; as far as the features of images.
    fn learn(
        &mut self,
        nets: &Networks,
        cpu: Cpu,
        path: &Path,
        (number, lesson): (usize, &Lesson),
        teacher: &impl Teacher,
        group: &mut Group,
    ) {
        self.look(nets, cpu, lesson);
        let Self { way, trace, seen, by_seen, pulls, .. } = self;
        by_seen.clear();
        by_seen.resize(seen.len(), 0.0);
        let sequence = Sequence { seen, ..lesson.sequence };
        let (steps, count) = (sequence.actions.len(), sequence.first.len());
        let stretch = teacher.stretch().clamp(1, steps.max(1));
        for start in (0..steps).step_by(stretch) {
            let steps = start..(start + stretch).min(steps);
            nets.poses.follow(cpu, (&path.motion, path.first), (&sequence, steps.clone()), way, trace);
            pulls.clear();
            pulls.resize(steps.len() * count, 0.0);
            let said = teacher.teach(number, trace, steps.clone(), pulls);
            group.figures.iter_mut().zip(said).for_each(|(sum, part)| *sum += part);
            let sinks = (&mut group.gradient.poses, &mut by_seen[..]);
            nets.poses.go_back(cpu, (trace, steps, pulls, seen), way, sinks);
        }
        back_through_units(cpu, seen, &self.lengths, nets.eyes.width(), by_seen);
    }

    fn go_back_to_images(&mut self, nets: &Networks, cpu: Cpu, masks: Option<&[f32]>, group: &mut Group) {
        nets.eyes.backward(cpu, &mut self.by_seen, masks, &mut self.eyes, &mut group.gradient.eyes);
    }

    /// Decodes the features seen, some at a time, and adds the derivatives by them.
    fn decode_seen(&mut self, nets: &Networks, cpu: Cpu, factor: f32, images: &[f32], group: &mut Group) {
        let Self { eyes, decoder, by_seen, by_decoded, .. } = self;
        let (pixels, stride) = (nets.eyes.pixels(), nets.eyes.width());
        let parts = eyes.features().chunks(DECODED * stride).zip(by_seen.chunks_mut(DECODED * stride));
        for ((numbers, by_seen), images) in parts.zip(images.chunks(DECODED * pixels)) {
            let features = Rows { numbers, stride };
            nets.decoder.forward(cpu, features, images.len() / pixels, decoder);
            let sinks = (&mut group.gradient.decoder, &mut *by_decoded);
            group.reconstruction +=
                nets.decoder.squared_error(cpu, features, (images, factor), decoder, sinks);
            by_seen.iter_mut().zip(&*by_decoded).for_each(|(sum, by)| *sum += by);
        }
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
