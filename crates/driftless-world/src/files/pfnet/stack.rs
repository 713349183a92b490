//! The camera images of an episode: decoded, brought to one size and stacked.

use super::resize::resize_bilinear;
use super::{ChannelOrder, PfnetOptions};
use crate::error::{Error, Result};
use crate::files::example::ByteStrings;
use crate::files::png_image::{self, Samples};
use crate::trajectory::{Images, Pixels};

/// Most numbers in all colour images of an episode; a byte each.
const MAX_RGB_NUMBERS: usize = 1 << 27;
/// Most numbers in all depth images of an episode; four bytes each if the files have 16 bits.
const MAX_DEPTH_NUMBERS: usize = 1 << 25;

/// Height and width.
type Size = (usize, usize);

/// Decodes the first `steps` images, all of one size; `channels` is 3 for colour and 1 for depth.
pub(super) fn decode_stack(
    images: ByteStrings<'_>,
    steps: usize,
    channels: usize,
    options: &PfnetOptions,
) -> Result<Images> {
    let from = png_image::size(images.first()?)?;
    let (height, width) = options.image_size.unwrap_or(from);
    let limit = if channels == 3 { MAX_RGB_NUMBERS } else { MAX_DEPTH_NUMBERS };
    if steps.saturating_mul(height * width * channels) > limit {
        return Err(Error::new(format!(
            "{steps} images of {width} x {height} are more than {limit} numbers; ask for smaller images or \
             fewer steps"
        )));
    }
    let mut pixels = Pixels::Bytes(Vec::new());
    for (i, png) in images.iter().take(steps).enumerate() {
        append(&mut pixels, png, from, (height, width), channels)
            .map_err(|error| Error::new(format!("image {i}: {error}")))?;
    }
    if let (3, ChannelOrder::Bgr, Pixels::Bytes(bytes)) = (channels, options.channel_order, &mut pixels) {
        swap_red_and_blue(bytes);
    }
    Ok(Images { height, width, channels, pixels })
}

/// Turns RGB into BGR and back.
pub(super) fn swap_red_and_blue(bytes: &mut [u8]) {
    bytes.as_chunks_mut::<3>().0.iter_mut().for_each(|pixel| pixel.reverse());
}

fn append(pixels: &mut Pixels, png: &[u8], from: Size, to: Size, channels: usize) -> Result<()> {
    let size = png_image::size(png)?;
    if size != from {
        let [(h, w), (h0, w0)] = [size, from];
        return Err(Error::new(format!("{w} x {h} pixels, but image 0 has {w0} x {h0}")));
    }
    let image = png_image::decode(png)?;
    match (channels, image.channels, image.samples) {
        (3, 3, Samples::Eight(bytes)) => append_bytes(pixels, bytes, from, to, 3),
        (3, 4, Samples::Eight(bytes)) => {
            let opaque = bytes.as_chunks::<4>().0.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect();
            append_bytes(pixels, opaque, from, to, 3);
        }
        (1, 1, Samples::Eight(bytes)) => append_bytes(pixels, bytes, from, to, 1),
        (1, 1, Samples::Sixteen(words)) => {
            let resized = if from == to {
                words.into_iter().map(f32::from).collect()
            } else {
                resize_bilinear(&words, from, to, 1)
            };
            as_floats(pixels).extend(resized);
        }
        (_, found, samples) => {
            let bits = if matches!(samples, Samples::Eight(_)) { 8 } else { 16 };
            let expected = if channels == 3 { "RGB with 8 bits" } else { "grey with 8 or 16 bits" };
            return Err(Error::new(format!(
                "a PNG with {found} channels of {bits} bits; {expected} was expected"
            )));
        }
    }
    Ok(())
}

fn append_bytes(pixels: &mut Pixels, bytes: Vec<u8>, from: Size, to: Size, channels: usize) {
    // Mixing whole numbers stays between them, so the rounded result is a byte.
    let resized = if from == to {
        bytes
    } else {
        resize_bilinear(&bytes, from, to, channels).into_iter().map(|value| value as u8).collect()
    };
    match pixels {
        Pixels::Bytes(all) => all.extend(resized),
        Pixels::Floats(all) => all.extend(resized.into_iter().map(f32::from)),
    }
}

/// The numbers as floats, converting the bytes that are there: one 16-bit image makes all of them so.
fn as_floats(pixels: &mut Pixels) -> &mut Vec<f32> {
    if let Pixels::Bytes(bytes) = pixels {
        *pixels = Pixels::Floats(bytes.iter().map(|&byte| f32::from(byte)).collect());
    }
    match pixels {
        Pixels::Floats(floats) => floats,
        Pixels::Bytes(_) => unreachable!("just converted"),
    }
}
