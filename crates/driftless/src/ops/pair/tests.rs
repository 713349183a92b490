//! The kernels against the same with tensors and automatic differentiation.

use super::*;
use crate::model::{Encoder, Measurement};
use crate::nets::ConvPlan;
use crate::parameters::{Init, gradients};
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless_core::{Particles, Space};
use driftless_kernels::ranks::Alone;
use driftless_world::random::Random;

fn matcher(plan: ConvPlan, widths: &[usize], seed: u64) -> Matcher {
    let mut init = Init::new(seed, &Device::flex().autodiff(), DType::F32);
    let inner = plan.features;
    let last = widths[widths.len() - 1];
    let frame_encoder = Projected::new(ImageEncoder::new(plan, &mut init), inner, last, &mut init);
    let places = PlaceEncoder::new(Waves::new([50.0, 20.0], 100.0, 3), widths, &mut init);
    SharpMatch::new(frame_encoder, places, &init)
}

/// The loss and its gradients with tensors.
fn with_tensors(matcher: &Matcher, images: &[f32], poses: &Particles, phase: Phase) -> (f64, Vec<Named>) {
    let device = Device::flex().autodiff();
    let [channels, height, width] = matcher.observation.inner.plan().image;
    let count = images.len() / (channels * height * width);
    let data = TensorData::new(images.to_vec(), [count, 1, channels, height, width]);
    let seen = matcher.observation.encode(Tensor::<5>::from_data(data, (&device, DType::F32)), phase);
    let flat: Vec<f32> = (0..poses.len()).flat_map(|i| poses.state(i)).collect();
    let poses = Tensor::from_data(TensorData::new(flat, [1, poses.len(), 3]), (&device, DType::F32));
    let loss = matcher.contrast(seen.swap_dims(0, 1), poses);
    let found = gradients(matcher, &loss.backward());
    (loss.try_to_vec_as::<f64>().unwrap()[0], found)
}

/// √Σ(a - b)², and √Σb².
fn apart(a: &[f64], b: &[f64]) -> [f64; 2] {
    let apart = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    [apart, b.iter().map(|b| b * b).sum::<f64>().sqrt()]
}

/// Images of odd sizes, one image, one pose, widths that are not multiples of anything: the same loss, and the
/// same derivatives by all parameters, within rounding of 32 bits through a dozen layers.
#[test]
fn the_same_as_with_tensors() {
    let plan = |image, channels: &[usize], features| ConvPlan {
        image,
        channels: channels.to_vec(),
        keep: 0.5,
        features,
    };
    let cases = [
        (plan([3, 24, 24], &[16, 32, 64], 128), vec![128, 128, 128], 40, 4),
        (plan([1, 5, 4], &[6, 8], 10), vec![7, 5], 17, 1),
        (plan([2, 7, 9], &[3], 21), vec![33], 3, 5),
        (plan([3, 8, 8], &[16, 16], 16), vec![16, 16], 1, 2),
    ];
    for (seed, (plan, widths, count, each)) in cases.into_iter().enumerate() {
        let mut random = Random::new(seed as u64 + 10);
        let matcher = matcher(plan.clone(), &widths, seed as u64);
        let pixels = count * plan.image.iter().product::<usize>();
        let images: Vec<f32> = (0..pixels).map(|_| random.normal() as f32).collect();
        let mut pose =
            || [random.range(0.0, 100.0), random.range(0.0, 40.0), random.range(-3.0, 3.0)].map(|x| x as f32);
        let poses = Particles::from_states(Space::SE2, (0..count * each).map(|_| pose()));
        for phase in [Phase::Evaluation, Phase::Training { seed: 5 }] {
            let (expected, by_tensors) = with_tensors(&matcher, &images, &poses, phase);
            let frame_encoder = FrameEncoder::of(&matcher);
            let (found, by_kernels) =
                frame_encoder.contrast(&images, &poses, phase, (&Alone, &mut Workspace::default())).unwrap();
            assert!((found - expected).abs() < 1e-5 * (1.0 + expected), "{plan:?}: {found}, not {expected}");
            assert_eq!(by_kernels.len(), by_tensors.len());
            let length = apart(&[], &by_tensors.iter().flat_map(|g| g.values.clone()).collect::<Vec<_>>())[1];
            for (found, expected) in by_kernels.iter().zip(&by_tensors) {
                assert_eq!((&found.name, &found.shape), (&expected.name, &expected.shape));
                let [error, size] = apart(&found.values, &expected.values);
                assert!(
                    error < 1e-4 * size + 1e-6 * length + 1e-7,
                    "{plan:?} {}: {error} of {size}",
                    found.name
                );
            }
        }
    }
}

/// What images say of poses is what the measurement says with tensors; one by one, or looked up in an atlas, in
/// rotated features too. An image that was lost says nothing.
#[test]
fn scores_as_with_tensors() {
    let plan = ConvPlan { image: [3, 9, 8], channels: vec![16, 8], keep: 0.5, features: 20 };
    let matcher = matcher(plan, &[24, 30], 3);
    let mut random = Random::new(1);
    let mut images: Vec<f32> = (0..5 * 216).map(|_| random.normal() as f32).collect();
    images[3 * 216 + 7] = f32::NAN;
    let mut pose =
        || [random.range(0.0, 100.0), random.range(0.0, 40.0), random.range(-3.0, 3.0)].map(|x| x as f32);
    let poses = Particles::from_states(Space::SE2, (0..101).map(|_| pose()));
    let device = Device::flex();
    let data = TensorData::new(images.clone(), [1, 5, 3, 9, 8]);
    let cues = matcher.encode(&Tensor::from_data(data, (&device, DType::F32)).autodiff(), Phase::Evaluation);
    let flat: Vec<f32> = (0..101).flat_map(|i| poses.state(i)).collect();
    let states = Tensor::<3>::from_data(TensorData::new(flat, [1, 101, 3]), (&device, DType::F32)).autodiff();
    let frame_encoder = FrameEncoder::of(&matcher);
    for frame_encoder in [frame_encoder.rotated(), frame_encoder] {
        check_scores(&frame_encoder, &images, &poses, |t| {
            matcher.log_likelihood(&cues, t, states.clone()).try_to_vec_as::<f64>().unwrap()
        });
    }
}

fn check_scores(
    frame_encoder: &FrameEncoder,
    images: &[f32],
    poses: &Particles,
    expected: impl Fn(usize) -> Vec<f64>,
) {
    let mut workspace = EncoderWorkspace::default();
    let (mut seen, atlas) = (Vec::new(), frame_encoder.atlas(poses));
    frame_encoder.encode(images, &mut workspace, &mut seen);
    let mut looked_up = Vec::new();
    frame_encoder.look_up(&seen, &atlas, &mut looked_up);
    let wide = looked_up.len() / 5;
    for t in 0..5 {
        let mut found = vec![0.0; 101];
        frame_encoder.scores(
            &seen[t * frame_encoder.width()..][..frame_encoder.width()],
            poses,
            &mut workspace,
            &mut found,
        );
        for (k, expected) in expected(t).into_iter().enumerate() {
            let expected = if t == 3 { 0.0 } else { expected };
            for found in [found[k], frame_encoder.sharpness() * looked_up[t * wide + k]].map(f64::from) {
                assert!((found - expected).abs() < 1e-4, "{t} {k}: {found}, not {expected}");
            }
        }
    }
}
