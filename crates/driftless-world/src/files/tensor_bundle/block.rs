//! One block of a table: entries whose keys leave out what they share with the key before.
//!
//! At some entries, the restarts, keys begin anew; their positions and their number end the block. They
//! serve searches. Reading all entries from the first needs none of them.

use super::table::damaged;
use crate::error::Result;
use crate::files::protobuf::take_varint;

/// Longer names are damage or malice: a few bytes can repeat a long name.
const MAX_KEY_BYTES: u64 = 4096;

/// The entries of a block, without its restarts.
#[derive(Debug)]
pub(super) struct Block<'a> {
    entries: &'a [u8],
}

impl<'a> Block<'a> {
    /// A block whose restarts fit into it and begin at its start.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        let Some((rest, count)) = bytes.split_last_chunk() else {
            return Err(damaged("a block has no room for its restarts"));
        };
        let count = u64::from(u32::from_le_bytes(*count));
        if count == 0 || count > rest.len() as u64 / 4 {
            return Err(damaged(&format!("a block of {} bytes claims {count} restarts", bytes.len())));
        }
        let (entries, restarts) = rest.split_at(rest.len() - 4 * count as usize);
        let mut restarts = restarts.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        if !restarts.clone().is_sorted() || restarts.clone().next() != Some(0) {
            return Err(damaged("the restarts of a block are not in order"));
        }
        if restarts.next_back().is_some_and(|last| last as usize > entries.len()) {
            return Err(damaged("a restart lies behind its block"));
        }
        Ok(Self { entries })
    }

    pub fn entries(self) -> Entries<'a> {
        Entries { rest: self.entries, key: Vec::new() }
    }
}

/// Walks over the entries of a block.
#[derive(Debug)]
pub(super) struct Entries<'a> {
    rest: &'a [u8],
    key: Vec<u8>,
}

impl<'a> Entries<'a> {
    /// The next key and value. Not an iterator's: the key is lent, and overwritten by the next one.
    pub fn next(&mut self) -> Result<Option<(&[u8], &'a [u8])>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let shared = take_varint(&mut self.rest)?;
        let own = take_varint(&mut self.rest)?;
        let length = take_varint(&mut self.rest)?;
        if shared > self.key.len() as u64 {
            return Err(damaged("a key shares more with the one before than that has"));
        }
        if own > MAX_KEY_BYTES - shared.min(MAX_KEY_BYTES) {
            return Err(damaged(&format!("a key is longer than {MAX_KEY_BYTES} bytes")));
        }
        self.key.truncate(shared as usize);
        let suffix = self.take(own)?;
        self.key.extend_from_slice(suffix);
        let value = self.take(length)?;
        Ok(Some((&self.key, value)))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let taken = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (taken, rest) = taken.ok_or_else(|| damaged("an entry does not fit into its block"))?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut entries = Block::new(bytes)?.entries();
        let mut found = Vec::new();
        while let Some((key, value)) = entries.next()? {
            found.push((key.to_vec(), value.to_vec()));
        }
        Ok(found)
    }

    #[test]
    fn keys_are_put_together_again() {
        // By hand: "map/a" = 1, then five of its letters shared but the last: "map/b" = 23.
        let bytes = b"\0\x05\x01map/a1\x04\x01\x02b23\0\0\0\0\x01\0\0\0";
        let expected = [(b"map/a".to_vec(), b"1".to_vec()), (b"map/b".to_vec(), b"23".to_vec())];
        assert_eq!(all(bytes).unwrap(), expected);
        assert!(all(b"\0\0\0\0\x01\0\0\0").unwrap().is_empty(), "an empty block has a restart, too");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let cases: [(&[u8], &str); 9] = [
            (b"\0\0\0", "no room"),
            (b"\0\0\0\0\0\0\0\0", "claims 0 restarts"),
            (b"\0\0\0\0\x02\0\0\0", "claims 2 restarts"),
            (b"\x01\0\0\0\x01\0\0\0", "not in order"),
            (b"\0\0\0\0\x01\0\0\0\x02\0\0\0", "lies behind its block"),
            (b"\x01\0\0\0\0\0\0\x01\0\0\0", "shares more"),
            (b"\0\x02\0a\0\0\0\0\x01\0\0\0", "does not fit"),
            (b"\0\x81\x20\0a\0\0\0\0\x01\0\0\0", "longer than 4096"),
            (b"\0\0\x80\0\0\0\0\x01\0\0\0", "ends inside"),
        ];
        for (bytes, expected) in cases {
            let error = all(bytes).unwrap_err().to_string();
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}
