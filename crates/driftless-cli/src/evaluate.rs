//! `driftless evaluate`: how well a trained method follows robots it has not seen.

mod playback;
mod provenance;
mod table;

use crate::args;
use crate::interrupt;
use crate::output::{complain, print, typed};
use crate::progress::Progress;
use crate::ranks::Job;
use crate::usage::misused;
use anyhow::{Context, Result};
use driftless::learn::{
    AllRanks, DataFiles, Detail, Experiment, HANDFUL, Purpose, Recordings, Tracking, Trained,
};
use driftless::methods::build;
use driftless_report::{Provenance, Record};
use driftless_world::evaluation::{Episodes, Plan, Surroundings};
use driftless_world::files::ros_map::RosMap;
use driftless_world::files::{Fingerprint, NewFile, Overwrite};
use driftless_world::maze::Layout;
use driftless_world::{About, Evaluation, OccupancyGrid, Track};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What to evaluate a method by, and how.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Recordings, in DPF's layout.
    pub data: PathBuf,
    /// Recorded steps of an episode, where the file does not say it.
    pub steps: Option<usize>,
    /// Particles, if not as many as in training.
    pub particles: Option<usize>,
    /// Take only so many episodes.
    pub episodes: Option<usize>,
    /// Names the noise and the filter's random numbers.
    pub seed: u64,
    /// Noise of the odometry, if not as in training.
    pub odometry_noise: Option<f64>,
    /// What robots live through, if not what they did in training: settings of recordings.
    pub settings: Vec<String>,
    /// How many episodes to keep with all particles.
    pub play: usize,
    /// The world, if the file does not tell.
    pub maze: Option<Layout>,
    /// A map to draw episodes on, if not the one that the method has.
    pub map: Option<OccupancyGrid>,
}

/// What came of it.
#[derive(Debug)]
pub struct Evaluated {
    /// All figures.
    pub evaluation: Evaluation,
    /// A few episodes to look at.
    pub episodes: Episodes,
    /// Where the figures come from.
    pub provenance: Provenance,
}

/// Evaluates a run, writes the result into its folder and prints it.
pub fn run(wanted: &args::Evaluate, job: &Job) -> Result<()> {
    if let Some(noise) = wanted.odometry_noise.filter(|noise| !(0.0..=10.0).contains(noise)) {
        misused!("--odometry-noise {noise}: must be a share from 0 to 10");
    }
    if let Some(setting) = wanted.settings.iter().find(|setting| !is_of_recordings(setting)) {
        let all = OF_RECORDINGS.join(", ");
        misused!("{setting}: is decided in training; an evaluation can set {all}");
    }
    let trial = Trial {
        data: wanted.data.clone(),
        steps: wanted.reading.steps_per_episode,
        particles: wanted.particles.map(|count| count as usize),
        episodes: wanted.episodes.map(|count| count as usize),
        seed: wanted.seed,
        odometry_noise: wanted.odometry_noise,
        settings: wanted.settings.clone(),
        play: usize::from(wanted.play),
        maze: wanted.maze.as_deref().map(Layout::open).transpose()?,
        map: wanted.map.as_ref().map(|path| RosMap::read(path).map(|map| map.grid())).transpose()?,
    };
    let mut evaluated = track(&wanted.run, &trial, job.ranks())?;
    if job.is_first() {
        save(&wanted.run, &mut evaluated)?;
    }
    if wanted.json {
        return print(&evaluated.evaluation.to_json());
    }
    let run = wanted.run.display();
    print(&format!(
        "{}\nIn {run}: evaluation.json, episodes.json, record.json\nNext: driftless report {} --out report\n",
        table::text(&evaluated.evaluation),
        typed(&wanted.run)
    ))
}

/// Settings of what robots live through, not of what was learned.
const OF_RECORDINGS: [&str; 15] = [
    "pixel_noise",
    "robot.start",
    "robot.start_distance",
    "robot.start_degrees",
    "robot.lost",
    "robot.unit",
    "state.start_spread",
    "house.start",
    "house.start_metres",
    "house.start_degrees",
    "house.odometry_metres",
    "house.odometry_degrees",
    "house.depth_noise",
    "house.depth_missing",
    "house.depth_reach",
];

fn is_of_recordings(setting: &str) -> bool {
    setting.split_once('=').is_some_and(|(key, _)| OF_RECORDINGS.contains(&key.trim()))
}

