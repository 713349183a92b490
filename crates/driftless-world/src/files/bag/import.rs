//! A drive out of a bag: scans give the steps, odometry the motion between them, poses the truth.

use super::choice::{Sources, choose};
use super::gather::{Gathered, gather, heard};
use super::heard::clock;
use super::listing::list;
use super::messages::messages;
use super::mount::{mount, several};
use super::payload::Payload;
use super::steps::{self, Plan};
use super::{BagOptions, Stepping};
use crate::error::{Error, Result};
use crate::files::recorded::{Recording, Step, episodes};
use crate::files::source::Source;
use crate::files::track::{Pose, Track, relative};

/// Reads a bag as a stream; only the steps and the poses stay in memory.
pub fn import(source: &Source, options: &BagOptions) -> Result<Recording> {
    let listing = list(source)?;
    let sources = choose(&listing, options)?;
    let (clock, problem) = clock(&heard(&listing, &sources));
    let mut notes = listing.notes.clone();
    notes.extend(problem);
    notes.extend(several(&sources));
    let mut gathered = gather(source, &listing, &sources, clock, options)?;
    notes.extend(gathered.unread.note());
    if gathered.late > 0 {
        let late = gathered.late;
        notes.push(format!("{late} messages had times before those of earlier ones; all were sorted"));
    }
    within_odometry(&mut gathered, options, &mut notes)?;
    let plans = plan(&gathered, &sources, options, &mut notes);
    let mount = mount(&listing, &sources, options, &mut notes);
    let mut payload = Payload::new(&plans, &sources, mount, options)?;
    let unread = messages(source, |message| {
        if message.is_of(sources.scan.as_ref()) {
            payload.scan(message.kind, message.encoding, message.number, message.bytes)
        } else if message.is_of(sources.image.as_ref()) {
            payload.image(message.kind, message.encoding, message.number, message.bytes)
        } else {
            Ok(())
        }
    })?;
    notes.extend(unread.note());
    payload.notes(&mut notes);
    assemble(plans, payload, gathered.odometry.as_ref(), &sources, options, notes)
}

/// Leaves out what was recorded before odometry began, or after it ended.
fn within_odometry(gathered: &mut Gathered, options: &BagOptions, notes: &mut Vec<String>) -> Result<()> {
    let Gathered { beats, odometry, .. } = gathered;
    let Some(odometry) = odometry else {
        notes.push("there is no odometry: the log has no actions, and motion can only be guessed".to_owned());
        return Ok(());
    };
    let Some((first, last)) = odometry.span() else {
        return Err(Error::new("none of its poses could be read; see --list").in_field("--odometry"));
    };
    let (found, span) = (beats.len(), beats.first().zip(beats.last()).map(|(a, b)| (a.0, b.0)));
    beats.retain(|beat| (first..=last).contains(&beat.0));
    if let (true, Some((start, end))) = (beats.is_empty(), span) {
        return Err(Error::new(format!(
            "odometry covers {first:.3} to {last:.3} s, but scans and images {start:.3} to {end:.3} s: they have no time in common"
        )));
    }
    if beats.len() < found {
        let left = found - beats.len();
        notes.push(format!("{left} messages before odometry begins or after it ends were left out"));
    }
    let unknown = beats.iter().filter(|beat| odometry.at(beat.0, options.max_gap).is_none()).count();
    if unknown > 0 {
        notes.push(format!("odometry pauses or jumps at {unknown} messages; motion is unknown there"));
    }
    Ok(())
}

