//! Takes one PF-net record apart and checks everything in it.

use super::stack::decode_stack;
use super::{HouseEpisode, HouseMaps, PfnetOptions, check_rows, same_count};
use crate::error::{Error, Result};
use crate::files::example::{ByteStrings, Example};
use crate::files::png_image::{self, Samples};

/// What a record holds, without decoding its images.
#[derive(Clone, Debug, PartialEq)]
pub struct HouseSummary {
    /// True states, all steps.
    pub states: Vec<[f32; 3]>,
    /// Odometry, all steps.
    pub odometry: Vec<[f32; 3]>,
    /// Pixels of the maps along x and y.
    pub map_size: (usize, usize),
    /// Height and width of the stored colour images, if there are any.
    pub rgb_size: Option<(usize, usize)>,
    /// Height and width of the stored depth images, if there are any.
    pub depth_size: Option<(usize, usize)>,
}

/// Reads everything of a record that is cheap to read; of images only the first one's header.
pub fn summarize(record: &[u8]) -> Result<HouseSummary> {
    let example = Example::parse(record)?;
    let (states, odometry) = motion(&example)?;
    let map_size = in_feature("map_wall", || png_image::size(single(&example, "map_wall")?))?;
    let size = |name| {
        let images = images_of(&example, name, states.len())?;
        images.map(|images| in_feature(name, || png_image::size(images.first()?))).transpose()
    };
    let (rgb_size, depth_size) = (size("rgb")?, size("depth")?);
    Ok(HouseSummary { states, odometry, map_size, rgb_size, depth_size })
}

/// Decodes a record as the options say.
pub fn decode(record: &[u8], options: &PfnetOptions) -> Result<HouseEpisode> {
    options.check()?;
    let example = Example::parse(record)?;
    let (mut states, mut odometry) = motion(&example)?;
    let rgb = images_of(&example, "rgb", states.len())?;
    let depth = images_of(&example, "depth", states.len())?;
    if rgb.is_none() && depth.is_none() {
        return Err(Error::new("has neither the feature rgb nor depth; one of them is needed"));
    }
    if let Some(steps) = options.steps {
        if states.len() < steps {
            return Err(Error::new(format!("has {} steps; {steps} were asked for", states.len())));
        }
        states.truncate(steps);
        odometry.truncate(steps);
        odometry[steps - 1] = [0.0; 3];
    }
    let stack = |name, images: Option<ByteStrings<'_>>, wanted: bool, channels| {
        let images = images.filter(|_| wanted);
        images
            .map(|images| in_feature(name, || decode_stack(images, states.len(), channels, options)))
            .transpose()
    };
    let rgb = stack("rgb", rgb, options.rgb, 3)?;
    let depth = stack("depth", depth, options.depth, 1)?;
    let maps = maps(&example)?;
    Ok(HouseEpisode { maps, states, odometry, rgb, depth, channel_order: options.channel_order })
}

fn in_feature<T>(name: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    read().map_err(|error| error.in_field(name))
}

fn single<'a>(example: &Example<'a>, name: &str) -> Result<&'a [u8]> {
    let Some(strings) = example.bytes(name)? else {
        return Err(Error::new("is missing").in_field(name));
    };
    if strings.len() != 1 {
        return Err(
            Error::new(format!("holds {} byte strings; one was expected", strings.len())).in_field(name)
        );
    }
    strings.first()
}

type Steps = Vec<[f32; 3]>;

fn motion(example: &Example<'_>) -> Result<(Steps, Steps)> {
    let states = in_feature("states", || rows(single(example, "states")?))?;
    let odometry = in_feature("odometry", || {
        let odometry = rows(single(example, "odometry")?)?;
        same_count(odometry.len(), "rows", states.len())?;
        Ok(odometry)
    })?;
    Ok((states, odometry))
}

fn rows(bytes: &[u8]) -> Result<Steps> {
    let (rows, rest) = bytes.as_chunks::<12>();
    if !rest.is_empty() {
        return Err(Error::new(format!(
            "{} bytes are no whole rows of three float32 (12 bytes)",
            bytes.len()
        )));
    }
    let float = |row: &[u8; 12], i: usize| f32::from_le_bytes([row[i], row[i + 1], row[i + 2], row[i + 3]]);
    let rows: Steps = rows.iter().map(|row| [float(row, 0), float(row, 4), float(row, 8)]).collect();
    check_rows(&rows)?;
    Ok(rows)
}

fn images_of<'a>(example: &Example<'a>, name: &str, steps: usize) -> Result<Option<ByteStrings<'a>>> {
    let images = example.bytes(name)?;
    if let Some(images) = images {
        in_feature(name, || same_count(images.len(), "images", steps))?;
    }
    Ok(images)
}

fn maps(example: &Example<'_>) -> Result<HouseMaps> {
    let (width, height, wall) = map(example, "map_wall", None)?;
    let size = Some((width, height));
    let door = map(example, "map_door", size)?.2;
    Ok(HouseMaps {
        width,
        height,
        wall: in_feature("map_wall", || bytes_of(wall))?,
        door: in_feature("map_door", || bytes_of(door))?,
        room_type: words_of(map(example, "map_roomtype", size)?.2),
        room_id: words_of(map(example, "map_roomid", size)?.2),
    })
}

fn map(
    example: &Example<'_>,
    name: &str,
    expected: Option<(usize, usize)>,
) -> Result<(usize, usize, Samples)> {
    in_feature(name, || {
        let png = single(example, name)?;
        // A row of the PNG is a column of the house.
        let (width, height) = png_image::size(png)?;
        if let Some((w, h)) = expected.filter(|&expected| expected != (width, height)) {
            return Err(Error::new(format!(
                "is {width} x {height} pixels (x, y), but map_wall is {w} x {h}"
            )));
        }
        let image = png_image::decode(png)?;
        if image.channels != 1 {
            return Err(Error::new(format!("a PNG with {} channels; maps are grey", image.channels)));
        }
        Ok((width, height, image.samples))
    })
}

fn bytes_of(samples: Samples) -> Result<Vec<u8>> {
    match samples {
        Samples::Eight(bytes) => Ok(bytes),
        Samples::Sixteen(words) => words
            .iter()
            .map(|&word| {
                u8::try_from(word).map_err(|_| Error::new(format!("holds {word}; 0 to 255 is possible")))
            })
            .collect(),
    }
}

fn words_of(samples: Samples) -> Vec<u16> {
    match samples {
        Samples::Eight(bytes) => bytes.into_iter().map(u16::from).collect(),
        Samples::Sixteen(words) => words,
    }
}
