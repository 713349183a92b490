//! A run trained by commands is put to use on a robot by the library.

use crate::terminal::{Folder, SMALL, run};
use driftless::online::{Frame, Start, Step, Tracker};
use driftless_world::Dataset;
use driftless_world::files::dpf::{DpfFile, DpfOptions};

fn train(folder: &Folder, data: &str, experiment: &str) -> String {
    let to = folder.path(experiment);
    let arguments = ["train", experiment, "--train", data, "--run", &to];
    run(0, &[&arguments, &SMALL[..], &["epochs=1"]].concat());
    to
}

/// RGB bytes of the frames of an episode, and the actions between them.
fn recording(path: &str) -> (Vec<Vec<u8>>, Vec<[f64; 3]>) {
    let file = DpfFile::open(path, DpfOptions::default()).unwrap();
    let (episode, images) = (file.get(0).unwrap(), file.recording(0).unwrap().images);
    let byte = |i: usize| images.pixels.get(i) as u8;
    let frame = |t: usize| {
        let pixels = (t * images.stride()..(t + 1) * images.stride()).step_by(images.channels);
        pixels.flat_map(|i| [byte(i), byte(i + 1), byte(i + 2)]).collect()
    };
    let action = |t: usize| [0, 1, 2].map(|k| f64::from(episode.actions.row(t)[k]));
    ((1..images.len()).map(frame).collect(), (0..episode.actions.len()).map(action).collect())
}

fn seen(pixels: Option<&[u8]>, odometry: Option<[f64; 3]>) -> Step<'_> {
    let image = pixels.map(|pixels| Frame { size: [16, 16, 3], pixels });
    Step { image, odometry, ..Step::default() }
}

#[test]
fn a_run_is_put_to_use() {
    let folder = Folder::new("underway");
    let data = folder.recordings("a.npz", "1");
    let (frames, actions) = recording(&folder.recordings("b.npz", "2"));
    for experiment in ["maze-driftless", "maze-sdpf-released"] {
        let trained = train(&folder, &data, experiment);
        let track = |seed: u64| {
            let mut tracker =
                Tracker::open(&trained, Start { particles: Some(40), seed, ..Start::default() }).unwrap();
            let [height, width] = tracker.image_size();
            assert_eq!(frames[0].len(), 3 * height * width);
            let step = |(frame, action): (&Vec<u8>, &[f64; 3])| {
                tracker.step(seen(Some(frame), Some(*action))).unwrap()
            };
            frames.iter().zip(&actions).map(step).collect::<Vec<_>>()
        };
        let found = track(1);
        assert!(
            found.len() == actions.len() && found.iter().all(|e| e.pose.x.is_finite() && e.particles >= 40)
        );
        assert_eq!(found, track(1), "{experiment}: the same seed, the same track");
        assert_ne!(found, track(2), "{experiment}: another seed, another track");
        let mut tracker = Tracker::open(&trained, Start::default()).unwrap();
        let error = tracker.step(seen(Some(&[0; 10]), None)).unwrap_err().to_string();
        assert!(error.contains("has 10 bytes"), "{error}");
        let nowhere = tracker.step(seen(None, Some([f64::NAN, 0.0, 0.0]))).unwrap();
        assert!(!nowhere.saw && !nowhere.moved && nowhere.pose.x.is_finite());
    }
    let none = Tracker::open(folder.path("maze-driftless"), Start { particles: Some(0), ..Start::default() });
    assert!(none.map(|_| ()).unwrap_err().to_string().contains("particles"));
    let lstm = train(&folder, &data, "maze-lstm");
    let error = Tracker::open(lstm, Start::default()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("cannot track step by step"), "{error}");
}
