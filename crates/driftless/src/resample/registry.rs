//! All resamplers that experiments can name, one line each: `resampler = { kind = "soft", alpha = 0.3, below = 0.5 }`.
//!
//! A resampler may exist on tensors, where methods differentiate through their filter, and on plain numbers, where a
//! trained filter is put to use; a method takes what it can use, and the message says why if it cannot.

use super::{
    Bandwidth, Diffusion, Integrator, KernelMixture, OptimalTransport, Resampler, Scheme, Soft, StopGradient,
    WhenBelow,
};
use crate::config::{check, nearest_name, positive, with_advice};
use crate::error::{Error, Result};
use crate::space::Space;
use driftless_core::{Filter, resample as plain};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A resampler in both forms; without the plain one, why.
#[derive(Debug)]
pub struct Built {
    /// On tensors.
    pub differentiable: Box<dyn Resampler>,
    /// On plain numbers.
    pub plain: std::result::Result<Arc<dyn plain::Resampler>, &'static str>,
}

/// A resampler that experiments can name.
#[derive(Debug)]
pub struct RegisteredResampler {
    /// What experiments call it.
    pub id: &'static str,
    /// What it does, in a few words.
    pub what: &'static str,
    /// Makes it of its own settings, for states of a space.
    pub build: fn(toml::Table, Space) -> Result<Built>,
}

/// The table; the first is what settings without a kind mean.
#[rustfmt::skip]
pub const RESAMPLERS: &[RegisteredResampler] = &[
    RegisteredResampler { id: "systematic", what: "one random number for all strata", build: |o, _| scheme(Scheme::Systematic, o) },
    RegisteredResampler { id: "multinomial", what: "independent draws", build: |o, _| scheme(Scheme::Multinomial, o) },
    RegisteredResampler { id: "stratified", what: "one draw a stratum", build: |o, _| scheme(Scheme::Stratified, o) },
    RegisteredResampler { id: "residual", what: "certain children first", build: |o, _| scheme(Scheme::Residual, o) },
    RegisteredResampler { id: "soft", what: "a mixture with equal weights (Karkus 2018)", build: |o, _| soft(o) },
    RegisteredResampler { id: "stop-gradient", what: "weights that carry the score (Scibior 2021)", build: |o, _| stop_gradient(o) },
    RegisteredResampler { id: "optimal-transport", what: "particles are moved (Corenflos 2021)", build: optimal_transport },
    RegisteredResampler { id: "kernel", what: "draws from kernels about the particles (Younis 2023)", build: kernel },
    RegisteredResampler { id: "diffusion", what: "noise flows back to the particles (Andersson 2025)", build: diffusion },
];

/// The setting of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResamplerSettings {
    /// An id of [`RESAMPLERS`].
    pub kind: String,
    /// Resamples only where fewer than this share of the particles count; a method's own rule without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
    /// Settings of this kind.
    #[serde(flatten)]
    pub options: toml::Table,
}

impl Default for ResamplerSettings {
    fn default() -> Self {
        Self { kind: RESAMPLERS[0].id.to_owned(), below: None, options: toml::Table::new() }
    }
}

impl ResamplerSettings {
    /// Both forms; what is unknown or out of range is an error.
    pub fn build(&self, space: Space) -> Result<Built> {
        let Some(found) = RESAMPLERS.iter().find(|one| one.id == self.kind) else {
            let ids = || RESAMPLERS.iter().map(|one| one.id);
            let near =
                nearest_name(&self.kind, ids()).map_or(String::new(), |id| format!("; did you mean `{id}`?"));
            let known = ids().collect::<Vec<_>>().join(", ");
            return Err(Error::setting("kind", format!("{:?} is none of {known}{near}", self.kind)));
        };
        if let Some(below) = self.below {
            check("below", below, (0.0..=1.0).contains(&below), "between 0 and 1")?;
        }
        (found.build)(self.options.clone(), space)
    }

    /// For methods that differentiate through their filter.
    pub fn differentiable(&self, space: Space) -> Result<Box<dyn Resampler>> {
        let inner = self.build(space).map_err(|error| error.under("resampler"))?.differentiable;
        Ok(match self.below {
            Some(fraction) => Box::new(WhenBelow { fraction, inner }),
            None => inner,
        })
    }

