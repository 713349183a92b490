//! All worlds that can be simulated, one line each, and the data sets that are made in them.
//!
//! ```
//! use driftless_world::files::{Format, Overwrite, ReadOptions};
//! use driftless_world::{Error, simulate::Simulation};
//! # let out = std::env::temp_dir().join(format!("driftless-simulated-{}.npz", std::process::id()));
//! // What `driftless simulate maze2 --episodes 3 --steps 5 --out walks.npz` does, in a program.
//! let wanted = Simulation { world: "maze2".into(), episodes: 3, steps: Some(5), ..Simulation::default() };
//! wanted.prepare()?.write(&out, Overwrite::Replace, |_frames| Ok::<(), Error>(()))?;
//! let data = Format::of(&out)?.open(&out, &ReadOptions::default())?;
//! assert_eq!((data.len(), data.provenance().unwrap().world.unwrap()), (3, "maze2".to_owned()));
//! # std::fs::remove_file(out).unwrap();
//! # Ok::<(), Error>(())
//! ```

mod lgss;
mod production;
mod volatility;

pub use lgss::LinearGaussian;
pub use volatility::StochasticVolatility;

use crate::error::{Error, Result};
use crate::files::provenance::Provenance;
use crate::files::{Entry, Format, Overwrite, WriteOptions};
use crate::house::{self, Split};
use crate::maze::{self, Layout, Policy};
use crate::random::Random;
use crate::trajectory::{Labels, Observations, Rows, Trajectory};
use std::path::Path;

/// What is to be recorded. What is `None` is the world's choice.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// A name of [`WORLDS`], or a file with the drawing of a maze.
    pub world: String,
    /// How many episodes.
    pub episodes: usize,
    /// Recorded steps of each.
    pub steps: Option<usize>,
    /// Names the data set: the same seed gives the same bytes.
    pub seed: u64,
    /// Width and height of images.
    pub size: Option<[usize; 2]>,
    /// The layout of the file; without it the first that the world can be stored in.
    pub format: Option<&'static Format>,
    /// Whether arrays are compressed.
    pub compress: bool,
    /// Who steers through a maze.
    pub policy: Policy,
    /// Each number of the odometry is multiplied by N(1, this²).
    pub odometry_noise: f64,
    /// Number of distinct houses.
    pub houses: Option<usize>,
    /// Which of three disjoint sets of houses.
    pub split: Option<Split>,
}

impl Default for Simulation {
    fn default() -> Self {
        Self {
            world: Layout::BUILT_IN[0].to_owned(),
            episodes: 100,
            steps: None,
            seed: 0,
            size: None,
            format: None,
            compress: false,
            policy: Policy::Wander,
            odometry_noise: 0.0,
            houses: None,
            split: None,
        }
    }
}

/// A world that is ready to be recorded.
pub trait World: Send + Sync {
    /// Recorded steps of an episode.
    fn steps(&self) -> usize;

    /// Episode `number`: the same whoever asks, in whatever order.
    fn episode(&self, number: usize) -> Result<Entry>;

    /// Width and height of its images, if it has some.
    fn image(&self) -> [usize; 2] {
        [0, 0]
    }

    /// What a step takes beside its image, at most.
    fn step_bytes(&self) -> usize {
        64
    }

    /// Adds what the file should say of its origin beside world, seed, steps and noise.
    fn describe(&self, _provenance: &mut Provenance) {}
}

/// A world that `simulate` can name.
#[derive(Clone, Copy, Debug)]
pub struct RegisteredWorld {
    /// What it is called; several names are several of a kind.
    pub names: &'static [&'static str],
    /// What it is, in a few words.
    pub what: &'static str,
    /// Ids of the layouts its episodes can be stored in; the first is the usual one.
    pub formats: &'static [&'static str],
    /// Options it has of its own; others that not every world has are refused.
    pub options: &'static [&'static str],
    /// Makes it ready. What cannot be is [`Error::usage`].
    pub build: fn(&Simulation, &Format) -> Result<Box<dyn World>>,
}

/// The table.
#[rustfmt::skip]
pub const WORLDS: &[RegisteredWorld] = &[
    RegisteredWorld { names: Layout::BUILT_IN, what: "the paper's mazes", formats: &["dpf", "log"],
        options: &["--size", "--policy", "--odometry-noise"], build: maze::build },
    RegisteredWorld { names: &["house"], what: "furnished houses with floor maps", formats: &["pfnet"],
        options: &["--size", "--odometry-noise", "--houses", "--split"], build: house::build },
    RegisteredWorld { names: &["lgss"], what: "linear with normal noise, 2 numbers", formats: &["log"], options: &[],
        build: lgss::plane },
    RegisteredWorld { names: &["lgss25"], what: "linear with normal noise, 25 numbers of which one is read",
        formats: &["log"], options: &[], build: lgss::chain },
    RegisteredWorld { names: &["volatility"], what: "stochastic volatility", formats: &["log"], options: &[],
        build: volatility::build },
];

