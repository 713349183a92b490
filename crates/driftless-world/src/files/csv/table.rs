//! Parses a csv table into series.

use crate::error::{Error, Result};
use crate::trajectory::{Labels, Observations, Rows, Trajectory};
use std::collections::HashMap;
use std::str::FromStr;

/// What a column holds; numbered ones keep the number in their name, which orders them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Column {
    Series,
    Time,
    State(u64),
    Observation(u64),
    Control(u64),
}

impl FromStr for Column {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let numbered = |prefix: &str| -> Option<u64> {
            let rest = name.strip_prefix(prefix)?;
            if rest.is_empty() { Some(0) } else { rest.strip_prefix('_').unwrap_or(rest).parse().ok() }
        };
        match name {
            "series_id" => return Ok(Self::Series),
            "time" => return Ok(Self::Time),
            _ => {}
        }
        let column = numbered("state").map(Self::State);
        let column = column.or_else(|| numbered("observation").map(Self::Observation));
        column.or_else(|| numbered("control").map(Self::Control)).ok_or_else(|| {
            if name.is_empty() {
                return Error::new(
                    "a column without a name; did pandas write its index? Save with index=False",
                );
            }
            let known = "series_id, time, state_1.., observation_1.., control_1..";
            Error::new(format!("is not a known column ({known}); rename or remove it"))
        })
    }
}

/// The numbers of one series, row after row.
#[derive(Debug)]
struct Series {
    observations: Vec<f32>,
    controls: Vec<f32>,
    states: Labels,
}

/// A parsed table.
#[derive(Debug)]
pub(super) struct Table {
    names: Vec<String>,
    /// Places of the columns of each kind, in the order of their numbers.
    observations: Vec<usize>,
    controls: Vec<usize>,
    states: Vec<usize>,
    series_id: Option<usize>,
    time: Option<usize>,
    series: Vec<Series>,
}

/// Each series costs memory of its own, far more than its line.
const MOST_SERIES: usize = 1_000_000;

