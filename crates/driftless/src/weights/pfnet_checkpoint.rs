//! PF-net's published weights: which tensors its network has, read from a checkpoint of TensorFlow.
//!
//! Names lose the scope `rnn/` and get dots: `observation.l1_conv3.kernel`. Shapes and the order of numbers stay
//! TensorFlow's: kernels are [height, width, inputs, outputs].

use crate::error::{Error, Result};
use crate::parameters::Named;
use burn::tensor::DType;
use driftless_kernels::pfnet::PfnetPlan;
use driftless_world::files::tensor_bundle::{Entry, TensorBundle};
use std::path::{Path, PathBuf};

/// What files of these weights call themselves; see [`super::read`].
pub const KIND: &str = "pfnet";
/// The channels that maps can have: walls; walls and doors; walls and room types; all three.
pub const MAP_CHANNELS: [usize; 4] = [1, 2, 10, 11];
/// The channels that images can have: depth; colours; both.
pub const OBSERVATION_CHANNELS: [usize; 3] = [1, 3, 4];

/// What all names begin with in the checkpoint.
const SCOPE: &str = "rnn/";
const FIRST_OF_MAPS: &str = "map/l1_conv3/kernel";
const FIRST_OF_IMAGES: &str = "observation/l1_conv3/kernel";

/// The network's weights, and what else there was.
#[derive(Clone, Debug)]
pub struct Imported {
    /// All 38 tensors of the network.
    pub tensors: Vec<Named>,
    /// Channels of the maps it was trained on.
    pub map_channels: usize,
    /// Channels of the images it was trained on.
    pub observation_channels: usize,
    /// Names of the checkpoint that are not the network's: an optimiser's memory, counters of steps.
    pub left_out: Vec<String>,
}

/// Names and shapes of the network for maps and images of so many channels, as in [`Imported::tensors`].
pub fn names_and_shapes(map_channels: usize, observation_channels: usize) -> Vec<(String, Vec<usize>)> {
    let plan = PfnetPlan { map_channels, image_channels: observation_channels };
    plan.tensors().into_iter().map(|tensor| (tensor.name, tensor.shape)).collect()
}

/// A tensor's name in the checkpoint, without scope. No name of the network's has a dot of its own.
fn in_checkpoint(name: &str) -> String {
    name.replace('.', "/")
}

/// Reads the checkpoint whose files are `PREFIX.index` and `PREFIX.data-00000-of-00001`. `prefix` may be the
/// name of the index, too. Every tensor of the network must be there, with its shape, and be finite.
pub fn import(prefix: impl AsRef<Path>) -> Result<Imported> {
    let checkpoint = Checkpoint::open(prefix.as_ref())?;
    let map_channels = checkpoint.channels(FIRST_OF_MAPS, &MAP_CHANNELS)?;
    let observation_channels = checkpoint.channels(FIRST_OF_IMAGES, &OBSERVATION_CHANNELS)?;
    let wanted = names_and_shapes(map_channels, observation_channels);
    // All shapes are compared before the first number is read.
    let entries = wanted.iter().map(|(name, shape)| checkpoint.shaped(&in_checkpoint(name), shape));
    let entries = entries.collect::<Result<Vec<_>>>()?;
    let names: Vec<String> = wanted.iter().map(|(name, _)| in_checkpoint(name)).collect();
    let left_out = checkpoint.left_out(&names)?;
    let read = |((name, shape), entry): ((String, Vec<usize>), &Entry)| {
        Ok(Named { name, shape, precision: DType::F32, values: checkpoint.finite(entry)? })
    };
    let tensors = wanted.into_iter().zip(entries).map(read).collect::<Result<Vec<_>>>()?;
    Ok(Imported { tensors, map_channels, observation_channels, left_out })
}

/// An open checkpoint and its name for messages.
struct Checkpoint {
    bundle: TensorBundle,
    index: PathBuf,
}

impl Checkpoint {
    fn open(prefix: &Path) -> Result<Self> {
        let is_index = prefix.extension().is_some_and(|ending| ending == "index");
        let prefix = if is_index { prefix.with_extension("") } else { prefix.to_path_buf() };
        let mut index = prefix.clone().into_os_string();
        index.push(".index");
        Ok(Self { bundle: TensorBundle::open(prefix)?, index: index.into() })
    }

    fn find(&self, name: &str) -> Result<&Entry> {
        let missing = "is missing; the checkpoint is not of PF-net's network";
        self.bundle.find(&format!("{SCOPE}{name}")).ok_or_else(|| self.wrong(name, missing.into()))
    }

    /// The inputs of a kernel, which must be one of these.
    fn channels(&self, name: &str, known: &[usize]) -> Result<usize> {
        let shape = &self.find(name)?.shape;
        let found = shape.get(2).filter(|channels| known.contains(channels));
        found.copied().ok_or_else(|| {
            let problem = format!("has the shape {shape:?}, but the third number must be one of {known:?}");
            self.wrong(name, problem)
        })
    }

    fn shaped(&self, name: &str, shape: &[usize]) -> Result<&Entry> {
        let entry = self.find(name)?;
        if entry.shape != shape {
            let found = &entry.shape;
            let problem = format!("has the shape {found:?}, but PF-net's network wants {shape:?}");
            return Err(self.wrong(name, problem));
        }
        Ok(entry)
    }

    /// Names that are not the network's. One inside the network's scopes that belongs to no known tensor is of
    /// a network that we do not know, whose results would be wrong without it.
    fn left_out(&self, known: &[String]) -> Result<Vec<String>> {
        let mut others = Vec::new();
        for Entry { name, .. } in self.bundle.entries() {
            let within = name.strip_prefix(SCOPE).unwrap_or("");
            if known.iter().any(|known| known == within) {
                continue;
            }
            let of_known = |known: &String| {
                within.strip_prefix(known.as_str()).is_some_and(|rest| rest.starts_with('/'))
            };
            let in_scope = ["joint/", "map/", "observation/"].iter().any(|scope| within.starts_with(scope));
            if in_scope && !known.iter().any(of_known) {
                return Err(
                    self.wrong(within, "is not of PF-net's network; the checkpoint is of another".into())
                );
            }
            others.push(name.clone());
        }
        Ok(others)
    }

    fn finite(&self, entry: &Entry) -> Result<Vec<f64>> {
        let values = self.bundle.read_f32(entry)?;
        match values.iter().position(|value| !value.is_finite()) {
            Some(at) => {
                let name = entry.name.trim_start_matches(SCOPE);
                Err(self.wrong(name, format!("holds {} at {at}; use an older checkpoint", values[at])))
            }
            None => Ok(values.into_iter().map(f64::from).collect()),
        }
    }

    fn wrong(&self, name: &str, problem: String) -> Error {
        Error::Weights { file: self.index.clone(), tensor: Some(format!("{SCOPE}{name}")), problem }
    }
}
