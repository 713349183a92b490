//! Weights of others as a script takes them over: files, messages and exit codes.

#[path = "../../driftless-world/tests/bundle_bytes/mod.rs"]
mod bundle_bytes;
mod terminal;

use bundle_bytes::{Tensor, USUAL, checkpoint};
use driftless::weights::pfnet_checkpoint::names_and_shapes;
use terminal::{Folder, read, run};

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
