//! Robots' own recordings as plain logs.

mod listing;

use crate::args::recordings::{Carmen, Csv, Mcap, Tum, Written};
use crate::output::print;
use crate::usage::misused;
use anyhow::Result;
use driftless_world::files::bag::{self, BagOptions, Stepping};
use driftless_world::files::carmen::{self, CarmenOptions};
use driftless_world::files::columns::{self, ColumnOptions};
use driftless_world::files::provenance::Provenance;
use driftless_world::files::recorded::Recording;
use driftless_world::files::{Overwrite, Source, tum};
use std::fmt::Write as _;
use std::path::Path;

/// A CARMEN log.
pub fn carmen(wanted: &Carmen) -> Result<()> {
    if !(wanted.every_metres >= 0.0 && wanted.every_turn >= 0.0) {
        misused!("--every-metres and --every-turn cannot be negative");
    }
    let out = out(&wanted.written)?;
    let options = CarmenOptions {
        beams: wanted.beams,
        every_metres: wanted.every_metres,
        every_turn: wanted.every_turn,
        max_pause: wanted.max_pause,
        episode_steps: wanted.written.episode_steps,
        max_range: wanted.max_range,
    };
    let poses = wanted.poses.as_ref().map(Source::open).transpose()?;
    let recording = carmen::import(Source::open(&wanted.log)?, poses, &options);
    let mut recording = recording.map_err(|error| error.in_file(&wanted.log))?;
    let poses = wanted.poses.as_ref().map(|poses| format!("poses from {}", name(poses)));
    recording.taken.extend(poses);
    written(recording, &wanted.log, out, &wanted.written)
}

/// A table with names of its own.
pub fn csv(wanted: &Csv) -> Result<()> {
    let out = out(&wanted.written)?;
    let beams = wanted.beams_from.zip(wanted.beams_to);
    let options = ColumnOptions {
        columns: wanted.columns.clone(),
        degrees: wanted.degrees,
        millimetres: wanted.millimetres,
        beams: beams.map(|(first, last)| (first.to_radians(), last.to_radians())),
        max_pause: wanted.max_pause,
        episode_steps: wanted.written.episode_steps,
    };
    let recording = columns::import(Source::open(&wanted.table)?, &options);
    written(recording.map_err(|error| error.in_file(&wanted.table))?, &wanted.table, out, &wanted.written)
}

/// A trajectory in TUM's format, for a log.
pub fn tum(wanted: &Tum) -> Result<()> {
    if !(wanted.max_gap > 0.0 && wanted.offset.is_finite()) {
        misused!("--max-gap must be above 0, and --offset a number of seconds");
    }
    let track = tum::read(Source::open(&wanted.trajectory)?, wanted.offset);
    let track = track.map_err(|error| error.in_file(&wanted.trajectory))?;
    let joined = tum::join(&wanted.log, &track, wanted.max_gap, &wanted.out, overwrite(wanted.force))?;
    let share = 100.0 * joined.labelled as f64 / joined.steps as f64;
    let notes = listing::noted(&joined.notes);
    let (out, steps, labelled) = (wanted.out.display(), joined.steps, joined.labelled);
    print(&format!("{out}: {labelled} of {steps} steps labelled ({share:.1} %)\n{notes}"))
}

/// A bag, or the list of its topics.
pub fn mcap(wanted: &Mcap) -> Result<()> {
    let source = Source::open(&wanted.bag)?;
    if wanted.list {
        let listing = bag::list(&source).map_err(|error| error.in_file(&wanted.bag))?;
        return print(&listing::text(&listing));
    }
    let out = out(&wanted.written)?;
    let positive = |value: f64| value > 0.0 && value.is_finite();
    if !wanted.rate.is_none_or(positive) || ![wanted.max_gap, wanted.max_pause].into_iter().all(positive) {
        misused!("--rate, --max-gap and --max-pause must be above 0");
    }
    if !(wanted.every_metres >= 0.0 && wanted.every_turn >= 0.0 && wanted.max_delay >= 0.0) {
        misused!("--every-metres, --every-turn and --max-delay cannot be negative");
    }
    let options = BagOptions {
        odometry: wanted.odometry.clone(),
        scan: wanted.scan.clone(),
        image: wanted.image.clone(),
        pose: wanted.pose.clone(),
        mount: wanted.mount,
        stepping: wanted
            .rate
            .map_or(Stepping::Motion(wanted.every_metres, wanted.every_turn), Stepping::Rate),
        beams: wanted.beams,
        image_side: wanted.image_side,
        max_gap: wanted.max_gap,
        max_delay: wanted.max_delay,
        max_pause: wanted.max_pause,
        episode_steps: wanted.written.episode_steps,
    };
    let recording = bag::import(&source, &options).map_err(|error| error.in_file(&wanted.bag))?;
    written(recording, &wanted.bag, out, &wanted.written)
}

fn overwrite(force: bool) -> Overwrite {
    if force { Overwrite::Replace } else { Overwrite::Refuse }
}

/// The file to write, with everything about it checked before the work begins.
fn out(wanted: &Written) -> Result<&Path> {
    let Some(out) = &wanted.out else { misused!("--out is needed: the log to write (npz)") };
    if wanted.test.is_some() && !(wanted.test_share > 0.0 && wanted.test_share < 1.0) {
        misused!("--test-share must lie between 0 and 1");
    }
    if wanted.test.as_ref() == Some(out) {
        misused!("--out and --test must be two files");
    }
    for file in [Some(out), wanted.test.as_ref()].into_iter().flatten() {
        // Asked now, so that nobody waits for an import that cannot be written.
        drop(driftless_world::files::NewFile::create(file, overwrite(wanted.force))?);
    }
    Ok(out)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn written(mut recording: Recording, from: &Path, out: &Path, wanted: &Written) -> Result<()> {
    let test = wanted.test.as_ref().map(|path| (path, recording.split(wanted.test_share)));
    if let Some((path, part)) = &test {
        write(part, from, path, wanted.force)?;
    }
    write(&recording, from, out, wanted.force)?;
    let mut text = format!("{}: {}", out.display(), recording.summary());
    if let Some((path, part)) = test {
        let (steps, episodes) = (part.steps().count(), part.episodes.len());
        let _ = writeln!(text, "{}: the last {steps} steps, in {episodes} episodes", path.display());
    }
    print(&text)
}

fn write(recording: &Recording, from: &Path, out: &Path, force: bool) -> Result<()> {
    let provenance = Provenance {
        made_by: format!("driftless {}", env!("CARGO_PKG_VERSION")),
        taken: std::iter::once(format!("a drive from {}", name(from)))
            .chain(recording.taken.clone())
            .collect(),
        ..Provenance::default()
    };
    Ok(recording.write(out, overwrite(force), &provenance.to_string())?)
}
