//! `ParticleFilter`: the library's filter with a model of the caller's.

use crate::arrays::{self, Form, wrong};
use crate::model::{Compiled, Moves, Running, Sees, own_step};
use crate::pieces::Chosen;
use crate::series::{self, Filtered, Kept};
use driftless_core::filter::{Population, Tempering};
use driftless_core::{Belief, Filter, FilterState, Reading, StepReport, Stream, Workspace};
use numpy::PyArray1;
use pyo3::prelude::*;

/// A particle filter of a model of your own.
#[pyclass(module = "driftless_filters")]
pub struct ParticleFilter {
    moves: Moves,
    sees: Sees,
    chosen: Chosen,
    pub running: Running,
    /// The belief before a step, put back where a function raises.
    before: Option<(FilterState, Stream)>,
    pub form: Form,
    noise: usize,
    tempering: f32,
    log_evidence: f64,
}

/// What a step came to.
#[pyclass(frozen, get_all, module = "driftless_filters")]
pub struct Step {
    log_evidence: f64,
    collapsed: bool,
    seen: bool,
    moved: bool,
    resampled: bool,
}

#[pymethods]
impl Step {
    fn __repr__(&self) -> String {
        let Self { log_evidence, collapsed, seen, moved, resampled } = self;
        let word = |x: &bool| if *x { "True" } else { "False" };
        let [collapsed, seen, moved, resampled] = [collapsed, seen, moved, resampled].map(word);
        format!(
            "Step(log_evidence={log_evidence:.6}, collapsed={collapsed}, seen={seen}, moved={moved}, \
             resampled={resampled})"
        )
    }
}

#[pymethods]
impl ParticleFilter {
    #[new]
    #[pyo3(signature = (motion, likelihood, resampler=None, *, initial, angles=Vec::new(), resample_below=0.5,
        noise=None, tempering=1.0, seed=0))]
    #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn new(
        motion: &Bound<PyAny>,
        likelihood: &Bound<PyAny>,
        resampler: Option<&Bound<PyAny>>,
        initial: &Bound<PyAny>,
        angles: Vec<usize>,
        resample_below: f64,
        noise: Option<usize>,
        tempering: f32,
        seed: u64,
    ) -> PyResult<Self> {
        let py = motion.py();
        let (particles, form) = arrays::first_states(py, initial, &angles)?;
        let (count, space) = (particles.len(), particles.space());
        if !(resample_below >= 0.0) || !(tempering > 0.0 && tempering.is_finite()) {
            return Err(wrong("resample_below must not be negative, and tempering a positive number"));
        }
        let chosen = Chosen::of(resampler.unwrap_or(pyo3::types::PyString::new(py, "systematic").as_any()))?;
        let filter = Filter {
            resampler: chosen.resampler.clone(),
            resample_below,
            population: Population::fixed(count),
            tempering: Tempering::constant(tempering),
            recovery: None,
        };
        let state = FilterState::new(Belief::new(particles));
        let (draws, workspace) = (Stream::new(seed, 0), Workspace::new(space));
        let moves = Moves::of(motion, space.dimension())?;
        let sees = Sees::of(likelihood, space.dimension())?;
        Ok(Self {
            running: Running { filter, state, draws, workspace, steps: 0 },
            before: None,
            noise: noise.unwrap_or(space.dimension()),
            log_evidence: 0.0,
            moves,
            sees,
            chosen,
            form,
            tempering,
        })
    }

    /// Moves by an action, unless this is the first step, and reweights by an observation, unless it is None.
    #[pyo3(signature = (observation=None, action=None))]
    fn step(
        &mut self,
        py: Python,
        observation: Option<&Bound<PyAny>>,
        action: Option<&Bound<PyAny>>,
    ) -> PyResult<Step> {
        let none = py.None().into_bound(py);
        let report = self.one_step(py, action.unwrap_or(&none), observation.unwrap_or(&none))?;
        Ok(Step {
            log_evidence: report.log_evidence,
            collapsed: report.collapsed,
            seen: report.reading == Reading::Present,
            moved: report.moved,
            resampled: report.resampled,
        })
    }

    /// Steps through a series of observations.
    #[pyo3(signature = (observations, actions=None, *, covariance=false, history=false))]
    fn run(
        &mut self,
        observations: &Bound<PyAny>,
        actions: Option<&Bound<PyAny>>,
        covariance: bool,
        history: bool,
    ) -> PyResult<Filtered> {
        series::run(self, observations, actions, Kept { covariance, history })
    }

    /// Weighted mean of the particles; of angles, the direction of the mean.
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrays::state(py, &self.belief().mean(), self.form)
    }

    /// Weighted covariance around the mean.
    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrays::square(py, self.belief().covariance(), self.form)
    }

    /// Particles, in the form of `initial`: a copy, as the next step moves them in place.
    #[getter]
    fn particles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrays::states(py, &self.belief().particles, self.form)
    }

    /// Weights, which sum to 1.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        PyArray1::from_slice(py, self.belief().weights.linear())
    }

    /// Which particle before the last step each one descends from.
    #[getter]
    fn ancestors<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, &self.running.workspace.ancestors)
    }

    /// 1 / Σ w².
    #[getter]
    fn effective_sample_size(&self) -> f64 {
        self.belief().weights.effective_sample_size()
    }

    /// log p of all observations so far; those that no particle could explain count -1e30 each.
    #[getter]
    fn log_evidence(&self) -> f64 {
        self.log_evidence
    }

    /// Steps so far.
    #[getter]
    fn steps(&self) -> usize {
        self.running.steps
    }
}

