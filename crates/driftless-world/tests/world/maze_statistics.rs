//! The simulated mazes against the original data: walk statistics, colours, and the real engine's frames.

use driftless_world::maze::{Layout, MazeWorld, Policy};
use driftless_world::pose::Frame;
use driftless_world::statistics::Statistics;
use driftless_world::{Images, Labels, Observations, Pixels, Rows, Trajectory};

/// Figures of the original training files (`statistics.npz` of nav01 to nav03): mean absolute step
/// per axis, mean |dtheta|, action std (position, angle), state std, image mean.
struct Original {
    maze: &'static str,
    step: f64,
    turn: f64,
    action_std: [f64; 2],
    state_std: f64,
    image_mean: [f64; 3],
}

const ORIGINALS: [Original; 3] = [
    Original {
        maze: "maze1",
        step: 60.14,
        turn: 0.977,
        action_std: [54.77, 1.249],
        state_std: 219.6,
        image_mean: [119.0, 142.0, 106.0],
    },
    Original {
        maze: "maze2",
        step: 63.35,
        turn: 0.834,
        action_std: [54.25, 1.103],
        state_std: 336.8,
        image_mean: [131.0, 147.0, 113.0],
    },
    Original {
        maze: "maze3",
        step: 64.81,
        turn: 0.777,
        action_std: [54.17, 1.040],
        state_std: 447.7,
        image_mean: [123.0, 130.0, 102.0],
    },
];

/// An episode as DPF's loader sees it: the first step only serves the first action.
fn loaded(world: &MazeWorld, seed: u64, number: usize, with_images: bool) -> Trajectory {
    let (walk, pixels) = if with_images {
        let episode = world.episode(seed, number, 100);
        let Pixels::Bytes(pixels) = episode.images.pixels else { panic!("cameras give bytes") };
        (episode.walk, pixels[4096..].to_vec())
    } else {
        (world.walk(seed, number, 100), vec![0; 99 * 4])
    };
    let side = if with_images { 32 } else { 1 };
    let images = Images { height: side, width: side, channels: 4, pixels: Pixels::Bytes(pixels) };
    let (mut actions, mut states) = (Vec::new(), Vec::new());
    for pair in walk.windows(2) {
        let (from, to) = (pair[0].pose, pair[1].pose);
        actions.extend(from.motion_to(to, Frame::Reflected).map(|value| value as f32));
        states.extend([to.x, to.y, to.heading].map(|value| value as f32));
    }
    let rows = |values| Rows::new(3, values).unwrap();
    Trajectory::new(Observations::Images(images), rows(actions), Labels::all(rows(states))).unwrap()
}

fn within(what: &str, value: f64, target: f64, tolerance: f64) {
    println!("{what}: {value:.3}, original {target}");
    assert!((value / target - 1.0).abs() <= tolerance, "{what}: {value:.3}, original {target}");
}

#[test]
fn walks_have_the_originals_statistics() {
    for original in &ORIGINALS {
        let world = MazeWorld::new(Layout::built_in(original.maze).unwrap(), 32, 32);
        let mut statistics = Statistics::new(Some(2));
        // As many episodes as the original: the state's spread needs them.
        for number in 0..1000 {
            statistics.push(&loaded(&world, 1, number, false));
        }
        let name = original.maze;
        within(&format!("{name} step per axis"), statistics.step_size(&[0, 1]), original.step, 0.1);
        within(&format!("{name} turn"), statistics.steps[2].mean, original.turn, 0.1);
        within(&format!("{name} action std"), statistics.action_std(&[0, 1]), original.action_std[0], 0.1);
        within(&format!("{name} turn std"), statistics.action_std(&[2]), original.action_std[1], 0.1);
        within(&format!("{name} state std"), statistics.state_std(&[0, 1]), original.state_std, 0.1);
    }
}

#[test]
fn images_have_the_originals_colours() {
    for original in &ORIGINALS {
        let world = MazeWorld::new(Layout::built_in(original.maze).unwrap(), 32, 32);
        let mut statistics = Statistics::new(Some(2));
        for number in 0..60 {
            statistics.push(&loaded(&world, 1, number, true));
        }
        for channel in 0..3 {
            let (mean, target) = (statistics.observations[channel].mean, original.image_mean[channel]);
            println!("{} channel {channel}: {mean:.1}, original {target}", original.maze);
            assert!((mean - target).abs() <= 15.0, "{} channel {channel}: {mean:.1}", original.maze);
        }
    }
}

#[test]
fn episodes_do_not_depend_on_the_number_of_threads() {
    use rayon::prelude::*;
    let world = MazeWorld::new(Layout::built_in("maze2").unwrap(), 32, 32);
    let make = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            (0..12).into_par_iter().map(|number| world.episode(9, number, 20)).collect::<Vec<_>>()
        })
    };
    let alone = make(1);
    assert_eq!(alone, make(2));
    assert_eq!(alone, make(5));
    assert_ne!(alone[0], alone[1]);
}

#[test]
fn planners_travel_further_than_wanderers() {
    let mut world = MazeWorld::new(Layout::built_in("maze1").unwrap(), 32, 32);
    let cells_visited = |world: &MazeWorld| {
        (0..20)
            .map(|number| {
                let walk = world.walk(3, number, 100);
                let cells: std::collections::HashSet<_> =
                    walk.iter().map(|moment| world.layout().cell_at(moment.pose.x, moment.pose.y)).collect();
                cells.len()
            })
            .sum::<usize>()
    };
    let wandering = cells_visited(&world);
    world.policy = Policy::Plan;
    let planning = cells_visited(&world);
    assert!(planning > wandering, "{planning} against {wandering} cells");
    world.policy = Policy::Mix;
    assert!((wandering..planning).contains(&cells_visited(&world)));
}
