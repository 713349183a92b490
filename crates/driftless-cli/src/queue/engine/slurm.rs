//! Slurm: an array job, one task a run. A task that is requeued goes on where it was.

use super::{Handed, asked, ranges};
use crate::args::Queueing;
use crate::queue::state;
use anyhow::{Context, Result};
use driftless_world::files::{NewFile, Overwrite};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// What Slurm allows if nobody has said otherwise: numbers of tasks are below it.
const USUAL_ARRAY: usize = 1001;
/// Most seconds before the end of its time in which a task is told to stop after its epoch.
const WARNING: u64 = 300;

/// Hands runs over in as few array jobs as Slurm allows; says which they are.
pub fn submit(handed: &Handed, wanted: &Queueing) -> Result<String> {
    let most = most_tasks();
    let mut told = Vec::new();
    let mut lines = handed.lines;
    while let Some(&first) = lines.first() {
        let block = first / most * most;
        let (now, later) = lines.split_at(lines.partition_point(|line| *line < block + most));
        let numbers: Vec<usize> = now.iter().map(|line| line - block).collect();
        let script = write_script(handed, block)?;
        let mut command = Command::new("sbatch");
        command.args(options(handed, wanted, &ranges(&numbers))).arg(script);
        let job = asked("sbatch", &mut command, |words| advice(words, wanted))?;
        // `sbatch --parsable` prints the job, and on some clusters a semicolon and the cluster.
        told.push(format!("{} runs are job {}", now.len(), job.split(';').next().unwrap_or(&job)));
        lines = later;
    }
    Ok(told.join("\n"))
}

/// One more than the largest number of a task.
fn most_tasks() -> usize {
    let asked = Command::new("scontrol").args(["show", "config"]).output().ok();
    let text = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let line = text.lines().find(|line| line.trim_start().starts_with("MaxArraySize"));
    let most = line.and_then(|line| line.split('=').nth(1)?.trim().parse().ok());
    most.filter(|most| *most > 1).unwrap_or(USUAL_ARRAY)
}

fn options(handed: &Handed, wanted: &Queueing, tasks: &str) -> Vec<String> {
    let log = state::folder(handed.out).join("slurm-%A-%a.log");
    let mut options = vec![
        "--parsable".to_owned(),
        "--job-name=driftless".to_owned(),
        format!("--array={tasks}"),
        format!("--cpus-per-task={}", handed.threads),
        format!("--chdir={}", handed.here.display()),
        format!("--output={}", log.display()),
        "--open-mode=append".to_owned(),
        "--requeue".to_owned(),
    ];
    options.extend(wanted.partition.iter().map(|partition| format!("--partition={partition}")));
    if let Some(time) = wanted.time {
        options.push(format!("--time={}", minutes(time)));
        options.push(format!("--signal=B:USR1@{}", WARNING.min(time.as_secs() / 4).max(1)));
    }
    options.extend(wanted.pass.iter().cloned());
    options
}

/// Whole minutes, which is what Slurm counts in.
fn minutes(time: Duration) -> u64 {
    time.as_secs().div_ceil(60)
}

fn write_script(handed: &Handed, block: usize) -> Result<PathBuf> {
    let folder = state::folder(handed.out);
    std::fs::create_dir_all(&folder).with_context(|| format!("{}: cannot create", folder.display()))?;
    let path = folder.join(format!("slurm-{block}.sh"));
    let mut file = NewFile::create(&path, Overwrite::Replace)?;
    let text = script(&handed.command(&format!("\"$(({block} + SLURM_ARRAY_TASK_ID))\"")));
    file.write_all(text.as_bytes()).with_context(|| format!("{}: cannot write", path.display()))?;
    file.commit()?;
    Ok(path)
}

/// Slurm signals the shell alone, which passes it on and waits. Out of time, a task asks to be queued again; cancelled, not.
fn script(command: &str) -> String {
    format!(
        "#!/bin/bash
# One run of a sweep: made by driftless for sbatch, and made anew at each submission.
{command} &
worker=$!
late=
trap 'late=1; kill -TERM \"$worker\" 2>/dev/null' USR1
trap 'kill -TERM \"$worker\" 2>/dev/null' TERM
wait \"$worker\"
code=$?
while kill -0 \"$worker\" 2>/dev/null; do
  wait \"$worker\"
  code=$?
done
if [ -n \"$late\" ] && [ \"$code\" != 0 ] && [ \"$code\" != 1 ]; then
  scontrol requeue \"${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}\"
fi
exit \"$code\"
"
    )
}

fn advice(words: &str, wanted: &Queueing) -> String {
    if words.is_empty() {
        return "submit where Slurm's commands are, or use --on lines, --on hyperqueue or none of them"
            .to_owned();
    }
    if let Some(partition) = wanted.partition.as_ref().filter(|_| words.contains("partition")) {
        let asked = Command::new("sinfo").args(["--noheader", "--format=%R"]).output().ok();
        let text =
            asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let known: Vec<&str> = text.split_whitespace().collect();
        return format!("--partition {partition}: there is {}", known.join(", "));
    }
    if words.contains("contact") || words.contains("onnect") {
        return "is its server (slurmctld) running? `sinfo` tells".to_owned();
    }
    "see `sbatch --help`; --pass hands options over as they are".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_in_whole_minutes() {
        assert_eq!([60, 61, 7200].map(|seconds| minutes(Duration::from_secs(seconds))), [1, 2, 120]);
    }

    /// The shell's part, with `sleep` and `false` as workers: codes come through, and a signal reaches the worker.
    #[test]
    fn the_script_waits_for_its_worker() {
        let run = |command: &str, signal: &str| {
            let body = script(command).replace("scontrol requeue", "echo requeued");
            let text = format!("SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=3; {signal} {body}");
            let output = Command::new("bash").args(["-c", &text]).output().unwrap();
            (output.status.code(), String::from_utf8(output.stdout).unwrap().trim().to_owned())
        };
        assert_eq!(run("true", ""), (Some(0), String::new()));
        assert_eq!(run("bash -c 'exit 5'", ""), (Some(5), String::new()));
        let slow = "bash -c 'trap \"sleep 0.2; exit 130\" TERM; while :; do sleep 0.05; done'";
        let signal = |name: &str| format!("(sleep 0.5; kill -{name} $$) &");
        assert_eq!(run(slow, &signal("USR1")), (Some(130), "requeued 7_3".to_owned()));
        assert_eq!(run(slow, &signal("TERM")), (Some(130), String::new()), "cancelled");
    }
}
