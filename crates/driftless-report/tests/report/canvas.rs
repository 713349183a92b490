//! No shape, however large, small or impossible, makes the canvas panic or hang.

use driftless_report::canvas::{Area, Vertex};
use driftless_report::font::{Align, Text};
use driftless_report::{Canvas, Image};
use driftless_world::random::Random;

fn some_number(random: &mut Random) -> f64 {
    const ODD: [f64; 9] =
        [0.0, 1e-320, -1e-320, f64::MAX, f64::MIN, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 64.0];
    match random.below(5) {
        0 => ODD[random.below(ODD.len())],
        1 => random.normal() * 10_f64.powf(random.range(-300.0, 300.0)),
        _ => random.range(-30.0, 100.0),
    }
}

fn some_point(random: &mut Random) -> [f64; 2] {
    [some_number(random), some_number(random)]
}

fn some_area(random: &mut Random) -> Area {
    let [left, top] = some_point(random);
    let [right, bottom] = some_point(random);
    Area { left, top, right, bottom }
}

fn draw_something(canvas: &mut Canvas, random: &mut Random) {
    let (a, b, c) = (some_point(random), some_point(random), some_point(random));
    let (size, other, ink) = (some_number(random), some_number(random), [random.below(256) as u8; 3]);
    match random.below(9) {
        0 => canvas.disc(a, size, ink, other),
        1 => canvas.ring(a, size, other, ink),
        2 => canvas.line(a, b, size, ink, other),
        3 => canvas.triangle([a, b, c], ink, other),
        4 => canvas.arrow(a, size, other, ink),
        5 => canvas.rectangle(some_area(random), ink, other),
        6 => canvas.frame(some_area(random), size, ink),
        7 => canvas.blit(&Image::from_grey(3, 2, &[1, 2, 3, 4, 5, 6]).unwrap(), some_area(random)),
        _ => {
            let line: Vec<Vertex> = (0..20).map(|_| Vertex { at: some_point(random), colour: ink }).collect();
            canvas.polyline(&line, size, other);
        }
    }
}

#[test]
fn any_shape_can_be_drawn() {
    let mut random = Random::new(5);
    let mut canvas = Canvas::new(70, 50, [255; 3]).unwrap();
    for _ in 0..4000 {
        if random.chance(0.2) {
            let area = some_area(&mut random);
            canvas.clipped(area, |canvas| draw_something(canvas, &mut random));
        } else {
            draw_something(&mut canvas, &mut random);
        }
        let at = some_point(&mut random);
        Text::regular(1 + random.below(3), [9; 3]).draw(&mut canvas, "a°", at, Align::Centre);
    }
    // After all that, the canvas still draws what it is told to.
    canvas.rectangle(Area::sized(0.0, 0.0, 70.0, 50.0), [1, 2, 3], 1.0);
    assert!(canvas.pixels().chunks(3).all(|pixel| pixel == [1, 2, 3]));
}
