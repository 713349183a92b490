//! Cosines and sines of many angles at once.

use crate::Cpu;
use crate::cpu::Work;
use crate::exponential::ROUNDER;

/// π / 2 in three parts, the first two with few bits, so that products with whole numbers are exact (Cody & Waite).
const QUARTER: [f32; 3] = [1.570_312_5, 4.837_513e-4, 7.549_79e-8];
/// (sin r - r) / r³ and (cos r - 1 + r² / 2) / r⁴ for |r| ≤ π / 4 (Cephes, Moshier 1989).
const SINE: [f32; 3] = [-1.951_529_6e-4, 8.332_161e-3, -0.166_666_55];
const COSINE: [f32; 3] = [2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2];

/// Cosine and sine within 1e-6 for angles up to some thousands of turns.
#[inline(always)]
pub fn cos_sin(angle: f32) -> [f32; 2] {
    // angle = n π / 2 + r.
    let shifted = angle * std::f32::consts::FRAC_2_PI + ROUNDER;
    let n = shifted - ROUNDER;
    let r = angle - n * QUARTER[0] - n * QUARTER[1] - n * QUARTER[2];
    let square = r * r;
    let sine = SINE.iter().fold(0.0, |sum, c| sum * square + c) * square * r + r;
    let cosine = COSINE.iter().fold(0.0, |sum, c| sum * square + c) * square * square - 0.5 * square + 1.0;
    let quadrant = shifted.to_bits();
    let [cosine, sine] = if quadrant & 1 == 0 { [cosine, sine] } else { [sine, cosine] };
    let flip = |x: f32, sign: u32| f32::from_bits(x.to_bits() ^ ((sign & 2) << 30));
    [flip(cosine, quadrant.wrapping_add(1)), flip(sine, quadrant)]
}

/// The same angle from -π to π.
#[inline(always)]
pub fn wrapped(angle: f32) -> f32 {
    let turns = angle * (0.5 * std::f32::consts::FRAC_1_PI) + ROUNDER - ROUNDER;
    angle - turns * (4.0 * QUARTER[0]) - turns * (4.0 * QUARTER[1]) - turns * (4.0 * QUARTER[2])
}

/// Cosines and sines of angles, of which there are as many.
pub fn turn(cpu: Cpu, angles: &[f32], [cosines, sines]: [&mut [f32]; 2]) {
    cpu.run(Turn { angles, cosines, sines });
}

struct Turn<'a> {
    angles: &'a [f32],
    cosines: &'a mut [f32],
    sines: &'a mut [f32],
}

impl Work for Turn<'_> {
    #[inline(always)]
    fn run(self) {
        for ((angle, cosine), sine) in self.angles.iter().zip(self.cosines).zip(self.sines) {
            [*cosine, *sine] = cos_sin(*angle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against 64 bits, over a hundred turns either way and at quarters of turns.
    #[test]
    fn cosines_and_sines() {
        let quarters = (-400_i16..400).map(|n| f32::from(n) * std::f32::consts::FRAC_PI_2);
        let angles: Vec<f32> =
            (-60_000_i32..60_000).map(|k| k as f32 * 0.010_37).chain(quarters).chain([0.0, -0.0]).collect();
        for cpu in Cpu::all() {
            let (mut cosines, mut sines) = (vec![0.0; angles.len()], vec![0.0; angles.len()]);
            turn(cpu, &angles, [&mut cosines, &mut sines]);
            for ((&angle, cosine), sine) in angles.iter().zip(&cosines).zip(&sines) {
                let (exact_sine, exact_cosine) = f64::from(angle).sin_cos();
                let error =
                    (f64::from(*cosine) - exact_cosine).abs().max((f64::from(*sine) - exact_sine).abs());
                assert!(error < 1e-6, "{angle}: {cosine} {sine}");
            }
        }
    }

    #[test]
    fn the_same_angle_within_a_turn() {
        for k in -1000..1000 {
            let angle = k as f32 * 0.137;
            let found = wrapped(angle);
            assert!(found.abs() < 3.141_594, "{angle} {found}");
            let turns = f64::from(angle - found) / std::f64::consts::TAU;
            assert!((turns - turns.round()).abs() < 1e-5, "{angle} {found}");
        }
        assert!(cos_sin(f32::NAN)[0].is_nan() && cos_sin(f32::INFINITY)[1].is_nan());
    }
}
