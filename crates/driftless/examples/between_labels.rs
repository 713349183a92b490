//! Learning between labels on a file of a maze: the first 100 episodes to learn, the last 100 to validate.
//!
//! `cargo run --release -p driftless --example between_labels -- FILE EPOCHS`

use driftless::learn::{Detail, Experiment, Method, Scales, Tracking, TrainingSet};
use driftless::methods::{AnchoredEm, Teaching};
use driftless_world::files::dpf::{Crop, DpfFile, DpfOptions};
use driftless_world::labels::LabelBudget;
use driftless_world::{About, Dataset, Evaluation};
use std::time::Instant;

fn main() -> driftless::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("a file");
    let epochs = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(20);
    let experiment = Experiment { epochs, ..Experiment::default() };
    let options = DpfOptions {
        odometry_noise: experiment.odometry_noise as f32,
        pixel_noise: experiment.pixel_noise as f32,
        crop: Crop::Random(experiment.crop),
        seed: 77,
        ..DpfOptions::default()
    };
    let data = DpfFile::open(file, options)?;
    let episodes = data.len();
    let held = (episodes / 2).min(100);
    let unseen = (episodes - held..episodes).map(|k| data.get(k)).collect::<Result<Vec<_>, _>>()?;
    let budget = LabelBudget::new(experiment.label_fraction, experiment.seed)?;
    let lessons = TrainingSet::new(Box::new(data), 0..experiment.trajectories.min(episodes - held), budget)?;
    let scales = Scales::measure(&lessons)?;
    let mut method = AnchoredEm::new(&experiment, &scales, Teaching::BetweenLabels)?;
    let start = Instant::now();
    for epoch in 1..=epochs {
        let report = method.train(epoch, &lessons)?;
        println!("epoch {epoch}: {:.0} s, {:?}", start.elapsed().as_secs_f64(), report.losses[0]);
        if epoch.is_multiple_of(10) || epoch == epochs {
            let learned = method.parameters();
            println!("  {:?}", learned[learned.len() - 2..].iter().map(|p| &p.values).collect::<Vec<_>>());
            let counts: &[usize] = if epoch == epochs { &[100, 1000] } else { &[100] };
            for &particles in counts {
                let tracks =
                    method.track(&unseen, Tracking { particles, seed: 5, detail: Detail::Densities })?;
                println!(
                    "  N {particles}: {}",
                    told(&Evaluation::of(About::default(), scales.step_size, &tracks)?)
                );
            }
        }
    }
    Ok(())
}

/// Figures of the last step.
fn told(evaluation: &Evaluation) -> String {
    let last = |errors: &Vec<Option<f32>>| f64::from(errors[errors.len() - 1].unwrap_or(1e9));
    let mut errors: Vec<f64> = evaluation.position_errors.iter().map(last).collect();
    errors.sort_by(f64::total_cmp);
    let rmse = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
    let lost = errors.iter().filter(|e| **e > 150.0).count() as f64 / errors.len() as f64;
    format!("rmse {rmse:.1} median {:.1} lost {:.0} %", errors[errors.len() / 2], 100.0 * lost)
}
