//! Motions, sensors and resamplers that are compiled, for models that need no Python function.

use crate::arrays::{matrix, vector, wrong};
use crate::callables::OwnResampler;
use driftless_core::models;
use driftless_core::motion::{self, HeadingNoise};
use driftless_core::pose::Frame;
use driftless_core::resample::{Resampler, Scheme, Soft};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex};

/// s' = A s + B a + offset + N(0, Q), with a the action of a step.
#[pyclass(frozen, from_py_object, module = "driftless_filters")]
#[derive(Clone)]
pub struct LinearMotion {
    pub motion: models::LinearMotion,
    /// B, and how many numbers an action has.
    control: Vec<f64>,
    pub actions: usize,
    offset: Vec<f64>,
}

#[pymethods]
impl LinearMotion {
    #[new]
    #[pyo3(signature = (matrix, covariance, *, control=None, offset=None))]
    fn new(
        py: Python,
        #[pyo3(from_py_with = whole)] matrix: Matrix,
        #[pyo3(from_py_with = whole)] covariance: Matrix,
        control: Option<&Bound<PyAny>>,
        offset: Option<&Bound<PyAny>>,
    ) -> PyResult<Self> {
        let size = matrix.shape[0];
        let offset = offset.map_or(Ok(vec![0.0; size]), |offset| vector(py, offset, "offset"))?;
        let (control, [rows, actions]) = match control {
            Some(control) => crate::arrays::matrix(py, control, "control")?,
            None => (Vec::new(), [size, 0]),
        };
        if offset.len() != size || rows != size || !offset.iter().all(|x| x.is_finite()) {
            return Err(wrong(format!("offset and the rows of control must be {size} finite numbers")));
        }
        let short = |values: &[f64]| values.iter().map(|x| *x as f32).collect::<Vec<_>>();
        let motion = models::LinearMotion::new(short(&matrix.values), short(&offset), &covariance.values)
            .filter(|_| matrix.shape == [size, size] && covariance.shape == [size, size])
            .ok_or_else(|| {
                let [a, q] = [matrix.shape, covariance.shape];
                wrong(format!("matrix {a:?} and covariance {q:?} must be square and of one size, and the covariance symmetric without negative variances"))
            })?;
        Ok(Self { motion, control, actions, offset })
    }
}

impl LinearMotion {
    /// B a + offset; the offset alone without an action.
    pub fn offset(&self, action: Option<&[f64]>) -> impl Iterator<Item = f32> {
        let part = move |(row, offset): (usize, &f64)| {
            let by = action.map_or(0.0, |action| {
                let row = &self.control[row * self.actions..][..self.actions];
                row.iter().zip(action).map(|(b, a)| b * a).sum::<f64>()
            });
            (offset + by) as f32
        };
        self.offset.iter().enumerate().map(part)
    }
}

/// A matrix of an argument.
pub struct Matrix {
    values: Vec<f64>,
    shape: [usize; 2],
}

fn whole(any: &Bound<PyAny>) -> PyResult<Matrix> {
    let (values, shape) = matrix(any.py(), any, "a matrix")?;
    Ok(Matrix { values, shape })
}

/// s' = s + N(0, Q): a linear motion without a matrix.
#[pyfunction]
pub fn random_walk(#[pyo3(from_py_with = whole)] covariance: Matrix) -> PyResult<LinearMotion> {
    let [size, columns] = covariance.shape;
    let motion = models::LinearMotion::random_walk(&covariance.values, size).filter(|_| size == columns);
    let motion = motion.ok_or_else(|| wrong("covariance must be symmetric without negative variances"))?;
    Ok(LinearMotion { motion, control: Vec::new(), actions: 0, offset: vec![0.0; size] })
}

/// Odometry in the plane: states x, y, heading; actions forward, left, turn.
#[pyclass(frozen, from_py_object, module = "driftless_filters")]
#[derive(Clone)]
pub struct Odometry(pub motion::Odometry);

