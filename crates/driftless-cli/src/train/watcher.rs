//! A training as it goes on: a line an epoch, and on a terminal a bar below.

use crate::interrupt;
use crate::output::{complain, duration, is_silent};
use driftless::learn::{EpochRecord, Observer};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Tells of every epoch on standard error, and stops when somebody asks for it.
pub struct Watcher {
    epochs: u64,
    started: Instant,
    done: u64,
    bar: Option<ProgressBar>,
}

impl Watcher {
    /// Starts the clock of a run with so many epochs in all.
    pub fn new(epochs: u64) -> Self {
        let bar = (std::io::stderr().is_terminal() && !is_silent()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(epochs), ProgressDrawTarget::stderr_with_hz(5));
            let style = ProgressStyle::with_template("train {wide_bar} {pos}/{len} epochs, {elapsed}");
            bar.enable_steady_tick(Duration::from_secs(1));
            bar.with_style(style.expect("a valid template"))
        });
        Self { epochs, started: Instant::now(), done: 0, bar }
    }

    fn line(&self, record: &EpochRecord) -> String {
        let width = self.epochs.to_string().len();
        let mut line = format!("epoch {:>width$}/{}", record.epoch, self.epochs);
        let losses = [("loss", &record.loss)].into_iter();
        let parts = record.losses.iter().map(|(name, loss)| (name.as_str(), loss));
        for (name, loss) in losses.chain(parts) {
            let _ = write!(line, "  {name} {}", figure(*loss));
        }
        if let Some(seen) = record.validation {
            let (distance, rmse) = (figure(seen.distance), figure(seen.rmse));
            let _ = write!(line, "  validation {distance} steps (RMSE {rmse})");
            if seen.unusable > 0 {
                let _ = write!(line, ", {} nowhere", seen.unusable);
            }
        }
        if let Some(size) = record.effective_sample_size {
            let _ = write!(line, "  ESS {size:.1}");
        }
        if record.skipped > 0 {
            let _ = write!(line, "  {} updates skipped", record.skipped);
        }
        if record.without_path > 0 {
            let _ = write!(line, "  no path between the labels of {} episodes", record.without_path);
        }
        let seconds = self.started.elapsed().as_secs_f64() / self.done.max(1) as f64;
        let left = self.epochs.saturating_sub(record.epoch) as f64 * seconds;
        let _ = write!(line, "  {:.1} epochs a minute, {} left", 60.0 / seconds, duration(left));
        line + if record.best { "  best" } else { "" }
    }
}

impl Observer for Watcher {
    fn seconds(&mut self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn epoch(&mut self, record: &EpochRecord) {
        self.done += 1;
        let line = self.line(record);
        match &self.bar {
            Some(bar) => {
                bar.suspend(|| complain(&line));
                bar.set_position(record.epoch);
            }
            None => complain(&line),
        }
    }

    fn wants_to_stop(&mut self) -> bool {
        interrupt::happened()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn figure(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| {
        if value == 0.0 || (0.01..1e5).contains(&value.abs()) {
            format!("{value:.3}")
        } else {
            format!("{value:.2e}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless::learn::Validation;

    #[test]
    fn an_epoch_in_one_line() {
        let watcher = Watcher { epochs: 40, started: Instant::now(), done: 1, bar: None };
        let validation = Some(Validation { distance: Some(5.25), rmse: None, unusable: 2 });
        let losses = [("flow".to_owned(), Some(1.0e-7))].into();
        let record = EpochRecord {
            epoch: 3,
            loss: Some(-1.5),
            losses,
            validation,
            effective_sample_size: Some(12.34),
            best: true,
            ..EpochRecord::default()
        };
        let line = watcher.line(&record);
        let expected =
            "epoch  3/40  loss -1.500  flow 1.00e-7  validation 5.250 steps (RMSE -), 2 nowhere  ESS 12.3  ";
        assert!(line.starts_with(expected) && line.ends_with("left  best"), "{line}");
    }
}
