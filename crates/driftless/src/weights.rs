//! Files of parameters: safetensors, with the configuration that made the model beside them.
//!
//! Tensors are called as in [`crate::parameters`] and keep their precision, so any reader of
//! safetensors can use them. A file is written whole or not at all, and read with suspicion: every
//! size is compared with the file's before memory is taken, and every tensor with the model.

mod format;
pub mod pfnet_checkpoint;

use crate::config;
use crate::error::{Error, Result};
use crate::parameters::{self, Named};
use burn::module::Module;
use driftless_world::files::{NewFile, Overwrite, Source};
use format::{CONFIG, Opened, Wrong, checksum, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What files of a model's parameters call themselves.
pub(crate) const WEIGHTS: &str = "weights";
/// No configuration is longer.
const MOST_TEXT_BYTES: u64 = 1 << 20;

/// Writes the parameters of a model as `NAME.safetensors` and its configuration as `NAME.toml`,
/// replacing older ones. `path` is the name, with or without one of these endings.
///
/// ```
/// use burn::module::{Module, Param};
/// use burn::tensor::{DType, Device, Tensor};
/// use driftless::parameters::{Init, values};
/// use driftless::weights::{load, load_config, save};
///
/// #[derive(Module, Debug)]
/// struct Line {
///     slope: Param<Tensor<1>>,
/// }
///
/// let line = |slope| Line { slope: Init::new(1, &Device::flex(), DType::F32).constant([1], slope) };
/// let name = std::env::temp_dir().join(format!("driftless-doc-{}", std::process::id()));
/// save(&name, &line(0.5), &[("particles", 100)].into_iter().collect::<std::collections::BTreeMap<_, _>>())?;
/// assert_eq!(values(&load(&name, line(0.0))?)[0].values, [0.5]);
/// assert_eq!(load_config::<std::collections::BTreeMap<String, i64>>(&name)?["particles"], 100);
/// # std::fs::remove_file(name.with_extension("safetensors")).unwrap();
/// # std::fs::remove_file(name.with_extension("toml")).unwrap();
/// # Ok::<(), driftless::Error>(())
/// ```
pub fn save<M: Module>(path: impl AsRef<Path>, model: &M, config: &impl Serialize) -> Result<()> {
    let (weights, settings) = (named(path.as_ref(), "safetensors"), named(path.as_ref(), "toml"));
    let text = toml::to_string_pretty(config).map_err(|error| {
        Error::setting("", format!("cannot be written as TOML: {error}")).in_file(&settings)
    })?;
    // Two files cannot change at once. If only the first does, the checksum in the second no longer
    // fits, and `load` says so.
    let bytes = encode(WEIGHTS, &[(CONFIG, &checksum(&text))], &parameters::values(model))
        .map_err(|wrong| wrong.in_file(&weights))?;
    put(&settings, text.as_bytes(), Overwrite::Replace)?;
    put(&weights, &bytes, Overwrite::Replace)
}

/// The model with the parameters of `NAME.safetensors`. Every parameter must be there, with its shape
/// and precision, and nothing else. If `NAME.toml` is there as well, it must be the one that was saved
/// with them: a run that was stopped between writing the two leaves a pair that does not belong
/// together.
pub fn load<M: Module>(path: impl AsRef<Path>, model: M) -> Result<M> {
    let file = named(path.as_ref(), "safetensors");
    let opened = Opened::new(&file, WEIGHTS)?;
    check_pair(&opened, &named(path.as_ref(), "toml")).map_err(|wrong| wrong.in_file(&file))?;
    opened.compare(&parameters::values(&model)).map_err(|wrong| wrong.in_file(&file))?;
    Ok(parameters::with_values(model, &opened.read_all(&file)?))
}

/// Fails if the configuration beside the weights is not theirs.
fn check_pair(weights: &Opened, settings: &Path) -> std::result::Result<(), Wrong> {
    let (Some(sum), true) = (weights.note(CONFIG), settings.exists()) else { return Ok(()) };
    if text_of(settings).is_ok_and(|text| checksum(&text) == sum) {
        return Ok(());
    }
    let name = settings.file_name().unwrap_or_default().display();
    Err(Wrong::file(format!("was not saved with the configuration in {name}; restore or remove that file")))
}

/// What `NAME.toml` says.
pub fn load_config<C: DeserializeOwned>(path: impl AsRef<Path>) -> Result<C> {
    let file = named(path.as_ref(), "toml");
    config::parse(&text_of(&file)?).map_err(|error| error.in_file(&file))
}

fn text_of(file: &Path) -> Result<String> {
    let source = Source::open(file)?;
    let wrong = |problem: &str| Error::setting("", problem).in_file(file);
    if source.len() > MOST_TEXT_BYTES {
        return Err(wrong("is longer than a mebibyte, and no configuration"));
    }
    let bytes = source.read_vec(0, source.len()).map_err(|error| error.in_file(file))?;
    String::from_utf8(bytes).map_err(|_| wrong("is not text in UTF-8"))
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

/// `path` with this ending in the place of one of ours.
fn named(path: &Path, ending: &str) -> PathBuf {
    let ours = path.extension().is_some_and(|old| old == "safetensors" || old == "toml");
    let mut name = if ours { path.with_extension("") } else { path.to_path_buf() }.into_os_string();
    name.push(format!(".{ending}"));
    name.into()
}

fn put(path: &Path, bytes: &[u8], overwrite: Overwrite) -> Result<()> {
    let mut file = NewFile::create(path, overwrite)?;
    let written = file.write_all(bytes);
    written.map_err(|source| driftless_world::Error::io("cannot write", source).in_file(path))?;
    Ok(file.commit()?)
}

#[cfg(test)]
mod tests;
