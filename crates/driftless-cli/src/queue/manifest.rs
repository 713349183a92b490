//! The plan of a queue: `manifest.jsonl`, one line a run, which is all that a worker needs besides the data.

use anyhow::{Context, Result, bail, ensure};
use driftless::learn::Experiment;
use driftless_world::files::{Fingerprint, NewFile, Overwrite};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

const MANIFEST: &str = "manifest.jsonl";

/// One run, as it was planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// Names it, and its folder.
    pub id: String,
    /// All settings.
    pub experiment: Experiment,
    /// Recordings to learn from, one file after the other.
    pub train: Vec<DataFile>,
    /// To choose the best weights with, if not those of `train` that are left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid: Option<DataFile>,
    /// Recorded steps of an episode, where the files do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// Maps, beacons and weights that the settings name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<DataFile>,
    /// How it is evaluated, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Test>,
    /// The run whose weights it takes, if it is not trained itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights_of: Option<String>,
    /// Seconds that it takes on the machine that estimates come from.
    pub seconds: f64,
    /// The version of the program that planned it.
    pub driftless: String,
}

/// A file, and what tells its contents from others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataFile {
    /// As it was typed.
    pub file: PathBuf,
    /// Of its contents.
    pub fingerprint: String,
}

/// How a run is evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Recordings.
    pub data: DataFile,
    /// What tables call the world, if not as the recordings do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<String>,
    /// Particles, if not as many as in training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub particles: Option<usize>,
    /// Names the noise.
    pub seed: u64,
    /// Episodes to keep with all particles.
    pub play: usize,
}

impl Planned {
    /// Its folder in that of the queue.
    pub fn folder(&self, out: &Path) -> PathBuf {
        out.join("runs").join(&self.id)
    }

    /// All files that it reads.
    pub fn files(&self) -> impl Iterator<Item = &DataFile> {
        self.train.iter().chain(&self.valid).chain(&self.given).chain(self.test.iter().map(|test| &test.data))
    }
}

/// Fingerprints of files, each of which is read once.
#[derive(Debug, Default)]
pub struct Fingerprints(BTreeMap<PathBuf, String>);

impl Fingerprints {
    /// A file and what it holds now.
    pub fn of(&mut self, file: &Path) -> Result<DataFile> {
        let known = self.0.get(file).cloned();
        let fingerprint = known.map_or_else(|| Fingerprint::of_file(file), Ok)?;
        self.0.insert(file.to_path_buf(), fingerprint.clone());
        Ok(DataFile { file: file.to_path_buf(), fingerprint })
    }

    /// The files that settings name.
    pub fn given(&mut self, experiment: &Experiment) -> Result<Vec<DataFile>> {
        let sensors = experiment.sensor.iter().flat_map(|sensor| [&sensor.map, &sensor.beacons]);
        let others = [&experiment.robot.map, &experiment.robot.beacons];
        let mut names: Vec<&String> = sensors.chain(others).filter(|name| !name.is_empty()).collect();
        names.sort();
        names.dedup();
        names.into_iter().map(|name| self.of(Path::new(name))).collect()
    }
}

/// A line of the file. The number and the check tell a line that was lost or changed by hand.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    line: usize,
    check: String,
    run: Planned,
}

fn check_of(run: &Planned) -> Result<String> {
    let mut seen = Fingerprint::default();
    seen.add(serde_json::to_string(run)?.as_bytes());
    Ok(seen.to_string())
}

/// All runs of a folder's manifest, in order; none if there is no manifest.
pub fn read(out: &Path) -> Result<Vec<Planned>> {
    let path = out.join(MANIFEST);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("{}: cannot read", path.display())),
    };
    text.lines().enumerate().map(|(k, line)| understood(&path, k + 1, line)).collect()
}

/// The run of one line, counted from 1. Only that line is understood: a plan may have thousands.
pub fn read_line(out: &Path, number: usize) -> Result<Planned> {
    let path = out.join(MANIFEST);
    let text = fs::read_to_string(&path)
        .with_context(|| format!("{}: cannot read; is this the folder of a sweep?", path.display()))?;
    match number.checked_sub(1).and_then(|k| text.lines().nth(k)) {
        Some(line) => understood(&path, number, line),
        None => bail!("{}: has {} lines, and no line {number}", path.display(), text.lines().count()),
    }
}

fn understood(path: &Path, number: usize, text: &str) -> Result<Planned> {
    let wrong = |what: String| {
        format!(
            "{}: line {number}: {what}; remove the file and give the command that planned it again (what is done \
             is not done again)",
            path.display()
        )
    };
    let line: Entry =
        serde_json::from_str(text).map_err(|error| anyhow::anyhow!(wrong(format!("is no run: {error}"))))?;
    let named = format!("field line: is {}, so lines were lost or moved", line.line);
    ensure!(line.line == number, wrong(named));
    let changed = "field check: does not fit, so the run was changed by hand".to_owned();
    ensure!(check_of(&line.run)? == line.check, wrong(changed));
    Ok(line.run)
}

/// Adds runs to a folder's manifest. A run keeps its line, since waiting jobs name runs by their lines; one that is
/// planned otherwise now takes its old place. Returns all runs.
pub fn plan(out: &Path, runs: &[Planned]) -> Result<Vec<Planned>> {
    fs::create_dir_all(out).with_context(|| format!("{}: cannot create", out.display()))?;
    // Two commands may plan at once: one after the other.
    let lock = out.join(".manifest.lock");
    let file = fs::File::create(&lock).with_context(|| format!("{}: cannot create", lock.display()))?;
    file.lock().with_context(|| format!("{}: cannot lock", lock.display()))?;
    let before = read(out)?;
    let mut all = before.clone();
    let mut places: BTreeMap<String, usize> =
        all.iter().enumerate().map(|(k, r)| (r.id.clone(), k)).collect();
    for run in runs {
        if let Some(&place) = places.get(&run.id) {
            all[place] = run.clone();
        } else {
            places.insert(run.id.clone(), all.len());
            all.push(run.clone());
        }
    }
    if all != before {
        write(&out.join(MANIFEST), &all)?;
    }
    Ok(all)
}

fn write(path: &Path, runs: &[Planned]) -> Result<()> {
    let mut file = NewFile::create(path, Overwrite::Replace)?;
    for (k, run) in runs.iter().enumerate() {
        let line = Entry { line: k + 1, check: check_of(run)?, run: run.clone() };
        writeln!(file, "{}", serde_json::to_string(&line)?)
            .with_context(|| format!("{}: cannot write", path.display()))?;
    }
    Ok(file.commit()?)
}

#[cfg(test)]
mod tests;
