//! A real ROS map, counted by another program, and a map read from files.
//!
//! Needs `robots/maps/mac_1st_floor_final.yaml` below the folder named by the environment variable `DRIFTLESS_DATA`;
//! without it the test says so and does nothing.

use driftless_world::files::ros_map::RosMap;
use driftless_world::occupancy::Cell;
use std::path::PathBuf;

#[test]
fn a_real_floor() {
    let Some(data) = std::env::var_os("DRIFTLESS_DATA").map(PathBuf::from) else {
        eprintln!("SKIPPED: set DRIFTLESS_DATA to a folder with robots/maps to read a real map");
        return;
    };
    let map = RosMap::read(data.join("robots/maps/mac_1st_floor_final.yaml")).unwrap();
    assert_eq!((map.width, map.height, map.resolution, map.origin), (903, 1706, 0.03, [-1.12, -39.4, 0.0]));
    let grid = map.grid();
    let count = |kind| grid.of_kind(kind).count();
    // By a few lines of Python: below 89.25 is occupied, above 191.25 is free.
    assert_eq!([Cell::Occupied, Cell::Free, Cell::Unknown].map(count), [16_871, 1_523_647, 0]);
    let middle = |column: f64, row: f64| [-1.12 + 0.03 * (column + 0.5), -39.4 + 0.03 * (row + 0.5)];
    assert_eq!(
        [[3.0, 883.0], [1697.0, 247.0]].map(|[row, column]| grid.at(middle(column, row))),
        [Cell::Occupied; 2]
    );
}

/// The image is found beside its description, and messages name the file that is wrong.
#[test]
fn files_beside_each_other() {
    let folder = std::env::temp_dir().join(format!("driftless-ros-map-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let yaml = folder.join("floor.yaml");
    std::fs::write(&yaml, "image: floor.pgm\nresolution: 1\norigin: [0, 0, 0]\n").unwrap();
    let error = RosMap::read(&yaml).unwrap_err().to_string();
    assert!(error.contains("floor.pgm: cannot open"), "{error}");
    std::fs::write(folder.join("floor.pgm"), b"P5 2 1 255\n\x00\xff").unwrap();
    assert_eq!(RosMap::read(&yaml).unwrap().occupancy, [100, 0]);
    std::fs::write(&yaml, "image: floor.pgm\nresolution: 1\norigin: [0, 0]\n").unwrap();
    let error = RosMap::read(&yaml).unwrap_err().to_string();
    assert!(error.contains("floor.yaml: field origin"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}
