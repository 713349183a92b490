//! Tables as PyDPF keeps them: a row a step, columns `series_id`, `state_1`…, `observation_1`…, `control_1`…
//!
//! Either one file, whose series are told apart by `series_id`, or a folder with a file for each
//! series (`1.csv`, `2.csv`, …) without that column. States may be empty or `nan`: unlabelled.
//! A `time` column is checked and left alone, as steps are numbered. Control t leads into step t.

mod table;
mod writer;

pub use writer::CsvWriter;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::files::source::Source;
use crate::files::{DataFile, Glimpse};
use crate::trajectory::Trajectory;
use std::path::{Path, PathBuf};
use table::Table;
pub(super) use table::cells;

/// Text is parsed in memory; recordings beyond this belong into an npz file.
const MOST_BYTES: u64 = 256 << 20;

/// Series from csv files, all in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct CsvFile {
    series: Vec<Trajectory>,
}

impl CsvFile {
    /// Reads a file, or a folder of one file a series.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let series = if path.is_dir() { folder(path) } else { file(path, MOST_BYTES)?.trajectories() };
        Ok(Self { series: series.map_err(|error| error.in_file(path))? })
    }

    /// Reads a table from bytes, such as a file's contents.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(Self { series: Table::parse(bytes)?.trajectories()? })
    }
}

impl Dataset for CsvFile {
    type Episode = Trajectory;

    fn len(&self) -> usize {
        self.series.len()
    }

    fn get(&self, index: usize) -> Result<Trajectory> {
        Ok(self.series[index].clone())
    }
}

impl DataFile for CsvFile {}

/// True of a table with a column of observations, and of a folder of tables.
pub(super) fn looks_like_tables(file: &Glimpse) -> bool {
    file.text().lines().next().is_some_and(|line| line.contains("observation"))
        || file.entries.iter().any(|name| name.to_lowercase().ends_with(".csv"))
}

fn file(path: &Path, most: u64) -> Result<Table> {
    let source = Source::open(path)?;
    let read = || {
        if source.len() > most {
            return Err(Error::new(format!(
                "is larger than {} MiB of text; save such recordings as npz",
                MOST_BYTES >> 20
            )));
        }
        Table::parse(&source.read_vec(0, source.len())?)
    };
    read().map_err(|error| error.in_file(path))
}

fn folder(path: &Path) -> Result<Vec<Trajectory>> {
    let mut all: Vec<Trajectory> = Vec::new();
    let mut budget = MOST_BYTES;
    for path in series_files(path)? {
        let length = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let table = file(&path, budget)?;
        budget = budget.saturating_sub(length);
        if table.has_series() {
            let problem = "a folder holds one series a file; remove the column, or read the file alone";
            return Err(Error::new(problem).in_field("series_id").in_file(path));
        }
        let series = table.trajectories().map_err(|error| error.in_file(&path))?;
        if let (Some(first), Some(this)) = (all.first(), series.first())
            && table::widths(first) != table::widths(this)
        {
            let problem = "has other observation, control or state columns than the first file of its folder";
            return Err(Error::new(problem).in_file(path));
        }
        all.extend(series);
    }
    Ok(all)
}

/// The folder's csv files by number, then by name: 2.csv comes before 10.csv.
fn series_files(path: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |source| Error::io("cannot list", source);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_csv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        // PyDPF's constants of a series, which trajectories have no place for.
        let is_metadata = path.file_stem().is_some_and(|stem| stem == "series_metadata");
        if is_csv && !is_metadata {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(Error::new("holds no csv file; 1.csv, 2.csv, ... are expected"));
    }
    files.sort_by_cached_key(|path| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        (stem.parse::<u64>().unwrap_or(u64::MAX), stem)
    });
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::Observations;

    fn read(text: &str) -> Result<CsvFile> {
        CsvFile::from_bytes(text.as_bytes())
    }

    #[test]
    fn series_are_grouped_in_order_of_appearance() {
        let text = "\u{feff}series_id,observation_2,observation_1,state_1,control_1,time\r\n\
                    b,2,1,10,0.5,0\r\n\
                    a,4,3,,0.25,0\r\n\
                    \"b\",6,5,nan,-1e-3,1\r\n\r\n";
        let file = read(text).unwrap();
        assert_eq!(file.len(), 2);
        let first = file.get(0).unwrap();
        let Observations::Vectors(rows) = &first.observations else { panic!("vectors") };
        assert_eq!(rows.values(), [1.0, 2.0, 5.0, 6.0]);
        assert_eq!(first.actions.values(), [0.5, -1e-3]);
        assert_eq!(first.states.iter().collect::<Vec<_>>(), [Some([10.0].as_slice()), None]);
        assert_eq!(file.get(1).unwrap().states.known(), 0);
    }

    #[test]
    fn errors_name_line_and_column() {
        for (text, expected) in [
            ("", "there is no header"),
            ("observation_1\n", "no row"),
            ("state_1\n1\n", "no observation column"),
            ("observation_1\n1\nx\n", "line 3: field observation_1: \"x\" is not a number"),
            ("observation_1\ninf\n", "line 2: field observation_1: inf is not finite"),
            ("observation_1\nnan\n", "line 2: field observation_1: NaN is not finite"),
            ("observation_1\n\"\"\n", "line 2: field observation_1: is empty"),
            ("observation_1,state_1\n1,inf\n", "line 2: field state_1: inf is not finite"),
            (
                "observation_1,state_1,state_2\n1,2,\n",
                "line 2: field state_2: is unknown, but state_1 is known",
            ),
            ("observation_1,control_1\n1\n", "line 2: has 1 cells; the header has 2"),
            ("observation_1,observation_1\n1,2\n", "field observation_1: is there twice"),
            ("observation_1,obs\n1,2\n", "field obs: is not a known column"),
            ("observation_1,time\n1,x\n", "line 2: field time"),
            ("observation_1\n\"1\n", "line 2: has an unclosed quote"),
            ("series_id,observation_1\n,1\n", "line 2: field series_id: is empty"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        assert!(CsvFile::from_bytes(b"observation_1\n\xff\n").unwrap_err().to_string().contains("line 2"));
    }
}
