//! Files read back, read by the format's own crate, and compared with the model.

mod damaged;

use super::*;
use crate::optimise::{Adam, Optimiser, Rule};
use crate::parameters::{Init, values};
use burn::module::Param;
use burn::tensor::{DType, Device, Tensor};
use safetensors::SafeTensors;
use std::fs;
use std::path::PathBuf;

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
        let (file, saved) = (folder.0.join("walk.v2.safetensors"), net(1, precision));
        save(&file, &saved).unwrap();
        assert_eq!(values(&load(&file, net(2, precision)).unwrap()), values(&saved));
        let first = fs::read(&file).unwrap();
        save(&file, &saved).unwrap();
        assert_eq!(fs::read(&file).unwrap(), first, "the same bytes");
    }
}

/// The crate of the format's authors finds the same names, types, shapes and bytes.
#[test]
fn others_can_read_it() {
    let tensors = values(&net(3, DType::F32));
    let bytes = encode("weights", &[], &tensors).unwrap();
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
        ("driftless", "2", "weights")
    );
}

#[test]
fn another_models_file_is_refused() {
    let folder = Folder::new("another");
    let file = folder.0.join("a.safetensors");
    let right = values(&net(1, DType::F32));
    let evaluated = |tensors: &[Named]| {
        write(&file, "weights", tensors).unwrap();
        let error = load(&file, net(2, DType::F32)).unwrap_err().to_string();
        error.replace(&file.display().to_string(), "FILE")
    };
    assert_eq!(
        evaluated(&right[1..]),
        "FILE: tensor layers.0.weight: is missing; the file is of another model"
    );
    let mut wrong = right.clone();
    wrong.push(Named { name: "more".to_owned(), ..right[1].clone() });
    assert_eq!(
        evaluated(&wrong),
        "FILE: tensor more: is no parameter of the model; the file is of another one"
    );
    let mut wrong = right.clone();
    wrong[0].shape = vec![3, 2];
    let message =
        "has the shape [3, 2], but the model wants [2, 3]; build the model as it was when it was saved";
    assert_eq!(evaluated(&wrong), format!("FILE: tensor layers.0.weight: {message}"));
    let mut wrong = right.clone();
    wrong[0].precision = DType::F64;
    let message = "is F64, but the model is F32; build it in that precision";
    assert_eq!(evaluated(&wrong), format!("FILE: tensor layers.0.weight: {message}"));
    write(&file, "optimiser", &right).unwrap();
    let error = load(&file, net(2, DType::F32)).unwrap_err().to_string();
    assert!(error.ends_with("holds \"optimiser\", but \"weights\" is wanted; name another file"), "{error}");
}

/// An optimiser's memory survives a file, too.
#[test]
fn state_of_an_optimiser() {
    let folder = Folder::new("state");
    let file = folder.0.join("state.safetensors");
    let model = net(1, DType::F64);
    let loss = model.layers[0].weight.val().square().sum();
    let fresh = || Optimiser::new(Rule::Adam(Adam::default()), 0.1);
    let mut optimiser = fresh();
    optimiser.step(model, &loss);
    write(&file, "optimiser", &optimiser.state()).unwrap();
    let again = fresh().with_state(&read(&file, "optimiser").unwrap());
    assert_eq!(again.state(), optimiser.state());
}
