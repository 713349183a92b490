//! A queue run on this machine: so many runs at once, each a process of its own, as long as time allows.

use super::manifest::Planned;
use super::pace::Known;
use super::state;
use crate::interrupt;
use crate::output::{complain, duration};
use anyhow::{Context, Result, bail};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Between two looks at the workers.
const LOOK: Duration = Duration::from_millis(10);
/// Before a run is asked for again that another process had.
const ELSEWHERE: Duration = Duration::from_secs(5);
/// More runs than this that are done are not named.
const NAMED: usize = 20;

/// How many, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    /// Runs at once.
    pub jobs: usize,
    /// Threads of each.
    pub threads: Option<u16>,
    /// Stop after this time.
    pub budget: Option<Duration>,
}

/// A run and its line in the manifest.
pub type Numbered<'a> = (usize, &'a Planned);

struct Job<'a> {
    run: Numbered<'a>,
    child: Child,
    /// A worker stops after its epoch when this is closed, by us or by our death.
    tie: Option<ChildStdin>,
}

struct Crew<'a> {
    out: &'a Path,
    how: Here,
    program: PathBuf,
    all: usize,
    begun: usize,
    waiting: Vec<Numbered<'a>>,
    /// Runs that others have, and when to ask again.
    elsewhere: Vec<(Instant, Numbered<'a>)>,
    jobs: Vec<Job<'a>>,
    /// How long runs take here: looked up once, as a plan may have thousands.
    known: Known,
    /// Why no more runs are begun.
    refused: Option<String>,
}

/// Does what is neither done nor failed, in order. What is left when time is over stays for later.
pub fn run(out: &Path, runs: &[Numbered], how: Here) -> Result<()> {
    let started = Instant::now();
    let program = std::env::current_exe().context("cannot find this program's file")?;
    let waiting = open(out, runs);
    let begun = runs.len() - waiting.len();
    let mut crew = Crew {
        out,
        how,
        program,
        all: runs.len(),
        begun,
        waiting,
        elsewhere: Vec::new(),
        jobs: Vec::new(),
        known: Known::of(out, runs.iter().map(|(_, run)| *run)),
        refused: None,
    };
    let ended = crew.work(started);
    // However it ends, workers stop after their epoch and are waited for.
    crew.jobs.iter_mut().for_each(|job| drop(job.tie.take()));
    for mut job in crew.jobs.drain(..) {
        let _ = job.child.wait();
    }
    ended?;
    if interrupt::happened() {
        bail!("interrupted; the same command goes on where it stopped");
    }
    match crew.refused {
        Some(why) => bail!("{why}"),
        None => Ok(()),
    }
}

/// What is neither done nor failed; says what is.
fn open<'a>(out: &Path, runs: &[Numbered<'a>]) -> Vec<Numbered<'a>> {
    let mut waiting = Vec::new();
    let mut done = Vec::new();
    for &(line, run) in runs {
        match (state::done(out, run), state::failed(out, &run.id)) {
            (Some(_), _) => done.push(format!("{}: done before", run.id)),
            (None, Some(failed)) => complain(&format!("{}: failed before: {}", run.id, failed.why)),
            (None, None) => waiting.push((line, run)),
        }
    }
    if done.len() > NAMED {
        done = vec![format!("{} runs: done before", done.len())];
    }
    for words in done {
        complain(&words);
    }
    waiting
}

