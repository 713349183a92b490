//! A bag much larger than the memory we allow ourselves becomes a log.
//!
//! One test in a process of its own, because it measures the peak memory of the process.

mod bag_bytes;

use bag_bytes::{Bag, START};
use driftless_world::files::bag::{BagOptions, import};
use driftless_world::files::{Overwrite, Source};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

const SIZE: (usize, usize) = (480, 640);
const LIMIT_MB: u64 = 60;

/// Removes the files, whether the test passes or fails.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The process's peak resident memory in MB (10^6 bytes), where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024 / 1_000_000)
}

/// Images of one grey each, which tell their number, until the bag is large enough; says how many.
fn record(path: &Path, bytes: u64) -> usize {
    let count = (bytes / (3 * SIZE.0 * SIZE.1) as u64) as usize;
    let mut bag = Bag::written_to(BufWriter::new(File::create(path).unwrap()), true, None);
    for k in 0..count {
        let time = START + k as f64 * 0.5;
        bag.odometry("/odom", time, "base", [0.1 * k as f64, 0.0, 0.0]);
        bag.image("/camera", time, "rgb8", SIZE, &vec![(k % 256) as u8; 3 * SIZE.0 * SIZE.1]);
    }
    bag.finished();
    count
}

#[test]
fn a_large_bag_needs_little_memory() {
    let mebibytes: u64 = std::env::var("DRIFTLESS_STREAM_MIB").map_or(256, |text| text.parse().unwrap());
    let scratch = Scratch(std::env::temp_dir().join(format!("driftless-bag-{}", std::process::id())));
    std::fs::create_dir_all(&scratch.0).unwrap();
    let (bag, out) = (scratch.0.join("large.mcap"), scratch.0.join("log.npz"));
    let count = record(&bag, mebibytes << 20);
    let options =
        BagOptions { image_side: 16, max_delay: 0.1, episode_steps: 1_000_000, ..BagOptions::default() };
    let drive = import(&Source::open(&bag).unwrap(), &options).unwrap();
    assert_eq!(drive.steps().count(), count);
    let camera = drive.camera.as_ref().unwrap();
    assert_eq!(camera.shape, [12, 16, 3]);
    for (k, step) in drive.steps().enumerate() {
        let image = camera.images.source().read_vec(step.image.unwrap() * 576, 576).unwrap();
        assert!(image.iter().all(|&value| value == (k % 256) as u8), "image {k} is another one");
    }
    drive.write(&out, Overwrite::Refuse, "").unwrap();
    match peak_memory() {
        Some(peak) => {
            eprintln!("a bag of {mebibytes} MiB with {count} images: at most {peak} MB of memory");
            assert!(peak < LIMIT_MB, "{peak} MB");
        }
        None => eprintln!("SKIPPED: this system does not tell the peak memory of a process"),
    }
}
