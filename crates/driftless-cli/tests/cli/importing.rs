//! Weights of others and robots' recordings as a script takes them over: files, messages and exit codes.

use crate::bag_bytes::{START, circle};
use crate::bundle_bytes::{Tensor, USUAL, checkpoint};
use crate::terminal::{Folder, read, run};
use driftless::weights::pfnet_checkpoint::names_and_shapes;
use driftless_world::Dataset;
use driftless_world::files::DataFile;
use driftless_world::files::log::LogFile;

/// A checkpoint with room types and depth whose every number is 0.5; gives its prefix.
fn made(folder: &Folder, change: fn(&mut Vec<Tensor>)) -> String {
    let tensor = |(name, shape): (String, Vec<usize>)| {
        let shape: Vec<u64> = shape.into_iter().map(|side| side as u64).collect();
        let values = vec![0.5; shape.iter().product::<u64>() as usize];
        Tensor::floats(&format!("rnn/{}", name.replace('.', "/")), &shape, &values)
    };
    let mut tensors: Vec<Tensor> = names_and_shapes(10, 1).into_iter().map(tensor).collect();
    change(&mut tensors);
    let (index, shards) = checkpoint(&tensors, USUAL);
    std::fs::write(folder.path("own.chk.index"), index).unwrap();
    std::fs::write(folder.path("own.chk.data-00000-of-00001"), &shards[0]).unwrap();
    folder.path("own.chk")
}

