//! The records of an MCAP file, one after another, however large the file; damaged chunks are passed over.

use crate::error::{Error, Result};
use crate::files::source::Source;
use mcap::records::{Record, op};
use mcap::sans_io::linear_reader::{LinearReadEvent, LinearReader, LinearReaderOptions};

/// A record or chunk larger than this is taken for damage.
const LARGEST: usize = 1 << 27;
/// Bytes read at once.
const BLOCK: u64 = 1 << 20;

/// Calls `each` for every whole record outside the chunks and inside; says in words what could not be read.
pub fn read(source: &Source, mut each: impl FnMut(Record) -> Result<()>) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    let mut damaged = 0;
    let options = LinearReaderOptions::default().with_emit_chunks(true).with_record_length_limit(LARGEST);
    let ended = stream(source, options, |opcode, bytes| {
        let Ok(record) = mcap::parse_record(opcode, bytes) else {
            damaged += 1;
            return Ok(());
        };
        match record {
            Record::Chunk { header, data } if header.compression.is_empty() => {
                damaged += usize::from(!plain_chunk(&data, &mut each)?);
            }
            Record::Chunk { .. } => damaged += usize::from(!packed_chunk(opcode, bytes, &mut each)?),
            record => each(record)?,
        }
        Ok(())
    })?;
    if damaged > 0 {
        notes.push(format!("{damaged} damaged parts of the bag were passed over"));
    }
    notes.extend(
        ended.map(|problem| format!("the bag is cut off or damaged ({problem}); what is whole was taken")),
    );
    Ok(notes)
}

/// Records of a chunk that is not packed; false if it is damaged.
fn plain_chunk(mut bytes: &[u8], each: &mut impl FnMut(Record) -> Result<()>) -> Result<bool> {
    while let Some((head, rest)) = bytes.split_first_chunk::<9>() {
        let length = u64::from_le_bytes(head[1..].try_into().expect("eight bytes"));
        let Some(length) = usize::try_from(length).ok().filter(|&length| length <= rest.len()) else {
            return Ok(false);
        };
        let Ok(record) = mcap::parse_record(head[0], &rest[..length]) else { return Ok(false) };
        each(record)?;
        bytes = &rest[length..];
    }
    Ok(bytes.is_empty())
}

/// Records of a packed chunk, unpacked with bounds of our own; false if it is damaged.
fn packed_chunk(opcode: u8, bytes: &[u8], each: &mut impl FnMut(Record) -> Result<()>) -> Result<bool> {
    let framed = [&[opcode], (bytes.len() as u64).to_le_bytes().as_slice(), bytes].concat();
    let options = LinearReaderOptions::default()
        .with_skip_start_magic(true)
        .with_skip_end_magic(true)
        .with_prevalidate_chunk_crcs(true)
        .with_record_length_limit(LARGEST);
    let mut whole = true;
    let ended = stream(&Source::from(framed), options, |opcode, bytes| {
        match mcap::parse_record(opcode, bytes) {
            Ok(record) if opcode != op::CHUNK => each(record)?,
            _ => whole = false,
        }
        Ok(())
    })?;
    Ok(whole && ended.is_none())
}

/// Feeds a reader; what ends it before the end of the file is returned in words.
fn stream(
    source: &Source,
    options: LinearReaderOptions,
    mut each: impl FnMut(u8, &[u8]) -> Result<()>,
) -> Result<Option<String>> {
    let started = !options.skip_start_magic;
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
            Ok(LinearReadEvent::Record { data, opcode }) => each(opcode, data)?,
            Err(mcap::McapError::BadMagic) if started && at <= mcap::MAGIC.len() as u64 => {
                return Err(Error::new(
                    "is not an MCAP file; other bags can be converted with `mcap convert` or `ros2 bag convert`",
                ));
            }
            Err(error) => return Ok(Some(error.to_string())),
        }
    }
    Ok(None)
}
