//! All poses of a drive, and the times of its scans and images.

use super::BagOptions;
use super::choice::{Origin, Sources};
use super::frames::Samples;
use super::heard::{Clock, Heard};
use super::listing::{Listing, Topic};
use super::messages::{Message, Unread, messages, topic_of};
use crate::error::Result;
use crate::files::ros::{Cursor, Kind, header, pose, transforms};
use crate::files::source::Source;
use crate::files::track::{Pose, Track};

/// Times of messages, and their numbers.
pub type Times = Vec<(f64, u64)>;

/// What was gathered.
pub struct Gathered {
    /// Of the messages that make the steps: scans, or images, or else odometry.
    pub beats: Times,
    /// Of the images.
    pub images: Times,
    /// The robot's own motion.
    pub odometry: Option<Track>,
    /// The truth.
    pub truth: Option<Track>,
    /// Messages with times before those of earlier ones.
    pub late: usize,
    /// What could not be decoded.
    pub unread: Unread,
}

/// What is gathered while messages come.
struct Gathering<'a> {
    sources: &'a Sources,
    clock: Clock,
    samples: Samples,
    scans: Times,
    images: Times,
    odometry: Vec<(f64, Pose)>,
    truth: Vec<(f64, Pose)>,
}

impl Gathering<'_> {
    fn message(&mut self, message: &Message) -> Result<()> {
        let (clock, sources) = (self.clock, self.sources);
        if message.kind == Kind::Transforms {
            for transform in transforms(message.encoding, message.bytes)? {
                self.samples.take(transform, clock, message.logged);
            }
        }
        for (chosen, times) in [(&sources.scan, &mut self.scans), (&sources.image, &mut self.images)] {
            if let Some(chosen) = chosen.as_ref().filter(|chosen| message.is_of(Some(chosen))) {
                let head = header(&mut Cursor::new(message.encoding, message.bytes)?)?;
                if first(&chosen.frames, &head.frame) {
                    times.push((clock.time(head.time, message.logged), message.number));
                }
            }
        }
        let origins = [(&sources.odometry, &mut self.odometry), (&sources.pose, &mut self.truth)];
        for (origin, poses) in origins {
            let chosen = topic_of(origin.as_ref()).filter(|chosen| message.is_of(Some(chosen)));
            if let Some(Topic { frames, children, .. }) = chosen {
                let read = pose(message.kind, message.encoding, message.bytes)?;
                if first(frames, &read.header.frame) && first(children, &read.child) {
                    poses.push((clock.time(read.header.time, message.logged), read.place.on_floor()));
                }
            }
        }
        Ok(())
    }
}

/// Whether a frame is the first of a topic's, or the topic has none.
fn first(known: &[String], name: &str) -> bool {
    known.first().is_none_or(|first| first == name)
}

/// Reads all poses, and the times of scans and images.
pub fn gather(
    source: &Source,
    listing: &Listing,
    sources: &Sources,
    clock: Clock,
    options: &BagOptions,
) -> Result<Gathered> {
    let origins = [sources.odometry.as_ref(), sources.pose.as_ref()];
    let pairs = origins.into_iter().flatten().flat_map(|origin| match origin {
        Origin::Frames { way, .. } => way.iter().map(|link| link.pair.clone()).collect(),
        Origin::Topic(_) => Vec::new(),
    });
    let mut all = Gathering {
        sources,
        clock,
        samples: Samples::of(pairs),
        scans: Vec::new(),
        images: Vec::new(),
        odometry: Vec::new(),
        truth: Vec::new(),
    };
    let unread = messages(source, |message| all.message(message))?;
    let Gathering { mut samples, mut scans, mut images, odometry, truth, .. } = all;
    let mut late = samples.sort();
    let mut track = |origin: Option<&Origin>, poses| match origin? {
        Origin::Frames { way, .. } => Some(listing.frames.track(way, &samples, options.max_gap)),
        Origin::Topic(_) => {
            let (track, behind) = Track::new(poses);
            late += behind;
            Some(track)
        }
    };
    let (odometry, truth) = (track(origins[0], odometry), track(origins[1], truth));
    for times in [&mut scans, &mut images] {
        late += times.windows(2).filter(|pair| pair[1].0 < pair[0].0).count();
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let beats = match (&sources.scan, &sources.image) {
        (Some(_), _) => scans,
        (None, Some(_)) => images.clone(),
        (None, None) => {
            let samples = odometry.as_ref().or(truth.as_ref()).map_or(&[] as &[_], Track::samples);
            samples.iter().zip(0..).map(|(sample, number)| (sample.0, number)).collect()
        }
    };
    Ok(Gathered { beats, images, odometry, truth, late, unread })
}

/// When the messages of everything that was chosen came.
pub fn heard<'a>(listing: &'a Listing, sources: &'a Sources) -> Vec<(&'a str, &'a Heard)> {
    let topics = [&sources.scan, &sources.image].into_iter().flatten();
    let mut all: Vec<_> = topics.map(|topic| (topic.name.as_str(), &topic.heard)).collect();
    for origin in [&sources.odometry, &sources.pose].into_iter().flatten() {
        match origin {
            Origin::Topic(topic) => all.push((topic.name.as_str(), &topic.heard)),
            Origin::Frames { way, .. } => {
                let moving = way.iter().map(|link| (link, listing.frames.edge(link)));
                let moving = moving.filter(|(_, edge)| edge.moves);
                all.extend(moving.map(|(link, edge)| (link.pair.1.as_str(), &edge.heard)));
            }
        }
    }
    all
}
