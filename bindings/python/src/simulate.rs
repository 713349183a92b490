//! Mazes, walked and seen, as arrays.

use crate::arrays::wrong;
use crate::episode::Episode;
use crate::errors::raised;
use driftless_world::files::dpf::DpfWriter;
use driftless_world::files::provenance::Provenance;
use driftless_world::files::{Overwrite, Source, zip::Method};
use driftless_world::maze::{Layout, MazeWorld};
use driftless_world::random::Random;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// Episodes of a maze: maze1, maze2, maze3, or a file with a drawing. With `out` they are written as DPF's npz, too, which
/// experiments in mazes learn from.
#[pyfunction]
#[pyo3(signature = (world, *, episodes, steps=100, size=(32, 32), seed=0, odometry_noise=0.0, out=None))]
#[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
pub fn simulate(
    py: Python,
    world: &str,
    episodes: usize,
    steps: usize,
    size: (usize, usize),
    seed: u64,
    odometry_noise: f64,
    out: Option<PathBuf>,
) -> PyResult<Vec<Episode>> {
    if episodes == 0 || steps < 2 || !(8..=512).contains(&size.0) || !(8..=512).contains(&size.1) {
        return Err(wrong("there must be an episode, of two steps at least, with images of 8 to 512 pixels"));
    }
    if !(0.0..=10.0).contains(&odometry_noise) {
        return Err(wrong(format!("odometry_noise must be a share from 0 to 10, not {odometry_noise}")));
    }
    let made = py.detach(|| {
        let world = MazeWorld::new(layout(world)?, size.1, size.0);
        let recorded = |number| world.episode(seed, number, steps);
        if let Some(out) = out {
            let comment = Provenance {
                made_by: concat!("driftless ", env!("CARGO_PKG_VERSION")).into(),
                world: Some(world.layout().name().into()),
                seed: Some(seed),
                steps: Some(steps),
                maze: Some(world.layout().clone()),
                ..Provenance::default()
            };
            let mut file = DpfWriter::create(out, Overwrite::Replace, Method::Stored, &comment.to_string())?;
            (0..episodes).try_for_each(|number| file.push(&recorded(number).into_recording()))?;
            file.finish()?;
        }
        let noisy = |number| {
            // Numbers of the odometry are independent of those of the walk.
            let mut random = Random::stream(seed ^ 0x6e6f_6973_6521, number as u64);
            let trajectory = recorded(number).into_trajectory(odometry_noise, &mut random)?;
            Ok(Episode { trajectory })
        };
        (0..episodes).map(noisy).collect::<driftless_world::Result<Vec<_>>>()
    });
    made.map_err(raised)
}

fn layout(name: &str) -> driftless_world::Result<Layout> {
    if let Some(layout) = Layout::built_in(name) {
        return Ok(layout);
    }
    if !Path::new(name).exists() {
        let what = format!("{name}: there is no such world; use maze1, maze2, maze3, or a maze's drawing");
        return Err(driftless_world::Error::new(what));
    }
    let text = Source::open(name)?.read_text(1 << 22)?;
    text.parse::<Layout>().map_err(|error| error.in_file(name))
}
