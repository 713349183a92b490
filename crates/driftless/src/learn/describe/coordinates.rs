//! What a log of named coordinates looks like: their names, which are angles, what changes them, and what measures them.

use crate::learn::experiment::MOST_EXPECTED;
use crate::learn::{
    Experiment, MotionKind, MotionSettings, SensorEncoder, SensorKind, SensorSettings, StateSettings,
};
use driftless_world::statistics::Moments;
use driftless_world::trajectory::{Images, MOST_COORDINATES, Observations};
use driftless_world::{Error, Result, Trajectory};
use std::f64::consts::PI;

/// A change of a state within an episode that is more than this is a whole turn that was wrapped.
const JUMP: f64 = 1.6 * PI;
/// Angles that are wrapped come near to both ends.
const NEAR_THE_ENDS: f64 = 0.8 * PI;
/// What is told of a first state is off by this share of each coordinate's deviation.
const TOLD: f64 = 0.1;
/// Angles beyond this are in degrees.
const DEGREES: f64 = 10.0;

/// Whether states are of named coordinates: they have names, or cannot be planar.
pub(super) fn are_meant(experiment: &Experiment, first: &Trajectory) -> bool {
    let state = &experiment.state;
    !state.is_planar() || !state.angles.is_empty() || !matches!(first.states.width(), 0 | 2 | 3)
}

/// Fills in what the experiment leaves open.
pub(super) fn describe(
    experiment: &mut Experiment,
    episodes: &[Trajectory],
    notes: &mut Vec<String>,
) -> Result<()> {
    name(experiment, episodes, notes)?;
    move_by(experiment, &episodes[0], notes);
    spread(experiment, episodes, notes);
    if experiment.sensor.is_empty() {
        sense(experiment, &episodes[0], notes);
    }
    Ok(())
}

/// Names, and angles.
fn name(experiment: &mut Experiment, episodes: &[Trajectory], notes: &mut Vec<String>) -> Result<()> {
    let (state, width) = (&mut experiment.state, episodes[0].states.width());
    let wrong = |problem: String| Err(Error::new(problem).in_field("poses"));
    if width > MOST_COORDINATES {
        return wrong(format!("has {width} numbers a step; {MOST_COORDINATES} coordinates are the most"));
    }
    let are_named = !state.is_planar();
    if !are_named {
        state.coordinates = (0..width).map(|k| format!("s{k}")).collect();
        if let Some(odd) = state.angles.iter().find(|name| !state.coordinates.contains(name)) {
            let names = state.coordinates.join(", ");
            return wrong(format!(
                "has {width} numbers a step, called {names} as long as state.coordinates gives no names: state.angles names \
                 `{odd}`"
            ));
        }
    }
    if width != 0 && width != state.coordinates.len() {
        let (count, names) = (state.coordinates.len(), state.coordinates.join(", "));
        return wrong(format!("has {width} numbers a step, but state.coordinates names {count}: {names}"));
    }
    find_angles(state, are_named, episodes, notes);
    let told =
        |name: &String| if state.angles.contains(name) { format!("{name} (angle)") } else { name.clone() };
    let all: Vec<String> = state.coordinates.iter().map(told).collect();
    let how = if are_named { "" } else { "; state.coordinates and state.angles name them" };
    notes.push(format!("state: {}{how}", all.join(", ")));
    Ok(())
}

/// Says which coordinates look like angles, or like angles in degrees; without names, those are taken for angles.
fn find_angles(state: &mut StateSettings, are_named: bool, episodes: &[Trajectory], notes: &mut Vec<String>) {
    let mut suspected = Vec::new();
    for (k, name) in state.coordinates.iter().enumerate().take(episodes[0].states.width()) {
        let (most, wraps) = looked_at(episodes, k);
        let is_angle = state.angles.contains(name);
        if is_angle && most > DEGREES {
            notes.push(format!("warning: angle {name} goes up to {most:.0}: degrees? radians are expected"));
        } else if !is_angle && wraps {
            suspected.push(name.clone());
        }
    }
    let words = "stays within half a turn and jumps by a whole one";
    if are_named || !state.angles.is_empty() {
        let warn =
            |name: &String| format!("warning: {name} {words}: an angle in radians? name it in state.angles");
        notes.extend(suspected.iter().map(warn));
        return;
    }
    notes.extend(suspected.iter().map(|name| format!("{name} {words}: taken for an angle in radians")));
    state.angles = suspected;
}

/// How large coordinate k becomes, and whether it looks like an angle that was wrapped.
fn looked_at(episodes: &[Trajectory], k: usize) -> (f64, bool) {
    let (mut low, mut high, mut jumps) = (0.0_f64, 0.0_f64, false);
    for episode in episodes {
        let mut before = None;
        for state in episode.states.iter().flatten() {
            let x = f64::from(state[k]);
            (low, high) = (low.min(x), high.max(x));
            jumps |= before.is_some_and(|before: f64| (x - before).abs() > JUMP);
            before = Some(x);
        }
    }
    let within = low < -NEAR_THE_ENDS && high > NEAR_THE_ENDS && low >= -1.01 * PI && high <= 1.01 * PI;
    (high.max(-low), jumps && within)
}

