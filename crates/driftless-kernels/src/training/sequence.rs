//! A workspace on one sequence: there and back, stretch by stretch.

use super::{Group, Lesson, Networks, Path, SequenceLoss};
use crate::Cpu;
use crate::decoder::DecoderMemory;
use crate::dense::Rows;
use crate::images::ImageMemory;
use crate::rows::{back_through_units, to_units};
use crate::scan::{Sequence, Trace, TraceMemory};

/// Images that are decoded at once: their larger levels stay in the caches.
const DECODED: usize = 12;

#[derive(Debug, Default)]
pub(super) struct SequenceWorkspace {
    frame_encoder: ImageMemory,
    way: TraceMemory,
    pub(super) trace: Trace,
    decoder: DecoderMemory,
    seen: Vec<f32>,
    lengths: Vec<f32>,
    log_gradients: Vec<f32>,
    by_seen: Vec<f32>,
    by_decoded: Vec<f32>,
}

impl SequenceWorkspace {
    /// Encodes all images.
    fn look(&mut self, nets: &Networks, cpu: Cpu, lesson: &Lesson) {
        nets.frame_encoder.forward(cpu, lesson.images, lesson.masks, &mut self.frame_encoder);
        self.seen.clear();
        self.seen.extend_from_slice(self.frame_encoder.features());
        to_units(cpu, &mut self.seen, nets.frame_encoder.width(), &mut self.lengths);
    }

    pub(super) fn follow(&mut self, nets: &Networks, cpu: Cpu, path: &Path, lesson: &Lesson) {
        self.look(nets, cpu, lesson);
        let sequence = Sequence { seen: &self.seen, ..lesson.sequence };
        let (way, all) = ((&path.motion, path.first), 0..sequence.actions.len());
        nets.poses.follow(cpu, way, (&sequence, all), &mut self.way, &mut self.trace);
    }

    /// There and back, stretch by stretch; as far as the features of images.
    pub(super) fn learn(
        &mut self,
        nets: &Networks,
        cpu: Cpu,
        path: &Path,
        (number, lesson): (usize, &Lesson),
        sequence_loss: &impl SequenceLoss,
        group: &mut Group,
    ) {
        self.look(nets, cpu, lesson);
        let Self { way, trace, seen, by_seen, log_gradients, .. } = self;
        by_seen.clear();
        by_seen.resize(seen.len(), 0.0);
        let sequence = Sequence { seen, ..lesson.sequence };
        let (steps, count) = (sequence.actions.len(), sequence.first.len());
        let stretch = sequence_loss.stretch().clamp(1, steps.max(1));
        for start in (0..steps).step_by(stretch) {
            let steps = start..(start + stretch).min(steps);
            nets.poses.follow(cpu, (&path.motion, path.first), (&sequence, steps.clone()), way, trace);
            log_gradients.clear();
            log_gradients.resize(steps.len() * count, 0.0);
            let said = sequence_loss.gradient(number, trace, steps.clone(), log_gradients);
            group.figures.iter_mut().zip(said).for_each(|(sum, part)| *sum += part);
            let sinks = (&mut group.gradient.poses, &mut by_seen[..]);
            nets.poses.go_back(cpu, (trace, steps, log_gradients, seen), way, sinks);
        }
        back_through_units(cpu, seen, &self.lengths, nets.frame_encoder.width(), by_seen);
    }

    pub(super) fn go_back_to_images(
        &mut self,
        nets: &Networks,
        cpu: Cpu,
        masks: Option<&[f32]>,
        group: &mut Group,
    ) {
        nets.frame_encoder.backward(
            cpu,
            &mut self.by_seen,
            masks,
            &mut self.frame_encoder,
            &mut group.gradient.frame_encoder,
        );
    }

    /// Decodes the features seen, some at a time, and adds the derivatives by them.
    pub(super) fn decode_seen(
        &mut self,
        nets: &Networks,
        cpu: Cpu,
        factor: f32,
        images: &[f32],
        group: &mut Group,
    ) {
        let Self { frame_encoder, decoder, by_seen, by_decoded, .. } = self;
        let (pixels, stride) = (nets.frame_encoder.pixels(), nets.frame_encoder.width());
        let parts =
            frame_encoder.features().chunks(DECODED * stride).zip(by_seen.chunks_mut(DECODED * stride));
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
    pub(super) fn decode(
        &mut self,
        nets: &Networks,
        cpu: Cpu,
        factor: f32,
        (images, masks): (&[f32], Option<&[f32]>),
        group: &mut Group,
    ) {
        let Self { frame_encoder, decoder, by_decoded, .. } = self;
        let (pixels, mask) = (DECODED * nets.frame_encoder.pixels(), DECODED * nets.frame_encoder.mask());
        for (number, images) in images.chunks(pixels).enumerate() {
            let masks = masks.map(|masks| &masks[number * mask..((number + 1) * mask).min(masks.len())]);
            nets.frame_encoder.forward(cpu, images, masks, frame_encoder);
            let features = Rows { numbers: frame_encoder.features(), stride: nets.frame_encoder.width() };
            nets.decoder.forward(cpu, features, images.len() / nets.frame_encoder.pixels(), decoder);
            let sinks = (&mut group.gradient.decoder, &mut *by_decoded);
            group.reconstruction +=
                nets.decoder.squared_error(cpu, features, (images, factor), decoder, sinks);
            nets.frame_encoder.backward(
                cpu,
                by_decoded,
                masks,
                frame_encoder,
                &mut group.gradient.frame_encoder,
            );
        }
    }
}
