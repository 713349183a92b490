//! The world an episode took place in, as far as a player has to draw it.

use super::ground::Ground;
use crate::error::{Error, Result};
use crate::maze::Layout;
use serde::{Deserialize, Serialize};

/// A rectangle of the world with walls in it, y up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Least x and y.
    pub low: [f64; 2],
    /// Greatest x and y.
    pub high: [f64; 2],
    /// Walls as x0, y0, x1, y1.
    pub walls: Vec<[f64; 4]>,
    /// The unit of length, as written behind numbers: "units", "m".
    pub unit: String,
    /// A map of cells below all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground: Option<Ground>,
    /// Where beacons or landmarks stand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<[f64; 2]>,
}

impl Plan {
    /// The plan of a maze.
    ///
    /// ```
    /// use driftless_world::{evaluation::Plan, maze::Layout};
    /// let plan = Plan::of_maze(&Layout::built_in("maze1").unwrap());
    /// assert_eq!((plan.low, plan.high), ([0.0, 0.0], [1000.0, 500.0]));
    /// ```
    pub fn of_maze(layout: &Layout) -> Self {
        let (high, walls) = (layout.extent(), layout.segments());
        Self { low: [0.0; 2], high, walls, unit: "units".into(), ..Self::default() }
    }

    /// Extent along x and y.
    pub fn size(&self) -> [f64; 2] {
        [self.high[0] - self.low[0], self.high[1] - self.low[1]]
    }

    /// Checks that the rectangle is one, and that the walls are finite.
    pub(super) fn check(&self) -> Result<()> {
        let corners = [self.low, self.high];
        let finite = corners.as_flattened().iter().all(|value| value.abs() <= 1e9);
        if !finite || !self.size().iter().all(|size| *size > 1e-6) {
            let problem = format!("from {:?} to {:?} is no part of a world", self.low, self.high);
            return Err(Error::new(problem).in_field("plan"));
        }
        if let Some(i) = self.walls.iter().position(|wall| !wall.iter().all(|value| value.abs() <= 1e9)) {
            return Err(Error::new(format!("wall {i} is not a place")).in_field("plan"));
        }
        if let Some(i) = self.marks.iter().position(|mark| !mark.iter().all(|value| value.abs() <= 1e9)) {
            return Err(Error::new(format!("mark {i} is not a place")).in_field("plan"));
        }
        self.ground.as_ref().map_or(Ok(()), Ground::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_areas_are_plans() {
        let plan = Plan { high: [2.0, 1.0], walls: vec![[0.0; 4]], unit: "m".into(), ..Plan::default() };
        assert!(plan.check().is_ok());
        assert!(Plan { high: [0.0, 1.0], ..plan.clone() }.check().is_err());
        assert!(Plan { low: [f64::NAN, 0.0], ..plan.clone() }.check().is_err());
        assert!(Plan { marks: vec![[0.0, f64::NAN]], ..plan.clone() }.check().is_err());
        assert!(Plan { walls: vec![[0.0, 0.0, f64::INFINITY, 0.0]], ..plan }.check().is_err());
    }
}
