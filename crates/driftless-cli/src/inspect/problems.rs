//! What may be wrong with data that can be read: each check names the episode and what to do.

use driftless_world::files::DataFile;
use driftless_world::files::pfnet::odometry_residual;
use driftless_world::maze::{Body, Layout};
use driftless_world::pose::Frame;
use driftless_world::statistics::Statistics;
use driftless_world::{Error, Observations, Pixels, Pose, Trajectory};
use std::fmt;

/// More than this many problems of one kind are only counted.
const SHOWN: usize = 5;
/// Degrees taken for radians give headings far beyond a few turns.
const PLAUSIBLE_HEADING: f32 = 100.0;
/// Farther from the origin, 32-bit numbers do not tell neighbouring places apart.
const PLAUSIBLE_POSITION: f32 = 1e6;

/// Problems found so far.
pub struct Problems {
    unreadable: Vec<String>,
    other: Vec<String>,
    /// The maze the data say they come from, to check poses against its walls.
    maze: Option<(Layout, Body)>,
    in_walls: usize,
    frozen: usize,
    blank: usize,
    /// Steps of which the action leads elsewhere than the states say, and steps compared.
    drifting: (usize, usize),
    large_heading: bool,
    large_position: bool,
    /// What the first episode looks like.
    shape: Option<Shape>,
}

/// What all episodes of a file should have in common.
#[derive(Clone, PartialEq)]
struct Shape {
    observation: String,
    action: usize,
    state: usize,
}

impl Shape {
    fn of(episode: &Trajectory) -> Self {
        let observation = match &episode.observations {
            Observations::Vectors(rows) => format!("vectors of {}", rows.width()),
            Observations::Images(images) => {
                let kind = if matches!(images.pixels, Pixels::Bytes(_)) { "bytes" } else { "floats" };
                format!("images of {} x {} x {} {kind}", images.height, images.width, images.channels)
            }
        };
        Self { observation, action: episode.actions.width(), state: episode.states.width() }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, actions of {} and states of {}", self.observation, self.action, self.state)
    }
}

impl Problems {
    /// None yet.
    pub fn new(data: &dyn DataFile) -> Self {
        let maze = data.provenance().and_then(|provenance| provenance.maze);
        Self {
            unreadable: Vec::new(),
            other: Vec::new(),
            maze: maze.map(|layout| (layout.clone(), Body::new(&layout))),
            in_walls: 0,
            frozen: 0,
            blank: 0,
            drifting: (0, 0),
            large_heading: false,
            large_position: false,
            shape: None,
        }
    }

    /// False, and a problem, if an episode has other shapes than the first.
    pub fn fits(&mut self, index: usize, episode: &Trajectory) -> bool {
        let shape = Shape::of(episode);
        let first = self.shape.get_or_insert_with(|| shape.clone());
        if *first == shape {
            return true;
        }
        self.other
            .push(format!("episode {index} has {shape}, but the first has {first}; it is left out below"));
        false
    }

    /// An episode that cannot be read.
    pub fn unreadable(&mut self, error: &Error) {
        self.unreadable.push(error.to_string());
    }

    /// The first problem with reading.
    pub fn first(&self) -> &str {
        self.unreadable.first().map_or("none", String::as_str)
    }

    /// Checks one episode.
    pub fn look(&mut self, index: usize, episode: &Trajectory) {
        if let Observations::Images(images) = &episode.observations {
            let stride = images.stride();
            let same = |a: usize, b: usize| {
                (0..stride).all(|i| images.pixels.get(a + i) == images.pixels.get(b + i))
            };
            let flat = |at: usize| (0..stride).all(|i| images.pixels.get(at + i) == images.pixels.get(at));
            self.blank += (0..images.len()).filter(|t| flat(t * stride)).count();
            let moved = |t: usize| {
                episode.actions.width() > 0 && episode.actions.row(t).iter().any(|a| a.abs() > 1e-3)
            };
            self.frozen +=
                (1..images.len()).filter(|&t| moved(t) && same((t - 1) * stride, t * stride)).count();
        }
        let missing = |row: &[f32]| row.iter().all(|value| value.is_nan());
        let mut actions = (0..episode.actions.len()).map(|t| episode.actions.row(t));
        if let Some(t) = actions.position(|row| row.iter().any(|value| !value.is_finite()) && !missing(row)) {
            self.other.push(format!("episode {index}: the action of step {t} is not finite"));
        }
        self.look_at_poses(episode);
    }

