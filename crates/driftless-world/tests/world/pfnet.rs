//! PF-net's records: what is written is read back, what is broken is named, real files are understood.

use crate::sample::house_episode;
use driftless_world::files::example::{self, Example};
use driftless_world::files::pfnet::{
    ChannelOrder, HouseObservation, PfnetFile, PfnetOptions, PfnetWriter, decode, encode, odometry_residual,
    summarize,
};
use driftless_world::files::png_image::{encode_grey8, encode_grey16, encode_rgb8};
use driftless_world::files::{Overwrite, Source, tfrecord};
use driftless_world::{Dataset, Observations, Pixels};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MAP: (usize, usize) = (11, 7);
const IMAGE: (usize, usize) = (6, 9);
const STEPS: usize = 4;

fn raw_size() -> PfnetOptions {
    PfnetOptions { image_size: None, ..Default::default() }
}

/// The sample record with some features replaced, or removed if the new value is `None`.
fn record_with(changes: &[(&'static str, Option<Vec<Vec<u8>>>)]) -> Vec<u8> {
    let record = encode(&house_episode(1, MAP, STEPS, IMAGE)).unwrap();
    let parsed = Example::parse(&record).unwrap();
    let strings = |name| parsed.bytes(name).unwrap().unwrap().iter().map(<[u8]>::to_vec).collect();
    let mut features: BTreeMap<&str, Vec<Vec<u8>>> =
        parsed.names().map(|name| (name, strings(name))).collect();
    for (name, change) in changes {
        match change {
            Some(values) => drop(features.insert(name, values.clone())),
            None => assert!(features.remove(name).is_some(), "{name} was there"),
        }
    }
    example::encode(&features)
}

fn one(bytes: Vec<u8>) -> Vec<Vec<u8>> {
    vec![bytes]
}

fn raw(rows: &[[f32; 3]]) -> Vec<Vec<u8>> {
    one(rows.iter().flatten().flat_map(|number| number.to_le_bytes()).collect())
}

/// The message for a file whose record 1 is broken.
fn failure(changes: &[(&'static str, Option<Vec<Vec<u8>>>)]) -> String {
    let mut bytes = Vec::new();
    tfrecord::write_framed(&mut bytes, &record_with(&[])).unwrap();
    tfrecord::write_framed(&mut bytes, &record_with(changes)).unwrap();
    let file = PfnetFile::from_source(Source::from(bytes), raw_size()).unwrap();
    file.get(0).unwrap();
    let error = file.get(1).unwrap_err().to_string();
    assert!(error.starts_with("record 1: "), "{error}");
    error
}

#[test]
fn round_trips_through_a_file() {
    let path = std::env::temp_dir().join(format!("driftless-pfnet-{}.tfrecords", std::process::id()));
    let episodes: Vec<_> = (0..3).map(|seed| house_episode(seed, MAP, STEPS, IMAGE)).collect();
    let mut writer = PfnetWriter::create(&path, Overwrite::Replace).unwrap();
    writer.push(&episodes[0]).unwrap();
    writer.push_encoded(&encode(&episodes[1]).unwrap()).unwrap();
    writer.push(&episodes[2]).unwrap();
    assert!(!path.exists());
    writer.commit().unwrap();
    let file = PfnetFile::open(&path, raw_size()).unwrap();
    assert_eq!(file.len(), 3);
    for index in [2, 0, 1] {
        assert_eq!(file.get(index).unwrap(), episodes[index]);
        let summary = file.without_images(index).unwrap();
        assert_eq!(
            (&summary.states, &summary.odometry),
            (&episodes[index].states, &episodes[index].odometry)
        );
        assert_eq!((summary.map_size, summary.rgb_size, summary.depth_size), (MAP, Some(IMAGE), Some(IMAGE)));
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn sixteen_bits_survive() {
    let mut episode = house_episode(5, MAP, STEPS, IMAGE);
    episode.maps.room_id[3] = 1000;
    let depth = episode.depth.as_mut().unwrap();
    depth.pixels = Pixels::Floats((0..depth.pixels.len()).map(|i| (i * 300) as f32).collect());
    assert_eq!(decode(&encode(&episode).unwrap(), &raw_size()).unwrap(), episode);
    episode.depth.as_mut().unwrap().pixels = Pixels::Floats(vec![0.5; STEPS * IMAGE.0 * IMAGE.1]);
    assert!(encode(&episode).unwrap_err().to_string().starts_with("field depth: 0.5 is not a whole number"));
}

#[test]
fn colour_order_is_undone_when_writing() {
    let episode = house_episode(6, MAP, STEPS, IMAGE);
    let record = encode(&episode).unwrap();
    let swapped = decode(&record, &PfnetOptions { channel_order: ChannelOrder::Bgr, ..raw_size() }).unwrap();
    let (plain, swapped_pixels) =
        (&episode.rgb.as_ref().unwrap().pixels, &swapped.rgb.as_ref().unwrap().pixels);
    for i in 0..plain.len() {
        assert_eq!(plain.get(i), swapped_pixels.get(i / 3 * 3 + 2 - i % 3));
    }
    assert_eq!(encode(&swapped).unwrap(), record);
}

#[test]
fn cuts_resizes_and_leaves_out() {
    let episode = house_episode(7, MAP, STEPS, IMAGE);
    let record = encode(&episode).unwrap();
    let options = PfnetOptions { steps: Some(2), depth: false, ..Default::default() };
    let cut = decode(&record, &options).unwrap();
    let rgb = cut.rgb.as_ref().unwrap();
    assert_eq!((rgb.height, rgb.width, rgb.len(), cut.depth.is_none()), (56, 56, 2, true));
    assert_eq!(cut.states, episode.states[..2]);
    assert_eq!(cut.odometry, [episode.odometry[0], [0.0; 3]]);
    let error = decode(&record, &PfnetOptions { steps: Some(5), ..raw_size() }).unwrap_err();
    assert_eq!(error.to_string(), "has 4 steps; 5 were asked for");
    let error = cut.to_trajectory(HouseObservation::RgbDepth).unwrap_err().to_string();
    assert!(error.starts_with("field depth: there are none"), "{error}");
}

#[test]
fn becomes_a_trajectory_whose_actions_lead_into_their_step() {
    let episode = house_episode(8, MAP, STEPS, IMAGE);
    let trajectory = episode.to_trajectory(HouseObservation::RgbDepth).unwrap();
    assert_eq!(trajectory.actions.row(0), [0.0; 3]);
    for t in 0..STEPS {
        assert_eq!(trajectory.states.get(t).unwrap(), episode.states[t]);
        assert!(t == 0 || trajectory.actions.row(t) == episode.odometry[t - 1]);
    }
    let Observations::Images(images) = &trajectory.observations else { panic!("images were expected") };
    assert_eq!((images.channels, images.len()), (4, STEPS));
    let (rgb, depth) = (episode.rgb.as_ref().unwrap(), episode.depth.as_ref().unwrap());
    for i in 0..depth.pixels.len() {
        assert_eq!(images.pixels.get(4 * i + 2), rgb.pixels.get(3 * i + 2));
        assert_eq!(images.pixels.get(4 * i + 3), depth.pixels.get(i));
    }
    for (observation, channels) in [(HouseObservation::Rgb, 3), (HouseObservation::Depth, 1)] {
        let trajectory = episode.to_trajectory(observation).unwrap();
        assert!(matches!(&trajectory.observations, Observations::Images(i) if i.channels == channels));
    }
}

#[test]
fn one_kind_of_images_is_enough() {
    let only_depth = decode(&record_with(&[("rgb", None)]), &raw_size()).unwrap();
    assert!(only_depth.rgb.is_none() && only_depth.depth.is_some());
    assert!(only_depth.to_trajectory(HouseObservation::Depth).is_ok());
    assert!(only_depth.to_trajectory(HouseObservation::Rgb).unwrap_err().to_string().contains("field rgb"));
    assert_eq!(summarize(&record_with(&[("depth", None)])).unwrap().depth_size, None);
    let neither = failure(&[("rgb", None), ("depth", None)]);
    assert!(neither.contains("neither the feature rgb nor depth"), "{neither}");
}

#[test]
fn maps_may_have_eight_or_sixteen_bits_but_no_colours() {
    let count = MAP.0 * MAP.1;
    let grey16 = |value| one(encode_grey16(MAP.0, MAP.1, &vec![value; count]).unwrap());
    let narrow = one(encode_grey8(MAP.0, MAP.1, &vec![3; count]).unwrap());
    let record = record_with(&[("map_wall", Some(grey16(255))), ("map_roomtype", Some(narrow))]);
    let maps = decode(&record, &raw_size()).unwrap().maps;
    assert_eq!((maps.wall(0, 0), maps.room_type(10, 6)), (255, 3));
    assert!(failure(&[("map_door", Some(grey16(256)))]).contains("field map_door: holds 256"));
    let colours = one(encode_rgb8(MAP.0, MAP.1, &vec![0; count * 3]).unwrap());
    assert!(failure(&[("map_roomid", Some(colours))]).contains("field map_roomid: a PNG with 3 channels"));
}

#[test]
fn names_the_feature_that_is_missing_or_of_the_wrong_kind() {
    for name in ["map_wall", "map_door", "map_roomtype", "map_roomid", "states", "odometry"] {
        assert!(failure(&[(name, None)]).ends_with(&format!("field {name}: is missing")));
        let two = failure(&[(name, Some(vec![vec![], vec![]]))]);
        assert!(two.contains(&format!("field {name}: holds 2 byte strings")), "{two}");
    }
}

#[test]
fn names_the_feature_whose_size_or_content_is_wrong() {
    let image = |height, width| encode_rgb8(height, width, &vec![0; height * width * 3]).unwrap();
    let map = one(encode_grey8(MAP.1, MAP.0, &[0; MAP.0 * MAP.1]).unwrap());
    let mut nan = [[0.0; 3]; STEPS];
    nan[2][1] = f32::NAN;
    let grey = encode_grey8(IMAGE.0, IMAGE.1, &[0; IMAGE.0 * IMAGE.1]).unwrap();
    let cases = [
        ("rgb", vec![image(6, 9); 3], "holds 3 images, but there are 4 states"),
        ("rgb", [vec![image(6, 9); 3], vec![image(9, 6)]].concat(), "image 3: 6 x 9 pixels"),
        ("rgb", vec![grey; 4], "image 0: a PNG with 1 channels of 8 bits; RGB"),
        ("depth", vec![image(6, 9); 4], "image 0: a PNG with 3 channels of 8 bits; grey"),
        ("depth", vec![b"junk".to_vec(); 4], "not a readable PNG"),
        ("map_door", map, "is 7 x 11 pixels (x, y), but map_wall is 11 x 7"),
        ("states", one(vec![0; 47]), "47 bytes are no whole rows"),
        ("states", one(vec![]), "holds no row"),
        ("states", raw(&nan), "row 2 is [0.0, NaN, 0.0]"),
        ("odometry", raw(&nan), "row 2 is [0.0, NaN, 0.0]"),
        ("odometry", raw(&[[0.0; 3]; 3]), "holds 3 rows, but there are 4 states"),
    ];
    for (name, values, expected) in cases {
        let error = failure(&[(name, Some(values))]);
        assert!(error.contains(&format!("field {name}: ")) && error.contains(expected), "{error}");
    }
}

/// A small record that claims gigabytes: many steps, each with a large and very compressible image.
#[test]
fn many_large_images_are_refused_before_they_are_decoded() {
    let png = encode_grey8(2048, 2048, &vec![0; 2048 * 2048]).unwrap();
    let steps = 100;
    let record = record_with(&[
        ("rgb", None),
        ("depth", Some(vec![png; steps])),
        ("states", Some(raw(&vec![[0.0; 3]; steps]))),
        ("odometry", Some(raw(&vec![[0.0; 3]; steps]))),
    ]);
    let error = decode(&record, &raw_size()).unwrap_err().to_string();
    assert!(error.contains("field depth: 100 images of 2048 x 2048 are more than"), "{error}");
    assert_eq!(decode(&record, &PfnetOptions::default()).unwrap().depth.unwrap().len(), steps);
}

fn real_folder() -> Option<PathBuf> {
    let folder = std::env::var_os("DRIFTLESS_DATA").map(|folder| Path::new(&folder).join("house"));
    let folder = folder.filter(|folder| folder.is_dir());
    if folder.is_none() {
        eprintln!("SKIPPED: the real house records; set DRIFTLESS_DATA to the folder that contains house/");
    }
    folder
}

#[test]
fn understands_the_real_files() {
    let Some(folder) = real_folder() else { return };
    for (name, houses, walks, steps) in [("train", 12, 3, 25), ("test", 4, 2, 100)] {
        let file =
            PfnetFile::open(folder.join(format!("{name}.tfrecords")), PfnetOptions::default()).unwrap();
        assert_eq!(file.len(), houses * walks);
        let (mut position, mut heading) = (0.0_f64, 0.0_f64);
        let mut plans = Vec::new();
        for index in 0..file.len() {
            let episode = file.get(index).unwrap();
            episode.check().unwrap();
            assert_eq!((episode.len(), episode.odometry[steps - 1]), (steps, [0.0; 3]));
            let rgb = episode.rgb.as_ref().unwrap();
            assert_eq!((rgb.height, rgb.width, rgb.len()), (56, 56, steps));
            let residual = odometry_residual(&episode.states, &episode.odometry).unwrap();
            position = position.max(residual.position);
            heading = heading.max(residual.heading);
            for &[x, y, _] in &episode.states {
                assert_eq!(episode.maps.wall(x.round() as usize, y.round() as usize), 0, "a robot in a wall");
            }
            assert!(encode(&episode).and_then(|record| decode(&record, &raw_size())).unwrap() == episode);
            plans.push(episode.maps.wall);
        }
        plans.sort();
        plans.dedup();
        assert_eq!(plans.len(), houses, "distinct floor plans");
        eprintln!("{name}: odometry agrees within {position:.2e} pixels and {heading:.2e} rad");
        assert!(position < 1e-3 && heading < 1e-5);
    }
}
