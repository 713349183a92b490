//! Tables with names of one's own, and trajectories as truth for a log.

use driftless_world::files::columns::{ColumnOptions, import};
use driftless_world::files::npz::NpzFile;
use driftless_world::files::recorded::Recording;
use driftless_world::files::{Overwrite, Source, tum};
use driftless_world::{Error, Result};
use std::f64::consts::PI;

fn options(columns: &[&str]) -> ColumnOptions {
    ColumnOptions {
        columns: columns.iter().map(|text| text.parse().unwrap()).collect(),
        degrees: false,
        millimetres: false,
        beams: None,
        max_pause: 30.0,
        episode_steps: 100,
    }
}

fn read(text: &str, options: &ColumnOptions) -> Result<Recording> {
    import(Source::from(text.as_bytes().to_vec()), options)
}

const COLUMNS: [&str; 6] = ["time=t", "x=px", "y=py", "heading=yaw", "forward=v", "scan=r*"];

#[test]
fn tables_become_steps() {
    let text =
        "t,px,py,yaw,v,comment,r1,r2\n0,1,2,0.5,0,a,3,4\n1,,,nan,0.25,b,,inf\n\n2,1.5,2,0.5,nan,c,5,6\n";
    let drive = read(text, &ColumnOptions { beams: Some((-1.0, 1.0)), ..options(&COLUMNS) }).unwrap();
    let steps: Vec<_> = drive.steps().collect();
    assert_eq!((steps.len(), drive.beam_angles.as_deref()), (3, Some([-1.0, 1.0].as_slice())));
    assert_eq!((steps[0].pose, steps[1].pose, steps[2].time), (Some([1.0, 2.0, 0.5]), None, 2.0));
    assert_eq!(
        (steps[0].readings.as_slice(), steps[2].readings.as_slice()),
        ([3.0, 4.0].as_slice(), [5.0, 6.0].as_slice())
    );
    assert!(steps[1].readings.iter().all(|reading| reading.is_nan()));
    assert_eq!(drive.actions().collect::<Vec<_>>(), [Some([0.0; 3]), Some([0.25, 0.0, 0.0]), None]);
}

/// A quarter turn between two rows: what was driven along x is driven to the side of the one who turned.
#[test]
fn units_odometry_and_episodes() {
    let names = ["odom_x=ox", "odom_y=oy", "odom_heading=oh", "episode=run", "time=s", "reading=z"];
    let text = "run;s;ox;oy;oh;z\na;0;1000;0;90;7000\na;1;1500;200;180;7500\na;90;0;0;0;1\nb;91;0;0;0;2\nb;90;0;0;0;2\n";
    let both = ColumnOptions { degrees: true, millimetres: true, ..options(&names) };
    let drive = read(text, &both).unwrap();
    assert_eq!(drive.episodes.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 1, 1]);
    let action = drive.actions().nth(1).unwrap().unwrap();
    assert!((0..3).all(|i| (action[i] - [0.2, -0.5, PI / 2.0][i]).abs() < 1e-12), "{action:?}");
    assert_eq!(drive.steps().next().unwrap().readings, [7.0]);
    assert!(
        drive.notes.iter().any(|note| note.contains("time goes backwards at 1 rows")),
        "{:?}",
        drive.notes
    );
    let suspicions = read(text, &options(&names)).unwrap().suspicions();
    assert!(suspicions.iter().any(|line| line.contains("millimetres")), "{suspicions:?}");
    let turned = "t,px,py,yaw,v,r1\n0,0,0,90,0,1\n1,0,0,170,0,1\n";
    let suspicions = read(turned, &options(&COLUMNS)).unwrap().suspicions();
    assert!(suspicions.iter().any(|line| line.contains("degrees")), "{suspicions:?}");
}

#[test]
fn errors_name_line_and_column() {
    for (text, columns, expected) in [
        ("", &COLUMNS[..], "there is no header line"),
        ("t,px,py,yaw,v,r1\n", &COLUMNS[..], "holds no row"),
        ("t,px,py,yaw,v,r1\n0,1,2,3,4\n", &COLUMNS[..], "line 2: has 5 cells; the header has 6"),
        ("t,px,py,yaw,v,r1\n0,1,x,3,4,5\n", &COLUMNS[..], "line 2: field py: \"x\" is not a number"),
        ("t,px,py,yaw,v,r1\n,1,2,3,4,5\n", &COLUMNS[..], "line 2: field time: is missing"),
        ("t,r1\n0,1\n", &["x=t", "scan=r1"], "field y: no column has it; a pose has x, y, heading"),
        ("t,r1\n0,1\n", &["time=t"], "field scan: no column was given"),
    ] {
        let error = read(text, &options(columns)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    // A row that was cut off is left out.
    let drive = read("t,px,py,yaw,v,r1\n0,1,2,3,4,5\n1,1", &options(&COLUMNS)).unwrap();
    assert_eq!(drive.steps().count(), 1);
}

#[test]
fn a_trajectory_labels_a_log() {
    let folder = std::env::temp_dir().join(format!("driftless-tum-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (log, out) = (folder.join("log.npz"), folder.join("out.npz"));
    let table = "t,px,py,yaw,v,r1\n10,9,9,9,0,1\n11,9,9,9,0,2\n12,9,9,9,0,3\n20,9,9,9,0,3\n";
    read(table, &options(&COLUMNS)).unwrap().write(&log, Overwrite::Replace, "made-by us").unwrap();
    let truth = |text: &str, offset: f64| tum::read(Source::from(text.as_bytes().to_vec()), offset);
    // A quarter turn in a second, half a second later than the log's clock.
    let half = (PI / 4.0).sin();
    let text = format!("# time x y z qx qy qz qw\n9.5 0 0 0 0 0 0 1\n11.5 2 4 0 0 0 {half} {half}\n");
    let joined = tum::join(&log, &truth(&text, 0.5).unwrap(), 3.0, &out, Overwrite::Replace).unwrap();
    assert_eq!((joined.steps, joined.labelled), (4, 3));
    let npz = NpzFile::open(&out).unwrap();
    let poses = npz.array("poses").unwrap().read_f64(0..4).unwrap();
    let expected = [0.0, 0.0, 0.0, 1.0, 2.0, PI / 4.0, 2.0, 4.0, PI / 2.0];
    assert!(poses.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{poses:?}");
    assert!(poses[9..].iter().all(|part| part.is_nan()));
    assert_eq!(npz.array("observations").unwrap().read_f32(0..4).unwrap(), [1.0, 2.0, 3.0, 3.0]);
    let none = |gap: f64| tum::join(&log, &truth(&text, 0.0).unwrap(), gap, &out, Overwrite::Replace);
    let said = |error: Error| error.to_string();
    assert!(
        said(none(0.1).unwrap_err())
            .contains("the log spans 10.000 to 20.000 s, the trajectory 9.500 to 11.500 s")
    );
    for (text, expected) in [
        ("", "holds no pose"),
        ("1 2 3\n", "line 1: has 3 numbers"),
        ("1 2 3 4 0 0 0 0\n", "line 1: holds a rotation of length 0"),
        ("# x\n1 2 3 a 0 0 0 1\n", "line 2: holds something that is not a finite number"),
    ] {
        assert!(said(truth(text, 0.0).unwrap_err()).contains(expected), "{text}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
