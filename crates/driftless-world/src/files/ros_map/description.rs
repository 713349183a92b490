//! The YAML that describes a map: flat keys, of which few mean something here.

use crate::error::{Error, Result};

/// How shades become occupancies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Free, occupied or unknown.
    #[default]
    Trinary,
    /// And values between them.
    Scale,
    /// Pixels as they are.
    Raw,
}

/// What a map's file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The image, relative to the file.
    pub image: String,
    /// Metres of a pixel's side.
    pub resolution: f64,
    /// Pose of the lower left corner: x, y and heading.
    pub origin: [f64; 3],
    /// Whether white is occupied.
    pub negate: bool,
    /// Above it a cell is occupied.
    pub occupied_thresh: f64,
    /// Below it a cell is free.
    pub free_thresh: f64,
    /// How shades become occupancies.
    pub mode: Mode,
}

/// Sides of pixels that make sense in any unit.
const SIDES: std::ops::RangeInclusive<f64> = 1e-6..=1e6;
const FARTHEST: f64 = 1e9;

impl Description {
    /// Understands the subset of YAML that maps are written in: `key: value`, a list of numbers in brackets or below its
    /// key, quotes and comments. Other keys are left alone.
    pub fn parse(text: &str) -> Result<Self> {
        let entries = entries(text)?;
        let find = |key: &str| entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value);
        let needed = |key: &str| find(key).ok_or_else(|| Error::new("is missing").in_field(key));
        let number = |key: &str, usual: Option<f64>| match (find(key), usual) {
            (None, Some(usual)) => Ok(usual),
            _ => single(key, needed(key)?),
        };
        let image = match &needed("image")?[..] {
            [name] if !name.is_empty() => name.clone(),
            _ => return Err(Error::new("must name a file").in_field("image")),
        };
        let origin = match &needed("origin")?[..] {
            [x, y, heading] => [x, y, heading].map(|word| word.parse::<f64>()),
            _ => return Err(Error::new("must be [x, y, heading]").in_field("origin")),
        };
        let [Ok(x), Ok(y), Ok(heading)] = origin else {
            return Err(Error::new("must be three numbers").in_field("origin"));
        };
        Self {
            image,
            resolution: number("resolution", None)?,
            origin: [x, y, heading],
            negate: find("negate")
                .is_some_and(|value| ["1", "true", "True"].contains(&value.join("").as_str())),
            occupied_thresh: number("occupied_thresh", Some(0.65))?,
            free_thresh: number("free_thresh", Some(0.25))?,
            mode: find("mode").map_or(Ok(Mode::Trinary), |value| mode(&value.join("")))?,
        }
        .checked()
    }

    fn checked(self) -> Result<Self> {
        let wrong = |field: &str, problem: &str| Err(Error::new(problem).in_field(field));
        if !SIDES.contains(&self.resolution) {
            return wrong("resolution", "must be metres of a pixel, from 1e-6 to 1e6");
        }
        if !self.origin.iter().all(|x| x.abs() <= FARTHEST) {
            return wrong("origin", "must be within 1e9 of the world's");
        }
        let shares = [("occupied_thresh", self.occupied_thresh), ("free_thresh", self.free_thresh)];
        if let Some((field, _)) = shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return wrong(field, "must be from 0 to 1");
        }
        if self.free_thresh > self.occupied_thresh {
            return wrong("free_thresh", "must not be above occupied_thresh");
        }
        Ok(self)
    }

    /// The occupancy of a pixel, whose channels are from 0 to 1: 0 to 100, or -1 if it is unknown.
    pub(super) fn occupancy(&self, pixel: &[f32]) -> i8 {
        let has_opacity = pixel.len() == 2 || pixel.len() == 4;
        let colours = if has_opacity { &pixel[..pixel.len() - 1] } else { pixel };
        // Opacity counts as a colour in trinary maps, as map_server has it.
        let counted = if self.mode == Mode::Trinary { pixel } else { colours };
        let shade = counted.iter().map(|&x| f64::from(x)).sum::<f64>() / counted.len().max(1) as f64;
        let occupied = if self.negate { shade } else { 1.0 - shade };
        let is_opaque = !has_opacity || pixel.last() == Some(&1.0);
        match self.mode {
            Mode::Raw => {
                let number = (shade * 255.0).round();
                if number <= 100.0 { number as i8 } else { -1 }
            }
            Mode::Scale if !is_opaque => -1,
            _ if occupied > self.occupied_thresh => 100,
            _ if occupied < self.free_thresh => 0,
            Mode::Trinary => -1,
            Mode::Scale => {
                let between = (self.occupied_thresh - self.free_thresh).max(f64::MIN_POSITIVE);
                ((occupied - self.free_thresh) / between * 100.0).round().clamp(0.0, 100.0) as i8
            }
        }
    }
}

fn single(key: &str, value: &[String]) -> Result<f64> {
    match value {
        [word] => word.parse().map_err(|_| Error::new(format!("{word:?} is no number")).in_field(key)),
        _ => Err(Error::new("must be one number").in_field(key)),
    }
}

fn mode(word: &str) -> Result<Mode> {
    match word {
        "trinary" => Ok(Mode::Trinary),
        "scale" => Ok(Mode::Scale),
        "raw" => Ok(Mode::Raw),
        _ => Err(Error::new(format!("{word:?} is not trinary, scale or raw")).in_field("mode")),
    }
}

/// Keys and their values, in order; a list has several.
fn entries(text: &str) -> Result<Vec<(String, Vec<String>)>> {
    let mut entries: Vec<(String, Vec<String>)> = Vec::new();
    let mut open = false;
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = without_comment(line).trim();
        if line.is_empty() || line == "---" || line == "..." {
            continue;
        }
        let rest = match (entries.last_mut(), line.strip_prefix("- ")) {
            // A list that goes on in the next line, or an item of one below its key.
            (Some((_, values)), _) if open => {
                values.extend(items(line));
                open = !line.contains(']');
                continue;
            }
            (Some((_, values)), Some(item)) => {
                values.push(unquoted(item.trim()));
                continue;
            }
            _ => line,
        };
        let Some((key, value)) = rest.split_once(':') else {
            let problem = format!("{rest:?} is not of the form key: value; is it the description of a map?");
            return Err(Error::new(problem).in_record(format_args!("line {}", number + 1)));
        };
        let value = value.trim();
        let values = match value.strip_prefix('[') {
            Some(list) => {
                open = !list.contains(']');
                items(list)
            }
            None if value.is_empty() => Vec::new(),
            None => vec![unquoted(value)],
        };
        entries.push((unquoted(key.trim()), values));
    }
    Ok(entries)
}

fn items(list: &str) -> Vec<String> {
    let words = list.split(']').next().unwrap_or_default().split(',');
    words.map(|word| unquoted(word.trim())).filter(|word| !word.is_empty()).collect()
}

/// What is behind a # at the beginning of a word, unless it is in quotes.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, '#') if before.is_whitespace() => return &line[..at],
            _ => {}
        }
        before = letter;
    }
    line
}

fn unquoted(word: &str) -> String {
    let inner = ['"', '\''].iter().find_map(|&q| word.strip_prefix(q)?.strip_suffix(q));
    inner.unwrap_or(word).to_owned()
}
