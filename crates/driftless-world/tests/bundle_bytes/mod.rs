//! TensorFlow checkpoints assembled byte by byte from the description of their format, without our code.

// Each test program uses a part of it.
#![allow(dead_code, unreachable_pub)]

/// A tensor of any type.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub name: String,
    /// TensorFlow's number: 1 is float32, 9 is int64.
    pub kind: u64,
    pub shape: Vec<u64>,
    pub data: Vec<u8>,
}

impl Tensor {
    pub fn floats(name: &str, shape: &[u64], values: &[f32]) -> Self {
        let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { name: name.to_owned(), kind: 1, shape: shape.to_vec(), data }
    }
}

/// How a checkpoint is cut into pieces.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub per_restart: usize,
    pub per_block: usize,
    pub shards: usize,
}

/// TensorFlow's, for small checkpoints.
pub const USUAL: Style = Style { per_restart: 16, per_block: usize::MAX, shards: 1 };

pub type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// The bytes of the index and of the data files.
pub fn checkpoint(tensors: &[Tensor], style: Style) -> (Vec<u8>, Vec<Vec<u8>>) {
    let (pairs, shards) = pairs(tensors, style.shards);
    (table(&blocks(&pairs, style)), shards)
}

/// Keys and values of the index, and the data files. Names must come in order.
pub fn pairs(tensors: &[Tensor], shards: usize) -> (Pairs, Vec<Vec<u8>>) {
    let mut data = vec![Vec::new(); shards];
    let header = [number(1, shards as u64), bytes(3, &number(1, 1))].concat();
    let mut pairs = vec![(Vec::new(), header)];
    for (turn, tensor) in tensors.iter().enumerate() {
        let shard = turn % shards;
        pairs.push((tensor.name.clone().into_bytes(), entry(tensor, shard, data[shard].len())));
        data[shard].extend(&tensor.data);
    }
    (pairs, data)
}

fn entry(tensor: &Tensor, shard: usize, offset: usize) -> Vec<u8> {
    let sides = tensor.shape.iter().map(|&side| bytes(2, &number(1, side)));
    let mut out = [number(1, tensor.kind), bytes(2, &sides.collect::<Vec<_>>().concat())].concat();
    out.extend(number(3, shard as u64));
    out.extend(number(4, offset as u64));
    out.extend(number(5, tensor.data.len() as u64));
    out.push(0x35);
    out.extend(masked(&tensor.data).to_le_bytes());
    out
}

/// Key in the index and content of each block.
pub fn blocks(pairs: &Pairs, style: Style) -> Pairs {
    let chunks: Vec<_> = pairs.chunks(style.per_block.min(pairs.len())).collect();
    let last = |chunk: &[(Vec<u8>, Vec<u8>)]| chunk[chunk.len() - 1].0.clone();
    let mut blocks: Pairs =
        chunks.iter().map(|chunk| (last(chunk), block(chunk, style.per_restart))).collect();
    // TensorFlow shortens the last key to one letter above it.
    let end = blocks.last_mut().unwrap();
    end.0 = end.0.first().map(|letter| letter.wrapping_add(1)).into_iter().collect();
    blocks
}

pub fn block(pairs: &[(Vec<u8>, Vec<u8>)], per_restart: usize) -> Vec<u8> {
    let (mut out, mut restarts) = (Vec::new(), Vec::new());
    for (index, (key, value)) in pairs.iter().enumerate() {
        let mut shared = 0;
        if index % per_restart == 0 {
            restarts.push(out.len() as u32);
        } else {
            let before = &pairs[index - 1].0;
            while shared < key.len() && before.get(shared) == Some(&key[shared]) {
                shared += 1;
            }
        }
        out.extend(varint(shared as u64));
        out.extend(varint((key.len() - shared) as u64));
        out.extend(varint(value.len() as u64));
        out.extend(&key[shared..]);
        out.extend(value);
    }
    let count = restarts.len() as u32;
    out.extend(restarts.into_iter().chain([count]).flat_map(u32::to_le_bytes));
    out
}

/// A table of these blocks, with right checksums whatever the blocks hold.
pub fn table(blocks: &Pairs) -> Vec<u8> {
    let mut out = Vec::new();
    let handles: Pairs =
        blocks.iter().map(|(key, content)| (key.clone(), append(&mut out, content, 0))).collect();
    let index = block(&handles, 16);
    finished(out, &index)
}

/// The end of a table: an empty block, the index, the footer.
pub fn finished(mut out: Vec<u8>, index: &[u8]) -> Vec<u8> {
    let mut footer = append(&mut out, &[0, 0, 0, 0, 1, 0, 0, 0], 0);
    footer.extend(append(&mut out, index, 0));
    footer.resize(40, 0);
    footer.extend([0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb]);
    out.extend(footer);
    out
}

/// Appends a block and its trailer; gives its handle.
pub fn append(out: &mut Vec<u8>, content: &[u8], compression: u8) -> Vec<u8> {
    let handle = [varint(out.len() as u64), varint(content.len() as u64)].concat();
    let guarded = [content, &[compression]].concat();
    out.extend(&guarded);
    out.extend(masked(&guarded).to_le_bytes());
    handle
}

/// CRC-32C bit by bit, then rotated and shifted.
pub fn masked(data: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in data {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    let crc = !crc;
    crc.rotate_left(17).wrapping_add(0xa282_ead8)
}

pub fn varint(value: u64) -> Vec<u8> {
    let groups = (64 - value.leading_zeros()).div_ceil(7).max(1);
    (0..groups).map(|k| (value >> (7 * k)) as u8 & 127 | if k + 1 < groups { 128 } else { 0 }).collect()
}

/// A field with a number; zeros are left out.
pub fn number(field: u8, value: u64) -> Vec<u8> {
    if value == 0 { Vec::new() } else { [vec![field << 3], varint(value)].concat() }
}

/// A field with bytes.
pub fn bytes(field: u8, value: &[u8]) -> Vec<u8> {
    [&[field << 3 | 2], varint(value.len() as u64).as_slice(), value].concat()
}
