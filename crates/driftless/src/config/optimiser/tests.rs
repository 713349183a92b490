//! What texts of optimisers build, and what is said of wrong ones.

use super::*;
use crate::config::{Unit, parse};
use crate::optimise::Schedule;

fn built(text: &str) -> Result<Optimiser> {
    parse::<OptimiserConfig>(text)?.build(12)
}

#[track_caller]
fn assert_builds(text: &str, expected: &Optimiser) {
    assert_eq!(format!("{:?}", built(text).unwrap()), format!("{expected:?}"));
}

#[test]
fn builds_what_it_says() {
    let adam = Rule::Adam(Adam::default());
    assert_builds("", &Optimiser::new(adam, 3e-4));
    let text = "rate = 1e-4
        rule = { kind = 'rms-prop', momentum = 0.3 }
        clip = { kind = 'norm', limit = 2.0 }
        [schedule]
        kind = 'warm-up'
        over = 5
        unit = 'updates'
        then = { kind = 'step', every = 4 }";
    let then = Box::new(Schedule::Step { factor: 0.5, every: 48 });
    let expected = Optimiser::new(Rule::RmsProp(RmsProp { momentum: 0.3, ..RmsProp::default() }), 1e-4)
        .with_clip(Clip::Norm(2.0))
        .with_schedule(Schedule::WarmUp { updates: 5, then });
    assert_builds(text, &expected);
    let cosine = Schedule::Cosine { updates: 120, least: 0.1 };
    let expected = Optimiser::new(adam, 3e-4).with_clip(Clip::Value(1.0)).with_schedule(cosine);
    let text =
        "schedule = { kind = 'cosine', over = 10, least = 0.1 }\nclip = { kind = 'value', limit = 1.0 }";
    assert_builds(text, &expected);
}

#[test]
fn says_what_is_wrong() {
    for (text, message) in [
        ("rate = 0.0", "rate: must be positive and finite, not 0"),
        ("rule = { kind = 'adam', beta2 = 1.0 }", "rule.beta2: must be at least 0 and below 1, not 1"),
        ("rule = { kind = 'rms-prop', epsilon = inf }", "rule.epsilon: must be positive and finite, not inf"),
        ("rule = { kind = 'rms-prop', start = -1 }", "rule.start: must be finite and not negative, not -1"),
        ("clip = { kind = 'norm', limit = -2 }", "clip.limit: must be positive and finite, not -2"),
        ("schedule = { kind = 'step', every = 0 }", "schedule.every: must be at least 1, not 0"),
        (
            "schedule = { kind = 'warm-up', over = 1, then = { kind = 'exponential', factor = 2.0, every = 1 } }",
            "schedule.then.factor: must be above 0 and at most 1, not 2",
        ),
        (
            "schedule = { kind = 'cosine', over = 1, least = nan }",
            "schedule.least: must be between 0 and 1, not NaN",
        ),
    ] {
        assert_eq!(built(text).unwrap_err().to_string(), message);
    }
    for (text, advice) in [
        ("clip = { kind = 'none', limit = 1.0 }", "unknown field `limit`, there are no fields"),
        ("rule = { kind = 'adma' }", "did you mean `adam`?"),
        ("schedule = { kind = 'step', evry = 3 }", "did you mean `every`?"),
    ] {
        let error = built(text).unwrap_err().to_string();
        assert!(error.ends_with(advice), "{error}");
    }
}

#[test]
fn survives_being_written() {
    let then = Box::new(ScheduleConfig::Cosine { over: 9, least: 0.5, unit: Unit::Updates });
    let config = OptimiserConfig {
        schedule: ScheduleConfig::WarmUp { over: 2, unit: Unit::Epochs, then },
        ..OptimiserConfig::default()
    };
    assert_eq!(parse::<OptimiserConfig>(&toml::to_string(&config).unwrap()).unwrap(), config);
}
