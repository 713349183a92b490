//! Scans of rendered houses, tracks through a small hall, and what does not belong together.

use super::*;
use crate::config::parse;
use driftless_world::house::{HouseWorld, scene};
use driftless_world::pose::{Frame, wrap};
use driftless_world::random::Random;
use driftless_world::trajectory::{Images, Pixels, Rows};

mod particles;

const PIXEL: f64 = driftless_world::files::pfnet::METRES_PER_PIXEL;

/// A map with walls where they are said to be.
pub fn maps_of(width: usize, height: usize, mut is_wall: impl FnMut(usize, usize) -> bool) -> HouseMaps {
    let mut wall = Vec::new();
    for x in 0..width {
        wall.extend((0..height).map(|y| if is_wall(x, y) { 255 } else { 0 }));
    }
    let (door, room) = (vec![0; wall.len()], vec![0; wall.len()]);
    HouseMaps { width, height, wall, door, room_type: room.clone(), room_id: room }
}

/// The first wall by small steps.
pub fn stepped_range(
    maps: &HouseMaps,
    at: [f64; 2],
    direction: [f64; 2],
    most: f64,
    step: f64,
) -> Option<f64> {
    for i in 0..(most / step) as usize {
        let distance = i as f64 * step;
        let [x, y] = [0, 1].map(|k| (at[k] + direction[k] * distance).floor());
        if x < 0.0 || y < 0.0 || x >= maps.width as f64 || y >= maps.height as f64 {
            return None;
        }
        if maps.wall(x as usize, y as usize) > 0 {
            return Some(distance);
        }
    }
    None
}

/// Walls that are `by` pixels thicker on all sides.
fn thicker(maps: &HouseMaps, by: usize) -> HouseMaps {
    let near = |at: usize, end: usize| at.saturating_sub(by)..(at + by + 1).min(end);
    maps_of(maps.width, maps.height, |x, y| {
        near(x, maps.width).any(|x| near(y, maps.height).any(|y| maps.wall(x, y) > 0))
    })
}

/// Shares of beams nearer than a wall can be, and farther than it can be, over a walk through a house.
fn misfits(world: &HouseWorld) -> [f64; 2] {
    let poses = world.style.walk(&world.plan, &world.obstacles, 60, &mut Random::new(1));
    let (_, depth) = world.look(&poses, HouseWorld::camera(56, 56));
    // Windows, pictures and frames stand out by up to 21 mm, two pixels.
    let (walls, proud) = (walls_of(&world.maps), walls_of(&thicker(&world.maps, 2)));
    let (mut counts, mut beams) = ([0.0; 2], 0.0);
    for (t, pose) in poses.iter().enumerate() {
        for beam in RangeScan::of(&depth, t, &CameraSettings::default(), 56).beams {
            let Reading::Range(range) = beam.reading else { panic!("no wall in sight") };
            let angle = pose.heading + beam.bearing();
            let see = |walls: &Walls| {
                walls.range([pose.x / PIXEL, pose.y / PIXEL], [angle.cos(), angle.sin()], 1e4).unwrap()
                    * PIXEL
            };
            // Depth is rounded to decimetres; walls lie on the map's grid, so it adds no error. 32-bit
            // rays in houses of 20 m are a few micrometres off, more where they graze.
            let rounding = 0.05 / beam.direction[0] + 1e-4;
            counts[0] += f64::from(u8::from(range < see(&proud) - rounding));
            counts[1] += f64::from(u8::from(range > see(&walls) + rounding));
            beams += 1.0;
        }
    }
    counts.map(|count| count / beams)
}

#[test]
fn scans_of_empty_houses_are_the_map() {
    for seed in 1..4 {
        let mut world = HouseWorld::from_seed(seed);
        world.scene = scene::build(&world.plan, &[], &world.decor, seed);
        assert_eq!(misfits(&world), [0.0; 2], "house {seed}");
    }
}

/// Furniture hides some walls, but nothing makes walls farther, and most are seen above it.
#[test]
fn scans_of_furnished_houses_are_mostly_the_map() {
    for seed in 1..4 {
        let [nearer, farther] = misfits(&HouseWorld::from_seed(seed));
        assert!(farther == 0.0 && nearer > 0.0 && nearer < 0.1, "house {seed}: {nearer} and {farther}");
    }
}

