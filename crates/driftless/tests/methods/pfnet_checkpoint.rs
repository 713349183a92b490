//! PF-net's checkpoint: made up byte by byte in its exact layout, and the published one where it is at hand.

use crate::bundle_bytes::{Tensor, USUAL, checkpoint, varint};
use crate::published;
use driftless::parameters::Named;
use driftless::weights::pfnet_checkpoint::{
    Imported, KIND, MAP_CHANNELS, OBSERVATION_CHANNELS, import, names_and_shapes,
};
use driftless::weights::{read, write_carefully};
use driftless_kernels::Cpu;
use driftless_kernels::pfnet::{PfnetMemory, PfnetNet, PfnetPlan};
use driftless_world::files::Overwrite;
use driftless_world::files::tensor_bundle::TensorBundle;
use std::path::PathBuf;

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("driftless-pfnet-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Puts a checkpoint there and gives its prefix.
    fn put(&self, tensors: &[Tensor]) -> PathBuf {
        let (prefix, (index, shards)) = (self.0.join("model.chk"), checkpoint(tensors, USUAL));
        std::fs::write(self.0.join("model.chk.index"), index).unwrap();
        std::fs::write(self.0.join("model.chk.data-00000-of-00001"), &shards[0]).unwrap();
        prefix
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The published names and shapes for these channels, with numbers that tell every place.
fn network(map_channels: u64, image_channels: u64) -> Vec<Tensor> {
    let tensor = |(number, &(name, shape, ..)): (usize, &published::Row)| {
        let mut shape = shape.to_vec();
        if name.contains("/l1_conv") && name.ends_with("kernel") && !name.starts_with("joint") {
            shape[2] = if name.starts_with("map") { map_channels } else { image_channels };
        }
        let count = shape.iter().product::<u64>();
        let values: Vec<f32> = (0..count).map(|i| number as f32 + i as f32 / 1e6).collect();
        Tensor::floats(&format!("rnn/{name}"), &shape, &values)
    };
    published::ROWS.iter().enumerate().map(tensor).collect()
}

fn floats(tensor: &Tensor) -> Vec<f64> {
    tensor.data.chunks(4).map(|four| f64::from(f32::from_le_bytes(four.try_into().unwrap()))).collect()
}

#[test]
fn the_published_layout_is_read_to_the_byte() {
    let (folder, made) = (Folder::new("layout"), network(1, 3));
    let prefix = folder.put(&made);
    let index = std::fs::read(folder.0.join("model.chk.index")).unwrap();
    // The published file has these sizes, so what was made up has its layout.
    let bytes = std::fs::metadata(folder.0.join("model.chk.data-00000-of-00001")).unwrap().len();
    assert_eq!((index.len(), bytes), published::SIZES);
    let footer: Vec<u8> =
        published::PLACES.iter().flat_map(|&(at, size)| [varint(at), varint(size)].concat()).collect();
    assert_eq!(index[index.len() - 48..][..footer.len()], footer);
    let bundle = TensorBundle::open(&prefix).unwrap();
    let places: Vec<(&str, u64)> =
        bundle.entries().iter().map(|entry| (&entry.name[4..], entry.offset)).collect();
    assert_eq!(places, published::ROWS.map(|(name, _, offset, ..)| (name, offset)));
    for name in [prefix.clone(), folder.0.join("model.chk.index")] {
        let imported = import(name).unwrap();
        assert_eq!((imported.map_channels, imported.observation_channels), (1, 3));
        assert!(imported.left_out.is_empty());
        compare(&imported, &made);
    }
    let file = folder.0.join("weights.safetensors");
    let imported = import(&prefix).unwrap();
    write_carefully(&file, KIND, &imported.tensors, Overwrite::Refuse).unwrap();
    let mut back = read(&file, KIND).unwrap();
    back.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(back == sorted(imported.tensors.clone()), "what is written is read");
    let error = write_carefully(&file, KIND, &imported.tensors, Overwrite::Refuse).unwrap_err();
    assert!(error.to_string().contains("already exists"), "{error}");
    assert!(read(&file, "weights").unwrap_err().to_string().contains("holds \"pfnet\""));
}

fn sorted(mut tensors: Vec<Named>) -> Vec<Named> {
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    tensors
}

fn compare(imported: &Imported, made: &[Tensor]) {
    let expected = names_and_shapes(imported.map_channels, imported.observation_channels);
    assert_eq!((imported.tensors.len(), expected.len()), (38, 38));
    for ((found, tensor), expected) in imported.tensors.iter().zip(made).zip(expected) {
        let shape: Vec<usize> = tensor.shape.iter().map(|&side| side as usize).collect();
        assert_eq!(found.name, tensor.name["rnn/".len()..].replace('/', "."));
        assert_eq!((&found.name, &found.shape), (&expected.0, &shape));
        assert_eq!(expected.1, shape, "{}", found.name);
        assert!(found.values == floats(tensor), "{}", found.name);
    }
}

#[test]
fn other_channels_are_known_and_an_optimisers_memory_is_left_out() {
    let folder = Folder::new("channels");
    for (maps, images) in MAP_CHANNELS.into_iter().zip([1, 3, 4, 1]) {
        assert!(OBSERVATION_CHANNELS.contains(&images));
        let mut made = network(maps as u64, images as u64);
        let network = made.clone();
        let memory = Tensor { name: "rnn/map/l1_conv3/kernel/RMSProp".into(), ..made[11].clone() };
        let hidden = Tensor::floats("rnn/hidden_state", &[2], &[1.0, 2.0]);
        let steps = Tensor { name: "global_step".into(), kind: 9, shape: vec![], data: vec![7; 8] };
        made.extend([memory, hidden, steps]);
        made.sort_by(|a, b| a.name.cmp(&b.name));
        let imported = import(folder.put(&made)).unwrap();
        assert_eq!((imported.map_channels, imported.observation_channels), (maps, images));
        assert_eq!(imported.left_out, ["global_step", "rnn/hidden_state", "rnn/map/l1_conv3/kernel/RMSProp"]);
        compare(&imported, &network);
    }
}

fn find<'a>(tensors: &'a mut [Tensor], name: &str) -> &'a mut Tensor {
    tensors.iter_mut().find(|tensor| tensor.name == name).unwrap()
}

