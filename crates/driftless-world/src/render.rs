//! A first-person renderer for worlds made of upright solids: mazes and furnished houses alike.
//!
//! Every world here is *two and a half dimensional*: solids stand on a plan and have a bottom and
//! a top. So one ray in the plan answers a whole image column: it collects the solids it crosses
//! (`cast`), and each pixel of the column then needs only comparisons of heights (`shade`).
//! That is exact perspective for walls, floor, ceiling and furniture, at a few nanoseconds a
//! sample.
//!
//! Colour is area-sampled (several rays a pixel and mip-mapped textures); depth is point-sampled
//! at the pixel's centre, as a depth buffer is: blending the depth of two surfaces would invent a
//! third.

mod camera;
mod cast;
mod light;
mod scene;
mod shade;
pub mod texture;

pub use camera::{Camera, Eye};
pub use light::Light;
pub use scene::{Footprint, Grid, Material, MaterialId, Scene, SceneBuilder, Solid};
pub use shade::Renderer;
pub use texture::Texture;
