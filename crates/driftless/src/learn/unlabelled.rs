//! What `driftless` learns from steps without a label, and how much that counts.

use crate::config;
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// An objective that needs no label of the steps it looks at; an experiment names any of them, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unlabelled {
    /// Soft labels: poses of paths that labels, odometry and images allow, smoothed over the whole trajectory.
    Paths,
    /// The paper's block pseudo-likelihood Q of a filter's paths.
    PseudoLikelihood,
    /// The same with l_i / Σ_j l_j of each step's particles in place of l.
    PseudoLikelihoodNormalised,
    /// The filter's evidence, Σ_t log p(o_t | o_<t), of the likelihoods as they are.
    Evidence,
    /// The same of l divided by its mean over poses all over the maze, which makes it a density.
    EvidenceNormalised,
}

impl Unlabelled {
    /// As experiments write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paths => "paths",
            Self::PseudoLikelihood => "pseudo-likelihood",
            Self::PseudoLikelihoodNormalised => "pseudo-likelihood-normalised",
            Self::Evidence => "evidence",
            Self::EvidenceNormalised => "evidence-normalised",
        }
    }

    /// As tables show it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Paths => "soft labels",
            Self::PseudoLikelihood => "Q",
            Self::PseudoLikelihoodNormalised => "Q, normalised",
            Self::Evidence => "evidence",
            Self::EvidenceNormalised => "evidence, normalised",
        }
    }
}

/// What a nat a step counts beside one of the contrast; chosen among three on validation episodes of Maze 1, after 400 updates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct UnlabelledWeights {
    /// Of -Q.
    pub pseudo_likelihood: f64,
    /// Of -Q, normalised.
    pub pseudo_likelihood_normalised: f64,
    /// Of the negative evidence.
    pub evidence: f64,
    /// Of the negative evidence, normalised.
    pub evidence_normalised: f64,
}

impl Default for UnlabelledWeights {
    fn default() -> Self {
        Self {
            pseudo_likelihood: 0.01,
            pseudo_likelihood_normalised: 0.1,
            evidence: 0.01,
            evidence_normalised: 0.01,
        }
    }
}

impl UnlabelledWeights {
    /// That of an objective of a filter; soft labels have none.
    pub fn of(&self, objective: Unlabelled) -> Option<f64> {
        match objective {
            Unlabelled::Paths => None,
            Unlabelled::PseudoLikelihood => Some(self.pseudo_likelihood),
            Unlabelled::PseudoLikelihoodNormalised => Some(self.pseudo_likelihood_normalised),
            Unlabelled::Evidence => Some(self.evidence),
            Unlabelled::EvidenceNormalised => Some(self.evidence_normalised),
        }
    }

    /// Fails if a weight is out of its range.
    pub(super) fn check(&self) -> Result<()> {
        let named = [
            ("pseudo-likelihood", self.pseudo_likelihood),
            ("pseudo-likelihood-normalised", self.pseudo_likelihood_normalised),
            ("evidence", self.evidence),
            ("evidence-normalised", self.evidence_normalised),
        ];
        named.into_iter().try_for_each(|(key, weight)| {
            config::check(key, weight, (0.0..=1e6).contains(&weight), "from 0 to 1000000")
                .map_err(|error| error.under("unlabelled_weights"))
        })
    }
}
