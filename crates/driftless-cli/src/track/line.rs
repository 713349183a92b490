//! A line of a stream: an object of what a robot has at a step.

use driftless::online::{Frame, Step};
use driftless_world::files::base64;
use driftless_world::files::png_image::{self, Samples};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What a line can hold; all of it may be missing.
pub const FIELDS: &str = "time, step, odometry, scan, observation, image, pose, spread and robot";

/// A line as it is typed.
#[derive(Deserialize)]
struct Typed {
    time: Option<f64>,
    step: Option<u64>,
    odometry: Option<Vec<Option<f64>>>,
    scan: Option<Vec<Option<f32>>>,
    observation: Option<Vec<Option<f32>>>,
    image: Option<Picture>,
    pose: Option<Where>,
    spread: Option<Vec<f64>>,
    robot: Option<Value>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Picture {
    Png(String),
    Raw { size: [usize; 3], data: String },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Where {
    Pose(Vec<f64>),
    Word(String),
}

/// Where a line says that its robot is.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// Anywhere.
    Anywhere,
    /// x, y and heading, and standard deviations if they are given.
    Pose([f64; 3], Option<[f64; 3]>),
    /// A number for each named coordinate, likewise.
    State(Vec<f64>, Option<Vec<f64>>),
}

/// A line that was understood.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    pub time: Option<f64>,
    /// Which step it is, by the robot's own count.
    pub step: Option<u64>,
    /// Two numbers of what has no heading become three.
    pub odometry: Option<[f64; 3]>,
    /// The same of named coordinates.
    pub change: Option<Vec<f64>>,
    /// NaN is missing.
    pub readings: Option<Vec<f32>>,
    /// Height, width and channels, and bytes.
    pub image: Option<([usize; 3], Vec<u8>)>,
    pub start: Option<Told>,
    pub robot: Option<String>,
    /// Names of fields that nobody knows.
    pub unknown: Vec<String>,
}

impl Line {
    /// Understands a line of a robot in the plane, or of so many named coordinates; what is wrong is said in words.
    pub fn parse(text: &str, coordinates: usize) -> Result<Self, String> {
        let typed: Typed =
            serde_json::from_str(&without_bare_words(text)).map_err(|error| error.to_string())?;
        if typed.time.is_some_and(|time| !time.is_finite()) {
            return Err("time: must be a number of seconds".to_owned());
        }
        let readings = match (typed.scan, typed.observation) {
            (Some(_), Some(_)) => return Err("scan, observation: are the same; give one of them".to_owned()),
            (scan, observation) => scan.or(observation),
        };
        let missing = |x: Option<f32>| x.filter(|x| x.is_finite()).unwrap_or(f32::NAN);
        let robot = match typed.robot {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(_) => return Err("robot: must be a name".to_owned()),
        };
        let (odometry, change) = match (typed.odometry, coordinates) {
            (None, _) => (None, None),
            (Some(numbers), 0) => (motion(&numbers)?, None),
            (Some(numbers), _) => (None, changes(&numbers, coordinates)?),
        };
        let start = match coordinates {
            0 => start(typed.pose, typed.spread.as_deref())?,
            _ => state(typed.pose, typed.spread)?,
        };
        Ok(Self {
            time: typed.time,
            step: typed.step,
            odometry,
            change,
            readings: readings.map(|numbers| numbers.into_iter().map(missing).collect()),
            image: typed.image.map(picture).transpose().map_err(|problem| format!("image: {problem}"))?,
            start,
            robot,
            unknown: typed.others.into_keys().collect(),
        })
    }

    /// What a tracker is given.
    pub fn seen(&self) -> Step<'_> {
        let image = self.image.as_ref().map(|(size, pixels)| Frame { size: *size, pixels });
        let (readings, change) = (self.readings.as_deref(), self.change.as_deref());
        Step { readings, image, odometry: self.odometry, change, time: self.time }
    }
}

/// Python writes NaN and Infinity, which are no JSON: they mean that a number is missing, and so does null.
fn without_bare_words(text: &str) -> Cow<'_, str> {
    const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    if !WORDS.iter().any(|word| text.contains(word)) {
        return Cow::Borrowed(text);
    }
    let (mut kept, mut rest, mut is_quoted) = (String::with_capacity(text.len()), text, false);
    while let Some(next) = rest.chars().next() {
        if let Some(word) = WORDS.iter().find(|word| !is_quoted && rest.starts_with(**word)) {
            kept.push_str("null");
            rest = &rest[word.len()..];
            continue;
        }
        // What follows a backslash ends no text.
        let length = if is_quoted && next == '\\' {
            rest.chars().take(2).map(char::len_utf8).sum()
        } else {
            next.len_utf8()
        };
        is_quoted ^= next == '"';
        kept.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    Cow::Owned(kept)
}

