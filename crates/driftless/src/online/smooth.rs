//! The path of a recorded robot after the fact: what a filter believed at each step, looked back on from the end.
//!
//! The filter goes forward as it does on a robot, and what it believed is kept. Backward simulation then draws whole paths
//! of it ([`driftless_core::smooth`]), by how probable it is to come from one state to another; or all weights are summed.

use super::replay::observed;
use super::{Estimate, Tracker};
use crate::error::{Error, Result};
use driftless_core::motion::Density;
use driftless_core::smooth::{Motions, backward_simulation, smoothed_weights};
use driftless_core::{Belief, Stream};
use driftless_world::trajectory::Trajectory;

/// How a path is looked back on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothing {
    /// How many paths are drawn; 0 to weigh all particles instead, each by all later ones.
    pub paths: usize,
    /// Names the random numbers of drawing, which are independent of the filter's.
    pub seed: u64,
    /// Episodes of one seed have numbers of their own.
    pub episode: u64,
}

impl Default for Smoothing {
    fn default() -> Self {
        Self { paths: 100, seed: 0, episode: 0 }
    }
}

/// What is known of an episode in the end. Lists begin at the step from which the robot was followed.
#[derive(Clone, Debug)]
pub struct Smoothed {
    /// What the filter said on the way.
    pub filtered: Vec<Estimate>,
    /// What is said after the fact: mean and covariance of the states below.
    pub estimates: Vec<Estimate>,
    /// Drawn states of each step, of which the m-th of all steps are one path; or the filter's particles with their new weights.
    pub beliefs: Vec<Belief>,
}

/// Particles of all steps of an episode that are kept at once, at most: 400 MB.
const MOST_PARTICLES: usize = 20_000_000;
/// Pairs of particles of neighbouring steps that are weighed in an episode, at most: minutes.
const MOST_PAIRS: f64 = 2e10;

/// Streams of a seed beyond all those of filters.
const DRAWS: u64 = 1 << 41;

impl Smoothed {
    /// Of beliefs, each at a step of which the filter said something.
    pub fn new(filtered: Vec<Estimate>, beliefs: Vec<Belief>) -> Self {
        let estimates = filtered.iter().zip(&beliefs).map(|(before, belief)| after(before, belief)).collect();
        Self { filtered, estimates, beliefs }
    }
}

impl Tracker {
    /// Follows a recorded episode from step `first` on, as [`Tracker::replay`] does, and looks back from its end. `go_on` is
    /// asked at each step.
    ///
    /// # Errors
    /// If the method has no particles or no density of motions, there would be too many particles, readings have another size
    /// than those of the run, or `go_on` fails.
    pub fn smooth<E: From<Error>>(
        &mut self,
        episode: &Trajectory,
        first: usize,
        how: Smoothing,
        mut go_on: impl FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<Smoothed, E> {
        self.check(episode)?;
        let (mut filtered, mut beliefs, mut motions) = (Vec::new(), Vec::new(), Vec::new());
        let mut kept = 0;
        for t in first..episode.len() {
            go_on()?;
            let seen = observed(&episode.observations, episode.camera.as_ref(), &episode.actions, t);
            if t > first {
                motions.push(self.filter.next_motion(&seen).ok_or_else(|| no_density(t))?);
            }
            filtered.push(self.filter.step(seen));
            let belief = self.filter.belief().ok_or_else(no_particles)?;
            kept += belief.particles.len();
            if kept > MOST_PARTICLES {
                return Err(too_many(t, kept).into());
            }
            beliefs.push(belief.clone());
        }
        Ok(look_back(filtered, beliefs, motions, how)?)
    }
}

fn no_particles() -> Error {
    let problem = "says where the robot is without particles: there is nothing that smoothing could weigh anew; filters have some";
    Error::setting("method", problem)
}

fn no_density(t: usize) -> Error {
    let problem = format!(
        "has no density of the motion into step {t}: it moves particles in a way that smoothing cannot weigh, such as without noise"
    );
    Error::setting("method", problem)
}

fn too_many(t: usize, kept: usize) -> Error {
    let problem = format!("are too many to be kept: {kept} up to step {t}; take fewer, or cut the episode");
    Error::setting("particles", problem)
}

fn look_back(
    filtered: Vec<Estimate>,
    beliefs: Vec<Belief>,
    motions: Vec<Box<dyn Density>>,
    how: Smoothing,
) -> Result<Smoothed> {
    let mut motions = Motions(motions);
    let beliefs: Vec<Belief> = if how.paths > 0 {
        let mut draws = Stream::new(how.seed, DRAWS ^ how.episode);
        let drawn = backward_simulation(&beliefs, &mut motions, how.paths, &mut draws);
        drawn.into_iter().map(Belief::new).collect()
    } else {
        let sizes =
            beliefs.windows(2).map(|two| two[0].particles.len() as f64 * two[1].particles.len() as f64);
        let pairs: f64 = sizes.sum();
        if pairs > MOST_PAIRS {
            let problem =
                format!("must be 1 or more: {pairs:.0} pairs of particles are too many to be weighed");
            return Err(Error::setting("paths", problem));
        }
        let weights = smoothed_weights(&beliefs, &mut motions);
        beliefs.into_iter().zip(weights).map(|(belief, weights)| Belief { weights, ..belief }).collect()
    };
    Ok(Smoothed::new(filtered, beliefs))
}

/// The estimate of a step after the fact: what was seen and missing there stays as it was.
fn after(before: &Estimate, belief: &Belief) -> Estimate {
    let of = if before.state.is_some() { Estimate::of_state } else { Estimate::of };
    Estimate {
        lost: before.lost,
        collapsed: before.collapsed,
        saw: before.saw,
        moved: before.moved,
        ..of(belief)
    }
}
