//! DPF files end to end: written, read back, damaged, and the real ones where they are at hand.

use driftless_world::files::DataFile;
use driftless_world::files::dpf::{Crop, DpfFile, DpfOptions, DpfWriter, Inputs, Recording};
use driftless_world::files::npy::Dtype;
use driftless_world::files::npz::NpzWriter;
use driftless_world::files::zip::Method;
use driftless_world::files::{Overwrite, Source};
use driftless_world::pose::{Frame, Pose, wrap};
use driftless_world::random::Random;
use driftless_world::{Dataset, Images, Observations, Pixels, Trajectory};
use std::io::Cursor;
use std::path::{Path, PathBuf};

const STEPS: usize = 6;

fn recording(episode: u64) -> Recording {
    let mut random = Random::stream(11, episode);
    let mut row =
        |scale: f64| [random.range(0.0, scale), random.range(0.0, 500.0), random.range(-180.0, 180.0)];
    let (poses, velocities) = (0..STEPS).map(|_| (row(1000.0), row(300.0))).unzip();
    let pixels = (0..STEPS * 8 * 9 * 4).map(|i| (i as u64 * 7 + episode) as u8).collect();
    Recording {
        poses,
        velocities,
        images: Images { height: 8, width: 9, channels: 4, pixels: Pixels::Bytes(pixels) },
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("driftless-dpf-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn options() -> DpfOptions {
    DpfOptions { steps_per_episode: Some(STEPS), ..DpfOptions::default() }
}

fn write(path: &Path, episodes: u64, method: Method) {
    let mut writer = DpfWriter::create(path, Overwrite::Replace, method, "by a test").unwrap();
    (0..episodes).for_each(|episode| writer.push(&recording(episode)).unwrap());
    writer.finish().unwrap();
}

/// A file in memory whose arrays are given as (name, type, shape, bytes).
fn npz(arrays: &[(&str, Dtype, Vec<usize>, Vec<u8>)]) -> Source {
    let mut writer = NpzWriter::new(Cursor::new(Vec::new()), Method::Stored);
    for (name, dtype, shape, bytes) in arrays {
        writer.array(name, *dtype, shape).unwrap();
        writer.write(bytes).unwrap();
        writer.end().unwrap();
    }
    writer.finish("").unwrap().into_inner().into()
}

fn rows(count: usize, value: f64) -> (Vec<usize>, Vec<u8>) {
    (vec![count, 3], value.to_le_bytes().repeat(count * 3))
}

fn images(trajectory: &Trajectory) -> &Images {
    match &trajectory.observations {
        Observations::Images(images) => images,
        Observations::Vectors(_) => panic!("images"),
    }
}

#[test]
fn what_is_written_is_read() {
    let folder = folder("round");
    for method in [Method::Stored, Method::Deflated] {
        let path = folder.join(format!("{method:?}.npz"));
        write(&path, 3, method);
        let file = DpfFile::open(&path, options()).unwrap();
        assert_eq!((file.len(), file.comment()), (3, "by a test"));
        for episode in 0..3 {
            assert_eq!(file.recording(episode).unwrap(), recording(episode as u64));
        }
        assert!(DpfWriter::create(&path, Overwrite::Refuse, Method::Stored, "").is_err());
    }
    let (plain, again) = (folder.join("Stored.npz"), folder.join("again.npz"));
    write(&again, 3, Method::Stored);
    assert_eq!(std::fs::read(plain).unwrap(), std::fs::read(again).unwrap(), "same data, same bytes");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn trajectories_follow_the_loader() {
    let folder = folder("loader");
    let path = folder.join("a.npz");
    write(&path, 2, Method::Deflated);
    let file = DpfFile::open(&path, options()).unwrap();
    let depth = DpfFile::open(&path, DpfOptions { depth: true, ..options() }).unwrap();
    for index in 0..2 {
        let (raw, episode) = (recording(index as u64), file.get(index).unwrap());
        assert_eq!(episode.len(), STEPS - 1);
        let exact = |t: usize| Pose::new(raw.poses[t][0], raw.poses[t][1], raw.poses[t][2].to_radians());
        for t in 1..STEPS {
            let expected = exact(t - 1).motion_to(exact(t), Frame::Reflected);
            let (action, state) = (episode.actions.row(t - 1), episode.states.get(t - 1).unwrap());
            for i in 0..2 {
                assert!((f64::from(action[i]) - expected[i]).abs() < 1e-3);
            }
            assert!(wrap(f64::from(action[2]) - expected[2]).abs() < 1e-5);
            assert!(wrap(f64::from(state[2]) - exact(t).heading).abs() < 1e-6);
            assert_eq!(state[0], raw.poses[t][0] as f32);
        }
        let Pixels::Bytes(all) = &raw.images.pixels else { panic!("bytes") };
        let kept = &all[8 * 9 * 4..];
        let rgb: Vec<u8> = kept.chunks(4).flat_map(|pixel| pixel[..3].to_vec()).collect();
        assert_eq!(images(&episode).pixels, Pixels::Bytes(rgb));
        assert_eq!(images(&depth.get(index).unwrap()).pixels, Pixels::Bytes(kept.to_vec()));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn noise_depends_on_seed_and_episode_only() {
    let folder = folder("noise");
    let path = folder.join("a.npz");
    write(&path, 4, Method::Stored);
    let noisy =
        DpfOptions { odometry_noise: 0.1, crop: Crop::Random(6), pixel_noise: 20.0, seed: 5, ..options() };
    let file = DpfFile::open(&path, noisy.clone()).unwrap();
    let forward: Vec<Trajectory> = (0..4).map(|index| file.get(index).unwrap()).collect();
    let other = DpfFile::open(&path, noisy).unwrap();
    for index in (0..4).rev() {
        assert_eq!(other.get(index).unwrap(), forward[index]);
        assert_eq!(other.get_with(index, 5).unwrap(), forward[index]);
        let redrawn = other.get_with(index, 6).unwrap();
        assert_eq!(redrawn.actions, forward[index].actions);
        assert_ne!(redrawn.observations, forward[index].observations);
        assert_eq!(redrawn.states, forward[index].states);
    }
    let clean = DpfFile::open(&path, options()).unwrap();
    let first_factor =
        |index: usize| forward[index].actions.values()[0] / clean.get(index).unwrap().actions.values()[0];
    assert!((first_factor(0) - first_factor(1)).abs() > 1e-4, "each episode has noise of its own");
    let seen = images(&forward[0]);
    assert_eq!((seen.height, seen.width, seen.channels, seen.len()), (6, 6, 3, STEPS - 1));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn shuffled_inputs_are_the_same_rows_elsewhere() {
    let folder = folder("shuffle");
    let path = folder.join("a.npz");
    write(&path, 20, Method::Deflated);
    let read = |inputs| {
        let file = DpfFile::open(&path, DpfOptions { inputs, seed: 1, ..options() }).unwrap();
        (0..20).map(|index| file.get(index).unwrap()).collect::<Vec<_>>()
    };
    let (both, actions, pictures) =
        (read(Inputs::Both), read(Inputs::ShuffledActions), read(Inputs::ShuffledImages));
    let all_actions = |data: &[Trajectory]| -> Vec<[u32; 3]> {
        let rows = data
            .iter()
            .flat_map(|e| e.actions.values().chunks(3).map(|r| [r[0], r[1], r[2]].map(f32::to_bits)));
        rows.collect()
    };
    let all_images = |data: &[Trajectory]| -> Vec<Vec<u8>> {
        let pixels = data.iter().map(|e| match &images(e).pixels {
            Pixels::Bytes(values) => values.clone(),
            Pixels::Floats(_) => panic!("bytes"),
        });
        pixels.flat_map(|values| values.chunks(8 * 9 * 3).map(<[u8]>::to_vec).collect::<Vec<_>>()).collect()
    };
    assert_ne!(all_actions(&both), all_actions(&actions));
    assert_ne!(all_images(&both), all_images(&pictures));
    assert_eq!(all_images(&both), all_images(&actions));
    assert_eq!(all_actions(&both), all_actions(&pictures));
    let sorted = |mut rows: Vec<[u32; 3]>| {
        rows.sort_unstable();
        rows
    };
    assert_eq!(sorted(all_actions(&both)), sorted(all_actions(&actions)));
    let (mut before, mut after) = (all_images(&both), all_images(&pictures));
    before.sort_unstable();
    after.sort_unstable();
    assert_eq!(before, after);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn malformed_files_are_explained() {
    let rgbd = |count: usize, [h, w, c]: [usize; 3]| {
        ("rgbd", Dtype::U8, vec![count, h, w, c], vec![9; count * h * w * c])
    };
    let pose = |count, value| {
        let (shape, bytes) = rows(count, value);
        ("pose", Dtype::F64, shape, bytes)
    };
    let problem = |arrays: &[_]| match DpfFile::from_source(npz(arrays), options()) {
        Ok(file) => file.get(0).err().map_or("fine".to_owned(), |error| error.to_string()),
        Err(error) => error.to_string(),
    };
    let image = [2, 2, 3];
    assert_eq!(problem(&[pose(12, 1.0), rgbd(12, image)]), "fine", "vel may be missing");
    let (shape, bytes) = rows(11, 0.0);
    for (arrays, expected) in [
        (vec![pose(12, 1.0)], "field rgbd: is missing"),
        (vec![rgbd(12, image)], "field pose: is missing"),
        (vec![pose(13, 1.0), rgbd(13, image)], "13 rows are not a whole number of episodes of 6 steps"),
        (vec![pose(12, 1.0), rgbd(6, image)], "field pose: has 12 rows, but rgbd has 6"),
        (vec![pose(12, 1.0), rgbd(12, image), ("vel", Dtype::F64, shape, bytes)], "field vel: has 11 rows"),
        (vec![pose(12, f64::NAN), rgbd(12, image)], "episode 0: field pose: holds NaN at step 0"),
        (vec![pose(12, f64::INFINITY), rgbd(12, image)], "episode 0: field pose: holds inf at step 0"),
        (vec![pose(0, 0.0), rgbd(0, image)], "holds no episode"),
        (vec![pose(12, 1.0), rgbd(12, [0, 2, 3])], "must not be empty"),
        (vec![pose(12, 1.0), rgbd(12, [2, 2, 2])], "3 (RGB) or 4"),
        (vec![("pose", Dtype::U8, vec![12], vec![0; 12]), rgbd(12, image)], "field pose: has shape [12]"),
    ] {
        let message = problem(&arrays);
        assert!(message.contains(expected), "{expected}: {message}");
    }
    let open = |options| {
        DpfFile::from_source(npz(&[pose(12, 1.0), rgbd(12, image)]), options)
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    assert!(open(DpfOptions { crop: Crop::Centre(3), ..options() }).contains("does not fit"));
    assert!(open(DpfOptions { depth: true, ..options() }).contains("no depth channel"));
    assert!(open(DpfOptions { pixel_noise: f32::NAN, ..options() }).contains("pixel_noise is NaN"));
    assert!(open(DpfOptions { steps_per_episode: Some(0), ..options() }).contains("--steps-per-episode"));
}

#[test]
fn the_writer_refuses_episodes_that_do_not_fit() {
    let folder = folder("refuse");
    let path = folder.join("a.npz");
    let create = || DpfWriter::create(&path, Overwrite::Refuse, Method::Stored, "").unwrap();
    assert!(create().finish().unwrap_err().to_string().contains("without episodes"));
    let mut writer = create();
    writer.push(&recording(0)).unwrap();
    let mut short = recording(1);
    short.poses.pop();
    assert!(writer.push(&short).unwrap_err().to_string().contains("5 poses, 6 velocities and 6 images"));
    short.velocities.pop();
    short.images.pixels = Pixels::Bytes(vec![0; (STEPS - 1) * 8 * 9 * 4]);
    assert!(writer.push(&short).unwrap_err().to_string().contains("equally many steps"));
    let mut small = recording(1);
    small.images.height = 4;
    assert!(writer.push(&small).unwrap_err().to_string().contains("12 images"));
    small.images.pixels = Pixels::Bytes(vec![0; STEPS * 4 * 9 * 4]);
    assert!(writer.push(&small).unwrap_err().to_string().contains("images of the same size"));
    small.images.channels = 2;
    assert!(writer.push(&small).unwrap_err().to_string().contains("4 x 9 x 2"));
    drop(writer);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "nothing half-written stays");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Mazes rendered by the real engine: known sizes, step statistics, and motions that compose.
#[test]
fn real_recordings() {
    let Some(data) = std::env::var_os("DRIFTLESS_DATA").map(|folder| PathBuf::from(folder).join("dmlab"))
    else {
        eprintln!("SKIPPED: real recordings; set DRIFTLESS_DATA to the folder that holds dmlab/");
        return;
    };
    if !data.is_dir() {
        eprintln!("SKIPPED: real recordings; {} is not there", data.display());
        return;
    }
    // Name, episodes, mean |step| per axis, mean |turn|, as their makers state them.
    for (name, episodes, step, turn) in
        [("nav01_train", 200, 49.0, 1.04), ("nav01_test", 100, 49.0, 1.04), ("nav02_train", 100, 58.0, 0.99)]
    {
        let file = DpfFile::open(data.join(format!("{name}.npz")), DpfOptions::default()).unwrap();
        assert_eq!(file.len(), episodes);
        let (mut steps, mut turns, mut count) = (0.0, 0.0, 0.0);
        for index in 0..episodes {
            let episode = file.get(index).unwrap();
            assert_eq!((episode.len(), images(&episode).stride()), (99, 32 * 32 * 3));
            let pose = |t: usize| {
                let state = episode.states.get(t).unwrap();
                Pose::new(state[0].into(), state[1].into(), state[2].into())
            };
            for t in 1..99 {
                let action = [0, 1, 2].map(|i| f64::from(episode.actions.row(t)[i]));
                let (from, to) = (pose(t - 1), pose(t));
                let moved = from.moved(action, Frame::Reflected);
                assert!(moved.distance(to) < 1e-3 && wrap(moved.heading - to.heading).abs() < 1e-5);
                steps += f64::midpoint((to.x - from.x).abs(), (to.y - from.y).abs());
                turns += wrap(to.heading - from.heading).abs();
                count += 1.0;
            }
        }
        assert!((steps / count - step).abs() < 2.5, "{name}: {}", steps / count);
        assert!((turns / count - turn).abs() < 0.03, "{name}: {}", turns / count);
    }
}
