//! The compiled half of the Python package `driftless_filters`.

#![allow(missing_docs, reason = "what Python sees is documented in the package's .pyi")]

mod arrays;
mod bridge;
mod callables;
mod episode;
mod errors;
mod filter;
mod model;
mod pieces;
mod run;
mod series;
mod simulate;
mod smooth;
mod training;
mod weights;

use pyo3::prelude::*;
use std::ffi::OsString;
use std::process::ExitCode;

/// The command `driftless`, with these arguments behind its name; its exit code.
#[pyfunction]
fn command(py: Python, arguments: Vec<OsString>) -> u8 {
    let arguments = std::iter::once(OsString::from("driftless")).chain(arguments);
    let code = py.detach(|| driftless_cli::command(arguments));
    // A code tells its number to the system alone.
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(1)
}

#[pymodule]
fn _driftless(module: &Bound<PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<filter::ParticleFilter>()?;
    module.add_class::<filter::Step>()?;
    module.add_class::<series::Filtered>()?;
    module.add_class::<pieces::LinearMotion>()?;
    module.add_class::<pieces::Odometry>()?;
    module.add_class::<pieces::LinearSensor>()?;
    module.add_class::<pieces::StochasticVolatility>()?;
    module.add_class::<pieces::SoftResampling>()?;
    module.add_class::<bridge::Trace>()?;
    module.add_class::<episode::Episode>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<run::Tracker>()?;
    module.add_class::<run::Tracked>()?;
    module.add_class::<smooth::SmoothedPath>()?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(episode::load, module)?)?;
    module.add_function(wrap_pyfunction!(episode::save, module)?)?;
    module.add_function(wrap_pyfunction!(pieces::random_walk, module)?)?;
    module.add_function(wrap_pyfunction!(run::open_run, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(training::experiments, module)?)?;
    module.add_function(wrap_pyfunction!(training::resume, module)?)?;
    module.add_function(wrap_pyfunction!(training::train_files, module)?)?;
    module.add_function(wrap_pyfunction!(weights::read_weights, module)?)?;
    module.add_function(wrap_pyfunction!(weights::write_weights, module)?)
}
