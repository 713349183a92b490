//! Camera images: a column's crossings and a row's slope give the surface, its colour and depth.

use super::camera::{Camera, Eye, Sight};
use super::cast::{Crossing, Ray};
use super::scene::{MaterialId, Scene};
use super::texture::Strip;

/// What a line of sight ends at.
#[derive(Clone, Copy, PartialEq)]
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
    /// Lines of sight for colour, several a pixel.
    fine: Vec<Sight>,
    /// Lines of sight through pixels' centres, for depth.
    central: Vec<Sight>,
    /// Sum of colours of the column being drawn.
    column: Vec<[f32; 3]>,
}

impl<'a> Renderer<'a> {
    /// A renderer for one thread.
    pub fn new(scene: &'a Scene, camera: Camera) -> Self {
        Self {
            scene,
            camera,
            crossings: Vec::with_capacity(64),
            fine: Vec::with_capacity(camera.height * camera.samples),
            central: Vec::with_capacity(camera.height),
            column: vec![[0.0; 3]; camera.height],
        }
    }

    /// Draws what is seen from `eye`: RGB bytes (height x width x 3) and depth along the optical
    /// axis in world units (height x width).
    ///
    /// # Panics
    /// If a buffer has another size than the camera's image.
    pub fn render(&mut self, eye: Eye, rgb: &mut [u8], depth: &mut [f32]) {
        let (width, height, samples) = (self.camera.width, self.camera.height, self.camera.samples);
        assert_eq!((rgb.len(), depth.len()), (3 * width * height, width * height), "buffer sizes");
        let levels = (self.scene.floor_height, self.scene.ceiling_height);
        self.camera.sights(height * samples, eye.z, levels, &mut self.fine);
        self.camera.sights(height, eye.z, levels, &mut self.central);
        let share = 1.0 / (samples * samples) as f32;
        for column in 0..width {
            self.column.fill([0.0; 3]);
            for sample in 0..samples {
                let ray = self.cast(eye, column as f32 + (sample as f32 + 0.5) / samples as f32);
                self.colour_column(eye.z, &ray);
            }
            self.cast(eye, column as f32 + 0.5);
            let bare = self.bare_wall(eye.z, &self.central);
            for row in 0..height {
                let at = row * width + column;
                for k in 0..3 {
                    rgb[3 * at + k] = (self.column[row][k] * share + 0.5) as u8;
                }
                depth[at] = self.look(eye.z, &self.central, row, bare).0;
            }
        }
    }

    fn cast(&mut self, eye: Eye, column: f32) -> Ray {
        let ray = Ray { origin: [eye.x, eye.y], direction: self.camera.direction(eye.heading, column) };
        self.scene.cast(&ray, &mut self.crossings);
        ray
    }

    /// If the ray cast last meets nothing but one wall from floor to ceiling, the rows of `sights`
    /// that see it: those before see the ceiling, those behind the floor.
    fn bare_wall(&self, eye_height: f32, sights: &[Sight]) -> Option<(usize, usize)> {
        let [wall] = self.crossings.as_slice() else { return None };
        if wall.bottom > self.scene.floor_height || wall.top < self.scene.ceiling_height {
            return None;
        }
        let above = (self.scene.ceiling_height - eye_height) / wall.near;
        let below = (self.scene.floor_height - eye_height) / wall.near;
        let first = sights.partition_point(|sight| sight.slope > above);
        Some((first, sights.partition_point(|sight| sight.slope >= below)))
    }

    /// Depth and kind of what line of sight `row` meets first, in the ray cast last; `bare` is what
    /// [`Renderer::bare_wall`] says of that ray, and only saves the search.
    #[inline]
    fn look(
        &self,
        eye_height: f32,
        sights: &[Sight],
        row: usize,
        bare: Option<(usize, usize)>,
    ) -> (f32, Surface) {
        match bare {
            Some((first, _)) if row < first => (sights[row].level_depth, Surface::Ceiling),
            Some((_, end)) if row < end => (self.crossings[0].near, Surface::Side(0)),
            Some(_) => (sights[row].level_depth, Surface::Floor),
            None => self.search(eye_height, &sights[row]),
        }
    }

