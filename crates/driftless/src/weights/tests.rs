//! Files read back, read by the format's own crate, and damaged in every way.

use super::*;
use crate::parameters::{Init, values};
use burn::module::Param;
use burn::tensor::{DType, Device, Tensor};
use driftless_world::random::Random;
use safetensors::SafeTensors;
use std::fs;

#[derive(Module, Debug)]
struct Layer {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

#[derive(Module, Debug)]
struct Net {
    layers: Vec<Layer>,
    scale: Param<Tensor<1>>,
}

fn net(seed: u64, precision: DType) -> Net {
    let mut init = Init::new(seed, &Device::flex().autodiff(), precision);
    let mut layer =
        |size| Layer { weight: init.truncated_normal([size, 3], 0.5), bias: init.constant([3], 0.1) };
    let layers = vec![layer(2), layer(4)];
    // A parameter of the other precision: 64 bits come first in the file.
    let other = if precision == DType::F64 { DType::F32 } else { DType::F64 };
    Net { layers, scale: Init::new(seed, &Device::flex().autodiff(), other).constant([1], 0.7) }
}

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("driftless-weights-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_was_saved_is_loaded_bit_for_bit() {
    for precision in [DType::F32, DType::F64] {
        let folder = Folder::new(&format!("{precision:?}"));
        let (name, saved) = (folder.0.join("walk.v2"), net(1, precision));
        let config = config::OptimiserConfig { rate: 0.25, ..config::OptimiserConfig::default() };
        save(&name, &saved, &config).unwrap();
        let mut files: Vec<_> =
            fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().file_name()).collect();
        files.sort();
        assert_eq!(files, ["walk.v2.safetensors", "walk.v2.toml"]);
        assert_eq!(load_config::<config::OptimiserConfig>(&name).unwrap(), config);
        for name in ["walk.v2", "walk.v2.safetensors", "walk.v2.toml"] {
            let loaded = load(folder.0.join(name), net(2, precision)).unwrap();
            assert_eq!(values(&loaded), values(&saved));
        }
        let first = fs::read(folder.0.join("walk.v2.safetensors")).unwrap();
        save(&name, &saved, &config).unwrap();
        assert_eq!(fs::read(folder.0.join("walk.v2.safetensors")).unwrap(), first, "the same bytes");
    }
}

/// The crate of the format's authors finds the same names, types, shapes and bytes.
#[test]
fn others_can_read_it() {
    let tensors = values(&net(3, DType::F32));
    let bytes = encode("weights", &tensors).unwrap();
    let theirs = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(theirs.len(), tensors.len());
    for tensor in &tensors {
        let view = theirs.tensor(&tensor.name).unwrap();
        assert_eq!(view.shape(), tensor.shape);
        let expected: Vec<u8> = match tensor.precision {
            DType::F64 => tensor.values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            _ => tensor.values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect(),
        };
        assert_eq!(view.data(), expected, "{}", tensor.name);
    }
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    assert_eq!(metadata.offset_keys()[0], "scale", "64 bits come first, and are aligned");
    let notes = metadata.metadata().as_ref().unwrap();
    assert_eq!(
        (notes["creator"].as_str(), notes["format"].as_str(), notes["kind"].as_str()),
        ("driftless", "1", "weights")
    );
}

/// A file of one tensor with this header and so many zero bytes, as `load` and `read` judge it.
fn judged(folder: &Folder, header: &str, data: usize) -> String {
    let file = folder.0.join("a.safetensors");
    fs::write(&file, [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &vec![0; data]].concat())
        .unwrap();
    let error =
        read(&file, "weights").map_or_else(|error| error.to_string(), |tensors| format!("{tensors:?}"));
    error.replace(&file.display().to_string(), "FILE")
}

#[test]
fn hostile_headers_are_refused() {
    let folder = Folder::new("hostile");
    let judged = |header: &str, data: usize| judged(&folder, header, data);
    let tensor = |name: &str, dtype: &str, shape: &str, offsets: &str| {
        format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}"#)
    };
    let one = tensor("a", "F32", "[2]", "[0,8]");
    assert!(judged(&format!("{{{one}}}"), 8).starts_with("[Named { name: \"a\""), "a file of others is read");
    let cases = [
        (format!("{{{one}}}"), 7, "tensors take 8 bytes, but 7 follow"),
        (format!("{{{one}}}"), 9, "tensors take 8 bytes, but 9 follow"),
        (format!("{{{one},{}}}", tensor("b", "F32", "[2]", "[4,12]")), 12, "invalid offset for tensor `b`"),
        (format!("{{{one},{}}}", tensor("b", "F32", "[2]", "[12,20]")), 20, "invalid offset for tensor `b`"),
        (format!("{{{}}}", tensor("a", "F32", "[2]", "[8,0]")), 8, "invalid offset for tensor `a`"),
        (format!("{{{}}}", tensor("a", "F32", "[3]", "[0,8]")), 8, "invalid shape"),
        (format!("{{{}}}", tensor("a", "F32", "[4294967296,4294967296,4]", "[0,8]")), 8, "overflow"),
        (
            format!("{{{}}}", tensor("a", "F32", "[4611686018427387903]", "[0,18446744073709551612]")),
            8,
            "FILE: ",
        ),
        (
            format!("{{{}}}", tensor("a", "F16", "[4]", "[0,8]")),
            8,
            "tensor a: is F16; only F32 and F64 are read",
        ),
        ("[]".to_owned(), 0, "is not a whole safetensors file"),
        (String::new(), 0, "is not a whole safetensors file"),
        (r#"{"__metadata__":{"creator":"driftless","format":"2"}}"#.to_owned(), 0, "has format \"2\""),
        (
            r#"{"__metadata__":{"creator":"driftless","format":"1","kind":"cake"}}"#.to_owned(),
            0,
            "holds \"cake\"",
        ),
    ];
    for (header, data, message) in cases {
        let found = judged(&header, data);
        assert!(found.starts_with("FILE: ") && found.contains(message), "{found}");
    }
}

