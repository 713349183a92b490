//! Baked light: how bright each place of the plan is, so that corners are darker than open floor.

use super::cast::{Crossing, Ray};
use super::scene::{Grid, Scene};
use super::texture::Colour;
use rayon::prelude::*;

/// Brightness over the plan, and how walls darken towards their foot.
#[derive(Clone, Debug)]
pub struct Light {
    brightness: Grid<f32>,
    /// How much darker a wall is where it meets the floor, 0..1.
    foot_shadow: f32,
    /// 1 / the height over which that shadow fades.
    foot_fade: f32,
    pub(super) faces: [f32; 4],
    /// What shines into shadows.
    ambient: Colour,
}

impl Light {
    /// The same brightness everywhere, no shadows.
    pub fn uniform(brightness: f32) -> Self {
        Self::from_grid(Grid::uniform(brightness))
    }

    /// A given brightness map, no other shadows.
    pub fn from_grid(brightness: Grid<f32>) -> Self {
        Self { brightness, foot_shadow: 0.0, foot_fade: 1.0, faces: [1.0; 4], ambient: [0.0; 4] }
    }

    /// Ambient occlusion on the plan: a place is darker the more of its surroundings within
    /// `reach` is wall. `darkest` is the brightness of a place that sees nothing but wall.
    pub fn bake(scene: &Scene, cell: f32, reach: f32, darkest: f32) -> Self {
        const DIRECTIONS: usize = 16;
        let [width, height] = scene.extent();
        let (columns, rows) = ((width / cell).ceil() as usize, (height / cell).ceil() as usize);
        let brightness = |found: &mut Vec<Crossing>, square: usize| {
            let origin = [square % columns, square / columns].map(|k| (k as f32 + 0.5) * cell);
            let mut open = 0.0;
            for direction in 0..DIRECTIONS {
                let angle = (direction as f32 + 0.5) * std::f32::consts::TAU / DIRECTIONS as f32;
                scene.cast(&Ray { origin, direction: [angle.cos(), angle.sin()] }, reach, found);
                let wall = found.last().filter(|last| scene.hides_all_behind(last.bottom, last.top));
                let distance = wall.map_or(reach, |wall| wall.near);
                open += distance.min(reach) / reach / DIRECTIONS as f32;
            }
            darkest + (1.0 - darkest) * open
        };
        let values = (0..columns * rows).into_par_iter().map_init(Vec::new, brightness).collect();
        Self::from_grid(Grid::new(cell, columns, rows, values))
    }

    /// Brightness at a place of the plan, interpolated between squares' centres.
    #[inline]
    pub(super) fn at(&self, x: f32, y: f32) -> f32 {
        let grid = &self.brightness;
        let (gx, gy) = ((x * grid.scale - 0.5).max(0.0), (y * grid.scale - 0.5).max(0.0));
        let (column, row) = ((gx as usize).min(grid.columns - 1), (gy as usize).min(grid.rows - 1));
        let (fx, fy) = ((gx - column as f32).min(1.0), (gy - row as f32).min(1.0));
        let right = usize::from(column + 1 < grid.columns);
        let above = if row + 1 < grid.rows { grid.columns } else { 0 };
        let corner = row * grid.columns + column;
        let low = grid.values[corner] + fx * (grid.values[corner + right] - grid.values[corner]);
        let over = corner + above;
        let high = grid.values[over] + fx * (grid.values[over + right] - grid.values[over]);
        low + fy * (high - low)
    }

    /// Makes walls darker by `share` where they meet the floor, fading over `height`.
    pub fn with_foot_shadow(self, share: f32, height: f32) -> Self {
        Self { foot_shadow: share, foot_fade: 1.0 / height, ..self }
    }

    /// Brightness of upright faces looking to -x, +x, -y and +y, relative to the floor before them.
    pub fn with_faces(self, faces: [f32; 4]) -> Self {
        Self { faces, ..self }
    }

    /// The colour that full shadow shows instead of black: light from the sky or from other walls.
    pub fn with_ambient(self, [r, g, b]: [f32; 3]) -> Self {
        Self { ambient: [r, g, b, 0.0], ..self }
    }

    /// A surface's colour in light of this brightness.
    #[inline]
    pub(super) fn lit(&self, colour: Colour, brightness: f32) -> Colour {
        let shadow = (1.0 - brightness).max(0.0);
        std::array::from_fn(|k| colour[k] * brightness + self.ambient[k] * shadow)
    }

    /// Multiplies the brightness of every square by what `factor` says of its centre.
    pub fn scaled(mut self, factor: impl Fn(f32, f32) -> f32) -> Self {
        let (cell, columns) = (self.brightness.cell, self.brightness.columns);
        for (square, value) in self.brightness.values.iter_mut().enumerate() {
            *value *=
                factor(((square % columns) as f32 + 0.5) * cell, ((square / columns) as f32 + 0.5) * cell);
        }
        self
    }

    /// Brightness of a wall at height `above_floor`, relative to its plan brightness.
    #[inline]
    pub(super) fn foot(&self, above_floor: f32) -> f32 {
        1.0 - self.foot_shadow * (1.0 - above_floor * self.foot_fade).max(0.0)
    }
}
