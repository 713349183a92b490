//! One ray in the plan: the solids it crosses, nearest first, up to the first that hides all else.

use super::scene::{Footprint, Scene, Solid};

/// A ray's way through one solid. Distances are multiples of the ray's direction, which is scaled
/// so that they are *depths*: distances along the optical axis.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Crossing {
    pub near: f32,
    pub far: f32,
    pub solid: u32,
    /// Heights of the solid's underside and top.
    pub bottom: f32,
    pub top: f32,
    /// Which face is entered: 0..4 for -x, +x, -y, +y (a disc has only face 0).
    pub face: u8,
    /// Position along the face, for its texture.
    pub along: f32,
    /// Cosine between ray and face, for the texture's footprint.
    pub cosine: f32,
}

/// Direction and origin of a ray in the plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ray {
    pub origin: [f32; 2],
    pub direction: [f32; 2],
}

impl Ray {
    #[inline]
    pub fn at(&self, depth: f32) -> [f32; 2] {
        [self.origin[0] + self.direction[0] * depth, self.origin[1] + self.direction[1] * depth]
    }

    fn cross(&self, solid: &Solid, number: u32) -> Option<Crossing> {
        let crossing = match solid.footprint {
            Footprint::Box { min, max } => self.cross_box(min, max),
            Footprint::Disc { centre, radius } => self.cross_disc(centre, radius),
        };
        crossing.map(|crossing| Crossing { solid: number, bottom: solid.bottom, top: solid.top, ..crossing })
    }

    /// The slab test. Division by a zero direction gives infinities, which compare correctly.
    fn cross_box(&self, min: [f32; 2], max: [f32; 2]) -> Option<Crossing> {
        let inverse = self.direction.map(|d| 1.0 / d);
        let slab = |k: usize| {
            let (a, b) = ((min[k] - self.origin[k]) * inverse[k], (max[k] - self.origin[k]) * inverse[k]);
            if a < b { (a, b) } else { (b, a) }
        };
        let ((near_x, far_x), (near_y, far_y)) = (slab(0), slab(1));
        let (near, far) = (near_x.max(near_y), far_x.min(far_y));
        if !(near < far && near > 0.0) {
            return None;
        }
        let axis = usize::from(near_y > near_x);
        let face = (2 * axis + usize::from(self.direction[axis] < 0.0)) as u8;
        let along = self.at(near)[1 - axis];
        let length = (self.direction[0].powi(2) + self.direction[1].powi(2)).sqrt();
        Some(Crossing {
            near,
            far,
            face,
            along,
            cosine: (self.direction[axis] / length).abs(),
            ..Crossing::default()
        })
    }

    fn cross_disc(&self, centre: [f32; 2], radius: f32) -> Option<Crossing> {
        let [dx, dy] = self.direction;
        let (ox, oy) = (self.origin[0] - centre[0], self.origin[1] - centre[1]);
        let (a, b, c) = (dx * dx + dy * dy, ox * dx + oy * dy, ox * ox + oy * oy - radius * radius);
        let root = (b * b - a * c).sqrt(); // NaN if the ray misses, and then no comparison holds
        let (near, far) = ((-b - root) / a, (-b + root) / a);
        if !(near < far && near > 0.0) {
            return None;
        }
        let [x, y] = self.at(near);
        let along = radius * (y - centre[1]).atan2(x - centre[0]);
        Some(Crossing { near, far, along, cosine: root / (a.sqrt() * radius), ..Crossing::default() })
    }
}

impl Scene {
    /// Collects into `found` what `ray` crosses, sorted by depth, until a solid reaches from floor
    /// to ceiling or the plan ends (Amanatides & Woo 1987: square after square). What is entered
    /// beyond `limit` need not be found.
    pub(super) fn cast(&self, ray: &Ray, limit: f32, found: &mut Vec<Crossing>) {
        found.clear();
        let index = &self.index;
        let mut square = [0, 1].map(|k| (ray.origin[k] / index.cell).floor() as i32);
        let step = ray.direction.map(|d| if d < 0.0 { -1 } else { 1 });
        let per_square = ray.direction.map(|d| index.cell / d.abs());
        let mut next: [f32; 2] = std::array::from_fn(|k| {
            let border = (square[k] + i32::from(step[k] > 0)) as f32 * index.cell;
            if ray.direction[k] == 0.0 { f32::INFINITY } else { (border - ray.origin[k]) / ray.direction[k] }
        });
        let squares = [index.columns as i32, index.rows as i32];
        let mut entered = 0.0;
        while entered < limit && (0..2).all(|k| square[k] >= 0 && square[k] < squares[k]) {
            let axis = usize::from(next[1] < next[0]);
            let left = next[axis];
            if self.cast_in_square(ray, square, (entered, left), found) {
                return;
            }
            entered = left;
            next[axis] += per_square[axis];
            square[axis] += step[axis];
        }
    }

    /// Adds the crossings whose entry lies in one square; true if one of them hides all behind it.
    fn cast_in_square(
        &self,
        ray: &Ray,
        square: [i32; 2],
        span: (f32, f32),
        found: &mut Vec<Crossing>,
    ) -> bool {
        let first = found.len();
        // Rounding must not lose an entry on the border of two squares; meeting it twice is harmless.
        let slack = 1e-4 * self.index.cell;
        let mut hidden_beyond = f32::INFINITY;
        for &number in self.index.square(square[0] as usize, square[1] as usize) {
            let solid = &self.solids[number as usize];
            let Some(crossing) = ray.cross(solid, number) else { continue };
            if crossing.near < span.0 - slack
                || crossing.near > span.1 + slack
                || crossing.near > hidden_beyond
            {
                continue;
            }
            if self.hides_all_behind(solid.bottom, solid.top) {
                hidden_beyond = hidden_beyond.min(crossing.near);
            }
            let place = first + found[first..].partition_point(|other| other.near <= crossing.near);
            found.insert(place, crossing);
        }
        if hidden_beyond.is_finite() {
            found.truncate(found.partition_point(|crossing| crossing.near <= hidden_beyond));
        }
        hidden_beyond.is_finite()
    }
}
