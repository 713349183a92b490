//! `driftless report`: runs compared on one web page, records that are kept of them, and tables made from records.

mod records;
mod tables;
mod words;

use crate::args;
use crate::output::{complain, print};
use crate::usage::{Usage, misused};
use anyhow::{Context, Result, bail, ensure};
use driftless::learn::RunConfig;
use driftless_report::paired::Pairs;
use driftless_report::{Report, Run};
use driftless_world::files::{NewFile, Overwrite};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Every page of ours says so in its head.
const OURS: &str = "<title>Driftless report</title>";

/// Writes the report and prints its most important tables; or keeps records; or makes tables of pages.
pub fn run(wanted: &args::Report) -> Result<()> {
    if let Some(pages) = &wanted.tables {
        return tables::run(pages, wanted.check);
    }
    let pairs = wanted.pairs.as_deref().map_or(Ok(Pairs::Usual), Pairs::parse);
    let pairs = pairs.map_err(|error| Usage(format!("--pairs: {error}")))?;
    if let Some(out) = wanted.out.as_ref().filter(|_| !wanted.force) {
        check_own(out)?;
    }
    let found = find(&wanted.runs)?;
    if let Some(folder) = &wanted.records {
        records::keep(&found, folder)?;
    }
    let Some(out) = &wanted.out else { return Ok(()) };
    let (tables, unusable) = write(&found, &[], out, &pairs)?;
    let page = out.join("index.html");
    print(&format!("{tables}\nOpen {} in a browser\n", page.display()))?;
    ensure!(unusable == 0, "{unusable} files of these runs cannot be used; the report is without them");
    Ok(())
}

/// Writes the report on runs, and on some that are missing, into a folder; returns the tables of accuracies and of differences, in words, and how many
/// files of the runs could not be used. Says which.
pub fn write(found: &[PathBuf], missing: &[String], out: &Path, pairs: &Pairs) -> Result<(String, usize)> {
    found.iter().try_for_each(|folder| check_format(folder))?;
    let open = |path: &PathBuf| if path.is_file() { Run::of_record(path) } else { Run::open(path) };
    let mut runs = found.iter().map(open).collect::<driftless_world::Result<Vec<_>>>()?;
    let mut unusable = 0;
    for (folder, run) in found.iter().zip(&runs) {
        unusable += run.problems.len();
        run.problems.iter().for_each(|what| complain(&format!("warning: {}/{what}", folder.display())));
    }
    runs.extend(missing.iter().map(|name| Run::planned(name)));
    fs::create_dir_all(out).with_context(|| format!("{}: cannot create", out.display()))?;
    let files = Report::with(&runs, pairs)?;
    for (name, bytes) in &files {
        let path = out.join(name);
        let mut file = NewFile::create(&path, Overwrite::Replace)?;
        file.write_all(bytes).with_context(|| format!("{}: cannot write", path.display()))?;
        file.commit()?;
    }
    let text = |name: &str| {
        files.iter().find(|(file, _)| file == name).map(|(_, bytes)| String::from_utf8_lossy(bytes))
    };
    let [accuracy, overall, paired] =
        ["accuracy.md", "overall.md", "paired.md"].map(|name| words::cells(&text(name).unwrap_or_default()));
    // Records have no accuracies but those of all methods side by side.
    let accuracy = if accuracy.len() > 1 { accuracy } else { overall };
    Ok((words::on_its_side(&accuracy) + &words::differences(&paired), unusable))
}

/// The runs and records that are meant: each itself, or all that lie in it, by name.
pub fn find(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let is_run = |folder: &Path| folder.join("config.toml").is_file();
    let mut found = Vec::new();
    for folder in named {
        if is_run(folder) || folder.is_file() {
            found.push(folder.clone());
            continue;
        }
        let failed = || format!("{}: cannot read the run", folder.display());
        let entries = fs::read_dir(folder).with_context(failed)?;
        let paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
        let mut inner: Vec<PathBuf> = paths.with_context(failed)?;
        inner.sort();
        let (runs, others): (Vec<PathBuf>, Vec<PathBuf>) = inner.into_iter().partition(|path| is_run(path));
        let is_record = |path: &PathBuf| path.is_file() && path.extension().is_some_and(|end| end == "json");
        let inner: Vec<PathBuf> =
            if runs.is_empty() { others.into_iter().filter(is_record).collect() } else { runs };
        if inner.is_empty() {
            bail!("{}: is no run and holds none: there is no config.toml, and no record", folder.display());
        }
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
