//! Files are told apart by content, and the table of layouts is documented.

use super::*;

#[test]
fn content_decides() {
    let folder = std::env::temp_dir().join(format!("driftless-kind-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let kind = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        Format::of(path).map(|format| format.id).map_err(|error| error.to_string())
    };
    assert_eq!(kind("a", include_bytes!("../../maze/drawings/maze1.maze")), Ok("maze"));
    assert_eq!(kind("b", b"series_id,observation_1\n1,2\n"), Ok("csv"));
    let mut record = Vec::new();
    tfrecord::write_framed(&mut record, b"x").unwrap();
    assert_eq!(kind("c", &record), Ok("pfnet"));
    assert_eq!(kind("cut.tfrecords", b"\xff\xfe\x00"), Ok("pfnet"));
    assert!(kind("d", b"").unwrap_err().ends_with("d: is empty"));
    assert!(kind("e", b"\xff\xfe\x00").unwrap_err().contains("none of the known kinds"));
    assert!(kind("f", b"PK\x03\x04").unwrap_err().contains('f'));
    assert!(Format::of(folder.join("missing")).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}

/// `docs/data-formats.md` lists all layouts that hold data, with what they are called on the command line.
#[test]
fn the_documentation_has_all_layouts() {
    let page = include_str!("../../../../../docs/data-formats.md");
    let rows: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("| `")).collect();
    let listed: Vec<&str> = rows.iter().filter_map(|row| row.split_once('`')).map(|(id, _)| id).collect();
    let known: Vec<&str> = FORMATS.iter().filter(|f| f.holds != Drawing).map(|format| format.id).collect();
    assert_eq!(listed[..known.len()], known);
}

#[test]
fn options_of_one_layout_are_refused_by_others() {
    let options = ReadOptions { steps_per_episode: Some(3), ..ReadOptions::default() };
    for format in FORMATS.iter().filter(|format| format.holds != Mazes) {
        let error = format.open(Path::new("a.npz"), &options).err().expect("refused");
        assert!(error.is_usage() && error.to_string().contains("--steps-per-episode is for DPF"), "{error}");
    }
    let compressed = WriteOptions { compress: true, ..WriteOptions::default() };
    for id in ["csv", "pfnet"] {
        let create = Format::named(id).and_then(|format| format.create).unwrap();
        assert!(create(Path::new("a"), &compressed).err().expect("refused").is_usage());
    }
}
