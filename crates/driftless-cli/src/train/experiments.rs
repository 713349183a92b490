//! The experiments that come with the program, and those that are read from files.

use crate::usage::{Usage, misused};
use anyhow::Result;
use driftless::config::nearest_name;
use driftless::learn::Experiment;
use driftless_world::files::Source;
use std::path::Path;

macro_rules! experiments {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../experiments/", $name, ".toml")))),*]
    };
}

/// Names and texts, part of the program so that it works anywhere.
const BUILT_IN: [(&str, &str); 13] = experiments![
    "maze-sdpf",
    "maze-dpf",
    "maze-lstm",
    "maze-sdpf-paper",
    "maze-sdpf-released",
    "maze-dpf-released",
    "maze-dpf-jonschkowski",
    "house-sdpf",
    "house-dpf",
    "house-sdpf-paper",
    "house-lstm",
    "house-odometry",
    "house-classical",
];

/// An experiment by its name, or from a file, with some of its settings replaced.
///
/// What is wrong with the name or with a replaced setting is wrong usage; what is wrong with a file is not.
pub fn find(name: &str, settings: &[String]) -> Result<Experiment> {
    let text = text(name)?;
    Experiment::parse(&text, &[]).map_err(|error| error.in_file(name))?;
    Experiment::parse(&text, settings).map_err(|error| Usage(error.to_string()).into())
}

fn text(name: &str) -> Result<String> {
    if let Some((_, text)) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name) {
        return Ok((*text).to_owned());
    }
    if Path::new(name).exists() {
        // No experiment is longer than a mebibyte; a device would never end.
        return Ok(Source::open(name)?.read_text(1 << 20).map_err(|error| error.in_file(name))?);
    }
    let names = BUILT_IN.map(|(name, _)| name);
    let advice = nearest_name(name, names).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    misused!("{name}: is neither a built-in experiment nor a file{advice} (built in: {})", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless::learn::{MethodName, PresetName, WorldKind};

    #[test]
    fn all_that_are_built_in_can_be_read() {
        for (name, text) in BUILT_IN {
            let experiment = find(name, &[]).unwrap();
            let epochs = match (experiment.world, experiment.preset) {
                (WorldKind::House, _)
                    if [MethodName::Odometry, MethodName::Classical].contains(&experiment.method) =>
                {
                    1
                }
                (WorldKind::House, _) => 12,
                (WorldKind::Maze, PresetName::Driftless) => 60,
                (WorldKind::Maze, _) => 299,
            };
            assert_eq!(experiment.epochs, epochs, "{name}");
            assert!(text.starts_with("# "), "{name} says what it is");
        }
        let twin = find("maze-dpf", &["seed=7".into()]).unwrap();
        assert_eq!((twin.method, twin.seed), (MethodName::Dpf, 7));
    }

    #[test]
    fn whose_mistake_it_is() {
        let wrong = |name: &str, settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
            let error = find(name, &settings).unwrap_err();
            (error.is::<Usage>(), error.to_string())
        };
        let (usage, words) = wrong("maze-sdfp", &[]);
        assert!(
            usage && words.contains("did you mean `maze-sdpf`?") && words.contains("maze-lstm"),
            "{words}"
        );
        let (usage, words) = wrong("maze-sdpf", &["lables=1"]);
        assert!(usage && words.contains("did you mean `labels`?"), "{words}");
        let file = std::env::temp_dir().join(format!("driftless-experiment-{}.toml", std::process::id()));
        std::fs::write(&file, "seed = 1\nlables = 1\n").unwrap();
        let (usage, words) = wrong(&file.to_string_lossy(), &[]);
        assert!(!usage && words.contains("line 2: unknown field `lables`"), "{words}");
        std::fs::remove_file(file).unwrap();
    }
}
