//! The experiments that come with the program, and those that are read from files.

use crate::output::complain;
use crate::usage::{Usage, misused};
use anyhow::Result;
use driftless::config::{nearest_name, renamed_method};
use driftless::learn::{Experiment, WorldKind, describe};
use driftless_world::files::{Format, Holds, Source};
use std::path::Path;

/// Names and texts of the folder `experiments`, part of the program so that it works anywhere.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

/// What a plain log is learned by if nothing else is asked for.
const OWN_ROBOT: &str = "robot-driftless";

/// Names that mean something else than in version 0.1, and what is called now what they meant.
const OTHER_MEANING: [(&str, &str); 3] = [
    ("maze-sdpf", "maze-driftless"),
    ("maze-dpf", "maze-driftless-supervised"),
    ("house-sdpf", "house-driftless"),
];

/// The names of all that are built in.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// An experiment by its name, or from a file, with some of its settings replaced.
///
/// What is wrong with the name or with a replaced setting is wrong usage; what is wrong with a file is not.
pub fn find(name: &str, settings: &[String]) -> Result<Experiment> {
    let text = text(name)?;
    Experiment::parse(&text, &[]).map_err(|error| error.in_file(name))?;
    Experiment::parse(&text, settings).map_err(|error| Usage(error.to_string()).into())
}

/// The experiment that a command asks for: by name, or as a robot's own log looks. What is chosen is said on standard
/// error, if wanted.
pub fn wanted(
    mut name: Option<&str>,
    settings: &[String],
    recordings: &Path,
    told: bool,
) -> Result<Experiment> {
    let mut settings = settings.to_vec();
    if let Some(setting) = name.filter(|name| name.contains('=')) {
        // Without an experiment, the first word is a setting.
        settings.insert(0, setting.to_owned());
        name = None;
    }
    let kind = Format::of(recordings)?;
    if name.is_none() && kind.holds != Holds::Logs {
        let names: Vec<&str> = names().collect();
        misused!(
            "{}: holds {kind}; say which experiment to run (built in: {})",
            recordings.display(),
            names.join(", ")
        );
    }
    let name = name.unwrap_or(OWN_ROBOT);
    let mut experiment = find(name, &settings)?;
    find_files(&mut experiment, name);
    if let Some(note) = note(name).filter(|_| told) {
        complain(&note);
    }
    if experiment.world != WorldKind::Robot || kind.holds != Holds::Logs {
        return Ok(experiment);
    }
    let described = describe(&experiment, recordings)?;
    described.notes.iter().filter(|_| told).for_each(|note| complain(note));
    Ok(described.experiment)
}

/// Maps and beacons that lie beside the experiment's file are meant by their name alone; others by their path.
fn find_files(experiment: &mut Experiment, name: &str) {
    let Some(folder) = Path::new(name).parent().filter(|_| Path::new(name).is_file()) else { return };
    let sensors = experiment.sensor.iter_mut().flat_map(|sensor| [&mut sensor.map, &mut sensor.beacons]);
    let robot = [&mut experiment.robot.map, &mut experiment.robot.beacons];
    for file in sensors.chain(robot).filter(|file| !file.is_empty()) {
        let beside = folder.join(&*file);
        if beside.is_file() {
            *file = beside.to_string_lossy().into_owned();
        }
    }
}

/// What somebody should know who knows a name from version 0.1.
pub fn note(name: &str) -> Option<String> {
    let (_, now) = OTHER_MEANING.iter().find(|(other, _)| *other == name)?;
    Some(format!("note: what version 0.1 called {name} is now {now}"))
}

fn text(name: &str) -> Result<String> {
    if let Some((_, text)) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name) {
        return Ok((*text).to_owned());
    }
    if Path::new(name).exists() {
        // No experiment is longer than a mebibyte; a device would never end.
        return Ok(Source::open(name)?.read_text(1 << 20).map_err(|error| error.in_file(name))?);
    }
    if let Some(now) = renamed(name) {
        misused!("{name} is now called {now}");
    }
    let names: Vec<&str> = names().collect();
    let near = nearest_name(name, names.iter().copied());
    let advice = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    misused!("{name}: is neither a built-in experiment nor a file{advice} (built in: {})", names.join(", "))
}

