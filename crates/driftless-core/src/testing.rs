//! Numbers for tests.

/// Numbers between -1 and 1 without a pattern.
pub(crate) fn numbers(count: usize, salt: u64) -> Vec<f32> {
    let mix = |i: u64| {
        let mut x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt.wrapping_mul(0xd134_2543_de82_ef95);
        x ^= x >> 29;
        x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    (0..count as u64).map(mix).collect()
}
