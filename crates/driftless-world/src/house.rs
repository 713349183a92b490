//! Procedural furnished houses in which a robot walks and looks, recorded as PF-net does.
//!
//! A house is named by one seed. From it follow, by independent streams of random numbers, the
//! [`plan`], the furniture ([`furnish()`]), the looks ([`materials`]), what hangs on the walls
//! ([`fixtures`]) and every walk. [`Split`] keeps houses for training and testing apart;
//! [`HouseWorld`] puts all together and records episodes.

pub mod fixtures;
pub mod floor_map;
pub mod free_space;
pub mod furnish;
pub mod furniture;
mod layout;
pub mod materials;
mod models;
mod openings;
pub mod patterns;
pub mod plan;
pub mod scene;
pub mod shape;
pub mod simulate;
mod simulated;
pub mod split;
pub mod walk;

pub use free_space::Obstacles;
pub use furnish::furnish;
pub use furniture::{Finish, Item, ItemKind, Piece};
pub use plan::{Door, HousePlan, Room, RoomKind};
pub use shape::{Footprint, Rect};
pub use simulate::HouseWorld;
pub(crate) use simulated::build;
pub use split::Split;
pub use walk::WalkStyle;
