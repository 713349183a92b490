//! The E-step of the paper and of the filter's evidence: the core's filter over short blocks of steps.
//!
//! A block begins at a known pose, where all particles are, and its steps are those after it: 100 particles that start all over
//! a maze lose most robots, and from what a lost filter believes nothing is learned. All objectives of a filter see the same blocks.

use super::{action, pose};
use crate::ops::{EncoderWorkspace, FrameEncoder};
use driftless_core::motion::Odometry;
use driftless_core::{Belief, Filter, FilterState, Particles, Reading, Sensor, Space, Stream, Workspace};
use driftless_kernels::scan::Trace;
use driftless_world::labels::Lesson;
use driftless_world::random::Random;

/// Steps of a block, L in the paper.
const STEPS: usize = 20;
/// Particles of a block's filter, which knows where it starts.
pub(super) const PARTICLES: usize = 50;
/// What scores are multiplied by, in filters and objectives alike: as where paths are drawn, and for the same reason.
pub(super) const TEMPERING: f32 = super::training::PATH_TEMPERING;

/// Steps after a known pose.
pub(super) struct Block<'a> {
    pub(super) start: [f32; 3],
    pub(super) actions: Vec<[f32; 3]>,
    /// One image after the other.
    pub(super) pixels: &'a [f32],
}

/// What became of a block.
pub(super) struct Followed {
    pub(super) trace: Trace,
    /// Σ_t log p(o_t | o_<t), of the likelihoods as they are.
    pub(super) log_evidence: f64,
}

/// All blocks of trajectories whose images are given; one ends before an image that is not finite.
pub(super) fn blocks<'a>(lessons: &[Lesson], pixels: &'a [Vec<f32>]) -> Vec<Block<'a>> {
    let mut all = Vec::new();
    for (lesson, pixels) in lessons.iter().zip(pixels) {
        let stride = pixels.len() / lesson.len().max(1);
        let is_seen: Vec<bool> =
            pixels.chunks_exact(stride.max(1)).map(|image| image.iter().all(|x| x.is_finite())).collect();
        for (t, label) in lesson.labels().iter().enumerate() {
            let Some(label) = label else { continue };
            let steps = is_seen[t + 1..].iter().take(STEPS).take_while(|seen| **seen).count();
            if steps > 0 {
                all.push(Block {
                    start: pose(label).map(|x| x as f32),
                    actions: (t + 1..=t + steps).map(|t| action(lesson.actions(), t)).collect(),
                    pixels: &pixels[(t + 1) * stride..(t + 1 + steps) * stride],
                });
            }
        }
    }
    all
}

/// So many of them, drawn at random.
pub(super) fn drawn<'a, 'b>(all: &'b [Block<'a>], count: usize, random: &mut Random) -> Vec<&'b Block<'a>> {
    (0..count.min(all.len())).map(|_| &all[random.below(all.len())]).collect()
}

/// One image's features as a sensor.
struct Seen<'a> {
    encoder: &'a FrameEncoder,
    features: &'a [f32],
    workspace: &'a mut EncoderWorkspace,
}

impl Sensor for Seen<'_> {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        self.encoder.scores(self.features, particles, self.workspace, log);
        for score in log {
            *score *= TEMPERING;
        }
        Reading::Present
    }
}

impl Block<'_> {
    /// Filters it. Gradients are to end where particles are drawn, so these are drawn in the plain way.
    pub(super) fn follow(&self, encoder: &FrameEncoder, odometry: &Odometry, mut draws: Stream) -> Followed {
        let (filter, width) = (Filter::bootstrap(PARTICLES), encoder.width());
        let first = Particles::from_states(Space::SE2, [self.start; PARTICLES]);
        let (mut state, mut workspace) = (FilterState::new(Belief::new(first)), Workspace::new(Space::SE2));
        let (mut memory, mut features) = (EncoderWorkspace::default(), Vec::new());
        encoder.encode(self.pixels, &mut memory, &mut features);
        let mut followed = Followed { trace: Trace::default(), log_evidence: 0.0 };
        for (features, action) in features.chunks_exact(width).zip(&self.actions) {
            let mut motion = odometry.by(Some(*action));
            let mut sensor = Seen { encoder, features, workspace: &mut memory };
            let report = filter.step(&mut state, &mut motion, &mut sensor, &mut draws, &mut workspace);
            followed.trace.push(&state, &workspace, &report);
            followed.log_evidence += report.log_evidence;
        }
        followed
    }
}
