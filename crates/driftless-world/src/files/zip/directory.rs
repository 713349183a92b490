//! The table of contents at a zip archive's end, with its 64-bit variant.

use super::{CENTRAL_HEADER, END, END_64, END_64_LOCATOR, Fields, LOCAL_HEADER, Method, ZIP64_EXTRA};
use crate::error::{Error, Result};
use crate::files::source::Source;
use std::collections::HashSet;

/// More arrays than anybody saves; keeps a hostile table of contents from filling memory.
const MOST_ENTRIES: u64 = 100_000;
const MOST_DIRECTORY_BYTES: u64 = 64 << 20;

/// One entry, with the place of its data already checked.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub name: String,
    pub method: Method,
    pub checksum: u32,
    pub packed: u64,
    pub size: u64,
    /// Where the entry's local header starts.
    pub header: u64,
    /// Where its data starts.
    pub data: u64,
}

/// Where the table of contents lies.
struct Place {
    entries: u64,
    offset: u64,
    size: u64,
}

pub(super) fn read(source: &Source) -> Result<(Vec<Entry>, Vec<u8>)> {
    let (end, place, comment) = find_end(source)?;
    if place.offset.checked_add(place.size).is_none_or(|after| after > end) {
        return Err(Error::new("the zip table of contents lies outside the file; the file is damaged"));
    }
    if place.entries > MOST_ENTRIES || place.size > MOST_DIRECTORY_BYTES {
        return Err(Error::new(format!(
            "claims {} zip entries; more than {MOST_ENTRIES} are not read",
            place.entries
        )));
    }
    let table = source.read_vec(place.offset, place.size)?;
    let mut rest = table.as_slice();
    let mut entries = Vec::new();
    for number in 0..place.entries {
        let mut entry =
            take_entry(&mut rest).map_err(|error| error.in_record(format!("zip entry {number}")))?;
        locate_data(source, &mut entry, place.offset).map_err(|error| error.in_field(&entry.name))?;
        entries.push(entry);
    }
    if !rest.is_empty() {
        return Err(Error::new("the zip table of contents holds more than it says; the file is damaged"));
    }
    check_names(&entries)?;
    check_overlaps(&entries)?;
    Ok((entries, comment))
}

/// Searches backwards for the record at the end; a comment of up to 65535 bytes may follow it.
fn find_end(source: &Source) -> Result<(u64, Place, Vec<u8>)> {
    let incomplete = || Error::new("is not a complete zip archive (npz file); it may be truncated");
    let tail_length = source.len().min(22 + 65_535);
    let tail_start = source.len() - tail_length;
    let tail = source.read_vec(tail_start, tail_length)?;
    let found = (0..(tail.len() + 1).saturating_sub(22)).rev().find(|&at| {
        let comment = u16::from_le_bytes([tail[at + 20], tail[at + 21]]) as usize;
        tail[at..at + 4] == END.to_le_bytes() && at + 22 + comment == tail.len()
    });
    let at = found.ok_or_else(incomplete)?;
    let mut fields = Fields(&tail[at + 4..]);
    let (disk, start_disk) = (fields.u16(), fields.u16());
    let (_, entries) = (fields.u16(), fields.u16());
    let (size, offset) = (fields.u32(), fields.u32());
    let comment = tail[at + 22..].to_vec();
    let end = tail_start + at as u64;
    let wide = entries == u16::MAX || size == u32::MAX || offset == u32::MAX;
    if wide && let Some((end, place)) = find_end_64(source, end)? {
        return Ok((end, place, comment));
    }
    if disk != 0 || start_disk != 0 {
        return Err(Error::new("is one part of a zip archive split over several disks"));
    }
    let place = Place { entries: entries.into(), offset: offset.into(), size: size.into() };
    Ok((end, place, comment))
}

