//! Mazes: drawings a person can edit, a robot that wanders through them, and what its camera sees.

mod body;
mod drawing;
mod layout;
mod pattern;
mod simulated;
mod view;
mod walk;
mod world;

pub use body::Body;
pub(crate) use drawing::looks_like_drawing;
pub use layout::{Finish, Layout, Side, Surface};
pub use pattern::Pattern;
pub(crate) use simulated::build;
pub use view::{MazeView, Photographer};
pub use walk::{Policy, Stroll, Walk};
pub use world::{MazeWorld, Recorded};
