//! PNG images as plain arrays, with sizes checked before memory is taken.

use crate::error::{Error, Result};
use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Limits, Transformations};
use std::io::Cursor;

/// Longest side of an image that is decoded.
pub const MAX_SIDE: usize = 1 << 14;
/// Most pixels of an image that is decoded.
pub const MAX_PIXELS: usize = 1 << 26;
/// Most bytes of a decoded image, all channels together.
const MAX_BYTES: usize = 1 << 28;
/// Deflate cannot expand its input further than this.
const MAX_EXPANSION: usize = 1032;

/// The numbers of an image: rows from top to bottom, channels last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Samples {
    /// 8 bits a number; what had fewer bits is stretched to 0..=255.
    Eight(Vec<u8>),
    /// 16 bits a number.
    Sixteen(Vec<u16>),
}

/// A decoded image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PngImage {
    /// Number of rows.
    pub height: usize,
    /// Number of columns.
    pub width: usize,
    /// 1 grey, 2 grey and opacity, 3 RGB, 4 RGB and opacity. Palettes become RGB.
    pub channels: usize,
    /// height × width × channels numbers.
    pub samples: Samples,
}

fn broken(error: &png::DecodingError) -> Error {
    Error::new(format!("not a readable PNG: {error}"))
}

fn decoder(bytes: &[u8]) -> Decoder<Cursor<&[u8]>> {
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: 1 << 24 });
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder
}

/// Height and width, from the header alone.
pub fn size(bytes: &[u8]) -> Result<(usize, usize)> {
    checked_size(bytes, &mut decoder(bytes))
}

fn checked_size(bytes: &[u8], decoder: &mut Decoder<Cursor<&[u8]>>) -> Result<(usize, usize)> {
    let info = decoder.read_header_info().map_err(|error| broken(&error))?;
    let (height, width) = (info.height as usize, info.width as usize);
    if height > MAX_SIDE || width > MAX_SIDE || height * width > MAX_PIXELS {
        return Err(Error::new(format!(
            "an image of {width} x {height} pixels; at most {MAX_SIDE} a side and {MAX_PIXELS} in all are \
             accepted"
        )));
    }
    let raw_bytes = height * info.raw_row_length();
    if raw_bytes / MAX_EXPANSION > bytes.len() {
        return Err(Error::new(format!(
            "{} bytes cannot hold the {width} x {height} pixels its header claims",
            bytes.len()
        )));
    }
    Ok((height, width))
}

/// Decodes an image; of an animation, the first picture.
pub fn decode(bytes: &[u8]) -> Result<PngImage> {
    let mut decoder = decoder(bytes);
    let (height, width) = checked_size(bytes, &mut decoder)?;
    let mut reader = decoder.read_info().map_err(|error| broken(&error))?;
    let size = reader.output_buffer_size().filter(|&size| size <= MAX_BYTES);
    let Some(size) = size else {
        return Err(Error::new(format!("an image of more than {MAX_BYTES} bytes")));
    };
    let mut raw = vec![0; size];
    let frame = reader.next_frame(&mut raw).map_err(|error| broken(&error))?;
    if (frame.height as usize, frame.width as usize) != (height, width) {
        return Err(Error::new("an animation whose first picture is smaller than the image"));
    }
    let samples = match frame.bit_depth {
        BitDepth::Sixteen => {
            Samples::Sixteen(raw.as_chunks().0.iter().map(|&pair| u16::from_be_bytes(pair)).collect())
        }
        _ => Samples::Eight(raw),
    };
    Ok(PngImage { height, width, channels: frame.color_type.samples(), samples })
}

/// Encodes a grey image, 8 bits a pixel.
pub fn encode_grey8(height: usize, width: usize, values: &[u8]) -> Result<Vec<u8>> {
    encode(height, width, ColorType::Grayscale, BitDepth::Eight, values)
}

/// Encodes a grey image, 16 bits a pixel.
pub fn encode_grey16(height: usize, width: usize, values: &[u16]) -> Result<Vec<u8>> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
    encode(height, width, ColorType::Grayscale, BitDepth::Sixteen, &bytes)
}

/// Encodes a colour image, 3 × 8 bits a pixel.
pub fn encode_rgb8(height: usize, width: usize, values: &[u8]) -> Result<Vec<u8>> {
    encode(height, width, ColorType::Rgb, BitDepth::Eight, values)
}

