//! Noise, crops and frames of recordings, and mazes told by names.

use super::*;
use crate::batch::PixelScale;
use driftless_world::files::dpf::{DpfFile, DpfOptions, DpfWriter};
use driftless_world::files::{Overwrite, zip::Method};
use driftless_world::maze::MazeWorld;
use driftless_world::{Images, Observations, Pixels, Pose};

fn file(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("driftless-{name}-{}.npz", std::process::id()));
    let world = MazeWorld::new(Layout::built_in("maze2").unwrap(), 16, 16);
    let mut file = DpfWriter::create(&path, Overwrite::Replace, Method::Stored, "").unwrap();
    (0..2).for_each(|number| file.push(&world.episode(1, number, 9).into_recording()).unwrap());
    file.finish().unwrap();
    path
}

fn opened(path: &Path, seed: u64, purpose: Purpose) -> Recordings {
    let experiment = Experiment { crop: 12, ..Experiment::default() };
    Recordings::open(path, Some(9), &experiment, seed, purpose).unwrap()
}

#[test]
fn seed_purpose_and_draw_name_the_noise() {
    let path = file("noise");
    let training = |seed, draw| opened(&path, seed, Purpose::Training).episode(1, draw).unwrap();
    let first = training(1, 0);
    assert_eq!(first, training(1, 0));
    let redrawn = training(1, 1);
    assert!(first.actions == redrawn.actions && first.observations != redrawn.observations);
    let reseeded = training(2, 0);
    assert!(first.actions != reseeded.actions && first.observations != reseeded.observations);
    let evaluated = [Purpose::Training, Purpose::Validation, Purpose::Evaluation]
        .map(|purpose| opened(&path, 1, purpose).get(1).unwrap());
    assert!(evaluated[0].actions != evaluated[1].actions && evaluated[0].actions != evaluated[2].actions);
    assert!(evaluated[1].actions != evaluated[2].actions && evaluated[0].states == evaluated[1].states);
    let Observations::Images(images) = &first.observations else { panic!("images were recorded") };
    assert_eq!((images.height, images.channels, images.len()), (12, 3, 8));
    std::fs::remove_file(path).unwrap();
}

/// What is evaluated is what a robot online sees: the middle of each image.
#[test]
fn evaluation_sees_the_middle_as_online_use_does() {
    let path = file("middle");
    let experiment = Experiment { crop: 12, pixel_noise: 0.0, ..Experiment::default() };
    let normalised = |purpose: Purpose| {
        let recordings = Recordings::open(&path, Some(9), &experiment, 1, purpose).unwrap();
        let Observations::Images(images) = recordings.get(1).unwrap().observations else {
            panic!("images were recorded")
        };
        let scale = PixelScale::measure([&images]).unwrap();
        let (height, width, frames) = recordings.frames(1).unwrap();
        let (mut seen, mut online, mut one) = (Vec::new(), Vec::new(), Vec::new());
        scale.normalise(&images, &mut seen).unwrap();
        for frame in &frames {
            let pixels = Pixels::Bytes(frame.clone());
            assert!(scale.normalise_middle(&Images { height, width, channels: 3, pixels }, 0, &mut one));
            online.append(&mut one);
        }
        (seen, online)
    };
    for purpose in [Purpose::Validation, Purpose::Evaluation] {
        let (seen, online) = normalised(purpose);
        assert!(seen == online, "{purpose:?}");
    }
    let (seen, online) = normalised(Purpose::Training);
    assert!(seen != online, "training sees any part");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn frames_are_as_recorded_and_belong_to_their_steps() {
    let path = file("frames");
    let recordings = opened(&path, 1, Purpose::Evaluation);
    let (height, width, frames) = recordings.frames(1).unwrap();
    assert_eq!((height, width, frames.len()), (16, 16, recordings.get(1).unwrap().len()));
    let options = DpfOptions { steps_per_episode: Some(9), ..DpfOptions::default() };
    let images = DpfFile::open(&path, options).unwrap().recording(1).unwrap().images;
    // The second of recorded images, red, green and blue of its second pixel, after one of depth.
    let pixel = |c: usize| images.pixels.get(images.stride() + images.channels + c) as u8;
    assert_eq!(frames[0][3..6], [pixel(0), pixel(1), pixel(2)]);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn mazes_are_told_by_names_only_if_paths_stay_inside() {
    let inside = [Pose::new(10.0, 20.0, 0.0)];
    assert_eq!(guess_maze(Path::new("nav02_train.npz"), &inside).unwrap().name(), "maze2");
    assert!(guess_maze(Path::new("nav02_train.npz"), &[Pose::new(-1.0, 20.0, 0.0)]).is_none());
    assert!(guess_maze(Path::new("kitchen.npz"), &inside).is_none());
}
