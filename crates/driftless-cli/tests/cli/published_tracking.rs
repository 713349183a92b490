//! Published methods on a robot's own log, followed from the log and as a stream: what an evaluation says.

use crate::terminal::{Folder, run};
use crate::tracking::{STEPS, episodes, evaluated, line, poses, streamed, table, text, write};
use driftless_world::pose::Pose;

const METHODS: [&str; 8] = [
    "robot-sdpf",
    "robot-sdpf-supervised",
    "robot-dpf",
    "robot-lstm",
    "robot-ekf",
    "robot-ukf",
    "robot-histogram",
    "robot-pf-gru",
];

/// Evaluation, `track` and a stream of the same readings agree to the last bit.
#[test]
fn published_methods_follow_a_stream() {
    let folder = Folder::new("track-published");
    let (log, unseen) = (folder.path("log.npz"), folder.path("unseen.npz"));
    let followed = episodes(2, 2);
    write(&log, &episodes(1, 6));
    write(&unseen, &followed);
    for experiment in METHODS {
        let (to, csv) = (folder.path(experiment), folder.path(&format!("{experiment}.csv")));
        // Of the histogram filter these are cells.
        let particles = if experiment == "robot-histogram" { "particles=600" } else { "particles=20" };
        let small = ["label_fraction=0.5", "epochs=1", particles, "batch_size=4", "robot.start=global"];
        run(0, &[&["train", experiment, "--train", &log, "--run", &to], &small[..]].concat());
        let usual = ["--particles", "50", "-s", "5"];
        run(
            0,
            &[&["track", &to, "--data", &unseen, "--out", &csv, "--start", "global"], &usual[..]].concat(),
        );
        let expected: Vec<[f64; 3]> = table(&csv).iter().map(|row| [row[3], row[4], row[5]]).collect();
        let said = evaluated(&to, &unseen, &[]).into_iter().flatten();
        let said: Vec<[f64; 3]> = said.map(|Pose { x, y, heading }| [x, y, heading]).collect();
        assert_eq!(said, expected, "{experiment}");
        let mut lines = Vec::new();
        for (number, episode) in followed.iter().enumerate() {
            for t in 0..STEPS {
                let mut line = line(episode, t);
                line["robot"] = number.into();
                lines.push(line);
            }
        }
        let (out, error) =
            streamed(0, &[&["track", &to, "--stream"], &usual[..]].concat(), text(&lines).as_bytes());
        assert_eq!(poses(&out), expected, "{experiment}: {error}");
        // The fourth scan and the motion into the sixth step are missing.
        let rows = table(&csv);
        let [saw, moved] =
            [16, 17].map(|column| rows[..STEPS].iter().map(|row| row[column] > 0.0).collect::<Vec<_>>());
        assert!((0..STEPS).all(|t| saw[t] == (t != 4) && moved[t] == (t != 6)), "{saw:?} {moved:?}");
        assert_eq!(rows[0][6].is_nan(), experiment == "robot-lstm", "no belief, no covariance");
    }
}
