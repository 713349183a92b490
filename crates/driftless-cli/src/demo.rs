//! `driftless demo`: from nothing to a data set that can be looked at.

use crate::args::{Demo, Reading, Show, Simulate, Steering};
use crate::output::print;
use crate::{inspect, show, simulate};
use anyhow::{Context, Result, bail};
use driftless_world::files::FileKind;
use driftless_world::files::npz::NpzFile;
use driftless_world::files::provenance::Provenance;
use std::path::Path;

/// Makes Maze 1 data, tells their figures and draws an episode.
pub fn run(wanted: &Demo) -> Result<()> {
    std::fs::create_dir_all(&wanted.out)
        .with_context(|| format!("{}: cannot create", wanted.out.display()))?;
    let (data, picture) = (wanted.out.join("maze1.npz"), wanted.out.join("maze1.png"));
    check_own(&data, &picture)?;
    simulate::run(&Simulate {
        world: "maze1".into(),
        out: data.clone(),
        episodes: 100,
        steps: Some(100),
        seed: 1,
        size: None,
        force: true,
        format: None,
        compress: false,
        policy: Steering::Wander,
        odometry_noise: 0.0,
        houses: None,
        split: None,
    })?;
    let reading = Reading { steps_per_episode: None };
    let summary = inspect::summarize(&data, FileKind::Dpf, &reading, None)?;
    print(&format!("\n{summary}\n"))?;
    show::run(&Show {
        file: data.clone(),
        episode: 0,
        out: picture.clone(),
        frames: 8,
        maze: None,
        force: true,
        reading,
    })?;
    print(&format!(
        "\nNext: look at {}, or try `driftless simulate house --out house.tfrecords`.\n",
        picture.display()
    ))
}

/// The demo may replace what a demo made before, and nothing else.
fn check_own(data: &Path, picture: &Path) -> Result<()> {
    let ours = NpzFile::open(data).is_ok_and(|npz| Provenance::parse(&npz.comment()).is_some());
    match [data, picture].into_iter().find(|path| path.exists()) {
        Some(path) if !ours => {
            bail!(
                "{}: is there already and not from a demo; choose another folder with --out",
                path.display()
            )
        }
        _ => Ok(()),
    }
}
