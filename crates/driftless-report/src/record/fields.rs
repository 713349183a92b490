//! What a record was made with, by name: its own fields and all settings of the experiment.

use super::Record;
use serde_json::Value;
use std::collections::BTreeSet;

/// Fields of every record, by the names that markers of tables use.
const FIELDS: [&str; 9] = [
    "method",
    "world",
    "label_fraction",
    "seed",
    "particles",
    "odometry_noise",
    "data",
    "filter_seed",
    "experiment",
];

/// Beginnings of the names of settings that say what a robot has to work with. Methods are compared where these are
/// the same.
const CONDITIONS: [&str; 5] = ["odometry", "pixel_noise", "images", "maps", "start"];

/// Whether a setting says what a robot has to work with: `odometry_noise`, `house.images`, `house.start_metres`.
pub fn is_condition(name: &str) -> bool {
    let inner = name.split_once('.').map_or(name, |(_, inner)| inner);
    !inner.contains('.') && CONDITIONS.iter().any(|beginning| inner.starts_with(beginning))
}

/// A value as tables and markers write it: words without quotes.
pub fn told(value: &Value) -> String {
    match value {
        Value::String(words) => words.clone(),
        Value::Number(number) => number.as_f64().map_or(number.to_string(), |number| number.to_string()),
        Value::Null => "–".to_owned(),
        other => other.to_string(),
    }
}

impl Record {
    /// A field or a setting by its name, if the record has it. What was chosen for the evaluation, such as the
    /// number of particles, hides what was chosen for the training.
    pub fn get(&self, name: &str) -> Option<Value> {
        let about = &self.about;
        Some(match name {
            "method" => about.method.as_str().into(),
            "world" => about.world.as_str().into(),
            "label_fraction" => about.label_fraction.into(),
            "seed" => about.seed.into(),
            "particles" => about.particles.into(),
            "odometry_noise" => about.odometry_noise.into(),
            "data" => about.data.as_str().into(),
            "filter_seed" => self.provenance.filter_seed.into(),
            "experiment" => self.provenance.experiment.as_str().into(),
            setting => return self.provenance.settings.get(setting).cloned(),
        })
    }

    /// The names of all fields and settings.
    pub fn names(&self) -> BTreeSet<&str> {
        let settings = self.provenance.settings.keys().map(String::as_str);
        FIELDS.into_iter().chain(settings).collect()
    }

    /// Names of which two records have different values, where both have one.
    pub fn differences<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let known = |record: &Self, name: &str| record.get(name).filter(|value| !value.is_null());
        let differs = |name: &&str| known(self, name).zip(known(other, name)).is_some_and(|(a, b)| a != b);
        let mut all: Vec<&str> =
            self.names().intersection(&other.names()).copied().filter(|name| differs(name)).collect();
        if !self.same_file(other) && !all.contains(&"data") {
            all.push("data");
        }
        all
    }

    /// Whether both followed the same trajectories: by the contents of the file, if they are known.
    fn same_file(&self, other: &Self) -> bool {
        let (a, b) = (&self.about, &other.about);
        let known = !a.data_fingerprint.is_empty() && !b.data_fingerprint.is_empty();
        let same = if known { a.data_fingerprint == b.data_fingerprint } else { a.data == b.data };
        same && self.len() == other.len()
    }

    /// Whether two records can be compared trajectory by trajectory: the same robots on the same ways with the same
    /// readings, the same share of labels, and what counts as lost.
    pub fn is_comparable(&self, other: &Self) -> bool {
        let differs = self.differences(other);
        // Each seed of a comparison may have a filter's noise of its own.
        let of_seed = |name: &str| name == "filter_seed" && differs.contains(&"seed");
        let must_agree =
            |name: &&str| is_condition(name) || ["world", "label_fraction", "filter_seed"].contains(name);
        self.same_file(other)
            && self.thresholds == other.thresholds
            && !differs.iter().any(|name| must_agree(name) && !of_seed(name))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::record;
    use super::*;

    #[test]
    fn conditions_are_what_a_robot_is_given() {
        let yes = ["odometry_noise", "pixel_noise", "house.images", "house.start", "house.start_metres"];
        assert!(yes.iter().all(|name| is_condition(name)));
        let no =
            ["epochs", "house.pseudo_likelihood.start", "house.noise_metres", "house.classical.odometry"];
        assert!(!no.iter().any(|name| is_condition(name)));
    }

    #[test]
    fn only_like_is_compared_with_like() {
        let one = record(&[&[3.0, 4.0]]);
        let with = |change: &dyn Fn(&mut Record)| {
            let mut other = one.clone();
            change(&mut other);
            (one.is_comparable(&other), one.differences(&other).join(" "))
        };
        let set = |name: &'static str, value: Value| {
            with(&move |other| {
                other.provenance.settings.insert(name.into(), value.clone());
            })
        };
        assert_eq!(with(&|other| other.about.seed = 2), (true, "seed".into()));
        assert_eq!(with(&|other| other.provenance.filter_seed = 2), (false, "filter_seed".into()));
        let both = with(&|other| (other.about.seed, other.provenance.filter_seed) = (2, 2));
        assert!(both.0 && both.1.contains("filter_seed"), "{both:?}");
        assert_eq!(with(&|other| other.about.label_fraction = 0.5), (false, "label_fraction".into()));
        assert_eq!(with(&|other| other.about.odometry_noise = 0.5), (false, "odometry_noise".into()));
        assert_eq!(set("house.images", "rgb".into()), (false, "house.images".into()));
        assert_eq!(set("house.images", Value::Null), (true, String::new()), "a method that sees none");
        assert_eq!(set("epochs", 3.into()), (true, String::new()), "the other does not say");
        assert_eq!(with(&|other| other.about.data = "b.npz".into()), (false, "data".into()));
        assert_eq!(with(&|other| other.thresholds.lost = 7.0), (false, String::new()));
    }

    #[test]
    fn the_evaluation_hides_the_training() {
        let mut record = record(&[&[3.0]]);
        record.provenance.settings.insert("particles".into(), 30.into());
        record.about.particles = 300;
        assert_eq!((record.get("particles"), record.get("colour")), (Some(300.into()), None));
        let told: Vec<String> =
            [Value::from(0.1), "depth".into(), true.into(), 3.into()].iter().map(told).collect();
        assert_eq!(told, ["0.1", "depth", "true", "3"]);
    }
}
