//! Which of the known layouts a file has, by its content, not by its name.

use super::npz::NpzFile;
use super::source::Source;
use crate::error::{Error, Result};
use std::fmt;
use std::path::Path;

/// The layouts that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// DPF's maze recordings ([`super::dpf`]).
    Dpf,
    /// The plain layout for anybody's recordings ([`super::log`]).
    Log,
    /// PF-net's house records ([`super::pfnet`]).
    Pfnet,
    /// PyDPF's tables, one file or a folder of them ([`super::csv`]).
    Csv,
    /// The drawing of a maze ([`crate::maze`]).
    Maze,
}

impl FileKind {
    /// Looks at a file or folder and says what it is.
    pub fn of(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::of_unnamed(path).map_err(|error| error.in_file(path))
    }

    fn of_unnamed(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Self::of_folder(path);
        }
        let source = Source::open(path)?;
        if source.is_empty() {
            return Err(Error::new("is empty"));
        }
        let start = source.read_vec(0, source.len().min(4096))?;
        if start.starts_with(b"PK") {
            return Self::of_npz(&NpzFile::from_source(source)?);
        }
        if start.starts_with(b"\x1f\x8b") {
            return Err(Error::new("is compressed by gzip; unpack it first (gunzip)"));
        }
        if looks_like_records(&start) {
            return Ok(Self::Pfnet);
        }
        let text =
            std::str::from_utf8(&start).or_else(|error| std::str::from_utf8(&start[..error.valid_up_to()]));
        match text {
            Ok(text) if text.lines().any(|line| line.starts_with("+---")) => Ok(Self::Maze),
            Ok(text) if text.lines().next().is_some_and(|line| line.contains("observation")) => Ok(Self::Csv),
            // A damaged file is best explained by the reader of what it claims to be.
            _ => Self::by_name(path).ok_or_else(|| {
                Error::new(
                    "is none of the known kinds: npz (DPF or plain log), PF-net tfrecords, PyDPF csv, maze drawing",
                )
            }),
        }
    }

    fn by_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "tfrecord" | "tfrecords" => Some(Self::Pfnet),
            "csv" => Some(Self::Csv),
            "maze" => Some(Self::Maze),
            _ => None,
        }
    }

    fn of_folder(path: &Path) -> Result<Self> {
        let entries = std::fs::read_dir(path).map_err(|source| Error::io("cannot list", source))?;
        let csv = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.is_ok_and(|entry| {
                entry.path().extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
            })
        };
        if entries.into_iter().any(csv) {
            return Ok(Self::Csv);
        }
        Err(Error::new("is a directory without csv files; name a file"))
    }

    fn of_npz(npz: &NpzFile) -> Result<Self> {
        if npz.contains("rgbd") && npz.contains("pose") {
            return Ok(Self::Dpf);
        }
        if npz.contains("observations") {
            return Ok(Self::Log);
        }
        let names: Vec<&str> = npz.names().take(20).collect();
        Err(Error::new(format!(
            "holds the arrays [{}]; pose, vel and rgbd (DPF) or observations, actions, poses and lengths (plain log) are expected",
            names.join(", ")
        )))
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dpf => "maze recordings in DPF's layout (npz)",
            Self::Log => "recordings in the plain layout (npz)",
            Self::Pfnet => "house records in PF-net's layout (tfrecords)",
            Self::Csv => "tables in PyDPF's layout (csv)",
            Self::Maze => "the drawing of a maze",
        })
    }
}

/// True if the first record's length has the checksum that follows it.
fn looks_like_records(start: &[u8]) -> bool {
    start.len() >= 12
        && super::tfrecord::masked_crc(&start[..8])
            == u32::from_le_bytes(start[8..12].try_into().expect("4 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides() {
        let folder = std::env::temp_dir().join(format!("driftless-kind-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let kind = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            std::fs::write(&path, bytes).unwrap();
            FileKind::of(path).map_err(|error| error.to_string())
        };
        assert_eq!(kind("a", include_bytes!("../maze/drawings/maze1.maze")), Ok(FileKind::Maze));
        assert_eq!(kind("b", b"series_id,observation_1\n1,2\n"), Ok(FileKind::Csv));
        let mut record = Vec::new();
        super::super::tfrecord::write_framed(&mut record, b"x").unwrap();
        assert_eq!(kind("c", &record), Ok(FileKind::Pfnet));
        assert!(kind("d", b"").unwrap_err().ends_with("d: is empty"));
        assert!(kind("e", b"\xff\xfe\x00").unwrap_err().contains("none of the known kinds"));
        assert!(kind("f", b"PK\x03\x04").unwrap_err().contains('f'));
        assert!(FileKind::of(folder.join("missing")).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
