//! `driftless report --tables`: tables in Markdown pages, made from records or compared with them.

use crate::output::{complain, print};
use anyhow::{Context, Result, bail, ensure};
use driftless::methods::METHODS;
use driftless_report::pages::{Renewed, renew};
use driftless_world::files::{NewFile, Overwrite, Source};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Longer than any page.
const MOST_BYTES: u64 = 16 << 20;

/// Makes all tables of a folder's pages anew; or fails, with what differs, if that would change any.
pub fn run(folder: &Path, check: bool) -> Result<()> {
    let mut pages: Vec<(PathBuf, Renewed)> = Vec::new();
    for path in markdown(folder)? {
        let page = page(&path)?;
        pages.push((path, page));
    }
    let tables: usize = pages.iter().map(|(_, page)| page.tables).sum();
    let changed: usize = pages.iter().map(|(_, page)| page.changes.len()).sum();
    if check {
        for (path, page) in &pages {
            tell(path, page);
        }
        ensure!(
            changed == 0,
            "{changed} of {tables} tables are not what their records say; make them anew with `driftless report \
             --tables {}`",
            folder.display()
        );
        return print(&format!("{tables} tables are what their records say\n"));
    }
    for (path, page) in pages.iter().filter(|(_, page)| !page.changes.is_empty()) {
        let mut file = NewFile::create(path, Overwrite::Replace)?;
        file.write_all(page.text.as_bytes()).with_context(|| format!("{}: cannot write", path.display()))?;
        file.commit()?;
    }
    print(&format!("{tables} tables, {changed} of them changed\n"))
}

/// The pages of a folder in order, or the one that is named.
fn markdown(folder: &Path) -> Result<Vec<PathBuf>> {
    if folder.is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let failed = || format!("{}: cannot read", folder.display());
    let entries = fs::read_dir(folder).with_context(failed)?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
    let mut pages: Vec<PathBuf> = paths.with_context(failed)?;
    pages.retain(|path| path.is_file() && path.extension().is_some_and(|end| end == "md"));
    pages.sort();
    if pages.is_empty() {
        bail!("{}: holds no page, a file whose name ends with .md", folder.display());
    }
    Ok(pages)
}

fn page(path: &Path) -> Result<Renewed> {
    let mut methods: Vec<&str> = METHODS.iter().map(|method| method.id).collect();
    // An id may have a line in each world.
    methods.dedup();
    let text = Source::open(path)?.read_text(MOST_BYTES).map_err(|error| error.in_file(path))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(renew(&text, folder, &methods).map_err(|error| error.in_file(path))?)
}

fn tell(path: &Path, page: &Renewed) {
    for change in &page.changes {
        let place = format!("{}: line {}", path.display(), change.line);
        complain(&format!("{place}: the table is not what its records say:\n{}", change.diff().trim_end()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless::methods::Learns;
    use driftless_report::paired::{DEFAULT_METHOD, twin};

    /// Reports know methods by name; the registry says what they are.
    #[test]
    fn reports_and_the_registry_agree() {
        assert_eq!(METHODS[0].id, DEFAULT_METHOD);
        let learns = |id: &str| METHODS.iter().find(|method| method.id == id).map(|method| method.learns);
        for method in METHODS.iter().filter(|method| method.learns == Learns::FromAllSteps) {
            let twin = twin(method.id).into_iter().find_map(|twin| learns(&twin));
            assert_eq!(twin, Some(Learns::FromLabels), "{} has a twin that learns from labels", method.id);
        }
    }
}
