//! Which columns of a table are what.

use crate::error::{Error, Result};
use std::str::FromStr;

/// What a column can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Seconds.
    Time,
    /// What tells episodes apart.
    Episode,
    /// The true position and heading.
    X,
    /// The true position.
    Y,
    /// The true heading.
    Heading,
    /// Motion into the step.
    Forward,
    /// Motion into the step.
    Left,
    /// Motion into the step.
    Turn,
    /// Where odometry says the robot is.
    OdomX,
    /// Where odometry says the robot is.
    OdomY,
    /// Where odometry says the robot is.
    OdomHeading,
    /// Distances of beams.
    Scan,
    /// Any other readings.
    Reading,
}

/// All roles, by the names that are typed.
const NAMES: [(&str, Role); 13] = [
    ("time", Role::Time),
    ("episode", Role::Episode),
    ("x", Role::X),
    ("y", Role::Y),
    ("heading", Role::Heading),
    ("forward", Role::Forward),
    ("left", Role::Left),
    ("turn", Role::Turn),
    ("odom_x", Role::OdomX),
    ("odom_y", Role::OdomY),
    ("odom_heading", Role::OdomHeading),
    ("scan", Role::Scan),
    ("reading", Role::Reading),
];

impl Role {
    /// The name that is typed.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, role)| *role == self).map_or("", |(name, _)| name)
    }

    /// Whether several columns may have it.
    pub fn repeats(self) -> bool {
        matches!(self, Self::Scan | Self::Reading)
    }
}

/// `x=pose_x`: a role, and the column that has it; `scan=range_*` for all whose names begin so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// What it is.
    pub role: Role,
    /// The column's name; a star stands for anything.
    pub column: String,
}

impl FromStr for Assignment {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some((role, column)) = text.split_once('=').filter(|(_, column)| !column.trim().is_empty())
        else {
            return Err(Error::new(format!("{text:?} is not WHAT=COLUMN, such as x=pose_x")));
        };
        let known = NAMES.iter().find(|(name, _)| *name == role.trim());
        let Some(&(_, role)) = known else {
            let all: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            return Err(Error::new(format!("{role:?} is not one of {}", all.join(", "))));
        };
        Ok(Self { role, column: column.trim().to_owned() })
    }
}

impl Assignment {
    fn fits(&self, name: &str) -> bool {
        match self.column.split_once('*') {
            Some((start, end)) => {
                name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
            }
            None => name == self.column,
        }
    }
}

/// The role of each column, in the order of the header. Columns without one are left out of the log.
pub fn assigned(header: &[String], assignments: &[Assignment]) -> Result<Vec<Option<Role>>> {
    let mut roles: Vec<Option<Role>> = vec![None; header.len()];
    for assignment in assignments {
        let places: Vec<usize> = (0..header.len()).filter(|&place| assignment.fits(&header[place])).collect();
        let (role, column) = (assignment.role.name(), &assignment.column);
        match places.as_slice() {
            [] => {
                let names: Vec<&str> = header.iter().take(30).map(String::as_str).collect();
                return Err(Error::new(format!(
                    "no column is called {column}; there are {}",
                    names.join(", ")
                ))
                .in_field(role));
            }
            [_, second, ..] if !assignment.role.repeats() => {
                let problem = format!("{column} fits several columns, such as {}", header[*second]);
                return Err(Error::new(problem).in_field(role));
            }
            _ => {}
        }
        for place in places {
            if let Some(other) = roles[place].filter(|&other| other != assignment.role) {
                let problem = format!("column {} is already {}", header[place], other.name());
                return Err(Error::new(problem).in_field(role));
            }
            roles[place] = Some(assignment.role);
        }
    }
    for (_, role) in NAMES.iter().filter(|(_, role)| !role.repeats()) {
        if roles.iter().filter(|given| **given == Some(*role)).count() > 1 {
            return Err(Error::new("was given to several columns").in_field(role.name()));
        }
    }
    Ok(roles)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(header: &str, assignments: &[&str]) -> Result<Vec<Option<Role>>> {
        let header: Vec<String> = header.split(',').map(str::to_owned).collect();
        let assignments: Result<Vec<Assignment>> = assignments.iter().map(|text| text.parse()).collect();
        assigned(&header, &assignments?)
    }

    #[test]
    fn columns_are_found_by_name_and_star() {
        let found = roles("t,px,r_1,r_2,note", &["time=t", "x=px", "scan=r_*"]).unwrap();
        assert_eq!(found, [Some(Role::Time), Some(Role::X), Some(Role::Scan), Some(Role::Scan), None]);
        for (given, expected) in [
            ("x=", "is not WHAT=COLUMN"),
            ("z=px", "\"z\" is not one of time"),
            ("y=py", "field y: no column is called py; there are t, px"),
            ("y=r_*", "field y: r_* fits several columns"),
        ] {
            let error = roles("t,px,r_1,r_2,note", &["x=px", given]).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = roles("a,b", &["x=a", "x=b"]).unwrap_err().to_string();
        assert!(error.contains("field x: was given to several columns"), "{error}");
    }
}
