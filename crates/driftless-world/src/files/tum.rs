//! True poses from a trajectory in TUM's format, joined to a plain log by time.

use crate::error::{Error, Result};
use crate::files::atomic::{NewFile, Overwrite};
use crate::files::lines::Lines;
use crate::files::npy::{Dtype, header_bytes};
use crate::files::npz::NpzFile;
use crate::files::rigid::Rigid;
use crate::files::source::Source;
use crate::files::track::Track;
use crate::files::zip::{Method, ZipFile, ZipWriter};
use std::io::Write;
use std::path::Path;

/// How many steps were joined.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// Steps of the log.
    pub steps: usize,
    /// Those with a pose.
    pub labelled: usize,
    /// What was strange, in words.
    pub notes: Vec<String>,
}

/// Reads lines of `time x y z qx qy qz qw`; `#` starts a comment. Also says how many came too late.
pub fn read(source: Source, offset: f64) -> Result<(Track, usize)> {
    let mut lines = Lines::new(source)?;
    let mut samples = Vec::new();
    while let Some((number, line, _)) = lines.next_line()? {
        let text = line.split('#').next().unwrap_or_default();
        if text.trim().is_empty() {
            continue;
        }
        let wrong = |problem: &str| Error::new(problem).in_record(format!("line {number}"));
        let words = text.split([' ', '\t', ',']).filter(|word| !word.is_empty());
        let numbers: Option<Vec<f64>> =
            words.map(|word| word.parse().ok().filter(|x: &f64| x.is_finite())).collect();
        let numbers = numbers.ok_or_else(|| wrong("holds something that is not a finite number"))?;
        let &[time, x, y, z, qx, qy, qz, qw] = numbers.as_slice() else {
            return Err(wrong(&format!(
                "has {} numbers; `time x y z qx qy qz qw` are expected",
                numbers.len()
            )));
        };
        let place = Rigid::new([x, y, z], [qx, qy, qz, qw]);
        let place = place.ok_or_else(|| wrong("holds a rotation of length 0"))?;
        samples.push((time + offset, place.on_floor()));
    }
    if samples.is_empty() {
        return Err(Error::new("holds no pose; lines of `time x y z qx qy qz qw` are expected"));
    }
    Ok(Track::new(samples))
}

/// Poses at the times of a log; nothing where the trajectory has none within `most_gap` seconds.
pub fn poses(log: Source, track: &Track, most_gap: f64) -> Result<Vec<Option<[f64; 3]>>> {
    let npz = NpzFile::from_source(log)?;
    if !npz.contains("times") {
        return Err(
            Error::new("is missing; a log needs the time of every step to be joined").in_field("times")
        );
    }
    let (steps, array) = (npz.array("observations")?.rows(), npz.array("times")?);
    if array.shape() != [steps] {
        return Err(Error::new(format!("has shape {:?}, but ({steps},) is expected", array.shape()))
            .in_field("times"));
    }
    let times = array.read_f64(0..steps)?;
    let poses: Vec<_> = times.iter().map(|&time| track.at(time, most_gap)).collect();
    if poses.iter().all(Option::is_none) {
        let span = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), value| (a.min(value), b.max(value)))
        };
        let (log, truth) = (span(&mut times.iter().copied()), span(&mut track.samples().iter().map(|s| s.0)));
        return Err(Error::new(format!(
            "no step has a pose: the log spans {:.3} to {:.3} s, the trajectory {:.3} to {:.3} s; --offset is added to the trajectory's times, --max-gap allows sparser poses",
            log.0, log.1, truth.0, truth.1
        )));
    }
    Ok(poses)
}

/// Copies a log with the poses of a trajectory in place of its own.
pub fn join(
    log: &Path,
    (track, late): &(Track, usize),
    most_gap: f64,
    out: &Path,
    overwrite: Overwrite,
) -> Result<Joined> {
    let source = Source::open(log)?;
    let named = |error: Error| error.in_file(log);
    let poses = poses(source.clone(), track, most_gap).map_err(named)?;
    let old = ZipFile::new(source).map_err(named)?;
    let mut zip = ZipWriter::new(NewFile::create(out, overwrite)?);
    let broken = |source| Error::io("cannot write", source).in_file(out);
    for name in old.names().filter(|&name| name != "poses.npy") {
        let entry = old.entry(name).map_err(named)?;
        zip.begin(name, Method::Deflated, b"")?;
        let mut at = 0;
        while at < entry.len() {
            let count = (entry.len() - at).min(1 << 20);
            zip.write_all(&entry.read_vec(at, count).map_err(named)?).map_err(broken)?;
            at += count;
        }
        zip.end(b"")?;
    }
    zip.begin("poses.npy", Method::Deflated, &header_bytes(Dtype::F64, &[poses.len(), 3]))?;
    let numbers = poses.iter().flat_map(|pose| pose.unwrap_or([f64::NAN; 3]));
    zip.write_all(&numbers.flat_map(f64::to_le_bytes).collect::<Vec<u8>>()).map_err(broken)?;
    zip.end(&header_bytes(Dtype::F64, &[poses.len(), 3]))?;
    zip.finish(old.comment())?.commit()?;
    let labelled = poses.iter().filter(|pose| pose.is_some()).count();
    let mut notes = Vec::new();
    if *late > 0 {
        notes.push(format!("{late} poses had times before those of earlier ones; all were sorted"));
    }
    if track.jumps() > 0 {
        let jumps = track.jumps();
        notes.push(format!("the poses jump at {jumps} places; steps within a jump are not labelled"));
    }
    Ok(Joined { steps: poses.len(), labelled, notes })
}
