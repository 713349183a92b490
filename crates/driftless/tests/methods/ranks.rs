//! Trainings that ranks share: the bytes of one process, whatever their number; one that is lost ends all, and what was
//! written goes on with another number of them.

use super::house;
use driftless::Result;
use driftless::learn::{
    AllRanks, DataFiles, Detail, EpochReport, Experiment, HouseBlockStart, HousePseudoLikelihood,
    HouseSettings, Material, Method, Normalisation, Outcome, Played, RunConfig, RunFolder, SeenImages,
    Session, Tracking, Trained, TrainingSet, alone,
};
use driftless::methods::build;
use driftless::objective::Genealogy;
use driftless::parameters::Named;
use driftless_world::evaluation::Track;
use driftless_world::labels::LabelBudget;
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::random::Random;
use driftless_world::trajectory::Trajectory;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("driftless-ranks-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn of(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Eleven walks to learn from, of which one is held out, and three others.
fn maze() -> Material {
    let world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 8, 8);
    let one =
        |k: usize| world.episode(1, k, 5).into_trajectory(0.1, &mut Random::stream(1, k as u64)).unwrap();
    let all: Vec<Trajectory> = (0..14).map(one).collect();
    let validation = all[11..].to_vec();
    let training = TrainingSet::new(Box::new(all), 0..11, LabelBudget::new(0.5, 1).unwrap()).unwrap();
    Material { training, validation }
}

fn in_a_maze(method: &str, kernels: bool) -> Experiment {
    Experiment {
        method: method.parse().unwrap(),
        label_fraction: 0.5,
        particles: 6,
        batch_size: 10,
        epochs: 2,
        kernels,
        ..Experiment::default()
    }
}

fn houses() -> Material {
    let validation = house::episodes(SeenImages::Rgb);
    Material { training: house::set(SeenImages::Rgb, 0.5), validation }
}

fn in_houses(method: &str) -> Experiment {
    let house = HouseSettings { updates: 2, ..house::experiment(method).house };
    Experiment { epochs: 2, batch_size: 3, house, ..house::experiment(method) }
}

/// All that a run leaves behind.
fn bytes(folder: &Path) -> Vec<Vec<u8>> {
    let names = ["config.toml", "normalisation.json", "log.jsonl", "metrics.csv", "best.safetensors"];
    names.iter().chain(&["checkpoint.safetensors"]).map(|name| fs::read(folder.join(name)).unwrap()).collect()
}

fn config(experiment: &Experiment) -> RunConfig {
    RunConfig::new(experiment.clone(), DataFiles::default())
}

/// Trains, and says whether updates were shared. Only the first rank has a folder to write into.
fn train(ranks: &AllRanks, folder: &Path, experiment: &Experiment, material: Material) -> bool {
    let folder = if ranks.rank() == 0 { folder } else { Path::new("/dev/null/nowhere") };
    let mut session = Session::begin_among(ranks, folder, config(experiment), material, &build).unwrap();
    assert_eq!(session.run(&mut ()).unwrap(), Outcome::Finished);
    session.shares_updates()
}

/// One process and two to four ranks; two are enough where all do the same.
fn compare(name: &str, shared: bool, experiment: &Experiment, material: fn() -> Material) {
    let folder = Folder::new(name);
    train(&alone(), &folder.of("1"), experiment, material());
    let expected = bytes(&folder.of("1"));
    for size in if shared { 2..=4 } else { 2..=2 } {
        let place = folder.of(&size.to_string());
        let found = Played::each(size, |ranks| {
            let ranks: AllRanks = Arc::new(ranks);
            train(&ranks, &place, experiment, material())
        });
        assert_eq!(found, vec![shared; size], "{name}");
        assert!(bytes(&place) == expected, "{name} on {size} ranks");
    }
}

#[test]
fn mazes_are_learned_by_any_number_of_ranks() {
    for method in ["driftless", "driftless-supervised", "sdpf", "sdpf-released", "sdpf-supervised"] {
        compare(method, true, &in_a_maze(method, true), maze);
    }
    for method in ["lstm", "regression", "dpf"] {
        compare(method, false, &in_a_maze(method, true), maze);
    }
    compare("tensors", false, &in_a_maze("sdpf-supervised", false), maze);
}

#[test]
fn houses_are_learned_by_any_number_of_ranks() {
    for (method, shared) in [("sdpf", true), ("pfnet", true), ("lstm", false)] {
        compare(&format!("house-{method}"), shared, &in_houses(method), houses);
    }
    // Paths are drawn in the sixth epoch.
    for method in ["driftless", "driftless-supervised"] {
        let experiment = Experiment { epochs: 6, batch_size: 10, ..in_houses(method) };
        compare(&format!("house-{method}"), true, &experiment, houses);
    }
    let pseudo_likelihood = HousePseudoLikelihood {
        genealogy: Genealogy::Final,
        start: HouseBlockStart::Carried,
        ..HousePseudoLikelihood::default()
    };
    let house = HouseSettings { pseudo_likelihood, ..in_houses("sdpf").house };
    compare("house-final", true, &Experiment { house, ..in_houses("sdpf") }, houses);
}

