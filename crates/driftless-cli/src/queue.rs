//! A queue of runs in a folder, which any number of processes on any machines work off: planned, run, told of, reported.
//!
//! `reproduce`, `sweep` and `demo` differ in what they plan. A run is all a worker does at once, and it resumes to the
//! byte; so whoever works, dies or comes twice, the results are those of one machine.

mod beat;
mod checks;
mod claim;
mod engine;
mod here;
pub mod host;
mod manifest;
mod pace;
mod state;
mod status;
mod takeover;
mod work;

pub use manifest::{Fingerprints, Planned, Test};

use crate::args::{Engine, Queueing};
use crate::output::{complain, print, typed};
use crate::usage::misused;
use crate::{interrupt, report};
use anyhow::{Result, bail, ensure};
use beat::Pace;
use driftless_report::paired::Pairs;
use engine::Handed;
use here::{Here, Numbered};
use std::path::Path;
use std::process::ExitCode;
use work::Ending;

/// More runs than this that are missing are counted only.
const NAMED: usize = 20;
/// How often a worker of an engine asks for a run whose owner shows no sign of life.
const ASKED: usize = 8;

/// Plans runs and works them off: here, followed by the report, or handed to an engine.
pub fn run(out: &Path, runs: &[Planned], wanted: &Queueing, threads: Option<u16>) -> Result<()> {
    check(wanted)?;
    for run in runs {
        let folder = run.folder(out);
        if folder.join("config.toml").is_file() {
            checks::same(&folder, run)?;
        }
    }
    let all = manifest::plan(out, runs)?;
    let place = |run: &Planned| all.iter().position(|other| other.id == run.id).map(|k| (k + 1, &all[k]));
    let numbered: Vec<Numbered> = runs.iter().filter_map(place).collect();
    go(out, &numbered, wanted, threads)
}

/// Goes on with a folder's plan.
pub fn resume(out: &Path, wanted: &Queueing, threads: Option<u16>) -> Result<()> {
    check(wanted)?;
    let all = planned(out)?;
    go(out, &all.iter().enumerate().map(|(k, run)| (k + 1, run)).collect::<Vec<_>>(), wanted, threads)
}

fn go(out: &Path, runs: &[Numbered], wanted: &Queueing, threads: Option<u16>) -> Result<()> {
    if wanted.retry {
        runs.iter().try_for_each(|(_, run)| state::forget_failed(out, &run.id))?;
    }
    if wanted.on != Engine::Here {
        let open =
            |(_, run): &&Numbered| state::done(out, run).is_none() && state::failed(out, &run.id).is_none();
        let mut lines: Vec<usize> = runs.iter().filter(open).map(|(line, _)| *line).collect();
        lines.sort_unstable();
        return engine::submit(&Handed::new(out, &lines, threads.unwrap_or(1))?, wanted);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let shared = (wanted.jobs > 1).then(|| (cores / wanted.jobs).max(1) as u16);
    interrupt::answer("stopping after this epoch; press again to stop at once");
    here::run(out, runs, Here { jobs: wanted.jobs, threads: threads.or(shared), budget: wanted.budget })?;
    summarise(out, &runs.iter().map(|(_, run)| *run).collect::<Vec<_>>())
}

/// Options that belong to another engine are mistakes.
fn check(wanted: &Queueing) -> Result<()> {
    if wanted.on == Engine::Here && !wanted.pass.is_empty() {
        misused!("--pass: hands options to an engine; choose one with --on");
    }
    if wanted.on != Engine::Slurm && (wanted.partition.is_some() || wanted.time.is_some()) {
        misused!("--partition and --time: are Slurm's; choose it with --on slurm, or see --budget");
    }
    if wanted.on != Engine::Here && (wanted.jobs != 1 || wanted.budget.is_some()) {
        misused!("--jobs and --budget: are of a queue that runs here; an engine has its own limits");
    }
    Ok(())
}

fn planned(out: &Path) -> Result<Vec<Planned>> {
    let all = manifest::read(out)?;
    ensure!(!all.is_empty(), "{}: holds no sweep: there is no manifest.jsonl", out.display());
    Ok(all)
}

/// Prints how far a folder's plan is.
pub fn tell(out: &Path) -> Result<()> {
    status::tell(out, &planned(out)?)
}

/// Makes the report on what is done, while others may still run.
pub fn collect(out: &Path) -> Result<()> {
    let all = planned(out)?;
    summarise(out, &all.iter().collect::<Vec<_>>())
}

/// Writes and prints the report on what is done, and says what is missing. Fails if a run has.
fn summarise(out: &Path, runs: &[&Planned]) -> Result<()> {
    let (done, missing): (Vec<&&Planned>, Vec<&&Planned>) =
        runs.iter().partition(|run| state::done(out, run).is_some());
    let folders: Vec<_> = done
        .iter()
        .map(|run| run.folder(out))
        .filter(|folder| folder.join("config.toml").is_file())
        .collect();
    let names: Vec<String> = missing.iter().map(|run| run.id.clone()).collect();
    if folders.is_empty() {
        print("no run is done yet: there is nothing to report\n")?;
    } else {
        let page = out.join("report");
        let (table, _) = report::write(&folders, &names, &page, &Pairs::Usual)?;
        print(&format!("\n{table}\nThe report: {}\n", page.join("index.html").display()))?;
    }
    if !names.is_empty() {
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let some = names[..names.len().min(NAMED)].join(", ");
        print(&format!("missing: {} of {} runs: {some}{more}\n", names.len(), runs.len()))?;
    }
    let failed = missing.iter().filter(|run| state::failed(out, &run.id).is_some()).count();
    ensure!(
        failed == 0,
        "{failed} runs failed; they are told by `driftless sweep --status {}`, and run again with --retry",
        typed(out)
    );
    Ok(())
}

/// Does the run of one line: what engines, and this program for itself, call for each run. A worker that is tied stops
/// when its standard input ends.
pub fn work_line(out: &Path, line: usize, tied: bool) -> Result<ExitCode> {
    interrupt::answer("stopping after this epoch; press again to stop at once");
    let run = manifest::read_line(out, line)?;
    if tied {
        std::thread::spawn(|| {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            interrupt::raise();
        });
    }
    let mut ending = work::work(out, &run)?;
    for _ in 0..ASKED {
        // The owner may have died with its machine, whose locks a server holds for a minute or two.
        let Ending::Elsewhere(_) = &ending else { break };
        if tied || interrupt::happened() || claim::is_alive(&state::folder(out), &run.id, Pace::USUAL)? {
            break;
        }
        ending = work::work(out, &run)?;
    }
    match ending {
        Ending::Done => Ok(ExitCode::SUCCESS),
        Ending::Elsewhere(who) => {
            complain(&format!("{}: is left to {who}", run.id));
            Ok(ExitCode::SUCCESS)
        }
        Ending::Failed(why) => bail!("{}: {why}", run.id),
        Ending::Stopped => Ok(ExitCode::from(interrupt::EXIT_CODE)),
    }
}

#[cfg(test)]
mod testing;