    fn look_at_poses(&mut self, episode: &Trajectory) {
        if episode.states.width() != 3 {
            return;
        }
        let pose = |state: &[f32]| Pose::new(state[0].into(), state[1].into(), state[2].into());
        for state in episode.states.iter().flatten() {
            self.large_heading |= state[2].abs() > PLAUSIBLE_HEADING;
            self.large_position |= state[0].abs().max(state[1].abs()) > PLAUSIBLE_POSITION;
            if let Some((layout, body)) = &self.maze {
                let [width, height] = layout.extent();
                let at = pose(state);
                let inside = (0.0..=width).contains(&at.x) && (0.0..=height).contains(&at.y);
                // Poses are stored as 32-bit numbers, which may round into a wall by a hair.
                let free = [-1e-3, 1e-3]
                    .iter()
                    .any(|d| body.fits(at.x + d, at.y + d) || body.fits(at.x + d, at.y - d));
                self.in_walls += usize::from(!inside || !free);
            }
        }
        if episode.actions.width() != 3 {
            return;
        }
        for t in 1..episode.len() {
            if let (Some(before), Some(after)) = (episode.states.get(t - 1), episode.states.get(t)) {
                let [ax, ay, turn] = [0, 1, 2].map(|k| f64::from(episode.actions.row(t)[k]));
                if ax.is_nan() {
                    continue;
                }
                let error = [Frame::Reflected, Frame::Robot]
                    .map(|frame| pose(before).moved([ax, ay, turn], frame).distance(pose(after)))
                    .into_iter()
                    .fold(f64::INFINITY, f64::min);
                let step = pose(before).distance(pose(after));
                self.drifting.1 += 1;
                self.drifting.0 += usize::from(error > 0.5 * step + 1e-3);
            }
        }
    }

    /// Checks that a house record's odometry leads from state to state: all of its states are known.
    pub fn look_at_odometry(&mut self, index: usize, episode: &Trajectory) {
        let row = |values: &[f32]| [values[0], values[1], values[2]];
        let states: Vec<[f32; 3]> = episode.states.iter().flatten().map(row).collect();
        // In a trajectory the motion t → t + 1 is the action into step t + 1.
        let motions = (1..episode.len()).map(|t| row(episode.actions.row(t)));
        let odometry: Vec<[f32; 3]> = motions.chain([[0.0; 3]]).collect();
        let residual = odometry_residual(&states, &odometry).unwrap_or_default();
        if residual.position > 1.0 || residual.heading > 0.02 {
            self.other.push(format!(
                "record {index}: odometry and states differ by up to {:.1} pixels and {:.3} rad: noisy odometry, or another convention",
                residual.position, residual.heading
            ));
        }
    }

    /// All problems, the many of a kind counted.
    pub fn found(self, statistics: &Statistics) -> Vec<String> {
        let mut found = shortened(self.unreadable, "episodes that cannot be read");
        found.extend(shortened(self.other, "such episodes"));
        let steps = statistics.lengths.mean * statistics.lengths.count as f64;
        let mut add = |bad: bool, text: String| {
            if bad {
                found.push(text);
            }
        };
        add(self.blank > 0, format!("{} images of a single colour: a covered or broken camera?", self.blank));
        add(
            self.frozen as f64 > 0.01 * steps,
            format!("{} images equal the one before although the robot moved: dropped frames?", self.frozen),
        );
        add(
            self.in_walls > 0,
            format!("{} poses are inside walls of the maze that the file names", self.in_walls),
        );
        add(
            self.large_heading,
            format!("headings beyond ±{PLAUSIBLE_HEADING}: degrees where radians are expected?"),
        );
        add(
            self.large_position,
            format!("positions beyond ±{PLAUSIBLE_POSITION:e}: shift the origin nearer"),
        );
        let (drifting, compared) = self.drifting;
        add(
            drifting as f64 > 0.2 * compared.max(1) as f64,
            format!(
                "{drifting} of {compared} actions lead more than half a step away from the next state: another frame, unit or order?"
            ),
        );
        let still = statistics.observations.iter().all(|channel| channel.std() == 0.0);
        add(still && steps > 1.0, "all observations are the same number".into());
        found
    }
}

fn shortened(mut problems: Vec<String>, what: &str) -> Vec<String> {
    let more = problems.len().saturating_sub(SHOWN);
    problems.truncate(SHOWN);
    if more > 0 {
        problems.push(format!("and {more} more {what}"));
    }
    problems
}
