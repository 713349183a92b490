//! Where the time of ranks goes: computing, waiting for others, talking.

use crate::output::bytes;
use std::time::Duration;

/// What one rank has spent on others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Until all others came.
    pub waiting: Duration,
    /// From then on, until all had heard all.
    pub talking: Duration,
    /// How often.
    pub exchanges: u64,
    /// Bytes of its own.
    pub sent: u64,
    /// Bytes of others.
    pub received: u64,
}

impl Spent {
    /// In words: of so much time in all, for so many updates with all that belongs to them.
    pub fn told(&self, ranks: usize, all: Duration, updates: u64) -> String {
        let computing = all.saturating_sub(self.waiting + self.talking);
        let parts = [computing, self.waiting, self.talking];
        let [computing, waiting, talking] = parts.map(|part| part.as_secs_f64());
        let whole = format!(
            "{ranks} ranks; rank 0 computed for {computing:.1} s, waited for others for {waiting:.1} s and talked for \
             {talking:.1} s ({} exchanges, {} sent, {} received)",
            self.exchanges,
            bytes(self.sent),
            bytes(self.received)
        );
        if updates == 0 {
            return whole;
        }
        let [computing, waiting, talking] = parts.map(|part| 1e3 * part.as_secs_f64() / updates as f64);
        format!(
            "{whole}\nan update, validation and all: {computing:.2} ms of computing, {waiting:.2} ms of waiting, \
             {talking:.2} ms of talking"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_time_is_somewhere() {
        let seconds = Duration::from_secs;
        let spent =
            Spent { waiting: seconds(2), talking: seconds(1), exchanges: 40, sent: 2_000_000, received: 900 };
        let text = spent.told(4, seconds(10), 100);
        let expected = "4 ranks; rank 0 computed for 7.0 s, waited for others for 2.0 s and talked for 1.0 s (40 \
                        exchanges, 2.0 MB sent, 900 bytes received)\nan update, validation and all: 70.00 ms of \
                        computing, 20.00 ms of waiting, 10.00 ms of talking";
        assert_eq!(text, expected);
        assert_eq!(spent.told(4, seconds(10), 0).lines().count(), 1);
    }
}
