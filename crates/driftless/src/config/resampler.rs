//! How particles are drawn anew, by name.

use super::{check, positive};
use crate::error::Result;
use crate::resample::{OptimalTransport, Resampler, Scheme, Soft, StopGradient, Truncate, WhenBelow};
use crate::space::Space;
use serde::{Deserialize, Serialize};

/// A resampler; `when-below` and `truncate` hold another one, freely nested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum ResamplerConfig {
    /// [`Scheme`].
    Scheme {
        /// How ancestors are drawn. Default: systematic.
        #[serde(default)]
        scheme: SchemeName,
    },
    /// [`Soft`].
    Soft {
        /// α, in [0, 1]. Default: 0.5, as in PF-net.
        #[serde(default = "half")]
        alpha: f64,
        /// Whether the proposal is a constant for the gradient. Default: false, as published.
        #[serde(default)]
        exact_gradient: bool,
        /// How ancestors are drawn. Default: systematic.
        #[serde(default)]
        scheme: SchemeName,
    },
    /// [`StopGradient`].
    StopGradient {
        /// How ancestors are drawn. Default: systematic.
        #[serde(default)]
        scheme: SchemeName,
    },
    /// [`OptimalTransport`].
    Transport {
        /// ε, positive. Default: 0.5, as published.
        #[serde(default = "half")]
        epsilon: f64,
        /// Relative error of row sums at which iterations end, positive. Default: 1e-4.
        #[serde(default = "tolerance")]
        tolerance: f64,
        /// At most so many iterations, at least 1. Default: 500.
        #[serde(default = "iterations")]
        max_iterations: usize,
        /// Iterations the gradient sees, at least 1. Default: 10.
        #[serde(default = "differentiated")]
        differentiated: usize,
    },
    /// [`WhenBelow`].
    WhenBelow {
        /// Of N, in [0, 1]. Default: 0.5.
        #[serde(default = "half")]
        fraction: f64,
        /// What is used then.
        inner: Box<ResamplerConfig>,
    },
    /// [`Truncate`].
    Truncate {
        /// What the gradient does not cross.
        inner: Box<ResamplerConfig>,
    },
}

/// [`Scheme`] by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchemeName {
    /// Independent draws.
    Multinomial,
    /// One a stratum.
    Stratified,
    /// One number for all strata.
    #[default]
    Systematic,
    /// Certain children first.
    Residual,
}

impl From<SchemeName> for Scheme {
    fn from(name: SchemeName) -> Self {
        match name {
            SchemeName::Multinomial => Self::Multinomial,
            SchemeName::Stratified => Self::Stratified,
            SchemeName::Systematic => Self::Systematic,
            SchemeName::Residual => Self::Residual,
        }
    }
}

fn half() -> f64 {
    0.5
}

fn tolerance() -> f64 {
    1e-4
}

fn iterations() -> usize {
    500
}

fn differentiated() -> usize {
    10
}

impl ResamplerConfig {
    /// The resampler for states of this space; numbers out of range are an error.
    pub fn build(&self, space: Space) -> Result<Box<dyn Resampler>> {
        Ok(match self {
            Self::Scheme { scheme } => Box::new(Scheme::from(*scheme)),
            Self::Soft { alpha, exact_gradient, scheme } => {
                check("alpha", alpha, (0.0..=1.0).contains(alpha), "between 0 and 1")?;
                let soft = Soft::new(*alpha, (*scheme).into());
                Box::new(if *exact_gradient { soft.with_exact_gradient() } else { soft })
            }
            Self::StopGradient { scheme } => Box::new(StopGradient((*scheme).into())),
            Self::Transport { epsilon, tolerance, max_iterations, differentiated } => {
                positive("epsilon", *epsilon)?;
                positive("tolerance", *tolerance)?;
                check("max-iterations", max_iterations, *max_iterations > 0, "at least 1")?;
                check("differentiated", differentiated, *differentiated > 0, "at least 1")?;
                let mut transport = OptimalTransport::new(space, *epsilon);
                transport.tolerance = *tolerance;
                transport.max_iterations = *max_iterations;
                transport.differentiated = *differentiated;
                Box::new(transport)
            }
            Self::WhenBelow { fraction, inner } => {
                check("fraction", fraction, (0.0..=1.0).contains(fraction), "between 0 and 1")?;
                let inner = inner.build(space).map_err(|error| error.under("inner"))?;
                Box::new(WhenBelow { fraction: *fraction, inner })
            }
            Self::Truncate { inner } => {
                Box::new(Truncate(inner.build(space).map_err(|error| error.under("inner"))?))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    fn built(text: &str) -> String {
        match parse::<ResamplerConfig>(text).and_then(|config| config.build(Space::SE2)) {
            Ok(resampler) => format!("{resampler:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn builds_what_it_says() {
        assert_eq!(built("kind = 'scheme'"), format!("{:?}", Scheme::Systematic));
        assert_eq!(built("kind = 'scheme'\nscheme = 'stratified'"), format!("{:?}", Scheme::Stratified));
        let soft = Soft::new(0.3, Scheme::Residual).with_exact_gradient();
        let text = "kind = 'soft'\nalpha = 0.3\nexact-gradient = true\nscheme = 'residual'";
        assert_eq!(built(text), format!("{soft:?}"));
        let published = StopGradient(Scheme::Multinomial);
        assert_eq!(built("kind = 'stop-gradient'\nscheme = 'multinomial'"), format!("{published:?}"));
        let transport = OptimalTransport::new(Space::SE2, 0.5);
        assert_eq!(built("kind = 'transport'"), format!("{transport:?}"), "the defaults are one's own");
        let text =
            "kind = 'truncate'\n[inner]\nkind = 'when-below'\nfraction = 0.4\n[inner.inner]\nkind = 'soft'";
        let below = WhenBelow { fraction: 0.4, inner: Box::new(Soft::new(0.5, Scheme::Systematic)) };
        assert_eq!(built(text), format!("{:?}", Truncate(Box::new(below))));
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(built("kind = 'soft'\nalpha = 1.5"), "alpha: must be between 0 and 1, not 1.5");
        assert_eq!(built("kind = 'soft'\nalpha = nan"), "alpha: must be between 0 and 1, not NaN");
        assert_eq!(
            built("kind = 'truncate'\ninner = { kind = 'transport', epsilon = 0.0 }"),
            "inner.epsilon: must be positive and finite, not 0"
        );
        assert_eq!(
            built("kind = 'when-below'\nfraction = -1\ninner = { kind = 'scheme' }"),
            "fraction: must be between 0 and 1, not -1"
        );
        assert_eq!(
            built("kind = 'transport'\nmax-iterations = 0"),
            "max-iterations: must be at least 1, not 0"
        );
        for (text, advice) in [
            ("kind = 'sofft'", "did you mean `soft`?"),
            ("kind = 'scheme'\nshceme = 'residual'", "did you mean `scheme`?"),
            ("kind = 'scheme'\nscheme = 'systemic'", "did you mean `systematic`?"),
            ("kind = 'truncate'", "missing field `inner`"),
            ("alpha = 0.5", "missing field `kind`"),
        ] {
            assert!(built(text).ends_with(advice), "{}", built(text));
        }
    }

    #[test]
    fn survives_being_written() {
        let inner = Box::new(ResamplerConfig::Soft {
            alpha: 0.1,
            exact_gradient: true,
            scheme: SchemeName::Residual,
        });
        let config = ResamplerConfig::WhenBelow { fraction: 0.25, inner };
        assert_eq!(parse::<ResamplerConfig>(&toml::to_string(&config).unwrap()).unwrap(), config);
    }
}
