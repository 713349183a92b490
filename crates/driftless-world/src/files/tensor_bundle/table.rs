//! The table a checkpoint's index file is: sorted keys and values in blocks with checksums, as LevelDB has them.
//!
//! Blocks of entries come first, then a block about other blocks (always empty here), then the index,
//! whose values say where the blocks of entries are, then a footer that says where the last two are.

use super::block::Block;
use crate::error::{Error, Result};
use crate::files::protobuf::{put_varint, take_varint};
use crate::files::source::Source;
use crate::files::tfrecord::masked_crc;

/// The end of every table.
const MAGIC: [u8; 8] = 0xdb47_7524_8b80_fb57_u64.to_le_bytes();
/// Two handles, zeros, and the magic number.
const FOOTER_BYTES: usize = 48;
/// After each block: how it is compressed, and a checksum.
const TRAILER_BYTES: u64 = 5;

/// Where a block is. Its trailer is not counted.
#[derive(Clone, Copy, Debug)]
struct Handle {
    offset: u64,
    size: u64,
}

impl Handle {
    fn take(bytes: &mut &[u8]) -> Result<Self> {
        Ok(Self { offset: take_varint(bytes)?, size: take_varint(bytes)? })
    }

    fn put(self, out: &mut Vec<u8>) {
        put_varint(out, self.offset);
        put_varint(out, self.size);
    }
}

/// Calls `visit` with all keys and values, whose keys must increase from one to the next.
pub(super) fn walk(source: &Source, mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
    let (others, index) = read_footer(source).map_err(|error| error.in_record("the footer"))?;
    read_block(source, others).map_err(|error| error.in_record("the block of block names"))?;
    let index = read_block(source, index).map_err(|error| error.in_record("the index block"))?;
    let mut last: Option<Vec<u8>> = None;
    let mut blocks = Block::new(&index)?.entries();
    let (mut number, mut end) = (0, 0);
    while let Some((_, mut handle)) = blocks.next()? {
        let block = Handle::take(&mut handle)
            .and_then(|handle| read_next_block(source, handle, &mut end))
            .and_then(|bytes| walk_block(&bytes, &mut last, &mut visit));
        block.map_err(|error| error.in_record(format!("block {number}")))?;
        number += 1;
    }
    Ok(())
}

/// Blocks lie one behind the other. Were one named twice, a small file could take forever.
fn read_next_block(source: &Source, handle: Handle, end: &mut u64) -> Result<Vec<u8>> {
    if handle.offset < *end {
        return Err(damaged("blocks overlap or are not in order"));
    }
    let bytes = read_block(source, handle)?;
    *end = handle.offset + handle.size + TRAILER_BYTES;
    Ok(bytes)
}

fn walk_block(
    bytes: &[u8],
    last: &mut Option<Vec<u8>>,
    visit: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let mut entries = Block::new(bytes)?.entries();
    while let Some((key, value)) = entries.next()? {
        match last {
            Some(last) if key <= last.as_slice() => return Err(damaged("keys are not in order")),
            Some(last) => {
                last.clear();
                last.extend_from_slice(key);
            }
            None => *last = Some(key.to_vec()),
        }
        visit(key, value)?;
    }
    Ok(())
}

fn read_footer(source: &Source) -> Result<(Handle, Handle)> {
    let start = source.len().checked_sub(FOOTER_BYTES as u64);
    let start = start.ok_or_else(|| Error::new("is too short to be the index of a TensorFlow checkpoint"))?;
    let footer = source.read_vec(start, FOOTER_BYTES as u64)?;
    if !footer.ends_with(&MAGIC) {
        return Err(Error::new(
            "does not end as the index of a TensorFlow checkpoint does: truncated, damaged, or another kind of file",
        ));
    }
    let mut handles = footer.as_slice();
    let (others, index) = (Handle::take(&mut handles)?, Handle::take(&mut handles)?);
    // The footer has no checksum, but there is only one way to write it.
    if footer != encode_footer(others, index) {
        return Err(damaged("the places of blocks are not written as they should be"));
    }
    Ok((others, index))
}

/// The end of a table.
fn encode_footer(others: Handle, index: Handle) -> Vec<u8> {
    let mut footer = Vec::new();
    others.put(&mut footer);
    index.put(&mut footer);
    footer.resize(FOOTER_BYTES - MAGIC.len(), 0);
    footer.extend(MAGIC);
    footer
}

/// The bytes of a block that lies before the footer, whose checksum is right and which is not compressed.
fn read_block(source: &Source, Handle { offset, size }: Handle) -> Result<Vec<u8>> {
    let limit = source.len() - FOOTER_BYTES as u64;
    let end = size.checked_add(TRAILER_BYTES).and_then(|length| length.checked_add(offset));
    if end.is_none_or(|end| end > limit) {
        return Err(damaged(&format!(
            "{size} bytes at position {offset} do not lie before the footer at {limit}"
        )));
    }
    let mut bytes = source.read_vec(offset, size + TRAILER_BYTES)?;
    let stored = u32::from_le_bytes(*bytes.last_chunk().expect("a trailer"));
    bytes.truncate(bytes.len() - 4);
    let computed = masked_crc(&bytes);
    if stored != computed {
        return Err(damaged(&format!(
            "the block has checksum {computed:#010x}, the file says {stored:#010x}"
        )));
    }
    match bytes.pop() {
        Some(0) => Ok(bytes),
        Some(1) => Err(Error::new(
            "is compressed with snappy, which is not supported; save the checkpoint again with tf.train.Saver, which does not compress",
        )),
        kind => Err(Error::new(format!("is compressed in the unknown way {}", kind.unwrap_or_default()))),
    }
}

/// What is wrong, and what to do about it.
pub(super) fn damaged(problem: &str) -> Error {
    Error::new(format!("damaged: {problem}; fetch the file again"))
}
