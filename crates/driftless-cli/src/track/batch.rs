//! The robots of a log, followed from beginning to end.

use super::estimated;
use super::start::{self, Wanted};
use super::summary::Errors;
use crate::args;
use crate::interrupt;
use crate::output::{complain, grouped, overwrite, print};
use crate::progress::Progress;
use crate::usage::misused;
use anyhow::Result;
use driftless::learn::{
    Experiment, HANDFUL, HouseSettings, Purpose, Recordings, RobotSettings, RobotStart, Trained,
};
use driftless::methods::build;
use driftless::online::{Place, Start, Tracker, follow_whole};
use driftless_world::Trajectory;
use driftless_world::files::estimates::{self, EstimateFormat, EstimateOptions, EstimateWriter, Estimated};
use rayon::prelude::*;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An episode, and how it is followed.
pub struct Job {
    pub number: usize,
    pub episode: Trajectory,
    pub start: Start,
    pub first: usize,
    /// Nothing where the method wants the whole episode.
    pub tracker: Option<Tracker>,
}

/// Follows episodes, writes estimates, and says how far off they are where that is known.
pub fn run(wanted: &args::Track, data: &Path, out: &Path) -> Result<()> {
    let following = &wanted.following;
    let format = format(following, out)?;
    let trained = Trained::open(&wanted.run, &build)?;
    let names = names(&trained, format, out)?;
    let starts = start::parse(following.start.as_deref(), &trained)?;
    let recordings = open(&trained, following, data)?;
    let episodes = chosen(following, &recordings)?;
    let options = EstimateOptions {
        format,
        overwrite: overwrite(following.force),
        episodes: episodes.len(),
        cloud: wanted.cloud as usize,
    };
    let mut writer = estimates::create(out, options)?;
    let mut progress = Progress::new("track", "episodes", episodes.len());
    let (mut errors, mut steps, mut found) = (Errors::new(trained.normalisation.evaluated()), 0, 0);
    // Clouds are written as they come: those of many episodes would not fit into memory.
    let at_once = if format == EstimateFormat::Mcap { 1 } else { HANDFUL };
    for first in episodes.clone().step_by(at_once) {
        interrupt::check()?;
        let handful = first..episodes.end.min(first + at_once);
        let jobs = jobs(&trained, &recordings, following, starts, handful)?;
        found += jobs.iter().filter(|job| job.start.place == Place::Anywhere).count();
        progress.advance(jobs.len());
        let mut count = |row: &Estimated, episode: &Trajectory| {
            errors.push(row, episode);
            steps += 1;
        };
        follow((&trained, &names), jobs, at_once > 1, &mut *writer, &mut count)?;
    }
    progress.finish();
    let files = writer.finish()?;
    if found > 0 && starts == Wanted::AsTrained {
        complain(&format!("{found} of {} robots were not told where they start", episodes.len()));
    }
    let table = errors.table(recordings.unit()).map_or(String::new(), |table| table + "\n");
    print(&format!("{table}{} steps of {} episodes in {}\n", grouped(steps), episodes.len(), shown(&files)))
}

/// What is written, by the end of a name or as it was said.
pub fn format(wanted: &args::Following, out: &Path) -> Result<EstimateFormat> {
    let Some(format) = wanted.format.map(Into::into).or_else(|| EstimateFormat::of(out)) else {
        misused!("{}: ends in none of .tum, .csv, .jsonl and .mcap; say which by --format", out.display());
    };
    Ok(format)
}

/// Names of coordinates, if states are of some; formats of poses cannot hold those.
pub fn names(trained: &Trained, format: EstimateFormat, out: &Path) -> Result<Arc<[String]>> {
    let names = &trained.config.experiment.state.coordinates;
    if format.is_planar() && !names.is_empty() {
        let (out, names) = (out.display(), names.join(", "));
        misused!("{out}: TUM and MCAP hold poses, and the run follows {names}; write .csv or .jsonl");
    }
    Ok(names.clone().into())
}

/// What was written, in a line.
pub fn shown(files: &[PathBuf]) -> String {
    match files {
        [file] => file.display().to_string(),
        files => format!("{} to {}", files[0].display(), files[files.len() - 1].display()),
    }
}

