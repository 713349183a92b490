//! Episodes: what a robot saw and did, and where it was, as arrays.

use crate::arrays::{numbers, wrong};
use crate::errors::raised;
use driftless_world::files::log::LogWriter;
use driftless_world::files::zip::Method;
use driftless_world::files::{Format, Overwrite, ReadOptions};
use driftless_world::trajectory::{Camera, Images, Labels, Observations, Pixels, Rows, Trajectory};

use numpy::ndarray::Array4;
use numpy::{PyArray1, PyArray2, PyArray4, PyArrayMethods, PyReadonlyArray4, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// One episode of T steps. Action t leads into step t.
#[pyclass(frozen, from_py_object, module = "driftless_filters")]
#[derive(Clone)]
pub struct Episode {
    pub trajectory: Trajectory,
}

fn rows(any: &Bound<PyAny>, name: &str) -> PyResult<Rows> {
    let array = numbers(any.py(), any)?;
    let &[_, width] = array.shape() else {
        return Err(wrong(format!("{name} must have the shape (T, numbers), not {:?}", array.shape())));
    };
    let values = array.readonly().as_array().iter().map(|x| *x as f32).collect();
    Rows::new(width, values).map_err(|error| wrong(format!("{name}: {error}")))
}

fn images(array: &PyReadonlyArray4<u8>) -> Images {
    let &[_, height, width, channels] = array.shape() else { unreachable!("four axes") };
    Images { height, width, channels, pixels: Pixels::Bytes(array.as_array().iter().copied().collect()) }
}

#[pymethods]
impl Episode {
    #[new]
    #[pyo3(signature = (*, actions, readings=None, images=None, states=None, times=None))]
    fn new(
        actions: &Bound<PyAny>,
        readings: Option<&Bound<PyAny>>,
        images: Option<PyReadonlyArray4<u8>>,
        states: Option<&Bound<PyAny>>,
        times: Option<Vec<f64>>,
    ) -> PyResult<Self> {
        let (actions, seen) = (rows(actions, "actions")?, images.map(|array| self::images(&array)));
        let (observations, camera) = match (readings, seen) {
            (Some(readings), None) => (Observations::Vectors(rows(readings, "readings")?), None),
            (Some(readings), Some(images)) => {
                let known = vec![true; images.len()];
                (Observations::Vectors(rows(readings, "readings")?), Some(Camera { images, known }))
            }
            (None, Some(images)) => (Observations::Images(images), None),
            (None, None) => return Err(wrong("an episode needs readings or images")),
        };
        let steps = observations.len();
        let states = match states {
            Some(states) => labels(&rows(states, "states")?),
            None => labels(&Rows::new(3, vec![f32::NAN; 3 * steps]).map_err(|e| wrong(e.to_string()))?),
        };
        let others = [times.as_ref().map(Vec::len), camera.as_ref().map(|camera| camera.known.len())];
        if others.into_iter().flatten().any(|length| length != steps) {
            return Err(wrong(format!("times and images must have as many steps as readings: {steps}")));
        }
        let trajectory = Trajectory::new(observations, actions, states).map_err(|e| wrong(e.to_string()))?;
        Ok(Self { trajectory: Trajectory { times, camera, ..trajectory } })
    }

    /// Readings of sensors: (T, numbers), or None.
    #[getter]
    fn readings<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f32>>>> {
        match &self.trajectory.observations {
            Observations::Vectors(rows) => table(py, rows.values(), rows.width()).map(Some),
            Observations::Images(_) => Ok(None),
        }
    }

    /// Images: (T, height, width, channels), or None; bytes, or float32 where a file has numbers.
    #[getter]
    fn images<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let images = match (&self.trajectory.observations, &self.trajectory.camera) {
            (Observations::Images(images), _) => images,
            (_, Some(camera)) => &camera.images,
            _ => return None,
        };
        let Images { height, width, channels, pixels } = images;
        let shape = (images.len(), *height, *width, *channels);
        Some(match pixels {
            Pixels::Bytes(bytes) => {
                PyArray4::from_owned_array(py, Array4::from_shape_vec(shape, bytes.clone()).ok()?).into_any()
            }
            Pixels::Floats(values) => {
                PyArray4::from_owned_array(py, Array4::from_shape_vec(shape, values.clone()).ok()?).into_any()
            }
        })
    }

    /// Odometry into each step: (T, 3).
    #[getter]
    fn actions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        table(py, self.trajectory.actions.values(), self.trajectory.actions.width())
    }

    /// True states, NaN where they are not known: (T, d).
    #[getter]
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (states, width) = (&self.trajectory.states, self.trajectory.states.width());
        let row = |state: Option<&[f32]>| state.map_or_else(|| vec![f32::NAN; width], <[f32]>::to_vec);
        table(py, &states.iter().flat_map(row).collect::<Vec<_>>(), width)
    }

    /// Seconds at each step, or None.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.trajectory.times.as_ref().map(|times| PyArray1::from_slice(py, times))
    }

    fn __len__(&self) -> usize {
        self.trajectory.len()
    }
}

fn table<'py>(py: Python<'py>, values: &[f32], width: usize) -> PyResult<Bound<'py, PyArray2<f32>>> {
    PyArray1::from_slice(py, values).reshape([values.len().checked_div(width).unwrap_or(0), width])
}

/// A row with a number that is NaN is not known.
fn labels(rows: &Rows) -> Labels {
    let mut labels = Labels::new(rows.width());
    for t in 0..rows.len() {
        labels.push(Some(rows.row(t)).filter(|row| row.iter().all(|x| x.is_finite())));
    }
    labels
}

/// Episodes of a file that the command reads: DPF's npz, a plain log, csv or PF-net's records.
#[pyfunction]
#[pyo3(signature = (path, *, steps_per_episode=None, episodes=None))]
pub fn load(
    py: Python,
    path: PathBuf,
    steps_per_episode: Option<usize>,
    episodes: Option<usize>,
) -> PyResult<Vec<Episode>> {
    let read = || read(&path, steps_per_episode, episodes.unwrap_or(usize::MAX));
    let found = py.detach(read).map_err(raised)?;
    Ok(found.into_iter().map(|trajectory| Episode { trajectory }).collect())
}

fn read(path: &Path, steps: Option<usize>, most: usize) -> driftless_world::Result<Vec<Trajectory>> {
    let options = ReadOptions { steps_per_episode: steps, ..ReadOptions::default() };
    let file = Format::of(path)?.open(path, &options)?;
    (0..file.len().min(most)).map(|index| file.get(index)).collect()
}

/// Writes episodes as a plain log.
#[pyfunction]
#[pyo3(signature = (path, episodes, *, beam_angles=None, replace=false))]
pub fn save(
    py: Python,
    path: PathBuf,
    episodes: Vec<Episode>,
    beam_angles: Option<Vec<f64>>,
    replace: bool,
) -> PyResult<()> {
    let overwrite = if replace { Overwrite::Replace } else { Overwrite::Refuse };
    let write = || {
        let mut writer = LogWriter::create(&path, overwrite, Method::Stored, "")?;
        if let Some(angles) = beam_angles {
            writer = writer.with_beam_angles(angles);
        }
        episodes.iter().try_for_each(|episode| writer.push(&episode.trajectory))?;
        writer.finish()
    };
    py.detach(write).map_err(raised)
}
