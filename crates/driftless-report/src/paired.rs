//! Differences between methods, trajectory by trajectory: one lost robot, or an easy test file, does not decide.

mod bootstrap;
mod pairs;

pub use bootstrap::{Difference, SEED, Seeds, difference};
pub use pairs::{DEFAULT_METHOD, Pairs, twin};

use crate::record::{Quantity, Record};
use crate::table::Cell;
use driftless_world::evaluation::Figure;

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

impl<'a> Paired<'a> {
    /// The same pair by another number of each trajectory.
    pub fn of(&self, quantity: Quantity) -> Option<Paired<'a>> {
        compare_two(&self.one, &self.other, quantity)
    }

    /// How many seeds each has: "3", or "3 and 1".
    pub fn seeds(&self) -> String {
        let [one, other] = [&self.one, &self.other].map(|arm| arm.records.len());
        if one == other { one.to_string() } else { format!("{one} and {other}") }
    }

    /// How many trajectories were compared: "100", or "98 of 100".
    pub fn trajectories(&self) -> String {
        let Difference { trajectories, left_out, .. } = self.difference;
        if left_out == 0 {
            trajectories.to_string()
        } else {
            format!("{trajectories} of {}", trajectories + left_out)
        }
    }

    /// The difference with its interval; shares in points of a hundred.
    pub fn cell(&self) -> Cell {
        let factor = if self.quantity.is_share() { 100.0 } else { 1.0 };
        let Difference { mean, interval, .. } = self.difference;
        Cell::Interval(
            factor * mean,
            interval.map(|ends| ends.map(|end| factor * end)),
            self.quantity.decimals(&self.common.about),
        )
    }

    /// The share of trajectories on which the first is better.
    pub fn improved(&self) -> Cell {
        let Difference { improved, trajectories, .. } = self.difference;
        Cell::Percent(Some(Figure { value: improved, standard_error: None, count: trajectories }))
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
        // One seed alone is drawn in a quarter of all draws, one trajectory alone in another: -5 and -1 in 6 % each.
        assert_eq!(found[0].cell(), Cell::Interval(-3.0, Some([-5.0, -1.0]), 1));
        let shares = compare(&arms, &Pairs::Usual, Quantity::Success);
        assert_eq!(
            (shares[0].cell(), shares[0].difference.improved),
            (Cell::Interval(0.0, Some([0.0; 2]), 1), 0.0)
        );
    }
}