/// What an experiment of version 0.1 is called now.
fn renamed(name: &str) -> Option<String> {
    if name == "house-dpf" {
        return Some("house-driftless-supervised".to_owned());
    }
    let (world, method) = name.split_once('-')?;
    let now = format!("{world}-{}", renamed_method(method)?);
    names().any(|name| name == now).then_some(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless::methods::{Learns, METHODS};

    #[test]
    fn all_that_are_built_in_can_be_read() {
        for (name, text) in BUILT_IN {
            let experiment = find(name, &[]).unwrap();
            let method = experiment.method;
            assert_eq!(*name, format!("{}-{}", experiment.world, method.id), "named by world and method");
            assert!(experiment.registered().is_some(), "{name}");
            let epochs = match experiment.world {
                WorldKind::House | WorldKind::Robot if method.learns == Learns::Nothing => 1,
                WorldKind::Robot if method.id == "driftless" => 6,
                WorldKind::Robot if ["driftless-supervised", "mcl"].contains(&method.id) => 1,
                WorldKind::Robot if method.id.starts_with("sdpf") => 60,
                WorldKind::Robot if method.id == "dpf" => 100,
                WorldKind::Robot | WorldKind::Maze if method.id == "histogram" => 10,
                WorldKind::Robot if ["ekf", "ukf", "pf-lstm", "pf-gru"].contains(&method.id) => 60,
                WorldKind::Robot => 30,
                WorldKind::House if method.id.starts_with("driftless") => 30,
                WorldKind::House => 12,
                WorldKind::Maze if method.id.starts_with("driftless") => 60,
                WorldKind::Maze if method.id == "regression" => 300,
                WorldKind::Maze if ["ekf", "ukf"].contains(&method.id) => 30,
                WorldKind::Maze if method.id.starts_with("pf-") => 100,
                WorldKind::Maze => 299,
            };
            assert_eq!(experiment.epochs, epochs, "{name}");
            assert!(text.starts_with("# "), "{name} says what it is");
        }
        let twin = find("maze-driftless-supervised", &["seed=7".into()]).unwrap();
        assert_eq!((twin.method.id, twin.seed), ("driftless-supervised", 7));
    }

    #[test]
    fn every_method_has_an_experiment_in_each_of_its_worlds() {
        for (method, world) in METHODS.iter().flat_map(|method| method.worlds().map(move |w| (method, w))) {
            assert!(names().any(|name| name == format!("{world}-{}", method.id)), "{world}-{}", method.id);
        }
    }

    fn wrong(name: &str, settings: &[&str]) -> (bool, String) {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let error = find(name, &settings).unwrap_err();
        (error.is::<Usage>(), error.to_string())
    }

    /// Recipes of others see the odometry that their authors had, which is exact; ours are harder on themselves, and so are
    /// filters whose recipe is ours.
    #[test]
    fn published_recipes_have_exact_odometry() {
        for (name, _) in BUILT_IN {
            let experiment = find(name, &[]).unwrap();
            let ours = ["driftless", "driftless-supervised", "ekf", "ukf", "histogram"];
            let ours = experiment.world == WorldKind::Maze && ours.contains(&experiment.method.id);
            assert_eq!(experiment.odometry_noise, if ours { 0.1 } else { 0.0 }, "{name}");
        }
    }

    #[test]
    fn whose_mistake_it_is() {
        let (usage, words) = wrong("maze-sdfp", &[]);
        assert!(
            usage && words.contains("did you mean `maze-sdpf`?") && words.contains("maze-lstm"),
            "{words}"
        );
        let (usage, words) = wrong("maze-sdpf", &["lable_fraction=1"]);
        assert!(usage && words.contains("did you mean `label_fraction`?"), "{words}");
        let file = std::env::temp_dir().join(format!("driftless-experiment-{}.toml", std::process::id()));
        std::fs::write(&file, "seed = 1\nlables = 1\n").unwrap();
        let (usage, words) = wrong(&file.to_string_lossy(), &[]);
        assert!(!usage && words.contains("line 2: unknown field `lables`"), "{words}");
        std::fs::remove_file(file).unwrap();
    }

    /// Version 0.1 had these names.
    #[test]
    fn old_names_answer_with_the_new() {
        for (old, now) in [
            ("maze-sdpf-paper", "maze-sdpf"),
            ("maze-dpf-released", "maze-sdpf-supervised"),
            ("maze-dpf-jonschkowski", "maze-dpf"),
            ("house-sdpf-paper", "house-sdpf"),
            ("house-dpf", "house-driftless-supervised"),
        ] {
            assert_eq!(wrong(old, &[]), (true, format!("{old} is now called {now}")));
        }
        for (old, now) in [
            ("labels=0.1", "`labels` is now called `label_fraction`"),
            ("validation=5", "`validation` is now called `validation_episodes`"),
            ("batch=5", "`batch` is now called `batch_size`"),
            ("without=[\"recovery\"]", "`without` is now called `ablation`"),
            ("odometry-noise=0", "`odometry-noise` is now called `odometry_noise`"),
            ("house.rate=1e-3", "`rate` is now called `learning_rate`"),
            ("house.rate-epochs=3", "`rate-epochs` is now called `learning_rate_epochs`"),
            ("house.sharpness=0.5", "`sharpness` is now called `likelihood_tempering`"),
            ("house.classical.beam.hit-deviation=1", "`hit-deviation` is now called `hit_deviation`"),
            ("preset=paper", "the method says it now"),
            ("method=dpf-jonschkowski", "`dpf-jonschkowski` is now called `dpf`"),
        ] {
            let (usage, words) = wrong("maze-driftless", &[old]);
            assert!(usage && words.contains(now), "{old}: {words}");
        }
        assert_eq!(
            note("maze-sdpf").unwrap(),
            "note: what version 0.1 called maze-sdpf is now maze-driftless"
        );
        assert_eq!(note("maze-lstm"), None);
    }
}
