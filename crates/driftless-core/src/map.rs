//! A map of walls on a grid: how far it is to the nearest one, and to the first along a ray.

mod distance;
mod rays;
mod walls;

pub use distance::squared_distances;
pub use rays::Rays;
pub use walls::Walls;
