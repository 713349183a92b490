//! Where the figures of an evaluation come from: all settings, what differs from the built-in experiment, the commands.

use super::Trial;
use crate::output::typed;
use crate::train::experiment;
use anyhow::Result;
use driftless::learn::{Experiment, RunConfig, WorldKind};
use driftless_report::Provenance;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What a record names by itself.
const NAMED: [&str; 4] = ["method", "world", "label_fraction", "seed"];
/// A method that sees nothing, and settings of what is seen.
const BLIND: &str = "odometry";
const SEEN: [&str; 4] = ["crop", "pixel_noise", "house.images", "house.maps"];

/// Of a run that is evaluated by a trial.
pub fn of(run: &Path, config: &RunConfig, trial: &Trial) -> Result<Provenance> {
    let own = &config.experiment;
    let name = format!("{}-{}", own.world, own.method.id);
    let usual = settings(&experiment(&name, &[])?)?;
    let differing = |all: &BTreeMap<String, Value>| -> Vec<String> {
        all.keys().filter(|key| all.get(*key) != usual.get(*key)).cloned().collect()
    };
    let trained = settings(own)?;
    let commands = vec![training(&name, &differing(&trained), &trained, config), evaluating(run, trial)];
    // What the robots live through in the evaluation is what the figures are of.
    let all = settings(&own.with(&trial.settings)?)?;
    let changed = differing(&all);
    let mut settings: BTreeMap<String, Value> =
        all.into_iter().filter(|(key, _)| !NAMED.contains(&key.as_str())).collect();
    if own.method.id == BLIND {
        SEEN.iter().filter_map(|key| settings.get_mut(*key).map(Value::take)).for_each(drop);
    }
    Ok(Provenance {
        driftless: env!("CARGO_PKG_VERSION").to_owned(),
        experiment: name,
        commands,
        filter_seed: trial.seed,
        changed: changed.into_iter().filter(|key| !NAMED.contains(&key.as_str())).collect(),
        settings,
    })
}

/// All settings of an experiment by name, as `house.images`.
fn settings(experiment: &Experiment) -> Result<BTreeMap<String, Value>> {
    let mut all = BTreeMap::new();
    flatten("", serde_json::to_value(experiment)?, &mut all);
    if experiment.world == WorldKind::House {
        // Left out by the experiment where it is as usual.
        flatten("house", serde_json::to_value(&experiment.house)?, &mut all);
    } else {
        all.retain(|key, _| !key.starts_with("house."));
    }
    if experiment.world == WorldKind::Robot {
        flatten("robot", serde_json::to_value(&experiment.robot)?, &mut all);
    }
    Ok(all)
}

fn flatten(outer: &str, value: Value, into: &mut BTreeMap<String, Value>) {
    let Value::Object(parts) = value else {
        into.insert(outer.to_owned(), without_folder(value));
        return;
    };
    for (key, value) in parts {
        let name = if outer.is_empty() { key } else { format!("{outer}.{key}") };
        flatten(&name, value, into);
    }
}

/// Folders are those of one machine, and say nothing to others.
fn without_folder(value: Value) -> Value {
    match value {
        Value::String(words) => Value::String(name_of(Path::new(&words)).unwrap_or(words)),
        Value::Array(parts) => Value::Array(parts.into_iter().map(without_folder).collect()),
        Value::Object(parts) => {
            Value::Object(parts.into_iter().map(|(key, value)| (key, without_folder(value))).collect())
        }
        other => other,
    }
}

fn name_of(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

fn file(path: &Path) -> String {
    typed(path.file_name().map_or(path, Path::new))
}

fn training(name: &str, changed: &[String], all: &BTreeMap<String, Value>, config: &RunConfig) -> String {
    let words = |value: &Value| match value {
        Value::String(words) => words.clone(),
        other => other.to_string(),
    };
    let setting = |key: &String| typed(Path::new(&format!("{key}={}", words(&all[key]))));
    let mut parts = vec![format!("driftless train {name} --train {}", file(&config.data.train))];
    parts.extend(config.data.more.iter().map(|more| format!("--train {}", file(more))));
    parts.extend(config.data.valid.iter().map(|valid| format!("--valid {}", file(valid))));
    // Sensors are what the log looks like, or stand in a file of one's own.
    parts.extend(changed.iter().filter(|key| *key != "sensor").map(setting));
    parts.join(" ")
}

fn evaluating(run: &Path, trial: &Trial) -> String {
    let mut text =
        format!("driftless evaluate {} --data {} --seed {}", file(run), file(&trial.data), trial.seed);
    let options = [
        ("--particles", trial.particles.map(|count| count.to_string())),
        ("--episodes", trial.episodes.map(|count| count.to_string())),
        ("--odometry-noise", trial.odometry_noise.map(|noise| noise.to_string())),
        ("--steps-per-episode", trial.steps.map(|steps| steps.to_string())),
    ];
    for (option, value) in options {
        text.extend(value.map(|value| format!(" {option} {value}")));
    }
    text.extend(trial.settings.iter().map(|setting| format!(" {}", typed(Path::new(setting)))));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless::learn::DataFiles;

    fn provenance(name: &str, changed: &[&str]) -> Provenance {
        let changed: Vec<String> = changed.iter().map(ToString::to_string).collect();
        let data = DataFiles { train: "/home/me/a b.npz".into(), ..DataFiles::default() };
        let config = RunConfig::new(experiment(name, &changed).unwrap(), data);
        let trial = Trial {
            data: "/home/me/test.npz".into(),
            steps: None,
            particles: Some(300),
            settings: Vec::new(),
            episodes: None,
            seed: 4,
            odometry_noise: None,
            play: 0,
            maze: None,
            map: None,
        };
        of(Path::new("/home/me/runs/ours"), &config, &trial).unwrap()
    }

    #[test]
    fn commands_can_be_typed_again_without_folders() {
        let seen = provenance(
            "house-classical",
            &["epochs=3", "seed=2", "house.images=rgb", "house.weights=/tmp/w.st"],
        );
        assert_eq!(
            seen.commands,
            [
                "driftless train house-classical --train 'a b.npz' epochs=3 house.images=rgb house.weights=w.st seed=2",
                "driftless evaluate ours --data test.npz --seed 4 --particles 300"
            ]
        );
        assert_eq!(seen.changed, ["epochs", "house.images", "house.weights"]);
        assert_eq!(
            (&seen.settings["house.images"], &seen.settings["house.start"]),
            (&"rgb".into(), &"tracking".into())
        );
        assert!(NAMED.iter().all(|name| !seen.settings.contains_key(*name)));
    }

    /// A setting that nobody changed is there too, also where an experiment is as usual in all of a table.
    #[test]
    fn every_setting_is_there() {
        let odometry = provenance("house-odometry", &[]);
        assert!(odometry.changed.is_empty() && odometry.settings.contains_key("house.start_metres"));
        assert_eq!(odometry.settings["house.images"], Value::Null, "it sees none");
        let maze = provenance("maze-driftless", &["pixel_noise=5.0"]);
        assert_eq!(
            (maze.changed, &maze.settings["pixel_noise"]),
            (vec!["pixel_noise".to_owned()], &5.0.into())
        );
        assert!(!maze.settings.keys().any(|key| key.starts_with("house")));
    }
}
