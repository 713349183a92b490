//! `tf.train.Example` messages: what TensorFlow writes is read, what is broken is named.

use driftless_world::files::example::{Example, Feature, encode};
use driftless_world::files::protobuf::put_bytes;
use std::collections::BTreeMap;

/// An example with one feature, whose message is `feature`.
fn example_of(name: &str, feature: &[u8]) -> Vec<u8> {
    let (mut entry, mut map, mut example) = (Vec::new(), Vec::new(), Vec::new());
    put_bytes(&mut entry, 1, name.as_bytes());
    put_bytes(&mut entry, 2, feature);
    put_bytes(&mut map, 1, &entry);
    put_bytes(&mut example, 1, &map);
    example
}

fn parse_error(name: &str, feature: &[u8]) -> String {
    Example::parse(&example_of(name, feature)).unwrap_err().to_string()
}

#[test]
fn round_trips() {
    let features = BTreeMap::from([
        ("strings", vec![b"one".to_vec(), vec![], vec![0xff; 300]]),
        ("no strings", vec![]),
        ("b", vec![b"2".to_vec()]),
    ]);
    let record = encode(&features);
    let example = Example::parse(&record).unwrap();
    assert!(example.names().eq(["b", "no strings", "strings"]));
    let strings = example.bytes("strings").unwrap().unwrap();
    assert_eq!(strings.len(), 3);
    assert!(strings.iter().eq([b"one".as_slice(), &[], &[0xff; 300]]));
    assert!(example.bytes("no strings").unwrap().unwrap().is_empty());
    assert!(example.bytes("absent").unwrap().is_none());
}

/// Bytes assembled by hand from the protobuf specification.
#[test]
fn writes_the_bytes_of_the_specification_in_sorted_order() {
    let features = BTreeMap::from([("b", vec![b"z".to_vec()]), ("a", vec![b"xy".to_vec()])]);
    let expected = [
        &[0x0a, 25][..],
        &[0x0a, 11, 0x0a, 1, b'a', 0x12, 6, 0x0a, 4, 0x0a, 2, b'x', b'y'],
        &[0x0a, 10, 0x0a, 1, b'b', 0x12, 5, 0x0a, 3, 0x0a, 1, b'z'],
    ]
    .concat();
    assert_eq!(encode(&features), expected);
}

#[test]
fn numbers_are_told_from_strings() {
    let float_list = [0x12, 11, 0x0d, 0, 0, 0x80, 0x3f, 0x0a, 4, 0, 0, 0, 0x40];
    let int_list = [0x1a, 7, 0x08, 0x05, 0x0a, 3, 0x01, 0xac, 0x02];
    for (list, kind) in [(&float_list[..], "floats"), (&int_list, "integers")] {
        let record = example_of("speed", list);
        let error = Example::parse(&record).unwrap().bytes("speed").unwrap_err().to_string();
        assert_eq!(error, format!("field speed: holds {kind}; byte strings were expected"));
    }
}

#[test]
fn skips_unknown_fields_at_every_level() {
    // Field 9 as a varint, and field 10 as a group with a field inside.
    let unknown = [0x48, 0x01, 0x53, 0x08, 0x07, 0x54];
    let list = [&unknown[..], &[0x0a, 2, b'h', b'i'], &unknown].concat();
    let mut feature = unknown.to_vec();
    put_bytes(&mut feature, 1, &list);
    let mut entry = unknown.to_vec();
    put_bytes(&mut entry, 1, b"name");
    put_bytes(&mut entry, 2, &feature);
    let mut map = unknown.to_vec();
    put_bytes(&mut map, 1, &entry);
    let mut record = unknown.to_vec();
    put_bytes(&mut record, 1, &map);
    let example = Example::parse(&record).unwrap();
    assert!(example.bytes("name").unwrap().unwrap().iter().eq([b"hi"]));
}

#[test]
fn the_last_of_two_equal_names_counts_and_parts_merge() {
    let mut record = example_of("a", &[0x0a, 3, 0x0a, 1, b'1']);
    record.extend(example_of("b", &[]));
    record.extend(example_of("a", &[0x0a, 3, 0x0a, 1, b'2']));
    let example = Example::parse(&record).unwrap();
    assert!(example.names().eq(["a", "b"]));
    assert!(example.bytes("a").unwrap().unwrap().iter().eq([b"2"]));
    assert_eq!(example.get("b"), Some(Feature::Empty));
}

#[test]
fn names_the_feature_that_is_broken() {
    let cases: [(&[u8], &str); 3] = [
        (&[0x08, 1], "the list of values has wire type 0"),
        (&[0x0a, 2, 0x08, 1], "a value has wire type 0"),
        (&[0x0a, 0, 0x12, 0], "two lists"),
    ];
    for (feature, expected) in cases {
        let error = parse_error("speed", feature);
        assert!(error.starts_with("field speed: ") && error.contains(expected), "{error}");
    }
    let mut record = Vec::new();
    put_bytes(&mut record, 1, &[0x0a, 3, 0x0a, 1, 0xff]);
    assert!(Example::parse(&record).unwrap_err().to_string().contains("not UTF-8"));
}
