//! Where the scanner sits on the robot, and whose messages are taken where several robots share a topic.

use super::BagOptions;
use super::choice::Sources;
use super::listing::{Listing, Topic};
use super::messages::topic_of;
use crate::files::rigid::Rigid;

/// Where the scanner sits, by what was typed or by transforms that never change.
pub fn mount(listing: &Listing, sources: &Sources, options: &BagOptions, notes: &mut Vec<String>) -> Rigid {
    let Some(scan) = &sources.scan else { return Rigid::SAME };
    if let Some([x, y, turn]) = options.mount {
        let half = turn / 2.0;
        return Rigid { place: [x, y, 0.0], turn: [0.0, 0.0, half.sin(), half.cos()] };
    }
    let frame = scan.frames.first().map_or("", String::as_str);
    let base = sources.base.as_deref().unwrap_or_default();
    if frame == base {
        return Rigid::SAME;
    }
    if let Some(mount) = listing.frames.fixed(base, frame) {
        notes.extend(described(&mount, base));
        return mount;
    }
    notes.push(format!(
        "no fixed transforms lead from {} to the scanner's frame {frame:?}: it was taken to sit at the robot's centre, looking ahead; --mount tells otherwise",
        if base.is_empty() { "the robot" } else { base }
    ));
    Rigid::SAME
}

/// A mount in words, unless it is at the centre and looks ahead.
fn described(mount: &Rigid, base: &str) -> Vec<String> {
    let [x, y, _] = mount.place;
    let [ahead, left, up] = mount.rotated([1.0, 0.0, 0.0]);
    let upright = mount.rotated([0.0, 0.0, 1.0])[2];
    let mut notes = Vec::new();
    if x.hypot(y) > 0.01 || ahead < 0.9999 || upright < 0.0 {
        let hanging = if upright < 0.0 { ", upside down" } else { "" };
        let degrees = left.atan2(ahead).to_degrees();
        notes.push(format!(
            "the scanner sits {x:.2} m ahead of {base} and {y:.2} m to its left, turned by {degrees:.0} degrees{hanging}: scans were brought to {base}"
        ));
    }
    if up.abs() > 0.1 || upright.abs() < 0.99 {
        notes.push("the scanner is tilted; its beams were taken as if they were level".to_owned());
    }
    notes
}

/// Topics that several robots or sensors published to.
pub fn several(sources: &Sources) -> Vec<String> {
    let poses = [&sources.odometry, &sources.pose].map(|origin| topic_of(origin.as_ref()));
    let topics = [sources.scan.as_ref(), sources.image.as_ref()].into_iter().chain(poses).flatten();
    let said = |topic: &Topic| {
        let names = if topic.children.len() > 1 { &topic.children } else { &topic.frames };
        (names.len() > 1).then(|| {
            let (name, all, first) = (&topic.name, names.join(", "), &names[0]);
            format!("{name} has messages of the frames {all}; those of {first} were taken")
        })
    };
    topics.filter_map(said).collect()
}
