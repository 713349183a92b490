//! Houses from outside: what the camera sees is what the plan says, whoever computes it.

use driftless_world::Pixels;
use driftless_world::files::pfnet::HouseEpisode;
use driftless_world::house::patterns::{Pattern, Surface};
use driftless_world::house::{Footprint, HouseWorld, Room, Split, scene};
use driftless_world::pose::Pose;
use rayon::prelude::*;
use std::f64::consts::FRAC_PI_2;

const SIDE: usize = 56;

fn bytes(pixels: &Pixels) -> &[u8] {
    match pixels {
        Pixels::Bytes(bytes) => bytes,
        Pixels::Floats(_) => panic!("cameras give bytes"),
    }
}

/// True if a point in space is inside a wall, a lintel, a piece of furniture, floor or ceiling.
fn is_solid(world: &HouseWorld, [x, y, z]: [f64; 3]) -> bool {
    let holds = |footprint: &Footprint| footprint.distance([x, y]) == 0.0;
    let lintel =
        z >= world.decor.door_height && world.plan.doors.iter().any(|door| door.gap.contains([x, y]));
    let pieces = world.items.iter().flat_map(|item| &item.pieces);
    z <= 0.0
        || z >= world.decor.ceiling_height
        || lintel
        || world.plan.walls.iter().any(|wall| wall.contains([x, y]))
        || pieces.into_iter().any(|piece| piece.bottom <= z && z <= piece.top && holds(&piece.footprint))
}

/// The depth in decimetres at a pixel, found by marching along its line of sight.
fn marched(world: &HouseWorld, pose: Pose, row: usize, column: usize) -> f64 {
    let tangent = 30.0_f64.to_radians().tan();
    let share = |pixel: usize| 2.0 * (pixel as f64 + 0.5) / SIDE as f64 - 1.0;
    let (right, rise) = (tangent * share(column), -tangent * share(row));
    let (sin, cos) = pose.heading.sin_cos();
    let at = |d: f64| [pose.x + d * (cos + right * sin), pose.y + d * (sin - right * cos), 0.9 + d * rise];
    let steps = (0..8000).take_while(|&i| !is_solid(world, at(f64::from(i) * 0.005)));
    steps.count() as f64 * 0.05
}

#[test]
fn depth_is_the_distance_to_walls_and_furniture() {
    let (mut wrong, mut total) = (0, 0);
    for number in 0..4 {
        let world = HouseWorld::new(5, Split::Valid, number).unwrap();
        let episode = world.episode(6, 1, HouseWorld::camera(SIDE, SIDE));
        for (t, state) in episode.states.iter().enumerate() {
            let [x, y, heading] = state.map(f64::from);
            let pose = Pose::new(x * 0.02, y * 0.02, heading);
            for (row, column) in
                [2, 9, 20, 30, 45].into_iter().flat_map(|r| (0..SIDE).step_by(7).map(move |c| (r, c)))
            {
                let seen = bytes(&episode.depth.as_ref().unwrap().pixels)[(t * SIDE + row) * SIDE + column];
                total += 1;
                // Lamps and pictures are not marched into, and thin legs may slip between two steps.
                wrong += usize::from((marched(&world, pose, row, column) - f64::from(seen)).abs() > 1.0);
            }
        }
    }
    assert!(total == 960 && wrong * 50 < total, "{wrong} of {total} depths differ");
}

/// From three metres in front of a door, the wall above the opening is in sight.
#[test]
fn there_is_wall_above_doors() {
    let (mut wrong, mut total) = (0, 0);
    for number in 0..8 {
        let world = HouseWorld::new(6, Split::Train, number).unwrap();
        for door in &world.plan.doors {
            let ([x, y], [width, depth]) = (door.gap.centre(), door.gap.size());
            let pose =
                if width < depth { Pose::new(x - 3.0, y, 0.0) } else { Pose::new(x, y - 3.0, FRAC_PI_2) };
            if !world.obstacles.is_clear([pose.x, pose.y], [x, y], 0.15) {
                continue;
            }
            let (_, image) = world.look(&[pose], HouseWorld::camera(SIDE, SIDE));
            for row in 0..12 {
                let seen = f64::from(bytes(&image.pixels)[row * SIDE + SIDE / 2]);
                total += 1;
                wrong += usize::from((marched(&world, pose, row, SIDE / 2) - seen).abs() > 1.0);
            }
        }
    }
    assert!(total > 100 && wrong * 50 < total, "{wrong} of {total} depths differ");
}

