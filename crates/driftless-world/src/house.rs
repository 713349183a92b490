//! Procedural furnished houses in which a robot walks and looks, recorded as PF-net does.

pub mod floor_map;
pub mod free_space;
pub mod furnish;
pub mod furniture;
mod layout;
mod models;
mod openings;
pub mod plan;
pub mod shape;
pub mod split;
pub mod walk;

pub use floor_map::FloorMaps;
pub use free_space::Obstacles;
pub use furnish::furnish;
pub use furniture::{Finish, Item, ItemKind, Piece};
pub use plan::{Door, HousePlan, Room, RoomKind};
pub use shape::{Footprint, Rect};
pub use split::Split;
pub use walk::WalkStyle;
