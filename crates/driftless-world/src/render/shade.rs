//! Camera images: a column's crossings and a pixel's slope give the surface, its colour and depth.

use super::cast::{Crossing, Ray};
use super::scene::{MaterialId, Scene};

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

/// What a line of sight ends at.
#[derive(Clone, Copy)]
enum Surface {
    /// The entered face of this crossing.
    Side(usize),
    /// Top or underside of this crossing's solid.
    Cap(usize),
    /// Floor or ceiling.
    Floor,
    Ceiling,
    /// Nothing at all, in a world that is not closed.
    Nothing,
}

/// Depth reported where there is nothing to see.
const FAR: f32 = 1e6;

/// Draws frames of one scene with one camera; keeps its buffers, so drawing allocates nothing.
#[derive(Debug)]
pub struct Renderer<'a> {
    scene: &'a Scene,
    camera: Camera,
    crossings: Vec<Crossing>,
    /// Sum of colours of the column being drawn.
    column: Vec<[f32; 3]>,
}

impl<'a> Renderer<'a> {
    /// A renderer for one thread.
    pub fn new(scene: &'a Scene, camera: Camera) -> Self {
        Self { scene, camera, crossings: Vec::with_capacity(64), column: vec![[0.0; 3]; camera.height] }
    }

    /// Draws what is seen from `eye`: RGB bytes (height x width x 3) and depth along the optical
    /// axis in world units (height x width).
    ///
    /// # Panics
    /// If a buffer has another size than the camera's image.
    pub fn render(&mut self, eye: Eye, rgb: &mut [u8], depth: &mut [f32]) {
        let (width, height, samples) = (self.camera.width, self.camera.height, self.camera.samples);
        assert_eq!((rgb.len(), depth.len()), (3 * width * height, width * height), "buffer sizes");
        let share = 1.0 / (samples * samples) as f32;
        for column in 0..width {
            self.column.fill([0.0; 3]);
            for sample in 0..samples {
                let ray = self.cast(eye, column as f32 + (sample as f32 + 0.5) / samples as f32);
                self.colour_column(eye, &ray);
            }
            self.cast(eye, column as f32 + 0.5);
            for row in 0..height {
                let at = row * width + column;
                for k in 0..3 {
                    rgb[3 * at + k] = (self.column[row][k] * share + 0.5) as u8;
                }
                depth[at] = self.look(eye.z, self.slope(row as f32 + 0.5)).0;
            }
        }
    }

    /// Casts the ray through horizontal image position `column` (in pixels).
    fn cast(&mut self, eye: Eye, column: f32) -> Ray {
        let (sin, cos) = eye.heading.sin_cos();
        let aspect = self.camera.width as f32 / self.camera.height as f32;
        let side = self.camera.tan_half_view * aspect * (2.0 * column / self.camera.width as f32 - 1.0);
        // Forward plus a part to the right: the depth of a point is then its multiple of this.
        let ray = Ray { origin: [eye.x, eye.y], direction: [cos + side * sin, sin - side * cos] };
        self.scene.cast(&ray, &mut self.crossings);
        ray
    }

    /// Rise of the line of sight through vertical image position `row`, per unit of depth.
    fn slope(&self, row: f32) -> f32 {
        self.camera.tan_half_view * (1.0 - 2.0 * row / self.camera.height as f32)
    }

    /// Depth and kind of what the line of sight with this slope meets first, in the last cast ray.
    #[inline]
    fn look(&self, eye_height: f32, slope: f32) -> (f32, Surface) {
        let scene = self.scene;
        let (level, surface) = if slope < 0.0 {
            (scene.floor_height, Surface::Floor)
        } else {
            (scene.ceiling_height, Surface::Ceiling)
        };
        // Infinite for a level view; beyond FAR nothing is drawn.
        let level_depth = (level - eye_height) / slope;
        let mut first = if level_depth < FAR { (level_depth, surface) } else { (FAR, Surface::Nothing) };
        for (number, crossing) in self.crossings.iter().enumerate() {
            if crossing.near >= first.0 {
                break;
            }
            let solid = &scene.solids[crossing.solid as usize];
            let entry = eye_height + slope * crossing.near;
            if entry >= solid.bottom && entry <= solid.top {
                return (crossing.near, Surface::Side(number));
            }
            // A later solid may stand in front of this cap, so the search goes on.
            let cap = if slope < 0.0 { solid.top } else { solid.bottom };
            let depth = (cap - eye_height) / slope;
            if depth > crossing.near && depth < crossing.far.min(first.0) {
                first = (depth, Surface::Cap(number));
            }
        }
        first
    }

    /// Adds the colours along one ray to the column.
    fn colour_column(&mut self, eye: Eye, ray: &Ray) {
        let samples = self.camera.samples;
        // World length of a sample's width at depth 1.
        let spread = 2.0 * self.camera.tan_half_view / (self.camera.height * samples) as f32;
        for sample in 0..self.camera.height * samples {
            let slope = self.slope((sample as f32 + 0.5) / samples as f32);
            let (depth, surface) = self.look(eye.z, slope);
            let colour = match surface {
                Surface::Side(number) => self.side(number, ray, eye.z + slope * depth, spread),
                Surface::Cap(number) => {
                    let cap = self.scene.solids[self.crossings[number].solid as usize].cap;
                    self.level(cap, ray.at(depth), depth, spread / slope.abs().sqrt())
                }
                Surface::Floor => {
                    let [x, y] = ray.at(depth);
                    self.level(self.scene.floor.at(x, y), [x, y], depth, spread / slope.abs().sqrt())
                }
                Surface::Ceiling => {
                    let [x, y] = ray.at(depth);
                    self.level(self.scene.ceiling.at(x, y), [x, y], depth, spread / slope.abs().sqrt())
                }
                Surface::Nothing => [0.0; 3],
            };
            let pixel = &mut self.column[sample / samples];
            for k in 0..3 {
                pixel[k] += colour[k];
            }
        }
    }

    /// Colour of an upright face at height `z`.
    #[inline]
    fn side(&self, number: usize, ray: &Ray, z: f32, spread: f32) -> [f32; 3] {
        let crossing = &self.crossings[number];
        let scene = self.scene;
        let solid = &scene.solids[crossing.solid as usize];
        let material = &scene.materials[solid.sides[crossing.face as usize].0 as usize];
        let size = 1.0 / material.tile;
        // A slanted face stretches the footprint along one axis only: the mean of both serves best.
        let footprint = crossing.near * spread * size / crossing.cosine.max(0.05).sqrt();
        let colour = material.texture.sample(crossing.along * size, -z * size, footprint);
        if material.glows {
            return colour;
        }
        // The light is that of the place in front of the face, not inside it.
        let [x, y] = ray.at(crossing.near * 0.98);
        let above = z - scene.floor_height;
        let brightness =
            scene.light.at(x, y) * scene.light.faces[crossing.face as usize] * scene.light.foot(above);
        colour.map(|c| (c * brightness).min(255.0))
    }

    /// Colour of a level surface; `extent` is the geometric mean of a sample's length and width
    /// there, per unit of depth.
    #[inline]
    fn level(&self, id: MaterialId, [x, y]: [f32; 2], depth: f32, extent: f32) -> [f32; 3] {
        let material = &self.scene.materials[id.0 as usize];
        let size = 1.0 / material.tile;
        let footprint = depth * extent * size;
        let colour = material.texture.sample(x * size, y * size, footprint);
        if material.glows {
            return colour;
        }
        let brightness = self.scene.light.at(x, y);
        colour.map(|c| (c * brightness).min(255.0))
    }
}
