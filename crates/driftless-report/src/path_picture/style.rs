//! Sizes, colours and letters of a picture, in one place so that they stay in harmony.

use crate::colour::Rgb;
use crate::font::Text;

/// The page.
pub(super) const PAPER: Rgb = [255, 255, 255];
/// Ground of the map.
pub(super) const FLOOR: Rgb = [249, 249, 247];
/// Letters and marks that must be seen.
pub(super) const INK: Rgb = [34, 38, 46];
/// Letters that explain.
pub(super) const QUIET: Rgb = [104, 110, 120];
/// Frames around maps and images.
pub(super) const HAIRLINE: Rgb = [205, 208, 212];
/// Walls of mazes.
pub(super) const WALL: Rgb = [72, 77, 87];

/// The title.
pub(super) const TITLE: Text = Text::bold(3, INK);
/// Labels at marks.
pub(super) const LABEL: Text = Text::regular(2, INK);
/// Everything that explains.
pub(super) const NOTE: Text = Text::regular(2, QUIET);

/// Empty border of the page.
pub(super) const MARGIN: f64 = 56.0;
/// Widest and highest map.
pub(super) const LARGEST_MAP: [f64; 2] = [1200.0, 780.0];
/// Narrowest page, so that titles have room over a narrow map.
pub(super) const NARROWEST_PAGE: f64 = 860.0;
/// Room for the colour bar to the right of the map.
pub(super) const BAR_ROOM: f64 = 92.0;
/// From the map's lower edge to the scale bar.
pub(super) const KEY_BELOW: f64 = 30.0;
/// From the map's lower edge to the line of statistics.
pub(super) const STATISTICS_BASELINE: f64 = 74.0;
/// From the map's lower edge to the first row of frames.
pub(super) const UNDER_MAP: f64 = 112.0;
/// Between two rows of frames.
pub(super) const STRIP_GAP: f64 = 30.0;
/// Width of the path.
pub(super) const PATH_WIDTH: f64 = 3.5;
/// Radius of the numbered discs.
pub(super) const BADGE: f64 = 13.5;
