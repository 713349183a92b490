//! Weights by name, as dictionaries of arrays.

use crate::arrays::numbers;
use crate::errors::failed;
use driftless::parameters::Named;
use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// What files of weights say of themselves.
const KIND: &str = "weights";

/// Arrays by name, of 32 bits.
pub fn dictionary<'py>(py: Python<'py>, all: &[Named]) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for Named { name, shape, values, .. } in all {
        let values: Vec<f32> = values.iter().map(|x| *x as f32).collect();
        found.set_item(name, PyArray1::from_vec(py, values).reshape(shape.clone())?)?;
    }
    Ok(found)
}

/// The weights in a file.
#[pyfunction]
pub fn read_weights(py: Python, path: PathBuf) -> PyResult<Bound<PyDict>> {
    dictionary(py, &driftless::weights::read(path, KIND).map_err(failed)?)
}

/// Writes weights, such as the best.safetensors of a run.
#[pyfunction]
pub fn write_weights(py: Python, path: PathBuf, weights: &Bound<PyDict>) -> PyResult<()> {
    let mut all = Vec::new();
    for (name, values) in weights {
        let array = numbers(py, &values)?;
        let values: Vec<f32> = array.readonly().as_array().iter().map(|x| *x as f32).collect();
        all.push(Named::singles(name.extract()?, array.shape(), values));
    }
    driftless::weights::write(path, KIND, &all).map_err(failed)
}
