//! The records of an MCAP file, one after another, however large the file; damaged chunks are passed over.

use super::record::Record;
use crate::error::{Error, Result};
use crate::files::source::Source;
use mcap::records::op;
use mcap::sans_io::linear_reader::{LinearReadEvent, LinearReader, LinearReaderOptions};

/// A record or chunk larger than this is taken for damage.
const LARGEST: usize = 1 << 27;
/// Bytes read at once.
const BLOCK: u64 = 1 << 20;
/// Bytes before a record's content: its kind and its length.
const HEAD: u64 = 9;

/// How a stream of records ended.
struct End {
    /// The byte up to which records were whole.
    whole: u64,
    /// What ended it before the end of the file.
    problem: Option<String>,
}

/// Calls `each` for every whole record outside the chunks and inside; says in words what could not be read.
pub fn read(source: &Source, mut each: impl FnMut(Record) -> Result<()>) -> Result<Vec<String>> {
    let (mut damaged, mut first, mut at) = (0_usize, 0, mcap::MAGIC.len() as u64);
    let options = LinearReaderOptions::default().with_emit_chunks(true).with_record_length_limit(LARGEST);
    let end = stream(source, options, |opcode, bytes| {
        let whole = match Record::read(opcode, bytes) {
            Ok(Record::Chunk { packing, checksum, bytes }) if packing.is_empty() => {
                (checksum == 0 || checksum == crc32(bytes)) && plain_chunk(bytes, &mut each)?
            }
            Ok(Record::Chunk { .. }) => packed_chunk(opcode, bytes, &mut each)?,
            Ok(record) => each(record).map(|()| true)?,
            Err(_) => false,
        };
        if !whole && damaged == 0 {
            first = at;
        }
        damaged += usize::from(!whole);
        at += HEAD + bytes.len() as u64;
        Ok(())
    })?;
    let mut notes = Vec::new();
    if damaged > 0 {
        notes.push(format!("{damaged} damaged parts of the bag were passed over, the first at byte {first}"));
    }
    if let Some(problem) = end.problem {
        let more = salvage(source, end.whole, &mut each)?;
        let (byte, size) = (end.whole, source.len());
        notes.push(format!(
            "the bag is cut off or damaged at byte {byte} of {size} ({problem}); what comes before was taken, and {more} records behind"
        ));
    }
    Ok(notes)
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Records of a chunk that is not packed; false if it is damaged.
fn plain_chunk(mut bytes: &[u8], each: &mut impl FnMut(Record) -> Result<()>) -> Result<bool> {
    while let Some((head, rest)) = bytes.split_first_chunk::<{ HEAD as usize }>() {
        let length = u64::from_le_bytes(head[1..].try_into().expect("eight bytes"));
        let Some(length) = usize::try_from(length).ok().filter(|&length| length <= rest.len()) else {
            return Ok(false);
        };
        let Ok(record) = Record::read(head[0], &rest[..length]) else { return Ok(false) };
        each(record)?;
        bytes = &rest[length..];
    }
    Ok(bytes.is_empty())
}

/// A chunk's own bytes as a file of their own.
fn within_chunk() -> LinearReaderOptions {
    LinearReaderOptions::default()
        .with_skip_start_magic(true)
        .with_skip_end_magic(true)
        .with_record_length_limit(LARGEST)
}

/// Records of a packed chunk, unpacked with bounds of our own; false if it is damaged.
fn packed_chunk(opcode: u8, bytes: &[u8], each: &mut impl FnMut(Record) -> Result<()>) -> Result<bool> {
    let framed = [&[opcode], (bytes.len() as u64).to_le_bytes().as_slice(), bytes].concat();
    let options = within_chunk().with_prevalidate_chunk_crcs(true);
    let mut whole = true;
    let end = stream(&Source::from(framed), options, |opcode, bytes| {
        match Record::read(opcode, bytes) {
            Ok(record) if opcode != op::CHUNK => each(record)?,
            _ => whole = false,
        }
        Ok(())
    })?;
    Ok(whole && end.problem.is_none())
}

/// Takes what is whole within a chunk that was cut off; says how many records that were.
fn salvage(source: &Source, at: u64, each: &mut impl FnMut(Record) -> Result<()>) -> Result<usize> {
    let left = source.len().saturating_sub(at).min(LARGEST as u64);
    let rest = source.read_vec(at.min(source.len()), left)?;
    if rest.first() != Some(&op::CHUNK) {
        return Ok(0);
    }
    let mut found = 0;
    stream(&Source::from(rest), within_chunk(), |opcode, bytes| {
        if let Ok(record) = Record::read(opcode, bytes) {
            found += usize::from(matches!(record, Record::Message { .. }));
            each(record)?;
        }
        Ok(())
    })?;
    Ok(found)
}

/// Feeds a reader.
fn stream(
    source: &Source,
    options: LinearReaderOptions,
    mut each: impl FnMut(u8, &[u8]) -> Result<()>,
) -> Result<End> {
    let started = !options.skip_start_magic;
    let mut whole = if started { mcap::MAGIC.len() as u64 } else { 0 };
    let mut reader = LinearReader::new_with_options(options);
    let mut at = 0;
    while let Some(event) = reader.next_event() {
        match event {
            Ok(LinearReadEvent::ReadRequest(wanted)) => {
                // Never more than there is: a damaged length must not take memory.
                let count = (wanted as u64).min(source.len() - at).min(BLOCK) as usize;
                source.read_at(at, &mut reader.insert(count)[..count])?;
                reader.notify_read(count);
                at += count as u64;
            }
            Ok(LinearReadEvent::Record { data, opcode }) => {
                whole += HEAD + data.len() as u64;
                each(opcode, data)?;
            }
            Err(_) if started && whole <= mcap::MAGIC.len() as u64 && !begins(source)? => {
                return Err(Error::new(
                    "is not an MCAP file; bags of other kinds can be converted with `mcap convert` or `ros2 bag convert`",
                ));
            }
            Err(error) => return Ok(End { whole, problem: Some(error.to_string()) }),
        }
    }
    Ok(End { whole, problem: None })
}

/// Whether a file begins as MCAP files do.
fn begins(source: &Source) -> Result<bool> {
    let length = mcap::MAGIC.len() as u64;
    Ok(source.len() >= length && source.read_vec(0, length)? == mcap::MAGIC)
}
