//! What a method knows of the world that robots were in: cells of a floor, and beacons.

use super::ground::Ground;
use super::plan::Plan;
use crate::error::Result;
use crate::occupancy::{Cell, OccupancyGrid};

/// Room around what is shown, as a share of the longer side.
const ROOM: f64 = 0.04;
/// Occupied cells that are left out on each side, as a share: beams go far through doors and windows.
const FAR_CELLS: f64 = 0.005;
/// A mark that is farther from all else than this many times the extent is not shown.
const FAR_MARKS: f64 = 1.0;

/// A learned or given map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surroundings {
    /// Cells that are free and occupied.
    pub grid: Option<OccupancyGrid>,
    /// Where beacons or landmarks stand.
    pub marks: Vec<[f64; 2]>,
}

impl Surroundings {
    /// A plan of all places that robots were at, and of what is known around them.
    pub fn plan(&self, places: impl IntoIterator<Item = [f64; 2]>, unit: &str) -> Result<Plan> {
        let mut bounds: Option<[[f64; 2]; 2]> = None;
        for place in places.into_iter().filter(|place| place.iter().all(|x| x.is_finite())) {
            bounds = Some(grown(bounds, place));
        }
        let walls = self.grid.as_ref().and_then(|grid| grid.extent(Cell::Occupied, FAR_CELLS));
        for corner in walls.into_iter().flatten() {
            bounds = Some(grown(bounds, corner));
        }
        let [low, high] = bounds.unwrap_or([[0.0; 2]; 2]);
        let longer = |[low, high]: [[f64; 2]; 2]| (high[0] - low[0]).max(high[1] - low[1]).max(1e-3);
        let far = FAR_MARKS * longer([low, high]).max(1.0);
        let is_near = |mark: &&[f64; 2]| (0..2).all(|k| (low[k] - far..=high[k] + far).contains(&mark[k]));
        let marks: Vec<[f64; 2]> = self.marks.iter().filter(is_near).copied().collect();
        let [low, high] = marks.iter().fold([low, high], |bounds, mark| grown(Some(bounds), *mark));
        let room = ROOM * longer([low, high]).max(1.0);
        let (low, high) = (low.map(|x| x - room), high.map(|x| x + room));
        let ground = self.grid.as_ref().map_or(Ok(None), |grid| Ground::of(grid, low, high))?;
        let unit = if unit.is_empty() { "units" } else { unit };
        Ok(Plan { low, high, walls: Vec::new(), unit: unit.to_owned(), ground, marks })
    }
}

fn grown(bounds: Option<[[f64; 2]; 2]>, place: [f64; 2]) -> [[f64; 2]; 2] {
    let [low, high] = bounds.unwrap_or([place; 2]);
    [[0, 1].map(|k| low[k].min(place[k])), [0, 1].map(|k| high[k].max(place[k]))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_walls_and_near_marks_are_shown() {
        let mut cells = vec![Cell::Free; 100];
        cells[0] = Cell::Occupied;
        cells[99] = Cell::Occupied;
        let grid = OccupancyGrid { origin: [0.0; 2], cell: 1.0, size: [10, 10], cells };
        let known = Surroundings { grid: Some(grid), marks: vec![[-3.0, 5.0], [500.0, 0.0]] };
        let plan = known.plan([[4.0, 4.0], [12.0, f64::NAN], [12.0, 4.0]], "m").unwrap();
        assert_eq!(plan.marks, [[-3.0, 5.0]]);
        // From the mark to the path, 15 m, and from wall to wall, with 4 % around.
        assert_eq!((plan.low, plan.high), ([-3.6, -0.6], [12.6, 10.6]));
        let ground = plan.ground.unwrap();
        assert_eq!((ground.low, ground.high), ([0.0; 2], [10.0; 2]));
        let nothing = Surroundings::default().plan([], "").unwrap();
        assert!(nothing.ground.is_none() && nothing.size()[0] > 0.0 && nothing.unit == "units");
    }
}
