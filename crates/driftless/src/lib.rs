//! Differentiable particle filters that learn from few labels.
//!
//! # Shapes
//! One legend for the whole crate: **B** batch, **T** time, **N** particles, **S** state, **A**
//! action, **E** feature. A comment `// [B, N, S]` at the end of a line gives the shape of what the
//! line makes.
//!
//! # Map
//! - [`space`]: which coordinates are angles; the only place that wraps or averages them.
//! - [`belief`]: weighted particles whose log-weights are normalised by construction.
//! - [`prior`]: where particles start. [`draws`]: every random number, from one seed; [`dropout`]:
//!   the masks among them.
//! - [`model`]: how states move and observations arise; two easy doors and one full one.
//! - [`resample`]: drawing particles anew, and wrappers that decide when, and what gradients see.
//! - [`filter`]: the one step, and rollouts of it.
//! - [`batch`]: what a learner is given. [`objective`]: what it is to minimise.
//! - [`parameters`]: first values, and all of them by name. [`optimise`]: how they change;
//!   [`weights`]: files of them. [`config`]: resamplers from a text file, and errors that give advice.
//! - [`smooth`]: what is known of every state once everything has been seen; soft labels.
//! - [`learn`]: methods that learn from episodes, behind one door. [`methods`]: those there are.
//! - [`online`]: a trained filter on a robot online.
//! - [`classical`]: Monte-Carlo localisation on depth images and a floor map, without learning.
//! - [`benchmarks`]: what filters and resamplers are measured by.
//! - [`nets`]: layers and encoders of the maze experiments. [`baseline`]: networks without a filter.
//!
//! Randomness is data: nothing here draws a number by itself. What is needed is drawn on the host
//! from one seed and passed in, so every function is pure, repeatable and differentiable.

pub mod baseline;
pub mod batch;
pub mod belief;
pub mod benchmarks;
pub mod classical;
pub mod config;
#[cfg(test)]
mod contract;
pub mod draws;
pub mod dropout;
pub mod error;
pub mod filter;
pub mod learn;
pub mod methods;
pub mod model;
pub mod nets;
pub mod objective;
pub mod online;
mod ops;
pub mod optimise;
pub mod parameters;
pub mod prior;
pub mod resample;
pub mod smooth;
pub mod space;
#[cfg(test)]
mod testing;
pub mod weights;

pub use batch::{Batch, LabelMean, Labels};
pub use belief::{Belief, LogWeights};
pub use draws::{Draw, DrawSizes, Draws};
pub use dropout::Phase;
pub use error::{Error, Result};
pub use filter::{Filter, Injection, Rollout, StepInfo};
pub use model::{Measurement, Model, Moment, StateSpace, Transition};
pub use objective::Objective;
pub use prior::Prior;
pub use space::Space;

/// The guide's code is compiled and run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/filters.md")]
pub struct Guide;

/// The worked examples of how to add pieces are compiled and run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
pub struct Contributing;