/// Chooses the steps.
fn plan(gathered: &Gathered, sources: &Sources, options: &BagOptions, notes: &mut Vec<String>) -> Vec<Plan> {
    let mut plans =
        steps::choose(&gathered.beats, gathered.odometry.as_ref(), gathered.truth.as_ref(), options);
    match (&sources.scan, &sources.image) {
        (Some(_), Some(_)) => steps::give_images(&mut plans, &gathered.images, options.max_delay),
        (None, Some(_)) => plans.iter_mut().for_each(|plan| plan.image = Some(plan.message)),
        (None, None) => notes.push(
            "there are no scans and no images: each step has one reading, which is missing, so that only odometry can be learned".to_owned(),
        ),
        (Some(_), None) => {}
    }
    let jumps = gathered.truth.as_ref().map_or(0, Track::jumps);
    if jumps > 0 {
        notes.push(format!("the poses jump at {jumps} places; steps within a jump are not labelled"));
    }
    if gathered.truth.is_none() {
        notes.push("no poses are known: no step is labelled".to_owned());
    } else if plans.iter().all(|plan| plan.pose.is_none()) {
        notes.push(
            "no step is labelled: no two poses around a step are near enough; see --max-gap".to_owned(),
        );
    }
    if let ([_], Stepping::Motion(metres, turn)) = (plans.as_slice(), options.stepping) {
        notes.push(format!(
            "the robot never moved {metres} m or turned {turn} rad: there is one step only; --rate makes steps by time"
        ));
    }
    plans
}

/// Puts everything together.
fn assemble(
    mut plans: Vec<Plan>,
    mut payload: Payload,
    odometry: Option<&Track>,
    sources: &Sources,
    options: &BagOptions,
    mut notes: Vec<String>,
) -> Result<Recording> {
    let width = match (&payload.beams, &sources.scan) {
        (Some(beams), _) => beams.angles.len(),
        (None, Some(_)) => return Err(Error::new("none of the scans could be read").in_field("--scan")),
        (None, None) => usize::from(sources.image.is_none()),
    };
    // A step without anything is none.
    plans.retain(|plan| width > 0 || plan.image.is_some_and(|image| payload.stored.contains_key(&image)));
    if sources.image.is_some() && payload.stored.is_empty() {
        if width == 0 {
            return Err(Error::new("none of the images could be read").in_field("--image"));
        }
        notes.push("no image could be read, or none is near enough to a step".to_owned());
    }
    let torn = |a: &Plan, b: &Plan| b.paused || resets(odometry, a, b);
    let ends: Vec<usize> = (1..plans.len()).filter(|&at| torn(&plans[at - 1], &plans[at])).collect();
    if !ends.is_empty() {
        let places = ends.len();
        notes.push(format!("messages pause or odometry jumps at {places} places; an episode ends at each"));
    }
    let mut parts: Vec<Vec<Step>> = vec![Vec::new()];
    for (at, plan) in plans.iter().enumerate() {
        if ends.binary_search(&at).is_ok() {
            parts.push(Vec::new());
        }
        let action = at.checked_sub(1).and_then(|before| motion(odometry, &plans[before], plan));
        let readings = payload.scans.remove(&plan.message).unwrap_or_else(|| vec![f32::NAN; width]);
        let image = plan.image.and_then(|image| payload.stored.get(&image).copied());
        let step = Step { time: plan.time, readings, image, action, pose: plan.pose };
        parts.last_mut().expect("there is one").push(step);
    }
    let most = options.episode_steps.max(1);
    let episodes = parts.into_iter().flat_map(|part| episodes(part, most, |_, _| false)).collect();
    let (camera, beam_angles) = payload.finish()?;
    let odometry = odometry.is_some();
    Ok(Recording { beam_angles, camera, odometry, episodes, taken: sources.taken.clone(), notes })
}

fn resets(odometry: Option<&Track>, a: &Plan, b: &Plan) -> bool {
    odometry.is_some_and(|track| track.torn_between(a.time, b.time))
}

/// The motion between two steps, if odometry knows both ends and does not jump between.
fn motion(odometry: Option<&Track>, a: &Plan, b: &Plan) -> Option<Pose> {
    let motion = relative(a.odometry?, b.odometry?);
    (!resets(odometry, a, b)).then_some(motion)
}
