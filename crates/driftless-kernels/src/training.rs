//! One training step of the semi-supervised filter: images, filter, decoder, forward and backward, sequence by sequence.
//!
//! A sequence is followed to its end before the next: its images, particles and gradients stay in the caches, and
//! nothing of a whole batch is ever stored. Groups of sequences run in parallel; they do not depend on the number of
//! threads, and their gradients are added in order.

mod traced;

pub use traced::{Figures, Path, Teacher, TracedWorkshop};

use crate::Cpu;
use crate::decoder::{DecoderGradient, DecoderMemory, DecoderNet};
use crate::dense::{LayerGradient, Rows};
use crate::images::{ImageGradient, ImageMemory, ImageNet};
use crate::mlp::MlpGradient;
use crate::rows::{back_through_units, to_units};
use crate::scan::{Losses, Motion, Objective, PoseNet, ScanMemory, Sequence};
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

/// What is to be minimised, and how particles move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// Of particles.
    pub motion: Motion,
    /// Labels and paths.
    pub objective: Objective,
    /// Factor of each squared difference between a pixel and its image's decoded.
    pub reconstruction: f32,
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

/// What a batch came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Labels and paths.
    pub losses: Losses,
    /// Σ of squared differences of pixels.
    pub reconstruction: f64,
}

/// Room to work, kept from one batch to the next.
#[derive(Debug, Default)]
pub struct Workshop {
    groups: Vec<Group>,
    /// One for each thread that was ever at work.
    rooms: Mutex<Vec<Room>>,
}

/// What the sequences of a group came to.
#[derive(Debug, Default)]
struct Group {
    gradient: Gradient,
    outcome: Outcome,
}

#[derive(Debug, Default)]
struct Room {
    eyes: ImageMemory,
    scan: ScanMemory,
    decoder: DecoderMemory,
    seen: Vec<f32>,
    lengths: Vec<f32>,
    by_seen: Vec<f32>,
    by_decoded: Vec<f32>,
}

impl Networks {
    /// The losses of a batch, and the gradient of the objective.
    pub fn learn(
        &self,
        cpu: Cpu,
        course: &Course,
        lessons: &[Lesson],
        shop: &mut Workshop,
    ) -> (Outcome, Gradient) {
        let size = lessons.len().div_ceil(GROUPS).max(1);
        let (groups, rooms) = (&mut shop.groups, &shop.rooms);
        groups.resize_with(lessons.len().div_ceil(size), Group::default);
        groups.par_iter_mut().zip(lessons.par_chunks(size)).for_each(|(group, lessons)| {
            let mut room = rooms.lock().expect("no thread has panicked").pop().unwrap_or_default();
            group.gradient.reset(self);
            group.outcome = Outcome::default();
            for lesson in lessons {
                room.learn(self, cpu, course, lesson, group);
            }
            rooms.lock().expect("no thread has panicked").push(room);
        });
        let (mut outcome, mut gradient) = (Outcome::default(), Gradient::default());
        for group in groups {
            gradient.add(&group.gradient);
            outcome.losses.add(&group.outcome.losses);
            outcome.reconstruction += group.outcome.reconstruction;
        }
        (outcome, gradient)
    }
}

impl Room {
    fn learn(&mut self, nets: &Networks, cpu: Cpu, course: &Course, lesson: &Lesson, group: &mut Group) {
        nets.eyes.forward(cpu, lesson.images, lesson.masks, &mut self.eyes);
        let width = nets.eyes.width();
        self.seen.clear();
        self.seen.extend_from_slice(self.eyes.features());
        to_units(cpu, &mut self.seen, width, &mut self.lengths);
        let sequence = Sequence { seen: &self.seen, ..lesson.sequence };
        let (rules, sinks) =
            ((&course.motion, &course.objective), (&mut group.gradient.poses, &mut self.by_seen));
        group.outcome.losses.add(&nets.poses.scan(cpu, rules, &sequence, &mut self.scan, sinks));
        back_through_units(cpu, &self.seen, &self.lengths, width, &mut self.by_seen);
        if course.reconstruction > 0.0 {
            self.decode(nets, cpu, course.reconstruction, lesson.images, group);
        }
        nets.eyes.backward(cpu, &mut self.by_seen, lesson.masks, &mut self.eyes, &mut group.gradient.eyes);
    }

    /// Adds the derivatives of the decoder's error to those of the features, some images at a time.
    fn decode(&mut self, nets: &Networks, cpu: Cpu, factor: f32, images: &[f32], group: &mut Group) {
        let (width, pixels) = (nets.eyes.width(), nets.eyes.pixels());
        let by_seen = self.by_seen.chunks_mut(DECODED * width);
        let parts = self.eyes.features().chunks(DECODED * width).zip(images.chunks(DECODED * pixels));
        for ((numbers, images), by_seen) in parts.zip(by_seen) {
            let features = Rows { numbers, stride: width };
            nets.decoder.forward(cpu, features, numbers.len() / width, &mut self.decoder);
            let sinks = (&mut group.gradient.decoder, &mut self.by_decoded);
            let error = nets.decoder.squared_error(cpu, features, (images, factor), &mut self.decoder, sinks);
            group.outcome.reconstruction += error;
            by_seen.iter_mut().zip(&self.by_decoded).for_each(|(sum, by)| *sum += by);
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

impl Losses {
    fn add(&mut self, other: &Self) {
        self.labels += other.labels;
        self.paths += other.paths;
        self.known += other.known;
    }
}

#[cfg(test)]
mod tests;
