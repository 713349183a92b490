//! Tables with a header of one's own names: which column is what is told, or guessed from the names.

mod assign;
mod read;
mod row;

pub use assign::{Assignment, Role};
pub use read::{ColumnOptions, import};
