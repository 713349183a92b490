//! What the robot's camera sees in a maze: RGB and the 8-bit depth of the original data.

use super::layout::{Layout, Side};
use crate::pose::Pose;
use crate::render::{
    Camera, Eye, Footprint, Grid, Light, Material, MaterialId, Renderer, Scene, SceneBuilder, Solid, Texture,
};

/// A maze ready to be photographed. Lengths are in cells of 100 units in DeepMind Lab: walls two
/// units thick and one cell high, floor at 1, sky at 99, eye at 51.
#[derive(Clone, Debug)]
pub struct MazeView {
    scene: Scene,
    camera: Camera,
    cell: f32,
}

impl MazeView {
    /// The maze seen by a camera of this size with a field of view of 90 degrees.
    pub fn new(layout: &Layout, width: usize, height: usize) -> Self {
        let cell = layout.cell() as f32;
        let mut builder = SceneBuilder::new();
        let finishes: Vec<(MaterialId, MaterialId)> = layout
            .surfaces()
            .iter()
            .map(|surface| {
                let wall = builder.material(Material::new(surface.wall.texture(), cell));
                (wall, builder.material(Material::new(surface.floor.texture(), cell)))
            })
            .collect();
        let sky = Texture::plain(layout.sky().map(f32::from));
        let sky = builder.material(Material::glowing(sky, cell));
        for wall in wall_pieces(layout, &finishes) {
            builder.solid(wall);
        }
        let [columns, rows] = layout.cells();
        let floors =
            (0..columns * rows).map(|i| finishes[layout.surface(i % columns, i / columns)].1).collect();
        let floor = Grid::new(cell, columns, rows, floors);
        let extent = layout.extent().map(|length| length as f32);
        let scene = builder.build(extent, cell, (0.01 * cell, floor), (0.99 * cell, Grid::uniform(sky)));
        // Twenty squares a cell; fewer in mazes so large that baking would take seconds.
        let square = if columns * rows <= 1000 { 0.05 } else { 0.125 };
        let light = Light::bake(&scene, square * cell, 0.5 * cell, 0.55)
            .scaled(|_, _| FLOOR_BRIGHTNESS)
            .with_faces([WALL_BRIGHTNESS; 4])
            .with_foot_shadow(0.35, 0.12 * cell)
            .with_ambient(SHADOW);
        Self { scene: scene.with_light(light), camera: Camera::new(width, height, 90.0), cell }
    }

    /// The camera.
    pub fn camera(&self) -> Camera {
        self.camera
    }

    /// A photographer for one thread.
    pub fn photographer(&self) -> Photographer<'_> {
        let pixels = self.camera.width * self.camera.height;
        Photographer {
            renderer: Renderer::new(&self.scene, self.camera),
            cell: self.cell,
            rgb: vec![0; 3 * pixels],
            depth: vec![0.0; pixels],
        }
    }
}

/// Lifts the baked light so that floors have, on average, the colours of the real engine's frames.
const FLOOR_BRIGHTNESS: f32 = 1.02;
/// The same for walls, which stand where the baked light is darker.
const WALL_BRIGHTNESS: f32 = 1.2;

/// Shadows in the real engine's frames are not black but bluish.
const SHADOW: [f32; 3] = [30.0, 90.0, 110.0];

/// Takes pictures; keeps its buffers.
#[derive(Debug)]
pub struct Photographer<'a> {
    renderer: Renderer<'a>,
    cell: f32,
    rgb: Vec<u8>,
    depth: Vec<f32>,
}

impl Photographer<'_> {
    /// Writes the view from `pose` into `rgbd`: height x width x (R, G, B, depth).
    ///
    /// # Panics
    /// If `rgbd` does not have the size of the camera's image.
    pub fn take(&mut self, pose: Pose, rgbd: &mut [u8]) {
        assert_eq!(rgbd.len(), 4 * self.depth.len(), "buffer size");
        let eye =
            Eye { x: pose.x as f32, y: pose.y as f32, z: 0.51 * self.cell, heading: pose.heading as f32 };
        self.renderer.render(eye, &mut self.rgb, &mut self.depth);
        for (pixel, (rgb, &depth)) in rgbd.chunks_exact_mut(4).zip(self.rgb.chunks_exact(3).zip(&self.depth))
        {
            pixel[..3].copy_from_slice(rgb);
            pixel[3] = depth_byte(100.0 * depth / self.cell);
        }
    }
}

/// A depth buffer as DeepMind Lab's: 255 f/(f - n) (1 - n/z), z in hundredths of a cell. Near and
/// far plane are fitted to frames of the real engine (within one grey level of their median).
fn depth_byte(z: f32) -> u8 {
    const NEAR: f32 = 3.92;
    const FAR: f32 = 500.0;
    // `as` saturates below 0 and above 255.
    (255.0 * FAR / (FAR - NEAR) * (1.0 - NEAR / z) + 0.5) as u8
}

/// One solid a wall piece. Its two long faces look like the cells they look into, its ends like
/// the cell on the near side.
fn wall_pieces(layout: &Layout, finishes: &[(MaterialId, MaterialId)]) -> Vec<Solid> {
    let cell = layout.cell() as f32;
    let [columns, rows] = layout.cells();
    let finish = |column: usize, row: usize| finishes[layout.surface(column, row)].0;
    let piece = |x: f32, y: f32, to_x: f32, to_y: f32, sides: [MaterialId; 4]| Solid {
        footprint: Footprint::Box {
            min: [(x - 0.01) * cell, (y - 0.01) * cell],
            max: [(to_x + 0.01) * cell, (to_y + 0.01) * cell],
        },
        bottom: 0.0,
        top: cell,
        sides,
        cap: sides[0],
    };
    let mut pieces = Vec::new();
    for column in 0..columns {
        for row in 0..=rows {
            // The wall below (column, row), or above the topmost cell.
            let (below, above) = (row.saturating_sub(1), row.min(rows - 1));
            let wall = if row < rows { layout.wall(column, row, Side::South) } else { true };
            if wall {
                let (south, north) = (finish(column, below), finish(column, above));
                let (x, y) = (column as f32, row as f32);
                pieces.push(piece(x, y, x + 1.0, y, [south, north, south, north]));
            }
        }
    }
    for row in 0..rows {
        for column in 0..=columns {
            let (left, right) = (column.saturating_sub(1), column.min(columns - 1));
            let wall = if column < columns { layout.wall(column, row, Side::West) } else { true };
            if wall {
                let (west, east) = (finish(left, row), finish(right, row));
                let (x, y) = (column as f32, row as f32);
                pieces.push(piece(x, y, x, y + 1.0, [west, east, west, east]));
            }
        }
    }
    pieces
}
