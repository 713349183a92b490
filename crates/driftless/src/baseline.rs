//! Networks that estimate states without a filter: what the papers compare with.
//!
//! [`RecurrentBaseline`] reads observations and actions step by step through two [`Lstm`]s. Where images are seen it
//! learns by [`RecurrentBaseline::loss_by_kernels`], a faster way to the same gradient.
//! [`ParticleRnn`] has weighted particles as its memory.

pub mod lstm;
mod particle_cell;
pub mod particles;
pub mod recurrent;

pub use lstm::Lstm;
pub use particle_cell::{CellInput, CellKind, CellOutput, ParticleCell, Statistics};
pub use particles::{ParticleRnn, ParticleRollout, ParticleUnits};
pub use recurrent::{BaselineNormalisation, BaselinePlan, KernelWorkspace, RecurrentBaseline};