/// Every wall in its own plain colour; how much red, green, blue and other light each room's
/// middle sees straight ahead when it looks to -x, +x, -y and +y.
fn wall_colours(brightness: f32) -> Vec<[[f64; 4]; 4]> {
    let seed = 21;
    let mut world = HouseWorld::from_seed(seed);
    let colours = [[200.0, 0.0, 0.0], [0.0, 200.0, 0.0], [0.0, 0.0, 200.0], [200.0, 200.0, 200.0]];
    for room in &mut world.decor.rooms {
        for (wall, base) in room.walls.iter_mut().zip(colours) {
            *wall = Surface { pattern: Pattern::Plain, base, accent: base, tile: 1.0, seed: 0 };
        }
        room.brightness = brightness;
    }
    world.decor.light_colour = [1.0; 3];
    world.scene = scene::build(&world.plan, &[], &world.decor, seed);
    let headings = [2.0, 0.0, -1.0, 1.0].map(|quarters| quarters * FRAC_PI_2);
    let look = |room: &Room| {
        let [x, y] = room.floor.centre();
        headings.map(|heading| {
            let (rgb, _) = world.look(&[Pose::new(x, y, heading)], HouseWorld::camera(SIDE, SIDE));
            let ahead = bytes(&rgb.pixels).chunks(3).enumerate().filter(|(i, _)| i % SIDE / 2 == SIDE / 4);
            ahead.fold([0.0; 4], |mut sums, (_, p)| {
                let kind = (0..3).find(|&k| (0..3).all(|j| j == k || p[j] == 0)).unwrap_or(3);
                sums[kind] += f64::from(p[kind.min(2)]);
                sums
            })
        })
    };
    world.plan.rooms.iter().map(look).collect()
}

#[test]
fn walls_have_their_rooms_colours_and_light() {
    let (bright, dim) = (wall_colours(1.0), wall_colours(0.5));
    let total = |rooms: &[[[f64; 4]; 4]], side: usize, colour: usize| -> f64 {
        rooms.iter().map(|room| room[side][colour]).sum()
    };
    for side in 0..4 {
        for colour in 0..3 {
            let (seen, dimmed) = (total(&bright, side, colour), total(&dim, side, colour));
            if side == colour {
                let ratio = dimmed / seen;
                assert!(seen > 3000.0 && (0.48..0.52).contains(&ratio), "side {side}: {seen} {dimmed}");
            } else {
                // Through a door, straight ahead is again a wall of the same side.
                assert!(seen < 100.0, "colour {colour} on side {side}: {bright:?}");
            }
        }
    }
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
    episode.check().unwrap();
    for state in &episode.states {
        let at = episode.maps.index(state[0] as usize, state[1] as usize);
        assert!(episode.maps.wall[at] == 0 && episode.maps.room_id[at] > 0, "{state:?}");
    }
    assert!(HouseWorld::new(0, Split::Train, u64::MAX).is_err());
    assert!(world.episode(0, 0, HouseWorld::camera(8, 8)).is_empty());
}

/// Neither black nor burnt out nor noise: means, contrast, and neighbours that resemble each other.
#[test]
fn frames_look_like_interiors() {
    let camera = HouseWorld::camera(SIDE, SIDE);
    let (mut means, mut steps) = (Vec::new(), Vec::new());
    for number in 0..12 {
        let episode = HouseWorld::new(4, Split::Train, number).unwrap().episode(10, 0, camera);
        let pixels = bytes(&episode.rgb.as_ref().unwrap().pixels);
        means.push(pixels.iter().map(|&v| f64::from(v)).sum::<f64>() / pixels.len() as f64);
        let apart = |i: usize| f64::from(pixels[i].abs_diff(pixels[i + 3]));
        steps.push((0..pixels.len() - 3).map(apart).sum::<f64>() / pixels.len() as f64);
    }
    assert!(means.iter().all(|mean| (50.0..215.0).contains(mean)), "{means:?}");
    assert!(steps.iter().all(|step| (1.0..25.0).contains(step)), "{steps:?}");
    let spread = means.iter().copied().fold(0.0, f64::max) - means.iter().copied().fold(255.0, f64::min);
    assert!(spread > 20.0, "houses are equally bright: {means:?}");
}
