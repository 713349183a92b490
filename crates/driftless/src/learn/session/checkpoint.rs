//! `checkpoint.safetensors`: all that a method needs to go on, and after which epoch.

use crate::error::Result;
use crate::learn::Method;
use crate::parameters::Named;
use crate::weights;
use burn::tensor::DType;
use driftless_kernels::ranks::{Message, Wire};
use std::path::Path;

/// What such files call themselves.
const KIND: &str = "checkpoint";
const EPOCH: &str = "epoch";
const SETTINGS: &str = "settings";
const PARAMETERS: &str = "parameters/";
const MEMORY: &str = "memory/";

/// The state of training after an epoch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// Epochs done.
    pub epoch: u64,
    /// What the method's parameters were.
    pub parameters: Vec<Named>,
    /// What else it remembered.
    pub memory: Vec<Named>,
    /// The text of the settings it was trained with; nothing if the file does not say.
    pub settings: Option<String>,
}

impl Checkpoint {
    /// Writes a file, replacing an older one once the new one is complete.
    pub fn write(&self, path: &Path) -> Result<()> {
        let epoch = Named {
            name: EPOCH.to_owned(),
            shape: vec![1],
            precision: DType::F64,
            values: vec![self.epoch as f64],
        };
        let under = |prefix: &str, tensor: &Named| Named {
            name: format!("{prefix}{}", tensor.name),
            ..tensor.clone()
        };
        let parameters = self.parameters.iter().map(|tensor| under(PARAMETERS, tensor));
        let memory = self.memory.iter().map(|tensor| under(MEMORY, tensor));
        let all: Vec<Named> = std::iter::once(epoch).chain(parameters).chain(memory).collect();
        weights::write_noted(path, KIND, (SETTINGS, self.settings.as_deref().unwrap_or_default()), &all)
    }

    /// Reads what [`Checkpoint::write`] wrote; tensors may come in another order.
    pub fn read(path: &Path) -> Result<Self> {
        let (all, settings) = weights::read_noted(path, KIND, SETTINGS)?;
        let of = |prefix: &str| {
            let tensor = |tensor: &Named| {
                let name = tensor.name.strip_prefix(prefix)?.to_owned();
                Some(Named { name, ..tensor.clone() })
            };
            all.iter().filter_map(tensor).collect()
        };
        let epoch = all.iter().find(|tensor| tensor.name == EPOCH).and_then(|tensor| tensor.values.first());
        let wrong = || driftless_world::Error::new("does not say its epoch").in_file(path);
        let epoch = *epoch.filter(|epoch| **epoch >= 1.0).ok_or_else(wrong)? as u64;
        Ok(Self { epoch, parameters: of(PARAMETERS), memory: of(MEMORY), settings })
    }

    /// Gives a method back what it was, all of it: what it does not take, or misses, would be made up silently.
    pub fn restore(&self, method: &mut dyn Method) -> Result<()> {
        method.restore(&self.parameters, Some(&self.memory))?;
        let sorted = |mut tensors: Vec<Named>| {
            tensors.sort_by(|a, b| a.name.cmp(&b.name));
            tensors
        };
        for (given, taken) in [(&self.parameters, method.parameters()), (&self.memory, method.memory())] {
            let (given, taken) = (sorted(given.clone()), sorted(taken));
            let differs = |k: &usize| given.get(*k) != taken.get(*k);
            if let Some(at) = (0..given.len().max(taken.len())).find(differs) {
                let name = given.get(at).or(taken.get(at)).map_or("", |tensor| &tensor.name);
                let problem = format!(
                    "is not complete: {name}, or what belongs to it, is missing or of another method"
                );
                return Err(super::problem(problem));
            }
        }
        Ok(())
    }
}

impl Message for Checkpoint {
    fn pass(&mut self, wire: &mut Wire) {
        self.epoch.pass(wire);
        self.settings.pass(wire);
        for tensors in [&mut self.parameters, &mut self.memory] {
            let mut plain: Vec<Plain> = tensors.drain(..).map(plain).collect();
            plain.pass(wire);
            *tensors = plain.into_iter().map(named).collect();
        }
    }
}

/// A tensor's name and shape, whether it has 64 bits, and its values.
type Plain = ((String, Vec<usize>), (bool, Vec<f64>));

fn plain(tensor: Named) -> Plain {
    ((tensor.name, tensor.shape), (tensor.precision == DType::F64, tensor.values))
}

fn named(((name, shape), (double, values)): Plain) -> Named {
    Named { name, shape, precision: if double { DType::F64 } else { DType::F32 }, values }
}
