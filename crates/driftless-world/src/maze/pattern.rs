//! What is painted on maze walls and floors: repeating patterns without any unique landmark.

use super::layout::Finish;
use crate::error::{Error, Result};
use crate::render::Texture;
use crate::render::texture::{lattice, noise};
use std::str::FromStr;

/// A procedural texture; one tile covers one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Irregular blocks with thin dark joints.
    Blocks,
    /// Like blocks, larger, crossed by a few bright lines.
    Circuits,
    /// Basket-weave bricks.
    Weave,
    /// Panels with dark discs.
    Discs,
    /// Blotches, for floors.
    Mottled,
    /// One flat colour.
    Plain,
}

impl Pattern {
    /// All patterns.
    pub const ALL: [Self; 6] =
        [Self::Blocks, Self::Circuits, Self::Weave, Self::Discs, Self::Mottled, Self::Plain];

    /// Its name in drawings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::Circuits => "circuits",
            Self::Weave => "weave",
            Self::Discs => "discs",
            Self::Mottled => "mottled",
            Self::Plain => "plain",
        }
    }

    /// Shade at a position of the tile, around 1, and the share of a bluish glow.
    fn shade(self, u: f32, v: f32) -> (f32, f32) {
        let grain = 0.94 + 0.12 * noise(u, v, 32, 11);
        match self {
            Self::Blocks => {
                let (tone, joint) = blocks(u, v, 5);
                (tone * (0.62 + 0.38 * joint) * grain, glow_lines(u, v, 4) * 0.4)
            }
            Self::Circuits => {
                let (tone, joint) = blocks(u, v, 4);
                (tone * (0.3 + 0.7 * joint) * grain, glow_lines(u, v, 8) * 0.6)
            }
            Self::Weave => (weave(u, v) * grain, 0.0),
            Self::Discs => (discs(u, v) * grain, 0.0),
            Self::Mottled => {
                // Mostly even, with a few darker stains.
                let stains = smooth(0.65 * noise(u, v, 6, 1) + 0.35 * noise(u, v, 14, 2), 0.55, 0.75);
                (1.0 + 0.16 * (noise(u, v, 16, 3) - 0.5) - 0.32 * stains, 0.0)
            }
            Self::Plain => (1.0, 0.0),
        }
    }
}

impl FromStr for Pattern {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|pattern| pattern.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|pattern| pattern.name()).collect();
            Error::new(format!("{name} is not a pattern; there are {}", names.join(", ")))
        })
    }
}

impl Finish {
    /// Paints a tile whose mean colour is exactly the finish's.
    pub fn texture(&self) -> Texture {
        const GLOW: [f32; 3] = [70.0, 190.0, 210.0];
        let colour = self.colour.map(f32::from);
        let size = if self.pattern == Pattern::Plain { 1 } else { 256 };
        let tile = Texture::paint(size, |u, v| {
            let (shade, glow) = self.pattern.shade(u, v);
            std::array::from_fn(|k| colour[k] * shade * (1.0 - glow) + GLOW[k] * glow)
        });
        tile.with_mean(colour)
    }
}

