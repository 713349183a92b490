//! The figures of one step over all trajectories.

use super::errors::{Compared, Errors, is_usable};
use super::figure::{Figure, quantile, sorted};
use super::track::Track;
use serde::{Deserialize, Serialize};

/// Figures of one step. Absent where no trajectory has what they are computed from.
///
/// d² = Σ_k (Δ_k / step size_k)² over x, y and the wrapped heading, as DPF and SDPF scale errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepFigures {
    /// Which step, from 0; for figures of the last step, that of the longest trajectory.
    pub step: usize,
    /// How many trajectories reach it and know the pose there.
    pub trajectories: usize,
    /// How many of those have no usable estimate here.
    pub unusable: usize,
    /// √ mean (Δx² + Δy²), in units of length.
    pub position_rmse: Option<Figure>,
    /// First quartile, median and third quartile of √ (Δx² + Δy²), in units of length.
    pub position_quartiles: Option<[f64; 3]>,
    /// √ mean d²: the RMSE in step sizes as the paper defines it.
    pub scaled_rmse: Option<Figure>,
    /// mean √ d²: what SDPF's released code reports under that name.
    pub scaled_distance: Option<Figure>,
    /// mean d²: the error DPF plots over time.
    pub scaled_mse: Option<Figure>,
    /// √ mean Δheading², in degrees.
    pub heading_rmse: Option<Figure>,
    /// Median of |Δheading|, in degrees.
    pub heading_median: Option<f64>,
    /// DPF's error rate: 1 - share with d² < 1. An unusable estimate is an error.
    pub error_rate: Option<Figure>,
    /// Share farther from the truth than the threshold. An unusable estimate is lost.
    pub lost: Option<Figure>,
    /// Mean of -log density of the truth under the belief, where that is finite (and within ±10⁹).
    pub negative_log_density: Option<Figure>,
    /// Share of truths in the belief's 90 % region.
    pub coverage: Option<Figure>,
    /// Mean effective sample size.
    pub effective_sample_size: Option<Figure>,
}

impl StepFigures {
    /// Figures at the step that `pick` chooses for each track, of the tracks that have it.
    pub(super) fn of(
        step: usize,
        lost: f64,
        tracks: &[Track],
        all: &[Vec<Compared>],
        pick: impl Fn(&[Compared]) -> Option<Compared>,
    ) -> Self {
        let picked: Vec<(&Track, Compared)> =
            tracks.iter().zip(all).filter_map(|(track, steps)| Some((track, pick(steps)?))).collect();
        let reached: Vec<Option<Errors>> = picked.iter().map(|(_, compared)| compared.errors).collect();
        let usable = || reached.iter().flatten();
        let positions = sorted(usable().map(|errors| errors.position));
        let headings = sorted(usable().map(|errors| errors.heading.to_degrees()));
        let belief = |part: fn(&Track) -> &Option<Vec<f64>>| {
            let values = picked.iter().filter_map(|(track, at)| part(track).as_ref()?.get(at.step).copied());
            Figure::mean(values.filter(|value| is_usable(*value)))
        };
        let covered = picked.iter().filter_map(|(track, at)| track.covered.as_ref()?.get(at.step).copied());
        let failed = |is_good: &dyn Fn(&Errors) -> bool| {
            Figure::share(reached.iter().map(|errors| !errors.as_ref().is_some_and(is_good)))
        };
        Self {
            step,
            trajectories: reached.len(),
            unusable: reached.iter().filter(|errors| errors.is_none()).count(),
            position_rmse: Figure::root_mean(usable().map(|errors| errors.position.powi(2))),
            position_quartiles: quartiles(&positions),
            scaled_rmse: Figure::root_mean(usable().map(|errors| errors.squared_scaled)),
            scaled_distance: Figure::mean(usable().map(|errors| errors.squared_scaled.sqrt())),
            scaled_mse: Figure::mean(usable().map(|errors| errors.squared_scaled)),
            heading_rmse: Figure::root_mean(usable().map(|errors| errors.heading.to_degrees().powi(2))),
            heading_median: quantile(&headings, 0.5),
            error_rate: failed(&|errors| errors.squared_scaled < 1.0),
            lost: failed(&|errors| errors.position <= lost),
            negative_log_density: belief(|track| &track.log_density).map(Figure::negated),
            coverage: Figure::share(covered),
            effective_sample_size: belief(|track| &track.effective_sample_size),
        }
    }

    /// The same of what has no heading.
    pub(super) fn without_heading(&mut self) {
        (self.heading_rmse, self.heading_median) = (None, None);
    }
}

fn quartiles(sorted: &[f64]) -> Option<[f64; 3]> {
    Some([quantile(sorted, 0.25)?, quantile(sorted, 0.5)?, quantile(sorted, 0.75)?])
}
