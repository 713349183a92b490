//! Which part of the world is shown, and where on the page.

use super::background::Bounds;
use super::style::{BAR_ROOM, LARGEST_MAP, MARGIN, NARROWEST_PAGE};
use crate::canvas::Area;
use driftless_world::Pose;

/// Room around the map, as a share of its larger side.
const ROOM: f64 = 0.015;
/// A map may be this many times wider than high before room is added above and below ...
const WIDEST: f64 = 5.0;
/// ... and this many times higher than wide before room is added at its sides.
const HIGHEST: f64 = 2.0;

/// The map's place on the page, and the scale that leads there.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// The map on the page.
    pub(super) panel: Area,
    /// Pixels a unit of length.
    pub(super) pixels: f64,
    middle: [f64; 2],
}

impl View {
    /// Fits `bounds` into the largest map, its upper left corner at (`left`, `top`).
    pub(super) fn of(bounds: Bounds, left: f64, top: f64) -> Self {
        let [width, height] = bounds.size();
        let room = 2.0 * ROOM * width.max(height);
        let (width, height) = (width + room, height + room);
        let (width, height) = (width.max(height / HIGHEST), height.max(width / WIDEST));
        let pixels = (LARGEST_MAP[0] / width).min(LARGEST_MAP[1] / height);
        let size = [width, height].map(|length| (length * pixels).round());
        // A narrow map stands in the middle of the narrowest page.
        let spare = NARROWEST_PAGE - 2.0 * MARGIN - BAR_ROOM - size[0];
        let left = left + (spare / 2.0).max(0.0).round();
        Self { panel: Area::sized(left, top, size[0], size[1]), pixels, middle: bounds.middle() }
    }

    /// Width of a page that holds the map, its colour bar and both margins.
    pub(super) fn figure_width(&self) -> f64 {
        (self.panel.width() + BAR_ROOM + 2.0 * MARGIN).max(NARROWEST_PAGE)
    }

    /// Where a point of the world lies on the page; y points up there and down here.
    pub(super) fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let centre = [
            f64::midpoint(self.panel.left, self.panel.right),
            f64::midpoint(self.panel.top, self.panel.bottom),
        ];
        [centre[0] + (x - self.middle[0]) * self.pixels, centre[1] - (y - self.middle[1]) * self.pixels]
    }

    /// Where a robot is on the page.
    pub(super) fn place_of(&self, pose: &Pose) -> [f64; 2] {
        self.place([pose.x, pose.y])
    }

    /// The rectangle between two corners of the world.
    pub(super) fn area(&self, low: [f64; 2], high: [f64; 2]) -> Area {
        let ([left, bottom], [right, top]) = (self.place(low), self.place(high));
        Area { left, top, right, bottom }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(width: f64, height: f64) -> View {
        View::of(Bounds { low: [0.0, 0.0], high: [width, height] }, 10.0, 20.0)
    }

    #[test]
    fn up_is_up_and_everything_is_inside() {
        for (width, height) in [(1000.0, 500.0), (2000.0, 1300.0), (1e-6, 1e-6), (1e200, 1e190), (3.0, 400.0)]
        {
            let view = view(width, height);
            let ([left, bottom], [right, top]) = (view.place([0.0, 0.0]), view.place([width, height]));
            assert!(left < right && top < bottom, "{width} x {height}");
            let panel = view.panel;
            assert!(panel.left < left && right < panel.right && panel.top < top && bottom < panel.bottom);
            assert!(panel.width() <= LARGEST_MAP[0] && panel.height() <= LARGEST_MAP[1]);
            assert!(panel.width() >= 200.0 && panel.height() >= 200.0, "{panel:?}");
        }
    }

    #[test]
    fn both_axes_have_the_same_scale() {
        let view = view(1000.0, 500.0);
        let ([x0, y0], [x1, y1]) = (view.place([100.0, 100.0]), view.place([200.0, 200.0]));
        assert!((x1 - x0 - (y0 - y1)).abs() < 1e-9 && (x1 - x0 - 100.0 * view.pixels).abs() < 1e-9);
    }
}