/// 0 below `low`, 1 above `high`, smooth between.
fn smooth(value: f32, low: f32, high: f32) -> f32 {
    let t = ((value - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Distance to the nearer border of the interval [low, high] that holds `at`.
fn to_border(at: f32, low: f32, high: f32) -> f32 {
    (at - low).min(high - at)
}

/// Courses of unequal blocks: tone of the block, and darkness of the joint around it.
fn blocks(u: f32, v: f32, courses: u32) -> (f32, f32) {
    // Courses of unequal height: each border is moved by up to a third of a course.
    let border = |k: u32| match k {
        0 => 0.0,
        k if k == courses => 1.0,
        k => (k as f32 + 0.66 * (lattice(k, courses, 8) - 0.5)) / courses as f32,
    };
    let course = (1..courses).rev().find(|&k| border(k) <= v).unwrap_or(0);
    let (low, high) = (border(course), border(course + 1));
    // Two or three blocks a course, cut at lengths that differ from course to course.
    let cuts = 2 + (lattice(course, 0, 5) * 2.0) as u32;
    let cut = |k: u32| (k as f32 + 0.7 * (lattice(course, k % cuts, 6) - 0.5)) / cuts as f32;
    let block = (0..=cuts).rev().find(|&k| cut(k) <= u).map_or(cuts - 1, |k| k % cuts);
    let mut left = cut(block);
    if left > u {
        left -= 1.0;
    }
    let mut right = if block + 1 == cuts { cut(0) + 1.0 } else { cut(block + 1) };
    if right - left > 1.0 {
        right -= 1.0;
    }
    let edge = to_border(v, low, high).min(to_border(u, left, right).abs());
    (0.94 + 0.12 * lattice(course, block, 7), 0.5 + 0.5 * smooth(edge, 0.004, 0.02))
}

/// A few short bright lines along block edges.
fn glow_lines(u: f32, v: f32, count: u32) -> f32 {
    (0..count)
        .map(|k| {
            let (x, y, length) = (lattice(k, 1, 21), lattice(k, 2, 21), 0.1 + 0.25 * lattice(k, 3, 21));
            let (along, across) = if k % 2 == 0 { (u - x, v - y) } else { (v - y, u - x) };
            let (along, across) = (along.rem_euclid(1.0), (across + 0.5).rem_euclid(1.0) - 0.5);
            if along < length { 1.0 - smooth(across.abs(), 0.006, 0.02) } else { 0.0 }
        })
        .fold(0.0, f32::max)
}

/// Pairs of bricks, alternately lying and standing.
fn weave(u: f32, v: f32) -> f32 {
    // An even number of fields, so that the weave repeats from tile to tile.
    let (x, y) = (u * 6.0, v * 6.0);
    let (column, row) = (x as u32, y as u32);
    let (fx, fy) = (x.fract(), y.fract());
    let (along, across) = if (column + row).is_multiple_of(2) { (fx, fy) } else { (fy, fx) };
    let brick = u32::from(across > 0.5);
    let edge = to_border(along, 0.0, 1.0).min(0.5 * to_border(2.0 * across - brick as f32, 0.0, 1.0));
    let tone = 0.8 + 0.4 * lattice(2 * column + brick, row, 31);
    tone * (0.6 + 0.4 * smooth(edge, 0.02, 0.1))
}

/// Square panels with a dark disc in the middle and dark seams.
fn discs(u: f32, v: f32) -> f32 {
    let (x, y) = ((u * 2.0).fract(), (v * 2.0).fract());
    let panel = lattice((u * 2.0) as u32, (v * 2.0) as u32, 41);
    let seam = 0.55 + 0.45 * smooth(to_border(x, 0.0, 1.0).min(to_border(y, 0.0, 1.0)), 0.01, 0.05);
    let distance = (x - 0.5).hypot(y - 0.5);
    let disc = 0.35 + 0.65 * smooth(distance, 0.2, 0.24);
    let rim = 1.0 + 0.25 * (1.0 - smooth((distance - 0.27).abs(), 0.0, 0.04));
    (0.9 + 0.2 * panel) * seam * disc * rim
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_have_the_wanted_mean_and_some_contrast() {
        for pattern in Pattern::ALL {
            let texture = Finish { pattern, colour: [120, 90, 60] }.texture();
            let mean = texture.mean();
            assert!((0..3).all(|k| (mean[k] - [120.0, 90.0, 60.0][k]).abs() < 4.0), "{pattern:?} {mean:?}");
            let values: Vec<f32> = (0..4096)
                .map(|i| texture.sample((i % 64) as f32 / 64.0, (i / 64) as f32 / 64.0, 0.0)[0])
                .collect();
            let spread = values.iter().map(|x| (x - mean[0]).powi(2)).sum::<f32>() / 4096.0;
            assert_eq!(pattern == Pattern::Plain, spread < 4.0, "{pattern:?} {spread}");
            assert_eq!(pattern.name().parse::<Pattern>().unwrap(), pattern);
        }
    }
}
