//! The filter on a robot in a house: one image and one action at a time, on the floor plan that it is given.

use super::RangeScan;
use super::camera::Camera;
use super::follower::Follower;
use super::network::Network;
use super::sensor::{RangeSensor, Scans};
use super::walks::House;
use crate::error::Result;
use crate::online::{Estimate, Observation, OnlineFilter, Start};
use driftless_core::motion::Density;
use driftless_core::{Belief, Reading, Stream};
use driftless_kernels::range_scan::ScanMemory;
use driftless_world::files::pfnet::HouseMaps;
use std::sync::Arc;

/// A robot on its way.
pub(super) struct OnlineScan {
    network: Network,
    camera: Camera,
    house: House,
    follower: Follower,
    memory: ScanMemory,
    /// Of the image that is seen, alone.
    scans: Scans,
}

impl RangeScan {
    /// A filter that begins in a house, with a copy of what was learned.
    pub(super) fn online(
        &self,
        floor: &Arc<HouseMaps>,
        particles: usize,
        start: &Start,
    ) -> Result<OnlineScan> {
        let house = House::new(floor);
        let draws = Stream::new(start.seed, start.episode);
        let follower = self.follower(&house, start.place.told(), (particles, self.tempering), draws)?;
        Ok(OnlineScan {
            network: self.learner.net().clone(),
            camera: self.camera.clone(),
            house,
            follower,
            memory: ScanMemory::default(),
            scans: Scans { log: Vec::new() },
        })
    }
}

impl OnlineFilter for OnlineScan {
    fn step(&mut self, seen: Observation) -> Estimate {
        let Self { network, memory, scans, .. } = self;
        scans.log.clear();
        // An image of another size is refused before; here it says nothing, as one that is not there.
        let looked =
            seen.image.map(|(images, t)| network.scan_some(images, t..t + 1, memory, &mut scans.log));
        if !matches!(looked, Some(Ok(()))) {
            scans.log.push(None);
        }
        let mut sensor =
            RangeSensor { camera: &self.camera, walls: &self.house.walls, scans, t: 0, every: 1 };
        let action = seen.action.map(|action| action.map(|x| x as f32));
        let report = self.follower.step(&mut sensor, action);
        Estimate {
            collapsed: report.collapsed,
            saw: report.reading == Reading::Present,
            moved: report.moved && seen.action.is_some(),
            ..Estimate::of(&self.follower.state.belief)
        }
    }

    fn next_motion(&self, seen: &Observation) -> Option<Box<dyn Density>> {
        let action = seen.action.map(|action| action.map(|x| x as f32));
        Some(Box::new(self.follower.next_motion(action)?))
    }

    fn belief(&self) -> Option<&Belief> {
        self.follower.began.then_some(&self.follower.state.belief)
    }

    fn save(&self, to: &mut Vec<u8>) -> Option<()> {
        self.follower.save(to);
        Some(())
    }

    fn restore(&mut self, from: &mut &[u8]) -> Option<()> {
        self.follower.restore(from)
    }
}
