//! Progress on standard error: a bar on a terminal, a plain line now and then elsewhere.

use crate::output::{complain, grouped, is_silent};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Seconds between plain lines.
const PAUSE: Duration = Duration::from_secs(10);

/// Progress of one job, counted in `unit`s.
pub struct Progress {
    what: &'static str,
    unit: &'static str,
    total: u64,
    done: u64,
    started: Instant,
    last_line: Instant,
    bar: Option<ProgressBar>,
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a valid template")
}

impl Progress {
    /// Starts at zero.
    pub fn new(what: &'static str, unit: &'static str, total: usize) -> Self {
        let total = total as u64;
        let bar = (std::io::stderr().is_terminal() && !is_silent()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
            // Before anything is done, nobody knows how long the rest takes.
            bar.enable_steady_tick(Duration::from_secs(1));
            bar.with_style(style(&format!("{what} {{wide_bar}} {{pos}}/{{len}} {unit} ({{elapsed}} so far)")))
        });
        let now = Instant::now();
        Self { what, unit, total, done: 0, started: now, last_line: now, bar }
    }

    /// Counts `units` more.
    pub fn advance(&mut self, units: usize) {
        let (what, unit, first) = (self.what, self.unit, self.done == 0);
        self.done += units as u64;
        match &self.bar {
            Some(bar) => {
                if first {
                    let rate = "({per_sec}, {eta} left)";
                    bar.set_style(style(&format!("{what} {{wide_bar}} {{pos}}/{{len}} {unit} {rate}")));
                }
                bar.inc(units as u64);
            }
            None if self.last_line.elapsed() > PAUSE => {
                self.last_line = Instant::now();
                complain(&self.line());
            }
            None => {}
        }
    }

    /// Removes the bar; returns what was done, in how many seconds.
    pub fn finish(self) -> (u64, f64) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        (self.done, self.started.elapsed().as_secs_f64())
    }

    fn line(&self) -> String {
        let rate = self.done as f64 / self.started.elapsed().as_secs_f64();
        let left = (self.total - self.done.min(self.total)) as f64 / rate;
        format!(
            "{}: {} of {} {} ({} a second, {left:.0} s left)",
            self.what,
            grouped(self.done as usize),
            grouped(self.total as usize),
            self.unit,
            grouped(rate as usize)
        )
    }
}
