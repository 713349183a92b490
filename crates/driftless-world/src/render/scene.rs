//! Scenes: solids on a plan, what they are made of, and a grid that says which solid is where.

use super::light::Light;
use super::texture::{Colour, Texture};

/// The outline of a solid on the plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Footprint {
    /// An axis-aligned rectangle.
    Box {
        /// Least x and y.
        min: [f32; 2],
        /// Greatest x and y.
        max: [f32; 2],
    },
    /// A circle: the solid is an upright cylinder.
    Disc {
        /// Centre.
        centre: [f32; 2],
        /// Radius.
        radius: f32,
    },
}

impl Footprint {
    fn bounds(&self) -> ([f32; 2], [f32; 2]) {
        match *self {
            Self::Box { min, max } => (min, max),
            Self::Disc { centre, radius } => (centre.map(|c| c - radius), centre.map(|c| c + radius)),
        }
    }
}

/// An upright solid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solid {
    /// Outline on the plan.
    pub footprint: Footprint,
    /// Height of the underside.
    pub bottom: f32,
    /// Height of the top.
    pub top: f32,
    /// Materials of the faces looking to -x, +x, -y and +y. A disc uses the first.
    pub sides: [MaterialId; 4],
    /// Material of top and underside.
    pub cap: MaterialId,
}

/// Names a material of one scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaterialId(pub(super) u16);

/// A texture and the length of one of its tiles in the world.
#[derive(Clone, Debug)]
pub struct Material {
    /// The look of a tile.
    pub texture: Texture,
    /// Length of a tile in world units.
    pub tile: f32,
    /// Tiles a world unit.
    scale: f32,
    /// True if the surface shines by itself: no shadow falls on it (sky, lamps).
    pub glows: bool,
}

impl Material {
    /// A lit surface.
    pub fn new(texture: Texture, tile: f32) -> Self {
        Self { texture, tile, scale: 1.0 / tile, glows: false }
    }

    /// Its colour, if it is the same everywhere whatever the light.
    fn plain(&self) -> Option<Colour> {
        (self.glows && self.texture.is_plain()).then(|| self.texture.sample(0.0, 0.0, 0.0))
    }

    /// Tiles a world unit.
    #[inline]
    pub(super) fn scale(&self) -> f32 {
        self.scale
    }

    /// A surface that shows its own colour whatever the light.
    pub fn glowing(texture: Texture, tile: f32) -> Self {
        Self { texture, tile, scale: 1.0 / tile, glows: true }
    }
}

/// A value for each square of a plan that starts at the origin; outside, the nearest square's.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid<T> {
    pub(super) cell: f32,
    /// Squares a world unit: multiplying is cheaper than dividing by `cell`.
    pub(super) scale: f32,
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) values: Vec<T>,
}

impl<T: Copy> Grid<T> {
    /// Squares of side `cell`; values row after row from y = 0.
    ///
    /// # Panics
    /// If there are not `columns` x `rows` values, at least one.
    pub fn new(cell: f32, columns: usize, rows: usize, values: Vec<T>) -> Self {
        assert!(!values.is_empty() && values.len() == columns * rows, "values of a grid");
        Self { cell, scale: 1.0 / cell, columns, rows, values }
    }

    /// The same value everywhere.
    pub fn uniform(value: T) -> Self {
        Self::new(1.0, 1, 1, vec![value])
    }

    /// The value at a position.
    #[inline]
    pub fn at(&self, x: f32, y: f32) -> T {
        let column = ((x * self.scale) as usize).min(self.columns - 1);
        let row = ((y * self.scale) as usize).min(self.rows - 1);
        self.values[row * self.columns + column]
    }
}

