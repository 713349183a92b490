//! Queues handed to what clusters already run: Slurm, HyperQueue, or plain lines for GNU parallel. One task a run.

mod hyperqueue;
mod slurm;

use crate::args::{Engine, Queueing};
use crate::output::{print, typed};
use anyhow::{Context, Result, anyhow, bail};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lines of an engine's own words that are shown.
const SAID: usize = 4;

/// What is handed over.
pub struct Handed<'a> {
    /// The queue's folder.
    pub out: &'a Path,
    /// Lines of the manifest to run, ascending.
    pub lines: &'a [usize],
    /// Threads, and cores, of each.
    pub threads: u16,
    program: PathBuf,
    here: PathBuf,
}

impl<'a> Handed<'a> {
    /// By this program, from this folder, to which the names of files belong.
    pub fn new(out: &'a Path, lines: &'a [usize], threads: u16) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program's file")?;
        let here = std::env::current_dir().context("cannot find out which folder this is")?;
        Ok(Self { out, lines, threads, program, here })
    }

    /// The command of a run, whose line is given as a shell understands it.
    fn command(&self, line: &str) -> String {
        let Self { threads, out, program, .. } = self;
        format!("{} --threads {threads} sweep --work {} --line {line}", typed(program), typed(out))
    }
}

/// Hands runs over, and says what to type next.
pub fn submit(handed: &Handed, wanted: &Queueing) -> Result<()> {
    if handed.lines.is_empty() {
        return print("nothing is left to run\n");
    }
    let told = match wanted.on {
        Engine::Slurm => slurm::submit(handed, wanted)?,
        Engine::Hyperqueue => hyperqueue::submit(handed, wanted)?,
        Engine::Lines => return print(&lines(handed)),
        Engine::Here => bail!("a queue that runs here is handed to nobody"),
    };
    print(&format!("{told}\nNext: driftless sweep --status {}\n", typed(handed.out)))
}

fn lines(handed: &Handed) -> String {
    let line =
        |number: &usize| format!("cd {} && {}\n", typed(&handed.here), handed.command(&number.to_string()));
    handed.lines.iter().map(line).collect()
}

/// Ascending numbers as 1-3,7.
fn ranges(numbers: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let part = |(a, b): (usize, usize)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    parts.into_iter().map(part).collect::<Vec<_>>().join(",")
}

/// What a program of an engine printed. If it is missing or fails, its own words and what to do come first; nothing of the
/// queue is lost by it.
fn asked(name: &str, command: &mut Command, advice: impl Fn(&str) -> String) -> Result<String> {
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => anyhow!("{name}: there is no such program here; {}", advice("")),
        _ => anyhow!("{name}: cannot be run: {error}"),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    // Some programs add a page of their own inner life.
    let said = String::from_utf8_lossy(&output.stderr);
    let words = said.trim().lines().take(SAID).collect::<Vec<_>>().join("\n");
    bail!("{name}: {words}; {}. The plan is kept: the same command hands over what is left", advice(&words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_in_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!((ranges(&[4]), ranges(&[])), ("4".to_owned(), String::new()));
    }

    #[test]
    fn a_program_that_is_missing_or_fails_is_told_of() {
        let advice = |words: &str| format!("advice on {words:?}");
        let missing = asked("no-such", &mut Command::new("no-such-program-anywhere"), advice).unwrap_err();
        assert!(missing.to_string().contains("no such program here; advice on \"\""), "{missing}");
        let failing = Command::new("sh").args(["-c", "echo wrong >&2; exit 3"]).output().unwrap();
        assert!(!failing.status.success());
        let failed =
            asked("sh", Command::new("sh").args(["-c", "echo wrong >&2; exit 3"]), advice).unwrap_err();
        assert!(
            failed.to_string().starts_with("sh: wrong; advice on \"wrong\". The plan is kept"),
            "{failed}"
        );
        assert_eq!(asked("sh", Command::new("sh").args(["-c", "echo 7"]), advice).unwrap(), "7");
    }
}
