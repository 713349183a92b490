//! Between numpy's arrays and the library's columns. States are float32 inside; whatever comes in is converted.

use driftless_core::{Particles, Space};
use numpy::ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewD, Axis, Ix1, Ix2};
use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Whether a caller's states are rows, or single numbers in an array of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Shape (N,).
    Flat,
    /// Shape (N, d).
    Rows,
}

/// A wrong argument, in words.
pub fn wrong(words: impl Into<String>) -> PyErr {
    PyValueError::new_err(words.into())
}

/// Any array-like object as numbers of 64 bits.
pub fn numbers<'py>(py: Python<'py>, any: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if let Ok(array) = any.cast::<PyArrayDyn<f64>>() {
        return Ok(array.clone());
    }
    let make = || Ok::<_, PyErr>(py.import("numpy")?.getattr("asarray")?.unbind());
    let array = AS_ARRAY.get_or_try_init(py, make)?.bind(py).call1((any, "float64"))?;
    Ok(array.cast_into::<PyArrayDyn<f64>>()?)
}

/// A matrix row after row with its shape; a number is a matrix of one, a vector one row.
pub fn matrix(py: Python, any: &Bound<PyAny>, name: &str) -> PyResult<(Vec<f64>, [usize; 2])> {
    let array = numbers(py, any)?;
    let view = array.readonly();
    let shape = match view.shape() {
        [] => [1, 1],
        &[columns] => [1, columns],
        &[rows, columns] => [rows, columns],
        more => return Err(wrong(format!("{name} must be a matrix, not an array of shape {more:?}"))),
    };
    let values: Vec<f64> = view.as_array().iter().copied().collect();
    match values.iter().all(|x| x.is_finite()) {
        true => Ok((values, shape)),
        false => Err(wrong(format!("{name} has numbers that are not finite"))),
    }
}

/// A vector; a number is a vector of one.
pub fn vector(py: Python, any: &Bound<PyAny>, name: &str) -> PyResult<Vec<f64>> {
    let array = numbers(py, any)?;
    if array.ndim() > 1 {
        return Err(wrong(format!("{name} must be a vector, not an array of shape {:?}", array.shape())));
    }
    Ok(array.readonly().as_array().iter().copied().collect())
}

/// First states, and the form that callables shall have them in.
pub fn first_states(py: Python, any: &Bound<PyAny>, angles: &[usize]) -> PyResult<(Particles, Form)> {
    let array = numbers(py, any)?;
    let (form, dimension) = match array.shape() {
        [_] => (Form::Flat, 1),
        &[_, dimension] => (Form::Rows, dimension),
        shape => return Err(wrong(format!("initial must have the shape (N,) or (N, d), not {shape:?}"))),
    };
    if dimension == 0 || dimension > 64 {
        return Err(wrong(format!("states must have 1 to 64 coordinates, not {dimension}")));
    }
    if let Some(k) = angles.iter().find(|k| **k >= dimension) {
        return Err(wrong(format!("angles: there is no coordinate {k} in states of {dimension}")));
    }
    let space = angles.iter().fold(Space::linear(dimension), |space, &k| space.with_angle(k));
    let mut particles = Particles::new(space);
    particles.columns_mut().iter_mut().for_each(|column| column.resize(array.shape()[0], 0.0));
    if particles.is_empty() {
        return Err(wrong("initial has no particles"));
    }
    take_states(py, any, form, &mut particles, "initial")?;
    Ok((particles, form))
}

/// Writes states over those there are: as many, all finite.
pub fn take_states(
    py: Python,
    any: &Bound<PyAny>,
    form: Form,
    particles: &mut Particles,
    name: &str,
) -> PyResult<()> {
    let (count, dimension) = (particles.len(), particles.space().dimension());
    let shape = if form == Form::Flat { vec![count] } else { vec![count, dimension] };
    if let Ok(array) = any.cast::<PyArrayDyn<f32>>() {
        check_shape(array.shape(), &shape, name)?;
        return copy_states(array.readonly().as_array(), form, particles, name, |x| x);
    }
    let array = numbers(py, any)?;
    check_shape(array.shape(), &shape, name)?;
    copy_states(array.readonly().as_array(), form, particles, name, |x| x as f32)
}