#[pymethods]
impl Odometry {
    #[new]
    #[pyo3(signature = (*, rest=(0.0, 0.0), share=(0.0, 0.0), missing=(0.0, 0.0), frame="robot"))]
    fn new(rest: (f32, f32), share: (f32, f32), missing: (f32, f32), frame: &str) -> PyResult<Self> {
        let frame = match frame {
            "robot" => Frame::Robot,
            "world" => Frame::World,
            _ => return Err(wrong(format!("frame must be \"robot\" or \"world\", not {frame:?}"))),
        };
        let [rest, share, missing] = [rest, share, missing].map(|(a, b)| [a, b]);
        if ![rest, share, missing].iter().flatten().all(|x| (0.0..f32::INFINITY).contains(x)) {
            return Err(wrong("rest, share and missing must be finite and not negative"));
        }
        let heading_noise = HeadingNoise::After;
        Ok(Self(motion::Odometry { frame, rest, share, scale: 0.0, heading_noise, missing }))
    }
}

/// y = C s + N(0, R); numbers of a reading that are NaN are missing.
#[pyclass(frozen, from_py_object, module = "driftless_filters")]
#[derive(Clone)]
pub struct LinearSensor(pub models::LinearSensor);

#[pymethods]
impl LinearSensor {
    #[new]
    fn new(
        #[pyo3(from_py_with = whole)] matrix: Matrix,
        #[pyo3(from_py_with = whole)] covariance: Matrix,
    ) -> PyResult<Self> {
        let [rows, states] = matrix.shape;
        let found = models::LinearSensor::new(matrix.values, covariance.values, states)
            .filter(|_| covariance.shape == [rows, rows]);
        let size = covariance.shape;
        found.map(Self).ok_or_else(|| {
            wrong(format!("matrix [{rows}, {states}] needs a covariance [{rows}, {rows}], symmetric and with noise in all directions; this one is {size:?}"))
        })
    }
}

/// y = scale exp(x / 2) N(0, 1), with x the first coordinate.
#[pyclass(frozen, from_py_object, module = "driftless_filters")]
#[derive(Clone)]
pub struct StochasticVolatility {
    pub scale: f64,
}

#[pymethods]
impl StochasticVolatility {
    #[new]
    #[pyo3(signature = (scale=1.0))]
    fn new(scale: f64) -> PyResult<Self> {
        if scale > 0.0 && scale.is_finite() {
            return Ok(Self { scale });
        }
        Err(wrong(format!("scale must be positive, not {scale}")))
    }
}

/// Soft resampling: ancestors by q = alpha w + (1 - alpha) / N, weights w / q.
#[pyclass(frozen, from_py_object, module = "driftless_filters")]
#[derive(Clone)]
pub struct SoftResampling {
    #[pyo3(get)]
    pub alpha: f64,
    scheme: Scheme,
}

#[pymethods]
impl SoftResampling {
    #[new]
    #[pyo3(signature = (alpha=0.5, scheme="systematic"))]
    fn new(alpha: f64, scheme: &str) -> PyResult<Self> {
        // At 0 a particle without weight could be drawn alone, and nothing would be left.
        if !(alpha > 0.0 && alpha <= 1.0) {
            return Err(wrong(format!("alpha must be above 0 and at most 1, not {alpha}")));
        }
        Ok(Self { alpha, scheme: named(scheme)? })
    }
}

fn named(name: &str) -> PyResult<Scheme> {
    let all = Scheme::ALL.map(Scheme::name).join(", ");
    let found = Scheme::ALL.into_iter().find(|scheme| scheme.name() == name);
    found.ok_or_else(|| wrong(format!("resampler must be one of {all}, not {name:?}")))
}

/// A resampler as a filter has it, α of it if it is soft, and the caller's own if it is one.
pub struct Chosen {
    pub resampler: Arc<dyn Resampler>,
    /// 1 where gradients end at a resampling.
    pub alpha: f64,
    pub own: Option<Arc<OwnResampler>>,
}

impl Chosen {
    /// By name, as an object, or a function.
    pub fn of(any: &Bound<PyAny>) -> PyResult<Self> {
        if let Ok(name) = any.extract::<String>() {
            return Ok(Self { resampler: Arc::new(named(&name)?), alpha: 1.0, own: None });
        }
        if let Ok(soft) = any.extract::<SoftResampling>() {
            let SoftResampling { alpha, scheme } = soft;
            return Ok(Self { resampler: Arc::new(Soft { alpha, scheme }), alpha, own: None });
        }
        if !any.is_callable() {
            return Err(wrong("resampler must be a name, SoftResampling or a function"));
        }
        let own = Arc::new(OwnResampler { function: any.clone().unbind(), raised: Mutex::new(None) });
        Ok(Self { resampler: own.clone(), alpha: 1.0, own: Some(own) })
    }
}
