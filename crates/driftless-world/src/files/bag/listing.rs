//! What a bag holds: its topics and frames, their types, how often and how long.

use super::frames::Frames;
use super::heard::Heard;
use super::record::Record;
use super::records;
use crate::error::Result;
use crate::files::ros::{Cursor, Encoding, Kind, header, pose, transforms};
use crate::files::source::Source;
use std::collections::HashMap;

/// Frames of a topic that are remembered.
const MOST_FRAMES: usize = 8;

/// A topic of a bag.
#[derive(Clone, Debug, PartialEq)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// Its messages' type.
    pub schema: String,
    /// How messages are encoded.
    pub encoding: String,
    /// When they came.
    pub heard: Heard,
    /// The frames that its messages name.
    pub frames: Vec<String>,
    /// The frames whose poses they are.
    pub children: Vec<String>,
}

impl Topic {
    /// What its messages are, if they can be decoded.
    pub fn kind(&self) -> Option<(Kind, Encoding)> {
        Some((Kind::of(&self.schema)?, Encoding::of(&self.encoding)?))
    }

    /// Whether its transforms hold at all times.
    pub fn is_static(&self) -> bool {
        self.name.ends_with("tf_static")
    }

    /// Looks at a message's time and frames, and at nothing else of it.
    fn look(&mut self, bytes: &[u8], logged: f64, frames: &mut Frames) {
        let mut stamp = None;
        let seen = |known: &mut Vec<String>, name: String| {
            if !name.is_empty() && known.len() < MOST_FRAMES && !known.contains(&name) {
                known.push(name);
            }
        };
        match self.kind() {
            Some((Kind::Transforms, encoding)) => {
                for transform in transforms(encoding, bytes).into_iter().flatten() {
                    stamp = transform.header.time;
                    frames.note(&transform, logged, self.is_static());
                }
            }
            Some((kind, encoding)) if kind.is_pose() => {
                if let Ok(read) = pose(kind, encoding, bytes) {
                    stamp = read.header.time;
                    seen(&mut self.frames, read.header.frame);
                    seen(&mut self.children, read.child);
                }
            }
            Some((_, encoding)) => {
                if let Ok(read) = Cursor::new(encoding, bytes).and_then(|mut cursor| header(&mut cursor)) {
                    stamp = read.time;
                    seen(&mut self.frames, read.frame);
                }
            }
            None => {}
        }
        self.heard.hear(stamp, logged);
    }
}

/// Channels by number. Several programs may publish to a topic: then several channels are one topic.
#[derive(Debug, Default)]
pub struct Channels {
    schemas: HashMap<u16, String>,
    places: HashMap<u16, usize>,
    topics: Vec<Topic>,
}

impl Channels {
    /// Notes a schema or a channel; they may be repeated.
    pub fn note(&mut self, record: &Record) {
        match record {
            Record::Schema { id, name } => drop(self.schemas.insert(*id, name.clone())),
            Record::Channel { id, schema, topic, encoding } if !self.places.contains_key(id) => {
                let topic = Topic {
                    name: topic.clone(),
                    schema: self.schemas.get(schema).cloned().unwrap_or_default(),
                    encoding: encoding.clone(),
                    heard: Heard::default(),
                    frames: Vec::new(),
                    children: Vec::new(),
                };
                let same = |known: &Topic| {
                    (&known.name, &known.schema, &known.encoding)
                        == (&topic.name, &topic.schema, &topic.encoding)
                };
                let place = self.topics.iter().position(same).unwrap_or(self.topics.len());
                if place == self.topics.len() {
                    self.topics.push(topic);
                }
                self.places.insert(*id, place);
            }
            _ => {}
        }
    }

    /// The topic of a channel.
    pub fn get_mut(&mut self, id: u16) -> Option<&mut Topic> {
        self.topics.get_mut(*self.places.get(&id)?)
    }
}

/// What a bag holds.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// By name.
    pub topics: Vec<Topic>,
    /// The transforms.
    pub frames: Frames,
    /// What could not be read, in words.
    pub notes: Vec<String>,
}

impl Listing {
    /// Seconds from the first message to the last, by the recorder's clock.
    pub fn seconds(&self) -> f64 {
        let first = self.topics.iter().map(|topic| topic.heard.logged.0).fold(f64::INFINITY, f64::min);
        let last = self.topics.iter().map(|topic| topic.heard.logged.1).fold(f64::NEG_INFINITY, f64::max);
        (last - first).max(0.0)
    }

    /// Pairs of frames with their messages, rate, and whether they ever change.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str, &Heard, bool)> {
        self.frames.pairs().map(|(pair, edge)| (pair.0.as_str(), pair.1.as_str(), &edge.heard, edge.moves))
    }
}

/// Looks through a bag.
pub fn list(source: &Source) -> Result<Listing> {
    let (mut channels, mut frames) = (Channels::default(), Frames::default());
    let notes = records::read(source, |record| {
        channels.note(&record);
        if let Record::Message { channel, logged, bytes } = &record
            && let Some(topic) = channels.get_mut(*channel)
        {
            topic.look(bytes, *logged, &mut frames);
        }
        Ok(())
    })?;
    let mut topics = channels.topics;
    topics.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Listing { topics, frames, notes })
}