impl Table {
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut lines = bytes
            .split(|&byte| byte == b'\n')
            .enumerate()
            .map(|(number, line)| (number + 1, line.strip_suffix(b"\r").unwrap_or(line)))
            .filter(|(_, line)| !line.iter().all(u8::is_ascii_whitespace));
        let Some((number, header)) = lines.next() else {
            return Err(Error::new("is empty; there is no header line"));
        };
        let in_line = |number: usize| move |error: Error| error.in_record(format!("line {number}"));
        let mut table = cells(header).and_then(Self::with_header).map_err(in_line(number))?;
        let mut known = HashMap::new();
        for (number, line) in lines {
            table.add(line, &mut known).map_err(in_line(number))?;
        }
        Ok(table)
    }

    fn with_header(names: Vec<String>) -> Result<Self> {
        let mut columns: Vec<(Column, usize)> = Vec::new();
        let mut seen = HashMap::new();
        for (place, name) in names.iter().enumerate() {
            let column: Column = name.parse().map_err(|error: Error| error.in_field(name))?;
            if seen.insert(column, place).is_some() {
                return Err(Error::new("is there twice").in_field(name));
            }
            columns.push((column, place));
        }
        columns.sort_unstable();
        let places = |wanted: fn(Column) -> bool| -> Vec<usize> {
            columns.iter().filter(|(column, _)| wanted(*column)).map(|&(_, place)| place).collect()
        };
        let observations = places(|column| matches!(column, Column::Observation(_)));
        if observations.is_empty() {
            return Err(Error::new("there is no observation column (observation_1, ...)"));
        }
        Ok(Self {
            controls: places(|column| matches!(column, Column::Control(_))),
            states: places(|column| matches!(column, Column::State(_))),
            series_id: seen.get(&Column::Series).copied(),
            time: seen.get(&Column::Time).copied(),
            observations,
            names,
            series: Vec::new(),
        })
    }

    fn add(&mut self, line: &[u8], known: &mut HashMap<String, usize>) -> Result<()> {
        let cells = cells(line)?;
        if cells.len() != self.names.len() {
            return Err(Error::new(format!(
                "has {} cells; the header has {}",
                cells.len(),
                self.names.len()
            )));
        }
        let id = self.series_id.map_or("", |place| cells[place].as_str());
        if let (Some(place), "") = (self.series_id, id) {
            return Err(Error::new("is empty").in_field(&self.names[place]));
        }
        let finite = |&place: &usize| {
            number(&cells[place]).and_then(check_finite).map_err(|e| e.in_field(&self.names[place]))
        };
        let observations = self.observations.iter().map(finite).collect::<Result<Vec<f32>>>()?;
        let controls = self.controls.iter().map(finite).collect::<Result<Vec<f32>>>()?;
        self.time.iter().try_for_each(|place| finite(place).map(drop))?;
        let state = self.state(&cells)?;
        let next = self.series.len();
        let at = *known.entry(id.to_owned()).or_insert(next);
        if at == next && next == MOST_SERIES {
            return Err(Error::new(format!(
                "begins series number {}; at most {MOST_SERIES} are read",
                next + 1
            )));
        }
        if at == next {
            let states = Labels::new(self.states.len());
            self.series.push(Series { observations: Vec::new(), controls: Vec::new(), states });
        }
        let series = &mut self.series[at];
        series.observations.extend(observations);
        series.controls.extend(controls);
        series.states.push(state.as_deref());
        Ok(())
    }

    /// The state of a row: every cell filled, or none.
    fn state(&self, cells: &[String]) -> Result<Option<Vec<f32>>> {
        let mut values = Vec::new();
        let mut first_unknown = None;
        for &place in &self.states {
            let cell = cells[place].as_str();
            let value = if cell.is_empty() { Ok(f32::NAN) } else { number(cell) };
            let value = value.map_err(|error| error.in_field(&self.names[place]))?;
            if value.is_nan() {
                first_unknown.get_or_insert(place);
            } else {
                check_finite(value).map_err(|error| error.in_field(&self.names[place]))?;
                values.push((value, place));
            }
        }
        match (first_unknown, values.first()) {
            (Some(unknown), Some(&(_, known))) => {
                let problem = format!(
                    "is unknown, but {} is known; label a step wholly or not at all",
                    self.names[known]
                );
                Err(Error::new(problem).in_field(&self.names[unknown]))
            }
            (Some(_), None) => Ok(None),
            (None, _) => {
                Ok((!values.is_empty()).then(|| values.into_iter().map(|(value, _)| value).collect()))
            }
        }
    }

    pub fn has_series(&self) -> bool {
        self.series_id.is_some()
    }

    pub fn trajectories(self) -> Result<Vec<Trajectory>> {
        if self.series.is_empty() {
            return Err(Error::new("holds no row below the header"));
        }
        let (observation, control) = (self.observations.len(), self.controls.len());
        self.series
            .into_iter()
            .map(|series| {
                let observations = Observations::Vectors(Rows::new(observation, series.observations)?);
                Trajectory::new(observations, Rows::new(control, series.controls)?, series.states)
            })
            .collect()
    }
}

/// Widths of observations, controls and states of a series.
pub(super) fn widths(trajectory: &Trajectory) -> [usize; 3] {
    let observation = match &trajectory.observations {
        Observations::Vectors(rows) => rows.width(),
        Observations::Images(images) => images.stride(),
    };
    [observation, trajectory.actions.width(), trajectory.states.width()]
}

fn number(cell: &str) -> Result<f32> {
    if cell.is_empty() {
        return Err(Error::new("is empty"));
    }
    cell.parse().map_err(|_| {
        let start: String = cell.chars().take(40).collect();
        Error::new(format!("{start:?} is not a number"))
    })
}

fn check_finite(value: f32) -> Result<f32> {
    if value.is_finite() { Ok(value) } else { Err(Error::new(format!("{value} is not finite"))) }
}

/// Cells between commas, trimmed; a cell in double quotes may hold commas, and quotes twice.
pub fn cells(line: &[u8]) -> Result<Vec<String>> {
    let line = std::str::from_utf8(line).map_err(|_| Error::new("is not UTF-8 text"))?;
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            c => cell.push(c),
        }
    }
    if quoted {
        return Err(Error::new("has an unclosed quote (cells with line breaks are not read)"));
    }
    cells.push(cell.trim().to_owned());
    Ok(cells)
}