/// Recordings as they are: without the noise that experiments add, and without what robots are told but in houses.
pub fn open(trained: &Trained, wanted: &args::Following, data: &Path) -> Result<Recordings> {
    let own = trained.config.experiment.clone();
    let robot = RobotSettings { start: RobotStart::Global, ..own.robot.clone() };
    let (odometry_metres, odometry_degrees, depth_noise, depth_missing) = (0.0, 0.0, 0.0, 0.0);
    let house =
        HouseSettings { odometry_metres, odometry_degrees, depth_noise, depth_missing, ..own.house.clone() };
    let experiment = Experiment { odometry_noise: 0.0, pixel_noise: 0.0, robot, house, ..own };
    let steps = wanted.reading.steps_per_episode;
    let recordings = Recordings::open(data, steps, &experiment, wanted.seed, Purpose::Evaluation)?;
    let [height, width, _] = trained.config.data.image;
    recordings.check(None, [height, width], "the run learned from observations")?;
    Ok(recordings)
}

/// Which episodes.
pub fn chosen(wanted: &args::Following, recordings: &Recordings) -> Result<Range<usize>> {
    let (first, all) = (wanted.from, recordings.len());
    if first >= all {
        misused!("--from {first}: there are {all} episodes, counted from 0");
    }
    Ok(first..wanted.episodes.map_or(all, |count| all.min(first.saturating_add(count as usize))))
}

/// Some episodes, each with a robot at its start.
pub fn jobs(
    trained: &Trained,
    recordings: &Recordings,
    wanted: &args::Following,
    starts: Wanted,
    numbers: Range<usize>,
) -> Result<Vec<Job>> {
    let job = |number: usize| {
        let episode = recordings.get(number)?;
        let (place, first) = start::of_episode(starts, number, &episode, trained)?;
        let (seed, in_handful) = Trained::numbers_of(wanted.seed, number);
        let particles = wanted.particles.map(|count| count as usize);
        let start = Start { particles, seed, episode: in_handful, place };
        let tracker = match &episode.floor {
            Some(floor) => Tracker::in_house(trained, start, floor)?,
            None => Tracker::of(trained, start)?,
        };
        Ok(Job { number, episode, start, first, tracker })
    };
    numbers.map(job).collect()
}

/// Follows all of them: one by one as they are written, or together.
fn follow(
    (trained, names): (&Trained, &Arc<[String]>),
    jobs: Vec<Job>,
    together: bool,
    writer: &mut dyn EstimateWriter,
    count: &mut dyn FnMut(&Estimated, &Trajectory),
) -> Result<()> {
    if together && jobs.iter().all(|job| job.tracker.is_some()) {
        let one = |mut job: Job| -> Result<(Job, Vec<Estimated>)> {
            let mut rows = Vec::with_capacity(job.episode.len());
            let mut tracker = job.tracker.take().expect("all have one");
            tracker.replay(&job.episode, job.first, |t, estimate, _| {
                rows.push(estimated(names, (job.number, t), time(&job.episode, t), estimate));
                anyhow::Ok(())
            })?;
            Ok((job, rows))
        };
        for (job, rows) in jobs.into_par_iter().map(one).collect::<Result<Vec<_>>>()? {
            for row in rows {
                writer.push(&row, None)?;
                count(&row, &job.episode);
            }
        }
        return Ok(());
    }
    for Job { number, episode, start, first, tracker } in jobs {
        let mut show = |t: usize, estimate: &_, belief: Option<&_>| {
            let row = estimated(names, (number, t), time(&episode, t), estimate);
            writer.push(&row, belief)?;
            count(&row, &episode);
            interrupt::check()
        };
        if let Some(mut tracker) = tracker {
            tracker.replay(&episode, first, show)?;
        } else {
            let rest = episode.clone().from_step(first);
            follow_whole(trained, start, &rest, |t, estimate, belief| show(first + t, estimate, belief))?;
        }
    }
    Ok(())
}

/// Seconds of a step, if the recording has them.
pub fn time(episode: &Trajectory, t: usize) -> Option<f64> {
    episode.times.as_ref().map(|times| times[t])
}