/// Odometry: missing if a part of it is.
fn motion(numbers: &[Option<f64>]) -> Result<Option<[f64; 3]>, String> {
    let known = |x: Option<f64>| x.filter(|x| x.is_finite());
    match *numbers {
        [forward, left, turn] => {
            Ok(known(forward).zip(known(left)).zip(known(turn)).map(|((f, l), t)| [f, l, t]))
        }
        [x, y] => Ok(known(x).zip(known(y)).map(|(x, y)| [x, y, 0.0])),
        _ => Err(format!("odometry: has {} numbers; forward, left and turn are wanted", numbers.len())),
    }
}

/// Changes of named coordinates: missing if a part of them is.
fn changes(numbers: &[Option<f64>], coordinates: usize) -> Result<Option<Vec<f64>>, String> {
    if numbers.len() != coordinates {
        let found = numbers.len();
        return Err(format!(
            "odometry: has {found} numbers; a change of each of {coordinates} coordinates is wanted"
        ));
    }
    Ok(numbers.iter().map(|x| x.filter(|x| x.is_finite())).collect())
}

/// A state of named coordinates, whose number is looked at later.
fn state(told: Option<Where>, spread: Option<Vec<f64>>) -> Result<Option<Told>, String> {
    let is_finite = |numbers: &[f64]| numbers.iter().all(|x| x.is_finite());
    if spread.as_ref().is_some_and(|spread| !is_finite(spread) || spread.iter().any(|x| *x < 0.0)) {
        return Err("spread: must be finite, and 0 or more".to_owned());
    }
    match told {
        None if spread.is_some() => Err("spread: goes with a pose".to_owned()),
        None => Ok(None),
        Some(Where::Pose(numbers)) if is_finite(&numbers) => Ok(Some(Told::State(numbers, spread))),
        Some(Where::Pose(_)) => Err("pose: must be finite".to_owned()),
        Some(Where::Word(word)) if word == "global" => Ok(Some(Told::Anywhere)),
        Some(Where::Word(word)) => {
            Err(format!("pose: {word:?} is not known; a number for each coordinate or \"global\" is wanted"))
        }
    }
}

fn start(told: Option<Where>, spread: Option<&[f64]>) -> Result<Option<Told>, String> {
    let three = |name: &str, numbers: &[f64]| match *numbers {
        _ if !numbers.iter().all(|x| x.is_finite()) => Err(format!("{name}: must be finite")),
        [x, y, heading] => Ok([x, y, heading]),
        [x, y] => Ok([x, y, 0.0]),
        _ => Err(format!("{name}: has {} numbers; those of x, y and heading are wanted", numbers.len())),
    };
    let spread = spread.map(|numbers| three("spread", numbers)).transpose()?;
    if spread.is_some_and(|spread| spread.iter().any(|x| *x < 0.0)) {
        return Err("spread: must be 0 or more".to_owned());
    }
    match told {
        None if spread.is_some() => Err("spread: goes with a pose".to_owned()),
        None => Ok(None),
        Some(Where::Pose(numbers)) => Ok(Some(Told::Pose(three("pose", &numbers)?, spread))),
        Some(Where::Word(word)) if word == "global" => Ok(Some(Told::Anywhere)),
        Some(Where::Word(word)) => {
            Err(format!("pose: {word:?} is not known; [x, y, heading] or \"global\" is wanted"))
        }
    }
}

