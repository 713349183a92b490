//! Damaged recordings of robots: bags, CARMEN logs, trajectories and tables. Much of what is damaged is still read, with a
//! note that says so; here only what is read without a word counts as accepted.

use crate::bag_bytes::{Bag, START};
use crate::survive::{damage, survive};
use driftless_world::files::Source;
use driftless_world::files::bag::{BagOptions, Stepping, import, list};
use driftless_world::files::recorded::Recording;
use driftless_world::files::{carmen, columns, tum};
use driftless_world::random::Random;
use driftless_world::{Error, Result};
use mcap::Compression;
use std::fmt::Write as _;

/// Whether a recording was read without a word about damage; everything of it is looked at.
fn clean(result: Result<Recording>) -> bool {
    let said = |error: &Error| assert!(!error.to_string().trim().is_empty(), "not a word");
    let recording = result.inspect_err(said);
    recording.is_ok_and(|recording| {
        let words = recording.summary();
        assert!(recording.steps().count() > 0 && words.contains("steps in"));
        assert!(recording.actions().flatten().flatten().all(f64::is_finite));
        assert!(recording.steps().all(|step| step.time.is_finite()));
        !["damaged", "could not", "cut off", "ends within"].iter().any(|word| words.contains(word))
    })
}

const TYPES: [&str; 6] = ["LaserScan", "Odometry", "PoseStamped", "TFMessage", "Image", "CompressedImage"];

/// A few messages of every kind; `spoil` may change a message's bytes before they are packed.
fn bag(random: &mut Random, spoil: bool) -> Vec<u8> {
    let cdr = random.chance(0.5);
    let compression = [None, Some(Compression::Zstd), Some(Compression::Lz4)][random.below(3)];
    let mut sound = Bag::new(cdr, None);
    for tick in 0..4 {
        let time = START + f64::from(tick) * 0.3;
        sound.odometry("/odom", time, "base", [f64::from(tick), 0.0, 0.1]);
        sound.transforms("/tf", time, &[("map", "odom", [0.1 * f64::from(tick), 0.0, 0.0])]);
        sound.transforms("/tf", time, &[("odom", "base", [f64::from(tick), 0.0, 0.0])]);
        sound.pose("/truth", time, [f64::from(tick), 0.0, 0.1]);
        sound.scan("/scan", time, "base", -1.0, 0.5, &[1.0, 2.0, 3.0, 4.0, 5.0]);
        sound.image("/image", time, "rgb8", (2, 3), &[7; 18]);
        sound.packed_image("/packed", time, "jpeg", include_bytes!("../bag_bytes/gradient.jpg"));
        sound.cloud("/points", time, "base", &[[1.0, 2.0, 0.0], [3.0, 4.0, 0.0]]);
    }
    // Written once more, message by message, with some of them spoiled.
    let bytes = sound.finish();
    let mut copy = Bag::new(cdr, compression);
    let victim = random.below(32);
    for (number, message) in mcap::MessageStream::new(&bytes).unwrap().enumerate() {
        let message = message.unwrap();
        let mut data = message.data.to_vec();
        if spoil && (number == victim || random.chance(0.05)) {
            damage(random, &mut data);
        }
        let mut schema = message.channel.schema.as_ref().unwrap().name.clone();
        if spoil && random.chance(0.01) {
            schema = format!("sensor_msgs/msg/{}", TYPES[random.below(TYPES.len())]);
        }
        let schema = if schema.contains("/msg/") { schema } else { schema.replace('/', "/msg/") };
        copy.message(&message.channel.topic, &schema, message.log_time as f64 * 1e-9, &data);
    }
    copy.finish()
}

