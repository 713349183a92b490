//! Filters, their pieces and their networks against exact answers: Kalman, grids, smoothers, finite differences.

mod baselines;
mod bridge;
mod by_kernels;
mod chain;
mod chain_of_poses;
mod collapse;
mod common;
mod differences;
mod fisher;
mod gradients;
mod grid;
mod injection;
mod kalman;
mod lost_actions;
mod motion_gradients;
mod networks;
mod never_nan;
mod objectives;
mod paths;
mod recurrent;
mod rts;
mod score;
mod sharp_match;
mod tiny;
