//! Charts as SVG text: lines with bands or error bars, box plots, and differences with their intervals.
//!
//! The same numbers give the same bytes. Colours follow the reader's light or dark setting, and
//! every series has a marker of its own shape, for those who cannot tell the colours apart.

mod boxes;
mod forest;
mod frame;
mod lines;
mod svg;
mod theme;
mod ticks;

pub use boxes::{BoxChart, BoxSeries, Five};
pub use forest::{Forest, ForestRow};
pub use lines::{LineChart, LineSeries, Point, Spread};
pub use svg::escape;
pub use theme::{MARKERS, style};
pub use ticks::{Scale, Ticks};
