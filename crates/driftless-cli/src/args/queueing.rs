//! Options of `driftless sweep`, and those that all queues of runs share.

use super::Reading;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Who runs a queue.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// This machine, now
    #[default]
    Here,
    /// Slurm: an array job, one task a run
    Slurm,
    /// HyperQueue: one job, one task a run
    Hyperqueue,
    /// Nobody: the commands are printed, one line a run, as for GNU parallel
    Lines,
}

/// How a queue is run.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Queue")]
pub struct Queueing {
    /// Runs at once, here; they share the cores
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = jobs)]
    pub jobs: usize,

    /// Stop after this time, as 90m or 2h; what ends in time is run first come, the rest goes on another time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub budget: Option<Duration>,

    /// Who runs it; each run has --threads N cores there [default of N: 1]
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t = Engine::Here)]
    pub on: Engine,

    /// Slurm's partition
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,

    /// Slurm's limit for a task, as 2h; a run that takes longer is queued again and goes on
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub time: Option<Duration>,

    /// An option for the engine as it is, like --pass=--account=lab; may be given several times
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub pass: Vec<String>,

    /// Run again what failed
    #[arg(long)]
    pub retry: bool,
}

impl Default for Queueing {
    fn default() -> Self {
        Self {
            jobs: 1,
            budget: None,
            on: Engine::Here,
            partition: None,
            time: None,
            pass: Vec::new(),
            retry: false,
        }
    }
}

fn jobs(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1024).contains(number));
    number.ok_or_else(|| "must be a whole number from 1 to 1024".to_owned())
}

/// A time as people write it.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "must be a number and s, m, h or d, as 90m or 1.5h".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1.0,
        'm' => 60.0,
        'h' => 3600.0,
        'd' => 86_400.0,
        _ => return Err(wrong()),
    };
    let number: f64 = text[..text.len() - 1].trim().parse().map_err(|_| wrong())?;
    let all = Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())?;
    if all.is_zero() || all.as_secs() > 366 * 86_400 {
        return Err("must be more than nothing, and at most 366d".to_owned());
    }
    Ok(all)
}

/// Options of `sweep`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  driftless sweep maze-driftless --grid label_fraction=0.05,0.1 --grid seed=1..10 \\
      --train nav01_train.npz --test nav01_valid.npz --out runs/shares --jobs 2
  driftless sweep maze-driftless epochs=30 --grid seed=1..40 --train a.npz --out runs/many \\
      --on slurm --partition batch --time 2h
  driftless sweep --status runs/many
  driftless sweep --resume runs/many --on slurm --retry
  driftless sweep --collect runs/many
  driftless sweep --resume runs/many --on lines | parallel --jobs 8

Interrupted, the same command goes on where it stopped, as does --resume; what is done is not done again. Several
commands may work on one folder at once, on any machines that share it.")]
pub struct Sweep {
    /// A built-in experiment or a file in TOML [default: what a plain log looks like]
    pub experiment: Option<String>,

    /// Settings of all runs, as epochs=30
    #[arg(value_name = "KEY=VALUE")]
    pub settings: Vec<String>,

    /// A setting and its values, as label_fraction=0.05,0.1 or seed=1..10; given several times, all combinations are run
    #[arg(long, value_name = "KEY=VALUES")]
    pub grid: Vec<String>,

    /// Recordings to learn from; may be given several times
    #[arg(long = "train", value_name = "FILE")]
    pub recordings: Vec<PathBuf>,

    /// Recordings to choose the best weights with [default: those of --train that are not learned from]
    #[arg(long, value_name = "FILE")]
    pub valid: Option<PathBuf>,

    /// Recordings to evaluate each run on [default: no evaluation]
    #[arg(long, value_name = "FILE")]
    pub test: Option<PathBuf>,

    /// Folder for the plan, the runs and the report
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Say how far the sweep in this folder is
    #[arg(long, value_name = "DIR", conflicts_with_all = ["experiment", "out", "resume", "collect", "work"])]
    pub status: Option<PathBuf>,

    /// Go on with the sweep in this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["experiment", "out", "collect", "work"])]
    pub resume: Option<PathBuf>,

    /// Make the report on what is done of the sweep in this folder, while others may still run
    #[arg(long, value_name = "DIR", conflicts_with_all = ["experiment", "out", "work"])]
    pub collect: Option<PathBuf>,

    /// Do one run of the sweep in this folder: what engines call
    #[arg(long, value_name = "DIR", requires = "line", conflicts_with_all = ["experiment", "out"])]
    pub work: Option<PathBuf>,

    /// Which run: its line in manifest.jsonl, from 1
    #[arg(long, value_name = "N", requires = "work")]
    pub line: Option<usize>,

    /// Stop when standard input ends, as our own workers do
    #[arg(long, hide = true, requires = "work")]
    pub tied: bool,

    /// How to read the files
    #[command(flatten)]
    pub reading: Reading,

    /// How to run it
    #[command(flatten)]
    pub queue: Queueing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let seconds = |text: &str| time(text).map(|time| time.as_secs());
        assert_eq!([seconds("90m"), seconds("1.5h"), seconds("2d")], [Ok(5400), Ok(5400), Ok(172_800)]);
        for wrong in ["", "2", "h", "-1h", "nanh", "0s", "1e9d", "2 weeks", "ä"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
