//! A method of two numbers, trained, cut off and taken up again.

use super::*;
use crate::learn::data::Source;
use burn::tensor::DType;
use driftless_world::evaluation::Track;
use driftless_world::labels::LabelBudget;
use driftless_world::pose::Pose;
use driftless_world::random::Random;
use driftless_world::trajectory::{Images, Labels, Observations, Pixels, Rows};
use std::fs;
use std::path::{Path, PathBuf};

/// Estimates one place for all; wanders by itself, and remembers how far it went last.
struct Toy {
    place: f64,
    speed: f64,
    fails_at: Option<(u64, EpochReport)>,
}

fn number(name: &str, value: f64) -> Named {
    Named { name: name.to_owned(), shape: vec![1], precision: DType::F64, values: vec![value] }
}

impl Method for Toy {
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        if let Some((_, report)) = self.fails_at.as_ref().filter(|(number, _)| *number == epoch) {
            return Ok(report.clone());
        }
        let drawn = Random::stream(7, epoch).normal();
        self.speed = 0.5 * self.speed + drawn;
        self.place += self.speed;
        let losses = vec![("loss".to_owned(), self.place), (format!("part{}", epoch % 2), drawn)];
        Ok(EpochReport { losses, updates: lessons.len() as u64, ..EpochReport::default() })
    }

    fn track(&self, episodes: &[Trajectory], _: Tracking) -> Result<Vec<Track>> {
        let poses = |x: f64, steps: usize| vec![Pose::new(x, 0.0, 0.0); steps];
        let track =
            |episode: &Trajectory| Track::new(poses(0.0, episode.len()), poses(self.place, episode.len()));
        Ok(episodes.iter().map(track).collect())
    }

    fn parameters(&self) -> Vec<Named> {
        vec![number("place", self.place)]
    }

    fn memory(&self) -> Vec<Named> {
        vec![number("speed", self.speed)]
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.place = parameters[0].values[0];
        self.speed = memory.map_or(0.0, |memory| memory[0].values[0]);
        Ok(())
    }
}

#[allow(clippy::unnecessary_wraps)] // every builder may fail, this one does not
fn toy(_: &Experiment, _: &Normalisation) -> Result<Box<dyn Method>> {
    Ok(Box::new(Toy { place: 3.0, speed: 0.0, fails_at: None }))
}

fn episode() -> Trajectory {
    let images = Images { height: 1, width: 1, channels: 1, pixels: Pixels::Bytes(vec![1, 2]) };
    let rows = |values: [f32; 6]| Rows::new(3, values.to_vec()).unwrap();
    let states = Labels::all(rows([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]));
    Trajectory::new(Observations::Images(images), rows([1.0; 6]), states).unwrap()
}

fn material(validation: usize) -> Material {
    let source: Box<dyn Source> = Box::new(vec![episode(); 2]);
    let training = TrainingSet::new(source, 0..2, LabelBudget::new(1.0, 1).unwrap()).unwrap();
    Material { training, validation: vec![episode(); validation] }
}

fn config(epochs: u64) -> RunConfig {
    RunConfig::new(Experiment { epochs, ..Experiment::default() }, DataFiles::default())
}

/// Stops after some epochs, and does something before each is written down.
struct Watcher<'a> {
    left: u64,
    before_writing: &'a dyn Fn(u64),
}

impl Observer for Watcher<'_> {
    fn seconds(&mut self) -> f64 {
        1.0
    }

    fn epoch(&mut self, record: &EpochRecord) {
        self.left -= 1;
        (self.before_writing)(record.epoch);
    }

    fn wants_to_stop(&mut self) -> bool {
        self.left == 0
    }
}

fn watcher(left: u64) -> Watcher<'static> {
    Watcher { left, before_writing: &|_| {} }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("driftless-session-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn begin(&self, epochs: u64, validation: usize) -> Session {
        Session::begin(&self.0, config(epochs), material(validation), &toy).unwrap()
    }

    fn resume(&self) -> Result<Session> {
        Session::resume(RunFolder::open(&self.0)?, material(3), &toy)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What must not depend on interruptions: weights, checkpoint, and metrics without their seconds.
fn result(folder: &Path) -> (Vec<u8>, Vec<u8>, String) {
    let metrics = fs::read_to_string(folder.join("metrics.csv")).unwrap();
    let timeless = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        [&fields[..2], &fields[3..]].concat().join(",")
    };
    let metrics = metrics.lines().map(timeless).collect::<Vec<_>>().join("\n");
    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    (bytes("best.safetensors"), bytes("checkpoint.safetensors"), metrics)
}

