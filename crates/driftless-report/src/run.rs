//! A training run's folder: its configuration, its metrics, its evaluation and its episodes.

mod metrics;

pub use metrics::Metrics;

use driftless_world::evaluation::Episodes;
use driftless_world::files::Source;
use driftless_world::{About, Episode, Error, Evaluation, Result};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Far more than the largest episodes.
const MOST_BYTES: u64 = 4 << 30;

/// Whatever a run has left behind so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The folder's name.
    pub name: String,
    /// The text of `config.toml`.
    pub config: Option<String>,
    /// `metrics.csv`.
    pub metrics: Option<Metrics>,
    /// `evaluation.json`.
    pub evaluation: Option<Evaluation>,
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
        run.evaluation = evaluation.map(|(evaluation, _)| evaluation);
        run.episodes = episodes.map_or(vec![], |file| file.episodes);
        Ok(run)
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

    /// What was trained, as the evaluation or the episodes say.
    pub fn about(&self) -> Option<&About> {
        let episode = self.episodes.first().map(|episode| &episode.about);
        self.evaluation.as_ref().map(|evaluation| &evaluation.about).or(episode)
    }

    /// What a reader misses, in words.
    pub fn missing(&self) -> Vec<String> {
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
