//! The renderer against the real DeepMind Lab engine: the same poses, pixel by pixel.
//!
//! Needs the folder `dmlab` with `nav01_train.npz` and `nav02_train.npz` below the folder named by
//! the environment variable `DRIFTLESS_DATA`; without it the test says so and does nothing.

use driftless_world::files::dpf::{DpfFile, DpfOptions};
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::{Dataset, Pixels, Pose};
use std::path::PathBuf;

const PIXELS: usize = 32 * 32;

/// Mean difference a channel, and the differences of depth, over the first `episodes` episodes.
fn differences(file: &DpfFile, maze: &str, episodes: usize) -> ([f64; 3], Vec<i32>) {
    let world = MazeWorld::new(Layout::built_in(maze).unwrap(), 32, 32);
    let mut photographer = world.view().photographer();
    let (mut colour, mut depth, mut drawn) = ([0.0; 3], Vec::new(), vec![0; 4 * PIXELS]);
    for episode in 0..episodes {
        let recording = file.recording(episode).unwrap();
        let Pixels::Bytes(bytes) = &recording.images.pixels else { panic!("bytes expected") };
        for (pose, real) in recording.poses.iter().zip(bytes.chunks_exact(4 * PIXELS)) {
            photographer.take(Pose::new(pose[0], pose[1], pose[2].to_radians()), &mut drawn);
            for (ours, theirs) in drawn.chunks_exact(4).zip(real.chunks_exact(4)) {
                for k in 0..3 {
                    colour[k] += f64::from(ours[k]) - f64::from(theirs[k]);
                }
                depth.push(i32::from(ours[3]) - i32::from(theirs[3]));
            }
        }
    }
    (colour.map(|sum| sum / depth.len() as f64), depth)
}

#[test]
fn frames_agree_with_the_real_engine() {
    let Some(folder) = std::env::var_os("DRIFTLESS_DATA").map(|data| PathBuf::from(data).join("dmlab"))
    else {
        eprintln!(
            "SKIPPED: set DRIFTLESS_DATA to a folder with dmlab/nav01_train.npz to compare with the real engine"
        );
        return;
    };
    for (name, maze) in [("nav01_train.npz", "maze1"), ("nav02_train.npz", "maze2")] {
        let path = folder.join(name);
        if !path.exists() {
            eprintln!("SKIPPED: {} is absent", path.display());
            continue;
        }
        let file = DpfFile::open(&path, DpfOptions::default()).unwrap();
        let (colour, mut depth) = differences(&file, maze, file.len().min(30));
        let squares = depth.iter().map(|&d| f64::from(d * d)).sum::<f64>() / depth.len() as f64;
        depth.sort_unstable();
        let (low, median, high) =
            (depth[depth.len() / 10], depth[depth.len() / 2], depth[depth.len() * 9 / 10]);
        println!(
            "{maze}: colour {colour:.1?}, depth rms {:.1}, deciles {low} {median} {high}",
            squares.sqrt()
        );
        // The look is ours, so colours need only agree on average; the geometry is theirs, so
        // depths agree up to rounding everywhere but at edges.
        assert!(colour.iter().all(|difference| difference.abs() < 10.0), "{maze}: {colour:?}");
        assert!(
            low >= -2 && median.abs() <= 1 && high <= 2,
            "{maze}: depth differs by {low} {median} {high}"
        );
        assert!(squares.sqrt() < 5.0, "{maze}: {squares}");
    }
}