fn options(random: &mut Random) -> BagOptions {
    let scan = ["/scan", "/points", "none"][random.below(3)];
    let image = ["/image", "/packed", "none"][random.below(3)];
    let odometry = ["/odom", "tf:odom->base"][random.below(2)];
    let pose = ["/truth", "tf:map->base"][random.below(2)];
    BagOptions {
        odometry: Some(odometry.parse().unwrap()),
        scan: Some(scan.to_owned()),
        image: Some(image.to_owned()),
        pose: Some(pose.parse().unwrap()),
        mount: random.chance(0.3).then_some([0.2, 0.1, 1.0]),
        stepping: if random.chance(0.5) { Stepping::Rate(10.0) } else { Stepping::Motion(0.1, 0.1) },
        beams: 3,
        image_side: 8,
        max_gap: 1.0,
        max_delay: 0.15,
        max_pause: 5.0,
        episode_steps: 3,
    }
}

#[test]
fn damaged_messages() {
    survive(71, |random| {
        let bytes = bag(random, true);
        clean(import(&Source::from(bytes), &options(random)))
    });
}

#[test]
fn damaged_bags() {
    survive(72, |random| {
        let mut bytes = bag(random, false);
        damage(random, &mut bytes);
        let source = Source::from(bytes);
        if let Ok(listing) = list(&source) {
            assert!(listing.seconds() >= 0.0);
        }
        clean(import(&source, &options(random)))
    });
}

#[test]
fn damaged_carmen_logs() {
    let mut text = String::from("# a log\nPARAM robot_length 1\n");
    for k in 0..8 {
        let x = f64::from(k) * 0.2;
        writeln!(text, "ODOM {x} 0 0 {} 0 0 {k} host {k}", x - 0.5).unwrap();
        writeln!(text, "FLASER 3 1.{k} 2 81.83 {x} 0 0 {x} 0 0 {k} host {k}").unwrap();
        writeln!(
            text,
            "ROBOTLASER1 0 -1.57 3.1 1.57 80 0.01 0 3 1.{k} 2 3 0 {x} 0 0 {x} 0 0 0 0 0 0 0 {k} host {k}"
        )
        .unwrap();
    }
    let options = carmen::CarmenOptions { beams: 2, ..carmen::CarmenOptions::default() };
    survive(73, |random| {
        let damaged = |random: &mut Random| {
            let mut bytes = text.clone().into_bytes();
            damage(random, &mut bytes);
            Source::from(bytes)
        };
        let corrected = random.chance(0.5).then(|| damaged(random));
        clean(carmen::import(damaged(random), corrected, &options))
    });
}

#[test]
fn damaged_trajectories() {
    let mut text = String::from("# time x y z qx qy qz qw\n");
    for k in 0..12 {
        writeln!(text, "{k}.5 {k} -{k} 0 0 0 0.{k} 1.0").unwrap();
    }
    survive(74, |random| {
        let mut bytes = text.clone().into_bytes();
        damage(random, &mut bytes);
        let track = tum::read(Source::from(bytes), 0.5);
        track.is_ok_and(|(track, _)| {
            let at = track.at(6.3, 1.0);
            assert!(at.is_none_or(|pose| pose.iter().all(|part| part.is_finite())));
            true
        })
    });
}

#[test]
fn damaged_tables_with_names_of_their_own() {
    let mut text = String::from("run,t,px,py,yaw,ox,oy,oth,r_1,r_2\n");
    for k in 0..12 {
        writeln!(text, "{},{k},{k}.5,1,0.{k},{k},0,0,3.{k},nan", k / 5).unwrap();
    }
    let names = ["episode=run", "time=t", "x=px", "y=py", "heading=yaw", "odom_x=ox", "odom_y=oy"];
    let names = names.into_iter().chain(["odom_heading=oth", "scan=r_*"]);
    let options = columns::ColumnOptions {
        columns: names.map(|name| name.parse().unwrap()).collect(),
        degrees: false,
        millimetres: false,
        beams: Some((-1.0, 1.0)),
        max_pause: 30.0,
        episode_steps: 4,
    };
    survive(75, |random| {
        let mut bytes = text.clone().into_bytes();
        damage(random, &mut bytes);
        clean(columns::import(Source::from(bytes), &options))
    });
}
