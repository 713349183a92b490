//! Writes PF-net's record files.

use super::stack::swap_red_and_blue;
use super::{ChannelOrder, HouseEpisode};
use crate::error::{Error, Result};
use crate::files::Overwrite;
use crate::files::example;
use crate::files::png_image::{encode_grey8, encode_grey16, encode_rgb8};
use crate::files::tfrecord::RecordWriter;
use crate::files::{DataWriter, Entry};
use crate::trajectory::{Images, Pixels};
use std::collections::BTreeMap;
use std::path::Path;

/// Encodes an episode as a record, always to the same bytes. Threads may encode episodes side by side
/// and hand them in order to [`PfnetWriter::push_encoded`].
pub fn encode(episode: &HouseEpisode) -> Result<Vec<u8>> {
    episode.check()?;
    if episode.rgb.is_none() && episode.depth.is_none() {
        return Err(Error::new("an episode without rgb and depth images cannot be read back"));
    }
    let mut features = encode_maps(episode)?;
    features.insert("states", vec![raw_rows(&episode.states)]);
    features.insert("odometry", vec![raw_rows(&episode.odometry)]);
    if let Some(images) = &episode.rgb {
        let pngs = encode_rgb(images, episode.channel_order).map_err(|error| error.in_field("rgb"))?;
        features.insert("rgb", pngs);
    }
    if let Some(images) = &episode.depth {
        let pngs = encode_depth(images).map_err(|error| error.in_field("depth"))?;
        features.insert("depth", pngs);
    }
    Ok(example::encode(&features))
}

fn encode_maps(episode: &HouseEpisode) -> Result<BTreeMap<&'static str, Vec<Vec<u8>>>> {
    let maps = &episode.maps;
    // A row of the PNG is a column of the house.
    let (rows, columns) = (maps.width, maps.height);
    let room_id =
        match maps.room_id.iter().map(|&id| u8::try_from(id)).collect::<std::result::Result<Vec<u8>, _>>() {
            Ok(bytes) => encode_grey8(rows, columns, &bytes)?,
            Err(_) => encode_grey16(rows, columns, &maps.room_id)?,
        };
    let pngs = [
        ("map_wall", encode_grey8(rows, columns, &maps.wall)?),
        ("map_door", encode_grey8(rows, columns, &maps.door)?),
        ("map_roomtype", encode_grey16(rows, columns, &maps.room_type)?),
        ("map_roomid", room_id),
    ];
    Ok(pngs.into_iter().map(|(name, png)| (name, vec![png])).collect())
}

fn raw_rows(rows: &[[f32; 3]]) -> Vec<u8> {
    rows.iter().flatten().flat_map(|number| number.to_le_bytes()).collect()
}

fn encode_rgb(images: &Images, order: ChannelOrder) -> Result<Vec<Vec<u8>>> {
    let Pixels::Bytes(bytes) = &images.pixels else {
        return Err(Error::new("colour images of floats cannot be written; they must be bytes"));
    };
    let mut scratch = Vec::new();
    let encode_one = |image: &[u8]| {
        if order == ChannelOrder::Rgb {
            return encode_rgb8(images.height, images.width, image);
        }
        scratch.clear();
        scratch.extend_from_slice(image);
        swap_red_and_blue(&mut scratch);
        encode_rgb8(images.height, images.width, &scratch)
    };
    bytes.chunks_exact(images.stride()).map(encode_one).collect()
}

fn encode_depth(images: &Images) -> Result<Vec<Vec<u8>>> {
    let (height, width, stride) = (images.height, images.width, images.stride());
    match &images.pixels {
        Pixels::Bytes(bytes) => {
            bytes.chunks_exact(stride).map(|image| encode_grey8(height, width, image)).collect()
        }
        Pixels::Floats(floats) => floats
            .chunks_exact(stride)
            .map(|image| {
                let words: Result<Vec<u16>> = image.iter().map(|&value| whole_word(value)).collect();
                encode_grey16(height, width, &words?)
            })
            .collect(),
    }
}

fn whole_word(value: f32) -> Result<u16> {
    if value >= 0.0 && value <= f32::from(u16::MAX) && value.fract() == 0.0 {
        return Ok(value as u16);
    }
    Err(Error::new(format!("{value} is not a whole number from 0 to 65535; round before writing")))
}

/// A record file being written; it appears under its name when committed.
#[derive(Debug)]
pub struct PfnetWriter {
    records: RecordWriter,
    count: usize,
}

impl PfnetWriter {
    /// Starts a file.
    pub fn create(path: impl AsRef<Path>, overwrite: Overwrite) -> Result<Self> {
        Ok(Self { records: RecordWriter::create(path, overwrite)?, count: 0 })
    }

    /// Encodes and appends an episode.
    pub fn push(&mut self, episode: &HouseEpisode) -> Result<()> {
        let record = encode(episode).map_err(|error| error.in_record(format!("record {}", self.count)))?;
        self.push_encoded(&record)
    }

    /// Appends an episode that [`encode`] has made.
    pub fn push_encoded(&mut self, record: &[u8]) -> Result<()> {
        self.records.push(record)?;
        self.count += 1;
        Ok(())
    }

    /// Makes the file appear, complete.
    pub fn commit(self) -> Result<()> {
        self.records.commit()
    }
}

impl DataWriter for PfnetWriter {
    fn push(&mut self, entry: &Entry) -> Result<()> {
        let Entry::House(record) = entry else {
            return Err(Error::new("PF-net's layout stores walks through houses alone, with floor maps"));
        };
        self.push_encoded(record)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.commit()
    }
}
