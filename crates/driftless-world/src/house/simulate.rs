//! Whole episodes: a robot walks through a house, and everything PF-net records is recorded.

use super::free_space::Obstacles;
use super::furnish::furnish;
use super::materials::Decor;
use super::walk::{WalkStyle, odometry, state};
use super::{HousePlan, Item, Split, floor_map, scene};
use crate::error::Result;
use crate::files::pfnet::{ChannelOrder, HouseEpisode, HouseMaps};
use crate::pose::Pose;
use crate::random::Random;
use crate::render::{Camera, Eye, Renderer, Scene};
use crate::trajectory::{Images, Pixels};

/// Height of the robot's camera in metres.
pub const CAMERA_HEIGHT: f64 = 0.9;
/// Vertical field of view of the robot's camera in degrees, as in House3D.
pub const FIELD_OF_VIEW: f32 = 60.0;
/// Depth images are in decimetres.
const DEPTH_UNITS_PER_METRE: f32 = 10.0;

/// A house with everything in it, ready to be walked through by many threads.
#[derive(Clone, Debug)]
pub struct HouseWorld {
    seed: u64,
    /// Rooms, doors and walls.
    pub plan: HousePlan,
    /// Furniture.
    pub items: Vec<Item>,
    /// Colours, patterns, light and heights.
    pub decor: Decor,
    /// What a robot must not touch.
    pub obstacles: Obstacles,
    /// What a robot knows of the house.
    pub maps: HouseMaps,
    /// What a robot sees.
    pub scene: Scene,
    /// How a robot walks.
    pub style: WalkStyle,
}

impl HouseWorld {
    /// House `number` of `split` in the data set named by `seed`.
    pub fn new(seed: u64, split: Split, number: u64) -> Result<Self> {
        Ok(Self::from_seed(split.house_seed(seed, number)?))
    }

    /// The house with this very seed.
    pub fn from_seed(seed: u64) -> Self {
        let plan = HousePlan::generate(seed);
        let items = furnish(&plan, seed);
        let obstacles = Obstacles::of(&plan, &items);
        let maps = floor_map::draw(&plan);
        let decor = Decor::draw(&plan, seed);
        let scene = scene::build(&plan, &items, &decor, seed);
        Self { seed, plan, items, decor, obstacles, maps, scene, style: WalkStyle::default() }
    }

    /// The camera of the paper: square pixels, 60 degrees upright.
    pub fn camera(width: usize, height: usize) -> Camera {
        Camera::new(width, height, FIELD_OF_VIEW)
    }

    /// The episode named by `episode`: a walk of `steps` poses, seen through `camera`. The same
    /// arguments give the same bytes, whatever else is computed at the same time.
    pub fn episode(&self, steps: usize, episode: u64, camera: Camera) -> HouseEpisode {
        // Streams 0 to 4 of the house's seed are its plan, furniture, looks, fixtures and scene.
        let walks = Random::stream(self.seed, 5).bits();
        let mut random = Random::stream(walks, episode);
        let poses = self.style.walk(&self.plan, &self.obstacles, steps, &mut random);
        let (rgb, depth) = self.look(&poses, camera);
        HouseEpisode {
            maps: self.maps.clone(),
            states: poses.iter().copied().map(state).collect(),
            odometry: odometry(&poses),
            rgb: Some(rgb),
            depth: Some(depth),
            channel_order: ChannelOrder::Rgb,
        }
    }

    /// Colour and depth images from the given poses in metres.
    pub fn look(&self, poses: &[Pose], camera: Camera) -> (Images, Images) {
        let area = camera.width * camera.height;
        let mut renderer = Renderer::new(&self.scene, camera);
        let mut metres = vec![0.0; area];
        let mut colours = vec![0; poses.len() * area * 3];
        let mut depths = Vec::with_capacity(poses.len() * area);
        for (pose, frame) in poses.iter().zip(colours.chunks_exact_mut((3 * area).max(1))) {
            renderer.render(eye(*pose), frame, &mut metres);
            depths.extend(metres.iter().map(|&depth| decimetres(depth)));
        }
        let images = |channels, pixels| Images {
            height: camera.height,
            width: camera.width,
            channels,
            pixels: Pixels::Bytes(pixels),
        };
        (images(3, colours), images(1, depths))
    }
}

fn eye(pose: Pose) -> Eye {
    Eye { x: pose.x as f32, y: pose.y as f32, z: CAMERA_HEIGHT as f32, heading: pose.heading as f32 }
}

/// Rounded; what is beyond 25.5 m reads 255, since `as` saturates.
fn decimetres(metres: f32) -> u8 {
    (metres * DEPTH_UNITS_PER_METRE).round() as u8
}
