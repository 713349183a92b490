//! Files of parameters: safetensors.
//!
//! Tensors are called as in [`crate::parameters`] and keep their precision, so any reader of
//! safetensors can use them. A file is written whole or not at all, and read with suspicion: every
//! size is compared with the file's before memory is taken, and every tensor with the model.

mod format;
pub mod pfnet_checkpoint;

use crate::error::Result;
use crate::parameters::{self, Named};
use burn::module::Module;
use driftless_world::files::{NewFile, Overwrite};
use format::{Opened, encode};
use std::io::Write;
use std::path::Path;

/// What files of a model's parameters call themselves.
pub(crate) const WEIGHTS: &str = "weights";

/// Writes the parameters of a model, replacing an older file.
///
/// ```
/// use burn::module::{Module, Param};
/// use burn::tensor::{DType, Device, Tensor};
/// use driftless::parameters::{Init, values};
/// use driftless::weights::{load, save};
///
/// #[derive(Module, Debug)]
/// struct Line {
///     slope: Param<Tensor<1>>,
/// }
///
/// let line = |slope| Line { slope: Init::new(1, &Device::flex(), DType::F32).constant([1], slope) };
/// let file = std::env::temp_dir().join(format!("driftless-doc-{}.safetensors", std::process::id()));
/// save(&file, &line(0.5))?;
/// assert_eq!(values(&load(&file, line(0.0))?)[0].values, [0.5]);
/// # std::fs::remove_file(file).unwrap();
/// # Ok::<(), driftless::Error>(())
/// ```
pub fn save<M: Module>(path: impl AsRef<Path>, model: &M) -> Result<()> {
    write(path, WEIGHTS, &parameters::values(model))
}

/// The model with the parameters of a file. Every parameter must be there, with its shape and precision, and nothing
/// else.
pub fn load<M: Module>(path: impl AsRef<Path>, model: M) -> Result<M> {
    let file = path.as_ref();
    let opened = Opened::new(file, WEIGHTS)?;
    opened.compare(&parameters::values(&model)).map_err(|wrong| wrong.in_file(file))?;
    Ok(parameters::with_values(model, &opened.read_all(file)?))
}

/// Writes any named tensors, for instance [`crate::optimise::Optimiser::state`], as a file of this
/// `kind`, replacing an older one.
pub fn write(path: impl AsRef<Path>, kind: &str, tensors: &[Named]) -> Result<()> {
    write_carefully(path, kind, tensors, Overwrite::Replace)
}

/// The same, but an older file is replaced only if that is wanted.
pub fn write_carefully(
    path: impl AsRef<Path>,
    kind: &str,
    tensors: &[Named],
    overwrite: Overwrite,
) -> Result<()> {
    let bytes = encode(kind, &[], tensors).map_err(|wrong| wrong.in_file(path.as_ref()))?;
    put(path.as_ref(), &bytes, overwrite)
}

/// The same with a note, a key and its text, in place of an older file.
pub(crate) fn write_noted(path: &Path, kind: &str, note: (&str, &str), tensors: &[Named]) -> Result<()> {
    let bytes = encode(kind, &[note], tensors).map_err(|wrong| wrong.in_file(path))?;
    put(path, &bytes, Overwrite::Replace)
}

/// What [`write_noted`] wrote: the tensors, and the note if it is there.
pub(crate) fn read_noted(path: &Path, kind: &str, key: &str) -> Result<(Vec<Named>, Option<String>)> {
    let opened = Opened::new(path, kind)?;
    Ok((opened.read_all(path)?, opened.note(key).map(str::to_owned)))
}

/// All tensors of a file of this `kind`, in the file's order. A file that others wrote has any kind.
pub fn read(path: impl AsRef<Path>, kind: &str) -> Result<Vec<Named>> {
    let path = path.as_ref();
    Opened::new(path, kind)?.read_all(path)
}

fn put(path: &Path, bytes: &[u8], overwrite: Overwrite) -> Result<()> {
    let mut file = NewFile::create(path, overwrite)?;
    let written = file.write_all(bytes);
    written.map_err(|source| driftless_world::Error::io("cannot write", source).in_file(path))?;
    Ok(file.commit()?)
}

#[cfg(test)]
mod tests;
