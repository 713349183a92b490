//! Convolutions that halve an image and transposed ones that double it, padded as TensorFlow does.

use crate::parameters::Init;
use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn::tensor::module::{conv_transpose2d, conv2d};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions};

/// Height and width of all kernels.
pub(super) const KERNEL: usize = 3;
/// Pixels between the places of a kernel.
pub(super) const STRIDE: usize = 2;

/// What TensorFlow's "SAME" puts before and after `size` pixels: for kernels of 3 and strides of 2
/// (0, 1) if the size is even and (1, 1) if it is odd.
pub(super) fn same_padding(size: usize) -> (usize, usize) {
    let total = (halved(size) - 1) * STRIDE + KERNEL - size;
    (total / 2, total - total / 2)
}

/// ⌈size / 2⌉: how many pixels a convolution makes of `size`.
pub fn halved(size: usize) -> usize {
    size.div_ceil(STRIDE)
}

/// A convolution with 3x3 kernels, stride 2 and "SAME" padding: y\[o, r, c\] = b\[o\] +
/// Σ x\[i, 2r + u - p, 2c + v - p\] W\[o, i, u, v\] with p zeros put before, which is 0 for even sizes.
#[derive(Module, Debug)]
pub struct Conv {
    /// W, [outputs, inputs, 3, 3].
    pub weight: Param<Tensor<4>>,
    /// b, one number an output channel.
    pub bias: Param<Tensor<1>>,
}

impl Conv {
    /// A layer with the first weights of Sonnet 1; a unit has 9 times `inputs` inputs.
    pub fn new(inputs: usize, outputs: usize, init: &mut Init) -> Self {
        let weight = init.truncated_normal([outputs, inputs, KERNEL, KERNEL], std(inputs));
        Self { weight, bias: init.constant([outputs], 0.0) }
    }

    /// [B, inputs, H, W] → [B, outputs, ⌈H / 2⌉, ⌈W / 2⌉].
    pub fn forward(&self, images: Tensor<4>) -> Tensor<4> {
        let [_, _, height, width] = images.dims();
        let mut options = ConvOptions::new([STRIDE; 2], [0; 2], [1; 2], 1);
        options.padding = [same_padding(height), same_padding(width)];
        conv2d(images, self.weight.val(), Some(self.bias.val()), options)
    }
}

/// The transpose of [`Conv`], as TensorFlow's `conv2d_transpose` with "SAME" padding: pixel (r, c)
/// of the input adds x W\[.., u, v\] to pixel (2r + u - p, 2c + v - p) of the output, if that exists.
#[derive(Module, Debug)]
pub struct Deconv {
    /// W, [inputs, outputs, 3, 3].
    pub weight: Param<Tensor<4>>,
    /// b, one number an output channel.
    pub bias: Param<Tensor<1>>,
}

impl Deconv {
    /// A layer with the first weights of Sonnet 1, which counts 9 times `inputs` inputs of a unit.
    pub fn new(inputs: usize, outputs: usize, init: &mut Init) -> Self {
        let weight = init.truncated_normal([inputs, outputs, KERNEL, KERNEL], std(inputs));
        Self { weight, bias: init.constant([outputs], 0.0) }
    }

    /// [B, inputs, h, w] → [B, outputs, H, W] for `size` = [H, W].
    ///
    /// # Panics
    /// If a [`Conv`] does not make h x w of H x W: of 3 pixels come 5 or 6, nothing else.
    pub fn forward(&self, images: Tensor<4>, size: [usize; 2]) -> Tensor<4> {
        let [_, _, height, width] = images.dims();
        assert_eq!([height, width], size.map(halved), "no transposed convolution leads to {size:?}");
        let options = ConvTransposeOptions::new([STRIDE; 2], [0; 2], [0; 2], [1; 2], 1);
        let whole = conv_transpose2d(images, self.weight.val(), Some(self.bias.val()), options);
        size.iter().enumerate().fold(whole, |image, (k, &size)| {
            let (before, _) = same_padding(size);
            image.slice_dim(k + 2, before..before + size)
        })
    }

    /// [B, inputs, h, w] → [B, outputs, 2h, 2w].
    pub fn doubled(&self, images: Tensor<4>) -> Tensor<4> {
        let [_, _, height, width] = images.dims();
        self.forward(images, [STRIDE * height, STRIDE * width])
    }
}

