//! A drive out of a bag: scans give the steps, odometry the motion between them, poses the truth.

use super::topics::{Channels, Topic, check, list};
use super::transforms::Tree;
use super::{PoseSource, records};
use crate::error::{Error, Result};
use crate::files::recorded::{Recording, Step, episodes};
use crate::files::ros::{Encoding, Kind, LaserScan, laser_scan, pose, transforms};
use crate::files::source::Source;
use crate::files::track::{Pose, Track};
use mcap::records::Record;

/// A larger jump between two messages is a reset of the odometry.
const RESET: f64 = 2.0;

/// What to take from a bag, and how.
#[derive(Clone, Debug)]
pub struct BagOptions {
    /// Where the robot's own motion comes from.
    pub odometry: PoseSource,
    /// The topic of the scans.
    pub scan: String,
    /// Where the truth comes from, if anywhere.
    pub pose: Option<PoseSource>,
    /// Steps a second, at most.
    pub rate: f64,
    /// At most so many beams of a scan are kept.
    pub beams: usize,
    /// Seconds between two messages that may be bridged.
    pub max_gap: f64,
    /// Longest episode.
    pub episode_steps: usize,
}

/// What has been read so far.
#[derive(Default)]
struct Reading {
    angles: Vec<f64>,
    scans: Vec<(f64, Vec<f32>)>,
    odometry: Vec<(f64, Pose)>,
    truth: Vec<(f64, Pose)>,
    tree: Tree,
    unread: usize,
    problem: Option<String>,
}

/// Reads a bag as a stream; only the steps and the poses stay in memory.
pub fn import(source: &Source, options: &BagOptions) -> Result<Recording> {
    let (topics, _) = list(source)?;
    check(&topics, &options.scan, "--scan", |kind| kind == Kind::LaserScan)?;
    for (wanted, option) in [(Some(&options.odometry), "--odometry"), (options.pose.as_ref(), "--pose")] {
        if let Some(PoseSource::Topic(name)) = wanted {
            check(&topics, name, option, Kind::is_pose)?;
        }
    }
    let (mut channels, mut reading) = (Channels::default(), Reading::default());
    let mut notes = records::read(source, |record| {
        channels.note(&record);
        if let Record::Message { header, data } = &record
            && let Some(topic) = channels.get_mut(header.channel_id)
            && let Err(error) = reading.message(topic, header.log_time as f64 * 1e-9, data, options)
        {
            reading.unread += 1;
            reading.problem.get_or_insert(format!("{}: {error}", topic.name));
        }
        Ok(())
    })?;
    if let Some(problem) = &reading.problem {
        notes.push(format!("{} messages could not be decoded; the first: {problem}", reading.unread));
    }
    reading.finish(options, notes)
}

impl Reading {
    fn message(&mut self, topic: &Topic, logged: f64, bytes: &[u8], options: &BagOptions) -> Result<()> {
        let Some((kind, encoding)) = topic.kind() else { return Ok(()) };
        let named = |wanted: Option<&PoseSource>| matches!(wanted, Some(PoseSource::Topic(name)) if *name == topic.name);
        if kind == Kind::Transforms {
            return self.transforms(topic, encoding, logged, bytes);
        }
        if topic.name == options.scan && kind == Kind::LaserScan {
            let scan = laser_scan(encoding, bytes)?;
            self.scan(scan.time.unwrap_or(logged), &scan, options);
        }
        let (moves, knows) = (named(Some(&options.odometry)), named(options.pose.as_ref()));
        if kind.is_pose() && (moves || knows) {
            let stamped = pose(kind, encoding, bytes)?;
            let sample = (stamped.time.unwrap_or(logged), stamped.pose);
            self.odometry.extend(moves.then_some(sample));
            self.truth.extend(knows.then_some(sample));
        }
        Ok(())
    }

