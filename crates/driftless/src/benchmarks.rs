//! What the field measures filters and resamplers by: vector models whose exact answers are known.
//!
//! `driftless reproduce filters` computes all of it. Every number is named by the seeds in here; the number of threads does
//! not matter.

mod exact;
mod gradients;
mod likelihood;
mod models;
mod particles;
mod recovery;
mod volatility;

use crate::config::parse;
use crate::resample::{RESAMPLERS, Resampler, ResamplerSettings};
use crate::space::Space;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// All tables of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Of the program that computed it.
    pub driftless: String,
    /// Whether it is of the small sizes.
    pub quick: bool,
    /// The tables.
    pub tables: Vec<Table>,
}

/// Figures of some filters in some circumstances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it is called.
    pub id: String,
    /// What was computed, of how many runs of what.
    pub about: String,
    /// Names of the columns; the first is of the rows' names.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What it is of.
    pub name: String,
    /// A figure for each column after the first.
    pub figures: Vec<Figure>,
}

/// A number, and what it is sure to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The number.
    pub value: f64,
    /// Its standard error, where it is a mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

impl Figure {
    /// Without a standard error.
    fn plain(value: f64) -> Self {
        Self { value: rounded(value), error: None }
    }

    /// The mean of independent numbers.
    fn mean(numbers: &[f64]) -> Self {
        let error = deviation(numbers) / (numbers.len() as f64).sqrt();
        Self { value: rounded(average(numbers)), error: Some(rounded(error)) }
    }

    /// The standard deviation of independent numbers.
    fn deviation(numbers: &[f64]) -> Self {
        Self::plain(deviation(numbers))
    }

    /// The root of the mean square.
    fn root_mean_square(numbers: &[f64]) -> Self {
        Self::plain((numbers.iter().map(|x| x * x).sum::<f64>() / numbers.len() as f64).sqrt())
    }
}

fn average(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

fn deviation(numbers: &[f64]) -> f64 {
    let (mean, most) = (average(numbers), numbers.len().max(2) as f64 - 1.0);
    (numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / most).sqrt()
}

/// Five digits: records are read by people, and last bits of sums mean nothing.
fn rounded(number: f64) -> f64 {
    format!("{number:.4e}").parse().unwrap_or(number)
}

/// A resampler to be measured.
struct Contender {
    name: String,
    settings: ResamplerSettings,
}

impl Contender {
    /// All registered ones as they are by themselves, and those whose settings change what they are.
    fn all() -> Vec<Self> {
        let of = |(name, text): (String, String)| Self {
            settings: parse(&text).expect("settings of the table are right"),
            name,
        };
        let registered = RESAMPLERS.iter().map(|one| (one.id.to_owned(), format!("kind = '{}'", one.id)));
        let variants = [
            ("soft, exact gradient", "kind = 'soft'\nexact_gradient = true"),
            ("optimal-transport, ε = 0.1", "kind = 'optimal-transport'\nepsilon = 0.1"),
            ("kernel, h = 0.1", "kind = 'kernel'\nbandwidth = 0.1"),
            ("diffusion, ODE", "kind = 'diffusion'\nstochastic = false"),
            (
                "diffusion, ODE, exponential",
                "kind = 'diffusion'\nstochastic = false\nintegrator = 'exponential'",
            ),
        ];
        let variants = variants.map(|(name, text)| (name.to_owned(), text.to_owned()));
        registered.chain(variants).map(of).collect()
    }

    /// On tensors; resampling where fewer than this share of the particles count, or always.
    fn build(&self, below: Option<f64>) -> Box<dyn Resampler> {
        let settings = ResamplerSettings { below, ..self.settings.clone() };
        settings.differentiable(Space::LINEAR).expect("settings of the table are right")
    }

    /// A row for each, computed side by side.
    fn rows(figures: impl Fn(&Self) -> Vec<Figure> + Sync) -> Vec<Row> {
        let row = |one: &Self| Row { name: one.name.clone(), figures: figures(one) };
        Self::all().par_iter().map(row).collect()
    }
}

/// Makes a table, of the small sizes or not.
type Compute = fn(bool) -> Table;

/// Computes all tables; `tell` hears the name of each before it is begun.
///
/// # Errors
/// What `tell` says.
pub fn run<E>(quick: bool, mut tell: impl FnMut(&str) -> Result<(), E>) -> Result<Report, E> {
    let parts: [(&str, Compute); 5] = [
        ("particles", particles::table),
        ("likelihood", likelihood::table),
        ("gradients", gradients::table),
        ("recovery", recovery::table),
        ("volatility", volatility::table),
    ];
    let mut tables = Vec::new();
    for (name, compute) in parts {
        tell(name)?;
        let table = compute(quick);
        assert_eq!(table.id, name, "a table is called what it was announced as");
        tables.push(table);
    }
    Ok(Report { driftless: env!("CARGO_PKG_VERSION").to_owned(), quick, tables })
}
