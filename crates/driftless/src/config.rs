//! Text files that say which pieces to use: serde types of TOML, and what they build.
//!
//! Unknown names are refused with the nearest known one, and numbers are
//! checked when a piece is built, so that a file is wrong with a message and never with a panic.
//!
//! ```
//! use driftless::config::parse;
//! use driftless::learn::Experiment;
//!
//! let experiment: Experiment = parse("resampler = { kind = 'soft', alpha = 0.3, below = 0.5 }")?;
//! assert_eq!(experiment.resampler.unwrap().kind, "soft");
//! let error = parse::<Experiment>("particels = 30").unwrap_err();
//! assert!(error.to_string().contains("did you mean `particles`?"));
//! # Ok::<(), driftless::Error>(())
//! ```

mod renamed;

pub use renamed::renamed_method;

use crate::error::{Error, Result};
use serde::de::DeserializeOwned;

/// Understands a text, or says in which line it is wrong.
pub fn parse<C: DeserializeOwned>(text: &str) -> Result<C> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| text.bytes().take(span.start).filter(|&b| b == b'\n').count() + 1);
        let key = line.map_or(String::new(), |line| format!("line {line}"));
        Error::setting(key, with_advice(error.message().to_owned()))
    })
}

/// "unknown field `x`, expected one of `a`, `b`", and what to write instead of x if that can be guessed.
pub(crate) fn with_advice(message: String) -> String {
    let advice = advice(&message).unwrap_or_default();
    message + &advice
}

/// What x is called now, or the name that is most like it.
fn advice(message: &str) -> Option<String> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = message.starts_with("unknown ").then(|| quoted.next()).flatten()?;
    let nearest = || nearest_name(unknown, quoted.clone()).map(|name| format!("; did you mean `{name}`?"));
    renamed::advice(unknown, quoted.clone()).or_else(nearest)
}

/// The known name that is most like an unknown one; none if more than a third of it would have to change.
pub fn nearest_name<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (changes, name) = known.into_iter().map(|name| (edits(unknown, name), name)).min()?;
    (3 * changes <= unknown.chars().count().max(3)).then_some(name)
}

/// The least number of letters added, removed, replaced or swapped with their neighbour.
fn edits(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut table = vec![vec![0; to.len() + 1]; from.len() + 1];
    for i in 0..=from.len() {
        for j in 0..=to.len() {
            table[i][j] = if i.min(j) == 0 {
                i.max(j)
            } else {
                let replaced = table[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
                let best = replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                let swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
                if swapped { best.min(table[i - 2][j - 2] + 1) } else { best }
            };
        }
    }
    table[from.len()][to.len()]
}

/// Fails unless `allowed`; the range is said in words.
pub(crate) fn check(key: &str, value: impl std::fmt::Display, allowed: bool, range: &str) -> Result<()> {
    if allowed { Ok(()) } else { Err(Error::setting(key, format!("must be {range}, not {value}"))) }
}

/// Fails unless finite and above 0.
pub(crate) fn positive(key: &str, value: f64) -> Result<()> {
    check(key, value, value.is_finite() && value > 0.0, "positive and finite")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name() {
        assert_eq!(edits("alpah", "alpha"), 1);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
        let near = Some("; did you mean `fraction`?".to_owned());
        assert_eq!(advice("unknown field `fractoin`, expected `fraction` or `inner`"), near);
        assert_eq!(advice("unknown field `colour`, expected `fraction` or `inner`"), None);
        assert_eq!(advice("missing field `inner`"), None);
        assert_eq!(advice("unknown "), None);
        let now = Some("; `rate-epochs` is now called `learning_rate_epochs`".to_owned());
        assert_eq!(advice("unknown field `rate-epochs`, expected `decay` or `learning_rate_epochs`"), now);
        assert_eq!(
            advice("unknown field `labels`, expected `inner` or `outer`"),
            None,
            "nothing of the kind"
        );
    }

    #[test]
    fn errors_name_the_line() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Flat {
            #[serde(rename = "rate")]
            _rate: f64,
        }
        let error = parse::<Flat>("rate = 0.1\nraet = 3\n").unwrap_err().to_string();
        assert!(error.starts_with("line 2: unknown field `raet`"), "{error}");
        assert!(error.ends_with("did you mean `rate`?"), "{error}");
        let error = parse::<Flat>("rate = 'fast'").unwrap_err().to_string();
        assert!(error.starts_with("line 1: ") && error.contains("f64"), "{error}");
    }
}
