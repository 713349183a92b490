//! What a path runs over: a maze's walls, a house's floor map, or nothing.

use super::has_place;
use super::style::{HAIRLINE, WALL};
use super::view::View;
use crate::canvas::{Area, Canvas};
use crate::colour::Rgb;
use crate::image::Image;
use driftless_world::{Error, Pose, Result};

/// A rectangle of the world, y up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Least x and y.
    pub low: [f64; 2],
    /// Greatest x and y.
    pub high: [f64; 2],
}

/// A coloured rectangle of a maze's floor: a room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// Where it is.
    pub bounds: Bounds,
    /// Its colour, which is drawn faintly so that the path stays visible.
    pub colour: Rgb,
}

/// What the path is drawn on; it decides which part of the world is shown.
#[derive(Clone, Debug)]
pub enum Background {
    /// A maze from (0, 0) to (width, height).
    Walls {
        /// Extent along x.
        width: f64,
        /// Extent along y.
        height: f64,
        /// Walls as x0, y0, x1, y1.
        segments: Vec<[f64; 4]>,
        /// Rooms of another colour.
        regions: Vec<Region>,
    },
    /// A map of pixels. Like an array indexed by \[y, x\], its **first row has the least y**.
    Raster {
        /// The map.
        image: Image,
        /// The corner of the first pixel with the least x and y.
        origin: [f64; 2],
        /// Length of a pixel's side.
        scale: f64,
    },
    /// A plain ground.
    Empty {
        /// The part of the world that is shown.
        bounds: Bounds,
    },
}

impl Bounds {
    /// Bounds with some room around all finite places of a path; a unit square if there is none.
    pub fn around(path: &[Option<Pose>]) -> Self {
        let mut bounds: Option<Self> = None;
        for pose in path.iter().flatten().filter(|pose| has_place(pose)) {
            let at = [pose.x, pose.y];
            let Self { low, high } = bounds.unwrap_or(Self { low: at, high: at });
            bounds = Some(Self {
                low: [low[0].min(at[0]), low[1].min(at[1])],
                high: [high[0].max(at[0]), high[1].max(at[1])],
            });
        }
        let tight = bounds.unwrap_or(Self { low: [0.0; 2], high: [0.0; 2] });
        let [width, height] = tight.size();
        // A robot that stands still has no extent; far away, one unit may be less than a float's step.
        let far = tight.low.iter().chain(&tight.high).fold(0.0_f64, |far, v| far.max(v.abs()));
        let least = if width.max(height) > far * 1e-9 { 0.0 } else { 0.5_f64.max(far * 1e-9) };
        let room = least + 0.08 * width.max(height);
        Self { low: tight.low.map(|v| v - room), high: tight.high.map(|v| v + room) }
    }

    /// Extent along x and y.
    pub fn size(&self) -> [f64; 2] {
        [self.high[0] - self.low[0], self.high[1] - self.low[1]]
    }

    /// The point in the middle.
    pub fn middle(&self) -> [f64; 2] {
        [f64::midpoint(self.low[0], self.high[0]), f64::midpoint(self.low[1], self.high[1])]
    }

    /// True if the pose lies inside or on the edge.
    pub fn holds(&self, pose: &Pose) -> bool {
        (self.low[0]..=self.high[0]).contains(&pose.x) && (self.low[1]..=self.high[1]).contains(&pose.y)
    }

    fn checked(self) -> Result<Self> {
        // Beyond these, a scale in pixels would leave the range of floats.
        if self.size().iter().all(|size| (1e-200..1e200).contains(size)) {
            return Ok(self);
        }
        let ([x0, y0], [x1, y1]) = (self.low, self.high);
        Err(Error::new(format!("a map from ({x0}, {y0}) to ({x1}, {y1}) cannot be drawn"))
            .in_field("background"))
    }
}

impl Background {
    /// What is shown; an error if that is not an area, or if a wall or room is nowhere.
    pub(super) fn bounds(&self) -> Result<Bounds> {
        match self {
            Self::Walls { width, height, segments, regions } => {
                let places = segments.iter().enumerate().map(|(i, wall)| ("wall", i, *wall));
                let rooms = regions.iter().enumerate().map(|(i, room)| ("region", i, room.bounds.corners()));
                for (kind, i, place) in places.chain(rooms) {
                    if place.iter().any(|coordinate| !coordinate.is_finite()) {
                        let problem = format!("is not a place: {place:?}");
                        return Err(Error::new(problem).in_record(format_args!("{kind} {i}")));
                    }
                }
                Bounds { low: [0.0; 2], high: [*width, *height] }.checked()
            }
            Self::Raster { image, origin, scale } => {
                let size = [image.width() as f64 * scale, image.height() as f64 * scale];
                Bounds { low: *origin, high: [origin[0] + size[0], origin[1] + size[1]] }.checked()
            }
            Self::Empty { bounds } => bounds.checked(),
        }
    }

