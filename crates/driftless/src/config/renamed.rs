//! Names of version 0.1 and what they are called now, so that old files and habits get an answer.

/// Methods and the ends of experiments' names.
const METHODS: [(&str, &str); 3] =
    [("sdpf-paper", "sdpf"), ("dpf-released", "sdpf-supervised"), ("dpf-jonschkowski", "dpf")];

/// Keys, with underscores for hyphens.
const KEYS: [(&str, &str); 8] = [
    ("labels", "label_fraction"),
    ("validation", "validation_episodes"),
    ("batch", "batch_size"),
    ("without", "ablation"),
    ("rate", "learning_rate"),
    ("rate_factor", "learning_rate_factor"),
    ("rate_epochs", "learning_rate_epochs"),
    ("sharpness", "likelihood_tempering"),
];

/// What took the place of presets.
const PRESETS: &str = "; the method says it now: `driftless` or `driftless-supervised` (preset driftless), \
                       `sdpf` (paper), `sdpf-released` or `sdpf-supervised` (released-code)";

/// What a method of version 0.1 is called now, if it has another name.
pub fn renamed_method(old: &str) -> Option<&'static str> {
    METHODS.iter().find(|(name, _)| *name == old).map(|(_, now)| *now)
}

/// What to write instead of an unknown name, if it had a meaning and its successor is known here.
pub(super) fn advice<'a>(unknown: &str, mut known: impl Iterator<Item = &'a str>) -> Option<String> {
    let plain = unknown.replace('-', "_");
    if plain == "preset" {
        return known.any(|name| name == "method").then(|| PRESETS.to_owned());
    }
    let key = || KEYS.iter().find(|(old, _)| *old == plain).map(|(_, now)| *now);
    let now = renamed_method(unknown).or_else(key).unwrap_or(&plain);
    known.any(|name| name == now).then(|| format!("; `{unknown}` is now called `{now}`"))
}
