//! Systematic draws, each part of the particles by itself.

/// Weights, and how they sum up before each part.
pub(super) struct Drawing<'a> {
    pub(super) weights: &'a [f32],
    /// Sums of the weights of all parts before each, and of all at the end.
    pub(super) below: &'a [f64],
    /// Particles of a part.
    pub(super) size: usize,
    /// Of all markers, from 0 to 1.
    pub(super) offset: f32,
}

impl Drawing<'_> {
    /// Ancestors of the particles of a part, as [`Scheme::Systematic`] draws them: the first whose cumulated weight
    /// exceeds (i + offset) / N of the whole.
    ///
    /// [`Scheme::Systematic`]: driftless_core::resample::Scheme::Systematic
    pub(super) fn draw(&self, part: usize, ancestors: &mut [u32]) {
        let (whole, count) = (self.below[self.below.len() - 1], self.weights.len());
        let (step, first) = (whole / count as f64, part * self.size);
        let marker = |i: usize| ((first + i) as f64 + f64::from(self.offset)) * step;
        // Rounding may push a marker beyond the end: the last particle with weight is meant.
        let last = self.weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
        // The part that the first marker falls into: sums begin there.
        let mut from = self.below[1..].partition_point(|&below| below <= marker(0)).min(self.below.len() - 2);
        let mut at = from * self.size;
        let mut sum = self.below[from] + f64::from(self.weights[at]);
        for (i, ancestor) in ancestors.iter_mut().enumerate() {
            let marker = marker(i);
            while sum <= marker && at < last {
                at += 1;
                if at == (from + 1) * self.size {
                    from += 1;
                    sum = self.below[from];
                }
                sum += f64::from(self.weights[at]);
            }
            *ancestor = at as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::numbers;
    use driftless_core::resample::Scheme;

    /// Parts of any size draw as all at once do; weights are sums of halves, so that sums are exact. Equal weights have
    /// markers that meet the borders of parts.
    #[test]
    fn parts_draw_as_one() {
        let sizes = [(1, 1), (7, 3), (100, 64), (1000, 64), (1000, 1000), (640, 64)];
        for ((count, size), equal) in sizes.into_iter().flat_map(|sizes| [(sizes, false), (sizes, true)]) {
            let halves = |x: f32| if x < 0.3 { 0.0 } else { (8.0 * x).round() / 2.0 };
            let mut weights: Vec<f32> = numbers(count, 5).into_iter().map(halves).collect();
            weights[count / 2] = 3.0;
            if equal {
                weights.fill(0.5);
            }
            let mut below = vec![0.0];
            for part in weights.chunks(size) {
                below.push(below[below.len() - 1] + part.iter().map(|&w| f64::from(w)).sum::<f64>());
            }
            for offset in [0.0, 0.37, 0.999] {
                let mut expected = Vec::new();
                Scheme::Systematic.ancestors(&weights, count, || f64::from(offset), &mut expected);
                let drawing = Drawing { weights: &weights, below: &below, size, offset };
                let mut found = vec![0; count];
                for (part, own) in found.chunks_mut(size).enumerate() {
                    drawing.draw(part, own);
                }
                assert_eq!(found, expected, "{count} in parts of {size}");
            }
        }
    }
}