/// Evaluations are shared, too, with everything that tracks tell.
#[test]
fn tracks_are_those_of_one_process() {
    let folder = Folder::new("tracks");
    train(&alone(), &folder.of("run"), &in_a_maze("driftless", true), maze());
    for detail in [Detail::Means, Detail::Densities, Detail::Clouds] {
        let track = |ranks: &AllRanks| -> Vec<Track> {
            let mut trained = Trained::open(folder.of("run"), &build).unwrap();
            trained.method.share_with(ranks);
            trained.method.track(&maze().validation, Tracking { particles: 20, seed: 5, detail }).unwrap()
        };
        let expected = track(&alone());
        let found = Played::each(2, |ranks| track(&(Arc::new(ranks) as AllRanks)));
        assert!(found.iter().all(|tracks| *tracks == expected), "{detail:?}");
    }
}

/// A method that fails, or comes to other numbers, in the second epoch.
struct Faulty {
    method: Box<dyn Method>,
    fails: bool,
}

impl Method for Faulty {
    fn train(&mut self, epoch: u64, lessons: &TrainingSet) -> Result<EpochReport> {
        if epoch == 2 && self.fails {
            return Err(driftless_world::Error::new("the disk is gone").into());
        }
        let report = self.method.train(epoch, lessons)?;
        if epoch == 2 {
            let mut other = self.method.parameters();
            other[0].values[0] += 1.0;
            self.method.restore(&other, Some(&self.method.memory()))?;
        }
        Ok(report)
    }

    fn track(&self, episodes: &[Trajectory], how: Tracking) -> Result<Vec<Track>> {
        self.method.track(episodes, how)
    }

    fn share_with(&mut self, ranks: &AllRanks) -> bool {
        self.method.share_with(ranks)
    }

    fn parameters(&self) -> Vec<Named> {
        self.method.parameters()
    }

    fn memory(&self) -> Vec<Named> {
        self.method.memory()
    }

    fn restore(&mut self, parameters: &[Named], memory: Option<&[Named]>) -> Result<()> {
        self.method.restore(parameters, memory)
    }
}

/// Three ranks, of which the second goes wrong; then two that go on. What all of them say.
fn gone_wrong(folder: &Path, fails: bool, experiment: &Experiment) -> Vec<String> {
    let said = Played::each(3, |ranks| {
        let ranks: AllRanks = Arc::new(ranks);
        let faulty = |experiment: &Experiment, normalisation: &Normalisation| -> Result<Box<dyn Method>> {
            Ok(Box::new(Faulty { method: build(experiment, normalisation)?, fails }))
        };
        let wrong = ranks.rank() == 1;
        let build: driftless::learn::Build = if wrong { &faulty } else { &build };
        let mut session = Session::begin_among(&ranks, folder, config(experiment), maze(), build).unwrap();
        session.run(&mut ()).unwrap_err().to_string()
    });
    let gone_on = Played::each(2, |ranks| {
        let ranks: AllRanks = Arc::new(ranks);
        let mut session =
            Session::resume(RunFolder::open_among(folder, &ranks).unwrap(), maze(), &build).unwrap();
        (session.epochs(), session.run(&mut ()).unwrap())
    });
    assert_eq!(gone_on, [(1, Outcome::Finished), (1, Outcome::Finished)]);
    said
}

#[test]
fn a_lost_rank_ends_all_and_others_go_on() {
    let (folder, experiment) = (Folder::new("lost"), in_a_maze("sdpf-supervised", true));
    train(&alone(), &folder.of("whole"), &experiment, maze());
    let said = gone_wrong(&folder.of("lost"), true, &experiment);
    assert!(said[0].ends_with("is gone") && said[2].ends_with("is gone"), "{said:?}");
    assert_eq!(said[1], "the disk is gone");
    assert!(bytes(&folder.of("lost")) == bytes(&folder.of("whole")));
    let said = gone_wrong(&folder.of("other"), false, &experiment);
    assert!(said.iter().all(|said| said.starts_with("rank 1 came to other weights than rank 0 in epoch 2")));
    assert!(bytes(&folder.of("other")) == bytes(&folder.of("whole")));
}

#[test]
fn other_data_are_named() {
    let folder = Folder::new("data");
    let said = Played::each(3, |ranks| {
        let ranks: AllRanks = Arc::new(ranks);
        let mut config = config(&in_a_maze("sdpf-supervised", true));
        config.data.train_fingerprint = if ranks.rank() == 2 { "b2" } else { "a1" }.to_owned();
        let begun = Session::begin_among(&ranks, folder.of("run"), config, maze(), &build);
        begun.map(|_| ()).unwrap_err().to_string()
    });
    let expected =
        "rank 2 has other settings or data: data.train_fingerprint is \"b2\" there, and \"a1\" on rank 0";
    assert!(said.iter().all(|said| said.starts_with(expected)), "{said:?}");
    assert!(!folder.of("run").exists());
}
