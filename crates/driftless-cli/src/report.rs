//! `driftless report`: runs compared on one web page.

use crate::args;
use crate::output::{aligned, complain, print};
use crate::usage::misused;
use anyhow::{Context, Result, bail, ensure};
use driftless::learn::RunConfig;
use driftless_report::{Report, Run};
use driftless_world::files::{NewFile, Overwrite};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Every page of ours says so in its head.
const OURS: &str = "<title>Driftless report</title>";

/// Writes the report and prints its most important table.
pub fn run(wanted: &args::Report) -> Result<()> {
    if !wanted.force {
        check_own(&wanted.out)?;
    }
    let (accuracy, unusable) = write(&find(&wanted.runs)?, &wanted.out)?;
    let page = wanted.out.join("index.html");
    print(&format!("{accuracy}\nOpen {} in a browser\n", page.display()))?;
    ensure!(unusable == 0, "{unusable} files of these runs cannot be used; the report is without them");
    Ok(())
}

/// Writes the report on runs into a folder; returns the table of accuracies, in words, and how many files of the runs
/// could not be used. Says which.
pub fn write(folders: &[PathBuf], out: &Path) -> Result<(String, usize)> {
    folders.iter().try_for_each(|folder| check_format(folder))?;
    let runs = folders.iter().map(Run::open).collect::<driftless_world::Result<Vec<_>>>()?;
    let mut unusable = 0;
    for (folder, run) in folders.iter().zip(&runs) {
        unusable += run.problems.len();
        run.problems.iter().for_each(|what| complain(&format!("warning: {}/{what}", folder.display())));
    }
    fs::create_dir_all(out).with_context(|| format!("{}: cannot create", out.display()))?;
    let files = Report::of(&runs)?;
    let mut accuracy = String::new();
    for (name, bytes) in &files {
        let path = out.join(name);
        let mut file = NewFile::create(&path, Overwrite::Replace)?;
        file.write_all(bytes).with_context(|| format!("{}: cannot write", path.display()))?;
        file.commit()?;
        if name == "accuracy.md" {
            accuracy = plain(&String::from_utf8_lossy(bytes));
        }
    }
    Ok((accuracy, unusable))
}

/// The folders of runs that are meant: each itself, or all that lie in it, by name.
pub fn find(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let is_run = |folder: &Path| folder.join("config.toml").is_file();
    let mut found = Vec::new();
    for folder in named {
        if is_run(folder) {
            found.push(folder.clone());
            continue;
        }
        let failed = || format!("{}: cannot read the run", folder.display());
        let entries = fs::read_dir(folder).with_context(failed)?;
        let paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
        let mut inner: Vec<PathBuf> = paths.with_context(failed)?;
        inner.retain(|path| is_run(path));
        if inner.is_empty() {
            bail!("{}: is no run and holds none: there is no config.toml", folder.display());
        }
        inner.sort();
        found.extend(inner);
    }
    Ok(found)
}

/// Runs of another version have other names and other files.
fn check_format(folder: &Path) -> Result<()> {
    let path = folder.join("config.toml");
    let Ok(text) = fs::read_to_string(&path) else { return Ok(()) };
    Ok(RunConfig::check_format(&text).map_err(|error| error.in_file(path))?)
}

/// A report may replace an older one, and nothing else.
fn check_own(out: &Path) -> Result<()> {
    let Ok(mut entries) = fs::read_dir(out) else {
        if out.exists() {
            misused!("--out {}: is not a folder", out.display());
        }
        return Ok(());
    };
    let ours = || fs::read_to_string(out.join("index.html")).is_ok_and(|page| page.contains(OURS));
    if entries.next().is_some() && !ours() {
        bail!("{}: is not empty and holds no report; choose another folder, or use --force", out.display());
    }
    Ok(())
}

/// A table in Markdown as people read it on a terminal: on its side, as it has more columns than rows.
fn plain(markdown: &str) -> String {
    let cells = |line: &str| {
        let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
        inner.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    let lines = markdown.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    let rows: Vec<Vec<String>> = lines.map(cells).collect();
    let width = rows.first().map_or(0, Vec::len);
    let column = |k: usize| rows.iter().map(|row| row.get(k).cloned().unwrap_or_default()).collect();
    aligned(&(0..width).map(column).collect::<Vec<Vec<String>>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_on_its_side() {
        let text = plain("| method | RMSE |\n|---|---|\n| SDPF | 1.2 ± 0.1 |\n| DPF | 3 |\n");
        assert_eq!(text, "method  SDPF       DPF\nRMSE    1.2 ± 0.1  3\n");
    }
}