impl ParticleFilter {
    pub fn belief(&self) -> &Belief {
        &self.running.state.belief
    }

    /// α of soft resampling, 1 for others.
    pub fn alpha(&self) -> f64 {
        self.chosen.alpha
    }

    pub fn dimension(&self) -> usize {
        self.belief().space().dimension()
    }

    /// Whether no Python function is needed.
    pub fn is_compiled(&self) -> bool {
        !matches!(self.moves, Moves::Own(_))
            && !matches!(self.sees, Sees::Own(_))
            && self.chosen.own.is_none()
    }

    /// Numbers of an action and an observation for compiled steps.
    pub fn numbers(&self, action: &Bound<PyAny>, observation: &Bound<PyAny>) -> PyResult<Numbers> {
        Ok(Numbers { action: self.moves.action(action)?, reading: self.sees.reading(observation)? })
    }

    /// A step without Python.
    pub fn compiled_step(&mut self, numbers: &Numbers) -> StepReport {
        let mut sensor = Compiled::of(&self.sees, numbers.reading.as_deref());
        let report = self.moves.step(&mut self.running, numbers.action.as_deref(), &mut sensor);
        self.log_evidence += report.log_evidence;
        report
    }

    /// A step; one that raises changes nothing.
    pub fn one_step(
        &mut self,
        py: Python,
        action: &Bound<PyAny>,
        observation: &Bound<PyAny>,
    ) -> PyResult<StepReport> {
        if self.is_compiled() {
            let numbers = self.numbers(action, observation)?;
            return Ok(py.detach(|| self.compiled_step(&numbers)));
        }
        self.remember();
        let model = (&mut self.moves, &self.sees);
        let found = own_step(model, &mut self.running, (action, observation), (self.noise, self.form));
        let drawn = self.chosen.own.as_ref().and_then(|own| own.raised.lock().ok()?.take());
        match drawn.map_or(found, Err) {
            Ok((mut report, shift)) => {
                if report.reading == Reading::Present && !report.collapsed {
                    report.log_evidence += f64::from(self.tempering) * shift;
                }
                self.log_evidence += report.log_evidence;
                Ok(report)
            }
            Err(raised) => {
                self.forget();
                Err(raised)
            }
        }
    }

    fn remember(&mut self) {
        let Running { state, draws, .. } = &self.running;
        match &mut self.before {
            Some((before, drawn)) => {
                // In memory that is there already.
                before.belief.particles.clone_from(&state.belief.particles);
                before.belief.weights.clone_from(&state.belief.weights);
                drawn.clone_from(draws);
            }
            None => self.before = Some((state.clone(), draws.clone())),
        }
    }

    fn forget(&mut self) {
        let Running { state, draws, steps, .. } = &mut self.running;
        if let Some((before, drawn)) = &self.before {
            (*state, *draws) = (before.clone(), drawn.clone());
            *steps -= 1;
        }
    }
}

/// What compiled pieces are given at a step.
pub struct Numbers {
    pub action: Option<Vec<f64>>,
    pub reading: Option<Vec<f64>>,
}