/// A hall of 8 m by 6 m with a wall into it, and a robot that goes in circles beside that.
struct Hall {
    maps: HouseMaps,
    poses: Vec<Pose>,
    depth: Images,
    actions: Rows,
}

fn hall() -> Hall {
    let maps = maps_of(400, 300, |x, y| {
        x < 5 || y < 5 || x >= 395 || y >= 295 || (200..206).contains(&x) && y < 140
    });
    let mut poses = vec![Pose::new(100.0, 70.0, 0.0)];
    let mut actions = vec![0.0; 3];
    for t in 1..40 {
        let action = [18.0, 1.0, if t % 2 == 0 { 0.04 } else { 0.4 }];
        poses.push(poses[t - 1].moved(action, Frame::Robot));
        actions.extend(action.map(|number| number as f32));
    }
    // 16 columns, 60 degrees, four rows that all show the wall.
    let slope =
        |column: usize| 30.0_f64.to_radians().tan() * (1.0 - (2.0 * column as f64 + 1.0) / 16.0) * 4.0;
    let mut pixels = Vec::new();
    for pose in &poses {
        let (sin, cos) = pose.heading.sin_cos();
        let row = (0..16).map(|column| {
            let ray = [cos - slope(column) * sin, sin + slope(column) * cos];
            let depth = stepped_range(&maps, [pose.x, pose.y], ray, 1e4, 0.01).unwrap();
            (depth * PIXEL * 10.0).round() as u8
        });
        pixels.extend(row.collect::<Vec<u8>>().repeat(4));
    }
    let depth = Images { height: 4, width: 16, channels: 1, pixels: Pixels::Bytes(pixels) };
    Hall { maps, poses, depth, actions: Rows::new(3, actions).unwrap() }
}

/// Around a centre that is itself as far off the truth as particles are off the centre.
fn spread_around(truth: Pose, count: usize, random: &mut Random) -> Vec<Pose> {
    let mut near = |pose: Pose| {
        let [x, y, turn] = [15.0, 15.0, 30.0_f64.to_radians()].map(|deviation| deviation * random.normal());
        Pose::new(pose.x + x, pose.y + y, pose.heading + turn)
    };
    let centre = near(truth);
    (0..count).map(|_| near(centre)).collect()
}

fn settings(model: ModelName) -> ClassicalSettings {
    let text = "beams = 16\nlikelihood_tempering = 0.3\nlikelihood_field.hit_deviation = 0.1\nbeam.hit_deviation = 0.1";
    ClassicalSettings { model, ..parse(text).unwrap() }
}

