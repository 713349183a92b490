//! `driftless smooth`: paths after the fact are nearer to the truth than the filter's, for every method that has a belief.

use crate::terminal::{Folder, SMALL, read, run};
use crate::tracking::{STEPS, episodes, table, write};
use driftless_world::files::log::LogWriter;
use driftless_world::files::{Overwrite, zip::Method};
use driftless_world::pose::{Frame, Pose};
use driftless_world::random::Random;
use driftless_world::trajectory::{Labels, Observations, Rows, Trajectory};
use serde_json::Value;

/// RMSE and median of position errors, of the filter and smoothed, as the command says them.
fn both_errors(said: &str) -> [[f64; 2]; 2] {
    ["filter", "smoothed"].map(|who| {
        let own = |line: &&str| line.contains(&format!(", {who} ")) && !line.starts_with("heading");
        let line = said.lines().find(own).unwrap_or_else(|| panic!("{who}: {said}"));
        let mut after = line.split(&format!(", {who} ")).nth(1).unwrap().split_whitespace();
        [(); 2].map(|()| after.next().unwrap().parse().unwrap())
    })
}

/// RMSEs alone.
fn errors(said: &str) -> [f64; 2] {
    both_errors(said).map(|[rmse, _]| rmse)
}

fn trained(folder: &Folder, experiment: &str, more: &[&str]) -> (String, String) {
    let (log, unseen, to) = (folder.path("log.npz"), folder.path("unseen.npz"), folder.path(experiment));
    write(&log, &episodes(1, 8));
    write(&unseen, &episodes(2, 12));
    let usual = ["train", experiment, "--train", &log, "--run", &to, "label_fraction=0.5", "epochs=1"];
    run(0, &[&usual[..], more].concat());
    (to, unseen)
}

fn smooth(folder: &Folder, (to, data): (&str, &str), name: &str, more: &[&str]) -> (String, String) {
    let path = folder.path(name);
    let usual = ["smooth", to, "--data", data, "--out", &path, "-s", "5"];
    (run(0, &[&usual[..], more].concat()).0, path)
}

const BEACONS: [[f64; 2]; 3] = [[0.0, 0.0], [6.0, 0.5], [2.5, 5.0]];
const LONG: usize = 30;

/// Robots that measure how far three beacons are, and cannot see where they look: their headings are known when they have
/// moved. The fourth reading is missing, and so is the motion into the sixth step.
fn among_beacons(seed: u64, count: u64) -> Vec<Trajectory> {
    let one = |number: u64| {
        let mut random = Random::stream(seed, number);
        let mut pose = Pose::new(random.range(1.0, 5.0), random.range(1.0, 4.0), random.range(-3.0, 3.0));
        let (mut seen, mut moved, mut truth) = (Vec::new(), Vec::new(), Vec::new());
        for t in 0..LONG {
            let action = [0.2, 0.0, 0.3 * random.normal()];
            if t > 0 {
                pose = pose.moved(action, Frame::Robot);
            }
            let noisy = action.map(|x| (x + 0.02 * random.normal()) as f32);
            moved.extend(if t == 6 { [f32::NAN; 3] } else { noisy });
            truth.extend([pose.x, pose.y, pose.heading].map(|x| x as f32));
            let range = BEACONS.map(|[x, y]| (pose.x - x).hypot(pose.y - y) + 0.1 * random.normal());
            seen.extend(if t == 4 { [f32::NAN; 3] } else { range.map(|x| x as f32) });
        }
        let rows = |values: Vec<f32>| Rows::new(3, values).unwrap();
        let seen = Observations::Vectors(rows(seen));
        Trajectory::new(seen, rows(moved), Labels::all(rows(truth))).unwrap()
    };
    (0..count).map(one).collect()
}

/// A plain log without beams.
fn write_ranges(path: &str, episodes: &[Trajectory]) {
    let mut file = LogWriter::create(path, Overwrite::Replace, Method::Stored, "").unwrap();
    for episode in episodes {
        file.push(episode).unwrap();
    }
    file.finish().unwrap();
}

