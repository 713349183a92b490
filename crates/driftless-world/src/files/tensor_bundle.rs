//! Checkpoints of TensorFlow ("tensor bundles"): tensors by name, in an index file and one or more data files.
//!
//! `PREFIX.index` is a sorted table: under the empty key the header, under each name a description of
//! that tensor. `PREFIX.data-00000-of-00001` holds the numbers. Everything has a checksum, and every
//! place and size is compared with the files' before memory is taken.

mod block;
mod entry;
mod table;

pub use entry::{DataType, Entry};

use crate::error::{Error, Result};
use crate::files::source::Source;
use crate::files::tfrecord::mask_crc;
use std::path::{Path, PathBuf};

/// Larger index files are refused: the largest networks have one of a few hundred kilobytes.
pub const MAX_INDEX_BYTES: u64 = 16 << 20;
/// More tensors are refused, so that a small file cannot claim all memory.
pub const MAX_TENSORS: usize = 1 << 16;
/// Larger tensors are refused.
pub const MAX_TENSOR_BYTES: u64 = 1 << 30;

const PIECE_BYTES: usize = 1 << 20;

/// An open checkpoint: what is in it is known, its numbers are read when asked for. Threads can share one.
#[derive(Debug)]
pub struct TensorBundle {
    entries: Vec<Entry>,
    shards: Vec<Shard>,
}

#[derive(Debug)]
struct Shard {
    source: Source,
    path: Option<PathBuf>,
}

impl TensorBundle {
    /// Opens `PREFIX.index` and all data files it speaks of.
    pub fn open(prefix: impl AsRef<Path>) -> Result<Self> {
        let prefix = prefix.as_ref();
        let index = index_name(prefix);
        let source = Source::open(&index)?;
        let (count, entries) = read_index(&source).map_err(|error| error.in_file(&index))?;
        let open = |number| {
            let path = data_name(prefix, number, count);
            Ok(Shard { source: Source::open(&path)?, path: Some(path) })
        };
        let shards = (0..count).map(open).collect::<Result<Vec<_>>>()?;
        Self::checked(entries, shards).map_err(|error| error.in_file(&index))
    }

    /// The same for any sources of bytes.
    pub fn from_sources(index: &Source, shards: Vec<Source>) -> Result<Self> {
        let (count, entries) = read_index(index)?;
        if count != shards.len() {
            return Err(Error::new(format!("speaks of {count} data files, but there are {}", shards.len())));
        }
        Self::checked(entries, shards.into_iter().map(|source| Shard { source, path: None }).collect())
    }

    /// Fails unless all tensors lie within the data files.
    fn checked(entries: Vec<Entry>, shards: Vec<Shard>) -> Result<Self> {
        for Entry { name, shard, offset, size, .. } in &entries {
            let Some(shard) = shards.get(*shard) else {
                let problem = format!("is in data file {shard}, but there are only {}", shards.len());
                return Err(Error::new(problem).in_field(name));
            };
            let length = shard.source.len();
            if offset.checked_add(*size).is_none_or(|end| end > length) {
                let problem = format!(
                    "truncated: {size} bytes of this tensor at position {offset} do not fit before the file's \
                     end at byte {length}; fetch the file again"
                );
                return Err(shard.named(Error::new(problem).in_field(name)));
            }
        }
        Ok(Self { entries, shards })
    }

    /// All tensors, by name in the order of bytes.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The tensor of this name.
    pub fn find(&self, name: &str) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name)).ok()?;
        Some(&self.entries[at])
    }

    /// The numbers of a tensor of this checkpoint, row after row; fails unless their checksum is right.
    ///
    /// Panics if the entry is of a checkpoint with more data files, which is the caller's bug.
    pub fn read_f32(&self, entry: &Entry) -> Result<Vec<f32>> {
        let shard = &self.shards[entry.shard];
        read_f32(&shard.source, entry).map_err(|error| shard.named(error.in_field(&entry.name)))
    }
}

impl Shard {
    fn named(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.in_file(path),
            None => error,
        }
    }
}

/// The number of data files, and all tensors.
fn read_index(source: &Source) -> Result<(usize, Vec<Entry>)> {
    if source.len() > MAX_INDEX_BYTES {
        return Err(Error::new(format!(
            "has {} bytes; an index of at most {MAX_INDEX_BYTES} is accepted",
            source.len()
        )));
    }
    let (mut shards, mut entries) = (None, Vec::new());
    table::walk(source, |key, value| {
        if key.is_empty() {
            shards = Some(entry::parse_header(value).map_err(|error| error.in_record("the header"))?);
            return Ok(());
        }
        let Ok(name) = std::str::from_utf8(key) else {
            return Err(Error::new("a name is not text: partitioned variables are not supported"));
        };
        if entries.len() == MAX_TENSORS {
            return Err(Error::new(format!("holds more than {MAX_TENSORS} tensors")));
        }
        entries.push(Entry::parse(name, value).map_err(|error| error.in_field(name))?);
        Ok(())
    })?;
    // The empty key comes before all others, so the header is first, if it is there.
    let shards = shards.ok_or_else(|| Error::new("has no header: a table, but no TensorFlow checkpoint"))?;
    Ok((shards, entries))
}

fn read_f32(source: &Source, entry: &Entry) -> Result<Vec<f32>> {
    let Entry { data_type, shape, offset, size, checksum, .. } = entry;
    if *data_type != DataType::FLOAT32 {
        return Err(Error::new(format!("holds {data_type}, but {} is wanted", DataType::FLOAT32)));
    }
    let bytes = shape.iter().try_fold(4, |bytes: u64, &side| bytes.checked_mul(side as u64));
    if bytes != Some(*size) {
        return Err(Error::new(format!("has {size} bytes, which is not float32 of the shape {shape:?}")));
    }
    if *size > MAX_TENSOR_BYTES {
        return Err(Error::new(format!("{size} bytes long; at most {MAX_TENSOR_BYTES} are accepted")));
    }
    let (mut values, mut crc, mut piece) = (Vec::new(), 0, Vec::new());
    for from in (0..*size).step_by(PIECE_BYTES) {
        piece.resize(PIECE_BYTES.min((size - from) as usize), 0);
        source.read_at(offset.saturating_add(from), &mut piece)?;
        values.reserve_exact(if from == 0 { *size as usize / 4 } else { 0 });
        crc = crc32c::crc32c_append(crc, &piece);
        values.extend(piece.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
    }
    let computed = mask_crc(crc);
    if computed != *checksum {
        return Err(Error::new(format!(
            "damaged: the numbers have checksum {computed:#010x}, the index says {checksum:#010x}; \
             fetch both files again"
        )));
    }
    Ok(values)
}

fn index_name(prefix: &Path) -> PathBuf {
    with_ending(prefix, ".index")
}

fn data_name(prefix: &Path, shard: usize, shards: usize) -> PathBuf {
    with_ending(prefix, &format!(".data-{shard:05}-of-{shards:05}"))
}

/// Prefixes have dots of their own, so the ending is added and never replaces one.
fn with_ending(prefix: &Path, ending: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
