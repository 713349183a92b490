//! What is below the paths of robots: a map of cells, and marks where beacons stand.

use super::style::{INK, PAPER, QUIET};
use super::view::View;
use crate::canvas::Canvas;
use crate::colour::Rgb;
use crate::image::Image;
use driftless_world::Result;
use driftless_world::evaluation::{Ground, Plan};

/// Walls are light, so that paths are seen on them.
const OCCUPIED: Rgb = [150, 157, 168];
const FREE: Rgb = [255, 255, 255];
const UNKNOWN: Rgb = [240, 241, 242];

/// Draws the map of a plan, whose corner is the origin.
pub(super) fn draw(canvas: &mut Canvas, view: &View, plan: &Plan) -> Result<()> {
    let Some(ground) = &plan.ground else { return Ok(()) };
    let (width, height, grey) = ground.pixels()?;
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
