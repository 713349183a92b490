//! The `driftless` command: data for differentiable particle filters, their training, and reports on it.
//!
//! A library, so that the Python package has the same command without a second program.

mod args;
mod bench;
mod convert;
mod demo;
mod evaluate;
mod import;
mod inspect;
mod interrupt;
mod output;
mod progress;
mod queue;
mod ranks;
mod report;
mod reproduce;
mod serve;
mod show;
mod simulate;
mod smooth;
mod sweep;
mod track;
mod train;
mod usage;

pub use smooth::{SmoothedEpisode, SmoothedLog};
pub use train::{experiment, experiments};

use args::{Arguments, Verb};
use clap::Parser;
use ranks::Job;
use std::ffi::OsString;
use std::process::ExitCode;

/// Does what the arguments, of which the first is the program's name, ask for. Ends the process itself where they ask for
/// help or are wrong; listens to signals and sets the number of threads for the whole process.
pub fn command(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = Arguments::parse_from(arguments);
    let job = match Job::join(&arguments.verb) {
        Ok(job) => job,
        Err(error) => {
            output::complain(&format!("error: {error:#}"));
            return ExitCode::FAILURE;
        }
    };
    run(&arguments, &job).unwrap_or_else(|error| job.fail(&format!("error: {error:#}"), code_of(&error)))
}

/// The exit code of what went wrong.
fn code_of(error: &anyhow::Error) -> u8 {
    let asked = error.downcast_ref().is_some_and(driftless_world::Error::is_usage);
    match asked || error.is::<usage::Usage>() {
        true => 2,
        false if interrupt::happened() => interrupt::EXIT_CODE,
        false => 1,
    }
}

fn run(arguments: &Arguments, job: &Job) -> anyhow::Result<ExitCode> {
    interrupt::listen()?;
    if let Some(threads) = arguments.threads {
        rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads)).build_global()?;
    }
    match &arguments.verb {
        Verb::Simulate(wanted) => simulate::run(wanted)?,
        Verb::Inspect(wanted) => return inspect::run(wanted),
        Verb::Show(wanted) => show::run(wanted)?,
        Verb::Convert(wanted) => convert::run(wanted)?,
        Verb::Import(wanted) => import::run(wanted)?,
        Verb::Train(wanted) => return train::run(wanted, job),
        Verb::Evaluate(wanted) => evaluate::run(wanted, job)?,
        Verb::Track(wanted) => return track::run(wanted),
        Verb::Smooth(wanted) => smooth::run(wanted)?,
        Verb::Serve(wanted) => serve::run(wanted, arguments.threads)?,
        Verb::Report(wanted) => report::run(wanted)?,
        Verb::Reproduce(wanted) => reproduce::run(wanted, arguments.threads)?,
        Verb::Sweep(wanted) => return sweep::run(wanted, arguments.threads),
        Verb::Demo(wanted) => demo::run(wanted, arguments.threads)?,
        Verb::Bench(wanted) => bench::run(wanted)?,
    }
    Ok(ExitCode::SUCCESS)
}
