//! Which runs belong together: the same method in the same world with the same share of labels.

use crate::record::told;
use crate::run::Run;
use driftless_world::About;
use std::collections::{BTreeMap, BTreeSet};

/// Where runs without an evaluation are filed.
const UNKNOWN: &str = "runs without an evaluation";

/// Share of labels in the paper's mazes.
const PAPER_SHARE: f64 = 0.1;

/// Runs that differ in their seed only.
pub(super) struct Group<'a> {
    /// What legends say.
    pub(super) label: String,
    /// Number of its colour, the same in all worlds and at all label shares.
    pub(super) colour: usize,
    /// Share of labels, 0..=1; none if unknown.
    pub(super) share: Option<f64>,
    pub(super) runs: Vec<&'a Run>,
}

impl Group<'_> {
    /// The share in words.
    pub(super) fn share_label(&self) -> String {
        self.share.map_or("unknown".into(), percent)
    }
}

/// All groups of one world, by label and share.
pub(super) struct World<'a> {
    pub(super) name: String,
    pub(super) groups: Vec<Group<'a>>,
}

impl World<'_> {
    /// The unit of length, as the first run that has one says; else "units".
    pub(super) fn unit(&self) -> &str {
        let mut about = self.groups.iter().flat_map(|group| &group.runs).filter_map(|run| run.about());
        about.next().map_or("units", About::unit)
    }

    /// All label shares, ascending.
    pub(super) fn shares(&self) -> Vec<f64> {
        let mut shares: Vec<f64> = self.groups.iter().filter_map(|group| group.share).collect();
        shares.sort_by(f64::total_cmp);
        shares.dedup();
        shares
    }

    /// The share that most groups have; of several, the one nearest to the paper's 10 %.
    pub(super) fn main_share(&self) -> Option<f64> {
        let count = |share: f64| self.groups.iter().filter(|group| group.share == Some(share)).count();
        let distance = |share: f64| (share - PAPER_SHARE).abs();
        let mut shares = self.shares();
        shares.sort_by(|a, b| count(*b).cmp(&count(*a)).then(distance(*a).total_cmp(&distance(*b))));
        shares.first().copied()
    }

    /// The groups with a label share.
    pub(super) fn at(&self, share: f64) -> impl Iterator<Item = &Group<'_>> {
        self.groups.iter().filter(move |group| group.share == Some(share))
    }
}

/// Everything, by world.
pub(super) struct Comparison<'a> {
    pub(super) worlds: Vec<World<'a>>,
}

impl<'a> Comparison<'a> {
    /// The unit of length, if all worlds have the same.
    pub(super) fn unit(&self) -> &str {
        let first = self.worlds.first().map_or("units", World::unit);
        if self.worlds.iter().all(|world| world.unit() == first) { first } else { "world's unit" }
    }

    pub(super) fn of(runs: &[&'a Run]) -> Self {
        let labels = labels(runs);
        let mut worlds: BTreeMap<String, BTreeMap<(String, u64), Group<'a>>> = BTreeMap::new();
        for run in runs {
            let about = run.about();
            let world = about.map_or(UNKNOWN, |about| about.world.as_str()).to_owned();
            let label = label_of(run, &labels);
            let share = about.map(|about| about.label_fraction).filter(|share| share.is_finite());
            // Shares are not negative, so their bits are in the same order as they are.
            let key = (label.clone(), share.map_or(u64::MAX, |share| share.max(0.0).to_bits()));
            let fresh = Group { label, colour: 0, share, runs: vec![] };
            worlds.entry(world).or_default().entry(key).or_insert(fresh).runs.push(run);
        }
        let names: BTreeSet<String> =
            worlds.values().flat_map(|groups| groups.values().map(|group| group.label.clone())).collect();
        let colour = |label: &str| names.iter().position(|name| name == label).unwrap_or(0);
        let coloured = |group: Group<'a>| Group { colour: colour(&group.label), ..group };
        let worlds = worlds
            .into_iter()
            .map(|(name, groups)| World { name, groups: groups.into_values().map(coloured).collect() });
        Self { worlds: worlds.collect() }
    }
}

/// Everything but world, labels and seed that tells evaluations apart: by name, in words.
type Setting = BTreeMap<String, String>;

/// What an evaluation may have otherwise than the training, and is told by itself.
const TOLD: [&str; 2] = ["particles", "odometry_noise"];

fn setting(run: &Run, about: &About) -> Setting {
    let own = [
        ("particles", format!("{} particles", about.particles)),
        ("odometry_noise", odometry(about.odometry_noise)),
        ("data", about.data.clone()),
    ];
    let settings = run.record.iter().flat_map(|record| &record.provenance.settings);
    let settings = settings.filter(|(name, value)| !TOLD.contains(&name.as_str()) && !value.is_null());
    let settings = settings.map(|(name, value)| (name.clone(), format!("{name}={}", told(value))));
    own.map(|(name, words)| (name.to_owned(), words)).into_iter().chain(settings).collect()
}

fn odometry(noise: f64) -> String {
    if noise == 0.0 { "exact odometry".into() } else { format!("odometry noise {noise}") }
}

/// The settings of each method within each world, of which labels mention what differs. The odometry of a world's
/// methods is compared with each other: one that had it exact is not to be mistaken for the better one.
fn labels<'a>(runs: &[&'a Run]) -> Labels<'a> {
    let mut settings = Labels::new();
    for (run, about) in runs.iter().filter_map(|run| Some((run, run.about()?))) {
        settings.entry((&about.world, &about.label)).or_default().insert(setting(run, about));
    }
    settings
}