fn check_shape(found: &[usize], wanted: &[usize], name: &str) -> PyResult<()> {
    if found == wanted {
        return Ok(());
    }
    Err(wrong(format!("{name} must give an array of shape {wanted:?}, not {found:?}")))
}

fn copy_states<T: Copy>(
    view: ArrayViewD<T>,
    form: Form,
    particles: &mut Particles,
    name: &str,
    short: impl Fn(T) -> f32,
) -> PyResult<()> {
    let rows: ArrayView2<T> = match form {
        Form::Flat => view.into_dimensionality::<Ix1>().expect("a checked shape").insert_axis(Axis(1)),
        Form::Rows => view.into_dimensionality::<Ix2>().expect("a checked shape"),
    };
    for (k, column) in particles.columns_mut().iter_mut().enumerate() {
        copy_column(rows.column(k), column, &short);
        // x - x is 0 for finite numbers: a sum that the compiler can vectorise.
        if column.iter().map(|x| x - x).sum::<f32>() != 0.0 {
            let bad = column.iter().position(|x| !x.is_finite()).unwrap_or(0);
            return Err(wrong(format!(
                "{name} gave a state that is not finite: particle {bad}, coordinate {k}"
            )));
        }
    }
    Ok(())
}

fn copy_column<T: Copy>(from: ArrayView1<T>, to: &mut [f32], short: impl Fn(T) -> f32) {
    match from.as_slice() {
        Some(from) => to.iter_mut().zip(from).for_each(|(to, x)| *to = short(*x)),
        None => to.iter_mut().zip(from).for_each(|(to, x)| *to = short(*x)),
    }
}

/// Particles as an array of the caller's form: a copy, as the filter moves its own in place.
pub fn states<'py>(py: Python<'py>, particles: &Particles, form: Form) -> PyResult<Bound<'py, PyAny>> {
    columns(py, particles.columns(), particles.len(), form)
}

/// Columns of equal length as one array of shape (N, d) whose columns are contiguous, or of shape (N,).
pub fn columns<'py>(
    py: Python<'py>,
    columns: &[Vec<f32>],
    count: usize,
    form: Form,
) -> PyResult<Bound<'py, PyAny>> {
    if form == Form::Flat && columns.len() == 1 {
        return Ok(PyArray1::from_slice(py, &columns[0]).into_any());
    }
    let mut all = Vec::with_capacity(columns.len() * count);
    columns.iter().for_each(|column| all.extend_from_slice(&column[..count]));
    let array = Array2::from_shape_vec((columns.len(), count), all).expect("as many as the shape says");
    Ok(PyArray2::from_owned_array(py, array).call_method0("transpose")?)
}

/// A vector of numbers, or one number for flat states.
pub fn state<'py>(py: Python<'py>, values: &[f64], form: Form) -> PyResult<Bound<'py, PyAny>> {
    match form {
        Form::Flat => Ok(values[0].into_pyobject(py)?.into_any()),
        Form::Rows => Ok(PyArray1::from_slice(py, values).into_any()),
    }
}

/// A square matrix, or one number for flat states.
pub fn square<'py>(py: Python<'py>, values: Vec<f64>, form: Form) -> PyResult<Bound<'py, PyAny>> {
    let size = values.len().isqrt();
    match form {
        Form::Flat => Ok(values[0].into_pyobject(py)?.into_any()),
        Form::Rows => {
            let matrix = Array2::from_shape_vec((size, size), values).expect("a square");
            Ok(PyArray2::from_owned_array(py, matrix).into_any())
        }
    }
}
