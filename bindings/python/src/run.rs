//! A trained run: opened, put to use step by step, and evaluated.

use crate::arrays::{vector, wrong};
use crate::errors::failed;
use crate::smooth::SmoothedPath;
use driftless::learn::{Detail, Experiment, HANDFUL, Purpose, Recordings, SensorSettings, Tracking, Trained};
use driftless::methods::build;
use driftless::online::{Estimate, Frame, Place, Start, Step};
use driftless_cli::SmoothedLog;
use driftless_world::{About, Evaluation, files::Fingerprint};
use numpy::ndarray::Array2;
use numpy::{PyArray1, PyArray2, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Mutex;

/// The best weights of a run's folder.
#[pyclass(frozen, module = "driftless_filters")]
pub struct Run {
    trained: Mutex<Trained>,
    #[pyo3(get)]
    path: PathBuf,
}

/// Opens a run's folder, as `train` writes it.
#[pyfunction]
pub fn open_run(py: Python, path: PathBuf) -> PyResult<Run> {
    let trained = py.detach(|| Trained::open(&path, &build)).map_err(failed)?;
    Ok(Run { trained: Mutex::new(trained), path })
}

impl Run {
    fn with<T: Send>(&self, py: Python, work: impl FnOnce(&Trained) -> T + Send) -> T {
        py.detach(|| work(&self.trained.lock().expect("nobody panics with it")))
    }
}

#[pymethods]
impl Run {
    /// A tracker of one robot, which starts anywhere, or about a pose with these standard deviations.
    #[pyo3(signature = (*, pose=None, spread=[0.0; 3], particles=None, seed=0, episode=0))]
    fn tracker(
        &self,
        py: Python,
        pose: Option<[f64; 3]>,
        spread: [f64; 3],
        particles: Option<usize>,
        seed: u64,
        episode: u64,
    ) -> PyResult<Tracker> {
        let place = pose.map_or(Place::Anywhere, |pose| Place::About { pose, spread });
        let start = Start { particles, seed, episode, place };
        let tracker = self.with(py, |run| driftless::online::Tracker::new(run, start)).map_err(failed)?;
        let sensors = self.with(py, |run| run.config.experiment.sensor.clone());
        Ok(Tracker { tracker: Mutex::new(tracker), sensors })
    }

    /// Settings of the run, as in its config.toml.
    #[getter]
    fn config(&self, py: Python) -> PyResult<String> {
        self.with(py, |run| run.config.to_toml()).map_err(failed)
    }

    /// Weights by name.
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        crate::weights::dictionary(py, &self.with(py, |run| run.method.parameters()))
    }

    /// Where the robots of recordings were, after the fact: of a file, or of episodes.
    #[pyo3(signature = (data, *, paths=100, with_poses=false, particles=None, start=None, seed=1, episodes=None, steps_per_episode=None))]
    #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn smooth(
        &self,
        py: Python,
        data: &Bound<PyAny>,
        paths: usize,
        with_poses: bool,
        particles: Option<u32>,
        start: Option<&Bound<PyAny>>,
        seed: u64,
        episodes: Option<u32>,
        steps_per_episode: Option<usize>,
    ) -> PyResult<Vec<SmoothedPath>> {
        let start = start.map(crate::smooth::start).transpose()?;
        let wanted = |data: PathBuf| SmoothedLog {
            data,
            paths,
            with_poses,
            start,
            particles,
            seed,
            episodes,
            steps_per_episode,
        };
        crate::smooth::with_file(py, data, |data| {
            self.with(py, |run| wanted(data).episodes(run)).map_err(wrong)
        })
        .map(|found| found.into_iter().map(|found| SmoothedPath::new(found, paths > 0)).collect())
    }

    /// What an evaluation says, as the text of an evaluation.json.
    #[pyo3(signature = (data, *, particles=None, episodes=None, seed=0, settings=Vec::new(), steps_per_episode=None))]
    #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn evaluation(
        &self,
        py: Python,
        data: PathBuf,
        particles: Option<usize>,
        episodes: Option<usize>,
        seed: u64,
        settings: Vec<String>,
        steps_per_episode: Option<usize>,
    ) -> PyResult<String> {
        let wanted = Wanted { data, particles, episodes, seed, settings, steps: steps_per_episode };
        Ok(self.with(py, |run| wanted.evaluated(run)).map_err(failed)?.to_json())
    }
}

struct Wanted {
    data: PathBuf,
    particles: Option<usize>,
    episodes: Option<usize>,
    seed: u64,
    settings: Vec<String>,
    steps: Option<usize>,
}

impl Wanted {
    /// As `driftless evaluate` does it.
    fn evaluated(&self, run: &Trained) -> driftless::Result<Evaluation> {
        let experiment = run.config.experiment.with(&self.settings)?;
        let particles = self.particles.unwrap_or(experiment.particles);
        let recordings =
            Recordings::open(&self.data, self.steps, &experiment, self.seed, Purpose::Evaluation)?;
        let [height, width, _] = run.config.data.image;
        recordings.check(None, [height, width], "the run learned from images")?;
        let count = self.episodes.unwrap_or(usize::MAX).min(recordings.len());
        let how = Tracking { particles, seed: self.seed, detail: Detail::Densities };
        let mut tracks = Vec::with_capacity(count);
        for first in (0..count).step_by(HANDFUL) {
            tracks.extend(run.follow(&recordings, first..count.min(first + HANDFUL), how)?);
        }
        let has_particles = tracks.iter().any(|track| track.effective_sample_size.is_some());
        let about = self.about(&experiment, &recordings, if has_particles { particles } else { 0 })?;
        Ok(run.normalisation.evaluation(about, recordings.thresholds(), &tracks)?)
    }

