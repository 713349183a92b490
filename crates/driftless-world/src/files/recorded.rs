//! A drive taken over from a robot's own files, written as a plain log.

use crate::error::{Error, Result};
use crate::files::atomic::Overwrite;
use crate::files::npy::Dtype;
use crate::files::npz::NpzWriter;
use crate::files::track::{Pose, relative};
use crate::files::zip::Method;
use std::fmt::Write as _;
use std::path::Path;

/// One step of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Seconds, by the recording's own clock.
    pub time: f64,
    /// Readings of the beams; NaN where there is none.
    pub ranges: Vec<f32>,
    /// Where odometry says the robot is.
    pub odometry: Pose,
    /// Where the robot is, if somebody knows.
    pub pose: Option<Pose>,
}

/// Episodes of steps with the same beams.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Angle of each beam, left positive.
    pub beam_angles: Vec<f64>,
    /// Steps of each episode; none is empty.
    pub episodes: Vec<Vec<Step>>,
    /// What was strange, in words.
    pub notes: Vec<String>,
}

impl Recording {
    /// All steps in order.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.episodes.iter().flatten()
    }

    /// Writes the plain log; it appears when complete.
    pub fn write(&self, path: &Path, overwrite: Overwrite, comment: &str) -> Result<()> {
        self.write_unnamed(path, overwrite, comment).map_err(|error| error.in_file(path))
    }

    fn write_unnamed(&self, path: &Path, overwrite: Overwrite, comment: &str) -> Result<()> {
        let steps = self.steps().count();
        if steps == 0 {
            return Err(Error::new("was not written, because no step was found"));
        }
        let mut npz = NpzWriter::create(path, overwrite, Method::Deflated)?;
        let mut array = |name: &str, dtype, shape: &[usize], bytes: Vec<u8>| {
            npz.array(name, dtype, shape)?;
            npz.write(&bytes)?;
            npz.end()
        };
        let ranges = self.steps().flat_map(|step| &step.ranges).flat_map(|range| range.to_le_bytes());
        array("observations", Dtype::F32, &[steps, self.beam_angles.len()], ranges.collect())?;
        let actions = self.actions().flat_map(|motion| motion.map(|part| (part as f32).to_le_bytes()));
        array("actions", Dtype::F32, &[steps, 3], actions.flatten().collect())?;
        let poses = self.steps().flat_map(|step| step.pose.unwrap_or([f64::NAN; 3]));
        array("poses", Dtype::F64, &[steps, 3], doubles(poses))?;
        let lengths = self.episodes.iter().flat_map(|episode| (episode.len() as i64).to_le_bytes());
        array("lengths", Dtype::I64, &[self.episodes.len()], lengths.collect())?;
        array("times", Dtype::F64, &[steps], doubles(self.steps().map(|step| step.time)))?;
        array(
            "beam_angles",
            Dtype::F64,
            &[self.beam_angles.len()],
            doubles(self.beam_angles.iter().copied()),
        )?;
        npz.finish(comment)?.commit()
    }

    /// Motion into each step, in the robot's frame; zeros in an episode's first.
    pub fn actions(&self) -> impl Iterator<Item = Pose> {
        self.episodes.iter().flat_map(|episode| {
            let motions = episode.windows(2).map(|pair| relative(pair[0].odometry, pair[1].odometry));
            std::iter::once([0.0; 3]).chain(motions)
        })
    }

    /// A few lines on what was made, and on what was strange.
    pub fn summary(&self) -> String {
        let steps = self.steps().count().max(1) as f64;
        let labelled = self.steps().filter(|step| step.pose.is_some()).count() as f64;
        let missing = self.steps().flat_map(|step| &step.ranges).filter(|range| range.is_nan()).count();
        let mut apart: Vec<f64> = self
            .episodes
            .iter()
            .flat_map(|episode| episode.windows(2).map(|p| p[1].time - p[0].time))
            .collect();
        apart.sort_by(f64::total_cmp);
        let length: f64 = self.actions().map(|motion| motion[0].hypot(motion[1])).sum();
        let beams = self.beam_angles.len();
        let mut text = format!(
            "{steps} steps in {} episodes, {length:.1} m by odometry, {:.1} % of the steps labelled\n{beams} beams, {:.1} % of the readings missing",
            self.episodes.len(),
            100.0 * labelled / steps,
            100.0 * missing as f64 / (steps * beams.max(1) as f64),
        );
        if let Some(median) = apart.get(apart.len() / 2) {
            let _ = write!(text, "; a step every {median:.2} s (median)");
        }
        for note in &self.notes {
            let _ = write!(text, "\nnote: {note}");
        }
        text + "\n"
    }
}

/// Splits steps into episodes of at most `most`, ending one wherever `breaks` says so for two neighbours.
pub fn episodes(steps: Vec<Step>, most: usize, breaks: impl Fn(&Step, &Step) -> bool) -> Vec<Vec<Step>> {
    let mut episodes: Vec<Vec<Step>> = Vec::new();
    for step in steps {
        match episodes.last_mut() {
            Some(episode)
                if episode.len() < most && episode.last().is_some_and(|last| !breaks(last, &step)) =>
            {
                episode.push(step);
            }
            _ => episodes.push(vec![step]),
        }
    }
    episodes
}

fn doubles(values: impl Iterator<Item = f64>) -> Vec<u8> {
    values.flat_map(f64::to_le_bytes).collect()
}
