//! Runs that are not trained: what another has learned, with other settings of what robots live through.

use super::claim::Claim;
use super::manifest::Planned;
use super::work::examine;
use anyhow::{Context, Result, ensure};
use driftless::learn::RunFolder;
use driftless_world::files::{NewFile, Overwrite};
use std::io::Write;
use std::path::Path;

/// Takes weights over and evaluates them. How it ended.
pub fn settle(out: &Path, run: &Planned, claim: &Claim) -> Result<Option<String>> {
    let origin = out.join("runs").join(run.weights_of.as_deref().unwrap_or_default());
    if !origin.join("best.safetensors").is_file() {
        return Ok(Some("nothing was learned that could be taken over".to_owned()));
    }
    let folder = run.folder(out);
    take_over(run, &origin, &folder, claim)?;
    examine(&folder, run, claim)?;
    Ok(Some("taken over".to_owned()))
}

/// The settings come last: a folder without them is no run yet.
fn take_over(run: &Planned, origin: &Path, folder: &Path, claim: &Claim) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot create", folder.display()))?;
    ensure!(claim.holds(), "taken over by another process");
    for name in ["normalisation.json", "log.jsonl", "metrics.csv", "best.toml", "best.safetensors"] {
        let from = origin.join(name);
        let bytes = std::fs::read(&from).with_context(|| format!("{}: cannot read", from.display()))?;
        write(&folder.join(name), &bytes)?;
    }
    let mut config = RunFolder::config_of(origin)?;
    config.experiment = run.experiment.clone();
    write(&folder.join("config.toml"), config.to_toml()?.as_bytes())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = NewFile::create(path, Overwrite::Replace)?;
    file.write_all(bytes).with_context(|| format!("{}: cannot write", path.display()))?;
    Ok(file.commit()?)
}
