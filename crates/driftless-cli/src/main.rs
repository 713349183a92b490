//! The `driftless` command: data for differentiable particle filters, their training, and reports on it.

mod args;
mod bench;
mod convert;
mod data;
mod demo;
mod evaluate;
mod import;
mod inspect;
mod interrupt;
mod output;
mod progress;
mod report;
mod reproduce;
mod show;
mod simulate;
mod track;
mod train;
mod usage;

use args::{Arguments, Verb};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            output::complain(&format!("error: {error:#}"));
            if error.is::<usage::Usage>() {
                return ExitCode::from(2);
            }
            ExitCode::from(if interrupt::happened() { interrupt::EXIT_CODE } else { 1 })
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
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
        Verb::Train(wanted) => return train::run(wanted),
        Verb::Evaluate(wanted) => evaluate::run(wanted)?,
        Verb::Track(wanted) => return track::run(wanted),
        Verb::Report(wanted) => report::run(wanted)?,
        Verb::Reproduce(wanted) => reproduce::run(wanted)?,
        Verb::Demo(wanted) => demo::run(wanted)?,
        Verb::Bench(wanted) => bench::run(wanted)?,
    }
    Ok(ExitCode::SUCCESS)
}
