//! Bilinear resizing in the manner of OpenCV's `INTER_LINEAR`.

/// Resizes one image of `from` = (height, width) to `to`, channels last.
///
/// Pixel centres lie at half-integers, so output row i looks at `(i + 0.5) * from / to - 0.5`; beyond
/// the outermost centres the edge is repeated; nothing is averaged when shrinking, as in OpenCV.
/// The result is rounded to whole numbers. OpenCV computes 8-bit images in 11-bit fixed point and may
/// differ by one grey level.
pub fn resize_bilinear<T: Copy + Into<f32>>(
    pixels: &[T],
    from: (usize, usize),
    to: (usize, usize),
    channels: usize,
) -> Vec<f32> {
    assert_eq!(pixels.len(), from.0 * from.1 * channels, "pixels of another size");
    let rows: Vec<Blend> = (0..to.0).map(|row| Blend::new(row, from.0, to.0)).collect();
    let columns: Vec<Blend> = (0..to.1).map(|column| Blend::new(column, from.1, to.1)).collect();
    let at = |row: usize, column: usize, channel: usize| -> f32 {
        pixels[(row * from.1 + column) * channels + channel].into()
    };
    let mut resized = Vec::with_capacity(to.0 * to.1 * channels);
    for row in &rows {
        for column in &columns {
            for channel in 0..channels {
                let upper = column.mix(at(row.low, column.low, channel), at(row.low, column.high, channel));
                let lower = column.mix(at(row.high, column.low, channel), at(row.high, column.high, channel));
                resized.push(row.mix(upper, lower).round());
            }
        }
    }
    resized
}

/// Which two input rows (or columns) make an output row, and how much of the second.
struct Blend {
    low: usize,
    high: usize,
    weight: f32,
}

impl Blend {
    fn new(output: usize, from: usize, to: usize) -> Self {
        let position = (output as f64 + 0.5) * from as f64 / to as f64 - 0.5;
        let position = position.clamp(0.0, (from - 1) as f64);
        let low = position as usize;
        Self { low, high: (low + 1).min(from - 1), weight: (position - low as f64) as f32 }
    }

    fn mix(&self, first: f32, second: f32) -> f32 {
        first + (second - first) * self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_an_image_of_the_right_size() {
        let pixels: Vec<u8> = (0..24).map(|i| i * 10).collect();
        let expected: Vec<f32> = pixels.iter().map(|&p| f32::from(p)).collect();
        assert_eq!(resize_bilinear(&pixels, (2, 4), (2, 4), 3), expected);
    }

    /// Halving averages pairs; doubling mixes 3:1 and repeats the edge: worked out by hand.
    #[test]
    fn pixel_centres_lie_at_halves() {
        assert_eq!(resize_bilinear(&[0_u8, 100, 40, 60], (1, 4), (1, 2), 1), [50.0, 50.0]);
        assert_eq!(resize_bilinear(&[0_u8, 100], (2, 1), (4, 1), 1), [0.0, 25.0, 75.0, 100.0]);
        // Shrinking threefold looks at the middle pixel only.
        assert_eq!(resize_bilinear(&[9_u8, 50, 9, 9, 70, 9], (1, 6), (1, 2), 1), [50.0, 70.0]);
    }

    /// Where nothing is clamped, a plane stays a plane.
    #[test]
    fn reproduces_a_plane() {
        let (height, width) = (90, 120);
        let plane: Vec<u16> =
            (0..height * width).map(|i| 100 * (i / width) as u16 + 7 * (i % width) as u16).collect();
        let resized = resize_bilinear(&plane, (height, width), (56, 56), 1);
        for (i, &value) in resized.iter().enumerate() {
            let y = ((i / 56) as f64 + 0.5) * 90.0 / 56.0 - 0.5;
            let x = ((i % 56) as f64 + 0.5) * 120.0 / 56.0 - 0.5;
            assert!((f64::from(value) - (100.0 * y + 7.0 * x)).abs() <= 0.51, "{i}");
        }
    }
}