    pub(super) fn draw(&self, canvas: &mut Canvas, view: &View) {
        match self {
            Self::Walls { segments, regions, .. } => {
                for Region { bounds, colour } in regions {
                    canvas.rectangle(view.area(bounds.low, bounds.high), *colour, 0.16);
                }
                for [x0, y0, x1, y1] in segments {
                    canvas.line(view.place([*x0, *y0]), view.place([*x1, *y1]), 4.0, WALL, 1.0);
                }
            }
            Self::Raster { image, origin, scale } => {
                let high =
                    [origin[0] + image.width() as f64 * scale, origin[1] + image.height() as f64 * scale];
                canvas.blit(&image.upside_down(), view.area(*origin, high));
            }
            Self::Empty { .. } => draw_grid(canvas, view),
        }
    }
}

impl Bounds {
    fn corners(&self) -> [f64; 4] {
        [self.low[0], self.low[1], self.high[0], self.high[1]]
    }
}

/// Faint lines one scale bar apart, because an empty ground gives the eye no hold.
fn draw_grid(canvas: &mut Canvas, view: &View) {
    let step = super::legend::round_length(view) * view.pixels;
    let panel = view.panel;
    let [x, y] = [f64::midpoint(panel.left, panel.right), f64::midpoint(panel.top, panel.bottom)];
    // The scale bar is at least a tenth of the map wide, so ten lines each way are enough.
    for i in -10..=10 {
        let (x, y) = (x + f64::from(i) * step, y + f64::from(i) * step);
        canvas.rectangle(Area::sized(x.round(), panel.top, 1.0, panel.height()), HAIRLINE, 0.5);
        canvas.rectangle(Area::sized(panel.left, y.round(), panel.width(), 1.0), HAIRLINE, 0.5);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_around_a_path_hold_it() {
        let path = [Some(Pose::new(3.0, 4.0, 0.0)), None, Some(Pose::new(f64::NAN, 0.0, 0.0))];
        for far in [0.0, 1.0, 1e6, 1e15, -1e100] {
            let mut path = path.to_vec();
            path.push(Some(Pose::new(far, 4.0, 0.0)));
            let bounds = Bounds::around(&path).checked().unwrap();
            assert!(bounds.holds(&path[0].unwrap()) && bounds.holds(&path[3].unwrap()), "{bounds:?}");
        }
        assert!(Bounds::around(&path[..1]).checked().is_ok());
        assert_eq!(Bounds::around(&[]).size(), [1.0, 1.0]);
    }

    #[test]
    fn impossible_grounds_are_refused() {
        let walls =
            |width, wall| Background::Walls { width, height: 5.0, segments: vec![wall], regions: vec![] };
        assert!(walls(10.0, [0.0; 4]).bounds().is_ok());
        for width in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!(walls(width, [0.0; 4]).bounds().is_err(), "{width}");
        }
        let error = walls(10.0, [0.0, f64::NAN, 1.0, 1.0]).bounds().unwrap_err();
        assert!(error.to_string().starts_with("wall 0: is not a place"), "{error}");
        let image = Image::from_grey(1, 1, &[0]).unwrap();
        let raster = |scale| Background::Raster { image: image.clone(), origin: [0.0; 2], scale };
        assert!(raster(0.02).bounds().is_ok() && raster(-1.0).bounds().is_err());
    }

    #[test]
    fn the_first_row_of_a_raster_is_drawn_lowest() {
        let image = Image::from_grey(1, 2, &[10, 200]).unwrap();
        let ground = Background::Raster { image, origin: [5.0, 5.0], scale: 1.0 };
        let view = View::of(ground.bounds().unwrap(), 0.0, 0.0);
        let mut canvas = Canvas::new(1200, 800, [0; 3]).unwrap();
        ground.draw(&mut canvas, &view);
        let seen = |y: f64| {
            let [x, y] = view.place([5.5, y]);
            canvas.pixel(x as usize, y as usize)[0]
        };
        assert_eq!((seen(5.5), seen(6.5)), (10, 200));
    }
}
