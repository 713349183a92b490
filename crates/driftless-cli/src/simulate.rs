//! `driftless simulate`: episodes are made by all cores and written in order.

mod house;
mod maze;

use crate::args::{Simulate, Size};
use crate::interrupt;
use crate::output::{bytes, complain, grouped, print};
use crate::progress::Progress;
use crate::usage::misused;
use anyhow::Result;
use driftless_world::files::Overwrite;
use driftless_world::random::Random;
use rayon::prelude::*;
use std::path::Path;

/// Makes the data set and reports what was written.
pub fn run(wanted: &Simulate) -> Result<()> {
    if wanted.episodes == 0 {
        misused!("--episodes 0: a data set needs at least one episode");
    }
    if !(wanted.odometry_noise.is_finite() && (0.0..=10.0).contains(&wanted.odometry_noise)) {
        misused!("--odometry-noise {}: must be a share from 0 to 10", wanted.odometry_noise);
    }
    let (frames, seconds) =
        if wanted.world == "house" { house::simulate(wanted)? } else { maze::simulate(wanted)? };
    report(&wanted.out, wanted.episodes, frames, seconds)
}

fn report(out: &Path, episodes: usize, frames: u64, seconds: f64) -> Result<()> {
    let size = std::fs::metadata(out).map(|metadata| metadata.len()).unwrap_or_default();
    print(&format!(
        "{}: {} episodes, {} frames, {}, in {seconds:.1} s ({} frames a second)\n",
        out.display(),
        grouped(episodes),
        grouped(frames as usize),
        bytes(size),
        grouped((frames as f64 / seconds) as usize)
    ))
}

fn overwrite(force: bool) -> Overwrite {
    if force { Overwrite::Replace } else { Overwrite::Refuse }
}

/// Random numbers for the odometry of an episode, independent of those of its walk.
fn odometry_noise(seed: u64, episode: usize) -> Random {
    Random::stream(seed ^ 0x6e6f_6973_6521, episode as u64)
}

/// Episodes must be small enough to be read again: this many bytes of images.
const LARGEST_EPISODE: usize = 1 << 27;
/// Memory for finished episodes that wait to be written.
const WAITING_BYTES: usize = 256 << 20;

/// Bytes of images in an episode, unless it could not be read again.
fn episode_bytes(steps: usize, size: Size) -> Result<usize> {
    let frame = 4 * size.width * size.height;
    match steps.checked_mul(frame).filter(|&bytes| bytes <= LARGEST_EPISODE) {
        Some(bytes) => Ok(bytes),
        None => misused!(
            "--steps {steps}: an episode of {}x{} images may have at most {} steps",
            size.width,
            size.height,
            LARGEST_EPISODE / frame
        ),
    }
}

/// A layout's frames are written as they are, or compressed: to a sixteenth at best.
fn check_room(wanted: &Simulate, (steps, size): (usize, Size), compressed: bool) -> Result<()> {
    let frames = wanted.episodes as f64 * steps as f64;
    let least = frames * (3 * size.width * size.height) as f64 / if compressed { 16.0 } else { 1.0 };
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

/// Makes `count` items on all cores while the previous ones are being written, in order, so that
/// neither the disk nor the cores wait, and memory holds only two handfuls of items.
fn produce<T: Send>(
    count: usize,
    make: impl Fn(usize) -> driftless_world::Result<T> + Sync,
    mut write: impl FnMut(T) -> driftless_world::Result<()> + Send,
    mut progress: Progress,
    (frames, bytes): (usize, usize),
) -> Result<(u64, f64)> {
    let handful = (WAITING_BYTES / bytes).clamp(1, 8 * rayon::current_num_threads());
    let range = |first: usize| first..(first + handful).min(count);
    let make_all = |first: usize| range(first).into_par_iter().map(&make).collect::<Vec<_>>();
    let mut ready = make_all(0);
    let mut next = handful;
    while !ready.is_empty() {
        let (written, made): (Result<()>, _) = rayon::join(
            || {
                for item in std::mem::take(&mut ready) {
                    interrupt::check()?;
                    write(item?)?;
                    progress.advance(frames);
                }
                Ok(())
            },
            || if next < count { make_all(next) } else { Vec::new() },
        );
        written?;
        ready = made;
        next += handful;
    }
    Ok(progress.finish())
}
