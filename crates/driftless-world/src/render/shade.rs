//! Camera images: a column's crossings and a row's slope give the surface, its colour and depth.

use super::camera::{Camera, Eye, Sight};
use super::cast::{Crossing, Ray};
use super::scene::{MaterialId, Scene};
use super::texture::{Colour, Strip};
use std::ops::Range;

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
    /// Colours of the column being drawn, ray after ray.
    colours: Vec<Colour>,
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
            colours: Vec::with_capacity(camera.height * camera.samples * camera.samples),
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
        for column in 0..width {
            self.colours.clear();
            for sample in 0..samples {
                let ray = self.cast(eye, column as f32 + (sample as f32 + 0.5) / samples as f32);
                self.colour_column(eye.z, &ray);
            }
            self.cast(eye, column as f32 + 0.5);
            let bare = self.bare_wall(eye.z, &self.central);
            for row in 0..height {
                let at = row * width + column;
                rgb[3 * at..3 * at + 3].copy_from_slice(&self.pixel(row)[..3]);
                depth[at] = match &bare {
                    Some(seen) if seen.contains(&row) => self.crossings[0].near,
                    Some(_) => self.central[row].level_depth,
                    None => self.look(eye.z, &self.central[row]).0,
                };
            }
        }
    }

    /// The mean colour of the samples of one pixel of the column.
    fn pixel(&self, row: usize) -> [u8; 4] {
        let samples = self.camera.samples;
        let mut sum = [0.0; 4];
        for ray in self.colours.chunks_exact(self.fine.len()) {
            for colour in &ray[row * samples..(row + 1) * samples] {
                for (sum, part) in sum.iter_mut().zip(colour) {
                    *sum += part;
                }
            }
        }
        let share = 1.0 / (samples * samples) as f32;
        sum.map(|sum| (sum * share + 0.5) as u8)
    }

    fn cast(&mut self, eye: Eye, column: f32) -> Ray {
        let ray = Ray { origin: [eye.x, eye.y], direction: self.camera.direction(eye.heading, column) };
        self.scene.cast(&ray, FAR, &mut self.crossings);
        ray
    }

    /// Depth and kind of what a line of sight meets first, in the ray cast last.
    fn look(&self, eye_height: f32, sight: &Sight) -> (f32, Surface) {
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

    /// Appends the colours along one ray.
    fn colour_column(&mut self, eye_height: f32, ray: &Ray) {
        let spread = self.camera.spread(self.fine.len());
        if let Some(seen) = self.bare_wall(eye_height, &self.fine) {
            self.colour_bare_wall(eye_height, ray, seen);
            return;
        }
        // Neighbouring samples mostly lie on the same face, whose strip is then at hand.
        let mut strip: Option<Face<'_>> = None;
        for sight in &self.fine {
            let (depth, surface) = self.look(eye_height, sight);
            let colour = match surface {
                Surface::Side(number) => {
                    let face = match &strip {
                        Some(face) if face.crossing == number => face,
                        _ => strip.insert(self.strip(number, ray, spread)),
                    };
                    self.side(face, eye_height + sight.slope * depth)
                }
                Surface::Cap(number) => {
                    let cap = self.scene.solids[self.crossings[number].solid as usize].cap;
                    self.level(cap, ray.at(depth), depth * spread * sight.inverse.abs().sqrt())
                }
                Surface::Floor => self.floor(ray, sight),
                Surface::Ceiling => self.ceiling(ray, sight),
                Surface::Nothing => [0.0; 4],
            };
            self.colours.push(colour);
        }
    }

    /// If the ray cast last meets nothing but one wall from floor to ceiling, the rows of `sights`
    /// that see it: those before see the ceiling, those behind the floor.
    fn bare_wall(&self, eye_height: f32, sights: &[Sight]) -> Option<Range<usize>> {
        let [wall] = self.crossings.as_slice() else { return None };
        if !self.scene.hides_all_behind(wall.bottom, wall.top) {
            return None;
        }
        let above = (self.scene.ceiling_height - eye_height) / wall.near;
        let below = (self.scene.floor_height - eye_height) / wall.near;
        let first = sights.partition_point(|sight| sight.slope > above);
        Some(first..sights.partition_point(|sight| sight.slope >= below))
    }

    /// What [`Renderer::colour_column`] does, for such a ray, without searching for every sample.
    fn colour_bare_wall(&mut self, eye_height: f32, ray: &Ray, seen: Range<usize>) {
        let mut colours = std::mem::take(&mut self.colours);
        match self.scene.plain_ceiling {
            Some(sky) => colours.extend(std::iter::repeat_n(sky, seen.start)),
            None => colours.extend(self.fine[..seen.start].iter().map(|sight| self.ceiling(ray, sight))),
        }
        let face = self.strip(0, ray, self.camera.spread(self.fine.len()));
        let height = |sight: &Sight| eye_height + sight.slope * face.depth;
        colours.extend(self.fine[seen.clone()].iter().map(|sight| self.side(&face, height(sight))));
        colours.extend(self.fine[seen.end..].iter().map(|sight| self.floor(ray, sight)));
        self.colours = colours;
    }

    /// What all samples of one face in one ray share.
    fn strip(&self, number: usize, ray: &Ray, spread: f32) -> Face<'a> {
        let crossing = &self.crossings[number];
        let scene = self.scene;
        let solid = &scene.solids[crossing.solid as usize];
        let material = &scene.materials[solid.sides[crossing.face as usize].0 as usize];
        // A slanted face stretches the footprint along one axis only: the mean of both serves best.
        let extent = crossing.near * spread / crossing.cosine.max(0.05).sqrt();
        let strip = material.texture.strip(crossing.along, material.scale(), extent);
        // The light is that of the place in front of the face, not inside it.
        let [x, y] = ray.at(crossing.near * 0.98);
        let light = if material.glows {
            1.0
        } else {
            scene.light.at(x, y) * scene.light.faces[crossing.face as usize]
        };
        Face { crossing: number, depth: crossing.near, strip, light, glows: material.glows }
    }

    #[inline]
    fn side(&self, face: &Face<'_>, z: f32) -> Colour {
        let colour = face.strip.sample(-z);
        if face.glows {
            return colour;
        }
        let light = &self.scene.light;
        light.lit(colour, face.light * light.foot(z - self.scene.floor_height))
    }

    #[inline]
    fn floor(&self, ray: &Ray, sight: &Sight) -> Colour {
        let [x, y] = ray.at(sight.level_depth);
        self.level(self.scene.floor.at(x, y), [x, y], sight.level_extent)
    }

    #[inline]
    fn ceiling(&self, ray: &Ray, sight: &Sight) -> Colour {
        let [x, y] = ray.at(sight.level_depth);
        self.level(self.scene.ceiling.at(x, y), [x, y], sight.level_extent)
    }

    /// Colour of a level surface, averaged over about `extent`.
    #[inline]
    fn level(&self, id: MaterialId, [x, y]: [f32; 2], extent: f32) -> Colour {
        let material = &self.scene.materials[id.0 as usize];
        let scale = material.scale();
        let colour = material.texture.sample(x * scale, y * scale, extent * scale);
        if material.glows {
            return colour;
        }
        self.scene.light.lit(colour, self.scene.light.at(x, y))
    }
}

/// One face in one ray: its texture's column and its light.
#[derive(Clone, Copy)]
struct Face<'a> {
    crossing: usize,
    depth: f32,
    strip: Strip<'a>,
    light: f32,
    glows: bool,
}
