//! A caller's Python functions as motion, sensor and resampler. What they raise is kept, and raised once the step is over.

use crate::arrays::{self, Form, wrong};
use driftless_core::motion::Noise;
use driftless_core::sensor::{Reading, Sensor};
use driftless_core::{Draws, Motion, Particles, Resampler, Weights};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::sync::Mutex;

/// `motion(particles, action, noise)`, which returns moved particles.
pub struct OwnMotion<'a, 'py> {
    pub function: &'a Bound<'py, PyAny>,
    pub action: &'a Bound<'py, PyAny>,
    /// Standard normal numbers for each particle.
    pub noise: usize,
    pub form: Form,
    pub raised: Option<PyErr>,
}

impl OwnMotion<'_, '_> {
    fn moved(&self, particles: &mut Particles, noise: &[Vec<f32>]) -> PyResult<()> {
        let py = self.function.py();
        let states = arrays::states(py, particles, self.form)?;
        let form = if self.noise == 1 { self.form } else { Form::Rows };
        let noise = arrays::columns(py, noise, particles.len(), form)?;
        let moved = self.function.call1((states, self.action, noise))?;
        arrays::take_states(py, &moved, self.form, particles, "motion")
    }
}

impl Motion for OwnMotion<'_, '_> {
    fn propagate(&mut self, particles: &mut Particles, draws: &mut dyn Draws, noise: &mut Noise) -> bool {
        let noise = noise.draw(self.noise, particles.len(), draws);
        self.raised = self.moved(particles, noise).err();
        true
    }
}

/// `likelihood(particles, observation)`, which returns log-likelihoods.
pub struct OwnSensor<'a, 'py> {
    pub function: &'a Bound<'py, PyAny>,
    pub observation: &'a Bound<'py, PyAny>,
    pub form: Form,
    /// What was subtracted from all, so that little is lost in 32 bits.
    pub shift: f64,
    pub raised: Option<PyErr>,
}

impl OwnSensor<'_, '_> {
    fn scored(&mut self, particles: &Particles, log: &mut [f32]) -> PyResult<()> {
        let py = self.function.py();
        let states = arrays::states(py, particles, self.form)?;
        let scores = self.function.call1((states, self.observation))?;
        if let Ok(array) = scores.cast::<PyArrayDyn<f32>>() {
            check(array.shape(), log.len())?;
            log.iter_mut().zip(array.readonly().as_array()).for_each(|(log, x)| *log = *x);
        } else {
            let array = arrays::numbers(py, &scores)?;
            check(array.shape(), log.len())?;
            let view = array.readonly();
            let best = view.as_array().iter().copied().filter(|x| !x.is_nan()).fold(f64::MIN, f64::max);
            self.shift = if best > f64::MIN && best.is_finite() { best } else { 0.0 };
            log.iter_mut().zip(view.as_array()).for_each(|(log, x)| *log = (*x - self.shift) as f32);
        }
        match log.iter().position(|x| *x == f32::INFINITY) {
            Some(i) => Err(wrong(format!("likelihood gave +inf for particle {i}; densities are finite"))),
            None => Ok(()),
        }
    }
}

fn check(shape: &[usize], count: usize) -> PyResult<()> {
    if shape == [count] || shape == [count, 1] {
        return Ok(());
    }
    Err(wrong(format!("likelihood must give an array of shape ({count},), not {shape:?}")))
}

impl Sensor for OwnSensor<'_, '_> {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        if self.raised.is_some() || self.observation.is_none() {
            return Reading::Missing;
        }
        self.raised = self.scored(particles, log).err();
        if self.raised.is_some() { Reading::Missing } else { Reading::Present }
    }
}

/// `resampler(weights, count, uniforms)`, which returns ancestors; their descendants have equal weights.
#[derive(Debug)]
pub struct OwnResampler {
    pub function: Py<PyAny>,
    pub raised: Mutex<Option<PyErr>>,
}

impl OwnResampler {
    fn drawn(&self, weights: &Weights, count: usize, draws: &mut dyn Draws) -> PyResult<Vec<u32>> {
        Python::attach(|py| {
            let uniforms: Vec<f64> = (0..count).map(|_| draws.uniform()).collect();
            let arguments =
                (PyArray1::from_slice(py, weights.linear()), count, PyArray1::from_vec(py, uniforms));
            let found = arrays::vector(py, &self.function.bind(py).call1(arguments)?, "resampler")?;
            let size = weights.len() as f64;
            if found.len() != count || found.iter().any(|i| !(*i >= 0.0 && *i < size && i.fract() == 0.0)) {
                return Err(wrong(format!("resampler must give {count} indices of {size} particles")));
            }
            Ok(found.into_iter().map(|i| i as u32).collect())
        })
    }
}

impl Resampler for OwnResampler {
    fn resample(
        &self,
        weights: &mut Weights,
        count: usize,
        draws: &mut dyn Draws,
        ancestors: &mut Vec<u32>,
    ) -> f64 {
        ancestors.clear();
        match self.drawn(weights, count, draws) {
            Ok(found) => ancestors.extend(found),
            Err(raised) => {
                ancestors.extend((0..count as u32).map(|i| i.min(weights.len() as u32 - 1)));
                *self.raised.lock().expect("nobody panics with it") = Some(raised);
            }
        }
        weights.set_uniform(count);
        0.0
    }
}
