//! Which methods are compared with each other.

use super::Arm;
use driftless_world::{Error, Result};

/// What experiments use that name no method.
pub const DEFAULT_METHOD: &str = "driftless";

/// Pairs of methods, each as experiments name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pairs {
    /// Each method that learns from all steps against its twin, which learns from labels alone, and the default method
    /// against all others.
    #[default]
    Usual,
    /// These.
    Chosen(Vec<[String; 2]>),
}

/// What a method's twin may be called, the first choice first: as itself or as the first word of its name, with
/// `-supervised`.
pub fn twin(method: &str) -> [String; 2] {
    let family = method.split('-').next().unwrap_or(method);
    [method, family].map(|name| format!("{name}-supervised"))
}

impl Pairs {
    /// Understands `driftless:lstm,sdpf:dpf`, or `usual`.
    ///
    /// ```
    /// use driftless_report::paired::Pairs;
    /// assert_eq!(Pairs::parse("a:b").unwrap(), Pairs::Chosen(vec![["a".into(), "b".into()]]));
    /// assert!(Pairs::parse("a").unwrap_err().to_string().contains("two methods with a colon"));
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        if text == "usual" {
            return Ok(Self::Usual);
        }
        let pair = |text: &str| match text.split_once(':') {
            Some((one, other)) if !one.is_empty() && !other.is_empty() => {
                Ok([one.to_owned(), other.to_owned()])
            }
            _ => Err(Error::new(format!(
                "{text:?} is not two methods with a colon between, as driftless:lstm"
            ))),
        };
        Ok(Self::Chosen(text.split(',').map(pair).collect::<Result<_>>()?))
    }

    /// Those of which both are there; usual ones in the order of the arms.
    pub(super) fn among(&self, arms: &[Arm]) -> Vec<[String; 2]> {
        let mut known: Vec<&str> = Vec::new();
        for method in arms.iter().map(|arm| arm.method.as_str()) {
            if !known.contains(&method) {
                known.push(method);
            }
        }
        if let Self::Chosen(pairs) = self {
            let both = |pair: &&[String; 2]| pair.iter().all(|method| known.contains(&method.as_str()));
            return pairs.iter().filter(both).cloned().collect();
        }
        let is_known = |name: &String| known.contains(&name.as_str());
        let with_twin = |method: &&str| {
            let twin = twin(method).into_iter().find(|twin| twin != method && is_known(twin))?;
            (!method.ends_with("-supervised")).then(|| [(*method).to_owned(), twin])
        };
        let mut pairs: Vec<[String; 2]> = known.iter().filter_map(with_twin).collect();
        let others = known.iter().filter(|method| **method != DEFAULT_METHOD);
        for pair in others.map(|other| [DEFAULT_METHOD.to_owned(), (*other).to_owned()]) {
            if known.contains(&DEFAULT_METHOD) && !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_first_then_the_default_against_all() {
        let arm = |method: &str| Arm { label: method.into(), method: method.into(), records: vec![] };
        let methods = ["lstm", "driftless", "driftless-supervised", "sdpf-released", "sdpf-supervised"];
        let arms: Vec<Arm> = methods.into_iter().map(arm).collect();
        let told = |pairs: &Pairs| {
            let pairs = pairs.among(&arms);
            pairs.iter().map(|pair| pair.join(":")).collect::<Vec<_>>().join(" ")
        };
        let expected = "driftless:driftless-supervised sdpf-released:sdpf-supervised driftless:lstm \
                        driftless:sdpf-released driftless:sdpf-supervised";
        assert_eq!(told(&Pairs::Usual), expected);
        assert_eq!(told(&Pairs::parse("lstm:driftless,lstm:dpf").unwrap()), "lstm:driftless");
    }
}
