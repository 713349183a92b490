//! Images of cameras, unpacked and shrunk.

use crate::error::{Error, Result};
use crate::files::png_image::{self, MAX_PIXELS, MAX_SIDE, Samples};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// A grey (1) or colour (3) image of bytes, channels last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// 1 or 3.
    pub channels: usize,
    /// All numbers.
    pub values: Vec<u8>,
}

impl Picture {
    /// Unpacks a PNG or a JPEG, told apart by their first bytes.
    pub fn unpacked(bytes: &[u8]) -> Result<Self> {
        match bytes {
            [0xff, 0xd8, ..] => jpeg(bytes),
            [0x89, b'P', b'N', b'G', ..] => png(bytes),
            _ => Err(Error::new("is neither a PNG nor a JPEG image").in_field("data")),
        }
    }

    /// Grey or coloured, as wanted.
    pub fn with_channels(self, channels: usize) -> Self {
        let values = match (self.channels, channels) {
            (1, 3) => self.values.iter().flat_map(|&grey| [grey; 3]).collect(),
            (3, 1) => self.values.chunks_exact(3).map(grey).collect(),
            _ => return self,
        };
        Self { channels, values, ..self }
    }

    /// The size at which no side is longer than `most`, with the same proportions.
    pub fn size_within(&self, most: usize) -> (usize, usize) {
        let long = self.height.max(self.width);
        if long <= most {
            return (self.height, self.width);
        }
        let side = |length: usize| ((length * most + long / 2) / long).max(1);
        (side(self.height), side(self.width))
    }

    /// Another size by area averaging: each new pixel is the mean of what it covers, parts of pixels by their share.
    pub fn resized(&self, (height, width): (usize, usize)) -> Self {
        if (height, width) == (self.height, self.width) {
            return self.clone();
        }
        let (rows, columns) = (covered(self.height, height), covered(self.width, width));
        let mut values = Vec::with_capacity(height * width * self.channels);
        for rows in &rows {
            for columns in &columns {
                for channel in 0..self.channels {
                    let mut sum = 0.0;
                    for &(y, tall) in rows {
                        for &(x, wide) in columns {
                            let value = self.values[(y * self.width + x) * self.channels + channel];
                            sum += tall * wide * f64::from(value);
                        }
                    }
                    values.push(sum.round() as u8);
                }
            }
        }
        Self { height, width, channels: self.channels, values }
    }
}

/// For each new pixel of a line, the old pixels that it covers and their shares, which add up to 1.
fn covered(old: usize, new: usize) -> Vec<Vec<(usize, f64)>> {
    let scale = old as f64 / new as f64;
    let share = |pixel: usize| {
        let (start, end) = (pixel as f64 * scale, (pixel + 1) as f64 * scale);
        let last = (end.ceil() as usize).min(old);
        let part = move |at: usize| (end.min(at as f64 + 1.0) - start.max(at as f64)).max(0.0) / scale;
        (start as usize..last).map(|at| (at, part(at))).collect()
    };
    (0..new).map(share).collect()
}

/// Luma of Rec. 601, which OpenCV takes for grey, too.
fn grey(pixel: &[u8]) -> u8 {
    let [red, green, blue] = [0, 1, 2].map(|at| f64::from(pixel[at]));
    (0.299 * red + 0.587 * green + 0.114 * blue).round() as u8
}

fn jpeg(bytes: &[u8]) -> Result<Picture> {
    let broken = |error: &dyn std::fmt::Debug| Error::new(format!("not a readable JPEG: {error:?}"));
    let options = DecoderOptions::default().set_max_width(MAX_SIDE).set_max_height(MAX_SIDE);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|error| broken(&error))?;
    let info = decoder.info().ok_or_else(|| broken(&"no header"))?;
    let (height, width) = (usize::from(info.height), usize::from(info.width));
    // A packed pixel takes at least a few hundredths of a bit; fewer bytes than this are a lie about the size.
    if height * width > MAX_PIXELS || height * width / 2048 > bytes.len() {
        return Err(Error::new(format!("{} bytes do not hold {width} x {height} pixels", bytes.len())));
    }
    let channels = if info.components == 1 { 1 } else { 3 };
    let colours = if channels == 1 { ColorSpace::Luma } else { ColorSpace::RGB };
    decoder.set_options(options.jpeg_set_out_colorspace(colours));
    let values = decoder.decode().map_err(|error| broken(&error))?;
    if values.len() != height * width * channels || values.is_empty() {
        return Err(broken(&"a part is missing"));
    }
    Ok(Picture { height, width, channels, values })
}

fn png(bytes: &[u8]) -> Result<Picture> {
    let image = png_image::decode(bytes)?;
    let bytes: Vec<u8> = match image.samples {
        Samples::Eight(bytes) => bytes,
        Samples::Sixteen(_) => {
            return Err(Error::new("has 16 bits a pixel, as depth has; images of 8 bits are read"));
        }
    };
    // Opacity is left out.
    let channels = if image.channels < 3 { 1 } else { 3 };
    let values = bytes.chunks_exact(image.channels).flat_map(|pixel| pixel[..channels].to_vec()).collect();
    Ok(Picture { height: image.height, width: image.width, channels, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey_picture(height: usize, width: usize, values: &[u8]) -> Picture {
        Picture { height, width, channels: 1, values: values.to_vec() }
    }

    /// Worked out by hand: 3 pixels to 2, so that the middle one is halved.
    #[test]
    fn shrinks_by_area() {
        let line = grey_picture(1, 3, &[30, 90, 0]);
        assert_eq!(line.resized((1, 2)).values, [50, 30]);
        let square = grey_picture(2, 2, &[0, 100, 20, 40]);
        assert_eq!(square.resized((1, 1)).values, [40]);
        assert_eq!(grey_picture(480, 640, &[]).size_within(64), (48, 64));
        assert_eq!(grey_picture(5, 1000, &[]).size_within(64), (1, 64));
        assert_eq!(grey_picture(5, 10, &[]).size_within(64), (5, 10));
    }

    /// The mean of an image does not change, and a plane stays a plane.
    #[test]
    fn keeps_means() {
        let values: Vec<u8> = (0..60 * 90).map(|i| (i / 90 + i % 90) as u8).collect();
        let small = grey_picture(60, 90, &values).resized((20, 30));
        for (i, &value) in small.values.iter().enumerate() {
            assert_eq!(usize::from(value), 3 * (i / 30) + 3 * (i % 30) + 2, "{i}");
        }
    }

    #[test]
    fn colours_become_grey_and_back() {
        let red = Picture { height: 1, width: 1, channels: 3, values: vec![200, 0, 100] };
        let grey = red.with_channels(1);
        assert_eq!(grey.values, [71]);
        assert_eq!(grey.with_channels(3).values, [71; 3]);
    }
}
