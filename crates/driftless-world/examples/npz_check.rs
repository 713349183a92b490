//! Lets `checks/check_npz.py` drive our readers and writers: writes samples, and copies files to our npz layout.
//!
//! ```text
//! npz_check write FOLDER            a sample of each layout, of numbers the script knows
//! npz_check dpf FILE STEPS OUT      what DPF's loader makes of a file, as a log
//! npz_check log FILE OUT            a log, read and written again
//! npz_check csv FILE OUT            a table as a log
//! ```

use driftless_world::files::Overwrite;
use driftless_world::files::csv::{CsvFile, CsvWriter};
use driftless_world::files::dpf::{DpfFile, DpfOptions, DpfWriter, Recording};
use driftless_world::files::log::{LogFile, LogWriter};
use driftless_world::files::zip::Method;
use driftless_world::{Dataset, Error, Images, Labels, Observations, Pixels, Result, Rows, Trajectory};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["write", folder] => write(Path::new(folder)),
        ["dpf", file, steps, out] => dpf(file, steps, out),
        ["log", file, out] => LogFile::open(file).and_then(|file| copy(&file, out)),
        ["csv", file, out] => CsvFile::open(file).and_then(|file| copy(&file, out)),
        _ => Err(Error::new(
            "usage: npz_check write FOLDER | dpf FILE STEPS OUT | log FILE OUT | csv FILE OUT",
        )),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn dpf(file: &str, steps: &str, out: &str) -> Result<()> {
    let steps_per_episode = steps.parse().map_err(|_| Error::new("STEPS must be a number"))?;
    copy(
        &DpfFile::open(
            file,
            DpfOptions { steps_per_episode: Some(steps_per_episode), ..DpfOptions::default() },
        )?,
        out,
    )
}

fn copy(data: &impl Dataset<Episode = Trajectory>, out: &str) -> Result<()> {
    let mut writer = LogWriter::create(out, Overwrite::Replace, Method::Stored, "")?;
    for index in 0..data.len() {
        writer.push(&data.get(index)?)?;
    }
    writer.finish()
}

fn write(folder: &Path) -> Result<()> {
    for (method, name) in [(Method::Stored, "dpf_plain.npz"), (Method::Deflated, "dpf_compressed.npz")] {
        let path = folder.join(name);
        let mut writer = DpfWriter::create(path, Overwrite::Replace, method, "sample")?;
        for episode in 0..3 {
            writer.push(&recording(episode))?;
        }
        writer.finish()?;
    }
    let mut log = LogWriter::create(folder.join("log.npz"), Overwrite::Replace, Method::Deflated, "sample")?;
    let mut csv = CsvWriter::create(folder.join("table.csv"), Overwrite::Replace)?;
    for episode in 0..3 {
        log.push(&series(episode)?)?;
        csv.push(&series(episode)?)?;
    }
    log.finish()?;
    csv.finish()
}

/// Row r of the whole file: pose (r, r/2, 7 r - 180), velocity (r/4, 0, -r), pixel k (r + 3 k) mod 256.
fn recording(episode: usize) -> Recording {
    let rows = || (episode * 6..(episode + 1) * 6).map(|row| row as f64);
    let pixels = (episode * 6..(episode + 1) * 6).flat_map(|row| (0..80).map(move |k| (row + 3 * k) as u8));
    Recording {
        poses: rows().map(|row| [row, row / 2.0, 7.0 * row - 180.0]).collect(),
        velocities: rows().map(|row| [row / 4.0, 0.0, -row]).collect(),
        images: Images { height: 4, width: 5, channels: 4, pixels: Pixels::Bytes(pixels.collect()) },
    }
}

/// Episode e has e + 2 steps: observation (e, t, e / 3), action t / 7, state (e t, -t), unknown at t = 1.
fn series(episode: usize) -> Result<Trajectory> {
    let steps = episode + 2;
    let e = episode as f32;
    let observations = (0..steps).flat_map(|t| [e, t as f32, e / 3.0]).collect();
    let mut states = Labels::new(2);
    for t in 0..steps {
        let state = [e * t as f32, -(t as f32)];
        states.push((t != 1).then_some(&state));
    }
    let actions = Rows::new(1, (0..steps).map(|t| t as f32 / 7.0).collect())?;
    Trajectory::new(Observations::Vectors(Rows::new(3, observations)?), actions, states)
}
