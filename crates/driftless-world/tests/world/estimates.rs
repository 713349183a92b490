//! Estimates that are written come back: as text, and as messages through the reader of another hand.

use driftless_core::{Belief, Particles, Space};
use driftless_world::Pose;
use driftless_world::files::Overwrite;
use driftless_world::files::estimates::recording::{Moment, Recording};
use driftless_world::files::estimates::{EstimateFormat, EstimateOptions, Estimated, create};
use std::path::{Path, PathBuf};

const COVARIANCE: [[f64; 3]; 3] = [[0.1, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.4]];

fn row(episode: usize, step: usize, time: Option<f64>) -> Estimated {
    Estimated {
        robot: None,
        episode,
        step,
        time,
        pose: Pose::new(1.5 + step as f64, -2.25, 0.5),
        covariance: COVARIANCE,
        effective_sample_size: 33.25,
        particles: 3,
        kidnapped: Some(0.125),
        collapsed: false,
        saw: true,
        moved: step > 0,
        state: None,
    }
}

/// What nobody knows is NaN or absent.
fn unknown(episode: usize, step: usize) -> Estimated {
    Estimated {
        covariance: [[f64::NAN; 3]; 3],
        effective_sample_size: f64::NAN,
        kidnapped: None,
        ..row(episode, step, None)
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("driftless-estimates-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn options(path: &Path, episodes: usize, cloud: usize) -> EstimateOptions {
    let format = EstimateFormat::of(path).unwrap();
    EstimateOptions { format, overwrite: Overwrite::Refuse, episodes, cloud }
}

fn written(
    path: &Path,
    episodes: usize,
    cloud: usize,
    rows: &[Estimated],
    belief: Option<&Belief>,
) -> Vec<PathBuf> {
    let mut writer = create(path, options(path, episodes, cloud)).unwrap();
    for row in rows {
        writer.push(row, belief).unwrap();
    }
    writer.finish().unwrap()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn tables() {
    let folder = folder("tables");
    let rows = [row(0, 0, Some(7.5)), unknown(1, 0)];
    let csv = folder.join("e.csv");
    assert_eq!(written(&csv, 2, 0, &rows, None), std::slice::from_ref(&csv));
    let lines: Vec<String> = text(&csv).lines().skip(1).map(str::to_owned).collect();
    assert_eq!(lines[0], "0,0,7.5,1.5,-2.25,0.5,0.1,0.01,0.02,0.2,0.03,0.4,33.25,3,0.125,0,1,0");
    assert_eq!(lines[1], "1,0,,1.5,-2.25,0.5,,,,,,,,3,,0,1,0");
    assert_eq!(text(&csv).lines().next().unwrap().split(',').count(), 18);
    let json = folder.join("e.jsonl");
    written(&json, 2, 0, &rows, None);
    let found: Vec<serde_json::Value> =
        text(&json).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(found[0]["pose"], serde_json::json!([1.5, -2.25, 0.5]));
    assert_eq!((&found[0]["time"], &found[0]["kidnapped"]), (&7.5.into(), &0.125.into()));
    assert!(
        found[1]["covariance"][1][2].is_null()
            && found[1]["time"].is_null()
            && found[1].get("robot").is_none()
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// A file for each of several episodes; the step's number where there are no seconds.
#[test]
fn trajectories() {
    let folder = folder("tum");
    let one = folder.join("e.tum");
    assert_eq!(
        written(&one, 1, 0, &[row(4, 0, Some(1e9)), row(4, 1, Some(1e9 + 0.5))], None),
        std::slice::from_ref(&one)
    );
    let numbers = |path: &Path| -> Vec<Vec<f64>> {
        let lines = text(path);
        let lines = lines.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split(' ').map(|x| x.parse().unwrap()).collect()).collect()
    };
    let (sine, cosine) = 0.25_f64.sin_cos();
    assert_eq!(numbers(&one)[1], [1e9 + 0.5, 2.5, -2.25, 0.0, 0.0, 0.0, sine, cosine]);
    let several = folder.join("s.tum");
    let rows = [row(4, 0, None), row(4, 1, None), row(5, 0, None)];
    assert_eq!(written(&several, 2, 0, &rows, None), ["s-4.tum", "s-5.tum"].map(|name| folder.join(name)));
    assert_eq!(numbers(&folder.join("s-4.tum")).iter().map(|line| line[0]).collect::<Vec<_>>(), [0.0, 1.0]);
    let error = create(&one, options(&one, 1, 0)).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("e.tum") && error.contains("--force"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn messages() {
    let folder = folder("mcap");
    let path = folder.join("e.mcap");
    let poses = [[1.0_f32, 2.0, 0.0], [3.0, 4.0, 1.0], [5.0, 6.0, 2.0]];
    let belief = Belief::weighted(
        Particles::from_states(Space::SE2, poses),
        &[0.5_f32.ln(), 0.25_f32.ln(), 0.25_f32.ln()],
    );
    let rows = [row(0, 0, Some(12.75)), unknown(1, 0)];
    written(&path, 2, 3, &rows, Some(&belief));
    let bytes = std::fs::read(&path).unwrap();
    let found: Vec<mcap::Message> =
        mcap::MessageStream::new(&bytes).unwrap().collect::<Result<_, _>>().unwrap();
    let topics: Vec<&str> = found.iter().map(|message| message.channel.topic.as_str()).collect();
    assert_eq!(topics, ["/pose", "/particle_cloud", "/pose", "/particle_cloud"]);
    // The second has no seconds: its place in the file counts.
    assert_eq!([found[0].log_time, found[2].log_time], [12_750_000_000, 1_000_000_000]);
    let schema = found[0].channel.schema.as_ref().unwrap();
    assert_eq!(
        (schema.name.as_str(), schema.encoding.as_str()),
        ("geometry_msgs/msg/PoseWithCovarianceStamped", "ros2msg")
    );
    // Behind four bytes: two numbers of time, the length of "map" and it, and then numbers of eight bytes.
    let numbers = |message: &mcap::Message, from: usize| -> Vec<f64> {
        message.data[from..].chunks_exact(8).map(|x| f64::from_le_bytes(x.try_into().unwrap())).collect()
    };
    assert_eq!(found[0].data[4..20], [12, 0, 0, 0, 0x80, 0x17, 0xb4, 0x2c, 4, 0, 0, 0, b'm', b'a', b'p', 0]);
    let pose = numbers(&found[0], 20);
    let (sine, cosine) = 0.25_f64.sin_cos();
    assert_eq!(pose[..7], [1.5, -2.25, 0.0, 0.0, 0.0, sine, cosine]);
    assert_eq!([0, 1, 5, 7, 11, 35].map(|i| pose[7 + i]), [0.1, 0.01, 0.02, 0.2, 0.03, 0.4]);
    assert!(numbers(&found[2], 20)[7..].iter().all(|x| *x == 0.0), "not known");
    let cloud = &found[1];
    assert_eq!(cloud.data[20..24], [3, 0, 0, 0]);
    // 20 bytes behind the first four, and four more to the next multiple of eight.
    let particles = numbers(cloud, 28);
    assert_eq!(particles.len(), 24);
    assert_eq!([particles[8], particles[9], particles[15]], [3.0, 4.0, 0.25]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Of a larger cloud as many as are wanted are drawn: half of the weight is half of them.
#[test]
fn thinned_clouds() {
    let folder = folder("thin");
    let path = folder.join("e.mcap");
    let poses = (0..1000).map(|i| [if i < 10 { 1.0_f32 } else { 2.0 }, 0.0, 0.0]);
    let log = |i: usize| if i < 10 { 0.05_f32.ln() } else { (0.5_f32 / 990.0).ln() };
    let logs: Vec<f32> = (0..1000).map(log).collect();
    let belief = Belief::weighted(Particles::from_states(Space::SE2, poses), &logs);
    written(&path, 1, 100, &[row(0, 0, None)], Some(&belief));
    let bytes = std::fs::read(&path).unwrap();
    let found: Vec<mcap::Message> =
        mcap::MessageStream::new(&bytes).unwrap().collect::<Result<_, _>>().unwrap();
    let numbers: Vec<f64> =
        found[1].data[28..].chunks_exact(8).map(|x| f64::from_le_bytes(x.try_into().unwrap())).collect();
    let first = numbers.chunks_exact(8).filter(|particle| particle[0] == 1.0).count();
    assert!(numbers.len() == 800 && (49..=51).contains(&first), "{first}");
    assert!(numbers.chunks_exact(8).all(|particle| particle[7] == 0.01));
    std::fs::remove_dir_all(folder).unwrap();
}

/// No time of ROS is negative or beyond 2038: said, and no file is left.
#[test]
fn times_that_cannot_be() {
    let folder = folder("times");
    let path = folder.join("e.mcap");
    for time in [-1.0, 3e9, f64::NAN] {
        let mut writer = create(&path, options(&path, 1, 0)).unwrap();
        let error = writer.push(&row(0, 0, Some(time)), None).unwrap_err().to_string();
        assert!(error.contains("e.mcap: field times: "), "{error}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    std::fs::remove_dir_all(folder).unwrap();
}

/// What was flushed is there when a recording is killed, read by mcap without an end; what was not may be lost.
#[test]
fn recordings_that_break_off() {
    let folder = folder("recording");
    let path = folder.join("r.mcap");
    let belief = Belief::new(Particles::from_states(Space::SE2, [[1.0_f32, 2.0, 0.0], [3.0, 4.0, 1.0]]));
    let mut recording = Recording::create(&path, 1_000_000).unwrap();
    assert!(Recording::create(&path, 1).is_err(), "it is there already");
    for (number, name) in [None, Some("a b"), Some("a_b"), Some("7"), Some("a b")].into_iter().enumerate() {
        let row = Estimated { robot: name.map(str::to_owned), ..row(0, number, Some(5.0)) };
        let moment = Moment::new(&row, Some(&belief), 10, 100.5 + number as f64).unwrap();
        assert!(recording.push(&moment).unwrap());
    }
    recording.flush().unwrap();
    let killed = std::fs::read(&path).unwrap();
    let options = mcap::read::Options::IgnoreEndMagic.into();
    let stream = mcap::MessageStream::new_with_options(&killed, options).unwrap();
    let found: Vec<mcap::Message> = stream.map_while(Result::ok).collect();
    let topics: Vec<&str> = found.iter().map(|message| message.channel.topic.as_str()).step_by(2).collect();
    assert_eq!(topics, ["/pose", "/a_b/pose", "/a_b_3/pose", "/robot_7/pose", "/a_b/pose"]);
    assert_eq!((found.len(), found[1].channel.topic.as_str()), (10, "/particle_cloud"));
    assert_eq!(found[2].channel.metadata["robot"], "a b");
    // Logged when it was made, and stamped with the robot's own time.
    assert_eq!((found[4].log_time, &found[4].data[4..8]), (102_500_000_000, &[5, 0, 0, 0][..]));
    assert_eq!(found[1].data[20..24], [2, 0, 0, 0]);
    assert_eq!(recording.finish().unwrap(), 0);
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(mcap::MessageStream::new(&whole).unwrap().map(Result::unwrap).count(), 10);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A pose has 20 + 43 * 8 bytes behind four: two fit into 800 bytes, and what is left out is counted.
#[test]
fn recordings_are_bounded() {
    let folder = folder("bounded");
    let path = folder.join("r.mcap");
    let mut recording = Recording::create(&path, 800).unwrap();
    let moment = Moment::new(&row(0, 0, None), None, 10, 7.0).unwrap();
    assert_eq!(moment.size(), 4 + 16 + 43 * 8);
    assert_eq!([0; 4].map(|_| recording.push(&moment).unwrap()), [true, true, false, false]);
    assert_eq!(recording.finish().unwrap(), 2);
    assert!(Moment::new(&row(0, 0, Some(-1.0)), None, 10, 7.0).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}