#[test]
fn interrupted_is_as_good_as_not() {
    let (whole, parts) = (Folder::new("whole"), Folder::new("parts"));
    assert_eq!(whole.begin(12, 3).run(&mut watcher(99)).unwrap(), Outcome::Finished);
    assert_eq!(parts.begin(12, 3).run(&mut watcher(1)).unwrap(), Outcome::Stopped { epoch: 1 });
    for _ in 0..2 {
        parts.resume().unwrap().run(&mut watcher(4)).unwrap();
    }
    // A full disk, or a crash, after the log and before the checkpoint. What is put back is the one
    // after 1 + 4 + 4 epochs, older than the log.
    let block = parts.0.join("checkpoint.safetensors");
    let kept = fs::read(&block).unwrap();
    let blocking = |epoch| {
        if epoch == 11 {
            fs::remove_file(&block).unwrap();
            fs::create_dir(&block).unwrap();
        }
    };
    let mut session = parts.resume().unwrap();
    let failed = session.run(&mut Watcher { left: 99, before_writing: &blocking });
    assert!(failed.unwrap_err().to_string().contains("checkpoint.safetensors"));
    drop(session);
    fs::remove_dir(&block).unwrap();
    fs::write(&block, kept).unwrap();
    fs::write(parts.0.join(".best.safetensors.partial-1"), "half").unwrap();
    let mut session = parts.resume().unwrap();
    assert_eq!(session.epochs(), 9);
    assert_eq!(session.run(&mut watcher(99)).unwrap(), Outcome::Finished);
    assert!(result(&whole.0) == result(&parts.0), "{}\n{}", result(&whole.0).2, result(&parts.0).2);
    assert!(!parts.0.join(".best.safetensors.partial-1").exists());
    drop(session);
    assert_eq!(parts.resume().unwrap().run(&mut watcher(99)).unwrap(), Outcome::Finished);
    assert_eq!(result(&whole.0), result(&parts.0));
}

/// Somebody else has the folder since epoch 3.
struct Robbed;

impl Observer for Robbed {
    fn seconds(&mut self) -> f64 {
        1.0
    }

    fn epoch(&mut self, record: &EpochRecord) {
        assert_eq!(record.epoch, 3, "no epoch is trained after the one that may not be written");
    }

    fn may_write(&mut self) -> bool {
        false
    }
}

#[test]
fn what_may_not_be_written_is_not() {
    let (whole, robbed) = (Folder::new("not-robbed"), Folder::new("robbed"));
    whole.begin(5, 3).run(&mut watcher(99)).unwrap();
    robbed.begin(5, 3).run(&mut watcher(2)).unwrap();
    let before = result(&robbed.0);
    assert_eq!(robbed.resume().unwrap().run(&mut Robbed).unwrap(), Outcome::Stopped { epoch: 2 });
    assert!(result(&robbed.0) == before, "not a byte");
    robbed.resume().unwrap().run(&mut watcher(99)).unwrap();
    assert!(result(&whole.0) == result(&robbed.0));
}

/// The loss is the place, and the truth is 0: the best epoch is the one whose loss is nearest to 0.
#[test]
fn the_best_weights_are_kept() {
    let folder = Folder::new("best");
    let mut session = folder.begin(12, 3);
    session.run(&mut watcher(99)).unwrap();
    let places: Vec<f64> = session.records().iter().map(|record| record.loss.unwrap()).collect();
    let nearest = places.iter().copied().min_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap();
    assert_ne!(nearest, places[11], "the test needs a best epoch that is not the last");
    let trained = Trained::open(&folder.0, &toy).unwrap();
    assert_eq!(trained.method.parameters(), [number("place", nearest)]);
    let metrics = fs::read_to_string(folder.0.join("metrics.csv")).unwrap();
    assert!(metrics.starts_with("epoch,update,seconds,loss,loss.part0,loss.part1,validation_distance,"));
    let second: Vec<&str> = metrics.lines().nth(2).unwrap().split(',').collect();
    assert_eq!((second[0], second[1], second[5]), ("2", "4", ""), "{metrics}");
    drop(session);
    let last = Folder::new("last");
    let mut session = last.begin(12, 0);
    session.run(&mut watcher(99)).unwrap();
    let trained = Trained::open(&last.0, &toy).unwrap();
    assert_eq!(trained.method.parameters(), [number("place", places[11])], "without validation");
}

#[test]
fn divergence_ends_a_run_and_keeps_the_best() {
    let report = |loss: f64, updates, skipped| EpochReport {
        losses: vec![("loss".to_owned(), loss)],
        updates,
        skipped,
        ..EpochReport::default()
    };
    let cases = [
        (report(f64::NAN, 3, 0), "became NaN"),
        (report(1.0, 0, 5), "all 5 updates were skipped"),
        (report(1.0, 0, 0), "nothing to learn from"),
    ];
    for (report, words) in cases {
        let folder = Folder::new("diverged");
        let build = |_: &Experiment, _: &Normalisation| -> Result<Box<dyn Method>> {
            Ok(Box::new(Toy { place: 3.0, speed: 0.0, fails_at: Some((4, report.clone())) }))
        };
        let mut session = Session::begin(&folder.0, config(9), material(2), &build).unwrap();
        let outcome = session.run(&mut watcher(99)).unwrap();
        let Outcome::Diverged { epoch: 4, why, best: Some(_) } = outcome else { panic!("{outcome:?}") };
        assert!(why.contains(words), "{why}");
        drop(session);
        assert_eq!(folder.resume().unwrap().epochs(), 3, "the failed epoch is not kept");
        assert!(Trained::open(&folder.0, &toy).is_ok());
    }
}