/// From 0.3 m and 30 degrees to 10 cm and 4 degrees (root mean squares) after ten steps, for both models.
#[test]
fn a_robot_in_a_hall_is_found() {
    let hall = hall();
    for model in [ModelName::LikelihoodField, ModelName::Beam] {
        let (mut place, mut turn) = (0.0, 0.0);
        for seed in 0..5 {
            let mut random = Random::new(seed);
            let start = spread_around(hall.poses[0], 500, &mut random);
            let settings = settings(model);
            let found =
                track(&hall.maps, &hall.depth, &hall.actions, &start, &settings, &mut random, |_, _| ())
                    .unwrap();
            assert_eq!((found.estimates.len(), found.unexplained.len()), (40, 0));
            assert!(found.effective.iter().all(|&size| (1.0 - 1e-6..=500.0 + 1e-3).contains(&size)));
            for (estimate, truth) in found.estimates.iter().zip(&hall.poses).skip(10) {
                place += (estimate.distance(*truth) * PIXEL).powi(2) / 150.0;
                turn += wrap(estimate.heading - truth.heading).to_degrees().powi(2) / 150.0;
            }
        }
        let errors = [place.sqrt(), turn.sqrt()];
        assert!(errors[0] < 0.1 && errors[1] < 4.0, "{model:?}: {errors:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_track_and_beliefs_explain_it() {
    let hall = hall();
    let run = || {
        let (settings, mut random, mut beliefs) = (settings(ModelName::Beam), Random::new(3), Vec::new());
        let start = spread_around(hall.poses[0], 50, &mut random);
        let keep = |belief: &driftless_core::Belief, _| beliefs.push(belief.clone());
        let found =
            track(&hall.maps, &hall.depth, &hall.actions, &start, &settings, &mut random, keep).unwrap();
        (found, beliefs)
    };
    let (found, beliefs) = run();
    assert_eq!((&found, &beliefs), (&run().0, &run().1));
    for (belief, (estimate, effective)) in beliefs.iter().zip(found.estimates.iter().zip(&found.effective)) {
        let pairs = belief.particles.column(0).iter().zip(belief.weights.linear());
        let x: f64 = pairs.map(|(&x, &w)| f64::from(x) * f64::from(w)).sum();
        // Weights of 32 bits sum to 1 within 1e-6, positions are some 200.
        assert!(
            (x - estimate.x).abs() < 1e-3
                && (belief.weights.effective_sample_size() - effective).abs() < 1e-9
        );
    }
}

/// Beams without room for chance, a map without walls, images of nothing: estimates stay numbers.
#[test]
fn dead_scans_and_empty_maps_give_numbers() {
    let hall = hall();
    let text = "likelihood_field = { hit_deviation = 0.001, random = 0.0 }\n\
                beam = { hit_deviation = 0.001, short = 0.0, beyond = 0.0, random = 0.0 }";
    let strict: ClassicalSettings = parse(text).unwrap();
    let nowhere = maps_of(400, 300, |_, _| false);
    let solid = maps_of(400, 300, |_, _| true);
    let blank = |value| Images { pixels: Pixels::Bytes(vec![value; 40 * 64]), ..hall.depth.clone() };
    let start = [hall.poses[0], Pose::new(-500.0, 1e6, -9.0)];
    for model in [ModelName::LikelihoodField, ModelName::Beam] {
        let settings = ClassicalSettings { model, ..strict.clone() };
        for maps in [&hall.maps, &nowhere, &solid] {
            for depth in [&hall.depth, &blank(0), &blank(9), &blank(255)] {
                let found =
                    track(maps, depth, &hall.actions, &start, &settings, &mut Random::new(5), |_, _| ())
                        .unwrap();
                let numbers = found.estimates.iter().flat_map(|pose| [pose.x, pose.y, pose.heading]);
                assert!(numbers.chain(found.effective).all(f64::is_finite), "{model:?}");
            }
        }
        let lost =
            track(&nowhere, &hall.depth, &hall.actions, &start, &settings, &mut Random::new(5), |_, _| ());
        assert_eq!(lost.unwrap().unexplained.len(), 40, "{model:?}");
    }
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let hall = hall();
    let start = [hall.poses[0]];
    let run = |maps: &HouseMaps, depth: &Images, actions: &Rows, start: &[Pose]| {
        let settings = ClassicalSettings::default();
        track(maps, depth, actions, start, &settings, &mut Random::new(1), |_, _| ()).unwrap_err().to_string()
    };
    let short = Rows::new(3, vec![0.0; 9]).unwrap();
    let error = run(&hall.maps, &hall.depth, &short, &start);
    assert_eq!(error, "field actions: 3 rows of 3, but 40 images need as many of 3");
    let mut odd = hall.actions.clone();
    odd.values_mut()[7] = f32::NAN;
    assert!(run(&hall.maps, &hall.depth, &odd, &start).starts_with("field actions: row 2 is"));
    let colour = Images { channels: 4, width: 4, ..hall.depth.clone() };
    assert!(run(&hall.maps, &colour, &hall.actions, &start).contains("4 channels"));
    let torn = Images { pixels: Pixels::Bytes(vec![1; 65]), ..hall.depth.clone() };
    assert!(run(&hall.maps, &torn, &short, &start).contains("65 numbers"));
    let maps = HouseMaps { width: 1, ..hall.maps.clone() };
    assert!(run(&maps, &hall.depth, &hall.actions, &start).contains("map_wall"));
    assert!(run(&hall.maps, &hall.depth, &hall.actions, &[]).contains("no particle"));
    let nowhere = [Pose::new(f64::NAN, 0.0, 0.0)];
    assert!(run(&hall.maps, &hall.depth, &hall.actions, &nowhere).contains("particle 0"));
}