/// What is changed in a checkpoint, the tensor to be named, and what is to be said of it.
type Case = (fn(&mut Vec<Tensor>), &'static str, &'static str);

const BIAS: &str = "rnn/map/l2_conv3/bias";
const KERNEL: &str = "rnn/observation/l1_conv5_d4/kernel";
const STRANGER: &str = "rnn/observation/l3_conv3/bias";

const CASES: [Case; 8] = [
    (|all| all.retain(|tensor| tensor.name != BIAS), BIAS, "is missing"),
    (|all| find(all, BIAS).shape = vec![2, 2], BIAS, "shape [2, 2], but PF-net's network wants [4]"),
    (|all| *find(all, KERNEL) = network(1, 4)[35].clone(), KERNEL, "wants [5, 5, 3, 64]"),
    (|all| *all = network(3, 3), "rnn/map/l1_conv3/kernel", "[3, 3, 3, 24], but the third number must be"),
    (|all| *all = network(1, 2), "rnn/observation/l1_conv3/kernel", "one of [1, 3, 4]"),
    (|all| all.push(Tensor::floats(STRANGER, &[1], &[0.0])), STRANGER, "is not of PF-net's network"),
    (|all| find(all, BIAS).data[8..12].copy_from_slice(&f32::NAN.to_le_bytes()), BIAS, "holds NaN at 2"),
    (|all| find(all, BIAS).kind = 3, BIAS, "holds int32, but float32 is wanted"),
];

#[test]
fn other_networks_are_refused_by_name() {
    let folder = Folder::new("others");
    for (change, tensor, problem) in CASES {
        let mut made = network(1, 3);
        change(&mut made);
        let error = import(folder.put(&made)).unwrap_err().to_string();
        assert!(error.contains("model.chk.") && error.contains(tensor) && error.contains(problem), "{error}");
    }
}

/// The published sums and lengths are printed with six digits after the point; the numbers themselves are
/// the same, so half a unit of the last digit is the only difference beside the 1e-4 asked for.
#[test]
fn the_published_checkpoint_has_the_published_sums() {
    let Some(prefix) = std::env::var_os("DRIFTLESS_PFNET_CHECKPOINT") else {
        eprintln!(
            "SKIPPED: PF-net's weights; set DRIFTLESS_PFNET_CHECKPOINT to the prefix of its checkpoint"
        );
        return;
    };
    let imported = import(prefix).unwrap();
    for (found, (name, _, _, sum, norm)) in imported.tensors.iter().zip(published::ROWS) {
        let of = |power| found.values.iter().map(|value: &f64| value.powi(power)).sum::<f64>();
        let near = |found: f64, expected: f64| (found - expected).abs() <= 1e-4 * expected.abs() + 5e-7;
        assert_eq!(found.name, name.replace('/', "."));
        assert!(near(of(1), sum), "{name}: sum {} instead of {sum}", of(1));
        assert!(near(of(2).sqrt(), norm), "{name}: length {} instead of {norm}", of(2).sqrt());
    }
    its_network_gives_the_recorded_numbers(&imported);
}

/// Two views and one image by formula; outputs of an independent pass in 64 bits. Features sum up to a thousand, in f32.
fn its_network_gives_the_recorded_numbers(imported: &Imported) {
    let single = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let tensors: Vec<(String, Vec<f32>)> =
        imported.tensors.iter().map(|tensor| (tensor.name.clone(), single(&tensor.values))).collect();
    let mut net = PfnetNet::new(PfnetPlan { map_channels: 1, image_channels: 3 });
    net.set(|name| tensors.iter().find(|(own, _)| own == name).map(|(_, values)| values.as_slice()));
    let pixel = |k: usize| (0.1 * (k / 168) as f64 + 0.2 * (k / 3 % 56) as f64 + (k % 3) as f64).sin() as f32;
    let image: Vec<f32> = (0..56 * 56 * 3).map(pixel).collect();
    let checkerboard = |k: usize| if (k / 28 / 4 + k % 28 / 4).is_multiple_of(2) { 1.0 } else { -1.0 };
    let half = |k: usize| if k / 28 < 14 { 1.0 } else { -1.0 };
    let views: Vec<f32> = (0..784).map(checkerboard).chain((0..784).map(half)).collect();
    let (mut memory, mut found) = (PfnetMemory::default(), [0.0; 2]);
    net.see(Cpu::best(), &image, 2, false, &mut memory);
    net.weigh(Cpu::best(), 0, &views, &mut memory, &mut found);
    for (found, expected) in found.iter().zip([1.871_469_27, 1.486_234_41]) {
        assert!((f64::from(*found) - expected).abs() < 1e-4, "{found} instead of {expected}");
    }
}
