//! PF-net's network once more, in 64 bits and plain loops, straight from its description.

use std::collections::HashMap;

/// Tensors by name.
pub(super) type Tensors = HashMap<String, Vec<f64>>;

/// Pixels row after row, channels together.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) side: usize,
    pub(super) channels: usize,
    pub(super) numbers: Vec<f64>,
}

impl Image {
    pub(super) fn at(&self, y: isize, x: isize, c: usize) -> Option<f64> {
        let inside = |at: isize| usize::try_from(at).ok().filter(|&at| at < self.side);
        Some(self.numbers[(inside(y)? * self.side + inside(x)?) * self.channels + c])
    }

    fn new(side: usize, channels: usize) -> Self {
        Self { side, channels, numbers: vec![0.0; side * side * channels] }
    }
}

/// SAME, stride 1.
fn convolve(image: &Image, tensors: &Tensors, name: &str, side: usize, dilation: usize) -> Image {
    let (kernel, bias) = (&tensors[&format!("{name}.kernel")], &tensors[&format!("{name}.bias")]);
    let mut out = Image::new(image.side, bias.len());
    let (reach, outputs) = ((side / 2 * dilation) as isize, bias.len());
    for (pixel, out) in out.numbers.chunks_mut(outputs).enumerate() {
        out.copy_from_slice(bias);
        let (y, x) = ((pixel / image.side) as isize, (pixel % image.side) as isize);
        for tap in 0..side * side {
            let (u, v) = ((tap / side * dilation) as isize, (tap % side * dilation) as isize);
            for c in 0..image.channels {
                if let Some(number) = image.at(y + u - reach, x + v - reach, c) {
                    let weights = &kernel[(tap * image.channels + c) * outputs..][..outputs];
                    out.iter_mut().zip(weights).for_each(|(out, weight)| *out += number * weight);
                }
            }
        }
    }
    out
}

/// Channels of images side by side.
fn concat(images: &[Image]) -> Image {
    let side = images[0].side;
    let pixel = |p: usize| images.iter().flat_map(move |i| &i.numbers[p * i.channels..(p + 1) * i.channels]);
    let numbers = (0..side * side).flat_map(pixel).copied().collect();
    Image { side, channels: images.iter().map(|image| image.channels).sum(), numbers }
}

fn norm_relu(image: &Image, tensors: &Tensors, name: &str) -> Image {
    let count = image.numbers.len() as f64;
    let mean = image.numbers.iter().sum::<f64>() / count;
    let variance = image.numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    let (gamma, beta) = (&tensors[&format!("{name}.gamma")], &tensors[&format!("{name}.beta")]);
    let number = |(k, x): (usize, &f64)| {
        let c = k % image.channels;
        (gamma[c] * (x - mean) / (variance + 1e-12).sqrt() + beta[c]).max(0.0)
    };
    Image { numbers: image.numbers.iter().enumerate().map(number).collect(), ..*image }
}

/// Maxima of 3x3 pixels, two apart; what is outside does not count.
fn pool(image: &Image, side: usize) -> Image {
    let mut out = Image::new(side, image.channels);
    for (k, out) in out.numbers.iter_mut().enumerate() {
        let (c, pixel) = (k % image.channels, k / image.channels);
        let (y, x) = ((pixel / side * 2) as isize, (pixel % side * 2) as isize);
        let under = (0..9).filter_map(|k| image.at(y + k / 3, x + k % 3, c));
        *out = under.fold(f64::NEG_INFINITY, f64::max);
    }
    out
}

pub(super) fn observation(image: &Image, tensors: &Tensors) -> Image {
    let layer =
        |name: &str, side, dilation| convolve(image, tensors, &format!("observation.{name}"), side, dilation);
    let first = concat(&[
        layer("l1_conv3", 3, 1),
        layer("l1_conv5", 5, 1),
        layer("l1_conv5_d2", 5, 2),
        layer("l1_conv5_d4", 5, 4),
    ]);
    let first = norm_relu(&pool(&first, 28), tensors, "observation.LayerNorm");
    let second = pool(&convolve(&first, tensors, "observation.l2_conv3", 3, 1), 14);
    norm_relu(&second, tensors, "observation.LayerNorm_1")
}

