//! Networks that estimate states without a filter: what the papers compare with.
//!
//! [`RecurrentBaseline`] reads observations and actions step by step through two [`Lstm`]s. Where images are seen it
//! learns by [`RecurrentBaseline::loss_by_kernels`], a faster way to the same gradient.

pub mod lstm;
pub mod recurrent;

pub use lstm::Lstm;
pub use recurrent::{BaselineNormalisation, BaselinePlan, KernelWorkspace, RecurrentBaseline};
