//! TensorFlow's checkpoints, compared with ones that were assembled byte by byte.

use crate::bundle_bytes;
use crate::bundle_bytes::{
    Pairs, Style, Tensor, USUAL, append, block, bytes, checkpoint, number, pairs, table,
};
use driftless_world::files::Source;
use driftless_world::files::tensor_bundle::TensorBundle;
use driftless_world::{Error, Result};

/// Forty tensors with names that share much, of 0 to 3 dimensions; one is empty.
fn sample() -> Vec<Tensor> {
    let tensor = |k: usize| {
        let shape = [vec![], vec![3], vec![2, 0], vec![2, 2, 1 + k as u64 % 5]][k % 4].clone();
        let values: Vec<f32> =
            (0..shape.iter().product()).map(|i| (k * 100) as f32 - i as f32 / 3.0).collect();
        Tensor::floats(&format!("net/{}layer_{k:03}/kernel", "deep/".repeat(k / 10)), &shape, &values)
    };
    let mut all: Vec<Tensor> = (0..40).map(tensor).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn open((index, shards): (Vec<u8>, Vec<Vec<u8>>)) -> Result<TensorBundle> {
    TensorBundle::from_sources(&index.into(), shards.into_iter().map(Source::from).collect())
}

fn read_all(bundle: &TensorBundle) -> Result<Vec<Vec<f32>>> {
    bundle.entries().iter().map(|entry| bundle.read_f32(entry)).collect()
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.data.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

#[test]
fn everything_is_read_however_it_is_cut_into_pieces() {
    let tensors = sample();
    for (per_restart, per_block, shards) in
        [(16, 1000, 1), (1, 1000, 1), (3, 7, 1), (16, 1, 3), (2, 20, 2), (1000, 1000, 41)]
    {
        let style = Style { per_restart, per_block, shards };
        let bundle = open(checkpoint(&tensors, style)).unwrap();
        assert_eq!(bundle.entries().len(), tensors.len());
        let mut ends = vec![0; shards];
        for (turn, (entry, tensor)) in bundle.entries().iter().zip(&tensors).enumerate() {
            let shape: Vec<u64> = entry.shape.iter().map(|&side| side as u64).collect();
            assert_eq!((&entry.name, &shape), (&tensor.name, &tensor.shape), "{style:?}");
            assert_eq!((entry.shard, entry.offset), (turn % shards, ends[turn % shards]), "{style:?}");
            ends[turn % shards] += tensor.data.len() as u64;
            assert_eq!(bundle.read_f32(entry).unwrap(), floats(tensor), "{style:?}");
            assert_eq!(bundle.find(&tensor.name), Some(entry));
        }
        assert_eq!(bundle.find("net"), None);
    }
}

#[test]
fn files_are_read_and_errors_name_them() {
    let folder = std::env::temp_dir().join(format!("driftless-bundle-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (prefix, tensors) = (folder.join("model.chk"), sample());
    let (index, shards) = checkpoint(&tensors, Style { shards: 2, per_block: 5, ..USUAL });
    std::fs::write(folder.join("model.chk.index"), index).unwrap();
    for (number, bytes) in shards.iter().enumerate() {
        std::fs::write(folder.join(format!("model.chk.data-0000{number}-of-00002")), bytes).unwrap();
    }
    let found = read_all(&TensorBundle::open(&prefix).unwrap()).unwrap();
    assert_eq!(found, tensors.iter().map(floats).collect::<Vec<_>>());
    let data = folder.join("model.chk.data-00001-of-00002");
    let mut bytes = std::fs::read(&data).unwrap();
    bytes[0] ^= 1;
    std::fs::write(&data, &bytes).unwrap();
    let bundle = TensorBundle::open(&prefix).unwrap();
    let error = read_all(&bundle).unwrap_err().to_string();
    let place = format!("model.chk.data-00001-of-00002: field {}: damaged", bundle.entries()[1].name);
    assert!(error.contains(&place), "{error}");
    std::fs::remove_file(&data).unwrap();
    let error = TensorBundle::open(&prefix).unwrap_err().to_string();
    assert!(error.contains("model.chk.data-00001-of-00002: cannot open"), "{error}");
    let error = TensorBundle::open(folder.join("other")).unwrap_err().to_string();
    assert!(error.contains("other.index: cannot open"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_truncation_is_noticed() {
    let style = Style { per_restart: 4, per_block: 9, shards: 1 };
    let (index, shards) = checkpoint(&sample(), style);
    for length in 0..index.len() {
        let error = open((index[..length].to_vec(), shards.clone())).unwrap_err().to_string();
        assert!(error.contains("too short") || error.contains("does not end as"), "{length}: {error}");
    }
    for length in 0..shards[0].len() {
        let error = open((index.clone(), vec![shards[0][..length].to_vec()])).unwrap_err().to_string();
        assert!(error.contains("truncated") && error.contains("net/"), "{length}: {error}");
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let style = Style { per_restart: 4, per_block: 9, shards: 1 };
    let (index, shards) = checkpoint(&sample(), style);
    for bit in 0..8 * index.len() {
        let mut damaged = index.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(open((damaged, shards.clone())).is_err(), "bit {bit} of the index");
    }
    for bit in 0..8 * shards[0].len() {
        let mut damaged = shards[0].clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let error = read_all(&open((index.clone(), vec![damaged])).unwrap()).unwrap_err().to_string();
        assert!(error.contains("damaged: the numbers have checksum"), "bit {bit} of the data: {error}");
    }
}

/// The error of opening and reading a checkpoint whose index has these pairs, with right checksums.
fn complaint(pairs: &Pairs, data: &[u8]) -> String {
    let index = table(&vec![(b"z".to_vec(), block(pairs, 16))]);
    let bundle = open((index, vec![data.to_vec()]));
    bundle.and_then(|bundle| read_all(&bundle)).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_read_is_refused_with_a_reason() {
    let (whole, data) = pairs(&[Tensor::floats("a", &[2], &[1.0, 2.0])], 1);
    let header = whole[0].clone();
    let entry = |message: Vec<Vec<u8>>| vec![header.clone(), (b"a".to_vec(), message.concat())];
    let side = |size| bytes(2, &bytes(2, &number(1, size)));
    let cases: [(Pairs, &str); 14] = [
        (vec![whole[1].clone()], "has no header"),
        (vec![(vec![], number(1, 0))], "claims 0 data files"),
        (vec![(vec![], number(1, 7))], "speaks of 7 data files, but there are 1"),
        (vec![(vec![], [number(1, 1), number(2, 1)].concat())], "the header: was saved with big-endian"),
        (vec![(vec![], [number(1, 1), bytes(3, &number(2, 2))].concat())], "reader of version 2"),
        (vec![header.clone(), (b"\xff".to_vec(), vec![])], "partitioned"),
        (vec![whole[1].clone(), whole[0].clone()], "keys are not in order"),
        (entry(vec![]), "field a: has no type"),
        (entry(vec![number(1, 1), bytes(7, b"")]), "stored in slices"),
        (entry(vec![number(1, 9), side(1), number(5, 8)]), "holds int64, but float32 is wanted"),
        (entry(vec![number(1, 1), side(u64::MAX)]), "is -1; it cannot be negative"),
        (entry(vec![number(1, 1), side(3), number(5, 8)]), "8 bytes, which is not float32 of the shape [3]"),
        (entry(vec![number(1, 1), side(1 << 62), number(5, 8)]), "not float32 of the shape"),
        (entry(vec![number(1, 1), number(3, 1), number(5, 8)]), "is in data file 1, but there are only 1"),
    ];
    for (pairs, expected) in cases {
        let error = complaint(&pairs, &data[0]);
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn blocks_must_be_plain_and_in_order() {
    let (pairs, data) = pairs(&sample(), 1);
    let refused = |handles: &[Vec<u8>], out: Vec<u8>| -> Error {
        let keys = (b'a'..).map(|key| vec![key]);
        let index = block(&keys.zip(handles.iter().cloned()).collect::<Vec<_>>(), 16);
        open((bundle_bytes::finished(out, &index), data.clone())).unwrap_err()
    };
    for (compression, expected) in [(1, "block 0: is compressed with snappy"), (9, "unknown way 9")] {
        let mut out = Vec::new();
        let handle = append(&mut out, &block(&pairs, 16), compression);
        let error = refused(&[handle], out).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let far = [bundle_bytes::varint(u64::MAX - 3), bundle_bytes::varint(2)].concat();
    let error = refused(&[far], vec![]).to_string();
    assert!(error.contains("block 0: damaged: 2 bytes at position 18446744073709551612"), "{error}");
    let mut out = Vec::new();
    let empty = append(&mut out, &[0, 0, 0, 0, 1, 0, 0, 0], 0);
    let error = refused(&[empty.clone(), empty], out).to_string();
    assert!(error.contains("block 1: damaged: blocks overlap or are not in order"), "{error}");
}
