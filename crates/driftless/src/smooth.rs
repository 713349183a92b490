//! Smoothing: what is known of every state once the whole sequence, labels included, has been seen.
//!
//! [`chain`] needs no particles: Gaussian motion between labels, exact, fast, on plain numbers.

pub mod chain;
