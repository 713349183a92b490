//! Square, repeating textures with mip levels: what is far away is looked up in an averaged copy.

/// Red, green and blue, 0..=255. The fourth number is unused: four fill a vector register.
pub type Colour = [f32; 4];

/// One repeating tile of a surface, at all resolutions from `size` down to a single texel.
#[derive(Clone, Debug)]
pub struct Texture {
    size: usize,
    /// All levels, largest first, one after another; the fourth number only aligns the texel.
    texels: Vec<[u8; 4]>,
    /// Where level k starts.
    starts: Vec<usize>,
}

impl Texture {
    /// Paints a tile of `size` x `size` texels (a power of two) from a function of the position,
    /// both coordinates in [0, 1). Colours are 0..=255 a channel and are clamped.
    pub fn paint(size: usize, colour: impl Fn(f32, f32) -> [f32; 3]) -> Self {
        assert!(size.is_power_of_two(), "a texture's size must be a power of two");
        let at = |i: usize| (i as f32 + 0.5) / size as f32;
        let base = (0..size * size).map(|i| colour(at(i % size), at(i / size))).collect();
        Self::from_colours(size, base)
    }

    /// One colour everywhere.
    pub fn plain(colour: [f32; 3]) -> Self {
        Self::paint(1, |_, _| colour)
    }

    fn from_colours(size: usize, mut level: Vec<[f32; 3]>) -> Self {
        let (mut texels, mut starts, mut side) = (Vec::new(), Vec::new(), size);
        loop {
            starts.push(texels.len());
            texels.extend(level.iter().map(|c| [to_byte(c[0]), to_byte(c[1]), to_byte(c[2]), 0]));
            if side == 1 {
                return Self { size, texels, starts };
            }
            level = halve(&level, side);
            side /= 2;
        }
    }

    /// True if it has a single texel.
    pub fn is_plain(&self) -> bool {
        self.size == 1
    }

    /// The same pattern, shifted and scaled a channel so that its mean is `mean`.
    pub fn with_mean(self, mean: [f32; 3]) -> Self {
        let base: Vec<[f32; 3]> =
            self.texels[..self.size * self.size].iter().map(|t| [t[0], t[1], t[2]].map(f32::from)).collect();
        let count = base.len() as f32;
        let old = base.iter().fold([0.0_f32; 3], |sum, c| std::array::from_fn(|k| sum[k] + c[k] / count));
        let scaled = base.iter().map(|c| std::array::from_fn(|k| c[k] * mean[k] / old[k].max(1.0))).collect();
        Self::from_colours(self.size, scaled)
    }

    /// Average colour of the whole tile.
    pub fn mean(&self) -> [f32; 3] {
        let texel = self.texels[self.texels.len() - 1];
        [texel[0], texel[1], texel[2]].map(f32::from)
    }

    /// The colour at (u, v), in tiles, averaged over about `footprint` tiles.
    #[inline]
    pub fn sample(&self, u: f32, v: f32, footprint: f32) -> Colour {
        let level = self.level(footprint);
        let side = self.size >> level;
        self.texels[self.starts[level] + texel_at(v, side) * side + texel_at(u, side)].map(f32::from)
    }

    /// All colours with one horizontal coordinate, for an upright line on a wall: `along` and the
    /// extent averaged over are lengths, `scale` is tiles per length.
    pub(super) fn strip(&self, along: f32, scale: f32, extent: f32) -> Strip<'_> {
        let level = self.level(extent * scale);
        let side = self.size >> level;
        let first = self.starts[level];
        Strip {
            texels: &self.texels[first..first + side * side],
            side,
            column: texel_at(along * scale, side),
            scale,
        }
    }

    #[inline]
    fn level(&self, footprint: f32) -> usize {
        // Twice the footprint, since four samples share a pixel. Its exponent is the level: no logarithm.
        let texels = 2.0 * footprint * self.size as f32;
        (((texels.to_bits() >> 23) as i32) - 127).clamp(0, self.starts.len() as i32 - 1) as usize
    }
}

/// A column of texels of one mip level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strip<'a> {
    texels: &'a [[u8; 4]],
    side: usize,
    column: usize,
    scale: f32,
}