/// Everything that can be seen, ready to be rendered from many places by many threads.
#[derive(Clone, Debug)]
pub struct Scene {
    pub(super) materials: Vec<Material>,
    pub(super) solids: Vec<Solid>,
    pub(super) floor: Grid<MaterialId>,
    pub(super) ceiling: Grid<MaterialId>,
    /// The ceiling's colour, if it is the same everywhere whatever the light: a sky.
    pub(super) plain_ceiling: Option<Colour>,
    pub(super) floor_height: f32,
    pub(super) ceiling_height: f32,
    pub(super) light: Light,
    pub(super) index: Index,
}

/// Which solids touch which square of the plan.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub cell: f32,
    pub columns: usize,
    pub rows: usize,
    /// Solids of square i: `members[starts[i]..starts[i + 1]]`.
    pub starts: Vec<u32>,
    pub members: Vec<u32>,
}

/// Collects the parts of a [`Scene`].
#[derive(Debug, Default)]
pub struct SceneBuilder {
    materials: Vec<Material>,
    solids: Vec<Solid>,
}

impl SceneBuilder {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a material.
    pub fn material(&mut self, material: Material) -> MaterialId {
        self.materials.push(material);
        MaterialId((self.materials.len() - 1) as u16)
    }

    /// Adds a solid.
    pub fn solid(&mut self, solid: Solid) {
        self.solids.push(solid);
    }

    /// Finishes a scene that covers the plan from the origin to `extent`, with floor and ceiling
    /// at the given heights; `cell` is the side of the squares in which solids are looked up
    /// (about the distance between walls is good). The light starts uniform.
    pub fn build(
        self,
        extent: [f32; 2],
        cell: f32,
        floor: (f32, Grid<MaterialId>),
        ceiling: (f32, Grid<MaterialId>),
    ) -> Scene {
        let index = Index::new(&self.solids, extent, cell);
        let plain_ceiling = match ceiling.1.values.as_slice() {
            [only] => self.materials[only.0 as usize].plain(),
            _ => None,
        };
        Scene {
            materials: self.materials,
            solids: self.solids,
            floor_height: floor.0,
            floor: floor.1,
            ceiling_height: ceiling.0,
            ceiling: ceiling.1,
            plain_ceiling,
            light: Light::uniform(1.0),
            index,
        }
    }
}

impl Scene {
    /// The same scene in another light.
    pub fn with_light(self, light: Light) -> Self {
        Self { light, ..self }
    }

    /// True if a solid from `bottom` to `top` reaches from floor to ceiling.
    pub(super) fn hides_all_behind(&self, bottom: f32, top: f32) -> bool {
        bottom <= self.floor_height && top >= self.ceiling_height
    }

    /// The plan's extent.
    pub fn extent(&self) -> [f32; 2] {
        [self.index.columns as f32 * self.index.cell, self.index.rows as f32 * self.index.cell]
    }
}

impl Index {
    fn new(solids: &[Solid], extent: [f32; 2], cell: f32) -> Self {
        let count = |length: f32| ((length / cell).ceil() as usize).max(1);
        let (columns, rows) = (count(extent[0]), count(extent[1]));
        let mut squares = vec![Vec::new(); columns * rows];
        for (number, solid) in solids.iter().enumerate() {
            let (min, max) = solid.footprint.bounds();
            // A little wider, so that a face on the border of two squares is in both.
            let square = |at: f32, limit: usize| ((at / cell).max(0.0) as usize).min(limit - 1);
            let slack = 1e-3 * cell;
            for row in square(min[1] - slack, rows)..=square(max[1] + slack, rows) {
                for column in square(min[0] - slack, columns)..=square(max[0] + slack, columns) {
                    squares[row * columns + column].push(number as u32);
                }
            }
        }
        let mut starts = vec![0];
        let mut members = Vec::new();
        for square in squares {
            members.extend(square);
            starts.push(members.len() as u32);
        }
        Self { cell, columns, rows, starts, members }
    }

    pub(super) fn square(&self, column: usize, row: usize) -> &[u32] {
        let at = row * self.columns + column;
        &self.members[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}
