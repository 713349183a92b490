//! What is below the paths of robots: a map of cells, and marks where beacons stand.

use super::style::{INK, PAPER, QUIET};
use super::view::View;
use crate::canvas::Canvas;
use crate::colour::Rgb;
use crate::image::Image;
use driftless_world::Result;
use driftless_world::evaluation::{Ground, Plan};

/// Walls are light, so that paths are seen on them.
const OCCUPIED: Rgb = [128, 136, 148];
const FREE: Rgb = [255, 255, 255];
const UNKNOWN: Rgb = [240, 241, 242];

/// Draws the map of a plan, whose corner is the origin.
pub(super) fn draw(canvas: &mut Canvas, view: &View, plan: &Plan) -> Result<()> {
    let Some(ground) = &plan.ground else { return Ok(()) };
    let (width, height, grey) = ground.pixels()?;
    canvas.rectangle(view.panel, UNKNOWN, 1.0);
    let image = Image::new(width, height, grey.iter().flat_map(|value| colour(*value)).collect())?;
    let place = |at: [f64; 2]| [at[0] - plan.low[0], at[1] - plan.low[1]];
    canvas.blit(&image, view.area(place(ground.low), place(ground.high)));
    Ok(())
}

fn colour(value: u8) -> Rgb {
    match value {
        0 => OCCUPIED,
        Ground::UNKNOWN => UNKNOWN,
        _ => FREE,
    }
}

/// Draws marks where beacons or landmarks stand.
pub(super) fn draw_marks(canvas: &mut Canvas, view: &View, plan: &Plan) {
    for mark in &plan.marks {
        draw_mark(canvas, view.place([mark[0] - plan.low[0], mark[1] - plan.low[1]]));
    }
}

/// A ring around a dot.
pub(super) fn draw_mark(canvas: &mut Canvas, at: [f64; 2]) {
    canvas.disc(at, 8.5, PAPER, 1.0);
    canvas.ring(at, 6.5, 2.0, QUIET);
    canvas.disc(at, 2.5, INK, 1.0);
}

#[cfg(test)]
mod tests {
    use super::super::background::Bounds;
    use super::*;
    use driftless_world::occupancy::{Cell, OccupancyGrid};

    /// Two by two cells in a plan that is larger: each is where it belongs, and all else is unknown.
    #[test]
    fn cells_are_where_they_belong() {
        let cells = vec![Cell::Occupied, Cell::Free, Cell::Unknown, Cell::Occupied];
        let grid = OccupancyGrid { origin: [11.0, 21.0], cell: 1.0, size: [2, 2], cells };
        let (low, high) = ([10.0, 20.0], [14.0, 24.0]);
        let ground = Ground::of(&grid, low, high).unwrap();
        let plan = Plan { low, high, ground, marks: vec![[13.5, 23.5]], ..Plan::default() };
        let view = View::of(Bounds { low: [0.0; 2], high: plan.size() }, 0.0, 0.0);
        let mut canvas = Canvas::new(1200, 800, [1, 2, 3]).unwrap();
        draw(&mut canvas, &view, &plan).unwrap();
        draw_marks(&mut canvas, &view, &plan);
        let seen = |x: f64, y: f64| {
            let [x, y] = view.place([x - low[0], y - low[1]]);
            canvas.pixel(x as usize, y as usize)
        };
        assert_eq!([seen(11.5, 21.5), seen(11.5, 22.5)], [OCCUPIED, FREE]);
        assert_eq!([seen(12.5, 21.5), seen(12.5, 22.5)], [UNKNOWN, OCCUPIED]);
        assert_eq!((seen(10.5, 21.5), seen(13.5, 23.5)), (UNKNOWN, INK));
    }
}
