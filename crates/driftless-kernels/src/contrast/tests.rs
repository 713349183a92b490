//! The loss by hand, its gradient by differences of itself, and the same for any number of threads.

use super::*;
use crate::images::{ImagePlan, Padding};
use crate::padded;
use crate::ranks::{Alone, Played};
use crate::testing::numbers;

fn pair(seed: u64) -> Pair {
    let plan = ImagePlan { image: [2, 6, 5], channels: vec![16, 20], features: 18, padding: Padding::Same };
    let mut frame_encoder = ImageNet::new(plan);
    frame_encoder.set_conv(0, &numbers(16 * 18, seed), &numbers(16, seed + 1));
    frame_encoder.set_conv(1, &numbers(20 * 16 * 9, seed + 2), &numbers(20, seed + 3));
    let weight = numbers(frame_encoder.mask() * 18, seed + 4);
    frame_encoder.set_dense(|i, o| weight[i * 18 + o], &numbers(18, seed + 5));
    let mut last = Layer::new([18, 12], false);
    let weight = numbers(18 * 12, seed + 6);
    last.set_by(|i, o| weight[i * 12 + o], &numbers(12, seed + 7));
    let mut places = Mlp::new(5, &[20, 12], false);
    for (k, layer) in places.layers_mut().iter_mut().enumerate() {
        let ([inputs, outputs], salt) = (layer.shape(), seed + 8 + 2 * k as u64);
        let weight = numbers(inputs * outputs, salt);
        layer.set_by(|i, o| weight[i * outputs + o], &numbers(outputs, salt + 1));
    }
    Pair { frame_encoder, last, places, sharpness: 3.0 }
}

fn inputs(images: usize, each: usize) -> (Vec<f32>, Vec<f32>) {
    let mut places = vec![0.0; images * each * padded(5)];
    for (k, row) in places.chunks_exact_mut(padded(5)).enumerate() {
        row[..5].copy_from_slice(&numbers(5, 100 + k as u64));
    }
    (numbers(images * 60, 99), places)
}

fn loss(pair: &Pair, images: usize, each: usize) -> (f64, PairGradient) {
    let (pixels, places) = inputs(images, each);
    let examples = Examples { images: &pixels, masks: None, places: &places };
    pair.contrast(Cpu::best(), &examples, &Alone, &mut Workspace::default()).unwrap()
}

/// With one image all places are its own, and nothing can be confused. With κ = 0 all scores are the same: log of
/// the number of images.
#[test]
fn extremes_by_hand() {
    let (value, gradient) = loss(&pair(1), 1, 3);
    assert!(value.abs() < 1e-6 && gradient.sharpness.abs() < 1e-6, "{value}");
    let blunt = Pair { sharpness: 0.0, ..pair(1) };
    assert!((loss(&blunt, 21, 2).0 - 21.0_f64.ln()).abs() < 1e-6);
}

/// κ by differences of the loss in 32 bits: a step of 1e-2 leaves a curvature of 1e-4 and a rounding of 1e-5.
#[test]
fn the_derivative_by_sharpness() {
    let at = |sharpness: f32| loss(&Pair { sharpness, ..pair(1) }, 21, 2).0;
    let expected = (at(3.01) - at(2.99)) / 0.02;
    let found = loss(&pair(1), 21, 2).1.sharpness;
    assert!((found - expected).abs() < 1e-3, "{found} {expected}");
}

/// Used again for fewer images, a workspace leaves no trace; and threads make no difference.
#[test]
fn the_same_bytes_again() {
    let (pair, mut workspace) = (pair(1), Workspace::default());
    let mut results = Vec::new();
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for images in [40, 21] {
            let (pixels, places) = inputs(images, 2);
            let examples = Examples { images: &pixels, masks: None, places: &places };
            let found =
                pool.install(|| pair.contrast(Cpu::best(), &examples, &Alone, &mut workspace).unwrap());
            let once = pair.contrast(Cpu::best(), &examples, &Alone, &mut Workspace::default()).unwrap();
            assert_eq!(format!("{found:?}"), format!("{once:?}"));
            results.push(format!("{found:?}"));
        }
    }
    assert_eq!(results[..2], results[2..4]);
    assert_eq!(results[..2], results[4..]);
}

/// On any number of ranks, each of which does some parts; three parts here, of which four ranks leave one idle.
#[test]
fn ranks_make_no_difference() {
    let (pair, (pixels, places)) = (pair(1), inputs(40, 2));
    let alone = format!("{:?}", loss(&pair, 40, 2));
    for size in 1..=4 {
        let found = Played::each(size, |ranks| {
            let examples = Examples { images: &pixels, masks: None, places: &places };
            // Used before, for others.
            let mut workspace = Workspace::default();
            let fewer =
                Examples { images: &pixels[..21 * 60], masks: None, places: &places[..42 * padded(5)] };
            pair.contrast(Cpu::best(), &fewer, &ranks, &mut workspace).unwrap();
            format!("{:?}", pair.contrast(Cpu::best(), &examples, &ranks, &mut workspace).unwrap())
        });
        assert!(found.iter().all(|found| *found == alone), "{size} ranks");
    }
}

/// Scores of all places with each image, one by one and from an atlas.
fn scores(pair: &Pair, cpu: Cpu) -> [Vec<f32>; 2] {
    let (pixels, places) = inputs(3, 9);
    let (mut memory, mut seen, mut cosines) = (PairMemory::default(), Vec::new(), Vec::new());
    pair.see(cpu, &pixels, &mut memory, &mut seen);
    let mut all = Vec::new();
    for seen in seen.chunks_exact(pair.width()) {
        let mut scores = vec![0.0; 27];
        pair.scores(cpu, seen, &places, &mut memory, &mut scores);
        all.extend(scores);
    }
    pair.look_up(cpu, &seen, &pair.atlas(cpu, &places), &mut cosines);
    let rows = cosines.chunks_exact(padded(27)).flat_map(|row| &row[..27]);
    [all, rows.map(|cosine| pair.sharpness * cosine).collect()]
}

/// The network as it was trained is the reference. A feature is a sum of up to 21 numbers, whose magnitudes add up to
/// less than 20 times the features' length here: 21 · 20 roundings of 6e-8 are 2.5e-5 of a cosine for each of two
/// encoders in each of two pairs, and κ is 3.
#[test]
fn rotated_features_have_the_same_cosines() {
    for width in [20, 12, 7] {
        let mut pair = pair(1);
        let mut places = Mlp::new(5, &[width, 12], false);
        for (k, layer) in places.layers_mut().iter_mut().enumerate() {
            let ([inputs, outputs], salt) = (layer.shape(), 70 + 2 * k as u64);
            let weight = numbers(inputs * outputs, salt);
            // An input without any weight has nothing to be reflected.
            layer.set_by(
                |i, o| if i == 2 { 0.0 } else { weight[i * outputs + o] },
                &numbers(outputs, salt + 1),
            );
        }
        pair.places = places;
        let rotated = pair.rotated();
        let last = &rotated.places.layers()[1];
        assert!((0..width.min(12)).all(|i| (i + 1..12).all(|o| last.weight(i, o) == 0.0)));
        assert!(last.weight(4, 3) != 0.0 && last.weight(4, 3) != pair.places.layers()[1].weight(4, 3));
        for cpu in Cpu::all() {
            for (found, expected) in scores(&rotated, cpu).iter().zip(scores(&pair, cpu)) {
                let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(worst < 3e-4, "{cpu:?}: {worst}");
                assert!(expected.iter().any(|score| score.abs() > 0.5), "{expected:?} say nothing");
            }
        }
    }
}
