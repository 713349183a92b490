//! Checkpoints written as TensorFlow writes them: data files, then the index that makes them valid.

use super::block::BlockBuilder;
use super::entry::{DataType, Entry, encode_header};
use super::table::{Handle, encode_footer};
use super::{data_name, index_name};
use crate::error::{Error, Result};
use crate::files::tfrecord::masked_crc;
use crate::files::{NewFile, Overwrite};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// A tensor to be written, whose name is its key.
#[derive(Clone, Debug, PartialEq)]
pub struct FloatTensor {
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Row after row; as many as the shape says.
    pub values: Vec<f32>,
}

/// How a checkpoint is cut into pieces.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Number of data files. Tensors take turns.
    pub shards: usize,
    /// A block of the index ends when its entries have so many bytes.
    pub block_bytes: usize,
}

impl Default for Layout {
    /// TensorFlow's.
    fn default() -> Self {
        Self { shards: 1, block_bytes: 1 << 18 }
    }
}

/// The bytes of a checkpoint's files.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// Those of `PREFIX.index`.
    pub index: Vec<u8>,
    /// Those of `PREFIX.data-00000-of-00001`, ….
    pub shards: Vec<Vec<u8>>,
}

/// The bytes of a checkpoint with these tensors. Names and shapes must be such as can be read back.
pub fn encode(tensors: &BTreeMap<String, FloatTensor>, layout: Layout) -> Result<Encoded> {
    let mut table = TableBuilder { block_bytes: layout.block_bytes, ..TableBuilder::default() };
    let mut shards = vec![Vec::new(); layout.shards.max(1)];
    table.push(b"", &encode_header(shards.len()));
    for (number, (name, FloatTensor { shape, values })) in tensors.iter().enumerate() {
        let problem = if name.is_empty() {
            "a tensor must have a name".to_owned()
        } else if count(shape) != Some(values.len()) {
            format!("{} numbers do not have the shape {shape:?}", values.len())
        } else {
            String::new()
        };
        if !problem.is_empty() {
            return Err(Error::new(problem).in_field(name));
        }
        let shard = number % shards.len();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let entry = Entry {
            name: name.clone(),
            data_type: DataType::FLOAT32,
            shape: shape.clone(),
            shard,
            offset: shards[shard].len() as u64,
            size: bytes.len() as u64,
            checksum: masked_crc(&bytes),
        };
        shards[shard].extend(bytes);
        table.push(name.as_bytes(), &entry.encode());
    }
    Ok(Encoded { index: table.finish(), shards })
}

fn count(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1, |count: usize, &side| count.checked_mul(side))
}

/// Writes a checkpoint. Its index appears last: without one the data files mean nothing.
pub fn write(
    prefix: impl AsRef<Path>,
    overwrite: Overwrite,
    tensors: &BTreeMap<String, FloatTensor>,
    layout: Layout,
) -> Result<()> {
    let (prefix, Encoded { index, shards }) = (prefix.as_ref(), encode(tensors, layout)?);
    let names = (0..shards.len()).map(|shard| data_name(prefix, shard, shards.len()));
    let files = names.zip(&shards).chain([(index_name(prefix), &index)]);
    let started: Result<Vec<_>> =
        files.map(|(name, bytes)| Ok((NewFile::create(&name, overwrite)?, name, bytes))).collect();
    for (mut file, name, bytes) in started? {
        file.write_all(bytes).map_err(|source| Error::io("cannot write", source).in_file(name))?;
        file.commit()?;
    }
    Ok(())
}

/// A table being made, in memory.
#[derive(Debug, Default)]
struct TableBuilder {
    block_bytes: usize,
    out: Vec<u8>,
    block: BlockBuilder,
    index: BlockBuilder,
}

impl TableBuilder {
    fn push(&mut self, key: &[u8], value: &[u8]) {
        if self.block.len() >= self.block_bytes.max(1) {
            // Any key from the last of this block to below the next one would do.
            let key = self.block.last_key().to_vec();
            self.end_block(&key);
        }
        self.block.push(key, value);
    }

    fn end_block(&mut self, key: &[u8]) {
        let bytes = self.block.finish();
        let mut value = Vec::new();
        self.append(&bytes).put(&mut value);
        self.index.push(key, &value);
    }

    fn append(&mut self, block: &[u8]) -> Handle {
        let handle = Handle { offset: self.out.len() as u64, size: block.len() as u64 };
        self.out.extend_from_slice(block);
        self.out.push(0);
        let checksum = masked_crc(&self.out[handle.offset as usize..]);
        self.out.extend(checksum.to_le_bytes());
        handle
    }

    fn finish(mut self) -> Vec<u8> {
        let key = short_successor(self.block.last_key());
        self.end_block(&key);
        let others = self.append(&BlockBuilder::default().finish());
        let index = self.index.finish();
        let index = self.append(&index);
        self.out.extend(encode_footer(others, index));
        self.out
    }
}

/// A short key that is not below `key`.
fn short_successor(key: &[u8]) -> Vec<u8> {
    match key.iter().position(|&byte| byte != u8::MAX) {
        Some(at) => [&key[..at], &[key[at] + 1]].concat(),
        None => key.to_vec(),
    }
}