/// The settings of each method, by world and label.
type Labels<'a> = BTreeMap<(&'a str, &'a str), BTreeSet<Setting>>;

fn label_of(run: &Run, labels: &Labels) -> String {
    let Some(about) = run.about() else { return run.name.clone() };
    let known = &labels[&(about.world.as_str(), about.label.as_str())];
    let here = || labels.iter().filter(|((world, _), _)| *world == about.world).flat_map(|(_, known)| known);
    let differs = |name: &str| {
        let values: BTreeSet<&String> = match name {
            "odometry_noise" => here().filter_map(|setting| setting.get(name)).collect(),
            _ => known.iter().filter_map(|setting| setting.get(name)).collect(),
        };
        values.len() > 1
    };
    let own = setting(run, about);
    let parts: Vec<String> =
        own.into_iter().filter(|(name, _)| differs(name)).map(|(_, words)| words).collect();
    let method = if about.label.is_empty() { "unnamed method" } else { &about.label };
    if parts.is_empty() { method.into() } else { format!("{method} ({})", parts.join(", ")) }
}

/// A share as a percentage, without decimals it does not need.
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Words as a file's name: lower case letters, digits and single dashes.
pub(super) fn file_name(words: &[&str]) -> String {
    let text = words.join("-").replace('%', "pct").to_lowercase();
    let clean: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let parts: Vec<&str> = clean.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-").replace("-pct", "pct")
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::{Evaluation, Pose, Track};

    fn run(name: &str, about: About) -> Run {
        let track = Track::new(vec![Pose::default()], vec![Pose::default()]);
        let evaluation = Some(Evaluation::of(about, [1.0; 3], &[track]).unwrap());
        Run { name: name.into(), evaluation, ..Run::default() }
    }

    fn about(label: &str, label_fraction: f64, seed: u64) -> About {
        About { label: label.into(), world: "maze1".into(), label_fraction, seed, ..About::default() }
    }

    #[test]
    fn seeds_are_pooled_and_differences_named() {
        let runs = [
            run("a", about("SDPF", 0.1, 1)),
            run("b", about("SDPF", 0.1, 2)),
            run("c", about("SDPF", 0.5, 1)),
            run("d", About { particles: 100, ..about("DPF", 0.1, 1) }),
            run("e", About { particles: 1000, ..about("DPF", 0.1, 1) }),
            Run { name: "f".into(), ..Run::default() },
        ];
        let comparison = Comparison::of(&runs.iter().collect::<Vec<_>>());
        let seen: Vec<(String, usize, usize)> = comparison.worlds[0]
            .groups
            .iter()
            .map(|group| (group.label.clone(), group.runs.len(), group.colour))
            .collect();
        let expected =
            [("DPF (100 particles)", 1, 0), ("DPF (1000 particles)", 1, 1), ("SDPF", 2, 2), ("SDPF", 1, 2)];
        assert_eq!(seen, expected.map(|(label, count, colour)| (label.to_owned(), count, colour)));
        assert_eq!(comparison.worlds[0].main_share(), Some(0.1));
        assert_eq!(
            (comparison.worlds[1].name.as_str(), comparison.worlds[1].groups[0].label.as_str()),
            (UNKNOWN, "f")
        );
    }

    /// Methods whose odometry was not the same say so, in the worlds where that happened.
    #[test]
    fn unequal_odometry_is_named() {
        let noisy = About { odometry_noise: 0.1, ..about("ours", 0.1, 1) };
        let runs = [run("a", noisy), run("b", about("LSTM", 0.1, 1))];
        let comparison = Comparison::of(&runs.iter().collect::<Vec<_>>());
        let names: Vec<&str> = comparison.worlds[0].groups.iter().map(|group| group.label.as_str()).collect();
        assert_eq!(names, ["LSTM (exact odometry)", "ours (odometry noise 0.1)"]);
        let alone = Comparison::of(&[&runs[1]]);
        assert_eq!(alone.worlds[0].groups[0].label, "LSTM");
    }

    /// Runs of one method that had other settings are no seeds of one run.
    #[test]
    fn settings_that_differ_are_named() {
        let with = |name: &str, images: &str| {
            let mut run = run(name, about("ours", 0.1, 1));
            let mut record = run.kept().unwrap().into_owned();
            record.provenance.settings = [("epochs", 3.into()), ("house.images", images.into())]
                .map(|(k, v)| (k.to_owned(), v))
                .into();
            run.record = Some(record);
            run
        };
        let runs = [with("a", "rgb"), with("b", "depth"), run("c", about("LSTM", 0.1, 1))];
        let comparison = Comparison::of(&runs.iter().collect::<Vec<_>>());
        let names: Vec<&str> = comparison.worlds[0].groups.iter().map(|group| group.label.as_str()).collect();
        assert_eq!(names, ["LSTM", "ours (house.images=depth)", "ours (house.images=rgb)"]);
    }

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(file_name(&["maze1", "SDPF (a/b)", "12.5 %"]), "maze1-sdpf-a-b-12.5pct");
        assert_eq!(
            (percent(0.1), percent(0.125), percent(1.0)),
            ("10 %".into(), "12.5 %".into(), "100 %".into())
        );
    }
}
