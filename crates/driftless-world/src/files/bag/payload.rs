//! The scans and images of the steps that were chosen.

use super::BagOptions;
use super::beams::Beams;
use super::choice::Sources;
use super::steps::Plan;
use crate::error::{Error, Result};
use crate::files::recorded::Camera;
use crate::files::rigid::Rigid;
use crate::files::ros::{BINS, Encoding, Kind, LaserScan, laser_scan, picture, planar};
use crate::files::spool::Spool;
use std::collections::{HashMap, HashSet};
use std::f64::consts::{PI, TAU};
use std::io::Write;

/// What was read of the chosen messages.
pub struct Payload {
    mount: Rigid,
    most_beams: usize,
    side: usize,
    wanted_scans: HashSet<u64>,
    wanted_images: HashSet<u64>,
    /// The beams, once a scan was read.
    pub beams: Option<Beams>,
    /// Readings by message.
    pub scans: HashMap<u64, Vec<f32>>,
    /// Places of images in the temporary file, by message.
    pub stored: HashMap<u64, u64>,
    /// Rows, columns and channels, once an image was read.
    pub shape: Option<[usize; 3]>,
    images: Spool,
    fitted: usize,
    broken: Option<Error>,
}

impl Payload {
    /// Nothing yet.
    pub fn new(plans: &[Plan], sources: &Sources, mount: Rigid, options: &BagOptions) -> Result<Self> {
        let scans = plans.iter().filter(|_| sources.scan.is_some()).map(|plan| plan.message);
        Ok(Self {
            mount,
            most_beams: options.beams,
            side: options.image_side.max(1),
            wanted_scans: scans.collect(),
            wanted_images: plans.iter().filter_map(|plan| plan.image).collect(),
            beams: None,
            scans: HashMap::new(),
            stored: HashMap::new(),
            shape: None,
            images: Spool::new()?,
            fitted: 0,
            broken: None,
        })
    }

    /// Keeps a scan, if a step wants it.
    pub fn scan(&mut self, kind: Kind, encoding: Encoding, number: u64, bytes: &[u8]) -> Result<()> {
        if !self.wanted_scans.contains(&number) {
            return Ok(());
        }
        // A cloud is turned into the robot's directions while it is flattened.
        let (scan, mount) = if kind == Kind::PointCloud {
            let ranges = planar(encoding, bytes, &self.mount)?;
            let scan = LaserScan { angle_min: -PI, increment: TAU / BINS as f64, ranges };
            (scan, Rigid { turn: Rigid::SAME.turn, ..self.mount })
        } else {
            (laser_scan(encoding, bytes)?, self.mount)
        };
        let beams = self.beams.get_or_insert_with(|| Beams::new(&scan, mount, self.most_beams));
        self.scans.insert(number, beams.readings(&scan));
        Ok(())
    }

    /// Keeps an image, if a step wants it.
    pub fn image(&mut self, kind: Kind, encoding: Encoding, number: u64, bytes: &[u8]) -> Result<()> {
        if !self.wanted_images.contains(&number) {
            return Ok(());
        }
        let image = picture(kind, encoding, bytes)?;
        let (height, width) = image.size_within(self.side);
        let shape = *self.shape.get_or_insert([height, width, image.channels]);
        self.fitted += usize::from([height, width, image.channels] != shape);
        let small = image.with_channels(shape[2]).resized((shape[0], shape[1]));
        self.stored.insert(number, self.stored.len() as u64);
        if let Err(source) = self.images.write_all(&small.values) {
            self.broken.get_or_insert(Error::io("cannot write a temporary file", source));
        }
        Ok(())
    }

    /// What was strange.
    pub fn notes(&self, notes: &mut Vec<String>) {
        if let Some(beams) = self.beams.as_ref().filter(|beams| beams.other > 0) {
            let other = beams.other;
            notes.push(format!(
                "{other} scans have another number of beams than the first; theirs were taken by angle"
            ));
        }
        if self.fitted > 0 {
            notes.push(format!(
                "{} images have another size than the first, and were fitted to it",
                self.fitted
            ));
        }
    }

    /// The images, if there are any; and the beams.
    pub fn finish(self) -> Result<(Option<Camera>, Option<Vec<f64>>)> {
        if let Some(error) = self.broken {
            return Err(error);
        }
        let angles = self.beams.map(|beams| beams.angles);
        let Some(shape) = self.shape else { return Ok((None, angles)) };
        Ok((Some(Camera { shape, images: self.images.finish()? }), angles))
    }
}
