//! What a robot's log looks like: which sensors it seems to hold, and why.

mod coordinates;
mod readings;
mod suspect;

use super::{
    Experiment, MotionKind, MotionSettings, SensorEncoder, SensorKind, SensorSettings, StateKind,
    StateSettings, WorldKind,
};
use crate::error::Result;
use crate::methods::check_given;
use driftless_world::Trajectory;
use driftless_world::files::{Format, ReadOptions};
use driftless_world::pose::{Frame, wrap};
use driftless_world::trajectory::{Images, Observations};
use std::f64::consts::PI;
use std::path::Path;
use suspect::suspect;

/// As many numbers in a row are a scan, not distances to beacons.
const LEAST_BEAMS: usize = 16;
/// Episodes that are looked at, at most.
const LOOKED_AT: usize = 50;
/// A share of readings at the very end of the range means that nothing was met there.
const NOTHING_MET: f64 = 0.002;

/// An experiment for a log, and what was chosen, in sentences.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// With all that the log tells filled in.
    pub experiment: Experiment,
    /// What was chosen and why, and what looks odd.
    pub notes: Vec<String>,
}

/// Fills in what an experiment leaves open: sensors, and how many episodes there are.
pub fn describe(experiment: &Experiment, path: &Path) -> Result<Described> {
    let file = Format::of(path)?.open(path, &ReadOptions::default())?;
    let mut notes = Vec::new();
    let mut experiment = Experiment { world: WorldKind::Robot, ..experiment.clone() };
    let episodes =
        (0..file.len().min(LOOKED_AT)).map(|i| file.get(i)).collect::<driftless_world::Result<Vec<_>>>()?;
    let labelled: usize = episodes.iter().map(|episode| episode.states.known()).sum();
    notes.push(format!(
        "{} episodes, poses known at {labelled} steps of the first {}",
        file.len(),
        episodes.len()
    ));
    if coordinates::are_meant(&experiment, &episodes[0]) {
        let described = coordinates::describe(&mut experiment, &episodes, &mut notes);
        described.map_err(|error| error.in_file(path))?;
        experiment.trajectories = experiment.trajectories.min(file.len());
        experiment.check()?;
        return Ok(Described { experiment, notes });
    }
    notes.push(moving(&mut experiment, &episodes[0]));
    if experiment.sensor.is_empty() {
        for (sensor, why) in sensors_of(&experiment, &episodes, file.beam_angles()) {
            notes.push(why);
            experiment.sensor.push(sensor);
        }
    }
    give(&mut experiment, &mut notes);
    experiment.sensor.iter().try_for_each(check_given)?;
    experiment.trajectories = experiment.trajectories.min(file.len());
    suspect(&episodes, &mut notes);
    experiment.check()?;
    Ok(Described { experiment, notes })
}

/// What is followed and how it moves; where a setting is at its default, as the log looks.
fn moving(experiment: &mut Experiment, first: &Trajectory) -> String {
    if experiment.state == StateSettings::default() && first.states.width() == 2 {
        experiment.state.kind = StateKind::Position;
    }
    if experiment.motion == MotionSettings::default() && first.actions.width() == 0 {
        experiment.motion.kind = MotionKind::None;
    }
    let state = match experiment.state.kind {
        StateKind::Pose => "planar pose (x, y, heading; other states need names: state.coordinates)",
        StateKind::Position => "position (x, y; other states need names: state.coordinates)",
    };
    let motion = match (experiment.motion.kind, experiment.frame()) {
        (MotionKind::None, _) => "a random walk (there are no `actions`), its noise learned from the labels",
        (MotionKind::Velocity, _) => "velocities times seconds, calibrated by the labels",
        (MotionKind::Odometry, Frame::World) => "odometry along x and y, calibrated by the labels",
        (MotionKind::Odometry, _) => "odometry in the robot's frame, calibrated by the labels",
    };
    format!("state: {state}; motion: {motion}")
}

/// Maps and beacons that are given to the robot become those of sensors that have none of their own.
fn give(experiment: &mut Experiment, notes: &mut Vec<String>) {
    let (map, beacons) =
        (std::mem::take(&mut experiment.robot.map), std::mem::take(&mut experiment.robot.beacons));
    for sensor in &mut experiment.sensor {
        let uses_map = sensor.encoder() == SensorEncoder::Map || sensor.kind.line().has_view;
        if sensor.kind.takes_map() && uses_map && sensor.map.is_empty() {
            sensor.map.clone_from(&map);
        }
        if sensor.kind.takes_beacons() && sensor.beacons.is_empty() {
            sensor.beacons.clone_from(&beacons);
        }
        if sensor.is_given() {
            let file = [&sensor.map, &sensor.beacons].map(String::as_str).concat();
            notes.push(format!("map: that of {file} is given to sensor `{}`, and not learned", sensor.name));
        }
    }
    for (key, file, is_used) in [
        ("map", &map, experiment.sensor.iter().any(|sensor| !sensor.map.is_empty())),
        ("beacons", &beacons, experiment.sensor.iter().any(|sensor| !sensor.beacons.is_empty())),
    ] {
        if !file.is_empty() && !is_used {
            notes.push(format!("warning: robot.{key}={file}: no sensor of this log can use it"));
        }
    }
}

