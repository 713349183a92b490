//! Writes `tf.train.Example` messages, the same bytes for the same features.

use crate::files::protobuf::{put_bytes, put_varint};
use std::collections::BTreeMap;

/// The values of a feature to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum FeatureValues {
    /// Byte strings.
    Bytes(Vec<Vec<u8>>),
    /// 32-bit floats.
    Floats(Vec<f32>),
    /// 64-bit integers.
    Ints(Vec<i64>),
}

/// Encodes an example; features are written in the order of their names, so that the same features
/// always give the same bytes.
pub fn encode(features: &BTreeMap<&str, FeatureValues>) -> Vec<u8> {
    let mut map = Vec::new();
    for (name, values) in features {
        let mut feature = Vec::new();
        let (kind, list) = encode_list(values);
        put_bytes(&mut feature, kind, &list);
        let mut entry = Vec::with_capacity(feature.len() + name.len() + 16);
        put_bytes(&mut entry, 1, name.as_bytes());
        put_bytes(&mut entry, 2, &feature);
        put_bytes(&mut map, 1, &entry);
    }
    let mut example = Vec::with_capacity(map.len() + 16);
    put_bytes(&mut example, 1, &map);
    example
}

fn encode_list(values: &FeatureValues) -> (u32, Vec<u8>) {
    let mut list = Vec::new();
    match values {
        FeatureValues::Bytes(strings) => {
            for string in strings {
                put_bytes(&mut list, 1, string);
            }
            (1, list)
        }
        FeatureValues::Floats(floats) => {
            let packed: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
            put_bytes(&mut list, 1, &packed);
            (2, list)
        }
        FeatureValues::Ints(ints) => {
            let mut packed = Vec::new();
            for int in ints {
                put_varint(&mut packed, int.cast_unsigned());
            }
            put_bytes(&mut list, 1, &packed);
            (3, list)
        }
    }
}
