//! What a filter believed along an episode, written down beside the truth.

use crate::learn::{Detail, Normalisation, Tracking};
use driftless_core::density::Mixture;
use driftless_core::{Belief, Stream};
use driftless_world::evaluation::{Particle, Track};
use driftless_world::pose::Pose;

/// Kernels of the belief's density are at least this many step sizes wide: that of the authors' loss.
const LEAST_WIDTH: f64 = 0.2;
/// Streams of a tracking seed beyond all numbers of episodes.
const REGION_DRAWS: u64 = 1 << 40;

/// A [`Track`] in the making: one for each episode, so that all filters are evaluated alike.
pub(super) struct Recorder {
    track: Track,
    sizes: Vec<f64>,
    /// Log densities at the truth, and whether it is covered.
    densities: Option<(Vec<f64>, Vec<bool>)>,
    evidence: Vec<f64>,
    clouds: Option<Vec<Vec<Particle>>>,
    least_widths: [f64; 3],
    draws: Stream,
}

impl Recorder {
    /// Nothing written yet of episode `number`, whose true poses are given.
    pub(super) fn new(truth: Vec<Pose>, number: u64, how: Tracking, normalisation: &Normalisation) -> Self {
        Self {
            track: Track::new(truth, Vec::new()),
            sizes: Vec::new(),
            densities: (how.detail >= Detail::Densities).then(Default::default),
            evidence: Vec::new(),
            clouds: (how.detail >= Detail::Clouds).then(Vec::new),
            least_widths: normalisation.step_size.map(|size| LEAST_WIDTH * size),
            draws: Stream::new(how.seed, REGION_DRAWS + number),
        }
    }

    /// Writes down the belief of the next step, and the log evidence of what was seen.
    pub(super) fn step(&mut self, belief: &Belief, log_evidence: f64) {
        let Pose { x, y, heading } = self.track.truth[self.track.estimate.len()];
        let mean = [0, 1, 2].map(|k| belief.mean_of(k));
        self.track.estimate.push(Pose::new(mean[0], mean[1], mean[2]));
        self.sizes.push(belief.weights.effective_sample_size());
        if let Some((densities, covered)) = &mut self.densities {
            let mut mixture = Mixture::scott(belief, &self.least_widths);
            let is_known = !x.is_nan();
            densities.push(if is_known { mixture.log_density(&[x, y, heading]) } else { f64::NAN });
            covered.push(is_known && mixture.covers(&[x, y, heading], &mut self.draws));
        }
        self.evidence.push(log_evidence);
        if let Some(clouds) = &mut self.clouds {
            clouds.push(particles(belief));
        }
    }

    /// The track, once all steps are written down.
    pub(super) fn track(self) -> Track {
        let (log_density, covered) = self.densities.unzip();
        Track {
            effective_sample_size: Some(self.sizes),
            log_density,
            covered,
            log_evidence: Some(self.evidence),
            clouds: self.clouds,
            ..self.track
        }
    }
}

/// Particles as reports have them.
fn particles(belief: &Belief) -> Vec<Particle> {
    let [x, y, heading] = [0, 1, 2].map(|k| belief.particles.column(k));
    let particle = |(i, &weight): (usize, &f32)| {
        let pose = Pose::new(f64::from(x[i]), f64::from(y[i]), f64::from(heading[i]));
        Particle { pose, weight: f64::from(weight) }
    };
    belief.weights.linear().iter().enumerate().map(particle).collect()
}
