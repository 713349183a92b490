//! Surfaces as functions: wood, tiles, bricks and their like, painted on repeating squares.

use crate::render::texture::{Texture, lattice, noise};

/// How a surface is structured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "plain words for surfaces")]
pub enum Pattern {
    Plain,
    Plaster,
    Boards,
    Grain,
    Tiles,
    Checks,
    Stripes,
    Dots,
    Panels,
    Bricks,
    Blocks,
    Carpet,
    Marble,
    Foliage,
    Books,
    Painting,
}

/// A surface: a pattern in two colours (0..=255 a channel) and the length of one repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    /// Its structure.
    pub pattern: Pattern,
    /// The main colour.
    pub base: [f32; 3],
    /// The colour of joints, stripes, veins.
    pub accent: [f32; 3],
    /// Length of one repeat in metres.
    pub tile: f32,
    /// Tells one board from another.
    pub seed: u32,
}

/// `a` for t = 0, `b` for t = 1.
pub(super) fn blend(a: [f32; 3], b: [f32; 3], t: f32) -> [f32; 3] {
    std::array::from_fn(|k| a[k] + (b[k] - a[k]) * t.clamp(0.0, 1.0))
}

fn shade(colour: [f32; 3], factor: f32) -> [f32; 3] {
    colour.map(|c| c * factor)
}

/// Which of `count` equal parts of [0, 1) `u` is in, and where in it.
fn part(u: f32, count: u32) -> (u32, f32) {
    let scaled = u * count as f32;
    (scaled as u32 % count, scaled.fract())
}

/// True within `width` (a share of the part) of a part's border.
fn is_joint(within: f32, width: f32) -> bool {
    within < width || within > 1.0 - width
}

impl Surface {
    /// Paints one repeat.
    pub fn texture(&self, size: usize) -> Texture {
        match self.pattern {
            Pattern::Plain => Texture::plain(self.base),
            _ => Texture::paint(size, |u, v| self.colour(u, v)),
        }
    }

    /// The colour at (u, v), both in [0, 1); walls have v pointing down.
    pub fn colour(&self, u: f32, v: f32) -> [f32; 3] {
        let seed = self.seed;
        let rough = |cells: u32, strength: f32| 1.0 + strength * (noise(u, v, cells, seed) - 0.5);
        match self.pattern {
            Pattern::Plain => self.base,
            Pattern::Plaster => shade(self.base, rough(6, 0.10) * rough(40, 0.10)),
            Pattern::Boards => self.boards(u, v),
            Pattern::Grain => self.grain(u, v, 0),
            Pattern::Tiles => self.tiles(u, v),
            Pattern::Checks => {
                let odd = (part(u, 4).0 + part(v, 4).0) % 2 == 1;
                shade(if odd { self.accent } else { self.base }, rough(16, 0.12))
            }
            Pattern::Stripes => {
                let (_, within) = part(u, 4);
                let wide = within < 0.5 || (0.7..0.76).contains(&within);
                shade(if wide { self.base } else { self.accent }, rough(48, 0.06))
            }
            Pattern::Dots => shade(self.dots(u, v), rough(48, 0.06)),
            Pattern::Panels => self.panels(u, v),
            Pattern::Bricks => self.bricks(u, v, 4, 12),
            Pattern::Blocks => self.bricks(u, v, 2, 4),
            Pattern::Carpet => shade(
                blend(self.base, self.accent, 0.5 * noise(u, v, 5, seed ^ 1)),
                0.8 + 0.4 * noise(u, v, 60, seed),
            ),
            Pattern::Marble => {
                let warp = noise(u, v, 4, seed) + 0.5 * noise(u, v, 9, seed ^ 2);
                let vein = 1.0 - (2.0 * (warp * 3.0).fract() - 1.0).abs();
                shade(blend(self.base, self.accent, 0.45 * vein.powi(6)), rough(5, 0.2) * rough(20, 0.1))
            }
            Pattern::Foliage => {
                let leaf = noise(u, v, 9, seed) * 0.6 + noise(u, v, 20, seed ^ 3) * 0.6;
                shade(blend(self.base, self.accent, leaf), 0.5 + 0.8 * leaf)
            }
            Pattern::Books => self.books(u, v),
            Pattern::Painting => self.painting(u, v),
        }
    }

    fn dots(&self, u: f32, v: f32) -> [f32; 3] {
        let (row, y) = part(v, 6);
        let x = (u * 6.0 + 0.5 * (row % 2) as f32).fract();
        let inside = (x - 0.5).hypot(y - 0.5) < 0.22 + 0.05 * lattice(row, 1, self.seed);
        if inside { self.accent } else { self.base }
    }

