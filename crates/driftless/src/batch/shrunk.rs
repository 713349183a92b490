//! Images of any size as networks see them: averages over areas.

use driftless_world::trajectory::{Images, Pixels};

/// Images whose longer side is at most `most`, each pixel the mean of the area that it takes the place of; smaller images
/// stay as they are. Bytes stay bytes, rounded.
///
/// ```
/// use driftless::batch::shrunk;
/// use driftless_world::trajectory::{Images, Pixels};
///
/// let pixels = Pixels::Bytes(vec![0, 2, 10, 20, 4, 6, 30, 40]);
/// let small = shrunk(Images { height: 2, width: 4, channels: 1, pixels }, 2);
/// assert_eq!((small.height, small.width, small.pixels), (1, 2, Pixels::Bytes(vec![3, 25])));
/// ```
pub fn shrunk(images: Images, most: usize) -> Images {
    let Images { height, width, channels, .. } = images;
    let longer = height.max(width);
    if longer <= most || most == 0 {
        return images;
    }
    let small = |size: usize| (size * most).div_ceil(longer);
    let (rows, columns) = (shares(height, small(height)), shares(width, small(width)));
    let numbers = |get: &dyn Fn(usize) -> f32| -> Vec<f32> {
        let each =
            |image: usize| averages(|i| get(image * images.stride() + i), [width, channels], &rows, &columns);
        (0..images.len()).flat_map(each).collect()
    };
    let pixels = match &images.pixels {
        Pixels::Bytes(bytes) => {
            let means = numbers(&|i| f32::from(bytes[i]));
            Pixels::Bytes(means.into_iter().map(|x| x.round() as u8).collect())
        }
        Pixels::Floats(floats) => Pixels::Floats(numbers(&|i| floats[i])),
    };
    Images { height: small(height), width: small(width), channels, pixels }
}

/// For each of `to` parts of a line of `from` pixels: the pixels that it covers, and the share that each has of it.
fn shares(from: usize, to: usize) -> Vec<Vec<(usize, f32)>> {
    let part = |k: usize| {
        // In units of a pixel's to-th part all ends are whole numbers.
        let (low, high) = (k * from, (k + 1) * from);
        let covered = |pixel: usize| high.min((pixel + 1) * to) - low.max(pixel * to);
        (low / to..high.div_ceil(to)).map(|pixel| (pixel, covered(pixel) as f32 / from as f32)).collect()
    };
    (0..to).map(part).collect()
}

type Shares = [Vec<(usize, f32)>];

/// One image, channels last: first its rows are made narrower, then there are fewer of them.
fn averages(
    get: impl Fn(usize) -> f32,
    [width, channels]: [usize; 2],
    rows: &Shares,
    columns: &Shares,
) -> Vec<f32> {
    let line = columns.len() * channels;
    let narrow = |row: usize| -> Vec<f32> {
        let pixel = |(column, channel): (usize, usize)| {
            let part = |&(at, share): &(usize, f32)| share * get((row * width + at) * channels + channel);
            columns[column].iter().map(part).sum()
        };
        (0..columns.len()).flat_map(|column| (0..channels).map(move |c| (column, c))).map(pixel).collect()
    };
    let mut all = Vec::with_capacity(rows.len() * line);
    for parts in rows {
        let mut sum = vec![0.0; line];
        for &(row, share) in parts {
            sum.iter_mut().zip(narrow(row)).for_each(|(sum, x)| *sum += share * x);
        }
        all.extend(sum);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An area of 1.5 pixels by 2 is half of the middle one: by hand, and in every channel by itself.
    #[test]
    fn areas_by_hand() {
        let red = [1.0, 2.0, 6.0, 3.0, 4.0, 8.0, 0.0, 0.0, 0.0];
        let pixels = Pixels::Floats(red.iter().flat_map(|&x| [x, 100.0 - x]).collect());
        let small = shrunk(Images { height: 3, width: 3, channels: 2, pixels }, 2);
        let Pixels::Floats(found) = small.pixels else { panic!("floats stay floats") };
        // Columns: (1 + ½ 2) / 1.5 and (½ 2 + 6) / 1.5; the second row counts half in both.
        let lines = [[2.0, 7.0], [5.0, 10.0], [0.0, 0.0]].map(|line| line.map(|x| x / 1.5));
        let expected = [0, 1].map(|k| (lines[0][k] + 0.5 * lines[1][k]) / 1.5);
        let below = [0, 1].map(|k| (0.5 * lines[1][k] + lines[2][k]) / 1.5);
        for (k, expected) in expected.into_iter().chain(below).enumerate() {
            assert!((found[2 * k] - expected).abs() < 1e-5, "{found:?}");
            assert!((found[2 * k + 1] - (100.0 - expected)).abs() < 1e-4, "{found:?}");
        }
    }

    /// Sizes keep their ratio, nothing becomes 0, the mean of all stays, and what is small enough stays.
    #[test]
    fn sizes_and_means() {
        for [height, width] in [[480, 640], [37, 100], [1, 77], [64, 64]] {
            let pixels = Pixels::Floats((0..height * width).map(|k| (k * 31 % 256) as f32).collect());
            let mean = |pixels: &Pixels| {
                (0..pixels.len()).map(|i| f64::from(pixels.get(i))).sum::<f64>() / pixels.len() as f64
            };
            let images = Images { height, width, channels: 1, pixels };
            let before = mean(&images.pixels);
            let small = shrunk(images, 32);
            assert_eq!((small.height.max(small.width), small.len()), (32, 1));
            // Where sides are not multiples of those before, areas are not quite alike.
            assert!((mean(&small.pixels) - before).abs() < 0.5, "{height} {width}");
            assert_eq!(shrunk(small.clone(), 32), small);
        }
    }
}
