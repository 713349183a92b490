//! The whole picture: what must be visible where, the same bytes every time, and no input that panics.

use driftless_report::colour;
use driftless_report::path_picture::{Region, spread_steps};
use driftless_report::{Background, Bounds, Canvas, FramePick, Image, PathPicture, Rgb};
use driftless_world::Pose;
use driftless_world::random::Random;

fn walls(width: f64, height: f64) -> Background {
    let segments = vec![
        [0.0, 0.0, width, 0.0],
        [width, 0.0, width, height],
        [0.0, height, width, height],
        [0.0, 0.0, 0.0, height],
    ];
    let room = Bounds { low: [0.0, 0.0], high: [width / 2.0, height / 2.0] };
    Background::Walls { width, height, segments, regions: vec![Region { bounds: room, colour: [250, 0, 0] }] }
}

fn picture(background: Background, path: Vec<Option<Pose>>, frames: Vec<FramePick>) -> PathPicture {
    PathPicture {
        title: "Title".into(),
        subtitle: "Subtitle".into(),
        background,
        path,
        frames,
        unit: "m".into(),
    }
}

fn solid(colour: Rgb) -> Image {
    Image::new(32, 32, colour.repeat(32 * 32)).unwrap()
}

fn straight(steps: usize) -> Vec<Option<Pose>> {
    let x = |step: usize| 100.0 + 800.0 * step as f64 / (steps.max(2) - 1) as f64;
    (0..steps).map(|step| Some(Pose::new(x(step), 250.0, 0.0))).collect()
}

/// Where a colour is seen: number of pixels and their centre.
fn seen(canvas: &Canvas, colour: Rgb) -> (usize, f64, f64) {
    let mut sum = (0, 0.0, 0.0);
    for (i, pixel) in canvas.pixels().chunks(3).enumerate() {
        if pixel == colour {
            let (x, y) = (i % canvas.width(), i / canvas.width());
            sum = (sum.0 + 1, sum.1 + x as f64, sum.2 + y as f64);
        }
    }
    (sum.0, sum.1 / sum.0.max(1) as f64, sum.2 / sum.0.max(1) as f64)
}

#[test]
fn frames_stand_below_the_map_with_colours_above_depth() {
    let frames = [10, 80].map(|step| FramePick {
        step,
        rgb: solid([1, 2, step as u8]),
        depth: Some(solid([step as u8; 3])),
    });
    let canvas = picture(walls(1000.0, 500.0), straight(100), frames.to_vec()).draw().unwrap();
    let first = (seen(&canvas, [1, 2, 10]), seen(&canvas, [10; 3]));
    let second = (seen(&canvas, [1, 2, 80]), seen(&canvas, [80; 3]));
    for (rgb, depth) in [first, second] {
        // 32 pixels a side become 192, six times as large.
        assert_eq!((rgb.0, depth.0), (192 * 192, 192 * 192));
        assert!((rgb.1 - depth.1).abs() < 1.0 && rgb.2 < depth.2);
    }
    assert!(first.0.1 < second.0.1);
    let wall = seen(&canvas, [72, 77, 87]);
    assert!(wall.0 > 5000 && wall.2 < first.0.2, "walls are above the frames: {wall:?}");
}

#[test]
fn the_path_goes_from_dark_on_the_left_to_light_on_the_right() {
    let canvas = picture(walls(1000.0, 500.0), straight(100), vec![]).draw().unwrap();
    // The middle of the maze's height is the middle of its walls.
    let y = seen(&canvas, [72, 77, 87]).2.round() as usize;
    let near = |x: usize, expected: Rgb| {
        (x - 12..x + 12).any(|x| {
            canvas.pixel(x, y).iter().zip(expected).all(|(seen, expected)| seen.abs_diff(expected) < 12)
        })
    };
    let middle = seen(&canvas, [72, 77, 87]).1;
    for (part, moment) in [(-0.25, 0.5 - 0.3125), (0.0, 0.5), (0.25, 0.5 + 0.3125)] {
        let x = middle + part * 1000.0 * (1200.0 / 1030.0);
        assert!(near(x as usize, colour::time(moment)), "at {part}");
    }
    // Rooms are lighter than their colour, and below the middle as y points up.
    let tint = canvas.pixel((middle - 200.0) as usize, y + 100);
    assert!(tint[0] > 240 && tint[1] < 220 && canvas.pixel((middle - 200.0) as usize, y - 100)[1] > 240);
}

