//! Which part learns in which epoch.

use crate::error::{Error, Result};
use crate::parameters::Named;
use burn::tensor::DType;

/// What the stage is called among a method's memory.
const NAME: &str = "stage";
/// When the first three stages end, in per cent of all epochs.
const ENDS: [u64; 3] = [10, 35, 50];

/// A part of the training, with an optimiser of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The noise of the motion alone.
    Motion,
    /// Encoder and likelihood.
    Measurement,
    /// Proposer; the encoder stays.
    Proposer,
    /// Everything, through the filter.
    EndToEnd,
}

const ALL: [Stage; 4] = [Stage::Motion, Stage::Measurement, Stage::Proposer, Stage::EndToEnd];

impl Stage {
    /// The stage of an epoch, counted from 1: a tenth of all epochs for the motion, a quarter for the
    /// measurement, 15 % for the proposer, the rest for everything; none of them without an epoch. Fewer
    /// than four epochs cannot hold them all and are end to end.
    pub(super) fn planned(epoch: u64, epochs: u64) -> Self {
        if epochs < ALL.len() as u64 {
            return Self::EndToEnd;
        }
        let share = |percent: u64| (u128::from(epochs) * u128::from(percent) / 100) as u64;
        let mut end = 0;
        for (stage, percent) in ALL.into_iter().zip(ENDS) {
            end = share(percent).max(end + 1);
            if epoch <= end {
                return stage;
            }
        }
        Self::EndToEnd
    }

    /// The stage of an epoch where labels may have left no two neighbours: there is no motion to learn
    /// then, and its epochs go to the measurement.
    pub(super) fn of(epoch: u64, epochs: u64, has_pairs: bool) -> Self {
        match Self::planned(epoch, epochs) {
            Self::Motion if !has_pairs => Self::Measurement,
            stage => stage,
        }
    }

    /// The stage as a number to remember.
    pub(super) fn memory(self) -> Named {
        let number = ALL.iter().position(|&stage| stage == self).unwrap_or_default();
        Named { name: NAME.to_owned(), shape: vec![1], precision: DType::F64, values: vec![number as f64] }
    }

    /// The stage that was remembered, if one was.
    pub(super) fn remembered(memory: &[Named]) -> Result<Option<Self>> {
        let Some(found) = memory.iter().find(|part| part.name == NAME) else { return Ok(None) };
        let stages = ALL.into_iter();
        let known = stages.enumerate().find(|(number, _)| found.values == [*number as f64]);
        let problem = || {
            let problem = format!("must be a number from 0 to 3, not {:?}; begin the run anew", found.values);
            Error::File(driftless_world::Error::new(problem).in_field(NAME))
        };
        known.map(|(_, stage)| Some(stage)).ok_or_else(problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(epochs: u64) -> [usize; 4] {
        let stages: Vec<Stage> = (1..=epochs).map(|epoch| Stage::planned(epoch, epochs)).collect();
        assert!(stages.is_sorted_by_key(|stage| *stage as u8), "one after the other: {stages:?}");
        ALL.map(|stage| stages.iter().filter(|&&found| found == stage).count())
    }

    #[test]
    fn shares_of_the_epochs() {
        assert_eq!(lengths(100), [10, 25, 15, 50]);
        assert_eq!(lengths(20), [2, 5, 3, 10]);
        assert_eq!(lengths(10), [1, 2, 2, 5]);
        assert_eq!(lengths(4), [1, 1, 1, 1]);
        assert_eq!(lengths(3), [0, 0, 0, 3]);
        assert!((4..200).all(|epochs| lengths(epochs).iter().all(|&length| length > 0)));
        assert_eq!(Stage::planned(u64::MAX, u64::MAX), Stage::EndToEnd);
        assert_eq!(Stage::planned(u64::MAX / 2 + 1, u64::MAX), Stage::EndToEnd);
        assert_eq!(Stage::planned(u64::MAX / 2, u64::MAX), Stage::Proposer);
    }

    #[test]
    fn without_pairs_the_measurement_begins_at_once() {
        for epoch in 1..=25 {
            let (with, without) = (Stage::of(epoch, 20, true), Stage::of(epoch, 20, false));
            assert_eq!(with, Stage::planned(epoch, 20));
            assert_eq!(without, if epoch <= 2 { Stage::Measurement } else { with });
        }
    }

    #[test]
    fn stages_are_remembered() {
        for stage in ALL {
            assert_eq!(Stage::remembered(&[stage.memory()]).unwrap(), Some(stage));
        }
        assert_eq!(Stage::remembered(&[]).unwrap(), None);
        for values in [vec![4.0], vec![0.5], vec![f64::NAN], vec![], vec![0.0, 0.0]] {
            let wrong = Named { values, ..Stage::Motion.memory() };
            let message = Stage::remembered(&[wrong]).unwrap_err().to_string();
            assert!(message.starts_with("field stage: must be a number from 0 to 3"), "{message}");
        }
    }
}
