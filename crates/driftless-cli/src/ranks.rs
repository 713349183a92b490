//! The ranks of this command: one process, or as many as a launcher has started, where the program was built with MPI.

#[cfg(feature = "mpi")]
mod by_mpi;
#[cfg(any(feature = "mpi", test))]
mod greeting;
mod spent;

use crate::args::Verb;
use crate::output::{complain, silence};
use crate::queue::host::Host;
use anyhow::Result;
use driftless::learn::{AllRanks, alone};
use spent::Spent;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// By which launchers tell how many processes they have started: Open MPI's, and those of MPICH and Slurm (PMI-2).
const SIZES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// How long a rank that failed waits for rank 0 to say the same: then it need not say it, too.
const SAME_WORDS: Duration = Duration::from_secs(1);

/// The ranks that do what was asked for, together.
pub struct Job {
    ranks: AllRanks,
    begun: Instant,
    /// What this one has spent on the others so far.
    spent: Arc<Mutex<Spent>>,
    /// MPI itself, from its begin to its end.
    #[cfg(feature = "mpi")]
    _universe: Option<mpi::environment::Universe>,
}

impl Job {
    /// Joins the other processes that a launcher has started, if there are some and the verb's work can be shared.
    pub fn join(verb: &Verb) -> Result<Self> {
        let shared =
            matches!(verb, Verb::Train(wanted) if !wanted.dry_run) || matches!(verb, Verb::Evaluate(_));
        let launched = launched(|name| std::env::var(name).ok());
        match launched.filter(|(_, size)| shared && *size > 1) {
            None => Ok(Self::one_process()),
            Some((variable, size)) => Self::of_launcher(variable, size),
        }
    }

    fn one_process() -> Self {
        Self {
            ranks: alone(),
            begun: Instant::now(),
            spent: Arc::default(),
            #[cfg(feature = "mpi")]
            _universe: None,
        }
    }

    #[cfg(not(feature = "mpi"))]
    fn of_launcher(variable: &str, size: usize) -> Result<Self> {
        anyhow::bail!(
            "{size} processes were started together ({variable}={size}), but this program was built without MPI: each of \
             them would do all the work, in the same folder; build it with `cargo build --release --features mpi`, start \
             one process, or unset {variable} if they have nothing to do with each other"
        )
    }

    #[cfg(feature = "mpi")]
    fn of_launcher(variable: &str, size: usize) -> Result<Self> {
        let spent = Arc::default();
        let (universe, ranks) = by_mpi::start(&spent)?;
        anyhow::ensure!(
            ranks.size() == size,
            "{variable}={size}, but {} knows of {}: launcher and library are of different MPIs; take the launcher that \
             belongs to the library",
            by_mpi::library(),
            ranks.size()
        );
        silence(ranks.rank() > 0);
        greeting::check(&greeting::Greeting::all(&*ranks)?)?;
        Ok(Self { ranks, begun: Instant::now(), spent, _universe: Some(universe) })
    }

    /// All of them.
    pub fn ranks(&self) -> &AllRanks {
        &self.ranks
    }

    /// Whether this is the one that prints and writes files.
    pub fn is_first(&self) -> bool {
        self.ranks.rank() == 0
    }

    /// Whether there are several.
    pub fn is_shared(&self) -> bool {
        self.ranks.size() > 1
    }

    /// Says what went wrong, and ends all ranks: they would wait for this one.
    pub fn fail(&self, words: &str, code: u8) -> ExitCode {
        if self.is_first() {
            complain(words);
        } else {
            std::thread::sleep(SAME_WORDS);
            silence(false);
            complain(&format!("rank {} on {}: {words}", self.ranks.rank(), Host::this().name));
        }
        #[cfg(feature = "mpi")]
        if self.is_shared() {
            by_mpi::abort(code);
        }
        ExitCode::from(code)
    }

    /// Says where the time of so many updates went, if there was somebody to talk to.
    pub fn tell(&self, updates: u64) {
        if self.is_shared() {
            let spent = *self.spent.lock().expect("no thread has panicked");
            complain(&spent.told(self.ranks.size(), self.begun.elapsed(), updates));
        }
    }
}

/// How many processes were started together, and by which variable they are told.
fn launched(variable: impl Fn(&str) -> Option<String>) -> Option<(&'static str, usize)> {
    let told = |name: &'static str| Some((name, variable(name)?.trim().parse().ok()?));
    let by_pmix = || {
        // Tasks of a step that have no PMIx were not started for MPI.
        variable("PMIX_RANK")?;
        told("SLURM_STEP_NUM_TASKS")
    };
    SIZES.into_iter().find_map(told).or_else(by_pmix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_tell_how_many_there_are() {
        let among = |set: &'static [(&str, &str)]| {
            launched(|name| set.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(among(&[]), None);
        assert_eq!(among(&[("OMPI_COMM_WORLD_SIZE", "4")]), Some(("OMPI_COMM_WORLD_SIZE", 4)));
        assert_eq!(among(&[("PMI_SIZE", " 2")]), Some(("PMI_SIZE", 2)));
        assert_eq!(among(&[("PMI_SIZE", "many")]), None);
        assert_eq!(among(&[("SLURM_STEP_NUM_TASKS", "8")]), None, "an array job's, say");
        let slurm = among(&[("SLURM_STEP_NUM_TASKS", "8"), ("PMIX_RANK", "0")]);
        assert_eq!(slurm, Some(("SLURM_STEP_NUM_TASKS", 8)));
    }
}
