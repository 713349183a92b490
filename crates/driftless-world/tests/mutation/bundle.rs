//! Damaged checkpoints. Damage is done before checksums are computed, or they would catch all of it at the door.

use crate::bundle_bytes::{
    Pairs, Style, Tensor, append, block, blocks, finished, masked, pairs, table, varint,
};
use crate::survive::{damage, survive};
use driftless_world::files::tensor_bundle::TensorBundle;
use driftless_world::random::Random;

fn any_style(random: &mut Random) -> Style {
    Style { per_restart: 1 + random.below(4), per_block: 1 + random.below(6), shards: 1 + random.below(2) }
}

fn any_pairs(random: &mut Random, shards: usize) -> (Pairs, Vec<Vec<u8>>) {
    let tensor = |k: usize| {
        let shape = [1 + random.below(3) as u64, random.below(3) as u64];
        let values: Vec<f32> = (0..shape[0] * shape[1]).map(|_| random.normal() as f32).collect();
        Tensor::floats(&format!("net/layer_{k}"), &shape, &values)
    };
    pairs(&(0..6).map(tensor).collect::<Vec<_>>(), shards)
}

/// Reads all there is.
fn reads(index: Vec<u8>, shards: Vec<Vec<u8>>) -> bool {
    let sources = shards.into_iter().map(Into::into).collect();
    let bundle = TensorBundle::from_sources(&index.into(), sources);
    bundle.is_ok_and(|bundle| bundle.entries().iter().all(|entry| bundle.read_f32(entry).is_ok()))
}

#[test]
fn damaged_descriptions_of_tensors() {
    survive(1, |random| {
        let style = any_style(random);
        let (mut pairs, shards) = any_pairs(random, style.shards);
        let at = random.below(pairs.len());
        let (key, value) = &mut pairs[at];
        let part = if random.chance(0.9) { value } else { key };
        damage(random, part);
        reads(table(&blocks(&pairs, style)), shards)
    });
}

#[test]
fn damaged_blocks() {
    survive(2, |random| {
        let style = any_style(random);
        let (pairs, shards) = any_pairs(random, style.shards);
        let mut blocks = blocks(&pairs, style);
        let at = random.below(blocks.len());
        damage(random, &mut blocks[at].1);
        reads(table(&blocks), shards)
    });
}

#[test]
fn damaged_places_of_blocks() {
    survive(3, |random| {
        let style = any_style(random);
        let (pairs, shards) = any_pairs(random, style.shards);
        let (mut out, mut handles) = (Vec::new(), Vec::new());
        for (key, content) in blocks(&pairs, style) {
            handles.push((key, append(&mut out, &content, u8::from(random.chance(0.02)))));
        }
        if random.chance(0.5) {
            let any = random.below(handles.len());
            let mut number = || random.bits() >> random.below(64);
            handles[any].1 = [varint(number()), varint(number())].concat();
        }
        let mut index = block(&handles, 1 + random.below(3));
        if random.chance(0.3) {
            damage(random, &mut index);
        }
        reads(finished(out, &index), shards)
    });
}

/// Anything anywhere; the checksum of the first block is mended, if it can still be found.
#[test]
fn damaged_files() {
    survive(4, |random| {
        let style = any_style(random);
        let (pairs, mut shards) = any_pairs(random, style.shards);
        let blocks = blocks(&pairs, style);
        let mut index = table(&blocks);
        match random.below(3) {
            0 => damage(random, &mut shards[0]),
            1 => damage(random, &mut index),
            _ => {
                let end = index.len() - 48;
                let mut footer = index.split_off(end + random.below(12));
                damage(random, &mut footer);
                index.extend(footer);
            }
        }
        let first = blocks[0].1.len() + 1;
        if let Some((content, rest)) = index.split_at_mut_checked(first)
            && rest.len() >= 4
        {
            rest[..4].copy_from_slice(&masked(content).to_le_bytes());
        }
        reads(index, shards)
    });
}
