//! The frames of a bag: which is seen from which, and the way from one to another.

use super::heard::{Clock, Heard};
use crate::error::{Error, Result};
use crate::files::rigid::Rigid;
use crate::files::ros::Stamped;
use crate::files::track::Track;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// No robot has more pairs of frames.
const MOST_PAIRS: usize = 2000;

/// Two frames, of which the first is the parent.
pub type Pair = (String, String);

/// What is known of a pair of frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// When it was published.
    pub heard: Heard,
    /// The child's place in the parent, as last published.
    pub place: Rigid,
    /// Whether it ever changed.
    pub moves: bool,
}

/// All pairs of frames.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    edges: BTreeMap<Pair, Edge>,
}

/// One pair on a way, gone from the parent to the child or back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The pair.
    pub pair: Pair,
    /// From the child to the parent.
    pub back: bool,
}

impl Frames {
    /// Notes a transform; one of `tf_static` holds at all times.
    pub fn note(&mut self, transform: &Stamped, logged: f64, fixed: bool) {
        let pair = (transform.header.frame.clone(), transform.child.clone());
        if self.edges.len() >= MOST_PAIRS && !self.edges.contains_key(&pair) {
            return;
        }
        let place = transform.place;
        let new = || Edge { heard: Heard::default(), place, moves: false };
        let edge = self.edges.entry(pair).or_insert_with(new);
        edge.heard.hear(transform.header.time, logged);
        edge.moves |= !fixed && edge.place != place;
        edge.place = place;
    }

    /// All pairs by name.
    pub fn pairs(&self) -> impl Iterator<Item = (&Pair, &Edge)> {
        self.edges.iter()
    }

    /// What is known of a pair on a way.
    pub fn edge(&self, link: &Link) -> &Edge {
        &self.edges[&link.pair]
    }

    /// Whether there is a frame of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.edges.keys().any(|(parent, child)| parent == name || child == name)
    }

    /// The shortest way from a frame to another.
    pub fn way(&self, from: &str, to: &str) -> Result<Vec<Link>> {
        let mut came: HashMap<&str, (&str, Link)> = HashMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(frame) = queue.pop_front() {
            for pair in self.edges.keys() {
                let (next, back) = match (pair.0.as_str(), pair.1.as_str()) {
                    (parent, child) if parent == frame => (child, false),
                    (parent, child) if child == frame => (parent, true),
                    _ => continue,
                };
                if next != from && !came.contains_key(next) {
                    came.insert(next, (frame, Link { pair: pair.clone(), back }));
                    queue.push_back(next);
                }
            }
        }
        let mut way = Vec::new();
        let mut frame = to;
        while frame != from {
            let Some((before, link)) = came.get(frame) else { return Err(self.no_way(from, to)) };
            way.push(link.clone());
            frame = before;
        }
        way.reverse();
        Ok(way)
    }

    /// The place of `to` in `from`, if it never changes.
    pub fn fixed(&self, from: &str, to: &str) -> Option<Rigid> {
        let way = self.way(from, to).ok()?;
        way.iter().try_fold(Rigid::SAME, |place, link| {
            let edge = self.edge(link);
            (!edge.moves).then(|| place.then(&directed(edge.place, link.back)))
        })
    }

    /// Poses along a way, at the times of the pair that is published most.
    pub fn track(&self, way: &[Link], samples: &Samples, most_gap: f64) -> Track {
        let part = |link: &Link, time: f64| {
            let edge = self.edge(link);
            let place = if edge.moves { samples.at(&link.pair, time, most_gap) } else { Some(edge.place) };
            place.map(|place| directed(place, link.back))
        };
        let at =
            |time: f64| way.iter().try_fold(Rigid::SAME, |place, link| Some(place.then(&part(link, time)?)));
        let moving = way.iter().filter_map(|link| samples.by_pair.get(&link.pair));
        let times = moving.max_by_key(|samples| samples.len()).map_or(&[] as &[_], Vec::as_slice);
        let poses = times.iter().filter_map(|&(time, _)| Some((time, at(time)?.on_floor()))).collect();
        Track::new(poses).0
    }

    fn no_way(&self, from: &str, to: &str) -> Error {
        let pairs: Vec<String> =
            self.edges.keys().take(20).map(|(parent, child)| format!("{parent}->{child}")).collect();
        let held = if pairs.is_empty() { "none".to_owned() } else { pairs.join(", ") };
        let more = if self.edges.len() > 20 { ", …" } else { "" };
        Error::new(format!("no transforms lead from {from} to {to}; the bag holds {held}{more}"))
    }
}

fn directed(place: Rigid, back: bool) -> Rigid {
    if back { place.inverse() } else { place }
}

/// Places of a few pairs by time.
#[derive(Debug)]
pub struct Samples {
    by_pair: HashMap<Pair, Vec<(f64, Rigid)>>,
}

impl Samples {
    /// For these pairs and no others.
    pub fn of(pairs: impl Iterator<Item = Pair>) -> Self {
        Self { by_pair: pairs.map(|pair| (pair, Vec::new())).collect() }
    }

    /// Takes a transform, if it is one of those.
    pub fn take(&mut self, transform: Stamped, clock: Clock, logged: f64) {
        let time = clock.time(transform.header.time, logged);
        if let Some(samples) = self.by_pair.get_mut(&(transform.header.frame, transform.child)) {
            samples.push((time, transform.place));
        }
    }

    /// Puts all in order of time; says how many came too late.
    pub fn sort(&mut self) -> usize {
        let mut late = 0;
        for samples in self.by_pair.values_mut() {
            late += samples.windows(2).filter(|pair| pair[1].0 < pair[0].0).count();
            samples.sort_by(|a, b| a.0.total_cmp(&b.0));
            samples.dedup_by(|a, b| a.0 == b.0);
        }
        late
    }

    fn at(&self, pair: &Pair, time: f64, most_gap: f64) -> Option<Rigid> {
        let samples = self.by_pair.get(pair)?;
        let after = samples.partition_point(|sample| sample.0 < time);
        let (end, b) = samples.get(after)?;
        if *end == time {
            return Some(*b);
        }
        let (start, a) = samples.get(after.checked_sub(1)?)?;
        (end - start <= most_gap).then(|| a.between(b, (time - start) / (end - start)))
    }
}