/// Robots that are told nothing: in the first steps less is known than afterwards. Readings and odometry are missing once, and
/// lines say so as those of `track` do.
#[test]
fn robots_that_are_told_nothing() {
    let folder = Folder::new("smooth-global");
    let (log, unseen, to) = (folder.path("log.npz"), folder.path("unseen.npz"), folder.path("run"));
    write_ranges(&log, &among_beacons(1, 10));
    write_ranges(&unseen, &among_beacons(2, 12));
    let sensor = "sensor=[{name=\"beacons\", kind=\"ranges\", columns=[0,3]}]";
    let settings = [sensor, "label_fraction=0.5", "epochs=1", "robot.global_poses=4000"];
    run(0, &[&["train", "robot-driftless", "--train", &log, "--run", &to], &settings[..]].concat());
    let global = ["--start", "global", "--particles", "200"];
    let smoothed =
        |name: &str, more: &[&str]| smooth(&folder, (&to, &unseen), name, &[&global, more].concat());
    let drawn = folder.path("drawn.jsonl");
    let (said, csv) = smoothed("s.csv", &["--paths", "50", "--paths-out", &drawn]);
    // Robots that are lost for a while make the RMSE, and no path finds what no particle had.
    let [[_, filter], [_, after]] = both_errors(&said);
    assert!(after < 0.95 * filter, "{said}");
    let rows = table(&csv);
    assert_eq!(rows.len(), 12 * LONG);
    for (i, row) in rows.iter().enumerate() {
        let t = i % LONG;
        assert!(row[3..13].iter().all(|x| x.is_finite()) && row[6] >= 0.0 && row[12] >= 0.0, "{row:?}");
        assert_eq!(row[15..], [0.0, f64::from(u8::from(t != 4)), f64::from(u8::from(t != 6))], "step {t}");
    }
    // The mean of the drawn paths is what is written.
    let lines: Vec<Value> =
        String::from_utf8(read(&drawn)).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 12 * 50);
    for (episode, t) in [(0, 0), (7, 6), (11, LONG - 1)] {
        let own = lines.iter().filter(|line| line["episode"] == episode);
        let x = own.map(|line| line["states"][t][0].as_f64().unwrap()).sum::<f64>() / 50.0;
        let row = &rows[episode * LONG + t];
        assert!((x - row[3]).abs() < 1e-5, "{x} {row:?}");
    }
    let again = smoothed("again.csv", &["--paths", "50", "--threads", "1"]).1;
    assert_eq!(read(&csv), read(&again), "the same seed, the same bytes");
    // All particles, weighed: what more and more paths come to.
    let (said, all) = smoothed("all.csv", &["--all-particles"]);
    assert!(both_errors(&said)[1][1] < 0.95 * filter, "{said}");
    let many = table(&smoothed("many.csv", &["--paths", "2000"]).1);
    for (a, b) in table(&all).iter().zip(&many) {
        // 2000 paths: five standard errors, and the last digits of 32 bits.
        let within = 5.0 * (a[6] / 2000.0).sqrt() + 1e-4;
        assert!((a[3] - b[3]).abs() < within, "{a:?} {b:?}");
    }
}

/// Tracking, from the log's first pose; and Monte-Carlo localisation, whose motion is another.
#[test]
fn robots_that_are_told_where_they_start() {
    let folder = Folder::new("smooth-told");
    for experiment in ["robot-driftless-supervised", "robot-mcl"] {
        let (to, unseen) = trained(&folder, experiment, &[]);
        let more = ["--start", "log", "--particles", "100"];
        let [filter, after] = errors(&smooth(&folder, (&to, &unseen), "s.jsonl", &more).0);
        assert!(after < filter, "{experiment}: {filter} {after}");
        std::fs::remove_file(folder.path("s.jsonl")).unwrap();
    }
}

/// Poses that the log knows, one in five, are where the path goes through, and it is nearer to the truth between them.
#[test]
fn known_poses_are_taken_for_true() {
    let folder = Folder::new("smooth-known");
    let (to, _) = trained(&folder, "robot-driftless", &[]);
    let (truth, known) = (episodes(2, 12), |t: usize| t.is_multiple_of(5));
    let hidden = truth.iter().map(|episode| {
        let mut states = Labels::new(3);
        (0..STEPS).for_each(|t| states.push(episode.states.get(t).filter(|_| known(t))));
        Trajectory { states, ..episode.clone() }
    });
    let log = folder.path("known.npz");
    write(&log, &hidden.collect::<Vec<_>>());
    let rmse = |name: &str, more: &[&str]| {
        let (said, csv) =
            smooth(&folder, (&to, &log), name, &[&["--start", "log", "--particles", "100"], more].concat());
        assert_eq!(said.contains("RMSE"), more.is_empty(), "nothing is compared with what was told: {said}");
        let apart = |(i, row): (usize, &Vec<f64>)| {
            let pose = truth[i / STEPS].states.get(i % STEPS).unwrap();
            let apart = (row[3] - f64::from(pose[0])).hypot(row[4] - f64::from(pose[1]));
            // A label is exact to 32 bits.
            assert!(more.is_empty() || !known(i % STEPS) || apart < 1e-5, "{i}: {apart}");
            apart * apart
        };
        (table(&csv).iter().enumerate().map(apart).sum::<f64>() / (12 * STEPS) as f64).sqrt()
    };
    let [seen, told] = [rmse("seen.csv", &[]), rmse("told.csv", &["--with-poses"])];
    assert!(told < seen, "{told} {seen}");
    let (to, unseen) = trained(&folder, "robot-mcl", &[]);
    let out = folder.path("none.csv");
    let (_, error) = run(1, &["smooth", &to, "--data", &unseen, "--out", &out, "--with-poses"]);
    assert!(error.contains("leave --with-poses out"), "{error}");
}

