//! The messages of a bag that can be decoded, one after another, and those that could not.

use super::choice::Origin;
use super::listing::{Channels, Topic};
use super::record::Record;
use super::records;
use crate::error::{Error, Result};
use crate::files::ros::{Encoding, Kind};
use crate::files::source::Source;
use std::collections::HashMap;

/// A message.
pub struct Message<'a> {
    /// Its topic.
    pub topic: &'a Topic,
    /// What it is.
    pub kind: Kind,
    /// How it is written.
    pub encoding: Encoding,
    /// Its number in the topic.
    pub number: u64,
    /// Seconds at which it was recorded.
    pub logged: f64,
    /// Its bytes.
    pub bytes: &'a [u8],
}

impl Message<'_> {
    /// Whether it is of the topic that was chosen.
    pub fn is_of(&self, chosen: Option<&Topic>) -> bool {
        chosen.is_some_and(|chosen| (&chosen.name, &chosen.schema) == (&self.topic.name, &self.topic.schema))
    }
}

/// The topic of an origin, if it is one.
pub fn topic_of(origin: Option<&Origin>) -> Option<&Topic> {
    match origin {
        Some(Origin::Topic(topic)) => Some(topic),
        _ => None,
    }
}

/// Messages that could not be decoded.
#[derive(Debug, Default)]
pub struct Unread {
    count: usize,
    first: Option<String>,
}

impl Unread {
    /// What there is to say.
    pub fn note(&self) -> Option<String> {
        let (count, first) = (self.count, self.first.as_ref()?);
        Some(format!("{count} messages could not be decoded; the first: {first}"))
    }
}

/// Calls `each` for every message of a known type; an error of it is counted, and the next message comes.
pub fn messages(source: &Source, mut each: impl FnMut(&Message) -> Result<()>) -> Result<Unread> {
    let (mut channels, mut counts) = (Channels::default(), HashMap::<String, u64>::new());
    let mut unread = Unread::default();
    records::read(source, |record| {
        channels.note(&record);
        if let Record::Message { channel, logged, bytes } = record
            && let Some(topic) = channels.get_mut(channel)
            && let Some((kind, encoding)) = topic.kind()
        {
            let topic = &*topic;
            if !counts.contains_key(&topic.name) {
                counts.insert(topic.name.clone(), 0);
            }
            let next = counts.get_mut(&topic.name).expect("it was just put there");
            let number = *next;
            *next += 1;
            let said = |error: Error| format!("message {number} of {} {error}", topic.name);
            if let Err(error) = each(&Message { topic, kind, encoding, number, logged, bytes }) {
                unread.count += 1;
                unread.first.get_or_insert_with(|| said(error));
            }
        }
        Ok(())
    })?;
    Ok(unread)
}