#[test]
fn weights_are_imported_listed_and_never_overwritten_unasked() {
    let folder = Folder::new("import");
    let steps = |all: &mut Vec<Tensor>| all.insert(0, Tensor::floats("global_step", &[], &[7.0]));
    let (prefix, out) = (made(&folder, steps), folder.path("w.safetensors"));
    let (text, _) = run(0, &["import", "pfnet-checkpoint", &prefix, "--out", &out]);
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    let cells = |line: String| line.split("  ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let kept: Vec<String> =
        cells(row("map.l1_conv7.kernel")).into_iter().filter(|cell| !cell.is_empty()).collect();
    // 7·7·10·8 = 3920 halves: their sum is 1960, the root of their squares' sum √980.
    assert_eq!(kept, ["map.l1_conv7.kernel", "[7, 7, 10, 8]", "1960.000000", "31.304952"]);
    assert!(
        row(&out).contains("38 tensors") && row(&out).contains("maps of 10 channels, images of 1 channel")
    );
    assert!(text.ends_with("1 of the checkpoint's other tensors left out: global_step\n"), "{text}");
    let first = read(&out);
    let (_, error) = run(1, &["import", "pfnet-checkpoint", &prefix, "--out", &out]);
    assert!(error.contains("w.safetensors: already exists; use --force"), "{error}");
    let index = format!("{prefix}.index");
    run(0, &["import", "pfnet-checkpoint", &index, "--out", &out, "--force"]);
    assert!(read(&out) == first, "the same checkpoint gives the same bytes");
}

#[test]
fn what_is_wrong_is_said_and_leaves_nothing_behind() {
    let folder = Folder::new("import-wrong");
    let (_, help) = (run(2, &["import"]), run(0, &["import", "pfnet-checkpoint", "--help"]).0);
    assert!(help.contains("Examples:") && help.contains("PREFIX.index"), "{help}");
    let prefix = made(&folder, |all| all.retain(|tensor| tensor.name != "rnn/joint/fc1/bias"));
    let out = folder.path("w.safetensors");
    run(2, &["import", "pfnet-checkpoint", &prefix]);
    let (_, error) = run(1, &["import", "pfnet-checkpoint", &prefix, "-o", &out]);
    assert!(error.contains("own.chk.index: tensor rnn/joint/fc1/bias: is missing"), "{error}");
    let prefix = made(&folder, |_| ());
    let data = format!("{prefix}.data-00000-of-00001");
    let mut bytes = read(&data);
    bytes[1000] ^= 16;
    std::fs::write(&data, bytes).unwrap();
    let (_, error) = run(1, &["import", "pfnet-checkpoint", &prefix, "-o", &out]);
    assert!(error.contains("field rnn/joint/fc1/kernel: damaged"), "{error}");
    let (_, error) = run(1, &["import", "pfnet-checkpoint", &folder.path("none"), "-o", &out]);
    assert!(error.contains("none.index: cannot open") && error.lines().count() == 1, "{error}");
    assert_eq!(folder.names(), ["own.chk.data-00000-of-00001", "own.chk.index"]);
}

fn a_bag(folder: &Folder) -> String {
    let path = folder.path("drive.mcap");
    std::fs::write(&path, circle(true, None, 20).finish()).unwrap();
    path
}

#[test]
fn a_bag_is_listed_and_becomes_two_logs() {
    let folder = Folder::new("import-bag");
    let (bag, out, test) = (a_bag(&folder), folder.path("drive.npz"), folder.path("unseen.npz"));
    let (text, _) = run(0, &["import", "mcap", &bag, "--list"]);
    assert!(text.starts_with("4 topics, 1603 messages, 20.0 s\n"), "{text}");
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    let cells: Vec<String> = row("/scan").split_whitespace().map(str::to_owned).collect();
    assert_eq!(
        cells,
        ["/scan", "sensor_msgs/msg/LaserScan", "cdr", "200", "10.0", "Hz", "19.9", "s", "laser"]
    );
    assert!(row("tf:base_link->laser").contains("fixed"), "{text}");
    let (text, _) = run(0, &["import", "mcap", &bag, "--rate", "2", "-o", &out, "--test", &test]);
    for line in
        ["took scans from /scan", "took odometry from /odom", "took poses from /truth", "the last 8 steps"]
    {
        assert!(text.contains(line), "{text}");
    }
    let (log, rest) = (LogFile::open(&out).unwrap(), LogFile::open(&test).unwrap());
    assert_eq!((log.get(0).unwrap().len(), rest.get(0).unwrap().len()), (32, 8));
    assert_eq!(log.beam_angles().unwrap().len(), 36);
    assert!(log.comment().contains("taken scans from /scan (sensor_msgs/msg/LaserScan, 200 messages)"));
    let times = log.get(0).unwrap().times.unwrap();
    assert!((times[0] - START - 0.03).abs() < 1e-6, "the recording's own clock");
    let first = read(&out);
    let (_, error) = run(1, &["import", "mcap", &bag, "--rate", "2", "-o", &out]);
    assert!(error.contains("drive.npz: already exists; use --force"), "{error}");
    run(0, &["import", "mcap", &bag, "--rate", "2", "-o", &out, "--test", &test, "--force"]);
    assert!(read(&out) == first, "the same bag gives the same bytes");
}

#[test]
fn what_is_wrong_with_a_recording_is_said() {
    let folder = Folder::new("import-bag-wrong");
    let (bag, out) = (a_bag(&folder), folder.path("drive.npz"));
    let wrong = |code: i32, options: &[&str]| {
        let (_, error) = run(code, &[&["import", "mcap", &bag], options].concat());
        assert_eq!(error.lines().count(), 1, "{error}");
        error
    };
    assert!(wrong(2, &[]).contains("--out is needed"));
    assert!(
        wrong(2, &["-o", &out, "--rate", "0"]).contains("--rate, --max-gap and --max-pause must be above 0")
    );
    assert!(wrong(2, &["-o", &out, "--test", &out]).contains("must be two files"));
    let error = wrong(1, &["-o", &out, "--scan", "/sacn"]);
    assert!(
        error.contains("drive.mcap: field --scan: there is no topic /sacn (did you mean /scan?)"),
        "{error}"
    );
    let error = wrong(1, &["-o", &out, "--pose", "tf:map->base_link"]);
    assert!(error.contains("no transforms lead from map to base_link"), "{error}");
    run(2, &["import", "mcap", &bag, "-o", &out, "--pose", "tf:map"]);
    run(2, &["import", "mcap", &bag, "-o", &out, "--mount", "1,2"]);
    std::fs::write(folder.path("x.txt"), "hello").unwrap();
    let (_, error) = run(1, &["import", "mcap", &folder.path("x.txt"), "--list"]);
    assert!(error.contains("x.txt: is not an MCAP file"), "{error}");
    let (_, error) = run(1, &["import", "carmen", &folder.path("x.txt"), "-o", &out]);
    assert!(error.contains("x.txt: holds no FLASER or ROBOTLASER1 line"), "{error}");
    let (_, error) = run(1, &["import", "csv", &folder.path("x.txt"), "--column", "x=a", "-o", &out]);
    assert!(error.contains("x.txt: line 1: field x: no column is called a; there are hello"), "{error}");
    let (_, error) = run(1, &["import", "tum", &folder.path("x.txt"), "--log", &out, "-o", &out]);
    assert!(error.contains("x.txt: line 1: holds something that is not a finite number"), "{error}");
    assert_eq!(folder.names(), ["drive.mcap", "x.txt"], "nothing is left behind");
}

/// A table, and a trajectory that labels it.
#[test]
fn a_table_becomes_a_log_and_gets_its_truth() {
    let folder = Folder::new("import-table");
    let (table, log, truth, out) =
        (folder.path("t.csv"), folder.path("log.npz"), folder.path("truth.txt"), folder.path("out.npz"));
    std::fs::write(&table, "t,v,w,r0,r1,r2\n0,0,0,1000,2000,3000\n1,500,90,1000,,3000\n").unwrap();
    let columns = ["-c", "time=t", "-c", "forward=v", "-c", "turn=w", "-c", "scan=r*"];
    let units = ["--degrees", "--millimetres", "--beams-from=-90", "--beams-to=90", "-o", &log];
    let (text, _) = run(0, &[&["import", "csv", &table], &columns[..], &units[..]].concat());
    assert!(text.contains("2 steps in 1 episodes, 0.0 % of the steps labelled, 0.5 m by odometry"), "{text}");
    std::fs::write(&truth, "0 1 2 0 0 0 0 1\n1 3 4 0 0 0 1 1\n").unwrap();
    let (text, _) = run(0, &["import", "tum", &truth, "--log", &log, "-o", &out]);
    assert!(text.contains("2 of 2 steps labelled (100.0 %)"), "{text}");
    let episode = LogFile::open(&out).unwrap().get(0).unwrap();
    let state = episode.states.get(1).unwrap();
    assert!((state[2] - std::f32::consts::FRAC_PI_2).abs() < 1e-6 && state[..2] == [3.0, 4.0]);
    assert_eq!(episode.actions.row(1)[0], 0.5);
    let (text, _) = run(0, &[&["import", "csv", &table], &columns[..], &["-f", "-o", &log]].concat());
    assert!(text.contains("are these millimetres") && text.contains("is that degrees?"), "{text}");
}