impl Strip<'_> {
    /// The colour at a height (a length).
    #[inline]
    pub fn sample(&self, height: f32) -> Colour {
        self.texels[texel_at(height * self.scale, self.side) * self.side + self.column].map(f32::from)
    }
}

/// The texel that holds a coordinate given in tiles.
#[inline]
fn texel_at(tiles: f32, side: usize) -> usize {
    // Shifted by whole tiles, so that cutting off the fraction rounds down (`floor` is a function
    // call on the oldest processors); `as` saturates, so absurd coordinates stay inside the tile.
    ((tiles + 1024.0) * side as f32) as i32 as usize & (side - 1)
}

fn to_byte(value: f32) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}

fn halve(level: &[[f32; 3]], side: usize) -> Vec<[f32; 3]> {
    let half = side / 2;
    (0..half * half)
        .map(|i| {
            let corner = i / half * 2 * side + i % half * 2;
            let four = [corner, corner + 1, corner + side, corner + side + 1];
            std::array::from_fn(|k| four.iter().map(|&at| level[at][k]).sum::<f32>() / 4.0)
        })
        .collect()
}

/// Smooth repeating noise in [0, 1]: random values on a grid of `cells` x `cells` points a tile,
/// interpolated. The same arguments give the same noise for ever.
pub fn noise(u: f32, v: f32, cells: u32, seed: u32) -> f32 {
    let (x, y) = (u.rem_euclid(1.0) * cells as f32, v.rem_euclid(1.0) * cells as f32);
    let (column, row) = (x as u32, y as u32);
    let smooth = |t: f32| t * t * (3.0 - 2.0 * t);
    let (fx, fy) = (smooth(x - column as f32), smooth(y - row as f32));
    let value = |dx: u32, dy: u32| lattice((column + dx) % cells, (row + dy) % cells, seed);
    let top = value(0, 0) * (1.0 - fx) + value(1, 0) * fx;
    let bottom = value(0, 1) * (1.0 - fx) + value(1, 1) * fx;
    top * (1.0 - fy) + bottom * fy
}

/// A fixed random number in [0, 1) for each point of an integer lattice.
pub fn lattice(x: u32, y: u32, seed: u32) -> f32 {
    let mut h = x.wrapping_mul(0x8da6_b343) ^ y.wrapping_mul(0xd816_3841) ^ seed.wrapping_mul(0xcb1a_b31f);
    h = (h ^ (h >> 15)).wrapping_mul(0x2c1b_3c6d);
    h = (h ^ (h >> 12)).wrapping_mul(0x297a_2d39);
    ((h ^ (h >> 15)) >> 8) as f32 / (1 << 24) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_away_a_checkerboard_is_grey() {
        let board = Texture::paint(64, |u, v| {
            [if ((u * 8.0) as i32 + (v * 8.0) as i32) % 2 == 0 { 200.0 } else { 100.0 }; 3]
        });
        assert_eq!(board.sample(0.01, 0.01, 0.001)[..3], [200.0; 3]);
        assert_eq!(board.sample(0.01 + 0.125, 0.01, 0.001)[..3], [100.0; 3]);
        assert_eq!(board.sample(0.3, 0.7, 0.5)[..3], [150.0; 3]);
        assert_eq!(board.mean(), [150.0; 3]);
    }

    #[test]
    fn repeats_and_survives_absurd_coordinates() {
        let texture = Texture::paint(16, |u, v| [u * 255.0, v * 255.0, 0.0]);
        assert_eq!(texture.sample(0.3, 0.6, 0.0), texture.sample(-2.7, 5.6, 0.0));
        for value in [f32::NAN, f32::INFINITY, -1e30] {
            texture.sample(value, value, value);
        }
    }

    #[test]
    fn the_mean_can_be_chosen() {
        let texture =
            Texture::paint(32, |u, v| [255.0 * noise(u, v, 4, 1); 3]).with_mean([80.0, 120.0, 40.0]);
        let mean = texture.mean();
        assert!(
            (mean[0] - 80.0).abs() <= 1.0 && (mean[1] - 120.0).abs() <= 1.0 && (mean[2] - 40.0).abs() <= 1.0
        );
    }
}
