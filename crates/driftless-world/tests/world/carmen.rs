//! CARMEN logs: made here, and the real ones that lie beside the clone.
//!
//! The real ones need the folder `robots` below the folder named by the environment variable `DRIFTLESS_DATA`; without
//! it the test says so and does nothing.

use driftless_world::Dataset;
use driftless_world::files::Source;
use driftless_world::files::carmen::{CarmenOptions, import};
use driftless_world::files::log::LogFile;
use driftless_world::files::recorded::{Recording, Step};
use driftless_world::trajectory::Observations;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A scan at x with a reading that tells which it is.
fn scan(out: &mut String, x: f64, reading: f64, time: f64) {
    let _ = writeln!(out, "FLASER 3 {reading:.2} 2.00 81.83 {x} 0 0 {x} 0 0 {time} host {time}");
}

fn text(log: &str, corrected: Option<&str>, options: &CarmenOptions) -> Recording {
    let source = |text: &str| Source::from(text.as_bytes().to_vec());
    import(source(log), corrected.map(source), options).unwrap()
}

#[track_caller]
fn noted(recording: &Recording, expected: &str) {
    assert!(recording.notes.iter().any(|note| note.contains(expected)), "{:?}", recording.notes);
}

#[test]
fn scans_become_steps_and_find_their_poses() {
    let (mut raw, mut corrected) = ("# a comment\nPARAM robot_length 1\n".to_owned(), String::new());
    for k in 0..10 {
        let x = 0.1 * f64::from(k);
        let _ = writeln!(raw, "ODOM {x} 0 0 0.2 0 0 {} host 0", f64::from(k));
        scan(&mut raw, x, 1.0 + x, f64::from(k));
        // Written with other digits, and every third is missing.
        if k % 3 != 2 {
            let _ = writeln!(corrected, "FLASER 3 {:.4} 2 81.83 0 0 0 {} 5 1 0 host {k}", 1.0 + x, 10.0 + x);
        }
    }
    scan(&mut raw, 1.1, 9.0, 3.0);
    raw += "FLASER 3 1.0 2.0";
    let options = CarmenOptions { max_range: Some(80.0), ..CarmenOptions::default() };
    let drive = text(&raw, Some(&corrected), &options);
    let driven: Vec<f64> = drive.steps().map(|step| f64::from(step.readings[0])).collect();
    assert!(
        driven.iter().zip([1.0, 1.2, 1.4, 1.6, 1.8, 9.0]).all(|(a, b)| (a - b).abs() < 1e-6),
        "{driven:?}"
    );
    assert!(drive.steps().all(|step| step.readings[1] == 2.0 && step.readings[2].is_nan()));
    assert!(drive.actions().skip(1).all(|action| (action.unwrap()[0] - 0.2).abs() < 0.101));
    let poses: Vec<Option<f64>> = drive.steps().map(|step| step.pose.map(|pose| pose[0])).collect();
    assert_eq!(poses, [Some(10.0), None, Some(10.4), Some(10.6), None, None]);
    assert!(drive.steps().zip(drive.steps().skip(1)).all(|(a, b)| b.time >= a.time));
    noted(&drive, "at 1 scans the clock went backwards");
    noted(&drive, "the log is cut off");
    let angles = drive.beam_angles.unwrap();
    assert!((angles[0] + 90_f64.to_radians()).abs() < 1e-12 && angles[1].abs() < 1e-12);
}

#[test]
fn packed_logs_damage_and_other_files() {
    let mut raw = String::new();
    for k in 0..300 {
        scan(&mut raw, 0.2 * f64::from(k), 1.0 + f64::from(k % 7), f64::from(k));
        if k == 100 {
            raw += "FLASER 2 1.0 x 0 0 0 0 0 0 0 host 0\nFLASER 1 1.0 0 0 0 0 0 0 0 host 0\n";
        }
    }
    let plain = text(&raw, None, &CarmenOptions::default());
    noted(
        &plain,
        "1 damaged lines were left out, the first: line 102: field FLASER: \"x\" is not a finite number",
    );
    noted(&plain, "1 scans were left out, which have not 3 readings");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(raw.as_bytes()).unwrap();
    let mut bzip = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip.write_all(raw.as_bytes()).unwrap();
    for packed in [gzip.finish().unwrap(), bzip.finish().unwrap()] {
        let drive = import(Source::from(packed.clone()), None, &CarmenOptions::default()).unwrap();
        assert_eq!(drive.episodes, plain.episodes);
        let cut = packed[..packed.len() / 2].to_vec();
        // Bzip2 unpacks block by block: of a small log that is cut off nothing is left.
        match import(Source::from(cut), None, &CarmenOptions::default()) {
            Ok(drive) => noted(&drive, "the log is cut off"),
            Err(error) => assert!(error.to_string().contains("line 1: cannot unpack"), "{error}"),
        }
    }
    let error = import(Source::from(b"hello\n".to_vec()), None, &CarmenOptions::default()).unwrap_err();
    assert!(error.to_string().contains("is it a CARMEN log?"), "{error}");
    let other = Source::from(b"FLASER 3 7 7 7 0 0 0 0 0 0 1e9 host 1e9\n".to_vec());
    let error = import(Source::from(raw.into_bytes()), Some(other), &CarmenOptions::default()).unwrap_err();
    assert!(error.to_string().contains("is it the same drive?"), "{error}");
}

