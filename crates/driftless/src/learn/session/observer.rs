//! Who watches a session, and how it ends.

use super::EpochRecord;

/// Watches a session: hears of every epoch, knows the time, and may call for an end. The library itself
/// prints nothing and reads no clock.
pub trait Observer {
    /// Seconds since training began, or went on.
    fn seconds(&mut self) -> f64;

    /// An epoch was trained and validated; it is about to be written down.
    fn epoch(&mut self, record: &EpochRecord);

    /// Asked before every epoch: whether to leave the rest for later.
    fn wants_to_stop(&mut self) -> bool {
        false
    }

    /// Asked after every epoch, right before it is written: whether the folder is still this session's. If not, it
    /// stops, and writes nothing more.
    fn may_write(&mut self) -> bool {
        true
    }
}

/// Nobody watches, and no time is known.
impl Observer for () {
    fn seconds(&mut self) -> f64 {
        0.0
    }

    fn epoch(&mut self, _: &EpochRecord) {}
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All epochs are done.
    Finished,
    /// The observer wanted it; the run can go on later.
    Stopped {
        /// Epochs done.
        epoch: u64,
    },
    /// Learning failed. The best weights of the epochs before are kept.
    Diverged {
        /// The epoch that failed.
        epoch: u64,
        /// Why, in words.
        why: String,
        /// The epoch of the best weights, if there was a good one.
        best: Option<u64>,
    },
}
