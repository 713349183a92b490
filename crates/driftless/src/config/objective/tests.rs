//! What texts of objectives build, and what is said of wrong ones.

use super::*;
use crate::config::parse;
use crate::model::{GaussianMotion, GaussianReading, Shift, StateSpace};
use crate::objective::{Genealogy, Likelihoods};
use crate::space::Space;

fn boxed() -> Prior {
    Prior::Uniform { low: vec![0.0, 0.0], high: vec![2.0, 4.0] }
}

fn normal() -> Prior {
    Prior::Normal { mean: vec![0.0, 0.0], std: vec![1.0, 1.0] }
}

/// The configured objective, from one text.
fn pseudo(text: &str, prior: &Prior) -> Result<PseudoLikelihood> {
    match parse::<ObjectiveConfig>(&format!("kind = 'pseudo-likelihood'\n{text}"))? {
        ObjectiveConfig::PseudoLikelihood(config) => config.build(prior),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_builds(text: &str, prior: &Prior, expected: &PseudoLikelihood) {
    assert_eq!(format!("{:?}", pseudo(text, prior).unwrap()), format!("{expected:?}"));
}

#[test]
fn presets_and_what_overrides_them() {
    let flat = -8.0_f64.ln();
    assert_builds("block = 4", &boxed(), &PseudoLikelihood::paper(4, boxed()));
    assert_builds("block = 4", &normal(), &PseudoLikelihood::paper(4, normal()));
    let released = PseudoLikelihood::released(20, flat);
    assert_builds("block = 20\npreset = 'released-code'", &boxed(), &released);
    let mixed = PseudoLikelihood {
        start: BlockStart::Flat(-2.5),
        likelihoods: Likelihoods::Normalised,
        genealogy: Genealogy::BlockEnd,
        first_likelihood: true,
        hold_positions: true,
        hold_weights: true,
        ..released.clone()
    };
    let text = "block = 20
        preset = 'released-code'
        start = 'flat'
        log-density = -2.5
        likelihoods = 'normalised'
        genealogy = 'block-end'
        first-likelihood = true
        hold-positions = true
        hold-weights = true";
    assert_builds(text, &boxed(), &mixed);
    let text = "block = 20\nstart = 'carried'\nlikelihoods = 'released'\ngenealogy = 'final'
        first-likelihood = false\nhold-positions = false\nhold-weights = false";
    assert_builds(text, &boxed(), &released);
    let literal =
        PseudoLikelihood { start: BlockStart::Prior(boxed()), ..PseudoLikelihood::paper(4, boxed()) };
    assert_builds("block = 4\nstart = 'prior'\nlikelihoods = 'literal'", &boxed(), &literal);
    let flat = PseudoLikelihood { start: BlockStart::Flat(-1.0), ..PseudoLikelihood::paper(4, normal()) };
    assert_builds("block = 4\nlog-density = -1.0", &normal(), &flat);
}

type AnyModel = StateSpace<GaussianMotion<Shift>, GaussianReading>;

/// Name and weight of what a text builds, for states of two numbers.
fn built(text: &str, prior: &Prior) -> Result<(&'static str, f64)> {
    let setting = ObjectiveSetting { prior, scale: &[2.0, 3.0], label_share: 0.1 };
    let (weight, objective) = parse::<ObjectiveConfig>(text)?.build::<AnyModel>(setting)?;
    Ok((objective.name(), weight))
}

#[test]
fn every_kind_is_built_with_its_weight() {
    for (text, name, weight) in [
        ("kind = 'squared-error'\nweight = 10", "squared error", 10.0),
        ("kind = 'kernel-density'\nbandwidth = 0.3", "kernel density", 1.0),
        ("kind = 'pseudo-likelihood'\nblock = 4\nweight = 0.04", "pseudo-likelihood", 0.04),
        ("kind = 'evidence'\nweight = -2.5", "evidence", -2.5),
    ] {
        assert_eq!(built(text, &boxed()).unwrap(), (name, weight));
    }
    for (text, message) in [
        ("kind = 'evidence'\nweight = nan", "weight: must be finite, not NaN"),
        ("kind = 'pseudo-likelihood'\nblock = 4\nweight = inf", "weight: must be finite, not inf"),
        ("kind = 'pseudo-likelihood'\nblock = 0", "block: must be at least 1, not 0"),
        ("kind = 'kernel-density'\nbandwidth = 0", "bandwidth: must be positive and finite, not 0"),
        ("kind = 'kernel-density'\nscale = [1.0]", "scale: must be 2 numbers, not 1"),
        ("kind = 'squared-error'\nscale = [1.0, -1.0]", "scale: must be positive and finite, not -1"),
    ] {
        assert_eq!(built(text, &boxed()).unwrap_err().to_string(), message);
    }
}

/// What is built is what computes: ((1 - 4) / 2)² + (0 / 3)² for the setting's scale.
#[test]
fn what_is_built_computes() {
    use crate::testing::{f64s, numbers};
    use crate::{Batch, Belief, Filter, Labels, resample::Scheme};
    let model: AnyModel = StateSpace {
        transition: GaussianMotion::new(Shift::default(), vec![1.0; 2], Space::LINEAR),
        measurement: GaussianReading::new(vec![1.0; 2], Space::LINEAR),
    };
    let here = f64s::<3>([[[4.0, 1.0]]]);
    let filter = Filter::new(Space::LINEAR, Scheme::Systematic);
    let sizes = crate::DrawSizes { batch: 1, steps: 1, particles: 1, state: 2, noise: 2, uniforms: 1 };
    let draws = crate::Draws::new(sizes, 1, &here.device(), here.dtype());
    let rollout = filter.rollout(&model, Belief::uniform(here.clone()), here.clone(), &here, &draws);
    let known = burn::tensor::Tensor::from_data([[true]], &here.device());
    let labels = Labels::new(f64s([[[1.0, 1.0]]]), known);
    let batch = Batch { observations: here.clone(), actions: here, labels };
    let prior = boxed();
    let setting = ObjectiveSetting { prior: &prior, scale: &[2.0, 3.0], label_share: 0.5 };
    for (text, expected) in [("", 2.25), ("\nover = 'share'", 4.5), ("\nscale = [1.0, 1.0]", 9.0)] {
        let config = parse::<ObjectiveConfig>(&format!("kind = 'squared-error'{text}")).unwrap();
        let (_, objective) = config.build::<AnyModel>(setting).unwrap();
        assert_eq!(numbers(&objective.loss(&model, &rollout, &batch)), [expected]);
    }
}

/// A box of no width, as data with a constant coordinate make it, has no density.
#[test]
fn a_box_needs_room() {
    let flat = Prior::Uniform { low: vec![0.0, 1.0], high: vec![2.0, 1.0] };
    for preset in ["", "\npreset = 'released-code'"] {
        let error = pseudo(&format!("block = 2{preset}"), &flat).unwrap_err().to_string();
        assert!(error.starts_with("log-density: must be finite: the prior's box needs room"), "{error}");
    }
    assert!(pseudo("block = 2\nlog-density = -1.0", &flat).is_ok());
}

#[test]
fn says_what_is_wrong() {
    for (text, message) in [
        ("block = 0", "block: must be at least 1, not 0"),
        ("block = 2\nlog-density = nan", "log-density: must be finite, not NaN"),
        (
            "block = 2\npreset = 'released-code'",
            "log-density: must be given, because the prior is not uniform over a box",
        ),
    ] {
        assert_eq!(pseudo(text, &normal()).unwrap_err().to_string(), message);
    }
    for (text, advice) in [
        ("block = 2\npreset = 'relesed-code'", "did you mean `released-code`?"),
        ("block = 2\nhold-weigths = true", "did you mean `hold-weights`?"),
        ("preset = 'paper'", "missing field `block`"),
    ] {
        let error = pseudo(text, &normal()).unwrap_err().to_string();
        assert!(error.ends_with(advice), "{error}");
    }
}

/// What the loss of a part needs no model for.
fn scale_and_over(text: &str, label_share: f64) -> Result<(Vec<f64>, LabelMean)> {
    let prior = boxed();
    let setting = ObjectiveSetting { prior: &prior, scale: &[2.0, 3.0], label_share };
    match parse::<ObjectiveConfig>(text)? {
        ObjectiveConfig::SquaredError { scale, over, .. }
        | ObjectiveConfig::KernelDensity { scale, over, .. } => {
            Ok((setting.scale(scale.as_deref())?, setting.over(over)?))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn losses_with_labels() {
    let found = |text: &str| scale_and_over(text, 0.1).unwrap();
    assert_eq!(found("kind = 'squared-error'"), (vec![2.0, 3.0], LabelMean::Known));
    let text = "kind = 'kernel-density'\nscale = [1.0, 5.0]\nover = 'share'";
    assert_eq!(found(text), (vec![1.0, 5.0], LabelMean::Share(0.1)));
    let parsed = parse::<ObjectiveConfig>("kind = 'kernel-density'").unwrap();
    let ObjectiveConfig::KernelDensity { weight, bandwidth, .. } = parsed else { panic!("{parsed:?}") };
    assert_eq!((weight, bandwidth), (1.0, 0.2));
    for (text, message) in [
        ("kind = 'squared-error'\nscale = [1.0]", "scale: must be 2 numbers, not 1"),
        ("kind = 'squared-error'\nscale = [1.0, 0.0]", "scale: must be positive and finite, not 0"),
        (
            "kind = 'squared-error'\nover = 'share'",
            "over: `share` divides by the share of labels, which is 0; use `known`",
        ),
    ] {
        assert_eq!(scale_and_over(text, 0.0).unwrap_err().to_string(), message);
    }
}