impl<'a> Crew<'a> {
    fn work(&mut self, started: Instant) -> Result<()> {
        let left = |budget: Duration| budget.saturating_sub(started.elapsed()).as_secs_f64();
        loop {
            self.reap()?;
            let seconds = self.how.budget.map_or(f64::INFINITY, left);
            if interrupt::happened() || self.refused.is_some() || seconds == 0.0 {
                return Ok(());
            }
            let back = |(when, _): &mut (Instant, Numbered)| *when <= Instant::now();
            self.waiting.extend(self.elsewhere.extract_if(.., back).map(|(_, run)| run));
            while self.jobs.len() < self.how.jobs && !self.waiting.is_empty() {
                let pace = self.known.pace();
                let place = fitting(&self.waiting, pace, seconds, self.jobs.is_empty());
                let Some(place) = place else { break };
                let run = self.waiting.remove(place);
                self.begin(run, pace)?;
            }
            if self.jobs.is_empty() && self.elsewhere.is_empty() {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
    }

    fn begin(&mut self, (line, run): Numbered<'a>, pace: f64) -> Result<()> {
        self.begun += 1;
        let waiting = self.waiting.iter().map(|(_, run)| run.seconds);
        let left: f64 = waiting.chain([run.seconds]).sum::<f64>() * pace / self.how.jobs as f64;
        let (number, all) = (self.begun.min(self.all), self.all);
        complain(&format!("\n[{number}/{all}] {}; about {} left in all", run.id, duration(left)));
        let mut command = Command::new(&self.program);
        command
            .args(self.how.threads.iter().flat_map(|threads| ["--threads".to_owned(), threads.to_string()]));
        command.arg("sweep").arg("--work").arg(self.out).args(["--line", &line.to_string(), "--tied"]);
        if self.how.jobs > 1 {
            let path = state::log(self.out, &run.id);
            std::fs::create_dir_all(state::folder(self.out))?;
            let log = OpenOptions::new().create(true).append(true).open(&path);
            command.stderr(log.with_context(|| format!("{}: cannot open", path.display()))?);
        }
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let mut child = spawned.with_context(|| format!("{}: cannot start", self.program.display()))?;
        let tie = child.stdin.take();
        self.jobs.push(Job { run: (line, run), child, tie });
        Ok(())
    }

    /// Looks who is ready.
    fn reap(&mut self) -> Result<()> {
        let mut going = Vec::new();
        for mut job in std::mem::take(&mut self.jobs) {
            match job.child.try_wait().context("cannot wait for a worker")? {
                Some(status) => self.ended(job.run, status),
                None => going.push(job),
            }
        }
        self.jobs = going;
        Ok(())
    }

    fn ended(&mut self, (line, run): Numbered<'a>, status: ExitStatus) {
        let own_log = self.how.jobs > 1;
        if let Some(done) = state::done(self.out, run) {
            self.known.add(run, &done);
            if own_log {
                complain(&format!("{}: {} after {}", run.id, done.outcome, duration(done.seconds)));
            }
        } else if let Some(failed) = state::failed(self.out, &run.id) {
            // A worker whose words are seen has told it.
            if own_log {
                complain(&format!("error: {}: {}", run.id, failed.why));
            }
        } else if status.success() {
            self.begun -= 1;
            self.elsewhere.push((Instant::now() + ELSEWHERE, (line, run)));
        } else if status.code().is_none_or(|code| code == i32::from(interrupt::EXIT_CODE)) {
            if !interrupt::happened() {
                complain(&format!("warning: {}: its process was ended ({status}); it goes on", run.id));
            }
            self.begun -= 1;
            self.waiting.insert(0, (line, run));
        } else {
            let log = state::log(self.out, &run.id);
            let said = if own_log { last_line(&log) } else { "see above".to_owned() };
            self.refused.get_or_insert(format!("{} could not be run, nor could others: {said}", run.id));
        }
    }
}

/// The last line of a file that is not empty.
fn last_line(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
}

/// The first run that ends in time; if none does, and nobody works, the first: it goes on another time.
fn fitting(waiting: &[Numbered], pace: f64, seconds: f64, idle: bool) -> Option<usize> {
    let fits = waiting.iter().position(|(_, run)| pace * run.seconds <= seconds);
    fits.or(if idle && !waiting.is_empty() { Some(0) } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::planned;

    #[test]
    fn what_fits_comes_first_and_nothing_is_left_idle() {
        let (long, short) = (planned("long", 100.0), planned("short", 10.0));
        let waiting = [(1, &long), (2, &short)];
        assert_eq!(fitting(&waiting, 1.0, f64::INFINITY, true), Some(0));
        assert_eq!(fitting(&waiting, 1.0, 50.0, true), Some(1));
        assert_eq!(fitting(&waiting, 10.0, 50.0, true), Some(0), "goes on another time");
        assert_eq!(fitting(&waiting, 10.0, 50.0, false), None);
    }
}