pub(super) fn map(view: &Image, tensors: &Tensors) -> Image {
    let layer = |name: &str, side, dilation| convolve(view, tensors, &format!("map.{name}"), side, dilation);
    let first = concat(&[
        layer("l1_conv3", 3, 1),
        layer("l1_conv5", 5, 1),
        layer("l1_conv7", 7, 1),
        layer("l1_conv7_d2", 7, 2),
        layer("l1_conv7_d3", 7, 3),
    ]);
    let first = pool(&norm_relu(&first, tensors, "map.LayerNorm"), 14);
    let second = |name: &str, side| convolve(&first, tensors, &format!("map.{name}"), side, 1);
    norm_relu(&concat(&[second("l2_conv3", 3), second("l2_conv5", 5)]), tensors, "map.LayerNorm_1")
}

/// The log-likelihood of features of map and image.
pub(super) fn joint(map: &Image, image: &Image, tensors: &Tensors) -> f64 {
    let both = concat(&[map.clone(), image.clone()]);
    let local = |name: &str, side: usize, pad: isize| {
        let (kernel, bias) =
            (&tensors[&format!("joint.{name}.kernel")], &tensors[&format!("joint.{name}.bias")]);
        let mut out = Image::new(12, 8);
        for (k, out) in out.numbers.iter_mut().enumerate() {
            let (place, output) = (k / 8, k % 8);
            let (y, x) = ((place / 12) as isize - pad, (place % 12) as isize - pad);
            let mut sum = bias[k];
            for tap in 0..side * side {
                for c in 0..24 {
                    let number =
                        both.at(y + (tap / side) as isize, x + (tap % side) as isize, c).unwrap_or(0.0);
                    sum += number * kernel[((place * side * side + tap) * 24 + c) * 8 + output];
                }
            }
            *out = sum.max(0.0);
        }
        out
    };
    let pooled = pool(&concat(&[local("l1_conv3", 3, 0), local("l1_conv5", 5, 1)]), 5);
    let last = pooled.numbers.iter().zip(&tensors["joint.fc1.kernel"]).map(|(x, w)| x * w).sum::<f64>();
    last + tensors["joint.fc1.bias"][0]
}

/// The view from a pose, by PF-net's chain of matrices in normalised coordinates.
pub(super) fn view(map: &[f64], [width, height]: [usize; 2], pose: [f64; 3], rigid: bool) -> Image {
    let (w, h) = (width as f64, height as f64);
    // A rigid view is the released one of a square map, moved to where it is.
    let (sw, sh) = if rigid { (w.max(h), w.max(h)) } else { (w, h) };
    let [x, y, heading] = pose;
    let turn = -heading - std::f64::consts::FRAC_PI_2;
    let mut out = Image::new(28, 1);
    for (k, out) in out.numbers.iter_mut().enumerate() {
        let grid = |k: usize| 2.0 * k as f64 / 27.0 - 1.0;
        let (gx, gy) = (grid(k % 28) * 224.0 / sw, (grid(k / 28) - 1.0) * 224.0 / sh);
        let (cos, sin) = (turn.cos(), turn.sin());
        let normal = [cos * gx + sin * gy + 2.0 * x / sw - 1.0, -sin * gx + cos * gy + 2.0 * y / sh - 1.0];
        let at = [(normal[0] + 1.0) * sw / 2.0, (normal[1] + 1.0) * sh / 2.0];
        let [x0, y0] = at.map(f64::floor);
        let clip = |at: f64, size: f64| at.clamp(0.0, size - 1.0);
        let (x0, x1, y0, y1) = (clip(x0, w), clip(x0 + 1.0, w), clip(y0, h), clip(y0 + 1.0, h));
        let pixel = |x: f64, y: f64| map[y as usize * width + x as usize];
        let sum = (x1 - at[0]) * (y1 - at[1]) * pixel(x0, y0)
            + (x1 - at[0]) * (at[1] - y0) * pixel(x0, y1)
            + (at[0] - x0) * (y1 - at[1]) * pixel(x1, y0)
            + (at[0] - x0) * (at[1] - y0) * pixel(x1, y1);
        *out = -(sum - 1.0);
    }
    out
}
