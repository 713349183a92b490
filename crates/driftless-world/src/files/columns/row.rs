//! One row of a table, read in metres and radians.

use super::assign::{Role, assigned};
use super::read::ColumnOptions;
use crate::error::{Error, Result};
use crate::files::track::Pose;
use driftless_core::pose::wrap;
use std::collections::HashMap;

/// Where the columns of each role are.
pub struct Places {
    /// The header.
    pub names: Vec<String>,
    /// Columns by role.
    pub by_role: HashMap<Role, Vec<usize>>,
    /// Columns of readings, scans first.
    pub readings: Vec<usize>,
}

impl Places {
    /// Assigns the columns of a header.
    pub fn new(names: Vec<String>, options: &ColumnOptions) -> Result<Self> {
        let roles = assigned(&names, &options.columns)?;
        let mut by_role: HashMap<Role, Vec<usize>> = HashMap::new();
        for (place, role) in roles.iter().enumerate() {
            if let Some(role) = role {
                by_role.entry(*role).or_default().push(place);
            }
        }
        let of = |role| by_role.get(&role).cloned().unwrap_or_default();
        let readings = [of(Role::Scan), of(Role::Reading)].concat();
        let places = Self { names, by_role, readings };
        for group in [[Role::X, Role::Y, Role::Heading], [Role::OdomX, Role::OdomY, Role::OdomHeading]] {
            let found = group.iter().filter(|role| places.of(**role).is_some()).count();
            if let (1 | 2, Some(missing)) = (found, group.iter().find(|role| places.of(**role).is_none())) {
                let problem = format!("no column has it; a pose has {}", group.map(Role::name).join(", "));
                return Err(Error::new(problem).in_field(missing.name()));
            }
        }
        if places.readings.is_empty() {
            let advice = "no column was given; name some, as scan=range_* or reading=temperature";
            return Err(Error::new(advice).in_field("scan"));
        }
        Ok(places)
    }

    /// The column of a role.
    pub fn of(&self, role: Role) -> Option<usize> {
        self.by_role.get(&role).and_then(|places| places.first().copied())
    }

    /// Whether the table tells of motion.
    pub fn moves(&self) -> bool {
        [Role::Forward, Role::Left, Role::Turn, Role::OdomX].iter().any(|role| self.of(*role).is_some())
    }
}

/// A row, to be read in metres and radians.
pub struct Row<'a> {
    /// Which columns are what.
    pub places: &'a Places,
    /// The row.
    pub cells: &'a [String],
    /// Its units.
    pub options: &'a ColumnOptions,
}

impl Row<'_> {
    fn length(&self) -> f64 {
        if self.options.millimetres { 1e-3 } else { 1.0 }
    }

    fn angle(&self) -> f64 {
        if self.options.degrees { 1_f64.to_radians() } else { 1.0 }
    }

    fn number(&self, place: usize) -> Result<f64> {
        number(&self.cells[place]).map_err(|error| error.in_field(&self.places.names[place]))
    }

    /// The number of a role, if it has a column.
    pub fn of(&self, role: Role) -> Result<Option<f64>> {
        self.places.of(role).map(|place| self.number(place)).transpose()
    }

    /// A pose, if it has a place in the table and is known.
    pub fn pose(&self, [x, y, heading]: [Role; 3]) -> Result<Option<Pose>> {
        let (Some(x), Some(y), Some(heading)) = (self.of(x)?, self.of(y)?, self.of(heading)?) else {
            return Ok(None);
        };
        let turned = if self.options.degrees { wrap(heading * self.angle()) } else { heading };
        let pose = [x * self.length(), y * self.length(), turned];
        Ok(pose.iter().all(|part| part.is_finite()).then_some(pose))
    }

    /// Motion into the row, if all of it is known; what has no column is zero.
    pub fn motion(&self) -> Result<Option<Pose>> {
        let part = |role, unit| Ok(self.of(role)?.unwrap_or(0.0) * unit);
        let motion = [
            part(Role::Forward, self.length())?,
            part(Role::Left, self.length())?,
            part(Role::Turn, self.angle())?,
        ];
        Ok(motion.iter().all(|part| part.is_finite()).then_some(motion))
    }

    /// Readings; what is not finite is missing.
    pub fn readings(&self) -> Result<Vec<f32>> {
        let reading = |&place: &usize| {
            let value = (self.number(place)? * self.length()) as f32;
            Ok(if value.is_finite() { value } else { f32::NAN })
        };
        self.places.readings.iter().map(reading).collect()
    }
}

/// A number; an empty cell, `nan` and `none` are missing.
fn number(cell: &str) -> Result<f64> {
    if cell.is_empty() || cell.eq_ignore_ascii_case("none") || cell.eq_ignore_ascii_case("null") {
        return Ok(f64::NAN);
    }
    cell.parse().map_err(|_| {
        let start: String = cell.chars().take(40).collect();
        Error::new(format!("{start:?} is not a number"))
    })
}
