//! Images of cameras: raw pixels, PNG and JPEG.

use super::{Cursor, Encoding, Kind, header};
use crate::error::{Error, Result};
use crate::files::camera::Picture;
use crate::files::png_image::{MAX_PIXELS, MAX_SIDE};

/// Decodes an image.
pub fn picture(kind: Kind, encoding: Encoding, bytes: &[u8]) -> Result<Picture> {
    let mut cursor = Cursor::new(encoding, bytes)?;
    header(&mut cursor)?;
    if kind == Kind::CompressedImage {
        cursor.text()?; // the format's name, of which every driver has its own
        return Picture::unpacked(cursor.bytes()?);
    }
    let (height, width) = (cursor.u32()? as usize, cursor.u32()? as usize);
    let named = cursor.text()?;
    cursor.u8()?; // the byte order, which bytes do not have
    let step = cursor.u32()? as usize;
    let data = cursor.bytes()?;
    // Bytes of a pixel, and which of them are red, green and blue, or grey.
    let (size, order): (usize, &[usize]) = match named.to_lowercase().as_str() {
        "rgb8" => (3, &[0, 1, 2]),
        "bgr8" | "8uc3" => (3, &[2, 1, 0]),
        "rgba8" => (4, &[0, 1, 2]),
        "bgra8" | "8uc4" => (4, &[2, 1, 0]),
        "mono8" | "8uc1" => (1, &[0]),
        _ => {
            return Err(Error::new(format!("{named:?} is not read; rgb8, bgr8, rgba8, bgra8 and mono8 are"))
                .in_field("encoding"));
        }
    };
    let room = height > 0 && width > 0 && height <= MAX_SIDE && width <= MAX_SIDE;
    if !room || height * width > MAX_PIXELS || step < width * size || data.len() / height < step {
        return Err(Error::new(format!(
            "{width} x {height} pixels in rows of {step} bytes do not fit its {} bytes",
            data.len()
        ))
        .in_field("data"));
    }
    let pixels = data.chunks_exact(step).take(height).flat_map(|row| row[..width * size].chunks_exact(size));
    let values = pixels.flat_map(|pixel| order.iter().map(|&at| pixel[at])).collect();
    Ok(Picture { height, width, channels: order.len(), values })
}
