//! `driftless inspect`: what a file holds, its figures, and what is wrong with it.

mod problems;
mod summary;

use crate::args::{Inspect, Reading};
use crate::interrupt;
use crate::output::print;
use crate::progress::Progress;
use crate::usage::misused;
use anyhow::{Result, bail};
use driftless_world::files::{Format, Holds};
use driftless_world::maze::Layout;
use driftless_world::statistics::Statistics;
use problems::Problems;
use std::path::Path;
use std::process::ExitCode;
use summary::Summary;

/// Exit code of a file that can be read but should be looked at.
const PROBLEMS_FOUND: u8 = 3;

/// Prints the figures; exit code 3 if there are problems.
pub fn run(wanted: &Inspect) -> Result<ExitCode> {
    let kind = Format::of(&wanted.file)?;
    if kind.holds == Holds::Drawing {
        return maze(wanted, kind);
    }
    let summary = summarize(&wanted.file, kind, &wanted.reading, wanted.episodes)?;
    let text = if wanted.json { serde_json::to_string_pretty(&summary)? + "\n" } else { summary.to_string() };
    print(&text)?;
    Ok(if summary.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(PROBLEMS_FOUND) })
}

/// Reads all episodes (or the first few) and gathers their figures and problems.
pub fn summarize(path: &Path, kind: &Format, reading: &Reading, most: Option<usize>) -> Result<Summary> {
    let data = kind.open(path, &reading.options())?;
    let count = most.unwrap_or(data.len()).min(data.len());
    if count == 0 {
        misused!("--episodes 0: there is no episode to look at");
    }
    let mut statistics: Option<Statistics> = None;
    let mut problems = Problems::new(data.as_ref());
    let mut progress = Progress::new("inspect", "episodes", count);
    let mut sample = None;
    for index in 0..count {
        interrupt::check()?;
        match data.get(index) {
            Ok(episode) => {
                if !problems.fits(index, &episode) {
                    continue;
                }
                let pose = (episode.states.width() == 3).then_some(2);
                statistics.get_or_insert_with(|| Statistics::new(pose)).push(&episode);
                problems.look(index, &episode);
                if kind.holds == Holds::Houses {
                    problems.look_at_odometry(index, &episode);
                }
                sample.get_or_insert(episode);
            }
            Err(error) => problems.unreadable(&error),
        }
        progress.advance(1);
    }
    progress.finish();
    let (Some(statistics), Some(sample)) = (statistics, sample) else {
        bail!("no episode can be read; the first problem: {}", problems.first());
    };
    let found = problems.found(&statistics);
    Summary::new(path, kind, data.as_ref(), &sample, &statistics, found)
}

fn maze(wanted: &Inspect, kind: &Format) -> Result<ExitCode> {
    let layout = Layout::read(&wanted.file)?;
    let [columns, rows] = layout.cells();
    let [width, height] = layout.extent();
    if wanted.json {
        let value = serde_json::json!({
            "file": wanted.file.display().to_string(), "kind": kind.what,
            "name": layout.name(), "cells": [columns, rows], "extent": [width, height],
            "walls": layout.segments(),
        });
        print(&(serde_json::to_string_pretty(&value)? + "\n"))?;
    } else {
        print(&format!(
            "{}\n  what       {}\n  name       {}\n  cells      {columns} x {rows} of {} units\n  walls      {}\n\n{layout}",
            wanted.file.display(),
            kind.what,
            layout.name(),
            layout.cell(),
            layout.segments().len(),
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
