//! Differences between methods, trajectory by trajectory: one lost robot, or an easy test file, does not decide.

mod bootstrap;
mod pairs;

pub use bootstrap::{Difference, SEED, Seeds, difference};
pub use pairs::{DEFAULT_METHOD, Pairs, twin};

use crate::record::{Quantity, Record};

/// The records of one method that differ in their seed only.
#[derive(Clone, Debug)]
pub struct Arm<'a> {
    /// What tables call it.
    pub label: String,
    /// As experiments name it.
    pub method: String,
    /// One a seed.
    pub records: Vec<&'a Record>,
}

impl Arm<'_> {
    /// Its seeds in order.
    fn seeds(&self) -> Vec<u64> {
        let mut seeds: Vec<u64> = self.records.iter().map(|record| record.about.seed).collect();
        seeds.sort_unstable();
        seeds
    }

    /// A number of each trajectory, by seed in order.
    fn values(&self, quantity: Quantity) -> Vec<Vec<Option<f64>>> {
        let mut records = self.records.clone();
        records.sort_by_key(|record| record.about.seed);
        records.iter().map(|record| record.values(quantity)).collect()
    }
}

/// One method against another under the same circumstances.
#[derive(Clone, Debug)]
pub struct Paired<'a> {
    /// The first of the pair.
    pub one: Arm<'a>,
    /// What it is compared with.
    pub other: Arm<'a>,
    /// A record of the first, for what both have in common.
    pub common: &'a Record,
    /// What is compared.
    pub quantity: Quantity,
    /// The first minus the other.
    pub difference: Difference,
}

impl Paired<'_> {
    /// How many seeds each has: "3", or "3 and 1".
    pub fn seeds(&self) -> String {
        let [one, other] = [&self.one, &self.other].map(|arm| arm.records.len());
        if one == other { one.to_string() } else { format!("{one} and {other}") }
    }

    /// The difference in words, as "-1.2 [-2.0, -0.4]"; shares in points of a hundred.
    pub fn words(&self) -> String {
        let decimals = self.quantity.decimals();
        let factor = if self.quantity.is_share() { 100.0 } else { 1.0 };
        let number = |value: f64| {
            let text = format!("{:+.decimals$}", factor * value);
            // What is rounded to zero has no sign.
            if text.trim_start_matches(['+', '-', '0', '.']).is_empty() { text[1..].to_owned() } else { text }
        };
        let mean = number(self.difference.mean);
        let interval = self.difference.interval;
        interval.map_or(mean.clone(), |[low, high]| format!("{mean} [{}, {}]", number(low), number(high)))
    }
}

/// All pairs that can be compared: the same robots, readings, share of labels and noise. In the order of `pairs`, then
/// in that of `arms`.
pub fn compare<'a>(arms: &[Arm<'a>], pairs: &Pairs, quantity: Quantity) -> Vec<Paired<'a>> {
    let mut all = Vec::new();
    for [one, other] in pairs.among(arms) {
        for one in arms.iter().filter(|arm| arm.method == one) {
            for other in arms.iter().filter(|arm| arm.method == other) {
                all.extend(compare_two(one, other, quantity));
            }
        }
    }
    all
}

fn compare_two<'a>(one: &Arm<'a>, other: &Arm<'a>, quantity: Quantity) -> Option<Paired<'a>> {
    let common = *one.records.first()?;
    if !common.is_comparable(other.records.first()?) {
        return None;
    }
    // A seed names which poses are known, so that runs of one seed learned from the same labels.
    let seeds = if one.seeds() == other.seeds() { Seeds::Paired } else { Seeds::Apart };
    let difference =
        difference(&one.values(quantity), &other.values(quantity), seeds, quantity.more_is_better())?;
    Some(Paired { one: one.clone(), other: other.clone(), common, quantity, difference })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Provenance;
    use driftless_world::{About, Evaluation, Pose, Track};

    fn record(method: &str, seed: u64, label_fraction: f64, errors: &[f64]) -> Record {
        let about = About { method: method.into(), seed, label_fraction, ..About::default() };
        let track = |x: &f64| Track::new(vec![Pose::default()], vec![Pose::new(*x, 0.0, 0.0)]);
        let tracks: Vec<Track> = errors.iter().map(track).collect();
        Record::of(&Evaluation::of(about, [1.0; 3], &tracks).unwrap(), Provenance::default())
    }

    fn arm<'a>(records: &[&'a Record]) -> Arm<'a> {
        let method = records[0].about.method.clone();
        Arm { label: method.clone(), method, records: records.to_vec() }
    }

    /// Two seeds: means of trajectories are 2 and 3 against 6 and 5, differences -4 and -2.
    #[test]
    fn seeds_are_averaged_before_trajectories_are_compared() {
        let ours = [record("driftless", 2, 0.1, &[1.0, 4.0]), record("driftless", 1, 0.1, &[3.0, 2.0])];
        let other = [record("lstm", 1, 0.1, &[6.0, 5.0])];
        let elsewhere = record("lstm", 1, 0.5, &[0.0, 0.0]);
        let arms = [arm(&[&ours[0], &ours[1]]), arm(&[&other[0]]), arm(&[&elsewhere])];
        let found = compare(&arms, &Pairs::Usual, Quantity::AllSteps);
        assert_eq!(found.len(), 1, "another share of labels is not compared");
        assert_eq!((found[0].difference.mean, found[0].difference.improved), (-3.0, 1.0));
        assert_eq!((found[0].seeds().as_str(), found[0].difference.trajectories), ("2 and 1", 2));
        assert!(found[0].words().starts_with("-3.0 [-"), "{}", found[0].words());
        let shares = compare(&arms, &Pairs::Usual, Quantity::Success);
        assert_eq!((shares[0].words().as_str(), shares[0].difference.improved), ("0.0 [0.0, 0.0]", 0.0));
    }
}
