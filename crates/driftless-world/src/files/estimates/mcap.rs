//! MCAP with ROS 2 messages: poses with covariances on `/pose`, particles on `/particle_cloud`, in the frame `map`.

use super::cdr::{CLOUD_TYPE, POSE_TYPE, cloud_definition, pose_definition};
use super::messages::{self, Message};
use super::{EstimateOptions, EstimateWriter, Estimated, FRAME};
use crate::error::{Error, Result};
use crate::files::NewFile;
use ::mcap::records::{MessageHeader, Metadata};
use ::mcap::{McapError, WriteOptions, Writer};
use driftless_core::Belief;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A file of messages.
pub(super) struct McapFile {
    path: PathBuf,
    writer: Writer<NewFile>,
    /// Channels of poses and clouds.
    channels: [u16; 2],
    cloud: usize,
    /// Messages of a channel so far: the clock of recordings that have none.
    count: u32,
    /// The episode that goes on, and the nanoseconds of its first and its last message.
    episode: Option<(usize, [u64; 2])>,
    chosen: Vec<u32>,
}

pub(super) fn broken(error: McapError) -> Error {
    match error {
        McapError::Io(source) => Error::io("cannot write", source),
        other => Error::new(format!("cannot write: {other}")),
    }
}

impl McapFile {
    pub(super) fn create(path: &Path, options: EstimateOptions) -> Result<Self> {
        let file = NewFile::create(path, options.overwrite)?;
        let library = format!("driftless {}", env!("CARGO_PKG_VERSION"));
        // Without threads: the bytes must not depend on how many there are.
        let written = WriteOptions::new().profile("ros2").library(library).compression_threads(0);
        let mut writer = written.create(file).map_err(broken)?;
        let mut channel = |topic: &str, kind: &str, definition: &str| {
            let schema = writer.add_schema(kind, "ros2msg", definition.as_bytes())?;
            writer.add_channel(schema, topic, "cdr", &BTreeMap::new())
        };
        let pose = channel("/pose", POSE_TYPE, &pose_definition()).map_err(broken)?;
        let cloud = channel("/particle_cloud", CLOUD_TYPE, &cloud_definition()).map_err(broken)?;
        Ok(Self {
            path: path.to_path_buf(),
            writer,
            channels: [pose, cloud],
            cloud: options.cloud,
            count: 0,
            episode: None,
            chosen: Vec::new(),
        })
    }

    fn write(&mut self, channel: usize, nanoseconds: u64, message: &Message) -> Result<()> {
        let header = MessageHeader {
            channel_id: self.channels[channel],
            sequence: self.count,
            log_time: nanoseconds,
            publish_time: nanoseconds,
        };
        self.writer.write_to_known_channel(&header, message.bytes()).map_err(broken)
    }

    /// Notes when an episode began and ended: what no message tells.
    fn end_episode(&mut self) -> Result<()> {
        let Some((episode, [first, last])) = self.episode.take() else { return Ok(()) };
        let notes = [
            ("episode", episode.to_string()),
            ("first_log_time", first.to_string()),
            ("last_log_time", last.to_string()),
        ];
        let metadata = notes.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        self.writer.write_metadata(&Metadata { name: "episode".to_owned(), metadata }).map_err(broken)
    }

    fn append(&mut self, row: &Estimated, belief: Option<&Belief>) -> Result<()> {
        let (stamp, nanoseconds) = messages::stamp(row.time.unwrap_or_else(|| f64::from(self.count)))?;
        if self.episode.is_some_and(|(episode, _)| episode != row.episode) {
            self.end_episode()?;
        }
        self.episode.get_or_insert((row.episode, [nanoseconds; 2])).1[1] = nanoseconds;
        self.write(0, nanoseconds, &messages::pose(row.pose, &row.covariance, stamp, FRAME))?;
        if let Some(belief) = belief.filter(|_| self.cloud > 0) {
            let cloud = messages::cloud(belief, self.cloud, stamp, FRAME, &mut self.chosen);
            self.write(1, nanoseconds, &cloud)?;
        }
        self.count += 1;
        Ok(())
    }
}

impl EstimateWriter for McapFile {
    fn push(&mut self, row: &Estimated, belief: Option<&Belief>) -> Result<()> {
        self.append(row, belief).map_err(|error| error.in_file(&self.path))
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<PathBuf>> {
        self.end_episode().map_err(|error| error.in_file(&self.path))?;
        self.writer.finish().map_err(|error| broken(error).in_file(&self.path))?;
        let Self { writer, path, .. } = *self;
        writer.into_inner().commit()?;
        Ok(vec![path])
    }
}
