//! Single elements of an array: bytes of any type and order become numbers.

use crate::files::npy::{Dtype, Kind};

/// The element's bytes as the low end of a 64-bit integer.
fn raw(bytes: &[u8], dtype: Dtype) -> u64 {
    let push = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
    if dtype.big_endian { bytes.iter().fold(0, push) } else { bytes.iter().rev().fold(0, push) }
}

fn signed(raw: u64, size: usize) -> i64 {
    let unused = 64 - 8 * size as u32;
    (raw << unused) as i64 >> unused
}

/// An integer, unless it is beyond 2^63.
pub(super) fn as_i64(bytes: &[u8], dtype: Dtype) -> Option<i64> {
    let raw = raw(bytes, dtype);
    match dtype.kind {
        Kind::Int => Some(signed(raw, dtype.size)),
        _ => i64::try_from(raw).ok(),
    }
}

/// The nearest 64-bit float.
pub(super) fn as_f64(bytes: &[u8], dtype: Dtype) -> f64 {
    let raw = raw(bytes, dtype);
    match (dtype.kind, dtype.size) {
        (Kind::Float, 8) => f64::from_bits(raw),
        (Kind::Float, 4) => f64::from(f32::from_bits(raw as u32)),
        (Kind::Float, _) => from_half(raw as u16),
        (Kind::Int, size) => signed(raw, size) as f64,
        (Kind::Uint, _) => raw as f64,
        (Kind::Bool, _) => f64::from(u8::from(raw != 0)),
    }
}

/// IEEE half precision: 1 sign, 5 exponent and 10 fraction bits.
fn from_half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2.0_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2.0_f64.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_becomes_the_number_it_means() {
        for (dtype, data, expected) in [
            ("<i2", vec![0xfe, 0xff], -2.0),
            (">i2", vec![0xff, 0xfe], -2.0),
            ("|i1", vec![0x80], -128.0),
            ("<u4", vec![1, 0, 0, 0x80], 2_147_483_649.0),
            (">f4", 1.5_f32.to_be_bytes().to_vec(), 1.5),
            ("<f8", (-0.1_f64).to_le_bytes().to_vec(), -0.1),
            ("|b1", vec![1], 1.0),
            ("<f2", vec![0x00, 0x3c], 1.0),
            ("<f2", vec![0xff, 0x7b], 65504.0),
            ("<f2", vec![0x01, 0x80], -(2.0_f64.powi(-24))),
            ("<f2", vec![0x00, 0xfc], f64::NEG_INFINITY),
            ("<u8", vec![0xff; 8], 18_446_744_073_709_551_615.0),
        ] {
            assert_eq!(as_f64(&data, Dtype::parse(dtype).unwrap()), expected, "{dtype}");
        }
        assert!(as_f64(&[1, 0x7e], Dtype::parse("<f2").unwrap()).is_nan());
    }
}