/// The 64-bit record, if the locator before the ordinary one says that there is one.
fn find_end_64(source: &Source, end: u64) -> Result<Option<(u64, Place)>> {
    let Some(locator_at) = end.checked_sub(20) else { return Ok(None) };
    let locator = source.read_vec(locator_at, 20)?;
    let mut fields = Fields(&locator);
    if fields.u32() != END_64_LOCATOR {
        return Ok(None);
    }
    fields.skip(4);
    let at = fields.u64();
    if at.checked_add(56).is_none_or(|after| after > locator_at) {
        return Err(Error::new("the zip64 record lies outside the file; the file is damaged"));
    }
    let record = source.read_vec(at, 56)?;
    let mut fields = Fields(&record);
    if fields.u32() != END_64 {
        return Err(Error::new("the zip64 record is missing; the file is damaged"));
    }
    fields.skip(8 + 2 + 2 + 4 + 4 + 8);
    let (entries, size, offset) = (fields.u64(), fields.u64(), fields.u64());
    Ok(Some((at, Place { entries, offset, size })))
}

pub(super) fn take_entry(rest: &mut &[u8]) -> Result<Entry> {
    let damaged = || Error::new("the zip table of contents ends too early; the file is damaged");
    let (head, after) = rest.split_at_checked(46).ok_or_else(damaged)?;
    let mut fields = Fields(head);
    if fields.u32() != CENTRAL_HEADER {
        return Err(Error::new("does not start with a zip entry's signature; the file is damaged"));
    }
    fields.skip(4);
    let (flags, method) = (fields.u16(), fields.u16());
    fields.skip(4);
    let (checksum, packed, size) = (fields.u32(), fields.u32(), fields.u32());
    let lengths = [fields.u16(), fields.u16(), fields.u16()].map(usize::from);
    fields.skip(2 + 2 + 4);
    let header = fields.u32();
    let (name, after) = after.split_at_checked(lengths[0]).ok_or_else(damaged)?;
    let (extra, after) = after.split_at_checked(lengths[1]).ok_or_else(damaged)?;
    *rest = after.get(lengths[2]..).ok_or_else(damaged)?;
    let name = checked_name(name)?;
    if flags & 1 != 0 {
        return Err(Error::new("is encrypted; save it without a password").in_field(name));
    }
    let method = Method::from_code(method).map_err(|error| error.in_field(&name))?;
    let [size, packed, header] =
        widened([size, packed, header], extra).map_err(|error| error.in_field(&name))?;
    Ok(Entry { name, method, checksum, packed, size, header, data: 0 })
}

/// Replaces each number that did not fit into 32 bits by its 64-bit form from the extra field.
fn widened(narrow: [u32; 3], mut extra: &[u8]) -> Result<[u64; 3]> {
    let mut wide = narrow.map(u64::from);
    if !narrow.contains(&u32::MAX) {
        return Ok(wide);
    }
    while let Some((head, rest)) = extra.split_first_chunk::<4>() {
        let mut fields = Fields(head);
        let (kind, length) = (fields.u16(), usize::from(fields.u16()));
        let Some((body, rest)) = rest.split_at_checked(length) else { break };
        extra = rest;
        if kind != ZIP64_EXTRA {
            continue;
        }
        let mut body = body.chunks_exact(8);
        for number in wide.iter_mut().filter(|number| **number == u64::from(u32::MAX)) {
            let bytes = body.next().ok_or_else(|| Error::new("its zip64 field is too short"))?;
            *number = Fields(bytes).u64();
        }
        return Ok(wide);
    }
    // 4294967295 may also be the plain truth.
    Ok(wide)
}

fn checked_name(bytes: &[u8]) -> Result<String> {
    let name = std::str::from_utf8(bytes).map_err(|_| Error::new("has a name that is not UTF-8"))?;
    let unsafe_part = name.split('/').any(|part| part.is_empty() || part == "." || part == "..");
    if unsafe_part || name.contains(|c: char| c.is_control() || c == '\\') {
        return Err(Error::new(format!("has the name {name:?}, which is not a plain array name")));
    }
    Ok(name.to_owned())
}