    /// Wood whose grain runs along v; boards are told apart by `board`.
    fn grain(&self, u: f32, v: f32, board: u32) -> [f32; 3] {
        let seed = self.seed.wrapping_add(board);
        // Noise squeezed across the grain by a whole number, so that it still repeats.
        let bent = u + 0.03 * noise(u, v, 4, seed);
        let fibre = 0.6 * noise(4.0 * bent, v, 4, seed) + 0.4 * noise(9.0 * bent, v, 5, seed ^ 5);
        blend(self.base, self.accent, 0.9 * fibre)
    }

    fn boards(&self, u: f32, v: f32) -> [f32; 3] {
        let (board, across) = part(u, 6);
        let offset = lattice(board, 7, self.seed);
        let (piece, along) = part((v + offset).fract(), 2);
        if is_joint(across, 0.03) || is_joint(along, 0.004) {
            return shade(self.accent, 0.6);
        }
        let number = board * 2 + piece;
        shade(self.grain(u, v, number), 0.82 + 0.3 * lattice(number, 3, self.seed))
    }

    fn tiles(&self, u: f32, v: f32) -> [f32; 3] {
        let ((column, x), (row, y)) = (part(u, 4), part(v, 4));
        if is_joint(x, 0.025) || is_joint(y, 0.025) {
            return self.accent;
        }
        let tone = 0.93 + 0.1 * lattice(column, row, self.seed);
        shade(self.base, tone * (1.0 + 0.06 * (noise(u, v, 24, self.seed) - 0.5)))
    }

    fn panels(&self, u: f32, v: f32) -> [f32; 3] {
        let (_, x) = part(u, 5);
        if is_joint(x, 0.05) {
            return shade(self.accent, 0.75);
        }
        // A bevel: light on the left, dark on the right.
        shade(self.grain(u, v, 0), 1.08 - 0.16 * x)
    }

    fn bricks(&self, u: f32, v: f32, columns: u32, rows: u32) -> [f32; 3] {
        let (row, y) = part(v, rows);
        let shift = 0.5 / columns as f32 * (row % 2) as f32;
        let (column, x) = part((u + shift).fract(), columns);
        let joint = 0.1 * columns as f32 / rows as f32;
        if is_joint(x, joint * 0.5) || is_joint(y, 0.06) {
            return self.accent;
        }
        let tone = 0.8 + 0.35 * lattice(column, row, self.seed);
        shade(self.base, tone * (0.9 + 0.2 * noise(u, v, 32, self.seed)))
    }

    fn books(&self, u: f32, v: f32) -> [f32; 3] {
        let (book, x) = part(u, 24);
        let hue = std::array::from_fn(|k| 40.0 + 180.0 * lattice(book, k as u32, self.seed));
        let title = (0.3..0.4).contains(&v) && lattice(book, 9, self.seed) > 0.5;
        let cover = blend(blend(hue, self.base, 0.35), [235.0; 3], if title { 0.6 } else { 0.0 });
        shade(cover, if is_joint(x, 0.1) { 0.5 } else { 1.0 })
    }

    fn painting(&self, u: f32, v: f32) -> [f32; 3] {
        let (a, b) = (noise(u, v, 3, self.seed), noise(u, v, 5, self.seed ^ 8));
        let third = [self.accent[1], self.base[2], self.accent[0]];
        let sky = blend(self.base, self.accent, (a * 1.6 - 0.3).clamp(0.0, 1.0));
        if b > 0.6 { shade(third, 0.7 + 0.4 * a) } else { sky }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Pattern; 16] = [
        Pattern::Plain,
        Pattern::Plaster,
        Pattern::Boards,
        Pattern::Grain,
        Pattern::Tiles,
        Pattern::Checks,
        Pattern::Stripes,
        Pattern::Dots,
        Pattern::Panels,
        Pattern::Bricks,
        Pattern::Blocks,
        Pattern::Carpet,
        Pattern::Marble,
        Pattern::Foliage,
        Pattern::Books,
        Pattern::Painting,
    ];

    /// Structure is seen, but a surface keeps about the colour it was given.
    #[test]
    fn patterns_are_neither_flat_nor_noise() {
        for pattern in ALL {
            let (base, accent) = ([150.0, 120.0, 90.0], [90.0, 70.0, 60.0]);
            let surface = Surface { pattern, base, accent, tile: 1.0, seed: 5 };
            let at = |i: usize| surface.colour((i % 64) as f32 / 64.0, (i / 64) as f32 / 64.0)[0];
            let mean = (0..4096).map(at).sum::<f32>() / 4096.0;
            let spread = ((0..4096).map(|i| (at(i) - mean).powi(2)).sum::<f32>() / 4096.0).sqrt();
            assert!((55.0..185.0).contains(&mean), "{pattern:?} has mean {mean}");
            let lively = if pattern == Pattern::Plain { 0.0..0.01 } else { 2.0..60.0 };
            assert!(lively.contains(&spread), "{pattern:?} spreads by {spread}");
        }
    }
}
