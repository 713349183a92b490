//! The exact Euclidean distance transform of Felzenszwalb & Huttenlocher (2012): lower envelopes of parabolas.

/// Squared distance of every pixel to the nearest one that `is_set`, in pixels, between centres; infinite
/// where there is none at all. Pixel (x, y) is number `x * height + y`.
pub fn squared_distances(width: usize, height: usize, is_set: impl Fn(usize) -> bool) -> Vec<f64> {
    let at_first = |pixel| if is_set(pixel) { 0.0 } else { f64::INFINITY };
    let mut squares: Vec<f64> = (0..width * height).map(at_first).collect();
    let mut envelope = Envelope::default();
    let mut line = vec![0.0; width];
    for column in squares.chunks_exact_mut(height.max(1)) {
        envelope.transform(column);
    }
    for y in 0..height {
        line.iter_mut().enumerate().for_each(|(x, value)| *value = squares[x * height + y]);
        envelope.transform(&mut line);
        line.iter().enumerate().for_each(|(x, value)| squares[x * height + y] = *value);
    }
    squares
}

/// Parabolas `height + (q - apex)²` that are lowest somewhere, from left to right.
#[derive(Default)]
struct Envelope {
    parabolas: Vec<Parabola>,
}

#[derive(Clone, Copy)]
struct Parabola {
    apex: f64,
    height: f64,
    /// From here on it is the lowest.
    from: f64,
}

impl Envelope {
    /// Replaces `f(q)` by the least `f(p) + (q - p)²` over all p.
    fn transform(&mut self, line: &mut [f64]) {
        self.parabolas.clear();
        for (place, &height) in line.iter().enumerate().filter(|(_, height)| height.is_finite()) {
            self.add(place as f64, height);
        }
        if self.parabolas.is_empty() {
            return;
        }
        let mut lowest = 0;
        for (place, value) in line.iter_mut().enumerate() {
            let place = place as f64;
            while self.parabolas.get(lowest + 1).is_some_and(|next| next.from <= place) {
                lowest += 1;
            }
            let Parabola { apex, height, .. } = self.parabolas[lowest];
            *value = height + (place - apex).powi(2);
        }
    }

    /// Adds one whose apex is to the right of all others; those it hides are gone.
    fn add(&mut self, apex: f64, height: f64) {
        let mut from = f64::NEG_INFINITY;
        while let Some(last) = self.parabolas.last() {
            // Where both are equally high.
            from = (height + apex * apex - last.height - last.apex * last.apex) / (2.0 * (apex - last.apex));
            if from > last.from {
                break;
            }
            self.parabolas.pop();
            from = f64::NEG_INFINITY;
        }
        self.parabolas.push(Parabola { apex, height, from });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// All pixels against all others, in grids from a single line to a square, from empty to full.
    #[test]
    fn agrees_with_looking_at_every_pixel() {
        let mut random = Random::new(5);
        for (width, height) in [(1, 1), (1, 30), (30, 1), (17, 23), (40, 31)] {
            for share in [0.0, 0.003, 0.05, 0.5, 1.0] {
                let set: Vec<bool> = (0..width * height).map(|_| random.chance(share)).collect();
                let found = squared_distances(width, height, |pixel| set[pixel]);
                for (pixel, &square) in found.iter().enumerate() {
                    let apart = |other: usize| {
                        let dx = (pixel / height).abs_diff(other / height);
                        let dy = (pixel % height).abs_diff(other % height);
                        (dx * dx + dy * dy) as f64
                    };
                    let others = (0..set.len()).filter(|&other| set[other]);
                    let expected = others.map(apart).fold(f64::INFINITY, f64::min);
                    assert_eq!(square, expected, "pixel {pixel} of {width} x {height}, share {share}");
                }
            }
        }
    }

    #[test]
    fn nothing_has_no_distances() {
        assert!(squared_distances(0, 0, |_| true).is_empty());
        assert!(squared_distances(3, 0, |_| true).is_empty());
    }
}