/// All names of worlds, as a sentence has them.
pub fn world_names() -> String {
    let names: Vec<&str> = WORLDS.iter().flat_map(|world| world.names).copied().collect();
    names.join(", ")
}

/// An episode of vectors, of states and readings of each step; nothing says how it moved.
fn vectors(walk: &[[Vec<f64>; 2]]) -> Result<Entry> {
    let column = |k: usize| {
        let numbers = walk.iter().flat_map(|step| &step[k]).map(|&x| x as f32).collect();
        Rows::new(walk[0][k].len(), numbers)
    };
    let seen = Observations::Vectors(column(1)?);
    Ok(Entry::Plain(Trajectory::new(seen, Rows::default(), Labels::all(column(0)?))?))
}

/// A data set that can be written.
pub struct Prepared {
    world: Box<dyn World>,
    /// The layout of its file.
    pub format: &'static Format,
    wanted: Simulation,
}

impl Simulation {
    /// Finds the world and checks all that was asked for.
    pub fn prepare(&self) -> Result<Prepared> {
        let named = WORLDS.iter().find(|world| world.names.contains(&self.world.as_str()));
        match named {
            Some(world) => self.prepare_in(world),
            // Drawings are built as the paper's mazes are.
            None if Path::new(&self.world).exists() => self.prepare_in(&WORLDS[0]),
            None => Err(Error::usage(format!(
                "{}: there is no such world; use {}, or a file with the drawing of a maze",
                self.world,
                world_names()
            ))),
        }
    }

    /// The same for a world that may not be in the table.
    pub fn prepare_in(&self, line: &RegisteredWorld) -> Result<Prepared> {
        if self.episodes == 0 {
            return Err(Error::usage("--episodes 0: a data set needs at least one episode"));
        }
        let noise = self.odometry_noise;
        if !(noise.is_finite() && (0.0..=10.0).contains(&noise)) {
            return Err(Error::usage(format!("--odometry-noise {noise}: must be a share from 0 to 10")));
        }
        if let Some(option) = self.own_options().find(|option| !line.options.contains(option)) {
            let has = |world: &&RegisteredWorld| world.options.contains(&option);
            let others: Vec<&str> =
                WORLDS.iter().filter(has).flat_map(|world| world.names).copied().collect();
            let (world, others) = (&self.world, others.join(", "));
            return Err(Error::usage(format!("{option}: {world} has no such option; it is for {others}")));
        }
        let id = self.format.map_or(line.formats[0], |format| format.id);
        let format = Format::named(id).filter(|_| line.formats.contains(&id)).ok_or_else(|| {
            let known = line.formats.join(" or ");
            Error::usage(format!("--format {id}: {} is stored as {known}", self.world))
        })?;
        let prepared = Prepared { world: (line.build)(self, format)?, format, wanted: self.clone() };
        prepared.episode_bytes()?;
        Ok(prepared)
    }

    /// Options that were given and that not every world has.
    fn own_options(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("--size", self.size.is_some()),
            ("--policy", self.policy != Policy::default()),
            ("--odometry-noise", self.odometry_noise > 0.0),
            ("--houses", self.houses.is_some()),
            ("--split", self.split.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(option, _)| option)
    }

    /// Random numbers for the odometry of an episode, independent of those of its walk.
    pub fn odometry_noise(seed: u64, episode: usize) -> Random {
        Random::stream(seed ^ 0x6e6f_6973_6521, episode as u64)
    }
}

impl Prepared {
    /// Recorded steps of an episode.
    pub fn steps(&self) -> usize {
        self.world.steps()
    }

    /// Width and height of images.
    pub fn image(&self) -> [usize; 2] {
        self.world.image()
    }

    /// Makes and writes all episodes; `each` hears of the frames of each when they are written, and may stop it all.
    pub fn write<E: From<Error> + Send>(
        &self,
        out: &Path,
        overwrite: Overwrite,
        each: impl FnMut(usize) -> std::result::Result<(), E> + Send,
    ) -> std::result::Result<(), E> {
        let Simulation { compress, .. } = self.wanted;
        let options = WriteOptions { overwrite, compress, comment: self.comment(), beam_angles: None };
        let create = self.format.create.ok_or_else(|| Error::new("this layout cannot be written"))?;
        let mut writer = create(out, &options)?;
        self.produce(writer.as_mut(), each)?;
        Ok(writer.finish()?)
    }

    fn comment(&self) -> String {
        let mut provenance = Provenance {
            made_by: concat!("driftless ", env!("CARGO_PKG_VERSION")).into(),
            world: Some(self.wanted.world.clone()),
            seed: Some(self.wanted.seed),
            steps: Some(self.world.steps()),
            odometry_noise: Some(self.wanted.odometry_noise),
            ..Provenance::default()
        };
        self.world.describe(&mut provenance);
        provenance.to_string()
    }
}

#[cfg(test)]
mod tests;