fn encode(height: usize, width: usize, color: ColorType, depth: BitDepth, bytes: &[u8]) -> Result<Vec<u8>> {
    if height == 0 || width == 0 || height > MAX_SIDE || width > MAX_SIDE || height * width > MAX_PIXELS {
        return Err(Error::new(format!("an image of {width} x {height} pixels cannot be written as PNG")));
    }
    let expected = height * width * color.samples() * (depth as usize / 8);
    if bytes.len() != expected {
        return Err(Error::new(format!("{} bytes of pixels where {expected} were expected", bytes.len())));
    }
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, width as u32, height as u32);
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.set_compression(Compression::Fast);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(bytes)?;
        writer.finish()
    });
    written.map_err(|error| Error::new(format!("cannot encode the image: {error}")))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(count: usize) -> Vec<u8> {
        let mut random = crate::random::Random::new(3);
        (0..count).map(|_| random.below(256) as u8).collect()
    }

    fn encoded(color: ColorType, depth: BitDepth, palette: Option<&'static [u8]>, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = Encoder::new(&mut out, 2, 2);
        encoder.set_color(color);
        encoder.set_depth(depth);
        if let Some(palette) = palette {
            encoder.set_palette(palette);
        }
        encoder.write_header().unwrap().write_image_data(data).unwrap();
        out
    }

    #[test]
    fn round_trips_what_it_writes() {
        let bytes = noise(5 * 7 * 3);
        let image = decode(&encode_rgb8(5, 7, &bytes).unwrap()).unwrap();
        assert_eq!(
            image,
            PngImage { height: 5, width: 7, channels: 3, samples: Samples::Eight(bytes.clone()) }
        );
        let image = decode(&encode_grey8(15, 7, &bytes).unwrap()).unwrap();
        assert_eq!(
            image,
            PngImage { height: 15, width: 7, channels: 1, samples: Samples::Eight(bytes.clone()) }
        );
        let wide: Vec<u16> = bytes.iter().map(|&byte| u16::from(byte) * 251).collect();
        let image = decode(&encode_grey16(15, 7, &wide).unwrap()).unwrap();
        assert_eq!(image, PngImage { height: 15, width: 7, channels: 1, samples: Samples::Sixteen(wide) });
    }

    #[test]
    fn reads_opacity_palettes_and_few_bits() {
        let rgba = noise(16);
        let image = decode(&encoded(ColorType::Rgba, BitDepth::Eight, None, &rgba)).unwrap();
        assert_eq!((image.channels, image.samples), (4, Samples::Eight(rgba)));
        let palette: &[u8] = &[9, 8, 7, 1, 2, 3];
        let image =
            decode(&encoded(ColorType::Indexed, BitDepth::Eight, Some(palette), &[0, 1, 1, 0])).unwrap();
        assert_eq!(
            (image.channels, image.samples),
            (3, Samples::Eight(vec![9, 8, 7, 1, 2, 3, 1, 2, 3, 9, 8, 7]))
        );
        let image = decode(&encoded(ColorType::Grayscale, BitDepth::One, None, &[0x80, 0x40])).unwrap();
        assert_eq!((image.channels, image.samples), (1, Samples::Eight(vec![255, 0, 0, 255])));
    }

    #[test]
    fn refuses_large_claims_and_damage() {
        let good = encode_grey8(4, 4, &noise(16)).unwrap();
        assert_eq!(size(&good).unwrap(), (4, 4));
        let claiming = |width: u32, height: u32| {
            let mut png = good.clone();
            png[16..20].copy_from_slice(&width.to_be_bytes());
            png[20..24].copy_from_slice(&height.to_be_bytes());
            let crc = crc32(&png[12..29]);
            png[29..33].copy_from_slice(&crc.to_be_bytes());
            decode(&png).unwrap_err().to_string()
        };
        assert!(claiming(1 << 30, 1 << 30).contains("16384 a side"), "{}", claiming(1 << 30, 1 << 30));
        assert!(claiming(1 << 14, 1 << 13).contains("in all"));
        assert!(claiming(1 << 13, 1 << 13).contains("cannot hold"));
        assert!(claiming(0, 4).contains("not a readable PNG"));
        assert!(decode(&good[..good.len() - 20]).is_err());
        assert!(decode(b"GIF89a").unwrap_err().to_string().contains("not a readable PNG"));
        assert!(encode_grey8(0, 4, &[]).is_err());
        assert!(encode_grey8(2, 4, &[0; 7]).unwrap_err().to_string().contains("7 bytes"));
    }

    fn crc32(bytes: &[u8]) -> u32 {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum()
    }
}
