//! The Python dictionary inside an npy header: `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.

use crate::error::{Error, Result};

/// The three entries every header has.
#[derive(Debug, PartialEq)]
pub(super) struct Literal {
    pub descr: String,
    pub fortran_order: bool,
    pub shape: Vec<usize>,
}

pub(super) fn parse(text: &str) -> Result<Literal> {
    let mut text = Text(text.trim_end_matches(['\n', ' ', '\0']));
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    text.expect('{')?;
    while !text.accept('}') {
        let key = text.string()?;
        text.expect(':')?;
        let fresh = match key {
            "descr" => descr.replace(text.descr()?).is_none(),
            "fortran_order" => fortran_order.replace(text.boolean()?).is_none(),
            "shape" => shape.replace(text.tuple()?).is_none(),
            other => return Err(Error::new(format!("its header has an unknown entry {other:?}"))),
        };
        if !fresh {
            return Err(Error::new(format!("its header has the entry {key:?} twice")));
        }
        if !text.accept(',') {
            text.expect('}')?;
            break;
        }
    }
    if !text.rest().is_empty() {
        return Err(text.unexpected("the end"));
    }
    match (descr, fortran_order, shape) {
        (Some(descr), Some(fortran_order), Some(shape)) => Ok(Literal { descr, fortran_order, shape }),
        _ => Err(Error::new("its header lacks one of descr, fortran_order and shape")),
    }
}

/// What is left to be parsed.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn rest(&mut self) -> &'a str {
        self.0 = self.0.trim_start();
        self.0
    }

    fn accept(&mut self, wanted: char) -> bool {
        match self.rest().strip_prefix(wanted) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<()> {
        if self.accept(wanted) { Ok(()) } else { Err(self.unexpected(&format!("{wanted:?}"))) }
    }

    fn unexpected(&mut self, wanted: &str) -> Error {
        let found: String = self.rest().chars().take(20).collect();
        Error::new(format!("its header is malformed: {wanted} was expected before {found:?}"))
    }

    fn string(&mut self) -> Result<&'a str> {
        let quote = if self.rest().starts_with('"') { '"' } else { '\'' };
        self.expect(quote)?;
        let (string, rest) = self.0.split_once(quote).ok_or_else(|| self.unexpected("a closing quote"))?;
        self.0 = rest;
        Ok(string)
    }

    fn descr(&mut self) -> Result<String> {
        if self.rest().starts_with('[') {
            return Err(Error::new(
                "is a structured array (several fields an element); save each field as an array of its own",
            ));
        }
        self.string().map(str::to_owned)
    }

    fn boolean(&mut self) -> Result<bool> {
        for (word, value) in [("False", false), ("True", true)] {
            if let Some(rest) = self.rest().strip_prefix(word) {
                self.0 = rest;
                return Ok(value);
            }
        }
        Err(self.unexpected("True or False"))
    }

    fn tuple(&mut self) -> Result<Vec<usize>> {
        self.expect('(')?;
        let mut axes = Vec::new();
        while !self.accept(')') {
            axes.push(self.number()?);
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(axes)
    }

    fn number(&mut self) -> Result<usize> {
        let rest = self.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let value = rest[..digits].parse().map_err(|_| self.unexpected("an axis length"))?;
        // Python 2 wrote long integers as 100L.
        self.0 = rest[digits..].strip_prefix('L').unwrap_or(&rest[digits..]);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numpys_own_spelling_and_its_variants() {
        let expected = Literal { descr: "<f4".into(), fortran_order: true, shape: vec![2, 3] };
        for text in [
            "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }      \n",
            "{\"shape\":(2L,3L,),\"fortran_order\":True,\"descr\":\"<f4\"}",
        ] {
            assert_eq!(parse(text).unwrap(), expected);
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, problem) in [
            ("", "'{' was expected"),
            ("{'descr': '<f4'}", "lacks"),
            ("{'descr': '<f4', 'descr': '<f4'}", "twice"),
            ("{'descr': [('a', '<f4')]}", "structured"),
            ("{'descr': '<f4", "closing quote"),
            ("{'shape': (-1,)}", "axis length"),
            ("{'shape': (99999999999999999999,)}", "axis length"),
            ("{'fortran_order': maybe}", "True or False"),
            ("{'é': 1}", "unknown entry"),
            ("{} x", "the end"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
