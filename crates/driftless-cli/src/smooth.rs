//! `driftless smooth`: where the robots of a log were, by all that was seen before and after.

mod drawn;

use crate::args;
use crate::interrupt;
use crate::output::{grouped, overwrite, print};
use crate::progress::Progress;
use crate::track::batch::{Job, chosen, format, jobs, names, open, shown, time};
use crate::track::start::Wanted;
use crate::track::summary::Errors;
use crate::track::{estimated, start};
use anyhow::{Context, Result, anyhow, bail};
use drawn::DrawnPaths;
use driftless::learn::{HANDFUL, Recordings, Trained};
use driftless::methods::build;
use driftless::online::{Estimate, Smoothed, Smoothing};
use driftless_core::Belief;
use driftless_world::Trajectory;
use driftless_world::files::estimates::{self, EstimateOptions, EstimateWriter};
use rayon::prelude::*;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Follows episodes to their ends, looks back, and writes the paths.
pub fn run(wanted: &args::Smooth) -> Result<()> {
    let following = &wanted.following;
    let format = format(following, &wanted.out)?;
    let trained = Trained::open(&wanted.run, &build)?;
    let names = names(&trained, format, &wanted.out)?;
    let paths = if wanted.all_particles { 0 } else { wanted.paths as usize };
    let log = Log::open(&trained, &wanted.data, following, (paths, wanted.with_poses))?;
    let options = EstimateOptions {
        format,
        overwrite: overwrite(following.force),
        episodes: log.episodes.len(),
        cloud: paths.max(500),
    };
    let mut output = Output {
        writer: estimates::create(&wanted.out, options)?,
        drawn: DrawnPaths::create(wanted.paths_out.as_deref(), overwrite(following.force))?,
        names,
        filtered: Errors::new(trained.normalisation.evaluated()),
        smoothed: Errors::new(trained.normalisation.evaluated()),
        was_told: wanted.with_poses,
        steps: 0,
    };
    let mut progress = Progress::new("smooth", "episodes", log.episodes.len());
    log.smooth(&mut |found| {
        progress.advance(1);
        output.push(&found)
    })?;
    progress.finish();
    output.finish(log.recordings.unit(), log.episodes.len())
}

/// An episode that was looked back on from its end.
pub struct SmoothedEpisode {
    /// Which, counted from 0.
    pub number: usize,
    /// As it was recorded.
    pub episode: Trajectory,
    /// The step from which on it was followed.
    pub first: usize,
    /// What is known of it.
    pub smoothed: Smoothed,
}

/// Which robots of a recording are looked back on, as the options of the command say it.
#[derive(Clone, Debug, Default)]
pub struct SmoothedLog {
    /// The recording.
    pub data: PathBuf,
    /// How many paths; 0 to weigh all particles.
    pub paths: usize,
    /// Whether known poses are taken for true.
    pub with_poses: bool,
    /// `log`, `global` or numbers.
    pub start: Option<String>,
    /// Of the filter.
    pub particles: Option<u32>,
    /// Names all random numbers.
    pub seed: u64,
    /// So many episodes.
    pub episodes: Option<u32>,
    /// Of a DPF file.
    pub steps_per_episode: Option<usize>,
}

impl SmoothedLog {
    /// All of them, for whoever has the memory.
    ///
    /// # Errors
    /// In the words of the command.
    pub fn episodes(&self, trained: &Trained) -> Result<Vec<SmoothedEpisode>, String> {
        self.smooth(trained).map_err(|error| format!("{error:#}"))
    }

    fn smooth(&self, trained: &Trained) -> Result<Vec<SmoothedEpisode>> {
        let following = args::Following {
            format: None,
            start: self.start.clone(),
            particles: self.particles,
            seed: self.seed,
            from: 0,
            episodes: self.episodes,
            force: false,
            reading: args::Reading { steps_per_episode: self.steps_per_episode },
        };
        let mut all = Vec::new();
        Log::open(trained, &self.data, &following, (self.paths, self.with_poses))?.smooth(&mut |found| {
            all.push(found);
            Ok(())
        })?;
        Ok(all)
    }
}

/// A recording, and which of its robots are looked back on.
struct Log<'a> {
    trained: &'a Trained,
    recordings: Recordings,
    following: &'a args::Following,
    starts: Wanted,
    episodes: Range<usize>,
    paths: usize,
    with_poses: bool,
}

impl<'a> Log<'a> {
    fn open(
        trained: &'a Trained,
        data: &Path,
        following: &'a args::Following,
        (paths, with_poses): (usize, bool),
    ) -> Result<Self> {
        let starts = start::parse(following.start.as_deref(), trained)?;
        let recordings = open(trained, following, data)?;
        let episodes = chosen(following, &recordings)?;
        Ok(Self { trained, recordings, following, starts, episodes, paths, with_poses })
    }