fn robots() -> Option<PathBuf> {
    let folder = std::env::var_os("DRIFTLESS_DATA").map(|data| PathBuf::from(data).join("robots"));
    let found = folder.filter(|folder| folder.join("carmen").is_dir());
    if found.is_none() {
        eprintln!("SKIPPED: set DRIFTLESS_DATA to a folder with robots/carmen to compare with real logs");
    }
    found
}

fn ranges_of(step: &[f32]) -> Vec<u32> {
    step.iter().map(|range| range.to_bits()).collect()
}

/// Compares with a log that somebody else made of the same drive by another program; says how many steps agree.
fn agree(drive: &Recording, other: &Path) -> (usize, usize) {
    let steps: Vec<&Step> = drive.steps().collect();
    let actions: Vec<_> = drive.actions().collect();
    let by_ranges: HashMap<Vec<u32>, usize> =
        steps.iter().enumerate().map(|(at, step)| (ranges_of(&step.readings), at)).collect();
    let firsts: Vec<usize> = drive
        .episodes
        .iter()
        .scan(0, |at, episode| Some(std::mem::replace(at, *at + episode.len())))
        .collect();
    let log = LogFile::open(other).unwrap();
    let (mut found, mut all) = (0, 0);
    for episode in 0..log.len() {
        let episode = log.get(episode).unwrap();
        let Observations::Vectors(rows) = &episode.observations else { panic!("scans") };
        let mut before = None;
        for t in 0..episode.len() {
            all += 1;
            let at = by_ranges.get(&ranges_of(rows.row(t))).copied();
            found += usize::from(at.is_some());
            let Some(at) = at else { continue };
            if let (Some(pose), Some(truth), true) =
                (steps[at].pose, episode.states.get(t), other.ends_with("fr079_train.npz"))
            {
                assert!((0..3).all(|i| (pose[i] as f32 - truth[i]).abs() < 1e-5), "{pose:?} {truth:?}");
            }
            // Where neither begins an episode, the motion into the step is the same.
            if before == Some(at.wrapping_sub(1)) && !firsts.contains(&at) {
                let ours = actions[at].unwrap();
                let theirs = episode.actions.row(t);
                assert!(
                    (0..3).all(|i| (ours[i] as f32 - theirs[i]).abs() < 1e-5),
                    "{at}: {ours:?} {theirs:?}"
                );
            }
            before = Some(at);
        }
    }
    (found, all)
}

/// Freiburg's and Intel's drives, which a Python program made logs of: the same scans, poses and motions.
#[test]
fn real_logs_agree_with_another_program() {
    let Some(folder) = robots() else { return };
    for (name, corrected) in [("fr079", "freiburg-079"), ("intel", "intel")] {
        let open = |file: String| Source::open(folder.join("carmen").join(file)).unwrap();
        let (raw, poses) = (open(format!("{name}.clf.bz2")), open(format!("{corrected}-corrected.log.gz")));
        let drive = import(raw, Some(poses), &CarmenOptions::default()).unwrap();
        for part in ["train", "test"] {
            let (found, all) = agree(&drive, &folder.join(format!("{name}_{part}.npz")));
            assert!(found as f64 > 0.995 * all as f64, "{name} {part}: {found} of {all}");
        }
        if name == "fr079" {
            noted(&drive, "the odometer counted backward driving as forward");
        } else {
            noted(&drive, "the clock went backwards");
        }
    }
}
