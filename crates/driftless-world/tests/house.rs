//! Houses from outside: what the camera sees is what the plan says, whoever computes it.

use driftless_world::Pixels;
use driftless_world::house::{Footprint, HouseEpisode, HouseWorld, Split};
use driftless_world::pose::Pose;
use rayon::prelude::*;

const SIDE: usize = 56;

fn bytes(pixels: &Pixels) -> &[u8] {
    match pixels {
        Pixels::Bytes(bytes) => bytes,
        Pixels::Floats(_) => panic!("cameras give bytes"),
    }
}

/// True if a point in space is inside a wall, a lintel or a piece of furniture.
fn is_solid(world: &HouseWorld, [x, y, z]: [f64; 3]) -> bool {
    let holds = |footprint: &Footprint| footprint.distance([x, y]) == 0.0;
    world.plan.walls.iter().any(|wall| wall.contains([x, y]))
        || world
            .items
            .iter()
            .flat_map(|item| &item.pieces)
            .any(|piece| piece.bottom <= z && z <= piece.top && holds(&piece.footprint))
}

/// Marches along lines of sight a little below the horizon, which meet neither lintels nor lamps.
#[test]
fn depth_is_the_distance_to_walls_and_furniture() {
    let camera = HouseWorld::camera(SIDE, SIDE);
    let (mut wrong, mut total) = (0, 0);
    for number in 0..4 {
        let world = HouseWorld::new(5, Split::Valid, number).unwrap();
        let episode = world.episode(6, 1, camera);
        for (t, state) in episode.states.iter().enumerate() {
            let pose = Pose::new(f64::from(state[0]) * 0.02, f64::from(state[1]) * 0.02, f64::from(state[2]));
            let (row, tangent) = (30, (30.0_f64).to_radians().tan());
            let slope = tangent * (1.0 - 2.0 * (row as f64 + 0.5) / SIDE as f64);
            for column in (0..SIDE).step_by(5) {
                let right = tangent * (2.0 * (column as f64 + 0.5) / SIDE as f64 - 1.0);
                let (sin, cos) = pose.heading.sin_cos();
                let at = |d: f64| {
                    [pose.x + d * (cos + right * sin), pose.y + d * (sin - right * cos), 0.9 + d * slope]
                };
                let depth = (0..4000).map(|i| f64::from(i) * 0.005);
                let truth = depth.take_while(|&d| at(d)[2] > 0.0 && !is_solid(&world, at(d))).count();
                let seen = bytes(&episode.depth.pixels)[(t * SIDE + row) * SIDE + column];
                total += 1;
                // Pictures stand out by 2 cm, and thin legs may slip between two steps.
                wrong += usize::from((truth as f64 * 0.05 - f64::from(seen)).abs() > 1.0);
            }
        }
    }
    assert!(total == 288 && wrong * 50 < total, "{wrong} of {total} depths differ");
}

fn episodes(threads: usize) -> Vec<HouseEpisode> {
    let world = HouseWorld::new(2, Split::Train, 3).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let camera = HouseWorld::camera(24, 24);
    pool.install(|| (0..12).into_par_iter().map(|number| world.episode(10, number, camera)).collect())
}

#[test]
fn episodes_do_not_depend_on_threads() {
    let alone = episodes(1);
    assert_eq!(alone, episodes(3));
    assert_ne!(alone[0].states, alone[1].states);
    assert_ne!(alone[0].rgb, alone[1].rgb);
}

#[test]
fn records_have_pf_nets_shapes_and_positions_in_rooms() {
    let world = HouseWorld::new(9, Split::Test, 0).unwrap();
    let episode = world.episode(100, 0, HouseWorld::camera(SIDE, SIDE));
    assert_eq!((episode.states.len(), episode.odometry.len()), (100, 100));
    assert_eq!((episode.rgb.len(), episode.rgb.channels), (100, 3));
    assert_eq!((episode.depth.len(), episode.depth.channels), (100, 1));
    for state in &episode.states {
        let at = episode.maps.index(f64::from(state[0]), f64::from(state[1])).expect("on the map");
        assert!(episode.maps.wall[at] == 0 && episode.maps.room_id[at] > 0, "{state:?}");
    }
    assert!(HouseWorld::new(0, Split::Train, u64::MAX).is_err());
    assert!(world.episode(0, 0, HouseWorld::camera(8, 8)).rgb.is_empty());
}

/// Neither black nor burnt out nor noise: means, contrast, and neighbours that resemble each other.
#[test]
fn frames_look_like_interiors() {
    let camera = HouseWorld::camera(SIDE, SIDE);
    let (mut means, mut steps) = (Vec::new(), Vec::new());
    for number in 0..12 {
        let episode = HouseWorld::new(4, Split::Train, number).unwrap().episode(10, 0, camera);
        let pixels = bytes(&episode.rgb.pixels);
        means.push(pixels.iter().map(|&v| f64::from(v)).sum::<f64>() / pixels.len() as f64);
        let apart = |i: usize| f64::from(pixels[i].abs_diff(pixels[i + 3]));
        steps.push((0..pixels.len() - 3).map(apart).sum::<f64>() / pixels.len() as f64);
    }
    assert!(means.iter().all(|mean| (50.0..215.0).contains(mean)), "{means:?}");
    assert!(steps.iter().all(|step| (1.0..25.0).contains(step)), "{steps:?}");
    let spread = means.iter().copied().fold(0.0, f64::max) - means.iter().copied().fold(255.0, f64::min);
    assert!(spread > 20.0, "houses are equally bright: {means:?}");
}
