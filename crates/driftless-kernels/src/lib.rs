//! Kernels of the filters' networks on plain slices: forward, backward, no allocation, no Burn.
//!
//! Matrices are rows of f32 whose width is a multiple of [`LANES`], padded with zeros. Everything is built on one
//! small matrix product ([`gemm`]) whose inner tile is compiled once for each kind of CPU and chosen at run time
//! ([`Cpu`]); it is the only place with `unsafe`.

#![allow(clippy::inline_always, reason = "only what is inlined is compiled for the CPU that was found")]

pub mod contrast;
pub mod conv;
pub mod decoder;
pub mod dense;
pub mod gemm;
pub mod images;
mod lanes;
pub mod mlp;
pub mod motion;
pub mod online;
pub mod patches;
pub mod pfnet;
mod pixels;
mod places;
pub mod range_scan;
pub mod ranks;
pub mod recurrent;
mod relu;
pub mod rows;
pub mod scan;
#[cfg(test)]
mod testing;
pub mod training;

pub use driftless_core::normal::{fill_normal, uniform};
/// The CPU, and what widths of matrices are multiples of.
pub use driftless_core::{Cpu, LANES};

use driftless_core::{angles, cpu, exponential, normal};

/// The least multiple of [`LANES`] that has room for so many numbers.
pub const fn padded(width: usize) -> usize {
    width.div_ceil(LANES) * LANES
}
