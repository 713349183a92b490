//! The wall map, and how far one sees in it.

use super::distance::squared_distances;

/// What a ray skips beyond a pixel's border, in pixels, so that it is in the next one whatever the rounding.
const NUDGE: f64 = 1e-6;
/// Marks a pixel of a wall.
pub(super) const WALL: f32 = -1.0;

/// Walls on a grid of square pixels; pixel (i, j) covers [i, i + 1) x [j, j + 1).
#[derive(Clone, Debug)]
pub struct Walls {
    width: usize,
    height: usize,
    /// How far one can go from anywhere in the pixel, in any direction, before meeting a wall; or [`WALL`].
    leap: Vec<f32>,
}

impl Walls {
    /// Walls where they are said to be; pixel (x, y) is number `x * height + y`.
    pub fn new(width: usize, height: usize, is_wall: impl Fn(usize) -> bool) -> Self {
        let squares = squared_distances(width, height, is_wall);
        // From a point of one pixel to the nearest of another: half a diagonal less at either end.
        let leap = |square: &f64| (square.sqrt() - std::f64::consts::SQRT_2).max(0.0) as f32;
        let leap = squares.iter().map(|square| if *square == 0.0 { WALL } else { leap(square) }).collect();
        Self { width, height, leap }
    }

    /// Pixels along x.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Pixels along y.
    pub fn height(&self) -> usize {
        self.height
    }

    /// How far one can leap from a pixel; from none there is nowhere to go.
    #[inline(always)]
    pub(super) fn leap(&self, pixel: usize) -> f32 {
        self.leap.get(pixel).copied().unwrap_or(WALL)
    }

    /// The first wall from a point in pixels along a direction of length 1: its distance if that is not
    /// above `most`. Where the map ends there is nothing to see; from inside a wall it is 0.
    ///
    /// It goes in leaps where there is room, else from pixel to pixel: exact but for a nudge of a millionth of a pixel.
    pub fn range(&self, [x, y]: [f64; 2], [dx, dy]: [f64; 2], most: f64) -> Option<f64> {
        let mut distance = 0.0;
        while distance <= most {
            let (px, py) = (x + dx * distance, y + dy * distance);
            // False for NaN, too.
            if !(px >= 0.0 && py >= 0.0 && px < self.width as f64 && py < self.height as f64) {
                return None;
            }
            let leap = self.leap[px as usize * self.height + py as usize];
            if leap == WALL {
                return Some(distance);
            }
            distance +=
                if leap >= 1.0 { f64::from(leap) } else { border(px, dx).min(border(py, dy)) + NUDGE };
        }
        None
    }
}

/// How far along the ray the pixel ends, by one coordinate.
fn border(at: f64, direction: f64) -> f64 {
    let within = at - at.floor();
    if direction > 0.0 {
        (1.0 - within) / direction
    } else if direction < 0.0 {
        -within / direction
    } else {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A map of walls, and the same as booleans.
    fn walls_of(width: usize, height: usize, mut is_wall: impl FnMut(usize) -> bool) -> (Walls, Vec<bool>) {
        let wall: Vec<bool> = (0..width * height).map(|pixel| is_wall(pixel / height)).collect();
        (Walls::new(width, height, |pixel| wall[pixel]), wall)
    }

    /// The first wall by small steps.
    fn stepped_range(
        walls: &Walls,
        wall: &[bool],
        at: [f64; 2],
        direction: [f64; 2],
        most: f64,
    ) -> Option<f64> {
        let step = 1e-3;
        for i in 0..(most / step) as usize {
            let distance = i as f64 * step;
            let [x, y] = [0, 1].map(|k| (at[k] + direction[k] * distance).floor());
            if x < 0.0 || y < 0.0 || x >= walls.width as f64 || y >= walls.height as f64 {
                return None;
            }
            if wall[x as usize * walls.height + y as usize] {
                return Some(distance);
            }
        }
        None
    }

    /// Steps of a thousandth of a pixel find the same wall, at most a step later. They may miss a corner
    /// that the ray cuts by less than a step; then, and only then, they see farther.
    #[test]
    fn agrees_with_small_steps() {
        let mut random = Random::new(8);
        let (width, height) = (60, 45);
        let mut cut_corners = 0;
        for share in [0.002, 0.02, 0.2] {
            let (walls, wall) = walls_of(width, height, |_| random.chance(share));
            for ray in 0..300 {
                let at = [random.range(0.0, width as f64), random.range(0.0, height as f64)];
                // Every tenth along an axis.
                let turn = if ray % 10 == 0 { (ray / 10 % 4) as f64 * 0.25 } else { random.unit() };
                let direction = (turn * std::f64::consts::TAU).sin_cos();
                let direction = [direction.1, direction.0];
                let found = walls.range(at, direction, 50.0).unwrap_or(50.0);
                let expected = stepped_range(&walls, &wall, at, direction, 50.0).unwrap_or(50.0);
                let corner = expected > found + 2e-3;
                assert!(expected > found - 2e-5, "{found} beyond {expected}");
                cut_corners += usize::from(corner);
            }
        }
        assert!(cut_corners <= 3, "{cut_corners} of 900 rays end early");
    }

    #[test]
    fn sees_nothing_beyond_the_map_and_walls_from_within() {
        let (walls, _) = walls_of(10, 5, |x| x == 7);
        assert!((walls.range([2.5, 2.5], [1.0, 0.0], 20.0).unwrap() - 4.5).abs() < 1e-5);
        assert_eq!(walls.range([2.5, 2.5], [1.0, 0.0], 4.0), None);
        assert_eq!(walls.range([2.5, 2.5], [-1.0, 0.0], 20.0), None);
        assert_eq!(walls.range([7.5, 2.5], [1.0, 0.0], 20.0), Some(0.0));
        for odd in [-1.0, 1e300, f64::NAN, f64::INFINITY] {
            assert_eq!(walls.range([odd, 2.5], [1.0, 0.0], 20.0), None);
        }
        assert_eq!(walls_of(4, 4, |_| false).0.range([1.0, 1.0], [0.0, 1.0], 9.0), None);
    }
}
