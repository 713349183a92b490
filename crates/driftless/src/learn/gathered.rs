//! What a run learns from and is validated with: episodes of one file or two, as `driftless train` reads them.

use super::recordings::Joined;
use super::{DataFiles, Experiment, Material, Purpose, Recordings, RunConfig, TrainingSet};
use crate::error::Result;
use driftless_world::Error;
use driftless_world::files::Fingerprint;
use driftless_world::labels::LabelBudget;
use std::path::{Path, PathBuf};

/// Where the recordings are.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Episodes to learn from: the first of the file.
    pub train: PathBuf,
    /// Files whose episodes follow those of `train`.
    pub more: Vec<PathBuf>,
    /// Episodes to validate with; if there is no such file, those of `train` that are not learned from.
    pub valid: Option<PathBuf>,
    /// Recorded steps of an episode, where the files do not say it.
    pub steps: Option<usize>,
}

impl Files {
    /// The files for a purpose, one after the other.
    fn open(&self, experiment: &Experiment, purpose: Purpose) -> Result<Joined> {
        let (first, more): (_, &[PathBuf]) = match &self.valid {
            Some(valid) if purpose == Purpose::Validation => (valid, &[]),
            _ => (&self.train, &self.more),
        };
        let paths = std::iter::once(first).chain(more).map(PathBuf::as_path);
        Joined::open(paths, self.steps, experiment, purpose)
    }
}

/// All that a session needs, and what somebody should know of it.
///
/// What `driftless train maze-driftless-supervised --train walk.npz --run run` does, in a program:
///
/// ```
/// use driftless::learn::{Experiment, Files, Gathered, Outcome, RunConfig, Session};
/// use driftless::methods::build;
/// # use driftless_world::files::{Overwrite, dpf::DpfWriter, zip::Method};
/// # use driftless_world::maze::{Layout, MazeWorld};
/// # let folder = std::env::temp_dir().join(format!("driftless-gathered-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let walks = folder.join("walks.npz");
/// # let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 16, 16);
/// # let mut file = DpfWriter::create(&walks, Overwrite::Replace, Method::Stored, "")?;
/// # for number in 0..4 { file.push(&world.episode(1, number, 12).into_recording())?; }
/// # file.finish()?;
///
/// // A text as in a file of experiments, and settings as on the command line.
/// let settings = ["epochs=1", "trajectories=3", "crop=16", "batch_size=2", "particles=10"].map(String::from);
/// let experiment = Experiment::parse("method = 'sdpf-supervised'", &settings)?;
/// let files = Files { train: walks, steps: Some(12), ..Files::default() };
/// let Gathered { material, data, .. } = Gathered::read(&experiment, &files)?;
/// let config = RunConfig::new(experiment, data);
/// let mut session = Session::begin(folder.join("run"), config, material, &build)?;
/// assert_eq!(session.run(&mut ())?, Outcome::Finished);
/// # std::fs::remove_dir_all(folder).unwrap();
/// # Ok::<(), driftless::Error>(())
/// ```
pub struct Gathered {
    /// Lessons and validation episodes.
    pub material: Material,
    /// What the files are like.
    pub data: DataFiles,
    /// What is not as it was asked for, in sentences.
    pub warnings: Vec<String>,
}

impl Gathered {
    /// Reads what an experiment asks for, or as much of it as there is.
    pub fn read(experiment: &Experiment, files: &Files) -> Result<Self> {
        let recordings = files.open(experiment, Purpose::Training)?;
        let data = described(files, recordings.first())?;
        let mut warnings = Vec::new();
        let there = recordings.len();
        let count = experiment.trajectories.min(there);
        if count < experiment.trajectories {
            let wanted = experiment.trajectories;
            let others =
                if files.more.is_empty() { String::new() } else { format!(" and {} more", files.more.len()) };
            warnings.push(format!(
                "trajectories={wanted}: {}{others} holds {there}; all of them are learned from",
                files.train.display()
            ));
        }
        let unseen = files.open(experiment, Purpose::Validation)?;
        let [height, width, _] = data.image;
        unseen.first().check(
            Some(data.steps),
            [height, width],
            &format!("{} has some", files.train.display()),
        )?;
        let first = if files.valid.is_some() { 0 } else { count };
        let validated = first..unseen.len().min(first + experiment.validation_episodes);
        let validation = validated.map(|index| unseen.get(index)).collect::<Result<Vec<_>>>()?;
        if validation.is_empty() {
            warnings.push("no validation: the last weights are kept".to_owned());
        }
        let budget = LabelBudget::new(experiment.label_fraction, experiment.seed)?;
        let training = TrainingSet::new(Box::new(recordings), 0..count, budget)?;
        if training.labels().0 == 0 && !experiment.has_given_map() {
            warnings.push(
                "no pose is known: where the robot is and how the world looks from there cannot be learned, only \
                 what is consistent with itself; do not expect the result to localise"
                    .to_owned(),
            );
        }
        Ok(Self { material: Material { training, validation }, data, warnings })
    }

    /// Reads what a run began with; the files must still be what they were.
    pub fn again(config: &RunConfig) -> Result<Self> {
        let data = &config.data;
        let files = Files {
            train: data.train.clone(),
            more: data.more.clone(),
            valid: data.valid.clone(),
            steps: Some(data.steps),
        };
        let gathered = Self::read(&config.experiment, &files)?;
        if gathered.data.image != data.image {
            let (now, then) = (gathered.data.image, data.image);
            let problem = format!("has images of {now:?}, but when the run began, of {then:?}");
            return Err(Error::new(problem).in_field("rgbd").in_file(&data.train).into());
        }
        check_contents(&data.train, &gathered.data.train_fingerprint, &data.train_fingerprint)?;
        let more = gathered.data.more_fingerprints.iter().zip(&data.more_fingerprints);
        data.more.iter().zip(more).try_for_each(|(file, (now, then))| check_contents(file, now, then))?;
        let valid = data.valid.as_ref().unwrap_or(&data.train);
        check_contents(valid, &gathered.data.valid_fingerprint, &data.valid_fingerprint)?;
        Ok(gathered)
    }
}

fn described(files: &Files, recordings: &Recordings) -> Result<DataFiles> {
    Ok(DataFiles {
        train: files.train.clone(),
        more: files.more.clone(),
        more_fingerprints: files
            .more
            .iter()
            .map(Fingerprint::of_file)
            .collect::<driftless_world::Result<_>>()?,
        valid: files.valid.clone(),
        train_fingerprint: Fingerprint::of_file(&files.train)?,
        valid_fingerprint: files.valid.as_ref().map_or(Ok(String::new()), Fingerprint::of_file)?,
        world: recordings.world()?,
        steps: recordings.steps()?,
        image: recordings.image(),
    })
}

fn check_contents(file: &Path, now: &str, then: &str) -> Result<()> {
    if now == then {
        return Ok(());
    }
    let problem =
        "has other contents than the file that the run began with; put that file back, or begin a new run";
    Err(Error::new(problem).in_file(file).into())
}
