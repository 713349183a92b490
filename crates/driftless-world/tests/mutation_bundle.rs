//! Damaged checkpoints by the ten thousand: each is read or refused, none panics, hangs or takes all memory.
//!
//! Inputs are numbered, so a failure can be repeated: its message names the number. Damage is done before
//! checksums are computed, or they would catch all of it at the door.

mod bundle_bytes;

use bundle_bytes::{Pairs, Style, Tensor, append, block, blocks, finished, masked, pairs, table, varint};
use driftless_world::files::tensor_bundle::TensorBundle;
use driftless_world::random::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

const INPUTS: u64 = 24_000;
const THREADS: u64 = 4;
const MEMORY_LIMIT: u64 = 1 << 30;

/// One test at a time: memory is measured for the whole process, and every thread reserves some.
static TURN: Mutex<()> = Mutex::new(());

/// Runs `reads` on numbered randomness; it says whether the input was accepted. Both outcomes must occur,
/// or the damage is too small or too large to test anything.
fn survive(seed: u64, reads: fn(&mut Random) -> bool) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = peak_address_space();
    let attempt = move |input: &u64| {
        let read = AssertUnwindSafe(|| reads(&mut Random::stream(seed, *input)));
        catch_unwind(read).unwrap_or_else(|_| panic!("input {input} of seed {seed} panics"))
    };
    let share = |first| move || (first..INPUTS).step_by(THREADS as usize).filter(attempt).count() as u64;
    let accepted: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|first| scope.spawn(share(first))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no input panics")).sum()
    });
    eprintln!("{INPUTS} inputs, {accepted} accepted");
    assert!(accepted > INPUTS / 1000 && accepted < INPUTS / 2, "{accepted} of {INPUTS} accepted");
    if let (Some(before), Some(after)) = (before, peak_address_space()) {
        assert!(after - before < MEMORY_LIMIT, "{} bytes were taken", after - before);
    } else {
        eprintln!("SKIPPED: this system does not tell how much memory a process took");
    }
}

/// The largest address space so far: unlike resident memory it counts what was taken but not touched.
fn peak_address_space() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Damages `bytes` in one to three places.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    const TELLING: [u8; 8] = [0x00, 0x01, 0x08, 0x12, 0x7f, 0x80, 0xfe, 0xff];
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(12)).min(bytes.len());
        let telling = TELLING[random.below(TELLING.len())];
        match random.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = telling,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => bytes.extend_from_within(at..end),
            5 => drop(bytes.splice(at..at, vec![telling; end - at])),
            _ => bytes[at..end].fill(telling),
        }
    }
}

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
