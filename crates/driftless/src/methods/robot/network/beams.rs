//! Scans for a network: logarithms of distances along the beams, and a mark where something was met; convolutions see
//! neighbouring beams.

use super::super::walks::Measured;
use super::input::Input;
use crate::learn::SensorSettings;
use crate::nets::ConvPlan;
use driftless_world::random::Random;
use driftless_world::statistics::Moments;

/// Beams that a network sees, at most: neighbours are averaged where there are more.
const MOST_BEAMS: usize = 180;
/// The share of features that dropout keeps.
const KEEP: f64 = 0.5;
/// In training, noise on logarithms, in their deviation, and the share of beams that meet nothing.
const NOISE: f64 = 0.05;
const LOST: f64 = 0.03;
/// Distances below this share of the mean are all near.
const NEAR: f64 = 0.05;

/// The beams of a scanner.
#[derive(Clone)]
pub(in crate::methods::robot) struct Beams {
    columns: [usize; 2],
    reach: f32,
    /// Neighbours that are averaged.
    group: usize,
    /// What is near, and mean and inverse deviation of logarithms.
    scale: [f32; 3],
}

impl Beams {
    /// Not measured yet.
    pub(in crate::methods::robot) fn new(settings: &SensorSettings) -> Self {
        Self {
            columns: settings.columns,
            reach: settings.reach as f32,
            group: settings.width().div_ceil(MOST_BEAMS).max(1),
            scale: [1.0, 0.0, 1.0],
        }
    }

    fn own<'a>(&self, seen: &Measured<'a>) -> &'a [f32] {
        seen.numbers.get(self.columns[0]..self.columns[1]).unwrap_or(&[])
    }

    /// The mean distance of each group of beams that met something.
    fn distances(&self, seen: &Measured) -> Vec<Option<f32>> {
        let mean = |group: &[f32]| {
            let met = group.iter().filter(|range| range.is_finite() && **range > 0.0 && **range < self.reach);
            let (sum, count) = met.fold((0.0, 0), |(sum, count), range| (sum + range, count + 1));
            (count > 0).then(|| sum / count as f32)
        };
        self.own(seen).chunks(self.group).map(mean).collect()
    }
}

impl Input for Beams {
    fn plan(&self) -> ConvPlan {
        let beams = (self.columns[1] - self.columns[0]).div_ceil(self.group);
        ConvPlan { keep: KEEP, ..ConvPlan::released([2, 1, beams]) }
    }

    fn measure(&mut self, readings: &[Measured]) {
        let (mut lengths, mut logs) = (Moments::default(), Moments::default());
        let all = || readings.iter().flat_map(|seen| self.distances(seen)).flatten();
        all().for_each(|distance| lengths.push(f64::from(distance)));
        let near = if lengths.count > 0 { NEAR * lengths.mean } else { 1.0 };
        all().for_each(|distance| logs.push((f64::from(distance) + near).ln()));
        let size = if logs.count > 0 && logs.std() > 1e-9 { logs.std() } else { 1.0 };
        let mean = if logs.count > 0 { logs.mean } else { 0.0 };
        self.scale = [near, mean, 1.0 / size].map(|x| x as f32);
    }

    fn write(&self, seen: &Measured, mut training: Option<&mut Random>, to: &mut Vec<f32>) -> bool {
        let distances = self.distances(seen);
        if !distances.iter().any(Option::is_some) {
            return false;
        }
        let [near, mean, factor] = self.scale;
        let mut marks = Vec::with_capacity(distances.len());
        for distance in distances {
            let kept = distance.filter(|_| training.as_mut().is_none_or(|random| !random.chance(LOST)));
            let noise = training.as_mut().map_or(0.0, |random| (NOISE * random.normal()) as f32);
            to.push(kept.map_or(0.0, |distance| ((distance + near).ln() - mean) * factor + noise));
            marks.push(f32::from(u8::from(kept.is_some())));
        }
        to.append(&mut marks);
        true
    }

    fn scale(&self) -> Vec<f64> {
        self.scale.iter().map(|&x| f64::from(x)).collect()
    }

    fn set_scale(&mut self, scale: &[f64]) -> bool {
        let &[near, mean, factor] = scale else { return false };
        self.scale = [near, mean, factor].map(|x| x as f32);
        near > 0.0
    }
}