#[test]
fn a_header_cannot_claim_more_than_there_is() {
    let folder = Folder::new("claims");
    let file = folder.0.join("b.safetensors");
    fs::write(&file, u64::MAX.to_le_bytes()).unwrap();
    assert!(
        read(&file, "weights").unwrap_err().to_string().contains("its header claims 18446744073709551615")
    );
    assert!(read(folder.0.join("none"), "weights").unwrap_err().to_string().contains("cannot open"));
}

/// Cut anywhere, or with any one byte changed: an error or other numbers, but no panic.
#[test]
fn damage_never_panics() {
    let folder = Folder::new("damage");
    let file = folder.0.join("a.safetensors");
    let whole = encode("weights", &values(&net(3, DType::F32))).unwrap();
    for length in 0..whole.len() {
        fs::write(&file, &whole[..length]).unwrap();
        let error = load(&file, net(1, DType::F32)).unwrap_err().to_string();
        assert!(error.starts_with(&file.display().to_string()), "{error}");
    }
    let mut random = Random::new(1);
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (random.bits() % 8);
        fs::write(&file, &bytes).unwrap();
        if let Ok(model) = load(&file, net(1, DType::F32)) {
            assert!(values(&model).iter().flat_map(|value| &value.values).all(|value| value.is_finite()));
        }
    }
}

#[test]
fn another_models_file_is_refused() {
    let folder = Folder::new("another");
    let file = folder.0.join("a.safetensors");
    let right = values(&net(1, DType::F32));
    let judged = |tensors: &[Named]| {
        write(&file, "weights", tensors).unwrap();
        let error = load(&file, net(2, DType::F32)).unwrap_err().to_string();
        error.replace(&file.display().to_string(), "FILE")
    };
    assert_eq!(judged(&right[1..]), "FILE: tensor layers.0.weight: is missing; the file is of another model");
    let mut wrong = right.clone();
    wrong.push(Named { name: "more".to_owned(), ..right[1].clone() });
    assert_eq!(judged(&wrong), "FILE: tensor more: is no parameter of the model; the file is of another one");
    let mut wrong = right.clone();
    wrong[0].shape = vec![3, 2];
    let message =
        "has the shape [3, 2], but the model wants [2, 3]; build the model with the configuration beside it";
    assert_eq!(judged(&wrong), format!("FILE: tensor layers.0.weight: {message}"));
    let mut wrong = right.clone();
    wrong[0].precision = DType::F64;
    let message = "is F64, but the model is F32; build it in that precision";
    assert_eq!(judged(&wrong), format!("FILE: tensor layers.0.weight: {message}"));
    write(&file, "optimiser", &right).unwrap();
    let error = load(&file, net(2, DType::F32)).unwrap_err().to_string();
    assert!(error.ends_with("holds \"optimiser\", but \"weights\" is wanted; name another file"), "{error}");
}

#[test]
fn what_is_not_finite_is_neither_written_nor_read() {
    let folder = Folder::new("nan");
    let file = folder.0.join("a.safetensors");
    let mut wrong = values(&net(1, DType::F32));
    wrong[1].values[2] = f64::NAN;
    let error = write(&file, "weights", &wrong).unwrap_err().to_string();
    assert!(error.ends_with("tensor layers.0.bias: holds NaN; such weights are not written"), "{error}");
    assert!(!file.exists());
    let mut bytes = encode("weights", &values(&net(1, DType::F32))).unwrap();
    let last = bytes.len() - 4;
    bytes[last..].copy_from_slice(&f32::INFINITY.to_le_bytes());
    fs::write(&file, bytes).unwrap();
    let error = load(&file, net(1, DType::F32)).unwrap_err().to_string();
    assert!(error.ends_with("tensor layers.1.bias: holds inf at 2; use an older file"), "{error}");
}

#[test]
fn wrong_texts_name_the_file() {
    let folder = Folder::new("text");
    let file = folder.0.join("a.toml");
    fs::write(&file, "rate = 1\nruel = 2").unwrap();
    let error = load_config::<config::OptimiserConfig>(&file).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}: line 2: unknown field `ruel`", file.display())), "{error}");
    fs::write(&file, [0xff, 0xfe]).unwrap();
    let error = load_config::<config::OptimiserConfig>(&file).unwrap_err().to_string();
    assert!(error.ends_with("is not text in UTF-8"), "{error}");
}

/// An optimiser's memory survives a file, too.
#[test]
fn state_of_an_optimiser() {
    let folder = Folder::new("state");
    let file = folder.0.join("state.safetensors");
    let model = net(1, DType::F64);
    let loss = model.layers[0].weight.val().square().sum();
    let mut optimiser = config::OptimiserConfig::default().build(1).unwrap();
    optimiser.step(model, &loss);
    write(&file, "optimiser", &optimiser.state()).unwrap();
    let again =
        config::OptimiserConfig::default().build(1).unwrap().with_state(&read(&file, "optimiser").unwrap());
    assert_eq!(again.state(), optimiser.state());
}
