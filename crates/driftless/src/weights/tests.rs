//! Files read back, read by the format's own crate, and compared with the model.

mod damaged;

use super::*;
use crate::parameters::{Init, values};
use burn::module::Param;
use burn::tensor::{DType, Device, Tensor};
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

/// A run that stops after the new configuration and before the new weights: the pair is refused, until
/// the text is as it was (its line ends may differ) or gone.
#[test]
fn a_torn_pair_is_noticed() {
    let folder = Folder::new("torn");
    let (name, text) = (folder.0.join("walk"), folder.0.join("walk.toml"));
    let config = |rate| config::OptimiserConfig { rate, ..config::OptimiserConfig::default() };
    save(&name, &net(1, DType::F32), &config(0.5)).unwrap();
    let old = fs::read_to_string(&text).unwrap();
    save(&name, &net(1, DType::F32), &config(0.25)).unwrap();
    let new = fs::read_to_string(&text).unwrap();
    let loaded = |text_now: &str| {
        fs::write(&text, text_now).unwrap();
        load(&name, net(2, DType::F32)).map(|model| values(&model)).map_err(|error| error.to_string())
    };
    let error = loaded(&old).unwrap_err();
    let problem = "was not saved with the configuration in walk.toml; restore or remove that file";
    assert_eq!(error, format!("{}: {problem}", folder.0.join("walk.safetensors").display()));
    assert_eq!(loaded(&new).unwrap(), values(&net(1, DType::F32)));
    assert_eq!(loaded(&new.replace('\n', "\r\n")).unwrap(), values(&net(1, DType::F32)));
    fs::remove_file(&text).unwrap();
    assert_eq!(values(&load(&name, net(2, DType::F32)).unwrap()), values(&net(1, DType::F32)));
}

/// Golden numbers of the authors of FNV.
#[test]
fn checksums() {
    assert_eq!(checksum(""), "cbf29ce484222325");
    assert_eq!(checksum("a"), "af63dc4c8601ec8c");
    assert_eq!(checksum("foobar"), "85944171f73967e8");
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
