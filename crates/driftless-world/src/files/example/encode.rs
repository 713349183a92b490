//! Writes `tf.train.Example` messages, the same bytes for the same features.

use crate::files::protobuf::put_bytes;
use std::collections::BTreeMap;

/// Encodes an example whose features are lists of byte strings; they are written in the order of their names, so that
/// the same features always give the same bytes.
pub fn encode(features: &BTreeMap<&str, Vec<Vec<u8>>>) -> Vec<u8> {
    let mut map = Vec::new();
    for (name, strings) in features {
        let (mut list, mut feature) = (Vec::new(), Vec::new());
        for string in strings {
            put_bytes(&mut list, 1, string);
        }
        put_bytes(&mut feature, 1, &list);
        let mut entry = Vec::with_capacity(feature.len() + name.len() + 16);
        put_bytes(&mut entry, 1, name.as_bytes());
        put_bytes(&mut entry, 2, &feature);
        put_bytes(&mut map, 1, &entry);
    }
    let mut example = Vec::with_capacity(map.len() + 16);
    put_bytes(&mut example, 1, &map);
    example
}
