//! Random numbers from one seed: small, fast, and the same for ever on every machine.
//!
//! An own generator rather than a crate's, because data sets are named by their seed: an upgrade
//! of a dependency must not change the bytes of a file.

/// xoshiro256++ (Blackman & Vigna 2019), seeded through SplitMix64.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
    spare: Option<f64>,
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// The generator named by `seed`.
    pub fn new(seed: u64) -> Self {
        let mut mixer = seed;
        Self { state: std::array::from_fn(|_| splitmix(&mut mixer)), spare: None }
    }

    /// An independent generator for item `index` of the work named by `seed`: episodes can be made
    /// in any order, by any number of threads, and stay the same.
    pub fn stream(seed: u64, index: u64) -> Self {
        let mut mixer = seed ^ 0x5851_f42d_4c95_7f2d;
        let mixed = splitmix(&mut mixer);
        Self::new(mixed ^ index.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// Where it stands.
    pub(crate) fn position(&self) -> ([u64; 4], Option<f64>) {
        (self.state, self.spare)
    }

    /// One that stands there; `None` where none ever does.
    pub(crate) fn at(state: [u64; 4], spare: Option<f64>) -> Option<Self> {
        (state != [0; 4] && spare.is_none_or(f64::is_finite)).then_some(Self { state, spare })
    }

    /// 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform in [low, high).
    pub fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform in 0..n, without modulo bias (Lemire 2019). Returns 0 for n = 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            let low = product as u64;
            if low >= n || low >= n.wrapping_neg() % n.max(1) {
                return (product >> 64) as usize;
            }
        }
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Standard normal (polar method).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (u, v) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                let scale = (-2.0 * s.ln() / s).sqrt();
                self.spare = Some(v * scale);
                return u * scale;
            }
        }
    }

    /// Shuffles in place (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs of the published C code for state (1, 2, 3, 4).
    #[test]
    fn agrees_with_the_reference_implementation() {
        let mut random = Random { state: [1, 2, 3, 4], spare: None };
        let first: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223]);
    }

    #[test]
    fn moments_are_right() {
        let mut random = Random::new(7);
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / n as f64;
        // Five standard errors: 1/sqrt(n) for the mean, sqrt(2/n) for the variance.
        assert!(mean.abs() < 5.0 / (n as f64).sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 5.0 * (2.0 / n as f64).sqrt(), "{variance}");
        let counts = (0..n).fold([0_usize; 3], |mut counts, _| {
            counts[random.below(3)] += 1;
            counts
        });
        let spread = (n as f64 * 2.0 / 9.0).sqrt();
        assert!(counts.iter().all(|&c| (c as f64 - n as f64 / 3.0).abs() < 5.0 * spread), "{counts:?}");
    }

    #[test]
    fn streams_differ_and_repeat() {
        let draw = |seed, index| Random::stream(seed, index).bits();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
        assert_eq!(Random::new(1).below(1), 0);
    }
}
