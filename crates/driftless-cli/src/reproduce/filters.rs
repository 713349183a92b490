//! `driftless reproduce filters`: the tables of the benchmarks, as a record and as Markdown.

use crate::args::Reproduce;
use crate::interrupt;
use crate::output::{complain, print};
use crate::usage::misused;
use anyhow::{Context, Result};
use driftless::benchmarks;
use driftless_report::pages::benchmark_tables;
use driftless_world::files::{NewFile, Overwrite};
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

/// Computes all tables, prints them, and leaves `filters.json` and `filters.md`.
pub fn run(wanted: &Reproduce, out: &Path) -> Result<()> {
    refuse(wanted)?;
    std::fs::create_dir_all(out).with_context(|| format!("{}: cannot create", out.display()))?;
    let report = benchmarks::run(wanted.quick, |name| {
        interrupt::check()?;
        complain(&format!("{name} …"));
        Ok::<(), anyhow::Error>(())
    })?;
    let record = serde_json::to_string_pretty(&report)? + "\n";
    let mut page = String::new();
    for (id, about, table) in benchmark_tables(&record)? {
        write!(page, "## {id}\n\n{about}\n\n{}\n", table.to_markdown())?;
    }
    keep(&out.join("filters.json"), &record)?;
    keep(&out.join("filters.md"), &page)?;
    print(&page)
}

/// Options of the other experiments, which have runs of training.
fn refuse(wanted: &Reproduce) -> Result<()> {
    let given = [
        ("--methods", wanted.methods.is_some()),
        ("--mazes", wanted.mazes.is_some()),
        ("--labels", wanted.labels.is_some()),
        ("--seeds", wanted.seeds.is_some()),
        ("--epochs", wanted.epochs.is_some()),
        ("--data", !wanted.data.is_empty()),
        ("--set", !wanted.settings.is_empty()),
        ("--estimate", wanted.estimate),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        misused!("{option}: `reproduce filters` trains nothing; it has --quick and --out");
    }
    Ok(())
}

fn keep(path: &Path, text: &str) -> Result<()> {
    let mut file = NewFile::create(path, Overwrite::Replace)?;
    file.write_all(text.as_bytes()).with_context(|| format!("{}: cannot write", path.display()))?;
    Ok(file.commit()?)
}
