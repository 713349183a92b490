//! Paths after the fact, as arrays.

use crate::arrays::wrong;
use crate::episode::{Episode, save};
use driftless::online::Estimate;
use driftless_cli::SmoothedEpisode;
use numpy::ndarray::{Array2, Array3};
use numpy::{PyArray2, PyArray3};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Where a robot was at each step, by all that was seen before and after.
#[pyclass(frozen, module = "driftless_filters")]
pub struct SmoothedPath {
    found: SmoothedEpisode,
    drawn: bool,
}

impl SmoothedPath {
    /// With paths that were drawn, or particles that were weighed.
    pub fn new(found: SmoothedEpisode, drawn: bool) -> Self {
        Self { found, drawn }
    }
}

/// Mean and covariance, row after row.
fn numbers(estimate: &Estimate) -> (Vec<f64>, Vec<f64>) {
    match &estimate.state {
        Some(state) => (state.mean.clone(), state.covariance.clone()),
        None => {
            let pose = estimate.pose;
            (vec![pose.x, pose.y, pose.heading], estimate.covariance.concat())
        }
    }
}

fn means<'py>(py: Python<'py>, estimates: &[Estimate]) -> Bound<'py, PyArray2<f64>> {
    let rows: Vec<Vec<f64>> = estimates.iter().map(|estimate| numbers(estimate).0).collect();
    let width = rows.first().map_or(0, Vec::len);
    PyArray2::from_owned_array(py, Array2::from_shape_fn((rows.len(), width), |(t, k)| rows[t][k]))
}

fn covariances<'py>(py: Python<'py>, estimates: &[Estimate]) -> Bound<'py, PyArray3<f64>> {
    let all: Vec<(Vec<f64>, Vec<f64>)> = estimates.iter().map(numbers).collect();
    let width = all.first().map_or(0, |(mean, _)| mean.len());
    let shape = (all.len(), width, width);
    PyArray3::from_owned_array(py, Array3::from_shape_fn(shape, |(t, i, k)| all[t].1[i * width + k]))
}

#[pymethods]
impl SmoothedPath {
    /// Which episode, counted from 0.
    #[getter]
    fn episode(&self) -> usize {
        self.found.number
    }

    /// The step of the first row: where the robot was first known, if its start was looked up in the log.
    #[getter]
    fn first(&self) -> usize {
        self.found.first
    }

    /// Means: (T, d); of angles their directions.
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        means(py, &self.found.smoothed.estimates)
    }

    /// Around the means: (T, d, d).
    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray3<f64>> {
        covariances(py, &self.found.smoothed.estimates)
    }

    /// What the filter said on the way: (T, d).
    #[getter]
    fn filtered<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        means(py, &self.found.smoothed.filtered)
    }

    /// Drawn paths: (paths, T, d); None where all particles were weighed.
    #[getter]
    fn paths<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray3<f32>>> {
        let steps = self.drawn.then_some(&self.found.smoothed.beliefs)?;
        let first = steps.first()?;
        let shape = (first.particles.len(), steps.len(), first.space().dimension());
        let state = |(m, t, k): (usize, usize, usize)| steps[t].particles.column(k)[m];
        Some(PyArray3::from_owned_array(py, Array3::from_shape_fn(shape, state)))
    }

    fn __len__(&self) -> usize {
        self.found.smoothed.estimates.len()
    }
}

/// A start as the command takes it: a word, or numbers.
pub fn start(wanted: &Bound<PyAny>) -> PyResult<String> {
    if let Ok(word) = wanted.extract::<String>() {
        return Ok(word);
    }
    let numbers: Vec<f64> = wanted.extract()?;
    Ok(numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(","))
}

/// Does something with a file, which is written for the time if episodes are given.
pub fn with_file<T>(
    py: Python,
    data: &Bound<PyAny>,
    work: impl FnOnce(PathBuf) -> PyResult<T>,
) -> PyResult<T> {
    if let Ok(path) = data.extract::<PathBuf>() {
        return work(path);
    }
    let episodes: Vec<Episode> = data.extract()?;
    if episodes.is_empty() {
        return Err(wrong("there are no episodes"));
    }
    let folder = py.import("tempfile")?.call_method0("TemporaryDirectory")?;
    let path = folder.getattr("name")?.extract::<PathBuf>()?.join("episodes.npz");
    let found = save(py, path.clone(), episodes, None, false).and_then(|()| work(path));
    folder.call_method0("cleanup")?;
    found
}
