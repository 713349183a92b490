//! Joins CRC-32 checksums, so that a header can be rewritten after its data went by.

/// The reversed CRC-32 polynomial; in this notation bit 31 stands for x^0.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// The checksum of a text whose first part has the checksum `head` and whose other `length` bytes
/// have the checksum `tail`: head · x^(8·length) + tail over GF(2), modulo the polynomial.
pub(super) fn joined(head: u32, tail: u32, length: u64) -> u32 {
    let mut shifted = head;
    let mut power = 1 << (31 - 8);
    let mut remaining = length;
    while remaining > 0 {
        if remaining & 1 == 1 {
            shifted = product(shifted, power);
        }
        power = product(power, power);
        remaining >>= 1;
    }
    shifted ^ tail
}

fn product(mut a: u32, mut b: u32) -> u32 {
    let mut sum = 0;
    while a != 0 {
        if a & 0x8000_0000 != 0 {
            sum ^= b;
        }
        a <<= 1;
        b = (b >> 1) ^ if b & 1 == 1 { POLYNOMIAL } else { 0 };
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Crc;

    fn crc(bytes: &[u8]) -> u32 {
        let mut crc = Crc::new();
        crc.update(bytes);
        crc.sum()
    }

    #[test]
    fn equals_the_checksum_of_the_whole() {
        let text: Vec<u8> = (0..70_001_u32).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect();
        for cut in [0, 1, 2, 64, 128, 4096, 69_999, 70_001] {
            let (head, tail) = text.split_at(cut);
            assert_eq!(joined(crc(head), crc(tail), tail.len() as u64), crc(&text), "{cut}");
        }
    }
}
