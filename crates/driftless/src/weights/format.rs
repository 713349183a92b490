//! The bytes of a safetensors file, made and taken apart.

use crate::error::Error;
use crate::parameters::Named;
use burn::tensor::DType;
use driftless_world::files::{Fingerprint, Source};
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Version of what we put into the header's metadata.
const FORMAT: &str = "2";
/// The version before, which had no checksum.
const UNCHECKED: &str = "1";
/// Headers are some hundred bytes a tensor; more than this is damage or malice.
const MOST_HEADER_BYTES: u64 = 16 << 20;
/// Beyond any model of this crate; keeps a sparse file of a terabyte from taking memory.
const MOST_DATA_BYTES: u64 = 4 << 30;

/// What the fingerprint is called in the metadata: of the header without it, and the data.
const CHECKSUM: &str = "checksum";
const NOTES: &str = "__metadata__";

/// A problem whose file is not named yet.
#[derive(Debug)]
pub struct Wrong {
    tensor: Option<String>,
    problem: String,
}

impl Wrong {
    pub fn file(problem: impl Into<String>) -> Self {
        Self { tensor: None, problem: problem.into() }
    }

    fn tensor(name: &str, problem: impl Into<String>) -> Self {
        Self { tensor: Some(name.to_owned()), problem: problem.into() }
    }

    pub fn in_file(self, file: &Path) -> Error {
        Error::Weights { file: file.to_path_buf(), tensor: self.tensor, problem: self.problem }
    }
}

/// The bytes of a file, with notes for the metadata, if there are some. The header is written here, with keys in
/// a fixed order: the same tensors are the same bytes.
pub fn encode(kind: &str, further: &[(&str, &str)], tensors: &[Named]) -> Result<Vec<u8>, Wrong> {
    let mut header = Map::new();
    let mut notes = json!({"creator": "driftless", "format": FORMAT, "kind": kind});
    for (key, note) in further {
        notes[key] = (*note).into();
    }
    header.insert(NOTES.to_owned(), notes);
    let mut data = Vec::new();
    // 64 bits first, so that every number is aligned.
    let mut sorted: Vec<&Named> = tensors.iter().collect();
    sorted.sort_by_key(|tensor| tensor.precision != DType::F64);
    for tensor in sorted {
        let Named { name, shape, precision, values } = tensor;
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            return Err(Wrong::tensor(name, format!("holds {value}; such weights are not written")));
        }
        let from = data.len();
        let dtype = match precision {
            DType::F64 => Dtype::F64,
            DType::F32 => Dtype::F32,
            other => return Err(Wrong::tensor(name, format!("is {other:?}; only F32 and F64 are written"))),
        };
        for value in values {
            match dtype {
                Dtype::F64 => data.extend(value.to_le_bytes()),
                _ => data.extend((*value as f32).to_le_bytes()),
            }
        }
        let info = json!({"dtype": dtype.to_string(), "shape": shape, "data_offsets": [from, data.len()]});
        if header.insert(name.clone(), info).is_some() {
            return Err(Wrong::tensor(name, "is there twice"));
        }
    }
    let mut header = Value::Object(header);
    let mut seen = Fingerprint::default();
    seen.add(header.to_string().as_bytes());
    seen.add(&data);
    header[NOTES][CHECKSUM] = seen.to_string().into();
    let mut text = header.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    Ok([&(text.len() as u64).to_le_bytes(), text.as_slice(), &data].concat())
}

/// A file whose header was read and found consistent.
pub struct Opened {
    source: Source,
    metadata: Metadata,
    /// Where data begin.
    start: u64,
}

impl Opened {
    pub fn new(file: &Path, kind: &str) -> crate::Result<Self> {
        let source = Source::open(file)?;
        let (metadata, start) = read_header(&source).map_err(|wrong| wrong.in_file(file))?;
        let opened = Self { source, metadata, start };
        opened.check_kind(kind).and_then(|()| opened.check_sum()).map_err(|wrong| wrong.in_file(file))?;
        Ok(opened)
    }

    fn check_kind(&self, kind: &str) -> Result<(), Wrong> {
        let note = |key: &str| self.note(key).unwrap_or_default();
        match (note("creator"), note("format"), note("kind")) {
            ("driftless", FORMAT | UNCHECKED, found) if found == kind => Ok(()),
            ("driftless", FORMAT | UNCHECKED, found) => {
                Err(Wrong::file(format!("holds {found:?}, but {kind:?} is wanted; name another file")))
            }
            ("driftless", format, _) => Err(Wrong::file(format!(
                "has format {format:?}, but only {FORMAT:?} is known; read it with a newer version"
            ))),
            _ => Ok(()),
        }
    }

