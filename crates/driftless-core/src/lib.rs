//! The particle filter without tensors: one step over any state space, motion, sensor and resampler.
//!
//! A [`Filter`] resamples, propagates by a [`Motion`], reweights by a [`Sensor`] and injects particles where the robot
//! was kidnapped. Whatever tracks, evaluates, localises or looks back in Driftless is this step.
//!
//! ```
//! use driftless_core::motion::{HeadingNoise, Odometry};
//! use driftless_core::pose::Frame;
//! use driftless_core::sensor::Likelihood;
//! use driftless_core::{Belief, Filter, FilterState, Particles, Space, Stream, Workspace};
//!
//! // A robot that knows where it is, drives a metre ahead, and measures 1.2 m from the wall behind it.
//! let odometry = Odometry {
//!     frame: Frame::Robot,
//!     rest: [0.1, 0.01],
//!     share: [0.1, 0.1],
//!     scale: 0.0,
//!     heading_noise: HeadingNoise::After,
//!     missing: [1.0, 0.5],
//! };
//! let start = Particles::from_states(Space::SE2, vec![[0.0_f32, 0.0, 0.0]; 1000]);
//! let mut state = FilterState::new(Belief::new(start));
//! let mut range = Likelihood(|pose: &[f32]| -0.5 * ((pose[0] - 1.2) / 0.1).powi(2));
//! let report = Filter::bootstrap(1000).step(
//!     &mut state,
//!     &mut odometry.by(Some([1.0, 0.0, 0.0])),
//!     &mut range,
//!     &mut Stream::new(1, 0),
//!     &mut Workspace::new(Space::SE2),
//! );
//! // N(1, 0.02) before, N(1.2, 0.01) seen: the mean is 1 + ⅔ of what they are apart.
//! assert!((state.belief.mean()[0] - (1.0 + 0.2 * 2.0 / 3.0)).abs() < 0.02);
//! assert!(!report.collapsed);
//! ```

#![allow(clippy::inline_always, reason = "only what is inlined is compiled for the CPU that was found")]

pub mod angles;
mod belief;
pub mod cpu;
pub mod density;
mod draws;
pub mod exponential;
pub mod filter;
pub mod kalman;
pub mod map;
pub mod models;
pub mod motion;
pub mod normal;
mod particles;
pub mod pose;
pub mod random;
pub mod resample;
pub mod sensor;
pub mod smooth;
mod snapshot;
mod space;
#[cfg(test)]
mod testing;
mod weights;

pub use belief::Belief;
pub use cpu::Cpu;
pub use draws::{Draws, Replay, Stream};
pub use filter::{Filter, FilterState, StepReport, Workspace};
pub use motion::Motion;
pub use particles::Particles;
pub use resample::Resampler;
pub use sensor::{Reading, Sensor};
pub use snapshot::Snapshot;
pub use space::Space;
pub use weights::{IMPOSSIBLE, Reweighted, Weights, effective_sample_size};

/// Numbers that a vector register has room for.
pub const LANES: usize = 16;
