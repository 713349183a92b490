//! Frames a second of the simulators, on one thread and on all cores.
//!
//! `cargo bench -p driftless-world --bench frames`

use driftless_world::house::{HouseWorld, Split};
use driftless_world::maze::{Layout, MazeWorld};
use rayon::prelude::*;
use std::time::Instant;

const STEPS: usize = 100;

fn main() {
    println!("{:<28} {:>14} {:>14}", "", "one thread", "all cores");
    for name in ["maze1", "maze2", "maze3"] {
        let world = MazeWorld::new(Layout::built_in(name).expect("built in"), 32, 32);
        report(&format!("{name} 32x32 RGB-D"), 50, |number| {
            std::hint::black_box(world.episode(1, number, STEPS));
        });
    }
    let world = MazeWorld::new(Layout::built_in("maze1").expect("built in"), 128, 128);
    report("maze1 128x128 RGB-D", 8, |number| {
        std::hint::black_box(world.episode(1, number, STEPS));
    });
    let houses: Vec<HouseWorld> =
        (0..8).map(|number| HouseWorld::new(1, Split::Train, number).expect("a small number")).collect();
    let camera = HouseWorld::camera(56, 56);
    report("8 houses 56x56 RGB and depth", 32, |number| {
        std::hint::black_box(houses[number % houses.len()].episode(STEPS, number as u64, camera));
    });
}

/// Makes `episodes` episodes on one thread, then on all cores, several times, and prints the best.
fn report(what: &str, episodes: usize, make: impl Fn(usize) + Sync) {
    let rate = |run: &dyn Fn()| {
        let seconds = (0..5)
            .map(|_| {
                let start = Instant::now();
                run();
                start.elapsed().as_secs_f64()
            })
            .fold(f64::INFINITY, f64::min);
        (episodes * STEPS) as f64 / seconds
    };
    let one = rate(&|| (0..episodes).for_each(&make));
    let all = rate(&|| (0..episodes).into_par_iter().for_each(&make));
    println!("{what:<28} {one:>8.0} fps {all:>10.0} fps");
}
