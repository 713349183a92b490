//! Drives out of bags, against what was driven.

use crate::bag_bytes::{Bag, Fields, START, circle, on_circle, scan_of_circle};
use driftless_world::files::Source;
use driftless_world::files::bag::{BagOptions, Stepping, import, list};
use driftless_world::files::recorded::Recording;
use mcap::Compression;
use std::f64::consts::PI;

fn read(bag: Bag) -> Recording {
    import(&Source::from(bag.finish()), &BagOptions::default()).unwrap()
}

#[track_caller]
fn noted(recording: &Recording, expected: &str) {
    assert!(recording.notes.iter().any(|note| note.contains(expected)), "{:?}", recording.notes);
}

#[track_caller]
fn refused(bag: Bag, options: &BagOptions, expected: &str) {
    let error = import(&Source::from(bag.finish()), options).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

/// On a circle everything is known in closed form: a motion is a chord, and half of its turn to the left of the heading.
#[test]
fn a_circle_is_a_circle_in_every_encoding() {
    for (cdr, compression) in
        [(true, None), (true, Some(Compression::Zstd)), (false, Some(Compression::Lz4)), (false, None)]
    {
        let drive = read(circle(cdr, compression, 10));
        assert_eq!((drive.episodes.len(), drive.steps().count()), (1, 20));
        for (step, moved) in drive.steps().zip(drive.actions()).skip(1) {
            let turn = 0.25 * 0.5;
            let chord = 4.0 * (turn / 2.0_f64).sin();
            let expected = [chord * (turn / 2.0).cos(), chord * (turn / 2.0).sin(), turn];
            let moved = moved.unwrap();
            assert!((0..3).all(|i| (moved[i] - expected[i]).abs() < 1e-4), "{moved:?} {expected:?}");
            let (pose, truth) = (step.pose.unwrap(), on_circle(step.time));
            // Between poses 0.05 s apart a straight line is at most 0.1 mm off.
            assert!((0..3).all(|i| (pose[i] - truth[i]).abs() < 1e-4), "{pose:?} {truth:?}");
            let k = ((step.time - START - 0.03) * 10.0).round() as usize;
            assert_eq!(step.readings, scan_of_circle(k));
        }
        // The scanner looks backwards: what it calls -3 rad is left of straight ahead.
        let angles = drive.beam_angles.as_ref().unwrap();
        let expected = |beam: usize| PI - 3.0 + 0.17 * beam as f64;
        assert!((0..36).all(|beam| (angles[beam] - expected(beam)).abs() < 1e-5), "{angles:?}");
        noted(&drive, "turned by 180 degrees");
    }
}

#[test]
fn steps_by_motion_and_a_log_that_numpy_and_we_read() {
    let bag = circle(true, None, 20).finish();
    let options =
        BagOptions { stepping: Stepping::Motion(0.3, 9.0), episode_steps: 12, ..BagOptions::default() };
    let mut drive = import(&Source::from(bag), &options).unwrap();
    // 0.05 m a scan: the seventh is a hair's breadth beyond 0.3 m, measured along the chord.
    assert!(
        drive.actions().flatten().skip(1).all(|action| action[2] == 0.0 || action[0].hypot(action[1]) >= 0.3)
    );
    let steps = drive.steps().count();
    let last = drive.steps().last().unwrap().clone();
    let rest = drive.split(0.25);
    assert_eq!((drive.steps().count() + rest.steps().count(), rest.steps().last().unwrap()), (steps, &last));
    assert_eq!(rest.steps().count(), (steps as f64 / 4.0).round() as usize);
    assert!(rest.steps().next().unwrap().time > drive.steps().last().unwrap().time);
}

#[test]
fn transforms_are_odometry_and_truth_too() {
    let mut bag = Bag::new(false, None);
    for tick in 0..=400 {
        let time = START + f64::from(tick) * 0.01;
        let driven = f64::from(tick) * 0.005;
        // The frame odom lies at (1, 2) in map, turned by a quarter; the robot drives along its x axis.
        bag.transforms("/tf", time, &[("odom", "base_link", [driven, 0.0, 0.0])]);
        if tick % 20 == 0 {
            bag.transforms("/tf", time, &[("map", "odom", [1.0 + 1e-9 * f64::from(tick), 2.0, PI / 2.0])]);
        }
        if tick % 10 == 0 {
            bag.scan("/scan", time, "base_link", -1.0, 0.5, &[1.0, f32::INFINITY, f32::NAN, 40.0, 0.01]);
        }
    }
    let drive = read(bag);
    assert!(drive.taken.iter().any(|line| line.contains("odom->base_link")), "{:?}", drive.taken);
    assert!(drive.taken.iter().any(|line| line.contains("map->base_link")), "{:?}", drive.taken);
    for step in drive.steps() {
        let pose = step.pose.unwrap();
        let y = 2.0 + 0.5 * (step.time - START);
        assert!((pose[0] - 1.0).abs() < 1e-6 && (pose[1] - y).abs() < 1e-6, "{pose:?}");
        assert!((pose[2] - PI / 2.0).abs() < 1e-9);
        assert_eq!(step.readings[0], 1.0);
        assert!(
            step.readings[1..].iter().all(|range| range.is_nan()),
            "nothing came back, or too near or far"
        );
    }
}

#[test]
fn bags_that_are_cut_off_keep_what_is_whole() {
    for compression in [None, Some(Compression::Zstd)] {
        let whole = circle(true, compression, 20).finish();
        let all = import(&Source::from(whole.clone()), &BagOptions::default()).unwrap().steps().count();
        for share in [0.3, 0.55, 0.9] {
            let cut = whole[..(whole.len() as f64 * share) as usize].to_vec();
            let size = cut.len();
            let drive = import(&Source::from(cut), &BagOptions::default()).unwrap();
            noted(&drive, &format!("of {size} ("));
            // Chunks are small here, and of the last one everything is salvaged that can be.
            let expected = all as f64 * share;
            let found = drive.steps().count() as f64;
            assert!(found > expected - 6.0 && found < expected + 6.0, "{found} of {expected}");
        }
        // One damaged chunk costs one chunk. A byte may also hit the index between chunks, which nobody needs.
        let noticed = |k: &usize| {
            let mut damaged = whole.clone();
            damaged[whole.len() / 4 + k * whole.len() / 25] ^= 0xff;
            let drive = import(&Source::from(damaged), &BagOptions::default()).unwrap();
            assert!(drive.steps().count() > all / 2, "{} of {all}", drive.steps().count());
            drive
                .notes
                .iter()
                .any(|note| note.contains("damaged parts of the bag were passed over, the first at byte"))
        };
        let noticed = (0..10).filter(noticed).count();
        assert!(noticed >= 6, "{noticed} of 10 damages were noticed");
    }
    let error =
        import(&Source::from(b"#ROSBAG V2.0\n".to_vec()), &BagOptions::default()).unwrap_err().to_string();
    assert!(error.contains("is not an MCAP file"), "{error}");
}

#[test]
fn what_is_asked_for_and_not_there_is_said() {
    let bag = || circle(true, None, 2);
    let scan = |name: &str| BagOptions { scan: Some(name.to_owned()), ..BagOptions::default() };
    refused(
        bag(),
        &scan("/scam"),
        "field --scan: there is no topic /scam (did you mean /scan?); these would do: /scan",
    );
    refused(bag(), &scan("/odom"), "topic /odom has type nav_msgs/msg/Odometry (cdr), which does not fit");
    let pose = |name: &str| BagOptions { pose: Some(name.parse().unwrap()), ..BagOptions::default() };
    refused(
        bag(),
        &pose("tf:map->base_link"),
        "no transforms lead from map to base_link; the bag holds base_link->laser",
    );
    refused(bag(), &pose("tf:base_link->laser"), "laser never moves as seen from base_link");
    let mut two = bag();
    two.scan("/other", START + 1.0, "laser", 0.0, 0.1, &[1.0; 5]);
    refused(two, &BagOptions::default(), "several topics hold scans: /other, /scan; choose one");
    let mut none = Bag::new(true, None);
    none.message("/note", "std_msgs/msg/String", START, b"xxxxxxxx");
    refused(none, &BagOptions::default(), "its types are std_msgs/msg/String (cdr)");
    assert!("tf:odom".parse::<driftless_world::files::bag::PoseSource>().is_err());
}

/// A robot with a namespace: the other one's odometry is not taken.
#[test]
fn two_robots_in_one_bag() {
    let mut bag = Bag::new(true, None);
    for tick in 0..=200 {
        let time = START + f64::from(tick) * 0.02;
        for (robot, speed) in [("a", 0.5), ("b", -0.7)] {
            let x = speed * (time - START);
            bag.odometry(&format!("/{robot}/odom"), time, &format!("{robot}/base"), [x, 0.0, 0.0]);
            bag.odometry("/both", time, &format!("{robot}/base"), [x, 0.0, 0.0]);
            bag.scan(&format!("/{robot}/scan"), time, &format!("{robot}/base"), 0.0, 0.1, &[2.0; 7]);
        }
    }
    let bytes = bag.finish();
    let chosen = |odometry: Option<&str>| {
        let odometry = odometry.map(|name| name.parse().unwrap());
        let options = BagOptions { scan: Some("/b/scan".into()), odometry, ..BagOptions::default() };
        import(&Source::from(bytes.clone()), &options).unwrap()
    };
    let drive = chosen(Some("/b/odom"));
    assert!(drive.actions().skip(2).all(|action| (action.unwrap()[0] + 0.35).abs() < 1e-6));
    let mixed = chosen(Some("/both"));
    noted(&mixed, "/both has messages of the frames a/base, b/base; those of a/base were taken");
    assert!(mixed.actions().skip(2).all(|action| (action.unwrap()[0] - 0.25).abs() < 1e-6));
    // Nobody said whose odometry: that of the robot whose scans are taken.
    assert_eq!(chosen(None).episodes, drive.episodes);
}

#[test]
fn clocks_that_run_back_or_stand_still() {
    for (stamp, note) in [
        (
            Box::new(|t: f64| if t < 2.0 { START + t } else { START + t - 2.0 }) as Box<dyn Fn(f64) -> f64>,
            "run back by 2.0 s",
        ),
        (Box::new(|_| 0.0), "has no time stamps"),
    ] {
        let mut bag = Bag::new(true, None);
        for tick in 0..=200 {
            let time = f64::from(tick) * 0.02;
            let odometry =
                Fields::with_header(true, START + time, "odom").text("base").place([time, 0.0, 0.0]);
            bag.message("/odom", "nav_msgs/msg/Odometry", START + time, &odometry.done());
            let scan =
                Fields::with_header(true, stamp(time), "base").floats(&[0.0, 1.0, 0.5, 0.0, 0.1, 0.0, 9.0]);
            bag.message(
                "/scan",
                "sensor_msgs/msg/LaserScan",
                START + time,
                &scan.u32(3).floats(&[1.0; 3]).u32(0).done(),
            );
        }
        let drive = read(bag);
        noted(&drive, note);
        assert!(drive.actions().skip(1).all(|action| (action.unwrap()[0] - 0.48).abs() < 0.03));
    }
    // Sensors whose stamps have nothing in common, though they were recorded together.
    let mut bag = Bag::new(true, None);
    for tick in 0..=200 {
        let time = f64::from(tick) * 0.02;
        let odometry = Fields::with_header(true, 50.0 + time, "odom").text("base").place([time, 0.0, 0.0]);
        bag.message("/odom", "nav_msgs/msg/Odometry", START + time, &odometry.done());
        bag.scan("/scan", START + time, "base", 0.0, 0.5, &[1.0; 3]);
    }
    noted(&read(bag), "are from different clocks");
}

#[test]
fn resets_jumps_and_pauses() {
    let mut bag = Bag::new(true, None);
    for tick in 0..=1000 {
        let t = f64::from(tick) * 0.02;
        let time = START + t;
        // Odometry starts again after 8 s, and is silent from 14 to 16 s; truth jumps for a moment at 4 s.
        if !(14.0..16.0).contains(&t) {
            let x = if t < 8.0 { 3.0 + 0.5 * t } else { 0.5 * (t - 8.0) };
            bag.odometry("/odom", time, "base", [x, 0.0, 0.0]);
        }
        bag.pose("/truth", time, [0.5 * t + if (200..202).contains(&tick) { 9.0 } else { 0.0 }, 1.0, 0.0]);
        if tick % 5 == 1 {
            bag.scan("/scan", time, "base", 0.0, 0.5, &[1.0; 3]);
        }
    }
    let drive = read(bag);
    noted(&drive, "the poses jump at 2 places");
    noted(&drive, "messages pause or odometry jumps at 1 places; an episode ends at each");
    noted(&drive, "motion is unknown there");
    assert_eq!(drive.episodes.len(), 2);
    let unknown = drive.actions().filter(Option::is_none).count();
    assert!((3..=5).contains(&unknown), "{unknown}");
    assert!(drive.actions().flatten().all(|action| action[0].abs() < 0.3), "a reset is no motion");
    // Scans that stop for long end an episode, too; one step alone is a drive.
    let mut bag = Bag::new(true, None);
    for t in [0.0, 0.5, 1.0, 20.0, 20.5] {
        bag.scan("/scan", START + t, "base", 0.0, 0.5, &[1.0; 3]);
    }
    let drive = read(bag);
    assert_eq!(drive.episodes.iter().map(Vec::len).collect::<Vec<_>>(), [3, 2]);
    assert!(!drive.odometry);
    noted(&drive, "there is no odometry");
    let mut single = Bag::new(true, None);
    single.scan("/scan", START, "base", 0.0, 0.5, &[1.0; 3]);
    assert_eq!(read(single).steps().count(), 1);
}

#[test]
fn beams_may_change_and_points_make_a_scan() {
    let mut bag = Bag::new(true, None);
    bag.scan("/scan", START, "base", 0.0, 0.5, &[1.0, 2.0, 3.0]);
    bag.scan("/scan", START + 1.0, "base", 0.0, 0.25, &[1.0, 9.0, 2.0, 9.0, 3.0]);
    let drive = read(bag);
    noted(&drive, "1 scans have another number of beams");
    assert!(drive.steps().all(|step| step.readings == [1.0, 2.0, 3.0]));

    let mut bag = Bag::new(false, None);
    bag.transforms("/tf_static", START, &[("base_link", "lidar", [0.0, 0.0, PI / 2.0])]);
    // Ahead of the sensor, which is left of the robot: a near point, a far one behind it, a lamp and the floor.
    let points = [[4.0, 0.0, 0.05], [6.0, 0.0, 0.0], [2.0, 0.0, 0.8], [2.0, 0.0, -0.5], [f32::NAN; 3]];
    bag.cloud("/points", START, "lidar", &points);
    let drive =
        import(&Source::from(bag.finish()), &BagOptions { beams: 360, ..BagOptions::default() }).unwrap();
    let (step, angles) = (drive.steps().next().unwrap(), drive.beam_angles.as_ref().unwrap());
    let seen: Vec<(f64, f32)> = angles
        .iter()
        .zip(&step.readings)
        .filter(|(_, r)| r.is_finite())
        .map(|(a, r)| (a.to_degrees(), *r))
        .collect();
    assert_eq!(seen.len(), 1);
    assert!((seen[0].0 - 90.0).abs() < 1e-9 && (seen[0].1 - 4.0).abs() < 1e-6, "{seen:?}");
}

#[test]
fn images_of_all_encodings() {
    let red = |encoding: &str| -> Vec<u8> {
        match encoding {
            "rgb8" => vec![200, 100, 50],
            "bgr8" => vec![50, 100, 200],
            "rgba8" => vec![200, 100, 50, 9],
            "bgra8" => vec![50, 100, 200, 9],
            _ => vec![77],
        }
    };
    for encoding in ["rgb8", "bgr8", "rgba8", "bgra8", "mono8"] {
        let mut bag = Bag::new(encoding != "rgba8", None);
        for second in 0..3 {
            let (height, width) = if second == 2 { (200, 260) } else { (100, 130) };
            let pixels = red(encoding).repeat(height * width);
            bag.image("/camera", START + f64::from(second), encoding, (height, width), &pixels);
        }
        bag.image("/camera", START + 3.0, "32FC1", (1, 1), &[0; 4]);
        let drive = read(bag);
        let camera = drive.camera.as_ref().unwrap();
        let channels = if encoding == "mono8" { 1 } else { 3 };
        assert_eq!((camera.shape, drive.steps().count()), ([49, 64, channels], 3));
        let expected: &[u8] = if channels == 1 { &[77] } else { &[200, 100, 50] };
        let bytes = camera.images.source().read_vec(0, camera.images.source().len()).unwrap();
        assert!(bytes.chunks_exact(channels).all(|pixel| pixel == expected), "{encoding}");
        noted(&drive, "\"32FC1\" is not read");
    }
}

/// Shrunk and packed images, beside scans of another rate.
#[test]
fn packed_images_beside_scans() {
    let jpeg = include_bytes!("../bag_bytes/gradient.jpg");
    let png = driftless_world::files::png_image::encode_grey8(2, 3, &[0, 50, 100, 150, 200, 250]).unwrap();
    for (packed, shape) in [(jpeg.as_slice(), [16, 24, 3]), (&png, [2, 3, 1])] {
        let mut bag = Bag::new(true, Some(Compression::Zstd));
        for tick in 0..20 {
            bag.scan("/scan", START + f64::from(tick) * 0.5, "base", 0.0, 0.5, &[1.0; 3]);
            if tick % 4 == 0 {
                bag.packed_image("/camera", START + f64::from(tick) * 0.5 + 0.02, "jpeg", packed);
            }
        }
        let options = BagOptions { image: Some("/camera".into()), ..BagOptions::default() };
        let drive = import(&Source::from(bag.finish()), &options).unwrap();
        let camera = drive.camera.as_ref().unwrap();
        assert_eq!(camera.shape, shape);
        let with: Vec<bool> = drive.steps().map(|step| step.image.is_some()).collect();
        assert_eq!(with, (0..20).map(|tick| tick % 4 == 0).collect::<Vec<_>>());
        let bytes = camera.images.source().read_vec(0, shape.iter().product::<usize>() as u64).unwrap();
        if shape[2] == 1 {
            assert_eq!(bytes, [0, 50, 100, 150, 200, 250]);
            continue;
        }
        // The picture that was packed: red grows to the right, green downwards.
        for (i, pixel) in bytes.chunks_exact(3).enumerate() {
            let (y, x) = ((i / 24) as i32, (i % 24) as i32);
            let expected = [x * 10, y * 15, 255 - x * 5 - y * 3];
            assert!(
                (0..3).all(|c| (i32::from(pixel[c]) - expected[c]).abs() <= 6),
                "{y} {x}: {pixel:?} {expected:?}"
            );
        }
    }
}

#[test]
fn a_listing_counts() {
    let listing = list(&Source::from(circle(true, Some(Compression::Zstd), 10).finish())).unwrap();
    let counts: Vec<(&str, u64)> =
        listing.topics.iter().map(|topic| (topic.name.as_str(), topic.heard.messages)).collect();
    assert_eq!(counts, [("/odom", 501), ("/scan", 100), ("/tf_static", 1), ("/truth", 201)]);
    assert!((listing.topics[0].heard.rate() - 50.0).abs() < 1e-6 && (listing.seconds() - 10.0).abs() < 1e-6);
    let pairs: Vec<_> = listing.pairs().map(|(parent, child, _, moves)| (parent, child, moves)).collect();
    assert_eq!(pairs, [("base_link", "laser", false)]);
}

/// Real bags, which lie below the folder that the environment variable `DRIFTLESS_DATA` names.
#[test]
fn real_bags_become_drives() {
    let folder = std::env::var_os("DRIFTLESS_DATA").map(|data| std::path::PathBuf::from(data).join("robots"));
    let Some(folder) = folder.filter(|folder| folder.join("nav2_turtlebot.mcap").exists()) else {
        eprintln!("SKIPPED: set DRIFTLESS_DATA to a folder with robots/*.mcap to import real bags");
        return;
    };
    let read = |file: &str, scan: Option<&str>| {
        let options = BagOptions { scan: scan.map(str::to_owned), ..BagOptions::default() };
        import(&Source::open(folder.join(file)).unwrap(), &options).unwrap()
    };
    let scan = Some("/driver_laser_navigation/laser_scan");
    let [two, one] = ["cdr", "ros1"].map(|end| read(&format!("jarvis_complex_path_fast_{end}.mcap"), scan));
    // 74 s at 2 Hz, all of them labelled; the same drive in both encodings, bit by bit.
    assert!((146..=150).contains(&two.steps().count()), "{}", two.steps().count());
    assert!(two.steps().all(|step| step.pose.is_some()));
    for (a, b) in two.steps().zip(one.steps()) {
        assert_eq!((a.time, a.action, a.pose), (b.time, b.action, b.pose));
        assert!(a.readings.iter().zip(&b.readings).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
    let olin = read("olin_mac_first_floor.mcap", None);
    assert!(olin.steps().count() > 80 && olin.steps().all(|step| step.pose.is_none()));
    noted(&olin, "turned by 90 degrees");
    let nav2 = read("nav2_turtlebot.mcap", None);
    let labelled = nav2.steps().filter(|step| step.pose.is_some()).count() as f64;
    assert!(labelled > 0.7 * nav2.steps().count() as f64, "AMCL's poses come while the robot drives");
    noted(&nav2, "there are no scans and no images");
}
