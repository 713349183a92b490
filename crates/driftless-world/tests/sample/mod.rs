//! A made-up house episode for tests: noise everywhere, so that nothing can be swapped unnoticed.

use driftless_world::files::pfnet::{ChannelOrder, HouseEpisode, HouseMaps};
use driftless_world::pose::{Frame, Pose};
use driftless_world::random::Random;
use driftless_world::{Images, Pixels};

/// The episode named by `seed`: maps of `map_size` (x, y) pixels, `steps` images of `image_size`
/// (height, width).
pub fn house_episode(
    seed: u64,
    map_size: (usize, usize),
    steps: usize,
    image_size: (usize, usize),
) -> HouseEpisode {
    let mut random = Random::stream(seed, 77);
    let (width, height) = map_size;
    let count = width * height;
    let maps = HouseMaps {
        width,
        height,
        wall: (0..count).map(|_| if random.chance(0.2) { 255 } else { 0 }).collect(),
        door: (0..count).map(|_| if random.chance(0.1) { 255 } else { 0 }).collect(),
        room_type: (0..count).map(|_| random.below(512) as u16).collect(),
        room_id: (0..count).map(|_| random.below(200) as u16).collect(),
    };
    let (states, odometry) = walk(&mut random, steps);
    let mut images = |channels| Images {
        height: image_size.0,
        width: image_size.1,
        channels,
        pixels: Pixels::Bytes(
            (0..steps * image_size.0 * image_size.1 * channels).map(|_| random.below(256) as u8).collect(),
        ),
    };
    let (rgb, depth) = (Some(images(3)), Some(images(1)));
    HouseEpisode { maps, states, odometry, rgb, depth, channel_order: ChannelOrder::Rgb }
}

fn walk(random: &mut Random, steps: usize) -> (Vec<[f32; 3]>, Vec<[f32; 3]>) {
    let mut pose = Pose::new(100.0, 200.0, 0.5);
    let (mut states, mut odometry) = (Vec::new(), Vec::new());
    for step in 0..steps {
        states.push([pose.x as f32, pose.y as f32, pose.heading as f32]);
        let motion = if step + 1 == steps {
            [0.0; 3]
        } else {
            [random.range(10.0, 40.0), random.range(-1.0, 1.0), random.range(-1.0, 1.0)]
        };
        odometry.push(motion.map(|number| number as f32));
        pose = pose.moved(motion, Frame::Robot);
    }
    (states, odometry)
}
