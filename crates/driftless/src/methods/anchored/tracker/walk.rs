//! A belief under way, and the memory that steps use again.

use super::View;
use crate::methods::anchored::paths::normalise;
use crate::methods::cloud::Cloud;

/// What is kept from one step to the next.
#[derive(Clone, Debug)]
pub struct Walk {
    /// The belief.
    pub cloud: Cloud,
    /// The probability that the robot is anywhere else.
    pub lost: f64,
    pub(super) room: Room,
}

/// Room to work.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    pub(super) scores: Vec<f64>,
    pub(super) logs: Vec<f64>,
    /// Weights of the map's poses.
    pub(super) map: Vec<f64>,
    pub(super) cumulative: Vec<f64>,
    pub(super) chosen: Vec<usize>,
    pub(super) poses: Vec<[f64; 3]>,
}

impl Default for Walk {
    fn default() -> Self {
        Self { cloud: Cloud { poses: Vec::new(), weights: Vec::new() }, lost: 0.0, room: Room::default() }
    }
}

impl Walk {
    /// Room for a map of so many poses and so many particles: no step will need more.
    pub(super) fn make_room(&mut self, map: usize, particles: usize) {
        let Room { scores, logs, map: weights, cumulative, chosen, poses } = &mut self.room;
        let columns = [(scores, particles.max(map)), (logs, particles), (weights, map)];
        for (column, size) in columns
            .into_iter()
            .chain([(cumulative, particles.max(map)), (&mut self.cloud.weights, particles)])
        {
            column.reserve(size.saturating_sub(column.len()));
        }
        chosen.reserve(particles.saturating_sub(chosen.len()));
        for column in [poses, &mut self.cloud.poses] {
            column.reserve(particles.saturating_sub(column.len()));
        }
    }
}

impl Room {
    /// Weights of the map's poses by what is seen at step t.
    pub(super) fn map_weights(&mut self, view: &impl View, t: usize, temper: f64) {
        view.of_map(t, &mut self.scores);
        for score in &mut self.scores {
            *score *= temper;
        }
        normalise(&self.scores, &mut self.map);
    }
}