/// All sensors that a log seems to hold, and why.
fn sensors_of(
    experiment: &Experiment,
    episodes: &[Trajectory],
    angles: Option<&[f64]>,
) -> Vec<(SensorSettings, String)> {
    let (mut columns, mut sensors): (Vec<Vec<f32>>, _) = (Vec::new(), Vec::new());
    for episode in episodes {
        let Observations::Vectors(rows) = &episode.observations else { continue };
        columns.resize(rows.width(), Vec::new());
        for (i, &value) in rows.values().iter().enumerate().filter(|(_, value)| value.is_finite()) {
            columns[i % rows.width()].push(value);
        }
    }
    if !columns.is_empty() {
        // Actions tell the robot's way if they are metric; who gives a map knows that there are distances.
        let is_metric = experiment.motion.kind == MotionKind::Odometry;
        let given =
            if columns.len() < LEAST_BEAMS { &experiment.robot.beacons } else { &experiment.robot.map };
        let why = readings::why_no_distances(&columns, episodes, is_metric).filter(|_| given.is_empty());
        sensors.push(sensor_of(&columns, angles, why));
    }
    let images = episodes.iter().find_map(|episode| match &episode.observations {
        Observations::Images(images) => Some(images),
        Observations::Vectors(_) => Some(&episode.camera.as_ref()?.images),
    });
    if let Some(Images { height, width, channels, .. }) = images {
        let sensor = SensorSettings {
            name: "camera".into(),
            kind: SensorKind::named("image"),
            ..SensorSettings::default()
        };
        let why = format!("sensor: a camera of {height} x {width} pixels, {channels} channels (a network)");
        sensors.push((sensor, why));
    }
    sensors
}

/// The sensor that columns of finite readings look like, unless they are no distances.
fn sensor_of(
    columns: &[Vec<f32>],
    angles: Option<&[f64]>,
    no_distances: Option<String>,
) -> (SensorSettings, String) {
    let width = columns.len();
    let all = || SensorSettings { columns: [0, width], ..SensorSettings::default() };
    let is_bearing = |column: &Vec<f32>| {
        column.iter().all(|x| f64::from(x.abs()) <= 1.01 * PI) && column.iter().any(|&x| x < 0.0)
    };
    let pairs =
        width.is_multiple_of(2) && columns.iter().skip(1).step_by(2).filter(|c| !c.is_empty()).count() > 0;
    let bearings = || columns.iter().skip(1).step_by(2).filter(|c| !c.is_empty()).all(is_bearing);
    let ranges = || columns.iter().step_by(2).flatten().all(|&x| x >= 0.0);
    if angles.is_none() && pairs && bearings() && ranges() {
        let sensor =
            SensorSettings { name: "landmarks".into(), kind: SensorKind::named("landmarks"), ..all() };
        let why =
            format!("sensor: {} landmarks (columns come in pairs of a distance and a bearing)", width / 2);
        return (sensor, why);
    }
    if let Some(why) = no_distances.filter(|_| angles.is_none()) {
        let sensor = SensorSettings { name: "vector".into(), kind: SensorKind::named("vector"), ..all() };
        return (sensor, format!("sensor: a vector of {width} numbers for a network ({why})"));
    }
    if angles.is_none() && width < LEAST_BEAMS {
        let sensor = SensorSettings { name: "ranges".into(), kind: SensorKind::named("ranges"), ..all() };
        return (
            sensor,
            format!("sensor: ranges to {width} beacons (a column each; fewer than {LEAST_BEAMS})"),
        );
    }
    let (first, last, known) = bearings_of(width, angles);
    let reach = reach(columns);
    let sensor =
        SensorSettings { name: "scan".into(), first_degrees: first, last_degrees: last, reach, ..all() };
    let why = format!(
        "sensor: a scan of {width} beams from {first:.1} to {last:.1} degrees ({known}); from {reach:.2} on nothing was met"
    );
    (sensor, why)
}

/// Bearings of the first and the last of so many beams in degrees, and how that is known.
fn bearings_of(width: usize, angles: Option<&[f64]>) -> (f64, f64, &'static str) {
    match angles {
        // Bearings may be wrapped to half a turn: the way around is the sum of the steps.
        Some(angles) => {
            let around: f64 = angles.windows(2).map(|pair| wrap(pair[1] - pair[0])).sum();
            (angles[0].to_degrees(), (angles[0] + around).to_degrees(), "beam_angles")
        }
        // Laser scanners of one beam a degree, or all around.
        None if width <= 181 => {
            (-90.0, 89.0 + f64::from(u8::from(width == 181)), "a guess by their number; set them")
        }
        None => (-180.0, 180.0 - 360.0 / width as f64, "a guess by their number; set them"),
    }
}

/// Where scanners say that they met nothing: many readings share the greatest value.
fn reach(columns: &[Vec<f32>]) -> f64 {
    let most = columns.iter().flatten().copied().fold(0.0_f32, f32::max);
    let (count, near) = columns
        .iter()
        .flatten()
        .fold((0_usize, 0_usize), |(count, near), &x| (count + 1, near + usize::from(x >= 0.995 * most)));
    let end = near as f64 > NOTHING_MET * count as f64;
    f64::from(most).max(1e-6) * if end { 0.99 } else { 1.01 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use driftless_world::trajectory::{Labels, Rows};

    #[test]
    fn states_and_motions_are_seen() {
        let mut experiment = Experiment { world: WorldKind::Robot, ..Experiment::default() };
        let rows = || Rows::new(2, vec![0.0; 4]).unwrap();
        let seen = Observations::Vectors(rows());
        let first = Trajectory::new(seen, Rows::default(), Labels::all(rows())).unwrap();
        let note = moving(&mut experiment, &first);
        assert!(note.contains("position") && note.contains("random walk"), "{note}");
        assert_eq!((experiment.state.kind, experiment.motion.kind), (StateKind::Position, MotionKind::None));
    }
}