    fn transforms(&mut self, topic: &Topic, encoding: Encoding, logged: f64, bytes: &[u8]) -> Result<()> {
        let fixed = topic.name.ends_with("tf_static");
        for transform in transforms(encoding, bytes)? {
            self.tree.add(transform, logged, fixed);
        }
        Ok(())
    }

    /// Keeps a scan if the last one is long enough ago; a bit less will do, because clocks jitter.
    fn scan(&mut self, time: f64, scan: &LaserScan, options: &BagOptions) {
        let pause = 0.9 / options.rate;
        if self.scans.last().is_some_and(|(last, _)| (time - last).abs() < pause) {
            return;
        }
        if self.angles.is_empty() {
            let (count, kept) = (scan.ranges.len(), scan.ranges.len().min(options.beams.max(1)));
            let angle = |beam: usize| scan.angle_min + scan.increment * (beam * count / kept) as f64;
            self.angles = (0..kept).map(angle).collect();
        }
        let range = |angle: &f64| {
            let beam = ((angle - scan.angle_min) / scan.increment).round();
            if beam < 0.0 { f32::NAN } else { scan.ranges.get(beam as usize).copied().unwrap_or(f32::NAN) }
        };
        self.scans.push((time, self.angles.iter().map(range).collect()));
    }

    fn finish(mut self, options: &BagOptions, mut notes: Vec<String>) -> Result<Recording> {
        let late = self.scans.windows(2).filter(|pair| pair[1].0 < pair[0].0).count();
        self.scans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (odometry, truth, late_poses) = tracks(self.odometry, self.truth, self.tree, options)?;
        if late + late_poses > 0 {
            notes.push(format!(
                "{} messages had stamps before those of earlier ones; all were sorted",
                late + late_poses
            ));
        }
        let found = self.scans.len();
        let steps: Vec<Step> = self
            .scans
            .into_iter()
            .filter_map(|(time, ranges)| {
                let moved = odometry.at(time, options.max_gap)?;
                let pose = truth.at(time, options.max_gap);
                Some(Step { time, ranges, odometry: moved, pose })
            })
            .collect();
        if steps.is_empty() {
            return Err(Error::new(format!(
                "none of the {found} scans lies between two odometry messages at most {} s apart; are their clocks the same? --max-gap bridges longer pauses",
                options.max_gap
            )));
        }
        if steps.len() < found {
            notes.push(format!("{} scans without odometry at their time were left out", found - steps.len()));
        }
        if options.pose.is_some() && steps.iter().all(|step| step.pose.is_none()) {
            notes.push("no step is labelled: no pose lies near enough to a scan; see --max-gap".to_owned());
        }
        let breaks = |a: &Step, b: &Step| odometry.breaks(a.time, b.time, RESET, options.max_gap);
        let resets = steps.windows(2).filter(|pair| breaks(&pair[0], &pair[1])).count();
        if resets > 0 {
            notes.push(format!("odometry pauses or jumps at {resets} places; an episode ends at each"));
        }
        let episodes = episodes(steps, options.episode_steps.max(1), breaks);
        Ok(Recording { beam_angles: self.angles, episodes, notes })
    }
}

/// Odometry, truth, and how many poses came too late.
fn tracks(
    odometry: Vec<(f64, Pose)>,
    truth: Vec<(f64, Pose)>,
    tree: Tree,
    options: &BagOptions,
) -> Result<(Track, Track, usize)> {
    let from_tree = |wanted: &PoseSource, option: &str| match wanted {
        PoseSource::Transform { parent, child } => {
            Some(tree.track(parent, child, options.max_gap).map_err(|error| error.in_field(option)))
        }
        PoseSource::Topic(_) => None::<Result<(Track, usize)>>,
    };
    let (moved, late) =
        from_tree(&options.odometry, "--odometry").transpose()?.unwrap_or_else(|| Track::new(odometry));
    let known = options.pose.as_ref().and_then(|wanted| from_tree(wanted, "--pose")).transpose()?;
    let (known, late_truth) = known.unwrap_or_else(|| Track::new(truth));
    Ok((moved, known, late + late_truth))
}
