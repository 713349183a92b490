//! For networks of other libraries: log-likelihoods in, log-weights and evidence out, and gradients back.

use crate::arrays::{numbers, wrong};
use crate::series::Filtered;
use driftless::methods::Replayed;
use driftless_core::Reading;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// A series of a filter, whose particles and ancestors are constants.
#[pyclass(module = "driftless_filters")]
pub struct Trace {
    replayed: Replayed,
    shape: [usize; 2],
    is_forward: bool,
}

#[pymethods]
impl Trace {
    /// Of a series that was run with history=True.
    #[new]
    fn new(filtered: &Filtered) -> PyResult<Self> {
        let beliefs = filtered.kept()?;
        let Some(count) = beliefs.first().map(|belief| belief.particles.len()) else {
            return Err(wrong("a series without steps"));
        };
        let resampled = filtered.steps.iter().map(|step| step.resampled).collect();
        let seen = filtered.steps.iter().map(|step| step.reading == Reading::Present).collect();
        let ancestors = filtered.ancestors.clone();
        let replayed = Replayed::new(count, filtered.alpha, ancestors, resampled, seen);
        Ok(Self { replayed, shape: [beliefs.len(), count], is_forward: false })
    }

    /// Log-weights (T, N) and log evidence (T,), for log-likelihoods (T, N).
    fn forward<'py>(
        &mut self,
        py: Python<'py>,
        log_likelihoods: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>)> {
        let values = self.values(log_likelihoods, &self.shape, "log_likelihoods")?;
        py.detach(|| self.replayed.forward(&values));
        self.is_forward = true;
        let weights = PyArray1::from_slice(py, self.replayed.log_weights()).reshape(self.shape)?;
        Ok((weights, PyArray1::from_slice(py, self.replayed.log_evidence())))
    }

    /// The gradient (T, N) by the log-likelihoods of the last `forward`, given a loss's derivatives by log-weights (T, N)
    /// and by the log evidence (T,); None for those it does not depend on.
    #[pyo3(signature = (by_log_weights=None, by_log_evidence=None))]
    fn backward<'py>(
        &self,
        py: Python<'py>,
        by_log_weights: Option<&Bound<'py, PyAny>>,
        by_log_evidence: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        if !self.is_forward {
            return Err(wrong("backward comes after forward"));
        }
        let [steps, count] = self.shape;
        let zeros = |size| Ok(vec![0.0; size]);
        let weights = by_log_weights
            .map_or_else(|| zeros(steps * count), |by| self.values(by, &self.shape, "by_log_weights"))?;
        let evidence = by_log_evidence
            .map_or_else(|| zeros(steps), |by| self.values(by, &[steps], "by_log_evidence"))?;
        if !weights.iter().chain(&evidence).all(|x| x.is_finite()) {
            return Err(wrong("derivatives must be finite"));
        }
        let gradient = py.detach(|| self.replayed.backward(&weights, &evidence));
        PyArray1::from_vec(py, gradient).reshape(self.shape)
    }

    /// Steps and particles.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.shape[0], self.shape[1])
    }
}

impl Trace {
    fn values(&self, any: &Bound<PyAny>, shape: &[usize], name: &str) -> PyResult<Vec<f64>> {
        let array = numbers(any.py(), any)?;
        if array.shape() != shape {
            return Err(wrong(format!("{name} must have the shape {shape:?}, not {:?}", array.shape())));
        }
        Ok(array.readonly().as_array().iter().copied().collect())
    }
}
