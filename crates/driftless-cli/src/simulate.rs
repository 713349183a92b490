//! `driftless simulate`: a data set made in a world, and whether there is room for it.

use crate::args::Simulate;
use crate::interrupt;
use crate::output::{bytes, complain, grouped, overwrite, print};
use crate::progress::Progress;
use crate::usage::misused;
use anyhow::Result;
use driftless_world::simulate::{Prepared, Simulation};
use std::path::Path;

/// Makes the data set and reports what was written.
pub fn run(wanted: &Simulate) -> Result<()> {
    let prepared = Simulation::from(wanted).prepare()?;
    check_room(wanted, &prepared)?;
    let frames = wanted.episodes.saturating_mul(prepared.steps());
    let mut progress = Progress::new("simulate", "frames", frames);
    let each = |frames| {
        interrupt::check()?;
        progress.advance(frames);
        Ok::<(), anyhow::Error>(())
    };
    prepared.write(&wanted.out, overwrite(wanted.force), each)?;
    let (frames, seconds) = progress.finish();
    let size = std::fs::metadata(&wanted.out).map(|metadata| metadata.len()).unwrap_or_default();
    print(&format!(
        "{}: {} episodes, {} frames, {}, in {seconds:.1} s ({} frames a second)\n",
        wanted.out.display(),
        grouped(wanted.episodes),
        grouped(frames as usize),
        bytes(size),
        grouped((frames as f64 / seconds) as usize)
    ))
}

/// A layout's frames are written as they are, or compressed: to a sixteenth at best.
fn check_room(wanted: &Simulate, prepared: &Prepared) -> Result<()> {
    let ([width, height], is_npz) = (prepared.image(), prepared.format.id != "pfnet");
    let frames = wanted.episodes as f64 * prepared.steps() as f64;
    let compressed = if wanted.compress || !is_npz { 16.0 } else { 1.0 };
    // Poses and actions, where there are no images.
    let least = frames * (3 * width * height).max(16) as f64 / compressed;
    let free = free_bytes(&wanted.out).unwrap_or(1 << 50);
    if least > free as f64 {
        misused!(
            "--episodes {}: {frames:.0} frames take at least {}, and {} are free; make fewer episodes or smaller images",
            wanted.episodes,
            bytes(least as u64),
            bytes(free)
        );
    }
    if least > 1e9 {
        complain(&format!("{}: will have at least {}", wanted.out.display(), bytes(least as u64)));
    }
    Ok(())
}

/// Bytes free where a file is to be written, as `df` of POSIX tells; nothing where there is none.
fn free_bytes(out: &Path) -> Option<u64> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let told = std::process::Command::new("df").args(["-P", "-k", "--"]).arg(folder).output().ok()?;
    let text = String::from_utf8(told.stdout).ok()?;
    text.lines().nth(1)?.split_whitespace().nth(3)?.parse::<u64>().ok()?.checked_mul(1024)
}
