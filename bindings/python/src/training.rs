//! Training with a Python program as observer: the interpreter is free while it goes on, and Ctrl-C stops it cleanly.

use crate::arrays::wrong;
use crate::errors::failed;
use driftless::learn::{
    EpochRecord, Files, Gathered, Observer, Outcome, RunConfig, RunFolder, Session, WorldKind, describe,
};
use driftless::methods::build;
use driftless_world::files::{Format, Holds};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::time::Instant;

/// Names of the experiments that are built in.
#[pyfunction]
pub fn experiments() -> Vec<&'static str> {
    driftless_cli::experiments().collect()
}

/// Trains an experiment, by name or from a file, in a new folder.
#[pyfunction]
#[pyo3(signature = (experiment, data, run, *, valid=None, settings=Vec::new(), steps_per_episode=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
pub fn train_files(
    py: Python,
    experiment: &str,
    data: Vec<PathBuf>,
    run: PathBuf,
    valid: Option<PathBuf>,
    settings: Vec<String>,
    steps_per_episode: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyDict>> {
    let Some((train, more)) = data.split_first() else { return Err(wrong("data has no file to learn from")) };
    let files = Files { train: train.clone(), more: more.to_vec(), valid, steps: steps_per_episode };
    let mut experiment = driftless_cli::experiment(experiment, &settings)
        .map_err(|error| PyValueError::new_err(format!("{error:#}")))?;
    let mut watch = Watch::new(progress);
    let ended = py.detach(|| {
        RunFolder::check_free(&run)?;
        if experiment.world == WorldKind::Robot && Format::of(&files.train)?.holds == Holds::Logs {
            experiment = describe(&experiment, &files.train)?.experiment;
        }
        let Gathered { material, data, warnings } = Gathered::read(&experiment, &files)?;
        let config = RunConfig::new(experiment, data);
        Ok((Session::begin(&run, config, material, &build)?, warnings))
    });
    let (session, warnings) = ended.map_err(failed)?;
    for warning in warnings {
        py.import("warnings")?.call_method1("warn", (warning,))?;
    }
    finish(py, session, &mut watch)
}

/// Goes on with the run of a folder.
#[pyfunction]
#[pyo3(signature = (run, *, progress=None))]
pub fn resume(py: Python, run: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<Py<PyDict>> {
    let session = py.detach(|| {
        let folder = RunFolder::open(&run)?;
        let gathered = Gathered::again(&folder.config()?)?;
        Session::resume(folder, gathered.material, &build)
    });
    finish(py, session.map_err(failed)?, &mut Watch::new(progress))
}

fn finish(py: Python, mut session: Session, watch: &mut Watch) -> PyResult<Py<PyDict>> {
    let outcome = py.detach(|| session.run(watch)).map_err(failed)?;
    if let Some(raised) = watch.raised.take() {
        return Err(raised);
    }
    let found = PyDict::new(py);
    let (outcome, why) = match outcome {
        Outcome::Finished => ("finished", None),
        Outcome::Stopped { .. } => ("stopped", None),
        Outcome::Diverged { why, .. } => ("diverged", Some(why)),
    };
    found.set_item("outcome", outcome)?;
    found.set_item("why", why)?;
    found.set_item("epochs", session.epochs())?;
    found.set_item("best", session.best().map(|best| best.epoch))?;
    let records: PyResult<Vec<_>> = session.records().iter().map(|epoch| dictionary(py, epoch)).collect();
    found.set_item("records", records?)?;
    Ok(found.unbind())
}

fn dictionary<'py>(py: Python<'py>, record: &EpochRecord) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("epoch", record.epoch)?;
    found.set_item("seconds", record.seconds)?;
    found.set_item("loss", record.loss)?;
    found.set_item("losses", &record.losses)?;
    found.set_item("effective_sample_size", record.effective_sample_size)?;
    found.set_item("validation_distance", record.validation.and_then(|seen| seen.distance))?;
    found.set_item("validation_rmse", record.validation.and_then(|seen| seen.rmse))?;
    found.set_item("best", record.best)?;
    Ok(found)
}

/// Calls back after each epoch, and stops before the next one where the function or a signal raises.
struct Watch {
    began: Instant,
    progress: Option<Py<PyAny>>,
    raised: Option<PyErr>,
    is_enough: bool,
}

impl Watch {
    fn new(progress: Option<Py<PyAny>>) -> Self {
        Self { began: Instant::now(), progress, raised: None, is_enough: false }
    }
}

impl Observer for Watch {
    fn seconds(&mut self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn epoch(&mut self, record: &EpochRecord) {
        let Some(progress) = &self.progress else { return };
        let told = Python::attach(|py| {
            let answer = progress.call1(py, (dictionary(py, record)?,))?;
            Ok(answer.bind(py).extract::<bool>().is_ok_and(|go_on| !go_on))
        });
        match told {
            Ok(is_enough) => self.is_enough = is_enough,
            Err(raised) => self.raised = Some(raised),
        }
    }

    fn wants_to_stop(&mut self) -> bool {
        if self.raised.is_none() {
            self.raised = Python::attach(|py| py.check_signals()).err();
        }
        self.raised.is_some() || self.is_enough
    }
}
