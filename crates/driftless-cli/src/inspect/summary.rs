//! The figures of a data file, as a table for people and as JSON for programs.

use crate::output::{bytes, grouped};
use anyhow::Result;
use driftless_world::files::{DataFile, Format};
use driftless_world::statistics::{Moments, Statistics};
use driftless_world::{Observations, Pixels, Trajectory};
use serde::Serialize;
use std::fmt::{self, Write};
use std::path::Path;

/// One dimension's figures.
#[derive(Debug, Serialize)]
pub struct Figures {
    name: String,
    mean: f64,
    std: f64,
    min: f64,
    max: f64,
}

/// Everything that `inspect` tells.
#[derive(Debug, Serialize)]
pub struct Summary {
    file: String,
    kind: String,
    made_by: Option<String>,
    bytes: u64,
    episodes: usize,
    episodes_read: usize,
    /// Shortest and longest episode, in steps as a trainer sees them.
    steps: [usize; 2],
    steps_read: usize,
    labelled_steps: usize,
    label_share: f64,
    observation: String,
    observation_shape: Vec<usize>,
    unit: String,
    states: Vec<Figures>,
    /// Mean absolute change of the state from step to step, by dimension.
    step_size: Vec<f64>,
    actions: Vec<Figures>,
    observations: Vec<Figures>,
    note: Option<String>,
    /// Empty if all is well.
    pub problems: Vec<String>,
}

impl Summary {
    /// Collects what is known.
    pub fn new(
        path: &Path,
        kind: &Format,
        data: &dyn DataFile,
        sample: &Trajectory,
        statistics: &Statistics,
        problems: Vec<String>,
    ) -> Result<Self> {
        let (observation, observation_shape) = observation(sample);
        let read = statistics.lengths.count as usize;
        let steps_read = (statistics.lengths.mean * read as f64).round() as usize;
        let pose = sample.states.width() == 3;
        let state_names: &[&str] = if pose { &["x", "y", "heading"] } else { &[] };
        let action_names: &[&str] =
            if pose && sample.actions.width() == 3 { &["forward", "sideways", "turn"] } else { &[] };
        let channels: &[&str] = match (&sample.observations, statistics.observations.len()) {
            (Observations::Images(_), 3) => &["red", "green", "blue"],
            (Observations::Images(_), 4) => &["red", "green", "blue", "depth"],
            _ => &[],
        };
        Ok(Self {
            file: path.display().to_string(),
            kind: kind.what.to_owned(),
            made_by: data.provenance().map(|provenance| made_by(&provenance)),
            bytes: std::fs::metadata(path)?.len(),
            episodes: data.len(),
            episodes_read: read,
            steps: [statistics.lengths.min as usize, statistics.lengths.max as usize],
            steps_read,
            labelled_steps: statistics.labelled,
            label_share: statistics.labelled as f64 / steps_read.max(1) as f64,
            observation,
            observation_shape,
            unit: data.unit().into(),
            states: figures("state", state_names, &statistics.states),
            step_size: statistics.steps.iter().map(|moments| moments.mean).collect(),
            actions: figures("action", action_names, &statistics.actions),
            observations: figures("value", channels, &statistics.observations),
            note: data.note(),
            problems,
        })
    }
}

fn made_by(provenance: &driftless_world::files::provenance::Provenance) -> String {
    let noise = provenance.odometry_noise.filter(|&noise| noise > 0.0);
    let parts = [
        Some(provenance.made_by.clone()),
        provenance.world.as_ref().map(|world| format!("world {world}")),
        provenance.seed.map(|seed| format!("seed {seed}")),
        provenance.policy.as_ref().map(|policy| format!("policy {policy}")),
        noise.map(|noise| format!("odometry noise {noise}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn observation(sample: &Trajectory) -> (String, Vec<usize>) {
    match &sample.observations {
        Observations::Vectors(rows) => ("vectors".into(), vec![rows.width()]),
        Observations::Images(images) => {
            let kind = match images.pixels {
                Pixels::Bytes(_) => "images, bytes",
                Pixels::Floats(_) => "images, floats",
            };
            (kind.into(), vec![images.height, images.width, images.channels])
        }
    }
}

fn figures(what: &str, names: &[&str], moments: &[Moments]) -> Vec<Figures> {
    let name = |k: usize| names.get(k).map_or_else(|| format!("{what} {}", k + 1), ToString::to_string);
    let one = |(k, m): (usize, &Moments)| Figures {
        name: name(k),
        mean: m.mean,
        std: m.std(),
        min: m.min,
        max: m.max,
    };
    moments.iter().enumerate().map(one).collect()
}

/// Vectors longer than this are summed up.
const MOST_ROWS: usize = 8;

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape: Vec<String> = self.observation_shape.iter().map(ToString::to_string).collect();
        let [shortest, longest] = self.steps;
        let lengths =
            if shortest == longest { format!("{shortest}") } else { format!("{shortest} to {longest}") };
        let read = match self.episodes_read {
            read if read == self.episodes => String::new(),
            read => format!(" ({} looked at)", grouped(read)),
        };
        writeln!(f, "{} ({})", self.file, bytes(self.bytes))?;
        writeln!(f, "  what       {}", self.kind)?;
        if let Some(made_by) = &self.made_by {
            writeln!(f, "  made by    {made_by}")?;
        }
        writeln!(f, "  episodes   {}{read}, of {lengths} steps", grouped(self.episodes))?;
        writeln!(f, "  observed   {} of {}", self.observation, shape.join(" x "))?;
        writeln!(
            f,
            "  labelled   {} of {} steps ({:.1} %)",
            grouped(self.labelled_steps),
            grouped(self.steps_read),
            100.0 * self.label_share
        )?;
        if let Some(note) = &self.note {
            writeln!(f, "  note       {note}")?;
        }
        f.write_str(&self.table()?)?;
        match self.problems.as_slice() {
            [] => writeln!(f, "\n  problems   none found"),
            problems => problems
                .iter()
                .try_for_each(|problem| write!(f, "\n  problem    {problem}"))
                .and_then(|()| writeln!(f)),
        }
    }
}

impl Summary {
    fn table(&self) -> Result<String, fmt::Error> {
        let mut text = format!(
            "\n  {:<12}{:>10}{:>10}{:>10}{:>10}{:>12}\n",
            "", "mean", "std", "min", "max", "mean |step|"
        );
        for (k, row) in self.states.iter().take(MOST_ROWS).enumerate() {
            let unit = if row.name == "heading" { "rad" } else { self.unit.as_str() };
            let step = self.step_size.get(k).map_or_else(|| "-".into(), |step| format!("{step:.3}"));
            writeln!(text, "  {}{step:>12} {unit}", line(row))?;
        }
        if self.states.len() > MOST_ROWS {
            writeln!(text, "  and {} more", self.states.len() - MOST_ROWS)?;
        }
        for rows in [&self.actions, &self.observations] {
            for row in rows.iter().take(MOST_ROWS) {
                writeln!(text, "  {}", line(row))?;
            }
            if rows.len() > MOST_ROWS {
                writeln!(text, "  and {} more", rows.len() - MOST_ROWS)?;
            }
        }
        Ok(text)
    }
}

fn line(row: &Figures) -> String {
    let number = |value: f64| if value.abs() >= 1e6 { format!("{value:.2e}") } else { format!("{value:.3}") };
    format!(
        "{:<12}{:>10}{:>10}{:>10}{:>10}",
        row.name,
        number(row.mean),
        number(row.std),
        number(row.min),
        number(row.max)
    )
}