/// Published filters have densities of their own; methods without a belief are told so, and nothing is written.
#[test]
fn published_methods() {
    let folder = Folder::new("smooth-published");
    for experiment in ["robot-sdpf", "robot-sdpf-supervised", "robot-dpf"] {
        let (to, unseen) = trained(&folder, experiment, &["particles=20", "batch_size=4"]);
        let name = format!("{experiment}.csv");
        let more = ["--start", "log", "--particles", "50", "--episodes", "2"];
        let rows = table(&smooth(&folder, (&to, &unseen), &name, &more).1);
        assert!(rows.len() == 2 * STEPS && rows.iter().all(|row| row[3..13].iter().all(|x| x.is_finite())));
    }
    for experiment in ["robot-lstm", "robot-odometry"] {
        let more: &[&str] = if experiment == "robot-lstm" { &["particles=20", "batch_size=4"] } else { &[] };
        let (to, unseen) = trained(&folder, experiment, more);
        let out = folder.path("none.csv");
        let (_, error) = run(1, &["smooth", &to, "--data", &unseen, "--out", &out, "--start", "log"]);
        assert!(error.contains("without particles") && error.contains("episode 0"), "{error}");
        assert!(!std::path::Path::new(&out).exists());
    }
}

/// In a maze, by the network of a short training and by the authors' filter.
#[test]
fn robots_in_mazes() {
    let folder = Folder::new("smooth-maze");
    let simulated = |name: &str, count: &str, seed: &str| {
        folder.simulated(name, &["-n", count, "-t", "40", "--size", "16", "-s", seed])
    };
    let (data, unseen) = (simulated("a.npz", "40", "1"), simulated("b.npz", "16", "2"));
    let (to, out) = (folder.path("run"), folder.path("s.csv"));
    let settings = ["crop=16", "trajectories=40", "epochs=5", "label_fraction=0.3", "validation_episodes=0"];
    run(0, &[&["train", "maze-driftless", "--train", &data, "--run", &to], &settings[..]].concat());
    let (said, _) = run(0, &["smooth", &to, "--data", &unseen, "--out", &out, "--particles", "100"]);
    let [filter, after] = errors(&said);
    assert!(after < 0.9 * filter, "{said}");
    let (to, out) = (folder.path("released"), folder.path("r.csv"));
    run(
        0,
        &[&["train", "maze-sdpf-released", "--train", &data, "--run", &to], &SMALL[..], &["epochs=1"]]
            .concat(),
    );
    let (said, _) = run(0, &["smooth", &to, "--data", &unseen, "--out", &out, "--episodes", "4"]);
    assert!(errors(&said).iter().all(|x| x.is_finite()), "{said}");
}

/// In a house nobody has seen, by its floor plan.
#[test]
fn robots_in_houses() {
    let folder = Folder::new("smooth-house");
    let (data, to, out) = (folder.path("h.tfrecords"), folder.path("run"), folder.path("s.mcap"));
    run(0, &["simulate", "house", "--episodes", "6", "-t", "16", "-o", &data]);
    let small = [
        "epochs=1",
        "house.updates=5",
        "house.steps=8",
        "particles=50",
        "trajectories=5",
        "validation_episodes=0",
    ];
    run(0, &[&["train", "house-driftless", "--train", &data, "--run", &to], &small[..]].concat());
    let (said, _) = run(0, &["smooth", &to, "--data", &data, "--out", &out, "--paths", "40"]);
    assert!(errors(&said).iter().all(|x| x.is_finite()), "{said}");
    assert!(read(&out).starts_with(b"\x89MCAP"));
}

/// What cannot be is said before anything is computed.
#[test]
fn wrong_usage() {
    let folder = Folder::new("smooth-wrong");
    let (to, unseen) = trained(&folder, "robot-driftless-supervised", &[]);
    let out = folder.path("path.txt");
    let (_, error) = run(2, &["smooth", &to, "--data", &unseen, "--out", &out]);
    assert!(error.contains("--format"), "{error}");
    let out = folder.path("path.csv");
    run(2, &["smooth", &to, "--data", &unseen, "--out", &out, "--paths", "0"]);
    run(2, &["smooth", &to, "--data", &unseen, "--out", &out, "--all-particles", "--paths", "3"]);
    run(2, &["smooth", &to, "--out", &out]);
    std::fs::write(&out, "mine").unwrap();
    run(1, &["smooth", &to, "--data", &unseen, "--out", &out]);
    assert_eq!(read(&out), b"mine");
}