    /// For filters on plain numbers.
    pub fn plain(&self) -> Result<Arc<dyn plain::Resampler>> {
        let built = self.build(Space::SE2).map_err(|error| error.under("resampler"))?;
        built
            .plain
            .map_err(|why| Error::setting("resampler", format!("{} cannot be used here: {why}", self.kind)))
    }

    /// A filter on plain numbers that resamples so, and its own way without settings.
    pub(crate) fn apply(settings: Option<&Self>, filter: Filter) -> Result<Filter> {
        let Some(settings) = settings else { return Ok(filter) };
        let resample_below = settings.below.unwrap_or(filter.resample_below);
        Ok(Filter { resampler: settings.plain()?, resample_below, ..filter })
    }

    /// Whether the gradient knows nothing of it anyway.
    pub fn is_scheme(&self) -> bool {
        Scheme::ALL.iter().any(|scheme| scheme.name() == self.kind)
    }
}

/// Settings of one kind; unknown ones get the nearest name.
fn options<O: serde::de::DeserializeOwned>(table: toml::Table) -> Result<O> {
    toml::Value::Table(table)
        .try_into()
        .map_err(|error: toml::de::Error| Error::setting("", with_advice(error.message().to_owned())))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

fn scheme(scheme: Scheme, table: toml::Table) -> Result<Built> {
    let NoOptions {} = options(table)?;
    Ok(Built { differentiable: Box::new(scheme), plain: Ok(Arc::new(scheme)) })
}

fn scheme_of(name: Option<&str>) -> Result<Scheme> {
    name.map_or(Ok(Scheme::Systematic), |name| one_of("scheme", name, &Scheme::ALL, Scheme::name))
}

/// The one with this name; otherwise all names, and the nearest.
fn one_of<T: Copy>(key: &'static str, name: &str, all: &[T], name_of: fn(T) -> &'static str) -> Result<T> {
    all.iter().copied().find(|&one| name_of(one) == name).ok_or_else(|| {
        let names = || all.iter().map(|&one| name_of(one));
        let near =
            nearest_name(name, names()).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        let known = names().collect::<Vec<_>>().join(", ");
        Error::setting(key, format!("{name:?} is none of {known}{near}"))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SoftOptions {
    /// α, in [0, 1]; PF-net has 0.5.
    #[serde(default = "half")]
    alpha: f64,
    /// Whether the proposal is a constant for the gradient; not so as published.
    #[serde(default)]
    exact_gradient: bool,
    scheme: Option<String>,
}

fn half() -> f64 {
    0.5
}

fn soft(table: toml::Table) -> Result<Built> {
    let SoftOptions { alpha, exact_gradient, scheme } = options(table)?;
    check("alpha", alpha, (0.0..=1.0).contains(&alpha), "between 0 and 1")?;
    let scheme = scheme_of(scheme.as_deref())?;
    let soft = Soft::new(alpha, scheme);
    let differentiable = Box::new(if exact_gradient { soft.with_exact_gradient() } else { soft });
    Ok(Built { differentiable, plain: Ok(Arc::new(plain::Soft { alpha, scheme })) })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StopGradientOptions {
    scheme: Option<String>,
}

fn stop_gradient(table: toml::Table) -> Result<Built> {
    let StopGradientOptions { scheme } = options(table)?;
    let differentiable = Box::new(StopGradient(scheme_of(scheme.as_deref())?));
    Ok(Built {
        differentiable,
        plain: Err("it only changes gradients, and no gradient goes through this filter"),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TransportOptions {
    epsilon: f64,
    /// Relative error of row sums at which iterations end.
    tolerance: f64,
    max_iterations: usize,
    /// Iterations the gradient sees.
    differentiated: usize,
}

impl Default for TransportOptions {
    fn default() -> Self {
        Self { epsilon: 0.5, tolerance: 1e-4, max_iterations: 500, differentiated: 10 }
    }
}

fn optimal_transport(table: toml::Table, space: Space) -> Result<Built> {
    let TransportOptions { epsilon, tolerance, max_iterations, differentiated } = options(table)?;
    positive("epsilon", epsilon)?;
    positive("tolerance", tolerance)?;
    check("max_iterations", max_iterations, max_iterations > 0, "at least 1")?;
    check("differentiated", differentiated, differentiated > 0, "at least 1")?;
    let mut transport = OptimalTransport::new(space, epsilon);
    (transport.tolerance, transport.max_iterations) = (tolerance, max_iterations);
    transport.differentiated = differentiated;
    Ok(Built { differentiable: Box::new(transport), plain: Err(MOVES) })
}

/// Why there is no plain form of those that move particles.
const MOVES: &str =
    "it moves particles so that gradients flow through them, and no gradient goes through this filter";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelOptions {
    /// In units of the state; by the belief's spread and effective number without it.
    bandwidth: Option<f64>,
    /// Of angles, in radians; as of lengths without it.
    angle_bandwidth: Option<f64>,
    scheme: Option<String>,
}

fn kernel(table: toml::Table, space: Space) -> Result<Built> {
    let KernelOptions { bandwidth, angle_bandwidth, scheme } = options(table)?;
    let bandwidth = match (bandwidth, angle_bandwidth) {
        (None, None) => Bandwidth::NormalReference,
        (None, Some(_)) => {
            let problem = "needs `bandwidth`, that of the other coordinates, beside it";
            return Err(Error::setting("angle_bandwidth", problem));
        }
        (Some(length), angle) => Bandwidth::Fixed { length, angle: angle.unwrap_or(length) },
    };
    if let Bandwidth::Fixed { length, angle } = bandwidth {
        positive("bandwidth", length)?;
        positive("angle_bandwidth", angle)?;
    }
    let mixture = KernelMixture::new(space, bandwidth, scheme_of(scheme.as_deref())?);
    Ok(Built { differentiable: Box::new(mixture), plain: Err(MOVES) })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DiffusionOptions {
    a: f64,
    horizon: f64,
    steps: usize,
    stochastic: bool,
    integrator: String,
}

impl Default for DiffusionOptions {
    fn default() -> Self {
        let Diffusion { drift: a, horizon, steps, stochastic, integrator, .. } =
            Diffusion::new(Space::LINEAR);
        Self { a, horizon, steps, stochastic, integrator: integrator.name().to_owned() }
    }
}

fn diffusion(table: toml::Table, space: Space) -> Result<Built> {
    let DiffusionOptions { a, horizon, steps, stochastic, integrator } = options(table)?;
    check("a", a, a < 0.0 && a.is_finite(), "negative and finite")?;
    positive("horizon", horizon)?;
    check("steps", steps, (1..=10_000).contains(&steps), "from 1 to 10000")?;
    let integrator = one_of("integrator", &integrator, &Integrator::ALL, Integrator::name)?;
    let mut diffusion = Diffusion::new(space);
    (diffusion.drift, diffusion.horizon, diffusion.steps) = (a, horizon, steps);
    (diffusion.stochastic, diffusion.integrator) = (stochastic, integrator);
    Ok(Built { differentiable: Box::new(diffusion), plain: Err(MOVES) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    fn built(text: &str) -> String {
        match parse::<ResamplerSettings>(text).and_then(|settings| settings.differentiable(Space::SE2)) {
            Ok(resampler) => format!("{resampler:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn builds_what_it_says() {
        assert_eq!(built(""), format!("{:?}", Scheme::Systematic));
        assert_eq!(built("kind = 'stratified'"), format!("{:?}", Scheme::Stratified));
        let soft = Soft::new(0.3, Scheme::Residual).with_exact_gradient();
        let text = "kind = 'soft'\nalpha = 0.3\nexact_gradient = true\nscheme = 'residual'";
        assert_eq!(built(text), format!("{soft:?}"));
        let published = StopGradient(Scheme::Multinomial);
        assert_eq!(built("kind = 'stop-gradient'\nscheme = 'multinomial'"), format!("{published:?}"));
        let transport = OptimalTransport::new(Space::SE2, 0.5);
        assert_eq!(built("kind = 'optimal-transport'"), format!("{transport:?}"), "the defaults are its own");
        let diffusion = Diffusion::new(Space::SE2);
        assert_eq!(built("kind = 'diffusion'"), format!("{diffusion:?}"), "the defaults are its own");
        let ode = Diffusion { steps: 5, stochastic: false, integrator: Integrator::Exponential, ..diffusion };
        let text = "kind = 'diffusion'\nsteps = 5\nstochastic = false\nintegrator = 'exponential'";
        assert_eq!(built(text), format!("{ode:?}"));
        let kernel =
            |bandwidth| format!("{:?}", KernelMixture::new(Space::SE2, bandwidth, Scheme::Systematic));
        assert_eq!(built("kind = 'kernel'"), kernel(Bandwidth::NormalReference));
        let fixed = Bandwidth::Fixed { length: 0.2, angle: 0.1 };
        assert_eq!(built("kind = 'kernel'\nbandwidth = 0.2\nangle_bandwidth = 0.1"), kernel(fixed));
        let below = WhenBelow { fraction: 0.4, inner: Box::new(Soft::new(0.5, Scheme::Systematic)) };
        assert_eq!(built("kind = 'soft'\nbelow = 0.4"), format!("{below:?}"));
        for one in RESAMPLERS {
            assert!(
                ResamplerSettings { kind: one.id.to_owned(), ..Default::default() }.build(Space::SE2).is_ok()
            );
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, problem) in [
            ("kind = 'soft'\nalpha = 1.5", "resampler.alpha: must be between 0 and 1, not 1.5"),
            ("kind = 'soft'\nalpha = nan", "resampler.alpha: must be between 0 and 1, not NaN"),
            (
                "kind = 'optimal-transport'\nepsilon = 0.0",
                "resampler.epsilon: must be positive and finite, not 0",
            ),
            (
                "kind = 'kernel'\nangle_bandwidth = 0.1",
                "resampler.angle_bandwidth: needs `bandwidth`, that of the other coordinates, beside it",
            ),
            ("kind = 'kernel'\nbandwidth = -1.0", "resampler.bandwidth: must be positive and finite, not -1"),
            ("kind = 'diffusion'\na = 1.0", "resampler.a: must be negative and finite, not 1"),
            ("kind = 'diffusion'\nsteps = 0", "resampler.steps: must be from 1 to 10000, not 0"),
            ("below = -1.0", "resampler.below: must be between 0 and 1, not -1"),
        ] {
            assert_eq!(built(text), problem);
        }
        for (text, advice) in [
            ("kind = 'sofft'", "did you mean `soft`?"),
            ("kind = 'soft'\nalpah = 0.5", "did you mean `alpha`?"),
            ("kind = 'diffusion'\nintegrator = 'exponental'", "did you mean `exponential`?"),
            ("kind = 'soft'\nscheme = 'systemic'", "did you mean `systematic`?"),
        ] {
            assert!(built(text).ends_with(advice), "{}", built(text));
        }
        assert!(
            built("alpha = 0.5").contains("unknown field `alpha`"),
            "of another kind: {}",
            built("alpha = 0.5")
        );
    }

    /// Where no gradient goes through a filter, the message says so.
    #[test]
    fn plain_ones_or_why_not() {
        let plain = |kind: &str| ResamplerSettings { kind: kind.to_owned(), ..Default::default() }.plain();
        for kind in ["systematic", "multinomial", "stratified", "residual", "soft"] {
            assert!(plain(kind).is_ok(), "{kind}");
        }
        for kind in ["stop-gradient", "optimal-transport", "kernel", "diffusion"] {
            let problem = plain(kind).unwrap_err().to_string();
            assert!(problem.contains("no gradient goes through this filter"), "{problem}");
        }
    }

    /// `docs/training.md` has this table, word by word.
    #[test]
    fn the_documentation_has_all_resamplers() {
        let page = include_str!("../../../../docs/training.md");
        let lines = page.lines().skip_while(|line| *line != "### Resamplers").skip(1);
        let table = lines.take_while(|line| !line.starts_with('#')).filter(|line| line.starts_with("| `"));
        let rows: Vec<Vec<&str>> =
            table.map(|line| line.split('|').skip(1).take(2).map(str::trim).collect()).collect();
        let expected: Vec<Vec<String>> =
            RESAMPLERS.iter().map(|one| vec![format!("`{}`", one.id), one.what.to_owned()]).collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn survives_being_written() {
        let settings: ResamplerSettings = parse("kind = 'soft'\nbelow = 0.25\nalpha = 0.1").unwrap();
        assert_eq!(parse::<ResamplerSettings>(&toml::to_string(&settings).unwrap()).unwrap(), settings);
    }
}
