//! What a filter believed along an episode, written down beside the truth.

use crate::learn::{Detail, Normalisation, Tracking};
use driftless_core::density::Mixture;
use driftless_core::{Belief, Space, Stream};
use driftless_world::evaluation::{Particle, States, Track};
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
    least_widths: Vec<f64>,
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
            least_widths: normalisation.step_size.map(|size| LEAST_WIDTH * size).to_vec(),
            draws: Stream::new(how.seed, REGION_DRAWS + number),
        }
    }

    /// The same of states of named coordinates, where they are known.
    pub(super) fn of_states(
        truth: Vec<Option<Vec<f64>>>,
        number: u64,
        how: Tracking,
        normalisation: &Normalisation,
    ) -> Self {
        let poses = truth.iter().map(|state| state.as_ref().map_or(Track::UNKNOWN, |state| picture(state)));
        let mut recorder = Self::new(poses.collect(), number, how, normalisation);
        recorder.least_widths = normalisation.coordinates.iter().map(|one| LEAST_WIDTH * one.step).collect();
        recorder.track.states = Some(States { truth, estimate: Vec::new(), deviation: Some(Vec::new()) });
        recorder
    }

    /// The true state of the next step, if it is known.
    fn truth(&self) -> Option<Vec<f64>> {
        let step = self.track.estimate.len();
        if let Some(states) = &self.track.states {
            return states.truth[step].clone();
        }
        let Pose { x, y, heading } = self.track.truth[step];
        (!x.is_nan()).then(|| vec![x, y, heading])
    }

    /// The estimate of a planar pose, or of a state.
    fn estimate(&mut self, belief: &Belief) {
        let mean = belief.mean();
        let Some(states) = &mut self.track.states else {
            self.track.estimate.push(Pose::new(mean[0], mean[1], mean[2]));
            return;
        };
        self.track.estimate.push(picture(&mean));
        let covariance = belief.covariance();
        let deviation = (0..mean.len()).map(|k| covariance[k * (mean.len() + 1)].max(0.0).sqrt());
        states.deviation.get_or_insert_default().push(deviation.collect());
        states.estimate.push(mean);
    }

    /// Writes down the belief of the next step, and the log evidence of what was seen.
    pub(super) fn step(&mut self, belief: &Belief, log_evidence: f64) {
        let truth = self.truth();
        self.estimate(belief);
        self.sizes.push(belief.weights.effective_sample_size());
        if let Some((densities, covered)) = &mut self.densities {
            let mut mixture = Mixture::scott(belief, &self.least_widths);
            densities.push(truth.as_ref().map_or(f64::NAN, |truth| mixture.log_density(truth)));
            covered.push(truth.is_some_and(|truth| mixture.covers(&truth, &mut self.draws)));
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

/// A state as pictures show it: its first two coordinates.
pub(super) fn picture(state: &[f64]) -> Pose {
    let at = |k: usize| state.get(k).copied().unwrap_or_default();
    Pose::new(at(0), at(1), 0.0)
}

/// Particles as reports have them.
fn particles(belief: &Belief) -> Vec<Particle> {
    let is_pose = belief.space() == Space::SE2;
    let pose = |i: usize| {
        let state: Vec<f64> = belief.particles.state(i).map(f64::from).collect();
        if is_pose { Pose::new(state[0], state[1], state[2]) } else { picture(&state) }
    };
    let weights = belief.weights.linear().iter().enumerate();
    weights.map(|(i, &weight)| Particle { pose: pose(i), weight: f64::from(weight) }).collect()
}
