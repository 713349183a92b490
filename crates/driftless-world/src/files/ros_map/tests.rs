//! Maps by hand, in every form that they come in.

use super::*;

const TEXT: &str = "# by hand\nimage: \"floor #1.pgm\"  # quoted\nresolution: 0.5\norigin: [-1.0, 2.0, 0.0]\nnegate: 0\n\
                    occupied_thresh: 0.65\nfree_thresh: 0.196\n";

fn described(changed: &[(&str, &str)]) -> Description {
    let text = changed.iter().fold(TEXT.to_owned(), |text, (old, new)| text.replace(old, new));
    Description::parse(&text).unwrap()
}

fn bytes(words: &str, raster: &[u8]) -> Vec<u8> {
    [words.as_bytes(), raster].concat()
}

/// Three columns and two rows; the first row is the upper one.
fn image() -> Vec<u8> {
    bytes("P5\n# gimp\n3 2\n255\n", &[0, 205, 254, 254, 254, 90])
}

#[test]
fn rows_are_turned_over() {
    let map = RosMap::of(&described(&[]), &image()).unwrap();
    assert_eq!((map.width, map.height, map.resolution, map.origin), (3, 2, 0.5, [-1.0, 2.0, 0.0]));
    // 90 is (255 - 90) / 255 = 0.647 occupied, which is not above 0.65.
    assert_eq!(map.occupancy, [0, 0, -1, 100, -1, 0]);
    let grid = map.grid();
    assert_eq!((grid.origin, grid.cell, grid.size), ([-1.0, 2.0], 0.5, [3, 2]));
    assert_eq!(grid.at([-0.9, 2.9]), Cell::Occupied);
    assert_eq!(grid.at([0.4, 2.9]), Cell::Free);
    assert_eq!(grid.at([0.4, 2.1]), Cell::Unknown);
}

/// The same picture in all files: text, 16 bits, PNG of 8 and 16 bits.
#[test]
fn files_of_all_kinds_agree() {
    let expected = RosMap::of(&described(&[]), &image()).unwrap();
    let grey = [0_u8, 205, 254, 254, 254, 90];
    let wide: Vec<u16> = grey.iter().map(|&value| u16::from(value) * 257).collect();
    let words: Vec<String> = grey.iter().map(ToString::to_string).collect();
    let big: Vec<u8> = wide.iter().flat_map(|value| value.to_be_bytes()).collect();
    let rgb: Vec<u8> = grey.iter().flat_map(|&value| [value; 3]).collect();
    for file in [
        bytes("P2 3 2 255\n", words.join(" ").as_bytes()),
        bytes("P5 3 2 65535\n", &big),
        png_image::encode_grey8(2, 3, &grey).unwrap(),
        png_image::encode_grey16(2, 3, &wide).unwrap(),
        png_image::encode_rgb8(2, 3, &rgb).unwrap(),
    ] {
        assert_eq!(RosMap::of(&described(&[]), &file).unwrap(), expected);
    }
}

/// By the formulas of nav2's map_server: shade 0.2 is 0.8 occupied.
#[test]
fn modes_and_negation() {
    let of = |changed: &[(&str, &str)], pixel: &[f32]| described(changed).occupancy(pixel);
    let negated = [("negate: 0", "negate: true")];
    assert_eq!((of(&[], &[0.2]), of(&negated, &[0.2]), of(&negated, &[0.9])), (100, -1, 100));
    let scale = [("negate: 0", "mode: scale"), ("0.196", "0.15")];
    // (0.4 - 0.15) / (0.65 - 0.15) = 0.5.
    assert_eq!((of(&scale, &[0.6]), of(&scale, &[0.9]), of(&scale, &[0.1])), (50, 0, 100));
    assert_eq!((of(&scale, &[0.1, 0.5]), of(&scale, &[0.6, 1.0])), (-1, 50), "opacity says what is unknown");
    let raw = [("negate: 0", "mode: raw")];
    let byte = |value: u8| f32::from(value) / 255.0;
    assert_eq!([0, 37, 100, 101, 205].map(|value| of(&raw, &[byte(value)])), [0, 37, 100, -1, -1]);
    // Opacity is one of the channels that trinary maps average: (0.2 · 3 + 1) / 4 = 0.4.
    assert_eq!(of(&[], &[0.2, 0.2, 0.2, 1.0]), -1);
}

