//! Robots' own recordings as plain logs.

use crate::args::recordings::{Carmen, Mcap, Tum};
use crate::output::{aligned, print};
use crate::usage::misused;
use anyhow::Result;
use driftless_world::files::bag::{self, BagOptions, Topic};
use driftless_world::files::carmen::{self, CarmenOptions};
use driftless_world::files::provenance::Provenance;
use driftless_world::files::recorded::Recording;
use driftless_world::files::{Overwrite, Source, tum};
use std::path::Path;

/// A CARMEN log.
pub fn carmen(wanted: &Carmen) -> Result<()> {
    if !(wanted.min_move >= 0.0 && wanted.min_turn >= 0.0) {
        misused!("--min-move and --min-turn cannot be negative");
    }
    let options = CarmenOptions {
        beams: wanted.beams,
        min_move: wanted.min_move,
        min_turn: wanted.min_turn,
        episode_steps: wanted.episode_steps,
        max_range: wanted.max_range,
    };
    let poses = wanted.poses.as_ref().map(Source::open).transpose()?;
    let recording = carmen::import(Source::open(&wanted.log)?, poses, &options);
    written(&recording.map_err(|error| error.in_file(&wanted.log))?, &wanted.out, wanted.force)
}

/// A trajectory in TUM's format, for a log.
pub fn tum(wanted: &Tum) -> Result<()> {
    let track = tum::read(Source::open(&wanted.trajectory)?, wanted.offset);
    let track = track.map_err(|error| error.in_file(&wanted.trajectory))?;
    let joined = tum::join(&wanted.log, &track, wanted.max_gap, &wanted.out, overwrite(wanted.force))?;
    let share = 100.0 * joined.labelled as f64 / joined.steps as f64;
    let late = match joined.late {
        0 => String::new(),
        late => format!("note: {late} poses had times before those of earlier ones; all were sorted\n"),
    };
    let (out, steps, labelled) = (wanted.out.display(), joined.steps, joined.labelled);
    print(&format!("{out}: {labelled} of {steps} steps labelled ({share:.1} %)\n{late}"))
}

/// A bag, or the list of its topics.
pub fn mcap(wanted: &Mcap) -> Result<()> {
    let source = Source::open(&wanted.bag)?;
    let (Some(odometry), Some(scan), Some(out), false) =
        (&wanted.odometry, &wanted.scan, &wanted.out, wanted.list)
    else {
        let (topics, notes) = bag::list(&source).map_err(|error| error.in_file(&wanted.bag))?;
        let notes: String = notes.iter().map(|note| format!("note: {note}\n")).collect();
        return print(&format!("{}{notes}", table(&topics)));
    };
    if !(wanted.rate > 0.0 && wanted.max_gap > 0.0) {
        misused!("--rate and --max-gap must be above 0");
    }
    let options = BagOptions {
        odometry: odometry.clone(),
        scan: scan.clone(),
        pose: wanted.pose.clone(),
        rate: wanted.rate,
        beams: wanted.beams,
        max_gap: wanted.max_gap,
        episode_steps: wanted.episode_steps,
    };
    let recording = bag::import(&source, &options).map_err(|error| error.in_file(&wanted.bag))?;
    written(&recording, out, wanted.force)
}

fn overwrite(force: bool) -> Overwrite {
    if force { Overwrite::Replace } else { Overwrite::Refuse }
}

fn written(recording: &Recording, out: &Path, force: bool) -> Result<()> {
    let made_by = format!("driftless {}", env!("CARGO_PKG_VERSION"));
    let comment = Provenance { made_by, ..Provenance::default() }.to_string();
    recording.write(out, overwrite(force), &comment)?;
    print(&format!("{}: {}", out.display(), recording.summary()))
}

/// One row a topic.
fn table(topics: &[Topic]) -> String {
    let head = ["topic", "type", "encoding", "messages", "rate", "duration"];
    let row = |topic: &Topic| {
        let seconds = (topic.span.1 - topic.span.0).max(0.0);
        let (name, schema, encoding) = (topic.name.clone(), topic.schema.clone(), topic.encoding.clone());
        let rate = format!("{:.1} Hz", topic.rate());
        vec![name, schema, encoding, topic.messages.to_string(), rate, format!("{seconds:.1} s")]
    };
    let rows: Vec<_> =
        std::iter::once(head.map(str::to_owned).to_vec()).chain(topics.iter().map(row)).collect();
    aligned(&rows)
}
