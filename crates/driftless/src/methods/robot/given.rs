//! What a robot is given instead of learning it: a map of the floor, or where beacons stand.

use crate::error::{Error, Result};
use crate::learn::SensorSettings;
use driftless_world::Error as FileError;
use driftless_world::files::Source;
use driftless_world::files::npz::NpzFile;
use driftless_world::files::ros_map::RosMap;
use driftless_world::occupancy::{Cell, OccupancyGrid};
use std::path::Path;

/// No list of beacons is longer.
const MOST_TEXT: u64 = 1 << 22;
/// The array of an npz file that holds id, x and y of each beacon.
const PLACES: &str = "map";

/// Fails if what a sensor is given cannot be used: before a run is begun.
pub(crate) fn check(sensor: &SensorSettings) -> Result<()> {
    let count = sensor.width() / sensor.kind.each();
    if !sensor.map.is_empty() {
        map(&sensor.map)?;
    }
    if !sensor.beacons.is_empty() {
        places(&sensor.beacons, count)?;
    }
    Ok(())
}

/// A ROS map, which must have something on it.
pub(super) fn map(path: &str) -> Result<OccupancyGrid> {
    let grid = RosMap::read(path)?.grid();
    for (kind, problem) in [
        (Cell::Occupied, "has no occupied cell: nothing that a beam could meet"),
        (Cell::Free, "has no free cell: nowhere that a robot could be"),
    ] {
        if grid.of_kind(kind).next().is_none() {
            return Err(FileError::new(format!("{problem}; look at negate and the thresholds"))
                .in_file(path)
                .into());
        }
    }
    Ok(grid)
}

/// Places of so many beacons, in the order of the sensor's columns: rows `id, x, y` of a csv file, with or without a header,
/// or the array `map` of an npz file.
pub(super) fn places(path: &str, count: usize) -> Result<Vec<[f64; 2]>> {
    let named = |error: FileError| Error::File(error.in_file(path));
    let is_npz = Path::new(path).extension().is_some_and(|end| end.eq_ignore_ascii_case("npz"));
    let rows = if is_npz {
        from_npz(path)
    } else {
        Source::open(path).and_then(|source| source.read_text(MOST_TEXT)).and_then(|text| from_csv(&text))
    }
    .map_err(named)?;
    if rows.len() != count {
        let problem = format!("has {} beacons, but the sensor's columns are for {count}", rows.len());
        return Err(named(FileError::new(problem)));
    }
    if let Some(k) = rows.iter().position(|place| !place.iter().all(|x| x.abs() <= 1e9)) {
        return Err(named(FileError::new("is not at a place").in_record(format!("beacon {k}"))));
    }
    Ok(rows)
}

fn from_npz(path: &str) -> driftless_world::Result<Vec<[f64; 2]>> {
    let array = NpzFile::open(path)?.array(PLACES)?;
    if array.row_len() != 3 || array.shape().len() != 2 || array.rows() > 1 << 20 {
        let problem = format!("has the shape {:?}; rows of id, x and y are expected", array.shape());
        return Err(FileError::new(problem).in_field(PLACES));
    }
    let numbers = array.read_f64(0..array.rows())?;
    Ok(numbers.chunks_exact(3).map(|row| [row[1], row[2]]).collect())
}

fn from_csv(text: &str) -> driftless_world::Result<Vec<[f64; 2]>> {
    let mut rows = Vec::new();
    let lines = text.lines().enumerate().map(|(number, line)| (number, line.trim()));
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<&str> = line.split(',').map(str::trim).collect();
        let place = match &words[..] {
            [_, x, y] => x.parse().ok().zip(y.parse().ok()),
            _ => None,
        };
        match place {
            Some((x, y)) => rows.push([x, y]),
            // A header has no numbers.
            None if rows.is_empty() && words.iter().all(|word| word.parse::<f64>().is_err()) => {}
            None => {
                let problem = format!("{line:?} is not id, x and y");
                return Err(FileError::new(problem).in_record(format!("line {}", number + 1)));
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_beacons() {
        let expected = vec![[1.5, -2.0], [3.0, 4e1]];
        for text in ["id,x,y\n6, 1.5, -2\n7,3,40\n", "# mine\na,1.5,-2\n\nb,3,4e1\n"] {
            assert_eq!(from_csv(text).unwrap(), expected);
        }
        for text in ["id,x,y\n6,1.5\n", "6,1,2\nid,x,y\n", "1,2,3,4\n"] {
            let error = from_csv(text).unwrap_err().to_string();
            assert!(error.contains("is not id, x and y"), "{error}");
        }
    }

    #[test]
    fn counts_and_places_are_checked() {
        let path = std::env::temp_dir().join(format!("driftless-beacons-{}.csv", std::process::id()));
        std::fs::write(&path, "id,x,y\n1,2,3\n2,inf,3\n").unwrap();
        let name = path.to_string_lossy();
        let error = places(&name, 3).unwrap_err().to_string();
        assert!(error.contains("has 2 beacons, but the sensor's columns are for 3"), "{error}");
        assert!(places(&name, 2).unwrap_err().to_string().contains("beacon 1: is not at a place"));
        std::fs::remove_file(path).unwrap();
        assert!(map("no_such.yaml").unwrap_err().to_string().contains("no_such.yaml"));
    }
}