#[test]
fn unknown_and_impossible_places_are_skipped() {
    let mut path = straight(100);
    let plain = picture(walls(1000.0, 500.0), path.clone(), vec![]).draw().unwrap();
    path[50] = None;
    let missing = picture(walls(1000.0, 500.0), path.clone(), vec![]).draw().unwrap();
    path[50] = Some(Pose::new(f64::NAN, 1.0, 0.0));
    let nan = picture(walls(1000.0, 500.0), path.clone(), vec![]).draw().unwrap();
    assert_ne!(plain, missing);
    assert_eq!(missing, nan);
    let nowhere = vec![None; 7];
    assert!(picture(walls(1000.0, 500.0), nowhere, vec![]).draw().is_ok());
}

#[test]
fn mistakes_are_named() {
    let frame = FramePick { step: 5, rgb: solid([0; 3]), depth: None };
    let message = |picture: PathPicture| picture.draw().unwrap_err().to_string();
    let error = message(picture(walls(10.0, 5.0), straight(5), vec![frame.clone()]));
    assert_eq!(error, "frame 0: field step: shows step 5 of a path of 5 steps");
    let error = message(picture(walls(10.0, 5.0), straight(9), vec![frame; 49]));
    assert_eq!(error, "field frames: 49 frames do not fit; pick at most 48");
    let error = message(picture(walls(10.0, 5.0), vec![], vec![]));
    assert_eq!(error, "field path: has no steps to draw");
    let error = message(picture(walls(f64::NAN, 5.0), straight(5), vec![]));
    assert!(error.starts_with("wall 0: is not a place"), "{error}");
    let error = message(picture(walls(-10.0, 5.0), straight(5), vec![]));
    assert_eq!(error, "field background: a map from (0, 0) to (-10, 5) cannot be drawn");
}

fn some_number(random: &mut Random) -> f64 {
    const ODD: [f64; 10] =
        [0.0, -0.0, 1e-320, 1e300, -1e300, f64::MAX, f64::MIN, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    match random.below(4) {
        0 => ODD[random.below(ODD.len())],
        1 => random.normal() * 10_f64.powf(random.range(-300.0, 300.0)),
        _ => random.range(-50.0, 1200.0),
    }
}

fn some_image(random: &mut Random) -> Image {
    let (width, height) = (1 + random.below(90), 1 + random.below(90));
    Image::from_grey(width, height, &vec![random.below(256) as u8; width * height]).unwrap()
}

fn some_picture(random: &mut Random) -> PathPicture {
    let steps = 1 + random.below(60);
    let path: Vec<Option<Pose>> = (0..steps)
        .map(|_| {
            let pose = Pose::new(some_number(random), some_number(random), some_number(random));
            random.chance(0.8).then_some(pose)
        })
        .collect();
    let background = match random.below(4) {
        0 => walls(1000.0, 500.0),
        1 => walls(some_number(random), some_number(random)),
        2 => Background::Raster {
            image: some_image(random),
            origin: [some_number(random), some_number(random)],
            scale: some_number(random),
        },
        _ => Background::Empty { bounds: Bounds::around(&path) },
    };
    let picks = spread_steps(steps, random.below(20));
    let frames = picks.into_iter().map(|step| {
        let depth = random.chance(0.5).then(|| some_image(random));
        FramePick { step, rgb: some_image(random), depth }
    });
    let frames = frames.collect();
    let title: String =
        (0..random.below(200)).filter_map(|_| char::from_u32(random.below(400) as u32)).collect();
    PathPicture { subtitle: title.clone(), unit: title.clone(), title, background, path, frames }
}

#[test]
fn no_input_panics_and_every_picture_repeats() {
    let mut random = Random::new(11);
    let mut drawn = 0;
    for _ in 0..40 {
        let picture = some_picture(&mut random);
        if let Ok(canvas) = picture.draw() {
            drawn += 1;
            assert_eq!(canvas, picture.draw().unwrap());
        }
    }
    assert!(drawn > 12, "only {drawn} pictures could be drawn");
    let picture = picture(walls(1000.0, 500.0), straight(30), vec![]);
    assert_eq!(picture.draw().unwrap().to_png().unwrap(), picture.draw().unwrap().to_png().unwrap());
}
