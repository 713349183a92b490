//! The camera: where it is, how wide it sees, and the slopes of its lines of sight.

/// An ideal pinhole camera that looks horizontally.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Tangent of half the vertical field of view; pixels are square.
    pub tan_half_view: f32,
    /// Rays a pixel, along each axis, for colour.
    pub samples: usize,
}

impl Camera {
    /// A camera with a vertical field of view in degrees and four rays a pixel.
    pub fn new(width: usize, height: usize, view_degrees: f32) -> Self {
        Self { width, height, tan_half_view: (view_degrees.to_radians() / 2.0).tan(), samples: 2 }
    }
}

/// Where the camera is: position, height, and heading in radians counter-clockwise from +x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eye {
    /// Position along x.
    pub x: f32,
    /// Position along y.
    pub y: f32,
    /// Height above the ground.
    pub z: f32,
    /// Heading, radians.
    pub heading: f32,
}

/// One row of lines of sight, at one height of the image.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sight {
    /// Rise per unit of depth.
    pub slope: f32,
    /// 1 / slope.
    pub inverse: f32,
    /// Depth at which it meets the floor or the ceiling.
    pub level_depth: f32,
    /// Mean of length and width of what a sample covers there, in world units.
    pub level_extent: f32,
}

impl Camera {
    /// The rows of `count` lines of sight a column, from the top, for an eye at height `eye`
    /// between `floor` and `ceiling`.
    pub(super) fn sights(
        &self,
        count: usize,
        eye: f32,
        (floor, ceiling): (f32, f32),
        sights: &mut Vec<Sight>,
    ) {
        let spread = self.spread(count);
        sights.clear();
        sights.extend((0..count).map(|row| {
            let slope = self.tan_half_view * (1.0 - 2.0 * (row as f32 + 0.5) / count as f32);
            let level = if slope < 0.0 { floor } else { ceiling };
            // Infinite for a level line of sight, which meets neither.
            let level_depth = (level - eye) / slope;
            // Its length grows with 1 / slope, its width does not: the geometric mean of both.
            let level_extent = level_depth * spread / slope.abs().sqrt();
            Sight { slope, inverse: 1.0 / slope, level_depth, level_extent }
        }));
    }

    /// World width of a sample at depth 1, with `count` samples a column.
    pub(super) fn spread(&self, count: usize) -> f32 {
        2.0 * self.tan_half_view / count as f32
    }

    /// Direction in the plan of the ray through horizontal position `column` (in pixels), scaled
    /// so that a point's multiple of it is its depth.
    pub(super) fn direction(&self, heading: f32, column: f32) -> [f32; 2] {
        let (sin, cos) = heading.sin_cos();
        let aspect = self.width as f32 / self.height as f32;
        let side = self.tan_half_view * aspect * (2.0 * column / self.width as f32 - 1.0);
        [cos + side * sin, sin - side * cos]
    }
}
