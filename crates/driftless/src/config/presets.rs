//! The paper's choices and those of the authors' code, whole: how particles are drawn anew, and what is
//! made small.

use super::{LabelMeanName, ObjectiveConfig, Preset, PseudoLikelihoodConfig, ResamplerConfig, SchemeName};

impl Preset {
    /// How particles are drawn anew.
    ///
    /// - Paper: by independent draws where the effective sample size is below N / 2. The paper leaves the
    ///   threshold open.
    /// - Released code: systematically and always, with no gradient across.
    pub fn resampler(self) -> ResamplerConfig {
        match self {
            Self::Paper => {
                let inner = Box::new(ResamplerConfig::Scheme { scheme: SchemeName::Multinomial });
                ResamplerConfig::WhenBelow { fraction: 0.5, inner }
            }
            Self::ReleasedCode => {
                let inner = Box::new(ResamplerConfig::Scheme { scheme: SchemeName::Systematic });
                ResamplerConfig::Truncate { inner }
            }
        }
    }

    /// λ_1 L - λ_2 Q with the mazes' λ_1 = 10 and λ_2 = 0.01, for blocks of this many steps: 20 in the
    /// mazes.
    ///
    /// - Paper: L is the squared error of the mean state over the labels of a batch.
    /// - Released code: L is the kernel density over the share of labels in the data. A
    ///   [`Reconstruction`](crate::objective::Reconstruction) of weight 200, which needs a decoder, has to
    ///   be added.
    pub fn objective(self, block: usize) -> Vec<ObjectiveConfig> {
        let labelled = match self {
            Self::Paper => {
                ObjectiveConfig::SquaredError { weight: 10.0, scale: None, over: LabelMeanName::Known }
            }
            Self::ReleasedCode => ObjectiveConfig::KernelDensity {
                weight: 10.0,
                scale: None,
                bandwidth: 0.2,
                over: LabelMeanName::Share,
            },
        };
        let unlabelled = PseudoLikelihoodConfig {
            weight: 0.01,
            block,
            preset: self,
            start: None,
            log_density: None,
            likelihoods: None,
            genealogy: None,
            first_likelihood: None,
            hold_positions: None,
            hold_weights: None,
        };
        vec![labelled, ObjectiveConfig::PseudoLikelihood(unlabelled)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    #[test]
    fn presets_in_words() {
        let resampler = |text: &str| parse::<ResamplerConfig>(text).unwrap();
        assert_eq!(
            Preset::Paper.resampler(),
            resampler("kind = 'when-below'\ninner = { kind = 'scheme', scheme = 'multinomial' }")
        );
        assert_eq!(
            Preset::ReleasedCode.resampler(),
            resampler("kind = 'truncate'\ninner = { kind = 'scheme' }")
        );
        let part = |text: &str| parse::<ObjectiveConfig>(text).unwrap();
        let paper = [
            part("kind = 'squared-error'\nweight = 10"),
            part("kind = 'pseudo-likelihood'\nweight = 0.01\nblock = 20"),
        ];
        assert_eq!(Preset::Paper.objective(20), paper);
        let released = [
            part("kind = 'kernel-density'\nweight = 10\nover = 'share'"),
            part("kind = 'pseudo-likelihood'\nweight = 0.01\nblock = 20\npreset = 'released-code'"),
        ];
        assert_eq!(Preset::ReleasedCode.objective(20), released);
    }
}
