//! `driftless report --records`: what is kept of runs, in a folder of small files.

use crate::output::print;
use anyhow::{Context, Result, bail};
use driftless_report::Run;
use driftless_world::files::{NewFile, Overwrite};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes the record of each run, named by run and test file. All are read before the first is written.
pub fn keep(found: &[PathBuf], folder: &Path) -> Result<()> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for path in found {
        let (name, text) = kept(path)?;
        if texts.insert(name.clone(), text).is_some() {
            bail!("{}: another run of that name is kept as {name}; keep them in two folders", path.display());
        }
    }
    fs::create_dir_all(folder).with_context(|| format!("{}: cannot create", folder.display()))?;
    for (name, text) in &texts {
        let path = folder.join(name);
        let mut file = NewFile::create(&path, Overwrite::Replace)?;
        file.write_all(text.as_bytes()).with_context(|| format!("{}: cannot write", path.display()))?;
        file.commit()?;
    }
    print(&format!("{} records in {}\n", texts.len(), folder.display()))
}

fn kept(path: &Path) -> Result<(String, String)> {
    let run = if path.is_file() { Run::of_record(path)? } else { Run::open(path)? };
    if let Some(problem) = run.problems.iter().find(|problem| problem.starts_with("record.json")) {
        bail!("{}/{problem}", path.display());
    }
    let Some(record) = run.record else {
        bail!("{}: has no record.json; `driftless evaluate` writes one", path.display());
    };
    if path.is_file() {
        return Ok((format!("{}.json", run.name), record.to_json()));
    }
    // A folder may be named by dots.
    let whole = path.canonicalize().with_context(|| format!("{}: cannot read the run", path.display()))?;
    let name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let data = Path::new(&record.about.data).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok((format!("{name}-{data}.json"), record.to_json()))
}
