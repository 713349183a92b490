//! The bytes of a zip archive's headers, as the writer puts them down.

use super::{CENTRAL_HEADER, END, END_64, END_64_LOCATOR, LOCAL_HEADER, Method, ZIP64_EXTRA};

/// Version 4.5 of the format, the first with 64-bit sizes.
const VERSION: u16 = 45;
/// 1980-01-01, the format's zero: the same data gives the same bytes on any day.
const DATE: u16 = 0x21;

/// A finished entry.
pub(super) struct Written {
    pub name: String,
    pub method: Method,
    pub checksum: u32,
    pub packed: u64,
    pub size: u64,
    pub header: u64,
}

/// Always with 64-bit sizes, as numpy writes them: nobody knows yet how long the entry will be.
pub(super) fn local_header(name: &str, method: Method) -> Vec<u8> {
    let mut bytes = LOCAL_HEADER.to_le_bytes().to_vec();
    for field in [VERSION, 0, method.code(), 0, DATE] {
        bytes.extend(field.to_le_bytes());
    }
    bytes.extend([0; 4]);
    bytes.extend([0xff; 8]);
    bytes.extend((name.len() as u16).to_le_bytes());
    bytes.extend(20_u16.to_le_bytes());
    bytes.extend(name.as_bytes());
    bytes.extend(ZIP64_EXTRA.to_le_bytes());
    bytes.extend(16_u16.to_le_bytes());
    bytes.extend([0; 16]);
    bytes
}

/// An entry's line in the table of contents.
pub(super) fn central_header(entry: &Written) -> Vec<u8> {
    let wide: Vec<u8> = [entry.size, entry.packed, entry.header]
        .into_iter()
        .filter(|&number| number >= u64::from(u32::MAX))
        .flat_map(u64::to_le_bytes)
        .collect();
    let extra_length = if wide.is_empty() { 0 } else { 4 + wide.len() as u16 };
    let mut bytes = CENTRAL_HEADER.to_le_bytes().to_vec();
    for field in [3 << 8 | VERSION, VERSION, 0, entry.method.code(), 0, DATE] {
        bytes.extend(field.to_le_bytes());
    }
    bytes.extend(entry.checksum.to_le_bytes());
    bytes.extend(narrow(entry.packed));
    bytes.extend(narrow(entry.size));
    bytes.extend((entry.name.len() as u16).to_le_bytes());
    bytes.extend(extra_length.to_le_bytes());
    bytes.extend([0; 6]);
    bytes.extend((0o600_u32 << 16).to_le_bytes());
    bytes.extend(narrow(entry.header));
    bytes.extend(entry.name.as_bytes());
    if !wide.is_empty() {
        bytes.extend(ZIP64_EXTRA.to_le_bytes());
        bytes.extend((wide.len() as u16).to_le_bytes());
        bytes.extend(wide);
    }
    bytes
}

/// The 64-bit end of the table of contents, and the record that says where it is.
pub(super) fn end_64(entries: u64, size: u64, start: u64) -> Vec<u8> {
    let mut bytes = END_64.to_le_bytes().to_vec();
    bytes.extend(44_u64.to_le_bytes());
    bytes.extend(VERSION.to_le_bytes().repeat(2));
    bytes.extend([0; 8]);
    for number in [entries, entries, size, start] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(END_64_LOCATOR.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend((start + size).to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes
}

/// The end of the table of contents, up to the comment.
pub(super) fn end(entries: u64, size: u64, start: u64) -> Vec<u8> {
    let mut bytes = END.to_le_bytes().to_vec();
    bytes.extend([0; 4]);
    bytes.extend(u16::try_from(entries).unwrap_or(u16::MAX).to_le_bytes().repeat(2));
    bytes.extend(narrow(size));
    bytes.extend(narrow(start));
    bytes
}

/// The number in 32 bits, or the mark that says "look in the 64-bit field".
fn narrow(number: u64) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::directory::take_entry;
    use super::*;

    /// Sizes beyond 4 GiB survive the table of contents, each in the place the format gives it.
    #[test]
    fn large_numbers_go_into_the_64_bit_field() {
        let (small, large) = (77, 5 << 30);
        for [size, packed, header] in
            [[large, small, small], [small, small, large + 1], [large, large + 2, large + 1], [small; 3]]
        {
            let name = "big.npy".to_owned();
            let written = Written { name, method: Method::Deflated, checksum: 9, packed, size, header };
            let bytes = central_header(&written);
            let mut rest = bytes.as_slice();
            let entry = take_entry(&mut rest).unwrap();
            assert_eq!((entry.size, entry.packed, entry.header), (size, packed, header));
            assert!(rest.is_empty());
        }
    }
}
