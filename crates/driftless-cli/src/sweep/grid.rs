//! Grids: some settings, the values of each, and all their combinations.

use crate::usage::misused;
use anyhow::Result;

/// More runs than anybody means.
const MOST: usize = 100_000;

/// A setting and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    key: String,
    values: Vec<String>,
}

/// One value of each setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Point(Vec<(String, String)>);

impl Axis {
    /// `key=a,b,c` or `key=1..10`, both ends included. Commas inside brackets and quotes belong to values.
    pub fn parse(text: &str) -> Result<Self> {
        let Some((key, values)) = text.split_once('=').filter(|(key, _)| !key.trim().is_empty()) else {
            misused!("--grid {text}: must be KEY=VALUES, as label_fraction=0.05,0.1 or seed=1..10");
        };
        let values = match range(values) {
            Some((first, last)) if first <= last && last - first < MOST as u64 => {
                (first..=last).map(|number| number.to_string()).collect()
            }
            Some(_) => misused!("--grid {text}: must go upwards, with at most {MOST} values"),
            None => split(values),
        };
        if values.iter().any(|value| value.trim().is_empty()) {
            misused!("--grid {text}: has a value that is empty");
        }
        Ok(Self { key: key.trim().to_owned(), values })
    }
}

fn range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.split_once("..")?;
    Some((first.trim().parse().ok()?, last.trim_start_matches('=').trim().parse().ok()?))
}

fn split(text: &str) -> Vec<String> {
    let (mut depth, mut quote, mut values) = (0_usize, None, vec![String::new()]);
    for c in text.chars() {
        match (quote, c) {
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, ',') if depth == 0 => {
                values.push(String::new());
                continue;
            }
            _ => {}
        }
        values.last_mut().expect("there is one from the beginning").push(c);
    }
    values
}

/// All combinations, the last setting changing fastest.
pub fn points(axes: &[Axis]) -> Result<Vec<Point>> {
    if let Some(axis) = axes.iter().enumerate().find(|(k, axis)| axes[..*k].iter().any(|b| b.key == axis.key))
    {
        misused!("--grid {}: is given twice", axis.1.key);
    }
    let count = axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.values.len()));
    if count.is_none_or(|count| count > MOST) {
        misused!("--grid: makes more than {MOST} runs");
    }
    let mut points = vec![Point(Vec::new())];
    for Axis { key, values } in axes {
        let with = |point: &Point, value: &String| {
            Point(point.0.iter().cloned().chain([(key.clone(), value.clone())]).collect())
        };
        points = points.iter().flat_map(|point| values.iter().map(move |value| with(point, value))).collect();
    }
    Ok(points)
}

impl Point {
    /// As they are typed.
    pub fn settings(&self) -> Vec<String> {
        self.0.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    /// The name of its run; none for a grid without settings.
    pub fn name(&self) -> Option<String> {
        let plain = |c: char| if c.is_alphanumeric() || "._-+".contains(c) { c } else { '_' };
        let part = |(key, value): &(String, String)| {
            format!("{key}={}", value.chars().map(plain).collect::<String>())
        };
        let parts: Vec<String> = self.0.iter().map(part).collect();
        (!parts.is_empty()).then(|| parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str]) -> Vec<String> {
        let axes: Vec<Axis> = texts.iter().map(|text| Axis::parse(text).unwrap()).collect();
        points(&axes).unwrap().iter().filter_map(Point::name).collect()
    }

    #[test]
    fn all_combinations_are_made() {
        let expected = ["a=0.5,seed=1", "a=0.5,seed=2", "a=x_y,seed=1", "a=x_y,seed=2"];
        assert_eq!(names(&["a=0.5,x/y", "seed=1..2"]), expected);
        assert_eq!(names(&[r#"ablation=["a","b"],[]"#]), ["ablation=__a___b__", "ablation=__"]);
        assert_eq!(points(&[]).unwrap(), [Point(Vec::new())]);
        let axis = Axis::parse(r#"a="b,c",d"#).unwrap();
        assert_eq!(axis.values, [r#""b,c""#, "d"]);
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |text: &str| Axis::parse(text).unwrap_err().to_string();
        assert!(wrong("seed").contains("must be KEY=VALUES"));
        assert!(wrong("=1").contains("must be KEY=VALUES"));
        assert!(wrong("seed=1,,2").contains("empty"));
        assert!(wrong("seed=3..1").contains("upwards"));
        let seeds = Axis::parse("seed=1..1000").unwrap();
        let twice = points(&[seeds.clone(), seeds.clone()]).unwrap_err().to_string();
        assert!(twice.contains("--grid seed: is given twice"), "{twice}");
        let many = points(&[seeds, Axis::parse("a=1..1000").unwrap()]).unwrap_err().to_string();
        assert!(many.contains("more than 100000 runs"), "{many}");
    }
}