fn picture(picture: Picture) -> Result<([usize; 3], Vec<u8>), String> {
    let bytes = |text: &str| base64::decode(text).map_err(|error| error.to_string());
    match picture {
        Picture::Raw { size, data } => {
            let (data, numbers) =
                (bytes(&data)?, size.iter().try_fold(1_usize, |n, side| n.checked_mul(*side)));
            if numbers != Some(data.len()) {
                return Err(format!("has {} bytes, which are not {size:?}", data.len()));
            }
            Ok((size, data))
        }
        Picture::Png(text) => {
            let png = png_image::decode(&bytes(&text)?).map_err(|error| error.to_string())?;
            let pixels = match png.samples {
                Samples::Eight(pixels) => pixels,
                Samples::Sixteen(pixels) => pixels.iter().map(|x| (x >> 8) as u8).collect(),
            };
            Ok(([png.height, png.width, png.channels], pixels))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_understood() {
        let line = Line::parse(
            r#"{"time": 2.5, "odometry": [0.1, 0, -0.2], "scan": [1, null, NaN, -Infinity, 2.5],
                "pose": [1, 2, 3], "spread": [0.1, 0.1, 0.2], "robot": "a \"NaN\\", "odom": 3}"#,
            0,
        )
        .unwrap();
        assert_eq!((line.time, line.odometry), (Some(2.5), Some([0.1, 0.0, -0.2])));
        let readings = line.readings.unwrap();
        assert!((readings[0], readings[4]) == (1.0, 2.5) && readings[1..4].iter().all(|x| x.is_nan()));
        assert_eq!(line.start, Some(Told::Pose([1.0, 2.0, 3.0], Some([0.1, 0.1, 0.2]))));
        assert_eq!((line.robot.as_deref(), line.unknown), (Some(r#"a "NaN\"#), vec!["odom".to_owned()]));
        let empty =
            Line::parse(r#"{"odometry": null, "scan": null, "pose": null, "robot": null}"#, 0).unwrap();
        assert_eq!(empty, Line::default());
        assert_eq!(Line::parse(r#"{"odometry": [1, Infinity, 0], "robot": 7}"#, 0).unwrap().odometry, None);
        assert_eq!(Line::parse(r#"{"pose": "global"}"#, 0).unwrap().start, Some(Told::Anywhere));
    }

    #[test]
    fn images_are_decoded() {
        let raw = Line::parse(r#"{"image": {"size": [1, 2, 3], "data": "AAECAwQF"}}"#, 0).unwrap();
        assert_eq!(raw.image, Some(([1, 2, 3], vec![0, 1, 2, 3, 4, 5])));
        let png = base64::encode(&png_image::encode_rgb8(1, 2, &[9, 8, 7, 6, 5, 4]).unwrap());
        let found = Line::parse(&format!("{{\"image\": \"{png}\"}}"), 0).unwrap();
        assert_eq!(found.image, Some(([1, 2, 3], vec![9, 8, 7, 6, 5, 4])));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, problem) in [
            ("", "EOF"),
            ("[1, 2]", "invalid"),
            ("{\"time\": \"now\"}", "invalid type"),
            ("{\"time\": 1e999}", "out of range"),
            ("{\"odometry\": [1]}", "odometry: has 1 numbers"),
            ("{\"scan\": [1], \"observation\": [1]}", "give one of them"),
            ("{\"pose\": [1]}", "pose: has 1 numbers"),
            ("{\"pose\": \"home\"}", "\"home\" is not known"),
            ("{\"spread\": [1, 1, 1]}", "goes with a pose"),
            ("{\"pose\": [1, 1, 1], \"spread\": [1, -1, 1]}", "0 or more"),
            ("{\"image\": \"AAAA\"}", "image: not a readable PNG"),
            ("{\"image\": \"A\"}", "image: 1 letters"),
            ("{\"image\": {\"size\": [18446744073709551615, 3, 3], \"data\": \"\"}}", "image: has 0 bytes"),
            ("{\"robot\": [1]}", "robot: must be a name"),
        ] {
            let found = Line::parse(text, 0).unwrap_err();
            assert!(found.contains(problem), "{text}: {found}");
        }
    }

    /// Of three coordinates: changes, a state, and what is wrong with them.
    #[test]
    fn lines_of_named_coordinates() {
        let line = Line::parse(r#"{"odometry": [0.1, 0, -0.2], "pose": [1, 2, 3], "spread": [0, 1, 2]}"#, 3)
            .unwrap();
        assert_eq!((line.odometry, line.change), (None, Some(vec![0.1, 0.0, -0.2])));
        assert_eq!(line.start, Some(Told::State(vec![1.0, 2.0, 3.0], Some(vec![0.0, 1.0, 2.0]))));
        assert_eq!(Line::parse(r#"{"odometry": [1, null, 0]}"#, 3).unwrap().change, None);
        for (text, problem) in [
            (r#"{"odometry": [1, 2]}"#, "odometry: has 2 numbers; a change of each of 3"),
            (r#"{"pose": [1], "spread": [-1]}"#, "0 or more"),
            (r#"{"spread": [1, 1, 1]}"#, "goes with a pose"),
            (r#"{"pose": "home"}"#, "a number for each coordinate"),
        ] {
            let found = Line::parse(text, 3).unwrap_err();
            assert!(found.contains(problem), "{text}: {found}");
        }
    }
}