    /// One episode after the other, computed by as many threads as there are: beliefs of all steps are kept meanwhile.
    fn smooth(&self, push: &mut dyn FnMut(SmoothedEpisode) -> Result<()>) -> Result<()> {
        let at_once = rayon::current_num_threads().clamp(1, HANDFUL);
        for first in self.episodes.clone().step_by(at_once) {
            interrupt::check()?;
            let handful = first..self.episodes.end.min(first + at_once);
            let jobs = jobs(self.trained, &self.recordings, self.following, self.starts, handful)?;
            let (paths, seed, with_poses) = (self.paths, self.following.seed, self.with_poses);
            let how = |job: &Job| Smoothing { paths, seed, episode: job.number as u64 };
            // What a method has learned is not for several threads, its filters are.
            let found = if with_poses {
                jobs.into_iter().map(|job| self.known(how(&job), job)).collect::<Result<Vec<_>>>()?
            } else {
                let all: Vec<Result<_>> = jobs.into_par_iter().map(|job| seen(how(&job), job)).collect();
                // What is wrong with the first of them is said, whichever thread was faster.
                all.into_iter().collect::<Result<Vec<_>>>()?
            };
            found.into_iter().try_for_each(&mut *push)?;
        }
        Ok(())
    }

    /// By known poses, too.
    fn known(&self, how: Smoothing, mut job: Job) -> Result<SmoothedEpisode> {
        let number = job.number;
        let particles = job.start.particles.unwrap_or(self.trained.config.experiment.particles);
        let Some(paths) = self.trained.method.known_paths(&job.episode, particles, how)? else {
            bail!(
                "episode {number}: no pose is known, or the method does not learn paths between poses; leave --with-poses out"
            );
        };
        let mut filtered = Vec::with_capacity(job.episode.len());
        let tracker = job.tracker.as_mut().ok_or_else(|| whole(number))?;
        tracker.replay(&job.episode, job.first, |_, estimate, _| {
            filtered.push(estimate.clone());
            interrupt::check()
        })?;
        let beliefs = paths.into_iter().skip(job.first).map(Belief::new).collect();
        let smoothed = Smoothed::new(filtered, beliefs);
        Ok(SmoothedEpisode { number, episode: job.episode, first: job.first, smoothed })
    }
}

/// By what was seen.
fn seen(how: Smoothing, mut job: Job) -> Result<SmoothedEpisode> {
    let number = job.number;
    let tracker = job.tracker.as_mut().ok_or_else(|| whole(number))?;
    let smoothed = tracker.smooth(&job.episode, job.first, how, interrupt::check);
    let smoothed = smoothed.with_context(|| format!("episode {number} cannot be smoothed"))?;
    Ok(SmoothedEpisode { number, episode: job.episode, first: job.first, smoothed })
}

/// Why there is nothing to look back on.
fn whole(number: usize) -> anyhow::Error {
    anyhow!(
        "episode {number} cannot be smoothed: the method follows whole episodes at once here, and does not say what it \
         believed on the way"
    )
}

/// What is written and counted.
struct Output {
    writer: Box<dyn EstimateWriter>,
    drawn: DrawnPaths,
    names: Arc<[String]>,
    filtered: Errors,
    smoothed: Errors,
    /// Whether known poses were taken for true: there is nothing to compare with then.
    was_told: bool,
    steps: usize,
}

impl Output {
    fn push(&mut self, found: &SmoothedEpisode) -> Result<()> {
        let SmoothedEpisode { number, episode, first, smoothed } = found;
        let Self { writer, drawn, names, filtered, smoothed: after, steps, .. } = self;
        let row = |t: usize, estimate: &Estimate| estimated(names, (*number, t), time(episode, t), estimate);
        for (k, estimate) in smoothed.estimates.iter().enumerate() {
            let t = first + k;
            filtered.push(&row(t, &smoothed.filtered[k]), episode);
            let row = row(t, estimate);
            writer.push(&row, Some(&smoothed.beliefs[k]))?;
            after.push(&row, episode);
            *steps += 1;
        }
        drawn.push(*number, *first, &smoothed.beliefs)
    }

    fn finish(self, unit: &str, episodes: usize) -> Result<()> {
        let mut files = shown(&self.writer.finish()?);
        if let Some(drawn) = self.drawn.finish()? {
            files = format!("{files}, drawn paths in {}", drawn.display());
        }
        let table = Errors::compared([("filter", self.filtered), ("smoothed", self.smoothed)], unit);
        let table = table.filter(|_| !self.was_told).map_or(String::new(), |table| table + "\n");
        print(&format!("{table}{} steps of {episodes} episodes in {files}\n", grouped(self.steps)))
    }
}
