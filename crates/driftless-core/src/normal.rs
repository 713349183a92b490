//! Standard normal numbers, many at once, each named by a seed and its place: no thread changes them.

use crate::Cpu;
use crate::angles::cos_sin;
use crate::cpu::Work;

/// Numbers made at once, of the same counter: the first half cosines, the second half sines.
const BLOCK: usize = 64;

/// Writes the numbers with these places and those after them, by Box and Muller's rule.
///
/// Places count in blocks of 64, so that any block can be made alone.
pub fn fill_normal(cpu: Cpu, seed: u64, block: u64, numbers: &mut [f32]) {
    cpu.run(Fill { seed, block, numbers });
}

/// A number from 0 to 1, named by a seed and a place.
pub fn uniform(seed: u64, place: u64) -> f32 {
    (mixed(seed, place) >> 40) as f32 * 2.0_f32.powi(-24)
}

struct Fill<'a> {
    seed: u64,
    block: u64,
    numbers: &'a mut [f32],
}

impl Work for Fill<'_> {
    #[inline(always)]
    fn run(self) {
        for (number, chunk) in self.numbers.chunks_mut(BLOCK).enumerate() {
            let block = normal_block(self.seed, self.block + number as u64);
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
    }
}

#[inline(always)]
fn normal_block(seed: u64, block: u64) -> [f32; BLOCK] {
    let mut numbers = [0.0; BLOCK];
    let (cosines, sines) = numbers.split_at_mut(BLOCK / 2);
    for (k, (cosine, sine)) in cosines.iter_mut().zip(sines).enumerate() {
        let bits = mixed(seed, block * (BLOCK as u64 / 2) + k as u64);
        // From 2⁻³³ to 1, never 0; and an angle from -π to π.
        let u = ((bits >> 32) as u32 as f32 + 0.5) * 2.0_f32.powi(-32);
        let angle = (bits as u32 as i32 >> 8) as f32 * (std::f32::consts::PI * 2.0_f32.powi(-23));
        let radius = (-2.0 * ln(u)).max(0.0).sqrt();
        let [c, s] = cos_sin(angle);
        (*cosine, *sine) = (radius * c, radius * s);
    }
    numbers
}

/// `SplitMix64` (Steele, Lea & Flood 2014) at any place of its sequence.
#[inline(always)]
fn mixed(seed: u64, place: u64) -> u64 {
    let mut z = seed.wrapping_add(place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// (ln(1 + r) - r + r² / 2) / r³ for 1 + r from √½ to √2 (Cephes, Moshier 1989).
const SERIES: [f32; 9] = [
    7.037_683_6e-2,
    -0.115_146_1,
    0.116_769_98,
    -0.124_201_41,
    0.142_493_23,
    -0.166_680_57,
    0.200_007_14,
    -0.249_999_94,
    0.333_333_3,
];

/// ln x of a normal number above 0, within 1e-6 of it or of 1.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    // x = 2ⁿ m with m from √½ to √2: the bits of √½ taken away, the exponent counts from there.
    let bits = x.to_bits().wrapping_sub(0x3f35_04f3);
    let n = (bits as i32 >> 23) as f32;
    let m = f32::from_bits((bits & 0x007f_ffff).wrapping_add(0x3f35_04f3));
    let r = m - 1.0;
    let square = r * r;
    let series = SERIES.iter().fold(0.0, |sum, c| sum * r + c) * r * square;
    series - 0.5 * square + r + n * std::f32::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms() {
        for k in 1..200_000_u32 {
            let x = k as f32 * 5.1e-6;
            let exact = f64::from(x).ln();
            assert!((f64::from(ln(x)) - exact).abs() < 1e-6 * (1.0 + exact.abs()), "{x}: {} {exact}", ln(x));
        }
        assert!((f64::from(ln(2.0_f32.powi(-33))) + 33.0 * std::f64::consts::LN_2).abs() < 1e-5);
    }

    /// Moments within five standard errors, and the shares below -2, -1, 0, 1 and 3.5 deviations.
    #[test]
    fn numbers_are_normal() {
        for cpu in Cpu::all() {
            let count = 1 << 20;
            let mut numbers = vec![0.0; count];
            fill_normal(cpu, 7, 1000, &mut numbers);
            let mean =
                |f: &dyn Fn(f64) -> f64| numbers.iter().map(|&x| f(f64::from(x))).sum::<f64>() / count as f64;
            let error = 5.0 / (count as f64).sqrt();
            assert!(mean(&|x| x).abs() < error);
            assert!((mean(&|x| x * x) - 1.0).abs() < error * 2.0_f64.sqrt());
            assert!(mean(&|x| x.powi(3)).abs() < error * 15.0_f64.sqrt());
            assert!((mean(&|x| x.powi(4)) - 3.0).abs() < error * 96.0_f64.sqrt());
            let below =
                [(-2.0, 0.022_750), (-1.0, 0.158_655), (0.0, 0.5), (1.0, 0.841_345), (3.5, 0.999_767)];
            for (limit, share) in below {
                let found = mean(&|x| f64::from(u8::from(x < limit)));
                assert!(
                    (found - share).abs() < error * (share * (1.0_f64 - share)).sqrt(),
                    "{limit}: {found}"
                );
            }
            // Neighbours, and the two numbers of one draw, have nothing to do with each other.
            for apart in [1, BLOCK / 2, BLOCK] {
                let products = numbers.iter().zip(&numbers[apart..]).map(|(a, b)| f64::from(a * b));
                let correlation = products.sum::<f64>() / (count - apart) as f64;
                assert!(correlation.abs() < error, "{apart} apart: {correlation}");
            }
        }
    }

    /// Any part of the sequence is the same made alone, and other seeds are others.
    #[test]
    fn named_by_seed_and_place() {
        let mut all = [0.0; 5 * BLOCK];
        fill_normal(Cpu::best(), 3, 10, &mut all);
        let mut part = [0.0; BLOCK + 5];
        fill_normal(Cpu::best(), 3, 12, &mut part);
        assert_eq!(part, all[2 * BLOCK..3 * BLOCK + 5]);
        fill_normal(Cpu::best(), 4, 12, &mut part);
        assert_ne!(part, all[2 * BLOCK..3 * BLOCK + 5]);
        assert!((0..1000).all(|k| (0.0..1.0).contains(&uniform(5, k))));
    }
}
