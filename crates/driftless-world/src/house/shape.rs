//! Rectangles and discs in the plane, and how far points and straight paths stay from them.

/// An axis-aligned rectangle in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// Corner with the smallest coordinates.
    pub min: [f64; 2],
    /// Corner with the largest coordinates.
    pub max: [f64; 2],
}

impl Rect {
    /// The rectangle between two corners, smallest coordinates first.
    pub const fn new(min: [f64; 2], max: [f64; 2]) -> Self {
        Self { min, max }
    }

    /// Extent along x and y.
    pub fn size(&self) -> [f64; 2] {
        [self.max[0] - self.min[0], self.max[1] - self.min[1]]
    }

    /// Area in square metres.
    pub fn area(&self) -> f64 {
        self.size()[0] * self.size()[1]
    }

    /// The middle.
    pub fn centre(&self) -> [f64; 2] {
        [0.5 * (self.min[0] + self.max[0]), 0.5 * (self.min[1] + self.max[1])]
    }

    /// The same rectangle with `by` metres more on every side (fewer, if negative).
    pub fn grown(&self, by: f64) -> Self {
        Self::new([self.min[0] - by, self.min[1] - by], [self.max[0] + by, self.max[1] + by])
    }

    /// True if `point` is inside or on the border.
    pub fn contains(&self, point: [f64; 2]) -> bool {
        (0..2).all(|k| self.min[k] <= point[k] && point[k] <= self.max[k])
    }

    /// True if `other` is inside; borders may touch.
    pub fn encloses(&self, other: &Self) -> bool {
        self.contains(other.min) && self.contains(other.max)
    }

    /// True if the interiors have a point in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        (0..2).all(|k| self.min[k] < other.max[k] && other.min[k] < self.max[k])
    }

    /// Distance of a point from the rectangle; 0 inside.
    pub fn distance(&self, point: [f64; 2]) -> f64 {
        let beyond = |k: usize| (self.min[k] - point[k]).max(point[k] - self.max[k]).max(0.0);
        // Metres are neither huge nor tiny, so a plain root does, and it is much faster than hypot.
        (beyond(0) * beyond(0) + beyond(1) * beyond(1)).sqrt()
    }

    fn corners(&self) -> [[f64; 2]; 4] {
        let (a, b) = (self.min, self.max);
        [a, [b[0], a[1]], b, [a[0], b[1]]]
    }

    /// True if the segment from `a` to `b` enters the rectangle (slab method).
    fn is_crossed(&self, a: [f64; 2], b: [f64; 2]) -> bool {
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for k in 0..2 {
            let along = b[k] - a[k];
            if along == 0.0 {
                if a[k] < self.min[k] || a[k] > self.max[k] {
                    return false;
                }
                continue;
            }
            let (s, t) = ((self.min[k] - a[k]) / along, (self.max[k] - a[k]) / along);
            enter = enter.max(s.min(t));
            leave = leave.min(s.max(t));
        }
        enter <= leave
    }
}

/// What a solid covers on the floor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Footprint {
    /// An axis-aligned box.
    Box(Rect),
    /// An upright cylinder.
    Disc {
        /// Its axis.
        centre: [f64; 2],
        /// Its radius.
        radius: f64,
    },
}

impl Footprint {
    /// Distance of a point from the footprint; 0 inside.
    pub fn distance(&self, point: [f64; 2]) -> f64 {
        match self {
            Self::Box(rect) => rect.distance(point),
            Self::Disc { centre, radius } => (apart(*centre, point) - radius).max(0.0),
        }
    }

    /// Smallest distance on the straight path from `a` to `b`; 0 if the path enters the footprint.
    pub fn distance_to_path(&self, a: [f64; 2], b: [f64; 2]) -> f64 {
        match self {
            Self::Box(rect) if rect.is_crossed(a, b) => 0.0,
            // Outside each other, two convex polygons are nearest at a corner of one of them.
            Self::Box(rect) => rect
                .corners()
                .map(|corner| point_to_path(corner, a, b))
                .into_iter()
                .fold(rect.distance(a).min(rect.distance(b)), f64::min),
            Self::Disc { centre, radius } => (point_to_path(*centre, a, b) - radius).max(0.0),
        }
    }

    /// The smallest rectangle around it.
    pub fn bounds(&self) -> Rect {
        match *self {
            Self::Box(rect) => rect,
            Self::Disc { centre, radius } => Rect::new(centre, centre).grown(radius),
        }
    }
}

fn apart(a: [f64; 2], b: [f64; 2]) -> f64 {
    ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])).sqrt()
}

fn point_to_path(point: [f64; 2], a: [f64; 2], b: [f64; 2]) -> f64 {
    let along = [b[0] - a[0], b[1] - a[1]];
    let length2 = along[0] * along[0] + along[1] * along[1];
    let dot = (point[0] - a[0]) * along[0] + (point[1] - a[1]) * along[1];
    let t = if length2 > 0.0 { (dot / length2).clamp(0.0, 1.0) } else { 0.0 };
    apart(point, [a[0] + t * along[0], a[1] + t * along[1]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Against dense sampling of the path, which can only overestimate.
    #[test]
    fn path_distances_agree_with_sampling() {
        let mut random = Random::new(3);
        for case in 0..2000 {
            let mut draw = || random.range(0.0, 3.0);
            let (a, b, c) = ([draw(), draw()], [draw(), draw()], [draw(), draw()]);
            let shape = if case % 2 == 0 {
                Footprint::Box(Rect::new(c, [c[0] + 0.3 * draw(), c[1] + 0.3 * draw()]))
            } else {
                Footprint::Disc { centre: c, radius: 0.2 * draw() }
            };
            let sampled = (0..=1000)
                .map(|i| f64::from(i) / 1000.0)
                .map(|t| shape.distance([a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])]))
                .fold(f64::INFINITY, f64::min);
            let exact = shape.distance_to_path(a, b);
            assert!(exact <= sampled + 1e-12 && sampled - exact < 0.005, "{shape:?} {exact} {sampled}");
        }
    }
}
