//! One training step of a filter: images, particles, decoder, forward and backward, sequence by sequence.
//!
//! A sequence is followed to its end before the next: its images, particles and gradients stay in the caches, and
//! nothing of a whole batch is ever stored. The objective is somebody else's, who sees each sequence's trace, stretch by
//! stretch, and says what gradients at it. Groups of sequences run in parallel; they do not depend on the number of threads,
//! and their gradients are added in order.

use crate::Cpu;
use crate::decoder::{DecoderGradient, DecoderNet};
use crate::dense::LayerGradient;
use crate::images::{ImageGradient, ImageNet};
use crate::mlp::MlpGradient;
use crate::ranks::{Lost, Message, Ranks, Wire, is_own, share};
use crate::scan::{First, Motion, PoseNet, Sequence, Trace};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Mutex;

mod sequence;

use sequence::SequenceWorkspace;

/// Groups of sequences, at most.
const GROUPS: usize = 8;

/// All networks of the filter.
#[derive(Clone, Debug)]
pub struct Networks {
    /// Features of images.
    pub frame_encoder: ImageNet,
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
    pub frame_encoder: ImageGradient,
    /// Of the layers of the pose encoder.
    pub poses: MlpGradient,
    /// Of the decoder.
    pub decoder: DecoderGradient,
}

/// What a loss says of a sequence, to be added up.
pub type Figures = [f64; 3];

/// Knows the objective.
pub trait SequenceLoss: Sync {
    /// After how many steps it can say their gradients: all of a sequence, unless it knows better.
    fn stretch(&self) -> usize {
        usize::MAX
    }

    /// Writes the derivatives of the objective by each log l of these steps of a lesson over zeros, and says what it
    /// came to. The trace ends with the last of them.
    fn gradient(
        &self,
        lesson: usize,
        trace: &Trace,
        steps: Range<usize>,
        log_gradients: &mut [f32],
    ) -> Figures;
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

/// A workspace, kept from one batch to the next.
#[derive(Debug, Default)]
pub struct Workspace {
    groups: Vec<Group>,
    /// One for each thread that was ever at work.
    workspaces: Mutex<Vec<SequenceWorkspace>>,
}

#[derive(Debug, Default)]
struct Group {
    gradient: Gradient,
    figures: Figures,
    reconstruction: f64,
}

impl Networks {
    /// Sums of what the loss said, of squared differences of pixels, and the gradient of the objective; groups are shared
    /// among ranks.
    pub fn learn_from(
        &self,
        cpu: Cpu,
        path: &Path,
        (lessons, decoded): (&[Lesson], Decoded),
        sequence_loss: &impl SequenceLoss,
        ranks: &dyn Ranks,
        workspace: &mut Workspace,
    ) -> Result<(Figures, f64, Gradient), Lost> {
        let size = lessons.len().div_ceil(GROUPS).max(1);
        let (groups, workspaces) = (&mut workspace.groups, &workspace.workspaces);
        groups.resize_with(lessons.len().div_ceil(size), Group::default);
        groups.par_iter_mut().enumerate().filter(|(number, _)| is_own(ranks, *number)).for_each(
            |(number, group)| {
                let mut workspace =
                    workspaces.lock().expect("no thread has panicked").pop().unwrap_or_default();
                group.gradient.reset(self);
                (group.figures, group.reconstruction) = Default::default();
                for k in number * size..((number + 1) * size).min(lessons.len()) {
                    workspace.learn(self, cpu, path, (k, &lessons[k]), sequence_loss, group);
                    if let Decoded::AsSeen(factor) = decoded {
                        workspace.decode_seen(self, cpu, factor, lessons[k].images, group);
                    }
                    workspace.go_back_to_images(self, cpu, lessons[k].masks, group);
                    if let Decoded::Through(factor, masks) = decoded {
                        workspace.decode(self, cpu, factor, (lessons[k].images, masks[k]), group);
                    }
                }
                workspaces.lock().expect("no thread has panicked").push(workspace);
            },
        );
        share(ranks, groups)?;
        let (mut figures, mut pixels, mut gradient) = (Figures::default(), 0.0, Gradient::default());
        for group in groups {
            figures.iter_mut().zip(group.figures).for_each(|(sum, part)| *sum += part);
            pixels += group.reconstruction;
            gradient.add(&group.gradient);
        }
        Ok((figures, pixels, gradient))
    }
}

impl Networks {
    /// Filters sequences and writes down all of them.
    pub fn follow(&self, cpu: Cpu, path: &Path, lessons: &[Lesson]) -> Vec<Trace> {
        let follow = |workspace: &mut SequenceWorkspace, lesson: &Lesson| {
            workspace.follow(self, cpu, path, lesson);
            workspace.trace.clone()
        };
        lessons.par_iter().map_init(SequenceWorkspace::default, follow).collect()
    }
}

impl Gradient {
    /// Zeros for all weights, so that a batch that trains a layer nothing says so.
    fn reset(&mut self, nets: &Networks) {
        let Self { frame_encoder, poses, decoder } = self;
        frame_encoder.reset(&nets.frame_encoder);
        poses.resize(nets.poses.layers.layers().len(), LayerGradient::default());
        poses.iter_mut().zip(nets.poses.layers.layers()).for_each(|(by, layer)| by.reset(layer));
        decoder.reset(&nets.decoder);
    }

    fn add(&mut self, other: &Self) {
        self.frame_encoder.add(&other.frame_encoder);
        self.decoder.add(&other.decoder);
        self.poses.resize(other.poses.len(), LayerGradient::default());
        self.poses.iter_mut().zip(&other.poses).for_each(|(sum, part)| sum.add(part));
    }
}

impl Message for Gradient {
    fn pass(&mut self, wire: &mut Wire) {
        self.frame_encoder.pass(wire);
        self.poses.pass(wire);
        self.decoder.pass(wire);
    }
}

impl Message for Group {
    fn pass(&mut self, wire: &mut Wire) {
        self.gradient.pass(wire);
        self.figures.pass(wire);
        self.reconstruction.pass(wire);
    }
}

#[cfg(test)]
mod tests;
