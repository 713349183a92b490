//! Damaged maps of ROS: always a map or a message, never a panic.

use crate::survive::{damage, survive};
use driftless_world::files::png_image;
use driftless_world::files::ros_map::{Description, RosMap};

const TEXT: &str = "image: floor.pgm\nresolution: 0.05\norigin: [-1.0, 2.0, 0.3]\nnegate: 0\n\
                    occupied_thresh: 0.65\nfree_thresh: 0.196\nmode: scale\n";

/// Either the description or its image is damaged; what is accepted becomes a grid.
#[test]
fn damaged_ros_maps() {
    let grey: Vec<u8> = (0..48).map(|k| (k * 5) as u8).collect();
    let words: Vec<String> = grey.iter().map(ToString::to_string).collect();
    let images = [
        [b"P5\n# a map\n8 6\n255\n", &grey[..]].concat(),
        format!("P2\n8 6\n255\n{}\n", words.join(" ")).into_bytes(),
        png_image::encode_grey8(6, 8, &grey).unwrap(),
    ];
    survive(23, |random| {
        let mut text = TEXT.as_bytes().to_vec();
        let mut image = images[random.below(images.len())].clone();
        let chosen = if random.chance(0.5) { &mut text } else { &mut image };
        damage(random, chosen);
        let description = Description::parse(&String::from_utf8_lossy(&text));
        let map = description.and_then(|description| RosMap::of(&description, &image));
        let Ok(map) = map else { return false };
        let grid = map.grid();
        assert_eq!(grid.cells.len(), grid.size[0] * grid.size[1]);
        assert!(map.occupancy.iter().all(|value| (-1..=100).contains(value)));
        true
    });
}
