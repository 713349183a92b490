//! A training run's folder: its configuration, its metrics, its evaluation and its episodes; or the record that is left
//! of one.

mod metrics;

pub use metrics::Metrics;

use crate::record::{Provenance, Record};
use driftless_world::evaluation::Episodes;
use driftless_world::files::Source;
use driftless_world::{About, Episode, Error, Evaluation, Result};
use std::borrow::Cow;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Far more than the largest episodes.
const MOST_BYTES: u64 = 4 << 30;
/// Far more than the largest record.
const MOST_OF_RECORD: u64 = 16 << 20;

/// What a run that was planned lacks.
const PLANNED: &str = "all: it was planned, and is not done yet";

/// Whatever a run has left behind so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The name of the folder, or of the record's file without its end.
    pub name: String,
    /// The text of `config.toml`.
    pub config: Option<String>,
    /// `metrics.csv`.
    pub metrics: Option<Metrics>,
    /// `evaluation.json`.
    pub evaluation: Option<Evaluation>,
    /// `record.json`.
    pub record: Option<Record>,
    /// `episodes.json`; empty if there is none.
    pub episodes: Vec<Episode>,
    /// Files that are there but cannot be read, in words.
    pub problems: Vec<String>,
}

impl Run {
    /// Reads a run's folder. Files that are missing or damaged are noted, not fatal; only a folder that
    /// cannot be read is an error.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        fs::read_dir(folder).map_err(|source| Error::io("cannot read the run", source).in_file(folder))?;
        let name = folder.file_name().map_or_else(|| folder.to_string_lossy(), |name| name.to_string_lossy());
        let mut run = Self { name: name.into_owned(), ..Self::default() };
        run.config = run.read(folder, "config.toml", |text| Ok(text.to_owned()));
        run.metrics = run.read(folder, "metrics.csv", Metrics::parse);
        let evaluation =
            run.read(folder, "evaluation.json", |text| Ok((Evaluation::from_json(text)?, text.to_owned())));
        let episodes = run.read(folder, "episodes.json", |text| {
            let episodes = Episodes::from_json(text)?;
            evaluation.as_ref().map_or(Ok(()), |(_, evaluation)| episodes.check_pair(evaluation))?;
            Ok(episodes)
        });
        run.record = run.read(folder, "record.json", |text| {
            let record = Record::from_json(text)?;
            let of_another = |(evaluation, _): &(Evaluation, String)| {
                Record::of(evaluation, record.provenance.clone()) != record
            };
            if evaluation.as_ref().is_some_and(of_another) {
                return Err(Error::new(
                    "is not of the evaluation.json beside it; run `driftless evaluate` again",
                ));
            }
            Ok(record)
        });
        run.evaluation = evaluation.map(|(evaluation, _)| evaluation);
        run.episodes = episodes.map_or(vec![], |file| file.episodes);
        Ok(run)
    }

    /// A run that was planned, and is missing.
    pub fn planned(name: &str) -> Self {
        Self { name: name.to_owned(), problems: vec![PLANNED.to_owned()], ..Self::default() }
    }

    /// Reads a record that was kept of a run.
    pub fn of_record(file: impl AsRef<Path>) -> Result<Self> {
        let file = file.as_ref();
        let text = Source::open(file)?.read_text(MOST_OF_RECORD);
        let record = text.and_then(|text| Record::from_json(&text)).map_err(|error| error.in_file(file))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, record: Some(record), ..Self::default() })
    }

    /// Its record, made from its evaluation if there is none; what settings it had is unknown then.
    pub fn kept(&self) -> Option<Cow<'_, Record>> {
        let made = || Some(Record::of(self.evaluation.as_ref()?, Provenance::default()));
        self.record.as_ref().map(Cow::Borrowed).or_else(|| made().map(Cow::Owned))
    }

    fn read<T>(&mut self, folder: &Path, file: &str, parse: impl Fn(&str) -> Result<T>) -> Option<T> {
        let read = Source::open(folder.join(file)).map_err(|error| (error.io_kind(), error));
        let read = match read {
            Err((Some(ErrorKind::NotFound), _)) => return None,
            Err((_, error)) => Err(error),
            Ok(source) => source.read_text(MOST_BYTES).and_then(|text| parse(&text)),
        };
        read.map_err(|error| self.problems.push(error.in_file(file).to_string())).ok()
    }

    /// What was trained, as the evaluation, the record or the episodes say.
    pub fn about(&self) -> Option<&About> {
        let episode = self.episodes.first().map(|episode| &episode.about);
        let record = self.record.as_ref().map(|record| &record.about);
        self.evaluation.as_ref().map(|evaluation| &evaluation.about).or(record).or(episode)
    }

    /// What a reader misses, in words.
    pub fn missing(&self) -> Vec<String> {
        if self.record.is_some() && self.evaluation.is_none() && self.config.is_none() {
            return vec!["all but its record".to_owned()];
        }
        if self.problems == [PLANNED] {
            return self.problems.clone();
        }
        let absent = [
            (self.config.is_none(), "config.toml"),
            (self.metrics.is_none(), "metrics.csv: no validation curve"),
            (self.evaluation.is_none(), "evaluation.json: no figures"),
            (self.episodes.is_empty(), "episodes.json: nothing to play"),
        ];
        let is_damaged = |text: &str| {
            let file = text.split(':').next().unwrap_or(text);
            self.problems.iter().any(|problem| problem.starts_with(file))
        };
        let absent = absent.into_iter().filter(|(absent, text)| *absent && !is_damaged(text));
        absent.map(|(_, text)| format!("no {text}")).chain(self.problems.clone()).collect()
    }
}