/// A quarter turn about the origin: what was ahead is left.
#[test]
fn turned_maps() {
    let quarter = described(&[("2.0, 0.0]", "2.0, 1.5707963267948966]")]);
    let map = RosMap::of(&quarter, &image()).unwrap();
    let (grid, flat) = (map.grid(), RosMap::of(&described(&[]), &image()).unwrap().grid());
    for x in 0..3 {
        for y in 0..2 {
            let [ahead, left] = [(f64::from(x) + 0.5) * 0.5, (f64::from(y) + 0.5) * 0.5];
            assert_eq!(grid.at([-1.0 - left, 2.0 + ahead]), flat.at([-1.0 + ahead, 2.0 + left]), "{x} {y}");
        }
    }
    let eighth = described(&[("2.0, 0.0]", "2.0, 0.7853981633974483]")]);
    let grid = RosMap::of(&eighth, &image()).unwrap().grid();
    let known = |kind| grid.of_kind(kind).count();
    assert!(known(Cell::Free) > 1 && known(Cell::Occupied) > 0, "{grid:?}");
}

#[test]
fn descriptions_in_other_words() {
    let list = "image: a.png\nresolution: 5.0e-02\norigin:\n- -1.5\n- 2\n- 0\nnegate: 1\nextra: {a: 1}\n";
    let found = Description::parse(list).unwrap();
    assert_eq!((found.origin, found.resolution, found.negate), ([-1.5, 2.0, 0.0], 0.05, true));
    assert_eq!((found.occupied_thresh, found.free_thresh, found.mode), (0.65, 0.25, Mode::Trinary));
    let broken = "---\nimage: 'a b.png'\nresolution: 1\norigin: [1,\n  2, # two\n  3]\nmode: raw\n";
    let found = Description::parse(broken).unwrap();
    assert_eq!((found.origin, found.image.as_str(), found.mode), ([1.0, 2.0, 3.0], "a b.png", Mode::Raw));
    assert_eq!(described(&[]).image, "floor #1.pgm");
}

#[test]
fn what_is_wrong_is_said() {
    for (old, new, words) in [
        ("resolution: 0.5\n", "", "field resolution: is missing"),
        ("0.5", "0", "field resolution: must be metres"),
        ("0.5", "nan", "field resolution: must be metres"),
        ("[-1.0, 2.0, 0.0]", "[1, 2]", "field origin: must be [x, y, heading]"),
        ("[-1.0, 2.0, 0.0]", "[1, 2, x]", "field origin: must be three numbers"),
        ("0.65", "1.5", "field occupied_thresh: must be from 0 to 1"),
        ("0.196", "0.9", "field free_thresh: must not be above"),
        ("negate: 0", "mode: binary", "field mode: \"binary\" is not trinary"),
        ("negate: 0", "negate 0", "line 5: \"negate 0\" is not of the form"),
    ] {
        let error = Description::parse(&TEXT.replace(old, new)).unwrap_err().to_string();
        assert!(error.starts_with(words), "{error}");
    }
    for (file, words) in [
        (bytes("P6 1 1 255\n", &[0; 3]), "is neither a PGM"),
        (bytes("P5 3 2 255\n", &[0; 5]), "truncated"),
        (bytes("P2 3 2 255\n", b"1 2 3 4 5"), "truncated"),
        (bytes("P2 3 2 255\n", b"1 2 3 4 5 x     "), "a PGM image without its pixel 5"),
        (bytes("P5 0 2 255\n", &[]), "an image of 0 x 2 pixels"),
        (bytes("P5 16384 16384 255\n", &[]), "an image of 16384 x 16384 pixels"),
        (bytes("P5 99999999999 1 255\n", &[]), "a PGM image without its width"),
        (bytes("P5 1 1 70000\n", &[0; 2]), "a greatest value of 70000"),
        (bytes("P5 1 1 100\n", &[101]), "pixel 0 is 101"),
    ] {
        let error = RosMap::of(&described(&[]), &file).unwrap_err().to_string();
        assert!(error.starts_with(words), "{error}");
    }
}