    fn about(
        &self,
        experiment: &Experiment,
        recordings: &Recordings,
        particles: usize,
    ) -> driftless::Result<About> {
        Ok(About {
            method: experiment.method.id.to_owned(),
            label: experiment.label().to_owned(),
            world: recordings.world()?,
            label_fraction: experiment.label_fraction,
            seed: experiment.seed,
            particles,
            odometry_noise: experiment.odometry_noise,
            data: self.data.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            data_fingerprint: Fingerprint::of_file(&self.data)?,
            unit: recordings.unit().to_owned(),
        })
    }
}

/// A trained filter on one robot.
#[pyclass(frozen, module = "driftless_filters")]
pub struct Tracker {
    tracker: Mutex<driftless::online::Tracker>,
    sensors: Vec<SensorSettings>,
}

#[pymethods]
impl Tracker {
    /// One step. Sensors are given by their names, or all of them as `readings`; what is not given is missing.
    #[pyo3(signature = (*, image=None, odometry=None, time=None, readings=None, **sensors))]
    fn step(
        &self,
        py: Python,
        image: Option<PyReadonlyArray3<u8>>,
        odometry: Option<[f64; 3]>,
        time: Option<f64>,
        readings: Option<&Bound<PyAny>>,
        sensors: Option<&Bound<PyDict>>,
    ) -> PyResult<Tracked> {
        let readings = self.readings(py, readings, sensors)?;
        let pixels = image.as_ref().map(|image| {
            let &[height, width, channels] = image.shape() else { unreachable!("three axes") };
            ([height, width, channels], image.as_array().iter().copied().collect::<Vec<u8>>())
        });
        py.detach(|| {
            let mut tracker = self.tracker.lock().expect("nobody panics with it");
            let image = pixels.as_ref().map(|(size, pixels)| Frame { size: *size, pixels });
            let estimate =
                tracker.step(Step { readings: readings.as_deref(), image, odometry, change: None, time })?;
            Ok(Tracked { estimate })
        })
        .map_err(failed)
    }

    /// Particles after the last step: (N, 3). A copy, as the next step moves them in place.
    #[getter]
    fn particles<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let tracker = self.tracker.lock().expect("nobody panics with it");
        let states = |belief: &driftless_core::Belief| {
            crate::arrays::states(py, &belief.particles, crate::arrays::Form::Rows)
        };
        tracker.belief().map(states).transpose()
    }

    /// Their weights.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f32>>> {
        let tracker = self.tracker.lock().expect("nobody panics with it");
        tracker.belief().map(|belief| PyArray1::from_slice(py, belief.weights.linear()))
    }
}

impl Tracker {
    /// All numbers of a step, NaN for sensors that are silent.
    fn readings(
        &self,
        py: Python,
        all: Option<&Bound<PyAny>>,
        named: Option<&Bound<PyDict>>,
    ) -> PyResult<Option<Vec<f32>>> {
        let short = |values: Vec<f64>| values.into_iter().map(|x| x as f32);
        let Some(named) = named.filter(|named| !named.is_empty()) else {
            return all.map(|all| Ok(short(vector(py, all, "readings")?).collect())).transpose();
        };
        let size = self.tracker.lock().expect("nobody panics with it").readings();
        let mut readings = vec![f32::NAN; size];
        for (name, values) in named {
            let name: String = name.extract()?;
            let Some(sensor) = self.sensors.iter().find(|sensor| sensor.name == name) else {
                let all: Vec<&str> = self.sensors.iter().map(|sensor| sensor.name.as_str()).collect();
                return Err(wrong(format!("the run has no sensor {name:?}; it has {}", all.join(", "))));
            };
            let values = vector(py, &values, &name)?;
            let own = sensor.columns[0]..sensor.columns[1].min(size);
            if values.len() != own.len() {
                return Err(wrong(format!("{name} has {} numbers, {} are wanted", values.len(), own.len())));
            }
            readings[own].iter_mut().zip(short(values)).for_each(|(to, x)| *to = x);
        }
        Ok(Some(readings))
    }
}

/// Where a robot is believed to be.
#[pyclass(frozen, module = "driftless_filters")]
pub struct Tracked {
    estimate: Estimate,
}

#[pymethods]
impl Tracked {
    /// x, y and heading.
    #[getter]
    fn pose<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let pose = self.estimate.pose;
        PyArray1::from_slice(py, &[pose.x, pose.y, pose.heading])
    }

    /// Of x, y and heading; NaN where the method does not know it.
    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let rows = Array2::from_shape_fn((3, 3), |(row, column)| self.estimate.covariance[row][column]);
        PyArray2::from_owned_array(py, rows)
    }

    #[getter]
    fn effective_sample_size(&self) -> f64 {
        self.estimate.effective_sample_size
    }

    /// The probability that the robot is anywhere else, or None.
    #[getter]
    fn kidnapped(&self) -> Option<f64> {
        self.estimate.lost
    }

    #[getter]
    fn collapsed(&self) -> bool {
        self.estimate.collapsed
    }

    #[getter]
    fn seen(&self) -> bool {
        self.estimate.saw
    }

    #[getter]
    fn moved(&self) -> bool {
        self.estimate.moved
    }

    fn __repr__(&self) -> String {
        let (pose, covariance) = (self.estimate.pose, self.estimate.covariance);
        let [x, y, heading] = [0, 1, 2].map(|k| covariance[k][k].sqrt());
        format!(
            "Tracked(x={:.3} ± {x:.3}, y={:.3} ± {y:.3}, heading={:.3} ± {heading:.3})",
            pose.x, pose.y, pose.heading
        )
    }
}