/// What changes states.
fn move_by(experiment: &mut Experiment, first: &Trajectory, notes: &mut Vec<String>) {
    let (width, count) = (first.actions.width(), experiment.state.coordinates.len());
    if experiment.motion == MotionSettings::default() && width != count {
        experiment.motion.kind = MotionKind::None;
        if width > 0 {
            notes.push(format!(
                "warning: `actions` have {width} numbers a step, not {count}: they are no changes of the coordinates, and not \
                 looked at"
            ));
        }
    }
    let words = match experiment.motion.kind {
        MotionKind::Odometry => "`actions` are changes of the coordinates, calibrated by the labels",
        MotionKind::Velocity => "`actions` are changes a second, times seconds, calibrated by the labels",
        MotionKind::None => {
            "a random walk (there are no changes in `actions`), its noise learned from the labels"
        }
    };
    notes.push(format!("motion: {words}"));
}

/// What is told of a first state.
fn spread(experiment: &mut Experiment, episodes: &[Trajectory], notes: &mut Vec<String>) {
    let space = experiment.state.space();
    let state = &mut experiment.state;
    let is_known = episodes.iter().any(|episode| episode.states.known() > 1);
    if !state.start_spread.is_empty() || !is_known {
        return;
    }
    let told = |k: usize| {
        let mut moments = Moments::default();
        for x in episodes.iter().flat_map(|episode| episode.states.iter().flatten()).map(|state| state[k]) {
            moments.push(f64::from(x));
        }
        // A wrapped angle has no more deviation than one that is spread over the whole turn.
        let deviation =
            if space.is_angle(k) { moments.std().min(PI / 3.0_f64.sqrt()) } else { moments.std() };
        let rounded = format!("{:.2e}", TOLD * deviation).parse().unwrap_or(1.0);
        if rounded > 0.0 { rounded } else { 1.0 }
    };
    state.start_spread = (0..space.dimension()).map(told).collect();
    notes.push(format!(
        "start: in evaluations told within {:?}, a tenth of the deviations (state.start_spread)",
        state.start_spread
    ));
}

/// What measures them: vectors, images, or both.
fn sense(experiment: &mut Experiment, first: &Trajectory, notes: &mut Vec<String>) {
    let images = match &first.observations {
        Observations::Images(images) => Some(images),
        Observations::Vectors(rows) => {
            let width = rows.width();
            let (encoder, words) = if width > MOST_EXPECTED {
                (SensorEncoder::Network, "a network")
            } else {
                (SensorEncoder::Gaussian, "expected of each state by a polynomial, with normal errors")
            };
            notes.push(format!("sensor: a vector of {width} numbers, {words}"));
            experiment.sensor.push(SensorSettings {
                name: "vector".into(),
                kind: SensorKind::named("vector"),
                columns: [0, width],
                encoder: Some(encoder),
                ..SensorSettings::default()
            });
            first.camera.as_ref().map(|camera| &camera.images)
        }
    };
    if let Some(Images { height, width, channels, .. }) = images {
        notes.push(format!("sensor: a camera of {height} x {width} pixels, {channels} channels (a network)"));
        let camera = SensorSettings {
            name: "camera".into(),
            kind: SensorKind::named("image"),
            ..SensorSettings::default()
        };
        experiment.sensor.push(camera);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::WorldKind;
    use driftless_world::trajectory::{Labels, Rows};

    /// An angle that turns on and on, and a level that rises.
    fn log(actions: usize) -> Vec<Trajectory> {
        let states = (0..40).flat_map(|t| {
            let turned = driftless_core::angles::wrapped(0.4 * t as f32);
            [turned, t as f32, 0.1, 0.2]
        });
        let states = Labels::all(Rows::new(4, states.collect()).unwrap());
        let rows = |width: usize| Rows::new(width, vec![0.5; 40 * width]).unwrap();
        let actions = if actions > 0 { rows(actions) } else { Rows::default() };
        vec![Trajectory::new(Observations::Vectors(rows(6)), actions, states).unwrap()]
    }

    fn described(settings: &[&str], actions: usize) -> (Experiment, String) {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let mut experiment = Experiment::parse("", &settings).unwrap();
        experiment.world = WorldKind::Robot;
        let (episodes, mut notes) = (log(actions), Vec::new());
        assert!(are_meant(&experiment, &episodes[0]));
        describe(&mut experiment, &episodes, &mut notes).unwrap();
        experiment.check().unwrap();
        (experiment, notes.join("; "))
    }

    #[test]
    fn names_angles_and_motions_are_seen() {
        let (found, notes) = described(&["world=robot"], 0);
        assert_eq!(found.state.coordinates, ["s0", "s1", "s2", "s3"]);
        assert_eq!((&found.state.angles[..], found.motion.kind), (&["s0".to_owned()][..], MotionKind::None));
        assert!(
            notes.contains("s0 stays within half a turn and jumps by a whole one: taken for an angle"),
            "{notes}"
        );
        // Deviations of 0.4 t from 0 to 39 are 11.54; nothing varies of the last two.
        assert!((found.state.start_spread[1] - 1.15).abs() < 0.02 && found.state.start_spread[3] == 1.0);
        let names = ["world=robot", "state.coordinates=['a', 'b', 'c', 'd']"];
        let (found, notes) = described(&names, 4);
        assert!(found.state.angles.is_empty() && found.motion.kind == MotionKind::Odometry);
        assert!(
            notes.contains("warning: a stays") && notes.contains("changes of the coordinates"),
            "{notes}"
        );
        let (found, notes) = described(&names, 1);
        assert_eq!(found.motion.kind, MotionKind::None);
        assert!(notes.contains("warning: `actions` have 1 numbers a step, not 4"), "{notes}");
        assert_eq!(found.sensor[0].encoder, Some(SensorEncoder::Gaussian));
    }
}
