//! What a filter believed along an episode, written down beside the truth.

use super::density::Mixture;
use crate::learn::{Detail, Scales, Tracking};
use driftless_world::evaluation::{Particle, Track};
use driftless_world::pose::Pose;
use driftless_world::random::Random;

/// Kernels of the belief's density are at least this many step sizes wide: that of the authors' loss.
const LEAST_WIDTH: f64 = 0.2;
/// Streams of a tracking seed beyond all numbers of episodes.
const REGION_DRAWS: u64 = 1 << 40;

/// A [`Track`] in the making: one for each episode, so that all filters are judged alike.
pub(super) struct Recorder {
    track: Track,
    sizes: Vec<f64>,
    /// Log densities at the truth, and whether it is covered.
    densities: Option<(Vec<f64>, Vec<bool>)>,
    evidence: Vec<f64>,
    clouds: Option<Vec<Vec<Particle>>>,
    least_widths: [f64; 3],
    random: Random,
}

impl Recorder {
    /// Nothing written yet of episode `number`, whose true poses are given.
    pub(super) fn new(truth: Vec<Pose>, number: u64, how: Tracking, scales: &Scales) -> Self {
        Self {
            track: Track::new(truth, Vec::new()),
            sizes: Vec::new(),
            densities: (how.detail >= Detail::Densities).then(Default::default),
            evidence: Vec::new(),
            clouds: (how.detail >= Detail::Clouds).then(Vec::new),
            least_widths: scales.step_size.map(|size| LEAST_WIDTH * size),
            random: Random::stream(how.seed, REGION_DRAWS + number),
        }
    }

    /// Writes down the belief of the next step, its mean, and the log evidence of what was seen.
    pub(super) fn step(&mut self, belief: Vec<Particle>, mean: Pose, log_evidence: f64) {
        let truth = self.track.truth[self.track.estimate.len()];
        self.track.estimate.push(mean);
        self.sizes.push(belief.iter().map(|particle| particle.weight.powi(2)).sum::<f64>().recip());
        if let Some((densities, covered)) = &mut self.densities {
            let mixture = Mixture::new(&belief, mean, self.least_widths);
            densities.push(mixture.log_density(truth));
            covered.push(mixture.covers(truth, &mut self.random));
        }
        self.evidence.push(log_evidence);
        if let Some(clouds) = &mut self.clouds {
            clouds.push(belief);
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
