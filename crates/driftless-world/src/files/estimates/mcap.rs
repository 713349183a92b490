//! MCAP with ROS 2 messages: poses with covariances on `/pose`, particles on `/particle_cloud`, in the frame `map`.

use super::cdr::{CLOUD_TYPE, Message, POSE_TYPE, cloud_definition, pose_definition};
use super::{EstimateOptions, EstimateWriter, Estimated};
use crate::error::{Error, Result};
use crate::files::NewFile;
use crate::pose::Pose;
use ::mcap::records::{MessageHeader, Metadata};
use ::mcap::{McapError, WriteOptions, Writer};
use driftless_core::Belief;
use driftless_core::resample::Scheme;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const FRAME: &str = "map";

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

fn broken(error: McapError) -> Error {
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

    /// The particles; of more than are wanted as many drawn systematically, which then weigh the same.
    fn cloud_of(&mut self, stamp: (i32, u32), belief: &Belief) -> Message {
        let [x, y, heading] = [0, 1, 2].map(|k| belief.particles.column(k));
        let (weights, all) = (belief.weights.linear(), belief.particles.len());
        let pose = |i: usize| Pose::new(x[i].into(), y[i].into(), heading[i].into());
        let mut message = Message::new(stamp, FRAME);
        message.count(all.min(self.cloud) as u32);
        if all <= self.cloud {
            for (i, &weight) in weights.iter().enumerate() {
                message.pose(pose(i));
                message.number(f64::from(weight));
            }
            return message;
        }
        // Not random: a file is the same for the same track.
        Scheme::Systematic.ancestors(weights, self.cloud, || 0.5, &mut self.chosen);
        for &i in &self.chosen {
            message.pose(pose(i as usize));
            message.number(1.0 / self.cloud as f64);
        }
        message
    }

    fn append(&mut self, row: &Estimated, belief: Option<&Belief>) -> Result<()> {
        let (stamp, nanoseconds) = stamp(row.time.unwrap_or_else(|| f64::from(self.count)))?;
        if self.episode.is_some_and(|(episode, _)| episode != row.episode) {
            self.end_episode()?;
        }
        self.episode.get_or_insert((row.episode, [nanoseconds; 2])).1[1] = nanoseconds;
        let mut message = Message::new(stamp, FRAME);
        message.pose(row.pose);
        message.covariance(&row.covariance);
        self.write(0, nanoseconds, &message)?;
        if let Some(belief) = belief.filter(|_| self.cloud > 0) {
            let cloud = self.cloud_of(stamp, belief);
            self.write(1, nanoseconds, &cloud)?;
        }
        self.count += 1;
        Ok(())
    }
}

/// Seconds as ROS has them, and as nanoseconds.
fn stamp(time: f64) -> Result<((i32, u32), u64)> {
    if !(0.0..f64::from(i32::MAX)).contains(&time) {
        let problem = format!("{time} s cannot be a time of a ROS message: from 0 to 2147483647 is possible");
        return Err(Error::new(problem).in_field("times"));
    }
    let nanoseconds = time.floor() as u64 * 1_000_000_000 + (time.fract() * 1e9).round() as u64;
    let stamp = ((nanoseconds / 1_000_000_000) as i32, (nanoseconds % 1_000_000_000) as u32);
    Ok((stamp, nanoseconds))
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
