//! Damaged records, examples, images and episodes of houses.

use crate::sample;
use crate::survive::{damage, survive};
use driftless_world::Dataset;
use driftless_world::files::example::{self, Example};
use driftless_world::files::pfnet::{
    ChannelOrder, HouseObservation, PfnetFile, PfnetOptions, decode, encode, odometry_residual,
};
use driftless_world::files::png_image;
use driftless_world::files::tfrecord::{RecordFile, write_framed};
use driftless_world::random::Random;
use std::collections::BTreeMap;

#[test]
fn damaged_frames() {
    survive(1, |random| {
        let mut bytes = Vec::new();
        for _ in 0..=random.below(5) {
            let record: Vec<u8> = (0..random.below(60)).map(|_| random.below(256) as u8).collect();
            write_framed(&mut bytes, &record).unwrap();
        }
        // A right header that claims any length, in the middle of the file or at its end.
        if random.chance(0.3) {
            let claimed = random.bits() >> random.below(64);
            let header = claimed.to_le_bytes();
            let crc = crc32c::crc32c(&header).rotate_right(15).wrapping_add(0xa282_ead8);
            bytes.extend(header.into_iter().chain(crc.to_le_bytes()));
            bytes.resize(bytes.len() + random.below(100), 0);
        } else {
            damage(random, &mut bytes);
        }
        let Ok(file) = RecordFile::from_source(bytes.into()) else { return false };
        let mut buffer = Vec::new();
        (0..file.len()).all(|index| file.read(index, &mut buffer).is_ok())
    });
}

fn any_options(random: &mut Random) -> PfnetOptions {
    PfnetOptions {
        image_size: random.chance(0.5).then(|| (1 + random.below(8), 1 + random.below(8))),
        channel_order: if random.chance(0.5) { ChannelOrder::Rgb } else { ChannelOrder::Bgr },
        steps: random.chance(0.2).then(|| 1 + random.below(3)),
        rgb: random.chance(0.8),
        depth: random.chance(0.8),
    }
}

/// Reads the record in every way there is, and writes back what could be read.
fn read_in_every_way(record: &[u8], options: &PfnetOptions) -> bool {
    let mut bytes = Vec::new();
    write_framed(&mut bytes, record).unwrap();
    let file = PfnetFile::from_source(bytes.into(), options.clone()).unwrap();
    let _ = file.without_images(0);
    let Ok(episode) = file.get(0) else { return false };
    odometry_residual(&episode.states, &episode.odometry).unwrap();
    for observation in [HouseObservation::Rgb, HouseObservation::Depth, HouseObservation::RgbDepth] {
        let _ = episode.to_trajectory(observation);
    }
    if episode.rgb.is_some() || episode.depth.is_some() {
        let again = encode(&episode).unwrap();
        let same = PfnetOptions { image_size: None, ..options.clone() };
        assert!(decode(&again, &same).unwrap() == episode, "what was accepted must survive writing");
    }
    true
}

#[test]
fn damaged_examples_with_right_checksums() {
    survive(2, |random| {
        let episode = sample::house_episode(random.bits(), (3, 2), 2, (2, 3));
        let mut record = encode(&episode).unwrap();
        damage(random, &mut record);
        read_in_every_way(&record, &any_options(random))
    });
}

/// A PNG of any kind we know, of few pixels.
fn any_png(random: &mut Random) -> Vec<u8> {
    use png::{BitDepth, ColorType};
    let kinds = [
        (ColorType::Grayscale, BitDepth::Eight),
        (ColorType::Grayscale, BitDepth::Sixteen),
        (ColorType::Grayscale, BitDepth::Two),
        (ColorType::Rgb, BitDepth::Eight),
        (ColorType::Rgba, BitDepth::Eight),
        (ColorType::GrayscaleAlpha, BitDepth::Sixteen),
        (ColorType::Indexed, BitDepth::Eight),
    ];
    let (color, depth) = kinds[random.below(kinds.len())];
    let (width, height) = (1 + random.below(6), 1 + random.below(6));
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == ColorType::Indexed {
        encoder.set_palette(vec![7; 12]);
        encoder.set_trns(vec![9; 3]);
    }
    let row = (width * color.samples() * depth as usize).div_ceil(8);
    let pixels: Vec<u8> = (0..row * height).map(|_| random.below(4) as u8).collect();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels).unwrap();
    writer.finish().unwrap();
    bytes
}

/// Makes the checksums of all chunks right again, so that damage reaches deeper.
fn mend_checksums(png: &mut [u8]) {
    let mut at = 8;
    while let Some(length) = png.get(at..at + 4) {
        let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
        let Some(chunk) = png.get_mut(at + 4..).and_then(|rest| rest.get_mut(..length + 8)) else { return };
        let (content, crc) = chunk.split_at_mut(length + 4);
        let mut sum = flate2::Crc::new();
        sum.update(content);
        crc.copy_from_slice(&sum.sum().to_be_bytes());
        at += length + 12;
    }
}

fn damaged_png(random: &mut Random, mend: bool) -> bool {
    let mut png = any_png(random);
    damage(random, &mut png);
    if mend {
        mend_checksums(&mut png);
    }
    let _ = png_image::size(&png);
    let accepted = png_image::decode(&png).is_ok();
    // The same image as a map or as the first camera image of a record.
    let whole = encode(&sample::house_episode(1, (3, 2), 1, (2, 3))).unwrap();
    let parsed = Example::parse(&whole).unwrap();
    let mut features: BTreeMap<&str, Vec<Vec<u8>>> = parsed
        .names()
        .map(|name| (name, parsed.bytes(name).unwrap().unwrap().first().unwrap().to_vec()))
        .map(|(name, bytes)| (name, vec![bytes]))
        .collect();
    let replaced = ["map_wall", "map_roomid", "rgb", "depth"][random.below(4)];
    features.insert(replaced, vec![png]);
    read_in_every_way(&example::encode(&features), &any_options(random));
    accepted
}

#[test]
fn damaged_pngs() {
    survive(3, |random| damaged_png(random, false));
}

#[test]
fn damaged_pngs_with_right_checksums() {
    survive(4, |random| damaged_png(random, true));
}
