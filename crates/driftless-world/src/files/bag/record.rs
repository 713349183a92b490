//! The few records of an MCAP file that a drive is made of.
//!
//! The container's other records are left alone. These are read here and not by the library, whose texts may announce more
//! bytes than there are, and take the memory for them.

use crate::error::Result;
use crate::files::ros::{Cursor, Encoding};
use mcap::records::op;

/// A record.
#[derive(Clone, Debug, PartialEq)]
pub enum Record<'a> {
    /// A type of messages.
    Schema {
        /// Its number.
        id: u16,
        /// Its name.
        name: String,
    },
    /// A topic.
    Channel {
        /// Its number.
        id: u16,
        /// The number of its type.
        schema: u16,
        /// Its name.
        topic: String,
        /// How its messages are encoded.
        encoding: String,
    },
    /// A message.
    Message {
        /// The number of its channel.
        channel: u16,
        /// Seconds at which it was recorded.
        logged: f64,
        /// What it says.
        bytes: &'a [u8],
    },
    /// Records together, packed unless the packing's name is empty.
    Chunk {
        /// How it is packed.
        packing: String,
        /// The checksum of the records; 0 if nobody computed it.
        checksum: u32,
        /// The records.
        bytes: &'a [u8],
    },
    /// Anything else.
    Other,
}

impl<'a> Record<'a> {
    /// Reads a record's content.
    pub fn read(kind: u8, bytes: &'a [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(Encoding::Ros1, bytes)?;
        Ok(match kind {
            op::SCHEMA => Self::Schema { id: cursor.u16()?, name: cursor.text()? },
            op::CHANNEL => Self::Channel {
                id: cursor.u16()?,
                schema: cursor.u16()?,
                topic: cursor.text()?,
                encoding: cursor.text()?,
            },
            op::MESSAGE => {
                let channel = cursor.u16()?;
                cursor.u32()?; // the sequence number
                let logged = cursor.u64()? as f64 * 1e-9;
                cursor.u64()?; // when it was published
                Self::Message { channel, logged, bytes: cursor.rest() }
            }
            op::CHUNK => {
                cursor.u64()?; // times of its first and its last message, and its size unpacked
                cursor.u64()?;
                cursor.u64()?;
                let (checksum, packing) = (cursor.u32()?, cursor.text()?);
                cursor.u64()?; // its size
                Self::Chunk { packing, checksum, bytes: cursor.rest() }
            }
            _ => Self::Other,
        })
    }
}
