//! Draws an invented walk through an invented maze: `cargo run --example path_picture -- walk.png`.

use driftless_report::path_picture::{Region, spread_steps};
use driftless_report::{Background, Bounds, FramePick, Image, PathPicture};
use driftless_world::files::atomic::{NewFile, Overwrite};
use driftless_world::random::Random;
use driftless_world::{Error, Pose, Result};
use std::io::Write;

const COLUMNS: usize = 10;
const ROWS: usize = 5;
const CELL: f64 = 100.0;
const ROOM: Bounds = Bounds { low: [400.0, 200.0], high: [700.0, 400.0] };

fn main() -> Result<()> {
    let target = std::env::args().nth(1).ok_or_else(|| Error::new("name the picture to be written"))?;
    let mut random = Random::new(4);
    let walls = maze(&mut random);
    let path = walk(&walls, 100, &mut random);
    let frames = spread_steps(path.len(), 7)
        .into_iter()
        .map(|step| look(&walls, path[step], step))
        .collect::<Result<Vec<FramePick>>>()?;
    let picture = PathPicture {
        title: "Maze 1, episode 12".into(),
        subtitle: "an invented walk through an invented maze".into(),
        background: Background::Walls {
            width: COLUMNS as f64 * CELL,
            height: ROWS as f64 * CELL,
            segments: walls,
            regions: vec![Region { bounds: ROOM, colour: [200, 60, 40] }],
        },
        path: path.into_iter().map(Some).collect(),
        frames,
        unit: "units".into(),
    };
    let mut file = NewFile::create(target, Overwrite::Replace)?;
    file.write_all(&picture.draw()?.to_png()?).map_err(|source| Error::io("cannot write", source))?;
    file.commit()
}

/// Walls on a grid, each kept with a probability, around a room without any.
fn maze(random: &mut Random) -> Vec<[f64; 4]> {
    let (width, height) = (COLUMNS as f64 * CELL, ROWS as f64 * CELL);
    let mut walls = vec![
        [0.0, 0.0, width, 0.0],
        [0.0, height, width, height],
        [0.0, 0.0, 0.0, height],
        [width, 0.0, width, height],
    ];
    for (column, row) in (0..COLUMNS).flat_map(|column| (0..ROWS).map(move |row| (column, row))) {
        let (x, y) = (column as f64 * CELL, row as f64 * CELL);
        let in_room = ROOM.holds(&Pose::new(x + 1.0, y + 1.0, 0.0));
        if row > 0 && random.chance(0.42) && !(in_room && y > ROOM.low[1]) {
            walls.push([x, y, x + CELL, y]);
        }
        if column > 0 && random.chance(0.3) && !(in_room && x > ROOM.low[0]) {
            walls.push([x, y, x, y + CELL]);
        }
    }
    walls
}

/// Drives towards where there is room, in steps of about half a cell.
fn walk(walls: &[[f64; 4]], steps: usize, random: &mut Random) -> Vec<Pose> {
    let mut path = vec![Pose::new(50.0, 50.0, 0.0)];
    while path.len() < steps {
        let from = path[path.len() - 1];
        let turns = (0..12).map(|_| 0.7 * random.normal()).chain([3.0]);
        let heading = turns
            .map(|turn| from.heading + turn)
            .find(|&heading| [-0.35, 0.0, 0.35].iter().all(|side| hit(walls, from, heading + side).0 > 80.0));
        let heading = heading.unwrap_or(from.heading + 0.8);
        let free = (hit(walls, from, heading).0 - 25.0).clamp(0.0, random.range(30.0, 70.0));
        path.push(Pose::new(from.x + free * heading.cos(), from.y + free * heading.sin(), heading));
    }
    path
}

/// Distance to the nearest wall along a ray, and where along that wall it is hit.
fn hit(walls: &[[f64; 4]], from: Pose, heading: f64) -> (f64, f64) {
    let (s, c) = heading.sin_cos();
    let mut nearest = (1e9, 0.0);
    for [x0, y0, x1, y1] in walls {
        let (dx, dy) = (x1 - x0, y1 - y0);
        let across = c * dy - s * dx;
        let (ox, oy) = (x0 - from.x, y0 - from.y);
        let (distance, along) = ((ox * dy - oy * dx) / across, (ox * s - oy * c) / across);
        if distance > 0.0 && (0.0..=1.0).contains(&along) && distance < nearest.0 {
            nearest = (distance, along * dx.hypot(dy));
        }
    }
    nearest
}

/// What a camera of 32 x 32 pixels sees: sky, a wall of bricks, floor; and how far away it is.
fn look(walls: &[[f64; 4]], pose: Pose, step: usize) -> Result<FramePick> {
    let (mut rgb, mut depth) = (vec![0; 32 * 32 * 3], vec![0.0; 32 * 32]);
    for column in 0..32 {
        let sideways = (15.5 - column as f64) / 16.0;
        let (distance, along) = hit(walls, pose, pose.heading + sideways.atan());
        let ahead = distance / sideways.hypot(1.0);
        for row in 0..32 {
            let up = (15.5 - row as f64) / 16.0;
            let height = 50.0 + up * ahead;
            let ground = if up < 0.0 { -50.0 / up } else { 50.0 / up };
            let seen = ahead.min(ground);
            let shade = 1.0 - (seen / 700.0).min(0.6);
            let course = (height / 12.5).floor();
            let joint = height.rem_euclid(12.5) < 2.0
                || (along + 12.0 * course.rem_euclid(2.0)).rem_euclid(25.0) < 2.0;
            let colour = match height {
                h if h > 100.0 => [150.0, 210.0, 245.0],
                h if h < 0.0 => [211.0, 156.0, 60.0].map(|v| v * shade),
                _ if joint => [52.0, 74.0, 50.0].map(|v| v * shade),
                _ => [96.0, 138.0, 88.0].map(|v| v * shade),
            };
            let i = row * 32 + column;
            rgb[3 * i..3 * i + 3].copy_from_slice(&colour.map(|v: f64| v as u8));
            depth[i] = (1.0 - 8.0 / seen.max(8.0)) as f32;
        }
    }
    let depth = Image::from_values(32, 32, &depth, 0.6, 1.0)?;
    Ok(FramePick { step, rgb: Image::new(32, 32, rgb)?, depth: Some(depth) })
}
