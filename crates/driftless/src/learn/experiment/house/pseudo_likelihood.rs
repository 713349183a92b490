//! The switches of the pseudo-likelihood in houses: those of [`crate::objective::PseudoLikelihood`], by the same names.

use crate::objective::{Genealogy, Likelihoods};
use serde::{Deserialize, Serialize};

/// The law μ of a block's first state: [`crate::objective::BlockStart`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HouseBlockStart {
    /// What the robot is told of its first pose, at the start of each block.
    Prior,
    /// Anywhere in the rooms, at the start of each block: the paper's stationary law in a house.
    Flat,
    /// Flat for the first block; the transition from the block before for all others.
    Carried,
}

/// `[house.pseudo_likelihood]` in a file. Each is a choice on which the paper and the authors' code differ, or which
/// the paper leaves open; [`crate::objective::PseudoLikelihood`] tells more of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HousePseudoLikelihood {
    /// The law μ of a block's first state.
    pub start: HouseBlockStart,
    /// What stands for log l. `literal` is the network's number, which has no bound.
    pub likelihoods: Likelihoods,
    /// Whose paths count. `final` makes one update of a whole sequence, for only then its last particles are known.
    pub genealogy: Genealogy,
    /// Whether l(o_1 | s_1) enters the first block; otherwise 1 / N stands for it.
    pub first_likelihood: bool,
    /// Whether positions are constants. In houses nothing that is learned moves particles, so they always are: both
    /// values give the same gradient.
    pub hold_positions: bool,
    /// Whether weights are constants, as in an EM step. If not, beliefs are made sharp for its own sake.
    pub hold_weights: bool,
}

impl Default for HousePseudoLikelihood {
    /// The paper's, but for likelihoods, which are normalised because a network's number has no bound.
    fn default() -> Self {
        Self {
            start: HouseBlockStart::Flat,
            likelihoods: Likelihoods::Normalised,
            genealogy: Genealogy::BlockEnd,
            first_likelihood: true,
            hold_positions: true,
            hold_weights: true,
        }
    }
}
