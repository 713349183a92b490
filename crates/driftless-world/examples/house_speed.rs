//! Prints how many 56x56 frames a second the houses render, on all cores.
use driftless_world::house::{HouseWorld, Split};
use rayon::prelude::*;
use std::time::Instant;

fn main() {
    let start = Instant::now();
    let worlds: Vec<HouseWorld> = (0..16)
        .into_par_iter()
        .map(|n| HouseWorld::new(1, Split::Train, n).expect("a small number"))
        .collect();
    println!("{:.1} houses/s", 16.0 / start.elapsed().as_secs_f64());
    let camera = HouseWorld::camera(56, 56);
    let start = Instant::now();
    let frames: usize = (0..160_u64)
        .into_par_iter()
        .map(|e| worlds[e as usize % worlds.len()].episode(25, e, camera).rgb.len())
        .sum();
    println!("{:.0} frames/s", frames as f64 / start.elapsed().as_secs_f64());
}
