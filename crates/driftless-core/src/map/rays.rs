//! Rays from many places at once, in 32 bits: the fast path beside [`Walls::range`].
//!
//! Each ray waits for what it reads of the map, so sixteen of them go side by side, and one waits while others are
//! counted. Rays of neighbouring particles take about as many leaps.

use super::walls::{WALL, Walls};
use crate::LANES;
use crate::cpu::{Cpu, Work};

/// What a ray skips beyond a pixel's border, in pixels: numbers near 1000 have steps of 6e-5.
const NUDGE: f32 = 1e-3;

/// Sixteen rays.
#[derive(Clone, Copy, Debug)]
pub struct Rays {
    /// Where they begin, in pixels.
    pub x: [f32; LANES],
    /// Where they begin, in pixels.
    pub y: [f32; LANES],
    /// Their directions, of length 1.
    pub dx: [f32; LANES],
    /// Their directions, of length 1.
    pub dy: [f32; LANES],
}

impl Walls {
    /// The first wall along each ray, or `most` where nothing is met before. Within a hundredth of a pixel of
    /// [`Walls::range`], but for corners that a ray cuts by less; from inside a wall it is 0.
    pub fn ranges(&self, cpu: Cpu, rays: &Rays, most: f32) -> [f32; LANES] {
        let mut found = [0.0; LANES];
        cpu.run(Cast { walls: self, rays, most, found: &mut found });
        found
    }
}

struct Cast<'a> {
    walls: &'a Walls,
    rays: &'a Rays,
    most: f32,
    found: &'a mut [f32; LANES],
}

/// All of them, lane by lane.
#[inline(always)]
fn lanes<T: Copy + Default>(of: impl Fn(usize) -> T) -> [T; LANES] {
    let mut all = [T::default(); LANES];
    for (k, lane) in all.iter_mut().enumerate() {
        *lane = of(k);
    }
    all
}

impl Work for Cast<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { walls, rays, most, found } = self;
        let Rays { x, y, dx, dy } = rays;
        let (width, height) = (walls.width() as f32, walls.height() as f32);
        // Where a pixel ends on the way: at its far side if the coordinate grows, else at its near side.
        let inverse_x = lanes(|k| 1.0 / dx[k]);
        let inverse_y = lanes(|k| 1.0 / dy[k]);
        let side_x = lanes(|k| if dx[k] > 0.0 { 1.0_f32 } else { 0.0 });
        let side_y = lanes(|k| if dy[k] > 0.0 { 1.0_f32 } else { 0.0 });
        let mut distance = [0.0_f32; LANES];
        loop {
            let px = lanes(|k| x[k] + dx[k] * distance[k]);
            let py = lanes(|k| y[k] + dy[k] * distance[k]);
            // False for NaN, too.
            let inside_x = lanes(|k| px[k] >= 0.0 && px[k] < width);
            let inside = lanes(|k| inside_x[k] && py[k] >= 0.0 && py[k] < height);
            let column = lanes(|k| px[k] as i32);
            let row = lanes(|k| py[k] as i32);
            let pixel = lanes(|k| if inside[k] { column[k] * walls.height() as i32 + row[k] } else { 0 });
            let leap = lanes(|k| walls.leap(pixel[k] as usize));
            let end_x = lanes(|k| (column[k] as f32 + side_x[k] - px[k]) * inverse_x[k]);
            let end_y = lanes(|k| (row[k] as f32 + side_y[k] - py[k]) * inverse_y[k]);
            // A ray along a border never leaves by it: 0 / 0, and the other side counts.
            let border = lanes(|k| end_x[k].min(end_y[k]).max(0.0) + NUDGE);
            let step = lanes(|k| if leap[k] >= 1.0 { leap[k] } else { border[k] });
            let arrived = lanes(|k| leap[k] == WALL);
            let next = lanes(|k| if arrived[k] { distance[k] } else { distance[k] + step[k] });
            let next = lanes(|k| if inside[k] { next[k].min(most) } else { most });
            let moved = lanes(|k| u32::from(next[k] != distance[k]));
            distance = next;
            if moved.iter().sum::<u32>() == 0 {
                break;
            }
        }
        *found = distance;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::f64::consts::TAU;

    /// Up to 50 pixels of a thousandth of nudge each; a corner may be cut by as much.
    #[test]
    fn agrees_with_single_rays() {
        let mut random = Random::new(8);
        let (width, height) = (60, 45);
        let mut apart = 0;
        for share in [0.0, 0.002, 0.02, 0.2] {
            let wall: Vec<bool> = (0..width * height).map(|_| random.chance(share)).collect();
            let walls = Walls::new(width, height, |pixel| wall[pixel]);
            for _ in 0..40 {
                let mut ray = |k: usize| {
                    // Every fourth along an axis, some from outside.
                    let turn = if k.is_multiple_of(4) { (k / 4 % 4) as f64 * 0.25 } else { random.unit() };
                    let (sine, cosine) = (turn * TAU).sin_cos();
                    [random.range(-2.0, width as f64), random.range(0.0, height as f64 + 2.0), cosine, sine]
                };
                let drawn: Vec<[f64; 4]> = (0..LANES).map(&mut ray).collect();
                let of = |part: usize| std::array::from_fn(|k| drawn[k][part] as f32);
                let rays = Rays { x: of(0), y: of(1), dx: of(2), dy: of(3) };
                for cpu in Cpu::all() {
                    let found = walls.ranges(cpu, &rays, 50.0);
                    for (found, [x, y, dx, dy]) in found.iter().zip(&drawn) {
                        let expected = walls.range([*x, *y], [*dx, *dy], 50.0).unwrap_or(50.0);
                        apart += usize::from((f64::from(*found) - expected).abs() > 0.055);
                    }
                }
            }
        }
        assert!(apart <= 15, "{apart} of {} rays end elsewhere", 4 * 40 * LANES * Cpu::all().len());
    }

    #[test]
    fn damaged_poses_see_nothing() {
        let walls = Walls::new(10, 5, |pixel| pixel / 5 == 7);
        let mut rays = Rays { x: [2.5; LANES], y: [2.5; LANES], dx: [1.0; LANES], dy: [0.0; LANES] };
        rays.x[1] = f32::NAN;
        rays.x[2] = f32::INFINITY;
        rays.y[3] = -1e30;
        rays.x[4] = 7.5;
        rays.dx[5] = f32::NAN;
        let found = walls.ranges(Cpu::best(), &rays, 20.0);
        assert!((found[0] - 4.5).abs() < 0.01, "{found:?}");
        assert_eq!((found[1], found[2], found[3], found[4], found[5]), (20.0, 20.0, 20.0, 0.0, 20.0));
    }
}
