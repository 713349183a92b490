//! A robot's pose from the tree of transforms between frames.

use crate::error::{Error, Result};
use crate::files::ros::Transform;
use crate::files::track::{Pose, Track, composed};
use std::collections::BTreeMap;

/// No robot has more frames.
const MOST_FRAMES: usize = 1000;

/// Samples of every frame's pose in its parent.
#[derive(Debug, Default)]
pub struct Tree {
    edges: BTreeMap<String, Edge>,
}

#[derive(Debug, Default)]
struct Edge {
    parent: String,
    samples: Vec<(f64, Pose)>,
    fixed: bool,
}

impl Tree {
    /// Adds a transform that was logged at `logged`; a `fixed` one holds at all times.
    pub fn add(&mut self, transform: Transform, logged: f64, fixed: bool) {
        if self.edges.len() >= MOST_FRAMES && !self.edges.contains_key(&transform.child) {
            return;
        }
        let edge = self.edges.entry(transform.child).or_default();
        if edge.parent != transform.parent {
            *edge = Edge { parent: transform.parent, ..Edge::default() };
        }
        edge.fixed = fixed;
        edge.samples.push((transform.stamped.time.unwrap_or(logged), transform.stamped.pose));
    }

    /// The poses of `child` in `parent`, at the times of the edge that is sampled most; also what came too late.
    pub fn track(&self, parent: &str, child: &str, most_gap: f64) -> Result<(Track, usize)> {
        let mut chain = Vec::new();
        let mut frame = child;
        while frame != parent {
            match self.edges.get(frame).filter(|_| chain.len() <= MOST_FRAMES) {
                Some(edge) => {
                    chain.push(edge);
                    frame = &edge.parent;
                }
                None => return Err(self.missing(parent, child)),
            }
        }
        let late_and_tracks: Vec<(Track, usize)> =
            chain.iter().map(|edge| Track::new(edge.samples.clone())).collect();
        let late = late_and_tracks.iter().map(|(_, late)| late).sum();
        let parts: Vec<(&Track, bool)> =
            late_and_tracks.iter().zip(&chain).map(|((track, _), edge)| (track, edge.fixed)).collect();
        let at = |time: f64| {
            parts.iter().rev().try_fold([0.0; 3], |pose, (track, fixed)| {
                let step =
                    if *fixed { track.samples().last().map(|last| last.1) } else { track.at(time, most_gap) };
                step.map(|step| composed(pose, step))
            })
        };
        let moving = parts.iter().filter(|(_, fixed)| !fixed).max_by_key(|(track, _)| track.samples().len());
        let Some((busiest, _)) = moving else {
            return Err(Error::new(format!("all transforms from {parent} to {child} are static")));
        };
        let samples = busiest.samples().iter().filter_map(|&(time, _)| Some((time, at(time)?))).collect();
        Ok((Track::new(samples).0, late))
    }

    fn missing(&self, parent: &str, child: &str) -> Error {
        let edges: Vec<String> =
            self.edges.iter().take(20).map(|(child, edge)| format!("{}->{child}", edge.parent)).collect();
        Error::new(format!("no transforms lead from {parent} to {child}; the bag holds {}", edges.join(", ")))
    }
}
