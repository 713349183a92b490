//! What the server counts: how much it does, how long that takes, and what it could not do.

use serde::Serialize;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Latencies that are remembered: the last ones.
const REMEMBERED: usize = 10_000;
/// Steps a second are of so long a time.
const SPAN: Duration = Duration::from_secs(10);

/// Counts since the start.
#[derive(Default)]
pub struct Health {
    /// Estimates that were made.
    pub steps: AtomicU64,
    /// Lines that became part of newer ones.
    pub merged: AtomicU64,
    /// Lines that went, as a newer one begins their robot anew.
    pub dropped: AtomicU64,
    /// Lines whose readings went, as too much was waiting.
    pub stripped: AtomicU64,
    /// Lines that came too late.
    pub late: AtomicU64,
    /// Lines that could not be understood, or do not fit the run.
    pub broken: AtomicU64,
    /// Robots that were forgotten.
    pub forgotten: AtomicU64,
    /// Clients that were not let in.
    pub refused: AtomicU64,
    /// Clients that were hung up on, as they did not read.
    pub hung_up: AtomicU64,
    /// Microseconds from a line to its answer.
    latencies: Mutex<Latencies>,
    /// When there were how many steps.
    pace: Mutex<VecDeque<(Instant, u64)>>,
}

#[derive(Default)]
struct Latencies {
    last: Vec<u32>,
    next: usize,
    longest: u32,
}

/// The same as numbers.
#[derive(Debug, Serialize)]
pub struct Figures {
    steps: u64,
    steps_a_second: f64,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
    max_ms: Option<f64>,
    merged: u64,
    dropped: u64,
    stripped: u64,
    late: u64,
    broken: u64,
    forgotten: u64,
    refused: u64,
    hung_up: u64,
}

/// One more, or some.
pub fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

impl Health {
    /// An estimate was made for a line that came then.
    pub fn answered(&self, received: Instant) {
        count(&self.steps, 1);
        let micros = u32::try_from(received.elapsed().as_micros()).unwrap_or(u32::MAX);
        let mut latencies = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        latencies.longest = latencies.longest.max(micros);
        let next = latencies.next;
        latencies.next = (next + 1) % REMEMBERED;
        match latencies.last.get_mut(next) {
            Some(old) => *old = micros,
            None => latencies.last.push(micros),
        }
    }

    /// Looks at the clock: once a second or so.
    pub fn tick(&self) {
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        while pace.front().is_some_and(|(then, _)| then.elapsed() > SPAN) {
            pace.pop_front();
        }
        pace.push_back((Instant::now(), self.steps.load(Ordering::Relaxed)));
    }

    /// All of it now.
    pub fn figures(&self) -> Figures {
        let [p50_ms, p99_ms, max_ms] = self.latencies();
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Figures {
            steps: of(&self.steps),
            steps_a_second: self.steps_a_second(),
            p50_ms,
            p99_ms,
            max_ms,
            merged: of(&self.merged),
            dropped: of(&self.dropped),
            stripped: of(&self.stripped),
            late: of(&self.late),
            broken: of(&self.broken),
            forgotten: of(&self.forgotten),
            refused: of(&self.refused),
            hung_up: of(&self.hung_up),
        }
    }

    fn steps_a_second(&self) -> f64 {
        let first = self.pace.lock().unwrap_or_else(PoisonError::into_inner).front().copied();
        let Some((then, before)) = first else { return 0.0 };
        let seconds = then.elapsed().as_secs_f64().max(1e-3);
        (self.steps.load(Ordering::Relaxed) - before) as f64 / seconds
    }

    /// The middle and the 99th percentile of the last, and the longest of all, in milliseconds.
    fn latencies(&self) -> [Option<f64>; 3] {
        let latencies = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut last, longest) = (latencies.last.clone(), latencies.longest);
        drop(latencies);
        last.sort_unstable();
        let milliseconds = |micros: u32| 1e-3 * f64::from(micros);
        let at = |share: f64| {
            let last_one = last.len().checked_sub(1)?;
            Some(milliseconds(last[(share * last_one as f64).round() as usize]))
        };
        [at(0.5), at(0.99), (!last.is_empty()).then(|| milliseconds(longest))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_latencies_count() {
        let health = Health::default();
        assert_eq!(health.latencies(), [None; 3]);
        let received = Instant::now();
        (0..REMEMBERED + 5).for_each(|_| health.answered(received));
        let [p50, p99, longest] = health.latencies().map(Option::unwrap);
        assert!(0.0 <= p50 && p50 <= p99 && p99 <= longest, "{p50} {p99} {longest}");
        let latencies = health.latencies.lock().unwrap();
        assert_eq!((latencies.last.len(), latencies.next), (REMEMBERED, 5));
    }
}
