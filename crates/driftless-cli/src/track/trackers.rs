//! New trackers for robots that nobody has recorded: where they start, and what names their random numbers.

use super::line::Told;
use super::start::{self, Wanted};
use crate::usage::misused;
use anyhow::{Context, Result};
use driftless::learn::{Trained, WorldKind};
use driftless::methods::build;
use driftless::online::{Place, Start, Tracker};
use driftless_world::Dataset;
use driftless_world::files::pfnet::{HouseMaps, PfnetFile, PfnetOptions};
use std::path::Path;
use std::sync::Arc;

/// What is asked of robots that are followed as they drive.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The folder of a run.
    pub run: &'a Path,
    /// A recording of their house, and the episode whose floor plan is used.
    pub floor: Option<&'a Path>,
    pub from: usize,
    /// Where robots start that are not told by their lines.
    pub start: Option<&'a str>,
    pub particles: Option<u32>,
}

/// A trained run, ready for any number of robots.
pub struct Trackers {
    pub trained: Trained,
    /// Names of coordinates, if states are of some.
    pub names: Arc<[String]>,
    particles: Option<usize>,
    place: Place,
    /// The floor plan of the house, in houses.
    pub floor: Option<Arc<HouseMaps>>,
}

impl Trackers {
    /// What can be wrong with the run is said before anybody waits for a line.
    pub fn open(asked: &Asked) -> Result<Self> {
        let trained = Trained::open(asked.run, &build)?;
        let place = match start::parse(asked.start, &trained)? {
            Wanted::AsTrained => Place::Anywhere,
            Wanted::Place(place) => place,
            Wanted::Log => {
                misused!("--start log: a stream has no log; a line's pose starts a robot")
            }
        };
        if asked.floor.is_none() && asked.from > 0 {
            misused!("--from {}: a stream has no episodes; it chooses the floor plan of --floor", asked.from);
        }
        let particles = asked.particles.map(|count| count as usize);
        let floor = asked.floor.map(|file| floor_of(file, asked.from)).transpose()?;
        match (&floor, trained.config.experiment.world == WorldKind::House) {
            (None, true) => misused!(
                "--floor: the run is of houses; give a recording whose floor plan is that of the robots' house"
            ),
            (Some(_), false) => misused!("--floor: the run is of no house, and knows its own map"),
            _ => {}
        }
        let names = trained.config.experiment.state.coordinates.clone().into();
        let trackers = Self { trained, names, particles, place, floor };
        trackers.begin(trackers.somewhere()?, Default::default())?;
        Ok(trackers)
    }

    /// A place to begin at, whatever it is, to see what a run can do.
    pub fn somewhere(&self) -> Result<Place> {
        match self.names.len() {
            0 => Ok(Place::About { pose: [0.0; 3], spread: [0.0; 3] }),
            count => start::told_state(&vec![0.0; count], None, &self.trained),
        }
    }

    /// Where a robot starts that is told this.
    pub fn place(&self, told: Option<&Told>) -> Result<Place> {
        Ok(match told {
            None => self.place,
            Some(Told::Anywhere) => Place::Anywhere,
            Some(&Told::Pose(pose, spread)) => {
                Place::About { pose, spread: spread.unwrap_or_else(|| start::usual_spread(&self.trained)) }
            }
            Some(Told::State(mean, spread)) => start::told_state(mean, spread.as_deref(), &self.trained)?,
        })
    }

    /// A robot there, whose random numbers have this seed and number.
    pub fn begin(&self, place: Place, (seed, episode): (u64, u64)) -> Result<Tracker> {
        let start = Start { particles: self.particles, seed, episode, place };
        let Some(floor) = &self.floor else { return Ok(Tracker::new(&self.trained, start)?) };
        Tracker::in_house(&self.trained, start, floor)?.with_context(|| {
            format!("{:?} cannot track step by step in houses", self.trained.config.experiment.method.id)
        })
    }
}

/// The floor plan of a recorded walk.
fn floor_of(file: &Path, episode: usize) -> Result<Arc<HouseMaps>> {
    let recorded = PfnetFile::open(file, PfnetOptions::default())?;
    if episode >= recorded.len() {
        misused!("--from {episode}: {} has {} episodes, counted from 0", file.display(), recorded.len());
    }
    Ok(Arc::new(recorded.get(episode)?.maps))
}
