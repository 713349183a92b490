//! What must be the same wherever a run is worked on: the program, the data, and the run that a folder holds.

use super::host::Host;
use super::manifest::{DataFile, Fingerprints, Planned};
use anyhow::{Result, bail, ensure};
use driftless::learn::RunFolder;
use std::path::Path;

/// Other versions may give other numbers.
pub fn version(run: &Planned) -> Result<()> {
    let own = env!("CARGO_PKG_VERSION");
    ensure!(
        run.driftless == own,
        "{}: was planned by version {}, and this is version {own} on {}; use the same program on all machines, or give \
         the command that planned it again with this one",
        run.id,
        run.driftless,
        Host::this().name
    );
    Ok(())
}

/// The files must be those that were planned with.
pub fn data(run: &Planned) -> Result<()> {
    let mut seen = Fingerprints::default();
    for DataFile { file, fingerprint } in run.files() {
        if !file.is_file() {
            let here = std::env::current_dir().unwrap_or_default();
            bail!(
                "{}: is not there on {}; names are as they were typed, and this is {}",
                file.display(),
                Host::this().name,
                here.display()
            );
        }
        let now = seen.of(file)?.fingerprint;
        ensure!(
            now == *fingerprint,
            "{}: has other contents on {} ({now}) than where {} was planned ({fingerprint}); put the same file there, or \
             give the command that planned it again",
            file.display(),
            Host::this().name,
            run.id
        );
    }
    Ok(())
}

/// A folder is gone on with only if its run is the one that is planned.
pub fn same(folder: &Path, run: &Planned) -> Result<()> {
    let config = RunFolder::config_of(folder)?;
    ensure!(
        config.experiment == run.experiment,
        "{}: was run with other settings; remove it, or choose another folder with --out",
        folder.display()
    );
    let Some(train) = run.train.first() else { bail!("{}: has no recordings to learn from", run.id) };
    let others = run.train.iter().skip(1).map(|data| &data.fingerprint);
    let valid = run.valid.as_ref().map_or("", |data| data.fingerprint.as_str());
    let data = &config.data;
    ensure!(
        data.train_fingerprint == train.fingerprint
            && data.more_fingerprints.iter().eq(others)
            && data.valid_fingerprint == valid,
        "{}: was trained from other data than {} holds now; remove it, or choose another folder with --out",
        folder.display(),
        train.file.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::testing::planned;

    #[test]
    fn another_version_is_refused_with_both_named() {
        let own = planned("run", 1.0);
        assert!(version(&own).is_ok());
        let error = version(&Planned { driftless: "0.0.1".to_owned(), ..own }).unwrap_err().to_string();
        assert!(error.contains("run: was planned by version 0.0.1, and this is version"), "{error}");
    }
}