/// Tracks all episodes with the best weights of a run, shared among ranks.
pub fn track(run: &Path, trial: &Trial, ranks: &AllRanks) -> Result<Evaluated> {
    let mut trained = Trained::open(run, &build)?;
    trained.method.share_with(ranks);
    let lived = trained.config.experiment.with(&trial.settings)?;
    let experiment = Experiment {
        odometry_noise: trial.odometry_noise.unwrap_or(lived.odometry_noise),
        particles: trial.particles.unwrap_or(lived.particles),
        ..lived
    };
    let recordings =
        Recordings::open(&trial.data, trial.steps, &experiment, trial.seed, Purpose::Evaluation)?;
    let [height, width, _] = trained.config.data.image;
    recordings.check(None, [height, width], "the run learned from images")?;
    warn_of_known(&trained.config.data, &experiment, &trial.data);
    let count = trial.episodes.unwrap_or(usize::MAX).min(recordings.len());
    let play = trial.play.min(count);
    let mut progress = Progress::new("evaluate", "episodes", count + play);
    let tracks = tracks(&trained, &recordings, count, (experiment.particles, trial.seed), &mut progress)?;
    let about = about(&experiment, &recordings, &tracks, trial.maze.as_ref())?;
    let plan = plan(&recordings, &tracks, trial, &trained.method.surroundings())?;
    let episodes = playback::record(&trained, &recordings, play, (&about, &plan), trial.seed)?;
    progress.advance(play);
    progress.finish();
    let thresholds = recordings.thresholds();
    let evaluation = trained.normalisation.evaluation(about, thresholds, &tracks)?;
    let provenance = provenance::of(run, &trained.config, trial)?;
    Ok(Evaluated { evaluation, episodes, provenance })
}

/// Writes `evaluation.json`, `episodes.json` and `record.json` into a run's folder: all of them, if the disk has room for
/// all. Cut off in between, episodes and record are of an evaluation that is not there, which a report says.
pub fn save(run: &Path, evaluated: &mut Evaluated) -> Result<()> {
    let evaluation = evaluated.evaluation.to_json();
    evaluated.episodes.record_with(&evaluation);
    let record = Record::of(&evaluated.evaluation, evaluated.provenance.clone());
    let texts = [
        ("episodes.json", evaluated.episodes.to_json()),
        ("record.json", record.to_json()),
        ("evaluation.json", evaluation),
    ];
    let mut files = Vec::new();
    for (name, text) in texts {
        let path = run.join(name);
        let mut file = NewFile::create(&path, Overwrite::Replace)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
        written.with_context(|| format!("{}: cannot write", path.display()))?;
        files.push(file);
    }
    for file in files {
        file.commit()?;
    }
    Ok(())
}

fn tracks(
    trained: &Trained,
    recordings: &Recordings,
    count: usize,
    (particles, seed): (usize, u64),
    progress: &mut Progress,
) -> Result<Vec<Track>> {
    let mut tracks = Vec::with_capacity(count);
    for first in (0..count).step_by(HANDFUL) {
        interrupt::check()?;
        let handful = first..count.min(first + HANDFUL);
        let tracking = Tracking { particles, seed, detail: Detail::Densities };
        tracks.extend(trained.follow(recordings, handful.clone(), tracking)?);
        progress.advance(handful.len());
    }
    Ok(tracks)
}

fn about(
    experiment: &Experiment,
    recordings: &Recordings,
    tracks: &[Track],
    maze: Option<&Layout>,
) -> Result<About> {
    let has_particles = tracks.iter().any(|track| track.effective_sample_size.is_some());
    Ok(About {
        method: experiment.arm(),
        label: experiment.label(),
        world: maze
            .map_or_else(|| recordings.world(), |maze| driftless::Result::Ok(maze.name().to_owned()))?,
        label_fraction: experiment.label_fraction,
        seed: experiment.seed,
        particles: if has_particles { experiment.particles } else { 0 },
        odometry_noise: experiment.odometry_noise,
        data: recordings.path().file_name().unwrap_or_default().to_string_lossy().into_owned(),
        data_fingerprint: Fingerprint::of_file(recordings.path())?,
        unit: recordings.unit().to_owned(),
    })
}

/// The maze, or the map that the method has; where neither is known, the box of all true poses, with some space around.
fn plan(
    recordings: &Recordings,
    tracks: &[Track],
    trial: &Trial,
    surroundings: &Surroundings,
) -> Result<Plan> {
    let found = if trial.maze.is_none() { recordings.maze()? } else { None };
    if let Some(layout) = trial.maze.as_ref().or(found.as_ref()) {
        return Ok(Plan::of_maze(layout));
    }
    let truths = tracks.iter().flat_map(|track| &track.truth).map(|pose| [pose.x, pose.y]);
    let given = trial
        .map
        .as_ref()
        .map(|grid| Surroundings { grid: Some(grid.clone()), marks: surroundings.marks.clone() });
    Ok(given.as_ref().unwrap_or(surroundings).plan(truths, recordings.unit())?)
}

/// Figures on what a method has learned from, or was chosen by, are too good.
fn warn_of_known(data: &DataFiles, experiment: &Experiment, file: &Path) {
    let same = |other: &Path| match (other.canonicalize(), file.canonicalize()) {
        (Ok(other), Ok(file)) => other == file,
        _ => other == file,
    };
    let name = file.display();
    if same(&data.train) || data.more.iter().any(|more| same(more)) {
        let count = experiment.trajectories;
        complain(&format!(
            "warning: the run learned from the first {count} trajectories of {name}; figures on them are too good"
        ));
    } else if data.valid.as_deref().is_some_and(same) {
        complain(&format!(
            "warning: the best weights were chosen with {name}; figures on it are a little too good"
        ));
    }
}
