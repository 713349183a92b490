//! A whole series of observations at once, and what came of it as arrays.

use crate::arrays::{self, Form, wrong};
use crate::filter::{Numbers, ParticleFilter};
use driftless_core::{Belief, Reading, StepReport};
use numpy::ndarray::{Array, ArrayD, IxDyn};
use numpy::{Element, PyArray1, PyArrayDyn, ToPyArray};
use pyo3::prelude::*;

/// What a filter believed at each step of a series, as arrays whose first axis is time.
#[pyclass(frozen, module = "driftless_filters")]
pub struct Filtered {
    pub steps: Vec<StepReport>,
    mean: Vec<f64>,
    covariance: Vec<f64>,
    sizes: Vec<f64>,
    /// If they were asked for.
    pub beliefs: Vec<Belief>,
    pub ancestors: Vec<u32>,
    dimension: usize,
    pub form: Form,
    /// α of soft resampling.
    pub alpha: f64,
}

/// What is computed or kept of each step besides its mean.
#[derive(Clone, Copy)]
pub struct Kept {
    pub covariance: bool,
    /// All particles.
    pub history: bool,
}

/// Steps a filter through a series.
pub fn run(
    filter: &mut ParticleFilter,
    observations: &Bound<PyAny>,
    actions: Option<&Bound<PyAny>>,
    kept: Kept,
) -> PyResult<Filtered> {
    let py = observations.py();
    let observations = observations.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let actions = match actions {
        Some(actions) => actions.try_iter()?.collect::<PyResult<Vec<_>>>()?,
        None => vec![py.None().into_bound(py); observations.len()],
    };
    if actions.len() != observations.len() {
        let [seen, done] = [observations.len(), actions.len()];
        return Err(wrong(format!("there are {seen} observations but {done} actions; None stands for none")));
    }
    let mut found = Filtered::new(filter);
    if filter.is_compiled() {
        let pairs = actions.iter().zip(&observations);
        let numbers: Vec<Numbers> = pairs.map(|(a, o)| filter.numbers(a, o)).collect::<PyResult<_>>()?;
        py.detach(|| {
            for numbers in &numbers {
                let report = filter.compiled_step(numbers);
                found.push(filter, report, kept);
            }
        });
        return Ok(found);
    }
    for (action, observation) in actions.iter().zip(&observations) {
        let report = filter.one_step(py, action, observation)?;
        found.push(filter, report, kept);
        py.check_signals()?;
    }
    Ok(found)
}

impl Filtered {
    fn new(filter: &ParticleFilter) -> Self {
        Self {
            steps: Vec::new(),
            mean: Vec::new(),
            covariance: Vec::new(),
            sizes: Vec::new(),
            beliefs: Vec::new(),
            ancestors: Vec::new(),
            dimension: filter.dimension(),
            form: filter.form,
            alpha: filter.alpha(),
        }
    }

    fn push(&mut self, filter: &ParticleFilter, report: StepReport, kept: Kept) {
        let (belief, from, size) = (filter.belief(), self.covariance.len(), self.dimension);
        let mean = belief.mean();
        if kept.covariance {
            self.covariance.resize(from + size * size, 0.0);
            belief.covariance_around(&mean, &mut self.covariance[from..]);
        }
        self.mean.extend(mean);
        self.sizes.push(belief.weights.effective_sample_size());
        self.steps.push(report);
        if kept.history {
            self.beliefs.push(belief.clone());
            self.ancestors.extend(&filter.running.workspace.ancestors);
        }
    }

    fn flags<'py>(&self, py: Python<'py>, flag: impl Fn(&StepReport) -> bool) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_iter(py, self.steps.iter().map(flag))
    }

    /// With a first axis of time, and no further ones of flat states.
    fn shaped<'py, T: Element + Copy>(
        &self,
        py: Python<'py>,
        values: &[T],
        inner: &[usize],
    ) -> Bound<'py, PyArrayDyn<T>> {
        let inner = if self.form == Form::Flat { &[] } else { inner };
        let shape = [&[self.steps.len()], inner].concat();
        let array: ArrayD<T> = Array::from_shape_vec(IxDyn(&shape), values.to_vec()).expect("as many");
        array.to_pyarray(py)
    }

    pub fn kept(&self) -> PyResult<&[Belief]> {
        match self.beliefs.len() == self.steps.len() {
            true => Ok(&self.beliefs),
            false => Err(wrong("particles were not kept; run with history=True")),
        }
    }
}

#[pymethods]
impl Filtered {
    /// Means: (T, d), or (T,) of flat states.
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDyn<f64>> {
        self.shaped(py, &self.mean, &[self.dimension])
    }

    /// Covariances: (T, d, d), or (T,) of flat states.
    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        if self.covariance.is_empty() && !self.steps.is_empty() {
            return Err(wrong("covariances were not computed; run with covariance=True"));
        }
        Ok(self.shaped(py, &self.covariance, &[self.dimension, self.dimension]))
    }

    /// log p of each observation given those before.
    #[getter]
    fn log_evidence<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.steps.iter().map(|step| step.log_evidence))
    }

    /// 1 / Σ w² after each step.
    #[getter]
    fn effective_sample_size<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.sizes)
    }

    #[getter]
    fn collapsed<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.flags(py, |step| step.collapsed)
    }

    #[getter]
    fn seen<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.flags(py, |step| step.reading == Reading::Present)
    }

    #[getter]
    fn resampled<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.flags(py, |step| step.resampled)
    }

    /// All particles: (T, N, d), or (T, N) of flat states.
    #[getter]
    fn particles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = self.kept()?.iter().map(|belief| arrays::states(py, &belief.particles, self.form));
        py.import("numpy")?.call_method1("stack", (all.collect::<PyResult<Vec<_>>>()?,))
    }

    /// All weights: (T, N).
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = self.kept()?.iter().map(|belief| PyArray1::from_slice(py, belief.weights.linear()));
        py.import("numpy")?.call_method1("stack", (all.collect::<Vec<_>>(),))
    }

    fn __len__(&self) -> usize {
        self.steps.len()
    }
}