/// The local header repeats name and method; its own extra field decides where the data starts.
fn locate_data(source: &Source, entry: &mut Entry, limit: u64) -> Result<()> {
    let outside = || Error::new("its data lies outside the file; the file is damaged");
    let name_at = entry.header.checked_add(30).filter(|&at| at <= limit).ok_or_else(outside)?;
    let head = source.read_vec(entry.header, 30)?;
    let mut fields = Fields(&head);
    if fields.u32() != LOCAL_HEADER {
        return Err(Error::new(
            "its header is missing where the table of contents says; the file is damaged",
        ));
    }
    fields.skip(2);
    let (_flags, method) = (fields.u16(), fields.u16());
    fields.skip(16);
    let (name_length, extra_length) = (u64::from(fields.u16()), u64::from(fields.u16()));
    entry.data = name_at + name_length + extra_length;
    if entry.data.checked_add(entry.packed).is_none_or(|end| end > limit) {
        return Err(outside());
    }
    let name = source.read_vec(name_at, name_length)?;
    if name != entry.name.as_bytes() || method != entry.method.code() {
        return Err(Error::new("its header contradicts the table of contents; the file is damaged"));
    }
    if entry.method == Method::Stored && entry.size != entry.packed {
        return Err(Error::new("is stored, but its two sizes differ; the file is damaged"));
    }
    Ok(())
}

fn check_names(entries: &[Entry]) -> Result<()> {
    let mut seen = HashSet::new();
    match entries.iter().find(|entry| !seen.insert(entry.name.as_str())) {
        Some(twice) => Err(Error::new("is in the archive twice").in_field(&twice.name)),
        None => Ok(()),
    }
}

fn check_overlaps(entries: &[Entry]) -> Result<()> {
    let mut order: Vec<&Entry> = entries.iter().collect();
    order.sort_by_key(|entry| entry.header);
    match order.windows(2).find(|pair| pair[0].data + pair[0].packed > pair[1].header) {
        Some(pair) => Err(Error::new(format!("overlaps entry {}; the file is damaged", pair[1].name))
            .in_field(&pair[0].name)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::{Written, central_header, end, local_header};
    use super::*;

    /// An archive of stored entries (name, size, place of the header) over the given bytes.
    fn problem(mut bytes: Vec<u8>, entries: &[(&str, u64, u64)]) -> String {
        let written = |&(name, size, header): &(&str, u64, u64)| Written {
            name: name.to_owned(),
            method: Method::Stored,
            checksum: 0,
            packed: size,
            size,
            header,
        };
        let table: Vec<u8> = entries.iter().flat_map(|entry| central_header(&written(entry))).collect();
        let tail = end(entries.len() as u64, table.len() as u64, bytes.len() as u64);
        bytes.extend([table, tail, vec![0, 0]].concat());
        read(&bytes.into()).map_or_else(|error| error.to_string(), |_| "fine".to_owned())
    }

    #[test]
    fn entries_must_be_apart_and_plainly_named() {
        let two = |inner: &str| {
            [local_header("a", Method::Stored), local_header(inner, Method::Stored), vec![0; 2]].concat()
        };
        let first = local_header("a", Method::Stored).len() as u64;
        assert_eq!(problem(two("b"), &[("a", 0, 0), ("b", 2, first)]), "fine");
        assert!(problem(two("b"), &[("a", 1, 0), ("b", 2, first)]).contains("overlaps entry b"));
        assert!(problem(two("a"), &[("a", 0, 0), ("a", 2, first)]).contains("twice"));
        assert!(problem(two("b"), &[("a", 0, 0), ("b", 3, first)]).contains("outside the file"));
        assert!(problem(two("b"), &[("a", 0, 0), ("c", 2, first)]).contains("contradicts"));
        assert!(problem(two("b"), &[("a", 0, 0), ("b", 2, first + 1)]).contains("header is missing"));
        for name in ["", "/a", "../a", "a/../b", "a\\b", "a\nb", "a//b"] {
            assert!(problem(two(name), &[(name, 0, first)]).contains("plain array name"), "{name:?}");
        }
    }
}
