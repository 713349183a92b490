//! Procedural furnished houses in which a robot walks and looks, recorded as PF-net does.

pub mod floor_map;

mod layout;
mod openings;
pub mod plan;
pub mod shape;
pub mod split;

pub use floor_map::FloorMaps;

pub use plan::{Door, HousePlan, Room, RoomKind};
pub use shape::{Footprint, Rect};
pub use split::Split;
