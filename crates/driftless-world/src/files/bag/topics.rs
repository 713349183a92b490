//! What a bag holds: its topics, their types, how often and how long.

use super::records;
use crate::error::{Error, Result};
use crate::files::ros::{Encoding, Kind};
use crate::files::source::Source;
use mcap::records::Record;
use std::collections::HashMap;

/// A topic of a bag.
#[derive(Clone, Debug, PartialEq)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// Its messages' type.
    pub schema: String,
    /// How messages are encoded.
    pub encoding: String,
    /// How many messages there are.
    pub messages: u64,
    /// Seconds at which the first and the last were logged.
    pub span: (f64, f64),
}

impl Topic {
    /// Messages a second.
    pub fn rate(&self) -> f64 {
        let seconds = self.span.1 - self.span.0;
        if self.messages > 1 && seconds > 0.0 { (self.messages - 1) as f64 / seconds } else { 0.0 }
    }

    /// What its messages are, if they can be decoded.
    pub fn kind(&self) -> Option<(Kind, Encoding)> {
        Some((Kind::of(&self.schema)?, Encoding::of(&self.encoding)?))
    }
}

/// Channels by number, with what is known of their messages.
#[derive(Debug, Default)]
pub struct Channels {
    schemas: HashMap<u16, String>,
    by_id: HashMap<u16, Topic>,
}

impl Channels {
    /// Notes a schema or a channel; they may be repeated.
    pub fn note(&mut self, record: &Record) {
        match record {
            Record::Schema { header, .. } => drop(self.schemas.insert(header.id, header.name.clone())),
            Record::Channel(channel) => {
                let topic = Topic {
                    name: channel.topic.clone(),
                    schema: self.schemas.get(&channel.schema_id).cloned().unwrap_or_default(),
                    encoding: channel.message_encoding.clone(),
                    messages: 0,
                    span: (f64::INFINITY, f64::NEG_INFINITY),
                };
                self.by_id.entry(channel.id).or_insert(topic);
            }
            _ => {}
        }
    }

    /// The topic of a channel.
    pub fn get_mut(&mut self, id: u16) -> Option<&mut Topic> {
        self.by_id.get_mut(&id)
    }

    /// All topics by name. One that several programs published to is one line a channel.
    pub fn sorted(self) -> Vec<Topic> {
        let mut topics: Vec<Topic> = self.by_id.into_values().collect();
        topics.sort_by(|a, b| a.name.cmp(&b.name));
        topics
    }
}

/// Counts a bag's messages, and says what could not be read.
pub fn list(source: &Source) -> Result<(Vec<Topic>, Vec<String>)> {
    let mut channels = Channels::default();
    let notes = records::read(source, |record| {
        channels.note(&record);
        if let Record::Message { header, .. } = &record
            && let Some(topic) = channels.get_mut(header.channel_id)
        {
            let time = header.log_time as f64 * 1e-9;
            topic.messages += 1;
            topic.span = (topic.span.0.min(time), topic.span.1.max(time));
        }
        Ok(())
    })?;
    Ok((channels.sorted(), notes))
}

/// Checks that a topic is there and has a fitting type; otherwise says which ones would do.
pub fn check(topics: &[Topic], name: &str, option: &str, fits: impl Fn(Kind) -> bool) -> Result<()> {
    let fitting = |topic: &&Topic| topic.kind().is_some_and(|(kind, _)| fits(kind));
    let mut names: Vec<&str> = topics.iter().filter(fitting).map(|topic| topic.name.as_str()).collect();
    names.dedup();
    let would_do = if names.is_empty() {
        "no topic of this bag would do".to_owned()
    } else {
        format!("these would do: {}", names.join(", "))
    };
    let problem = match topics.iter().find(|topic| topic.name == name) {
        Some(topic) if fitting(&topic) => return Ok(()),
        Some(topic) => {
            format!("topic {name} has type {} ({}), which does not fit", topic.schema, topic.encoding)
        }
        None => {
            let nearest = topics.iter().min_by_key(|topic| distance(&topic.name, name));
            let nearest = nearest.filter(|topic| distance(&topic.name, name) <= 4);
            let meant = nearest.map(|topic| format!(" (did you mean {}?)", topic.name)).unwrap_or_default();
            format!("there is no topic {name}{meant}")
        }
    };
    Err(Error::new(format!("{problem}; {would_do}")).in_field(option))
}

/// Letters to change, add or remove to get from one name to the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let best = (corner + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            corner = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row.last().copied().unwrap_or(0)
}