fn std(inputs: usize) -> f64 {
    ((KERNEL * KERNEL * inputs) as f64).sqrt().recip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, f64s, numbers};
    use burn::tensor::{DType, Device, TensorData};
    use driftless_world::random::Random;

    fn init() -> Init {
        Init::new(5, &Device::flex().autodiff(), DType::F64)
    }

    /// One channel, kernel 1 2 3 / 4 5 6 / 7 8 9, bias 10.
    fn counting() -> (Conv, Deconv) {
        let weight = || init().values([1, 1, 3, 3], (1..10).map(f64::from).collect());
        let bias = || init().values([1], vec![10.0]);
        (Conv { weight: weight(), bias: bias() }, Deconv { weight: weight(), bias: bias() })
    }

    /// Even sizes: the kernel starts at the first pixel and hangs out behind. A 2x2 image 1 2 / 3 4
    /// meets 1 2 / 4 5. Odd sizes: it hangs out on both sides, so the first pixel of a 3x3 image
    /// meets the 5.
    #[test]
    fn same_padding_by_hand() {
        assert_eq!([1, 2, 3, 4, 5, 24].map(same_padding), [(1, 1), (0, 1), (1, 1), (0, 1), (1, 1), (0, 1)]);
        let (conv, _) = counting();
        let two = f64s::<4>([[[[1.0, 2.0], [3.0, 4.0]]]]);
        assert_eq!(numbers(&conv.forward(two)), [10.0 + 1.0 + 4.0 + 12.0 + 20.0]);
        let mut pixels = [[0.0; 3]; 3];
        pixels[0][0] = 1.0;
        assert_eq!(numbers(&conv.forward(f64s([[pixels]]))), [15.0, 10.0, 10.0, 10.0]);
        pixels = [[1.0; 3]; 3];
        // The four corners see 5 6 8 9, 4 5 7 8, 2 3 5 6 and 1 2 4 5.
        assert_eq!(numbers(&conv.forward(f64s([[pixels]]))), [38.0, 34.0, 26.0, 22.0]);
    }

    /// One pixel becomes the kernel, its end cut off if the size is even, its rim if it is odd.
    #[test]
    fn transposed_by_hand() {
        let (_, deconv) = counting();
        let one = f64s::<4>([[[[1.0]]]]);
        assert_eq!(numbers(&deconv.doubled(one.clone())), [11.0, 12.0, 14.0, 15.0]);
        assert_eq!(numbers(&deconv.forward(one, [1, 1])), [15.0]);
        // Two pixels side by side overlap in one column: 3·1 + 1·10.
        let two = deconv.doubled(f64s::<4>([[[[1.0, 10.0]]]]));
        assert_eq!(numbers(&two)[..4], [11.0, 12.0, 10.0 + 3.0 + 10.0, 30.0]);
    }

    fn noise(shape: [usize; 4]) -> Tensor<4> {
        let mut random = Random::new(8);
        let values = (0..shape.iter().product()).map(|_| random.normal()).collect::<Vec<_>>();
        f64s(TensorData::new(values, shape))
    }

    /// Plain loops over the formula. Sums of 36 products of a few units: rounding below 1e-13.
    #[test]
    fn against_loops() {
        for [height, width] in [[6, 4], [5, 7], [1, 2]] {
            let (images, conv) = (noise([2, 4, height, width]), Conv::new(4, 3, &mut init()));
            let (x, w) = (numbers(&images), numbers(&conv.weight.val()));
            let (rows, columns) = (halved(height), halved(width));
            let mut expected = vec![0.0; 2 * 3 * rows * columns];
            for (k, sum) in expected.iter_mut().enumerate() {
                let (column, row) = (k % columns, k / columns % rows);
                let (output, image) = (k / columns / rows % 3, k / columns / rows / 3);
                for tap in 0..4 * 9 {
                    let (input, u, v) = (tap / 9, tap / 3 % 3, tap % 3);
                    let y = (2 * row + u).wrapping_sub(height % 2);
                    let z = (2 * column + v).wrapping_sub(width % 2);
                    if y < height && z < width {
                        *sum += x[((image * 4 + input) * height + y) * width + z] * w[output * 36 + tap];
                    }
                }
            }
            let found = conv.forward(images);
            assert_eq!(found.dims(), [2, 3, rows, columns]);
            assert_close(&numbers(&found), &expected, 1e-13);
        }
    }

    /// ⟨conv(x), y⟩ = ⟨x, deconv(y)⟩ for the same weights: what transposed means.
    #[test]
    fn transposed_means_transposed() {
        for size in [[6, 4], [5, 7], [24, 24]] {
            let (x, y) = (noise([2, 4, size[0], size[1]]), noise([2, 3, halved(size[0]), halved(size[1])]));
            let conv = Conv::new(4, 3, &mut init());
            let transposed = Deconv { weight: conv.weight.clone(), bias: init().constant([4], 0.0) };
            let forth = numbers(&(conv.forward(x.clone()) * y.clone()).sum())[0];
            let back = numbers(&(transposed.forward(y, size) * x).sum())[0];
            // Sums of at most 4608 numbers of order 1.
            assert!((forth - back).abs() < 1e-10 && forth.abs() > 1e-3, "{forth} is not {back}");
        }
    }

    #[test]
    #[should_panic(expected = "no transposed convolution leads to [7, 6]")]
    fn sizes_must_fit() {
        counting().1.forward(noise([1, 1, 3, 3]), [7, 6]);
    }
}
