//! A data set much larger than the memory we allow ourselves is visited in shuffled order.
//!
//! One test in a process of its own, because it measures the peak memory of the process.

mod sample;

use driftless_world::Dataset;
use driftless_world::files::Overwrite;
use driftless_world::files::pfnet::{PfnetFile, PfnetOptions, PfnetWriter, encode};
use driftless_world::random::Random;
use std::path::{Path, PathBuf};

const DISTINCT: usize = 5;
const STEPS: usize = 25;
const LIMIT_MB: u64 = 300;

/// Removes the file, whether the test passes or fails.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Writes at least `size` bytes of episodes; returns how many episodes that are.
fn write_episodes(path: &Path, size: u64) -> usize {
    let records: Vec<Vec<u8>> = (0..DISTINCT as u64)
        .map(|seed| encode(&sample::house_episode(seed, (200, 160), STEPS, (56, 56))).unwrap())
        .collect();
    let mut writer = PfnetWriter::create(path, Overwrite::Replace).unwrap();
    let (mut written, mut count) = (0, 0);
    while written < size {
        let record = &records[count % DISTINCT];
        writer.push_encoded(record).unwrap();
        written += record.len() as u64;
        count += 1;
    }
    writer.commit().unwrap();
    count
}

/// The process's peak resident memory in MB (10^6 bytes), where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024 / 1_000_000)
}

#[test]
fn an_epoch_needs_little_memory() {
    let mebibytes: u64 = std::env::var("DRIFTLESS_STREAM_MIB").map_or(512, |text| text.parse().unwrap());
    let name = format!("driftless-streaming-{}.tfrecords", std::process::id());
    let scratch = Scratch(std::env::temp_dir().join(name));
    let count = write_episodes(&scratch.0, mebibytes << 20);

    let file = PfnetFile::open(&scratch.0, PfnetOptions::default()).unwrap();
    assert_eq!(file.len(), count);
    let expected: Vec<_> = (0..DISTINCT).map(|index| file.get(index).unwrap()).collect();
    let mut order: Vec<usize> = (0..file.len()).collect();
    Random::new(1).shuffle(&mut order);
    for index in order {
        assert!(file.get(index).unwrap() == expected[index % DISTINCT], "episode {index} is another one");
    }
    match peak_memory() {
        Some(peak) => {
            eprintln!("{mebibytes} MiB in {count} episodes: at most {peak} MB of memory");
            assert!(peak < LIMIT_MB, "{peak} MB");
        }
        None => eprintln!("SKIPPED: this system does not tell the peak memory of a process"),
    }
}
