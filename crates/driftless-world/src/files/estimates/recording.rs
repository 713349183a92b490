//! A recording of many robots as they drive: MCAP with ROS 2 messages, readable up to its last chunk whenever it breaks off.

use super::cdr::{CLOUD_TYPE, POSE_TYPE, cloud_definition, pose_definition};
use super::mcap::broken;
use super::messages::{self, Message};
use super::{Estimated, FRAME, cannot_write};
use crate::error::{Error, Result};
use ::mcap::records::MessageHeader;
use ::mcap::{WriteOptions, Writer};
use driftless_core::Belief;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

/// Bytes of messages in a chunk, at most: what a break-off can lose, and what waits in memory.
const CHUNK: u64 = 1 << 20;
/// Robots of one recording, at most: each has two channels, of which a file has 65,535.
const MOST_ROBOTS: usize = 10_000;

/// An estimate and its particles as messages, made by whoever has them.
#[derive(Clone, Debug)]
pub struct Moment {
    robot: Option<String>,
    /// Nanoseconds when it was made.
    logged: u64,
    messages: [Option<Message>; 2],
}

impl Moment {
    /// At `now`, seconds since 1970: when the estimate was made, and its own time if it has none. Of more particles than `most`
    /// as many are drawn; with 0 there is no cloud.
    pub fn new(row: &Estimated, belief: Option<&Belief>, most: usize, now: f64) -> Result<Self> {
        let (own, _) = messages::stamp(row.time.unwrap_or(now))?;
        let (_, logged) = messages::stamp(now)?;
        let pose = messages::pose(row.pose, &row.covariance, own, FRAME);
        let cloud = belief.filter(|_| most > 0);
        let cloud = cloud.map(|belief| messages::cloud(belief, most, own, FRAME, &mut Vec::new()));
        Ok(Self { robot: row.robot.clone(), logged, messages: [Some(pose), cloud] })
    }

    /// Bytes of its messages.
    pub fn size(&self) -> usize {
        self.messages.iter().flatten().map(|message| message.bytes().len()).sum()
    }
}

/// A file that grows while robots drive.
pub struct Recording {
    path: PathBuf,
    writer: Writer<File>,
    schemas: [u16; 2],
    /// Channels of pose and cloud, by robot.
    robots: BTreeMap<Option<String>, [u16; 2]>,
    topics: BTreeSet<String>,
    count: u32,
    /// Bytes of messages so far, and at most.
    bytes: [u64; 2],
    /// Messages of robots beyond the most there can be.
    left_out: u64,
}

impl Recording {
    /// Begins a file, which must not be there. `most` bytes of messages are kept, and none after them.
    pub fn create(path: &Path, most: u64) -> Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(cannot_write(path))?;
        let library = format!("driftless {}", env!("CARGO_PKG_VERSION"));
        // Chunks are written whole, so that a file without its end is one of whole chunks.
        let options = WriteOptions::new().profile("ros2").library(library).compression_threads(0);
        let options = options.chunk_size(Some(CHUNK)).disable_seeking(true);
        let named = |error| broken(error).in_file(path);
        let mut writer = options.create(file).map_err(named)?;
        let mut schema =
            |kind: &str, definition: String| writer.add_schema(kind, "ros2msg", definition.as_bytes());
        let pose = schema(POSE_TYPE, pose_definition()).map_err(named)?;
        let cloud = schema(CLOUD_TYPE, cloud_definition()).map_err(named)?;
        Ok(Self {
            path: path.to_path_buf(),
            writer,
            schemas: [pose, cloud],
            robots: BTreeMap::new(),
            topics: BTreeSet::new(),
            count: 0,
            bytes: [0, most],
            left_out: 0,
        })
    }

    /// Appends messages. False once the file is full: they are left out then, as those of one robot too many are.
    pub fn push(&mut self, moment: &Moment) -> Result<bool> {
        let [bytes, most] = self.bytes;
        let (bytes, is_known) = (bytes + moment.size() as u64, self.robots.contains_key(&moment.robot));
        if bytes > most || (!is_known && self.robots.len() >= MOST_ROBOTS) {
            self.left_out += 1;
            return Ok(bytes <= most);
        }
        self.bytes[0] = bytes;
        self.append(moment).map_err(|error| error.in_file(&self.path))?;
        Ok(true)
    }

    fn append(&mut self, moment: &Moment) -> Result<()> {
        let channels = match self.robots.get(&moment.robot) {
            Some(channels) => *channels,
            None => self.begin(moment.robot.as_deref())?,
        };
        self.count = self.count.wrapping_add(1);
        for (channel_id, message) in channels.into_iter().zip(&moment.messages) {
            let Some(message) = message else { continue };
            let (log_time, sequence) = (moment.logged, self.count);
            let header = MessageHeader { channel_id, sequence, log_time, publish_time: log_time };
            self.writer.write_to_known_channel(&header, message.bytes()).map_err(broken)?;
        }
        Ok(())
    }

    /// Channels of a robot: `/NAME/pose` and `/NAME/particle_cloud`, its name spelt as ROS spells names. The name itself
    /// stands beside them.
    fn begin(&mut self, robot: Option<&str>) -> Result<[u16; 2]> {
        let place = self.place(robot);
        let about = robot.map(|name| ("robot".to_owned(), name.to_owned())).into_iter().collect();
        let mut channels = [0; 2];
        for (k, topic) in ["pose", "particle_cloud"].into_iter().enumerate() {
            let topic = format!("{place}/{topic}");
            channels[k] = self.writer.add_channel(self.schemas[k], &topic, "cdr", &about).map_err(broken)?;
        }
        self.robots.insert(robot.map(str::to_owned), channels);
        Ok(channels)
    }

    /// Names that are spelt alike are told apart by numbers.
    fn place(&mut self, robot: Option<&str>) -> String {
        let Some(robot) = robot else { return String::new() };
        let spelt: String = robot.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let begin = if spelt.starts_with(|c: char| c.is_ascii_alphabetic()) { "/" } else { "/robot_" };
        let plain = format!("{begin}{spelt}");
        let numbered = (self.robots.len() + 1..).map(|number| format!("{plain}_{number}"));
        let free = std::iter::once(plain.clone()).chain(numbered).find(|topic| !self.topics.contains(topic));
        let topic = free.unwrap_or(plain);
        self.topics.insert(topic.clone());
        topic
    }

    /// From now on a break-off loses nothing of what was pushed.
    pub fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|error| broken(error).in_file(&self.path))
    }

    /// Completes the file, and says how many estimates were left out.
    pub fn finish(mut self) -> Result<u64> {
        self.writer.finish().map_err(|error| broken(error).in_file(&self.path))?;
        Ok(self.left_out)
    }
}

/// Seconds since 1970.
pub fn now() -> Result<f64> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map(|passed| passed.as_secs_f64()).map_err(|_| Error::new("the clock is before 1970"))
}