    /// The same by comparing heights with every solid in the way.
    fn search(&self, eye_height: f32, sight: &Sight) -> (f32, Surface) {
        let surface = if sight.slope < 0.0 { Surface::Floor } else { Surface::Ceiling };
        let level = (sight.level_depth, surface);
        let mut first = if sight.level_depth < FAR { level } else { (FAR, Surface::Nothing) };
        for (number, crossing) in self.crossings.iter().enumerate() {
            if crossing.near >= first.0 {
                break;
            }
            let entry = eye_height + sight.slope * crossing.near;
            if entry >= crossing.bottom && entry <= crossing.top {
                return (crossing.near, Surface::Side(number));
            }
            // A later solid may stand in front of this cap, so the search goes on.
            let cap = if sight.slope < 0.0 { crossing.top } else { crossing.bottom };
            let depth = (cap - eye_height) * sight.inverse;
            if depth > crossing.near && depth < crossing.far.min(first.0) {
                first = (depth, Surface::Cap(number));
            }
        }
        first
    }

    /// Adds the colours along one ray to the column.
    fn colour_column(&mut self, eye_height: f32, ray: &Ray) {
        let samples = self.camera.samples;
        let spread = self.camera.spread(self.fine.len());
        let bare = self.bare_wall(eye_height, &self.fine);
        // Neighbouring samples mostly lie on the same face, whose strip is then at hand.
        let mut strip: Option<(usize, Strip<'_>, f32, bool)> = None;
        for row in 0..self.camera.height {
            let mut sum = [0.0; 3];
            for at in row * samples..(row + 1) * samples {
                let (depth, surface) = self.look(eye_height, &self.fine, at, bare);
                let sight = &self.fine[at];
                let colour = match surface {
                    Surface::Side(number) => {
                        let (_, strip, light, glows) = match &mut strip {
                            Some(strip) if strip.0 == number => strip,
                            other => other.insert(self.strip(number, ray, spread)),
                        };
                        let z = eye_height + sight.slope * depth;
                        let foot =
                            if *glows { 1.0 } else { self.scene.light.foot(z - self.scene.floor_height) };
                        strip.sample(-z).map(|c| c * *light * foot)
                    }
                    Surface::Cap(number) => {
                        let cap = self.scene.solids[self.crossings[number].solid as usize].cap;
                        let extent = depth * spread * sight.inverse.abs().sqrt();
                        self.level(cap, ray.at(depth), extent)
                    }
                    Surface::Floor => {
                        let [x, y] = ray.at(depth);
                        self.level(self.scene.floor.at(x, y), [x, y], sight.level_extent)
                    }
                    Surface::Ceiling => {
                        let [x, y] = ray.at(depth);
                        self.level(self.scene.ceiling.at(x, y), [x, y], sight.level_extent)
                    }
                    Surface::Nothing => [0.0; 3],
                };
                for (total, part) in sum.iter_mut().zip(colour) {
                    *total += part.min(255.0);
                }
            }
            for (total, part) in self.column[row].iter_mut().zip(sum) {
                *total += part;
            }
        }
    }

    /// What all samples of one face in one ray share: its texture's column and its light.
    fn strip(&self, number: usize, ray: &Ray, spread: f32) -> (usize, Strip<'a>, f32, bool) {
        let crossing = &self.crossings[number];
        let scene = self.scene;
        let solid = &scene.solids[crossing.solid as usize];
        let material = &scene.materials[solid.sides[crossing.face as usize].0 as usize];
        // A slanted face stretches the footprint along one axis only: the mean of both serves best.
        let extent = crossing.near * spread / crossing.cosine.max(0.05).sqrt();
        let strip = material.texture.strip(crossing.along, 1.0 / material.tile, extent);
        // The light is that of the place in front of the face, not inside it.
        let [x, y] = ray.at(crossing.near * 0.98);
        let light = if material.glows {
            1.0
        } else {
            scene.light.at(x, y) * scene.light.faces[crossing.face as usize]
        };
        (number, strip, light, material.glows)
    }

    /// Colour of a level surface, averaged over about `extent`.
    #[inline]
    fn level(&self, id: MaterialId, [x, y]: [f32; 2], extent: f32) -> [f32; 3] {
        let material = &self.scene.materials[id.0 as usize];
        let scale = material.scale();
        let colour = material.texture.sample(x * scale, y * scale, extent * scale);
        if material.glows {
            return colour;
        }
        let brightness = self.scene.light.at(x, y);
        colour.map(|c| c * brightness)
    }
}