    /// Fails if header or data are not as they were written. Files of others have no checksum.
    fn check_sum(&self) -> Result<(), Wrong> {
        let Some(told) = self.note(CHECKSUM) else {
            return match self.note("format") {
                Some(FORMAT) => Err(Wrong::file("is damaged: its checksum is missing; use a copy")),
                _ => Ok(()),
            };
        };
        let damaged = |error: String| Wrong::file(format!("is damaged: {error}; use a copy"));
        let header = self.source.read_vec(8, self.start - 8).map_err(|error| damaged(error.to_string()))?;
        let mut header: Value =
            serde_json::from_slice(&header).map_err(|error| damaged(error.to_string()))?;
        if let Some(notes) = header.get_mut(NOTES).and_then(Value::as_object_mut) {
            notes.remove(CHECKSUM);
        }
        let mut seen = Fingerprint::default();
        seen.add(header.to_string().as_bytes());
        seen.add_from(&self.source, self.start).map_err(|error| damaged(error.to_string()))?;
        if seen.to_string() == told {
            return Ok(());
        }
        Err(damaged(format!("its contents have the checksum {seen}, but it was written with {told}")))
    }

    /// A note of the metadata, if it is there.
    pub fn note(&self, key: &str) -> Option<&str> {
        self.metadata.metadata().as_ref()?.get(key).map(String::as_str)
    }

    /// Fails unless names, shapes and precisions are those of the model.
    pub fn compare(&self, model: &[Named]) -> Result<(), Wrong> {
        for Named { name, shape, precision, .. } in model {
            let Some(TensorInfo { dtype, shape: found, .. }) = self.metadata.info(name) else {
                return Err(Wrong::tensor(name, "is missing; the file is of another model"));
            };
            if found != shape {
                let problem = format!("has the shape {found:?}, but the model wants {shape:?}");
                return Err(Wrong::tensor(name, problem + "; build the model as it was when it was saved"));
            }
            if Self::precision(*dtype) != Some(*precision) {
                let problem =
                    format!("is {dtype}, but the model is {precision:?}; build it in that precision");
                return Err(Wrong::tensor(name, problem));
            }
        }
        let known = |name: &String| model.iter().any(|parameter| parameter.name == *name);
        match self.metadata.offset_keys().into_iter().find(|name| !known(name)) {
            Some(name) => {
                Err(Wrong::tensor(&name, "is no parameter of the model; the file is of another one"))
            }
            None => Ok(()),
        }
    }

    fn precision(dtype: Dtype) -> Option<DType> {
        match dtype {
            Dtype::F64 => Some(DType::F64),
            Dtype::F32 => Some(DType::F32),
            _ => None,
        }
    }

    pub fn read_all(&self, file: &Path) -> crate::Result<Vec<Named>> {
        let names = self.metadata.offset_keys();
        names.iter().map(|name| self.read(name).map_err(|wrong| wrong.in_file(file))).collect()
    }

    fn read(&self, name: &str) -> Result<Named, Wrong> {
        let info = self.metadata.info(name).expect("the header names it");
        let precision = Self::precision(info.dtype).ok_or_else(|| {
            Wrong::tensor(name, format!("is {}; only F32 and F64 are read, convert it", info.dtype))
        })?;
        let (from, to) = info.data_offsets;
        let bytes = self.source.read_vec(self.start + from as u64, (to - from) as u64);
        let bytes = bytes.map_err(|error| Wrong::tensor(name, error.to_string()))?;
        let values: Vec<f64> = match precision {
            DType::F64 => bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
            _ => bytes.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
        };
        match values.iter().position(|value| !value.is_finite()) {
            Some(at) => Err(Wrong::tensor(name, format!("holds {} at {at}; use an older file", values[at]))),
            None => Ok(Named { name: name.to_owned(), shape: info.shape.clone(), precision, values }),
        }
    }
}

/// The header, whose tensors cover the rest of the file without gap or overlap, and where that begins.
fn read_header(source: &Source) -> Result<(Metadata, u64), Wrong> {
    let damaged = |what: String| Wrong::file(format!("is not a whole safetensors file: {what}"));
    let bytes = |from, count| source.read_vec(from, count).map_err(|error| damaged(error.to_string()));
    let length = bytes(0, 8)?.try_into().map(u64::from_le_bytes).expect("eight bytes");
    if length > MOST_HEADER_BYTES {
        return Err(damaged(format!("its header claims {length} bytes")));
    }
    let metadata: Metadata =
        serde_json::from_slice(&bytes(8, length)?).map_err(|error| damaged(error.to_string()))?;
    let (data, there) = (metadata.data_len() as u64, source.len() - 8 - length);
    if data != there {
        return Err(damaged(format!("tensors take {data} bytes, but {there} follow the header")));
    }
    if data > MOST_DATA_BYTES {
        return Err(Wrong::file(format!("holds {data} bytes, and more than {MOST_DATA_BYTES} are not read")));
    }
    Ok((metadata, 8 + length))
}