/// What a checkpoint lacks is not made up, and what a run was trained with stays.
#[test]
fn a_run_is_taken_up_whole_and_unchanged() {
    let folder = Folder::new("unchanged");
    folder.begin(2, 3).run(&mut watcher(1)).unwrap();
    let refused = |words: &str| {
        let error = folder.resume().map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    };
    let config = folder.0.join("config.toml");
    let settings = fs::read_to_string(&config).unwrap();
    fs::write(&config, settings.replace("batch_size = 32", "batch_size = 31")).unwrap();
    refused("config.toml: experiment.batch_size: is 31, but the run was trained with 32");
    fs::write(&config, settings.replace("epochs = 2", "epochs = 3")).unwrap();
    assert_eq!(folder.resume().unwrap().run(&mut watcher(99)).unwrap(), Outcome::Finished);
    let path = folder.0.join("checkpoint.safetensors");
    let mut less = Checkpoint::read(&path).unwrap();
    less.memory.push(number("steam", 1.0));
    less.write(&path).unwrap();
    refused("checkpoint.safetensors: is not complete: ");
    less.memory.pop();
    less.write(&path).unwrap();
    assert_eq!(folder.resume().unwrap().epochs(), 3);
    fs::remove_file(folder.0.join("best.safetensors")).unwrap();
    refused("best.safetensors: is missing: the best weights, of epoch ");
}

#[test]
fn folders_are_guarded() {
    let folder = Folder::new("guarded");
    assert!(RunFolder::open(&folder.0).unwrap_err().to_string().contains("holds no run"));
    let session = folder.begin(2, 3);
    let busy = RunFolder::open(&folder.0).unwrap_err().to_string();
    assert!(busy.contains("in use") && busy.contains(&std::process::id().to_string()), "{busy}");
    assert!(Trained::open(&folder.0, &toy).is_err_and(|error| error.to_string().contains("no weights yet")));
    drop(session);
    let there = RunFolder::create(&folder.0, &alone()).unwrap_err().to_string();
    assert!(there.contains("not empty") && there.contains("--resume"), "{there}");
    folder.resume().unwrap().run(&mut watcher(1)).unwrap();
    // Other data: one pixel differs.
    let mut other = material(0);
    let mut changed = episode();
    changed.observations =
        Observations::Images(Images { height: 1, width: 1, channels: 1, pixels: Pixels::Bytes(vec![1, 3]) });
    let budget = LabelBudget::new(1.0, 1).unwrap();
    other.training = TrainingSet::new(Box::new(vec![changed; 2]), 0..2, budget).unwrap();
    let error = Session::resume(RunFolder::open(&folder.0).unwrap(), other, &toy).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("not of these training data"), "{error}");
    fs::write(folder.0.join("log.jsonl"), "").unwrap();
    assert!(folder.resume().is_err_and(|error| error.to_string().contains("epochs 1 to 1")));
}

/// A walk of its own comes nearest at some epoch; five after it training ends, and a run that goes on ends at once.
#[test]
fn patience_ends_training() {
    let folder = Folder::new("patience");
    let mut patient = config(500);
    patient.experiment.patience = 5;
    let mut session = Session::begin(&folder.0, patient, material(3), &toy).unwrap();
    assert_eq!(session.run(&mut watcher(999)).unwrap(), Outcome::Finished);
    let (best, ended) = (session.best().unwrap().epoch, session.epochs());
    assert_eq!(ended, best + 5);
    assert!(session.records().iter().all(|record| record.validation.is_some()));
    drop(session);
    let mut again = folder.resume().unwrap();
    assert_eq!((again.run(&mut watcher(999)).unwrap(), again.epochs()), (Outcome::Finished, ended));
}

#[test]
fn not_every_epoch_is_validated() {
    let folder = Folder::new("every");
    let mut seldom = config(10);
    seldom.experiment.validation_every = 4;
    let mut session = Session::begin(&folder.0, seldom, material(3), &toy).unwrap();
    session.run(&mut watcher(99)).unwrap();
    let validated = session.records().iter().filter(|record| record.validation.is_some());
    assert_eq!(validated.map(|record| record.epoch).collect::<Vec<_>>(), [1, 4, 8, 10]);
    assert!(session.records().iter().all(|record| record.validation.is_some() || !record.best));
}
