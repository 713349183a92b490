//! What the floor map looks like from a pose: PF-net's spatial transformer.
//!
//! 28x28 points, the pose in the middle of the lowest row, 224 pixels to see ahead and 112 to each side:
//!
//! X = x - 112 sin θ g_x + 112 (W/H) cos θ (1 - g_y),  Y = y + 112 (H/W) cos θ g_x + 112 sin θ (1 - g_y)
//!
//! with g from -1 to 1. The released code turns in coordinates where the map is a square, so that W/H and H/W are
//! there; the rigid view is without them.

use super::map::LOCAL_SIDE;

/// Pixels from a pose to the sides of its view.
const REACH: f32 = 112.0;

/// How a view is turned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Geometry {
    /// As the released code does it: stretched unless the map is a square.
    Released,
    /// As a camera would: without stretching.
    #[default]
    Rigid,
}

/// A floor map: rows along y, columns along x, channels together; 0 is occupied, 2 is free.
#[derive(Clone, Copy, Debug)]
pub struct FloorMap<'a> {
    /// All numbers.
    pub numbers: &'a [f32],
    /// Pixels along x.
    pub width: usize,
    /// Pixels along y.
    pub height: usize,
    /// Numbers of a pixel.
    pub channels: usize,
}

/// Where a view's points lie.
struct Points {
    pose: [f32; 3],
    /// How much farther than rigid a view reaches ahead along x, and to the side along y.
    stretch: [f32; 2],
}

impl Points {
    fn new(map: &FloorMap, geometry: Geometry, pose: [f32; 3]) -> Self {
        let ratio = map.width as f32 / map.height as f32;
        let stretch = match geometry {
            Geometry::Released => [ratio, 1.0 / ratio],
            Geometry::Rigid => [1.0, 1.0],
        };
        Self { pose, stretch }
    }

    /// Visits all points, row by row from far to near.
    fn each(&self, mut visit: impl FnMut(usize, [f32; 2])) {
        let ([x, y, heading], [ahead, aside]) = (self.pose, self.stretch);
        let (sin, cos) = heading.sin_cos();
        let grid = |k: usize| 2.0 * k as f32 / (LOCAL_SIDE - 1) as f32 - 1.0;
        for row in 0..LOCAL_SIDE {
            let far = REACH * (1.0 - grid(row));
            for column in 0..LOCAL_SIDE {
                let side = REACH * grid(column);
                let place = [x - sin * side + ahead * cos * far, y + aside * cos * side + sin * far];
                visit(row * LOCAL_SIDE + column, place);
            }
        }
    }
}

/// The four pixels around a point and its place between them; nothing where PF-net's weights cancel: outside, and in
/// the last row and column.
fn cell(map: &FloorMap, [x, y]: [f32; 2]) -> Option<(usize, [f32; 2])> {
    let inside = |at: f32, size: usize| at >= 0.0 && at < (size as f32 - 1.0);
    if !(inside(x, map.width) && inside(y, map.height)) {
        return None;
    }
    let (column, row) = (x as usize, y as usize);
    Some(((row * map.width + column) * map.channels, [x - column as f32, y - row as f32]))
}

impl FloorMap<'_> {
    /// The view from a pose (x and y in pixels, heading), pixel after pixel: -1 is free, 1 is occupied, as is all that
    /// is not on the map.
    pub fn view(&self, geometry: Geometry, pose: [f32; 3], view: &mut [f32]) {
        let channels = self.channels;
        Points::new(self, geometry, pose).each(|number, place| {
            let to = &mut view[number * channels..][..channels];
            let Some((corner, [x, y])) = cell(self, place) else {
                return to.fill(1.0);
            };
            let (near, far) = (&self.numbers[corner..], &self.numbers[corner + self.width * channels..]);
            for (c, to) in to.iter_mut().enumerate() {
                let low = near[c] * (1.0 - x) + near[c + channels] * x;
                let high = far[c] * (1.0 - x) + far[c + channels] * x;
                *to = 1.0 - (low * (1.0 - y) + high * y);
            }
        });
    }
}
