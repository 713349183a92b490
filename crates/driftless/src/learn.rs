//! Methods that learn to localise from recorded episodes, behind one door.
//!
//! A [`Method`] is anything that can be trained an epoch at a time and then track a robot: filters and
//! recurrent networks alike. It owns its parameters and its optimiser, gives both away as plain
//! numbers and takes them back, and draws all its randomness from a seed and the epoch's number; so
//! whoever trains it can stop after any epoch and go on later with the same result, bit for bit.

mod ablation;
mod data;
mod describe;
mod experiment;
mod gathered;
mod normalisation;
mod ranks;
mod recordings;
mod session;
mod unlabelled;

pub use ablation::Ablation;
pub use data::{Source, TrainingSet};
pub use describe::{Described, describe};
pub use experiment::{
    Experiment, HouseBlockStart, HousePseudoLikelihood, HouseSettings, HouseStart, MethodName, MotionFrame,
    MotionKind, MotionSettings, RobotSettings, RobotStart, ScanModel, SeenImages, SeenMaps, SensorEncoder,
    SensorKind, SensorSettings, StateKind, StateSettings, ThroughFilter, ViewGeometry, WorldKind,
};
pub use gathered::{Files, Gathered};
pub use normalisation::{CoordinateScale, Normalisation};
pub use ranks::{AllRanks, Alone, Lost, Played, Ranks, alone};
pub(crate) use recordings::MOST_SIDE;
pub use recordings::{Purpose, Recordings, guess_maze};
pub use session::{
    Build, DataFiles, EpochRecord, HANDFUL, Lock, Material, Observer, Outcome, RunConfig, RunFolder, Session,
    Trained, Validation,
};
pub use unlabelled::{Unlabelled, UnlabelledWeights};

use crate::error::Result;
use crate::online::{OnlineFilter, Smoothing, Start};
use crate::parameters::Named;
use driftless_core::Particles;
use driftless_world::evaluation::{Surroundings, Track};
use driftless_world::files::pfnet::HouseMaps;
use driftless_world::trajectory::Trajectory;
use std::sync::Arc;

/// What an epoch of training came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EpochReport {
    /// Means over the epoch's updates, by name, before their weights; the first is the whole loss.
    pub losses: Vec<(String, f64)>,
    /// Updates made.
    pub updates: u64,
    /// Updates not made, because something was not finite.
    pub skipped: u64,
    /// Mean length of the gradient.
    pub gradient_norm: f64,
    /// Mean effective sample size over all steps, if there are particles.
    pub effective_sample_size: Option<f64>,
    /// Episodes with labels of which no path could be drawn, as their labels and odometry do not go together in numbers.
    /// Their labels are all that is learned from them.
    pub without_path: u64,
}

/// How episodes are tracked when a method is put to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracking {
    /// Particles, if the method has any.
    pub particles: usize,
    /// Names all random numbers.
    pub seed: u64,
    /// What tracks say of beliefs.
    pub detail: Detail,
}

/// What tracks say of beliefs, from little to much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Their means and effective sample sizes.
    Means,
    /// And how dense they are at the truth, and whether they cover it: many times the work.
    Densities,
    /// And all particles of all steps: much memory, for few episodes.
    Clouds,
}

/// Something that learns to localise.
pub trait Method: Send {
    /// Whether there is anything to learn.
    fn learns(&self) -> bool {
        true
    }

    /// Trains one epoch; epochs count from 1. The same parameters, optimiser, data and number give the
    /// same result.
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport>;

    /// From now on, shares work with other ranks, which changes no result; says whether that of updates is shared too, or
    /// done by all ranks alike.
    fn share_with(&mut self, _ranks: &AllRanks) -> bool {
        false
    }

    /// Tracks whole episodes from their observations and actions alone, and puts the truth beside it.
    fn track(&self, episodes: &[Trajectory], tracking: Tracking) -> Result<Vec<Track>>;

    /// A filter for a robot online, with what was learned and so many particles; nothing if the method has none. Fails if
    /// it cannot start there.
    fn online_filter(&self, _particles: usize, _start: &Start) -> Result<Option<Box<dyn OnlineFilter>>> {
        Ok(None)
    }

    /// The same in a house, whose floor plan the robot is given.
    fn online_filter_in(
        &self,
        _floor: &Arc<HouseMaps>,
        _particles: usize,
        _start: &Start,
    ) -> Result<Option<Box<dyn OnlineFilter>>> {
        Ok(None)
    }

    /// Paths of an episode by all its known states, its odometry and its readings, drawn of so many particles: what the method
    /// learns from between labels. Nothing if it does not, or no state is known.
    fn known_paths(
        &self,
        _episode: &Trajectory,
        _particles: usize,
        _how: Smoothing,
    ) -> Result<Option<Vec<Particles>>> {
        Ok(None)
    }

    /// What it knows of the world that reports can draw below paths: nothing, if it has no map of its own.
    fn surroundings(&self) -> Surroundings {
        Surroundings::default()
    }

    /// Parameters, by name: what is deployed.
    fn parameters(&self) -> Vec<Named>;

    /// Everything else that training needs to go on exactly: the optimiser's state, soft labels, and so
    /// on. By name; no name is that of a parameter.
    fn memory(&self) -> Vec<Named>;

    /// Takes back what [`Method::parameters`] and, to go on training, [`Method::memory`] gave.
    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()>;
}
