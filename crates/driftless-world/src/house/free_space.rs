//! What stands in a robot's way, how near it is, and how much floor can be reached.

use super::furniture::Item;
use super::plan::HousePlan;
use super::shape::{Footprint, Rect};

/// The footprints of everything a robot can bump into.
#[derive(Clone, Debug, Default)]
pub struct Obstacles {
    footprints: Vec<Footprint>,
}

impl Obstacles {
    /// Walls and furniture. A robot does not drive under tables either.
    pub fn of(plan: &HousePlan, items: &[Item]) -> Self {
        let pieces = items.iter().flat_map(|item| &item.pieces).map(|piece| piece.footprint);
        Self { footprints: plan.walls.iter().copied().map(Footprint::Box).chain(pieces).collect() }
    }

    /// The given footprints only.
    pub fn new(footprints: Vec<Footprint>) -> Self {
        Self { footprints }
    }

    /// Distance to the nearest obstacle; 0 inside one.
    pub fn clearance(&self, point: [f64; 2]) -> f64 {
        self.footprints.iter().map(|shape| shape.distance(point)).fold(f64::INFINITY, f64::min)
    }

    /// True if a robot of this radius can stand at `point`.
    pub fn has_room(&self, point: [f64; 2], radius: f64) -> bool {
        self.footprints.iter().all(|shape| shape.distance(point) >= radius)
    }

    /// True if a robot of this radius can drive straight from `a` to `b`.
    pub fn is_clear(&self, a: [f64; 2], b: [f64; 2], radius: f64) -> bool {
        self.footprints.iter().all(|shape| shape.distance_to_path(a, b) >= radius)
    }
}

/// Where a robot's centre can be, on a grid, and which of these places hang together.
#[derive(Clone, Debug)]
pub struct FreeSpace {
    origin: [f64; 2],
    cell: f64,
    columns: usize,
    /// Number of the connected part, 0 where the robot does not fit; row after row.
    part: Vec<u32>,
    /// Squares in each part; the first entry counts those where the robot does not fit.
    sizes: Vec<usize>,
}

impl FreeSpace {
    /// Looks at the squares of side `cell` in `area`: a robot fits where the square's centre
    /// `is_floor` and no obstacle is nearer than its radius. Squares hang together along sides.
    pub fn survey(
        area: &Rect,
        cell: f64,
        (obstacles, radius): (&Obstacles, f64),
        is_floor: impl Fn([f64; 2]) -> bool,
    ) -> Self {
        let [columns, rows] = area.size().map(|side| (side / cell).ceil() as usize);
        let centre = |column: usize, row: usize| {
            [area.min[0] + (column as f64 + 0.5) * cell, area.min[1] + (row as f64 + 0.5) * cell]
        };
        let mut free: Vec<bool> =
            (0..columns * rows).map(|at| is_floor(centre(at % columns, at / columns))).collect();
        // Obstacle by obstacle, near squares only: each is small and the plan is large.
        for shape in &obstacles.footprints {
            let near = shape.bounds().grown(radius);
            let square = |k: usize, at: f64, limit: usize| {
                (((at - area.min[k]) / cell).ceil().max(0.0) as usize).min(limit)
            };
            for row in square(1, near.min[1] - cell, rows)..square(1, near.max[1], rows) {
                for column in square(0, near.min[0] - cell, columns)..square(0, near.max[0], columns) {
                    free[row * columns + column] &= shape.distance(centre(column, row)) >= radius;
                }
            }
        }
        let mut part = vec![0; free.len()];
        let mut sizes = vec![free.iter().filter(|&&free| !free).count()];
        for start in 0..free.len() {
            if free[start] && part[start] == 0 {
                sizes.push(flood(&free, columns, start, sizes.len() as u32, &mut part));
            }
        }
        Self { origin: area.min, cell, columns, part, sizes }
    }

    /// The part a place belongs to, if a robot fits there.
    pub fn part_at(&self, point: [f64; 2]) -> Option<u32> {
        let [x, y] = [0, 1].map(|k| (point[k] - self.origin[k]) / self.cell);
        if x < 0.0 || y < 0.0 || x as usize >= self.columns {
            return None;
        }
        self.part.get(y as usize * self.columns + x as usize).copied().filter(|&part| part > 0)
    }

    /// Share of the free squares that belong to the largest part; 1 if nothing is cut off.
    pub fn largest_share(&self) -> f64 {
        let free: usize = self.sizes[1..].iter().sum();
        let largest = self.sizes[1..].iter().max().copied().unwrap_or(0);
        largest as f64 / free.max(1) as f64
    }

    /// Area of all free squares.
    pub fn area(&self) -> f64 {
        self.sizes[1..].iter().sum::<usize>() as f64 * self.cell * self.cell
    }
}

fn flood(free: &[bool], columns: usize, start: usize, name: u32, part: &mut [u32]) -> usize {
    let mut queue = vec![start];
    part[start] = name;
    let mut size = 0;
    while let Some(at) = queue.pop() {
        size += 1;
        let column = at % columns;
        let neighbours = [
            (column > 0).then(|| at - 1),
            (column + 1 < columns).then_some(at + 1),
            at.checked_sub(columns),
            Some(at + columns),
        ];
        for next in neighbours.into_iter().flatten() {
            if next < free.len() && free[next] && part[next] == 0 {
                part[next] = name;
                queue.push(next);
            }
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::furnish;

    #[test]
    fn squares_agree_with_asking_all_obstacles() {
        let plan = HousePlan::generate(4);
        let obstacles = Obstacles::of(&plan, &furnish(&plan, 4));
        let area = Rect::new([0.3, 0.2], [plan.extent[0] - 1.0, plan.extent[1]]);
        let space = FreeSpace::survey(&area, 0.11, (&obstacles, 0.17), |_| true);
        for (at, &part) in space.part.iter().enumerate() {
            let [x, y] = [at % space.columns, at / space.columns].map(|k| (k as f64 + 0.5) * 0.11);
            assert_eq!(part > 0, obstacles.has_room([0.3 + x, 0.2 + y], 0.17), "square {at}");
        }
    }

    #[test]
    fn a_wall_cuts_the_floor_in_two() {
        let area = Rect::new([0.0, 0.0], [4.0, 2.0]);
        let wall = |gap: f64| Obstacles::new(vec![Footprint::Box(Rect::new([0.9, gap], [1.1, 2.0]))]);
        let survey = |gap: f64| FreeSpace::survey(&area, 0.05, (&wall(gap), 0.2), |_| true);
        let open = survey(0.5);
        assert_eq!((open.largest_share(), open.part_at([0.2, 1.0])), (1.0, open.part_at([3.0, 1.0])));
        let shut = survey(0.1);
        assert_ne!(shut.part_at([0.2, 1.0]), shut.part_at([3.0, 1.0]));
        assert_eq!((shut.part_at([1.0, 1.0]), shut.part_at([-0.1, 1.0])), (None, None));
        // 0.7 m of 3.4 m are on the left of the wall.
        assert!((shut.largest_share() - 2.7 / 3.4).abs() < 0.02, "{}", shut.largest_share());
    }
}
