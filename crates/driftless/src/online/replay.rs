//! A recorded episode, given to a filter step by step; or to a method that wants it whole.

use super::{Estimate, Observation, Place, Start, Tracker, sensible};
use crate::error::Error;
use crate::learn::{Detail, Tracking, Trained, WorldKind};
use driftless_core::{Belief, Particles, Space};
use driftless_world::evaluation::Particle;
use driftless_world::labels::Lesson;
use driftless_world::pose::Pose;
use driftless_world::trajectory::{Camera, Images, Labels, Observations, Rows, Trajectory};

/// Particles of all steps that are kept at once, at most, where a method tracks whole episodes.
const MOST_PARTICLES: usize = 10_000_000;

impl Tracker {
    /// Follows a recorded episode from step `first` on; `show` is given the step, the estimate and the particles. It sees
    /// what an evaluation sees: the same numbers come out. True states are not looked at.
    ///
    /// # Errors
    /// If readings have another size than those of the run, or `show` fails.
    pub fn replay<E: From<Error>>(
        &mut self,
        episode: &Trajectory,
        first: usize,
        mut show: impl FnMut(usize, &Estimate, Option<&Belief>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.check(episode)?;
        for t in first..episode.len() {
            let seen = observed(&episode.observations, episode.camera.as_ref(), &episode.actions, t);
            let estimate = self.filter.step(seen);
            show(t, &estimate, self.filter.belief())?;
        }
        Ok(())
    }

    /// Fails if readings or images of an episode have another size than those of the run.
    pub(super) fn check(&self, episode: &Trajectory) -> Result<(), Error> {
        let (rows, images) = parts(&episode.observations, episode.camera.as_ref());
        if let Some(rows) = rows.filter(|rows| rows.width() != self.readings()) {
            let problem = format!("has {} numbers, {} are wanted", rows.width(), self.readings());
            return Err(driftless_world::Error::new(problem).in_field("observations").into());
        }
        if let Some(images) = images.filter(|_| self.world == WorldKind::House) {
            self.check_shape([images.height, images.width, images.channels])?;
        }
        Ok(())
    }

    /// In houses images are seen whole, and as they were learned from.
    fn check_shape(&self, found: [usize; 3]) -> Result<(), Error> {
        match self.camera {
            Some(wanted) if wanted != found => {
                let problem = format!("has {found:?} (height, width, channels), {wanted:?} are wanted");
                Err(driftless_world::Error::new(problem).in_field("images").into())
            }
            _ => Ok(()),
        }
    }
}

/// Numbers and images of an episode.
fn parts<'a>(
    observations: &'a Observations,
    camera: Option<&'a Camera>,
) -> (Option<&'a Rows>, Option<&'a Images>) {
    match observations {
        Observations::Vectors(rows) => (Some(rows), camera.map(|camera| &camera.images)),
        Observations::Images(images) => (None, Some(images)),
    }
}

/// What a robot was given at a step of a lesson: evaluation shows it to the same filters as a robot does.
pub(crate) fn seen_at(lesson: &Lesson, t: usize) -> Observation<'_> {
    observed(lesson.observations(), lesson.camera(), lesson.actions(), t)
}

pub(super) fn observed<'a>(
    observations: &'a Observations,
    camera: Option<&'a Camera>,
    actions: &'a Rows,
    t: usize,
) -> Observation<'a> {
    let (rows, images) = parts(observations, camera);
    let is_seen = camera.is_none_or(|camera| camera.known[t]);
    let action = (actions.width() == 3).then(|| std::array::from_fn(|k| f64::from(actions.row(t)[k])));
    Observation {
        readings: rows.map(|rows| rows.row(t)),
        image: images.filter(|_| is_seen).map(|images| (images, t)),
        action: sensible(action),
        change: (actions.width() > 0).then(|| actions.row(t)).filter(|row| row.iter().all(|x| x.is_finite())),
    }
}

/// The same for methods that have no online filter: they track the whole episode. What they say of a truth that is not known
/// is not looked at.
///
/// # Errors
/// If the method cannot track it, or `show` fails.
pub fn follow_whole<E: From<Error>>(
    trained: &Trained,
    start: Start,
    episode: &Trajectory,
    mut show: impl FnMut(usize, &Estimate, Option<&Belief>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let experiment = &trained.config.experiment;
    let particles = start.particles.unwrap_or(experiment.particles);
    let mut hidden = episode.clone();
    let nowhere = Rows::new(3, vec![0.0; 3 * episode.len()]).map_err(Error::from)?;
    hidden.states = Labels::all(nowhere);
    // Robots in mazes that are told nothing have no start at all.
    if start.place != Place::Anywhere || experiment.world != WorldKind::Maze {
        hidden.start = Some(start.place.told());
    }
    let is_small = particles.saturating_mul(episode.len()) <= MOST_PARTICLES;
    let detail = if is_small { Detail::Clouds } else { Detail::Means };
    let how = Tracking { particles, seed: start.seed ^ start.episode, detail };
    let mut tracks = trained.method.track(&[hidden], how)?;
    let track = tracks.pop().expect("a track of the episode");
    for (t, &pose) in track.estimate.iter().enumerate() {
        let belief = track.clouds.as_ref().and_then(|clouds| belief(&clouds[t]));
        let size = track.effective_sample_size.as_ref().map_or(f64::NAN, |sizes| sizes[t]);
        let estimate = whole_estimate(episode, t, pose, size, belief.as_ref());
        show(t, &estimate, belief.as_ref())?;
    }
    Ok(())
}

fn whole_estimate(
    episode: &Trajectory,
    t: usize,
    pose: Pose,
    effective_sample_size: f64,
    belief: Option<&Belief>,
) -> Estimate {
    let is_known = |row: &[f32]| row.iter().any(|x| x.is_finite());
    let saw = match &episode.observations {
        Observations::Images(_) => true,
        Observations::Vectors(rows) => is_known(rows.row(t)),
    } || episode.camera.as_ref().is_some_and(|camera| camera.known[t]);
    let moved = episode.actions.width() > 0 && is_known(episode.actions.row(t));
    let covariance = belief.map_or([[f64::NAN; 3]; 3], |belief| Estimate::of(belief).covariance);
    let particles = belief.map_or(0, |belief| belief.particles.len());
    Estimate {
        pose,
        covariance,
        effective_sample_size,
        particles,
        lost: None,
        collapsed: false,
        saw,
        moved,
        state: None,
    }
}

/// Particles of a report as those of a filter.
fn belief(cloud: &[Particle]) -> Option<Belief> {
    let pose = |particle: &Particle| {
        let Pose { x, y, heading } = particle.pose;
        [x, y, heading].map(|x| x as f32)
    };
    let logs: Vec<f32> = cloud.iter().map(|particle| particle.weight.ln() as f32).collect();
    (!cloud.is_empty())
        .then(|| Belief::weighted(Particles::from_states(Space::SE2, cloud.iter().map(pose)), &logs))
}
