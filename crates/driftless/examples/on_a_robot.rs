//! A trained filter in a robot's own loop. Here a log takes the place of the robot:
//!
//! ```text
//! driftless train --train mylog.npz --run runs/mine
//! cargo run --release -p driftless --example on_a_robot -- runs/mine unseen.npz
//! ```

use driftless::online::{Place, Start, Step, Tracker};
use driftless_world::Dataset;
use driftless_world::files::log::LogFile;
use driftless_world::trajectory::Observations;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, log] = &arguments[..] else { return Err("usage: on_a_robot RUN LOG".into()) };
    let episode = LogFile::open(log)?.get(0)?;
    let Observations::Vectors(readings) = &episode.observations else {
        return Err("the log holds images".into());
    };

    // Place::Anywhere is right for a robot that was just switched on; it takes longer to be sure.
    let place = match episode.states.get(0) {
        Some(state) => {
            Place::About { pose: std::array::from_fn(|k| f64::from(state[k])), spread: [0.3, 0.3, 0.2] }
        }
        None => Place::Anywhere,
    };
    let mut tracker = Tracker::open(run, Start { place, ..Start::default() })?;
    for t in 0..episode.len() {
        let odometry = (episode.actions.width() == 3)
            .then(|| std::array::from_fn(|k| f64::from(episode.actions.row(t)[k])));
        let time = episode.times.as_ref().map(|times| times[t]);
        let step = Step { readings: Some(readings.row(t)), odometry, time, ..Step::default() };
        let estimate = tracker.step(step)?;
        let [x, y] = [0, 1].map(|k| estimate.covariance[k][k].sqrt());
        println!(
            "{t:4}  x {:.3} ± {x:.3}  y {:.3} ± {y:.3}  heading {:.3}  {} particles",
            estimate.pose.x, estimate.pose.y, estimate.pose.heading, estimate.particles
        );
    }
    Ok(())
}
