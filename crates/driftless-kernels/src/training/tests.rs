//! The whole step against differences of itself, and the same for any number of threads.

use super::*;
use crate::images::{ImagePlan, Padding};
use crate::mlp::Mlp;
use crate::ranks::{Alone, Played};
use crate::testing::numbers;

const COUNT: usize = 11;

/// Networks whose weights are moved by `step` along a direction without a pattern.
fn networks(step: f32) -> Networks {
    let moved = |count: usize, salt: u64| -> Vec<f32> {
        let (weights, way) = (numbers(count, salt), direction(count, salt));
        weights.iter().zip(way).map(|(x, way)| 0.5 * x + step * way).collect()
    };
    let plan = ImagePlan { image: [2, 6, 5], channels: vec![16, 20], features: 18, padding: Padding::Same };
    let mut frame_encoder = ImageNet::new(plan.clone());
    frame_encoder.set_conv(0, &moved(16 * 18, 1), &numbers(16, 2));
    frame_encoder.set_conv(1, &moved(20 * 16 * 9, 3), &numbers(20, 4));
    let weight = moved(frame_encoder.mask() * 18, 5);
    frame_encoder.set_dense(|i, o| weight[i * 18 + o], &numbers(18, 6));
    let mut layers = Mlp::new(4, &[10, 18], true);
    for (k, layer) in layers.layers_mut().iter_mut().enumerate() {
        let ([inputs, outputs], salt) = (layer.shape(), 7 + 2 * k as u64);
        let weight = moved(inputs * outputs, salt);
        layer.set_by(|i, o| weight[i * outputs + o], &numbers(outputs, salt + 1));
    }
    let poses = PoseNet { layers, centre: [0.0; 2], extent: [30.0; 2], epsilon: 1e-2 };
    let mut decoder = DecoderNet::new(plan, false);
    let weight = moved(18 * frame_encoder.mask(), 11);
    let inner = frame_encoder.mask();
    decoder.set_dense(|i, o| weight[i * inner + o], &numbers(inner, 12));
    decoder.set_deconv(0, &moved(20 * 16 * 9, 13), &numbers(16, 14));
    decoder.set_deconv(1, &moved(16 * 2 * 9, 15), &numbers(2, 16));
    Networks { frame_encoder, poses, decoder }
}

fn direction(count: usize, salt: u64) -> Vec<f32> {
    numbers(count, salt + 100)
}

/// The gradient along that direction.
fn along(nets: &Networks, by: &Gradient) -> f64 {
    let layer = |k: usize| {
        let [inputs, outputs] = nets.poses.layers.layers()[k].shape();
        let all = (0..inputs * outputs).map(|at| by.poses[k].of(at / outputs, at % outputs, outputs));
        all.collect::<Vec<f32>>()
    };
    let parts = [
        (nets.frame_encoder.conv_gradient(0, &by.frame_encoder), 1),
        (nets.frame_encoder.conv_gradient(1, &by.frame_encoder), 3),
        (nets.frame_encoder.dense_gradient(&by.frame_encoder), 5),
        (layer(0), 7),
        (layer(1), 9),
        (nets.decoder.dense_gradient(&by.decoder)[0].clone(), 11),
        (nets.decoder.deconv_gradient(0, &by.decoder)[0].clone(), 13),
        (nets.decoder.deconv_gradient(1, &by.decoder)[0].clone(), 15),
    ];
    let dot = |(gradient, salt): &(Vec<f32>, u64)| {
        let way = direction(gradient.len(), *salt);
        gradient.iter().zip(way).map(|(g, way)| f64::from(g * way)).sum::<f64>()
    };
    parts.iter().map(dot).sum()
}

struct Data {
    images: Vec<f32>,
    masks: Vec<f32>,
    triples: Vec<[f32; 3]>,
    offsets: Vec<f32>,
}

impl Data {
    fn new(steps: usize, salt: u64) -> Self {
        let nets = networks(0.0);
        let masks = numbers(steps * nets.frame_encoder.mask(), salt + 1).into_iter();
        let flat = numbers(3 * steps * COUNT, salt + 2);
        Self {
            images: numbers(steps * nets.frame_encoder.pixels(), salt),
            masks: masks.map(|x| if x > 0.0 { 2.0 } else { 0.0 }).collect(),
            triples: flat.chunks_exact(3).map(|x| [10.0 * x[0], 10.0 * x[1], x[2]]).collect(),
            offsets: vec![0.5; steps],
        }
    }

    fn lesson(&self) -> Lesson<'_> {
        let (steps, noise) = (self.offsets.len(), &self.triples[..]);
        let Self { triples, offsets, .. } = self;
        let (first, actions) = (&triples[..COUNT], &triples[..steps]);
        let sequence = Sequence { first, actions, noise, offsets, seen: &[] };
        Lesson { images: &self.images, masks: Some(&self.masks), sequence }
    }
}

const PATH: Path = Path { motion: Motion { side: 1.0, noise: [2.0, 2.0, 0.2] }, first: First::Stays };

/// Pulls at all log l with numbers times a strength, and says what that comes to; by stretches.
struct Strength(f32, usize);

impl SequenceLoss for Strength {
    fn stretch(&self) -> usize {
        self.1
    }

    fn gradient(
        &self,
        lesson: usize,
        trace: &Trace,
        steps: Range<usize>,
        log_gradients: &mut [f32],
    ) -> Figures {
        assert_eq!(trace.weights.len(), steps.end * COUNT);
        let all = numbers(7 * COUNT, 500 + lesson as u64);
        let strengths = all[steps.start * COUNT..].iter().map(|x| self.0 * x);
        log_gradients.iter_mut().zip(strengths).for_each(|(pull, strength)| *pull = strength);
        let logs = &trace.log_likelihoods[steps.start * COUNT..];
        let terms = log_gradients.iter().zip(logs).map(|(pull, log)| f64::from(pull * log));
        [terms.sum(), log_gradients.len() as f64, 0.0]
    }
}

fn learn(
    nets: &Networks,
    data: &[Data],
    (strength, reconstruction): (f32, f32),
    workspace: &mut Workspace,
) -> (Figures, f64, Gradient) {
    let lessons: Vec<Lesson> = data.iter().map(Data::lesson).collect();
    // Another mask than the filter's.
    let masks: Vec<Option<&[f32]>> = data.iter().rev().map(|data| Some(&data.masks[..])).collect();
    let decoded =
        if reconstruction > 0.0 { Decoded::Through(reconstruction, &masks) } else { Decoded::Nothing };
    let sequence_loss = Strength(strength, usize::MAX);
    nets.learn_from(Cpu::best(), &PATH, (&lessons, decoded), &sequence_loss, &Alone, workspace).unwrap()
}

fn data(count: u64, steps: usize) -> Vec<Data> {
    (0..count).map(|k| Data::new(steps, 50 + 10 * k)).collect()
}

/// One step each, so that no ancestor changes with the weights. Over ± 2⁻¹³ bends and rounding make some 2e-4 of the
/// difference; over 2⁻¹⁰ bends make 1 %.
#[test]
fn the_gradient_of_all_networks() {
    let data = data(5, 1);
    let value = |step: f32| {
        let (said, pixels, _) = learn(&networks(step), &data, (0.1, 0.01), &mut Workspace::default());
        said[0] + 0.01 * pixels
    };
    let step = 2.0_f32.powi(-13);
    let expected = (value(step) - value(-step)) / (2.0 * f64::from(step));
    let (_, _, gradient) = learn(&networks(0.0), &data, (0.1, 0.01), &mut Workspace::default());
    let found = along(&networks(0.0), &gradient);
    assert!((found / expected - 1.0).abs() < 0.002, "{found}, not {expected}");
}

/// A batch is its lessons; a workspace used before leaves no trace; threads make no difference.
#[test]
fn the_same_bytes_again() {
    let (nets, data, mut workspace) = (networks(0.0), data(19, 7), Workspace::default());
    let once = learn(&nets, &data, (0.1, 0.01), &mut workspace);
    assert_eq!(once.0[1], (19 * 7 * COUNT) as f64);
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| learn(&nets, &data, (0.1, 0.01), &mut workspace)), once);
    }
    assert_eq!(
        learn(&nets, &data[..5], (0.1, 0.01), &mut workspace),
        learn(&nets, &data[..5], (0.1, 0.01), &mut Workspace::default())
    );
}

/// On any number of ranks, more than there are groups too; and nobody waits for a rank that is gone.
#[test]
fn ranks_make_no_difference() {
    let (nets, data) = (networks(0.0), data(19, 7));
    let lessons: Vec<Lesson> = data.iter().map(Data::lesson).collect();
    let masks: Vec<Option<&[f32]>> = data.iter().rev().map(|data| Some(&data.masks[..])).collect();
    let on = |ranks: &dyn Ranks| {
        let (decoded, mut workspace) = (Decoded::Through(0.01, &masks), Workspace::default());
        let sequence_loss = Strength(0.1, usize::MAX);
        nets.learn_from(Cpu::best(), &PATH, (&lessons, decoded), &sequence_loss, ranks, &mut workspace)
    };
    let alone = on(&Alone).unwrap();
    assert_eq!(alone, learn(&nets, &data, (0.1, 0.01), &mut Workspace::default()));
    for size in [1, 2, 3, 4, 9] {
        let found = Played::each(size, |ranks| on(&ranks).unwrap());
        assert!(found.iter().all(|found| *found == alone), "{size} ranks");
    }
    let left = Played::each(3, |ranks| if ranks.rank() == 1 { None } else { Some(on(&ranks)) });
    let why: Vec<String> = left.into_iter().flatten().map(|found| found.unwrap_err().0).collect();
    assert!(why.len() == 2 && why.iter().all(|why| why.ends_with("is gone")), "{why:?}");
}

/// A batch that trains nothing has a gradient of zeros for all weights, whether the workspace is new or was used.
#[test]
fn nothing_trained_is_zeros() {
    let (nets, data, mut used) = (networks(0.0), data(11, 7), Workspace::default());
    let some = learn(&nets, &data, (0.1, 0.0), &mut used);
    let none = learn(&nets, &data, (0.0, 0.0), &mut used);
    assert_eq!(none, learn(&nets, &data, (0.0, 0.0), &mut Workspace::default()));
    assert!(none.2.poses.iter().all(|layer| layer.weight.iter().all(|&by| by == 0.0)));
    assert_eq!(none.2.poses.iter().map(|layer| layer.weight.len()).sum::<usize>(), 4 * 16 + 10 * 32);
    assert_eq!(some, learn(&nets, &data, (0.1, 0.0), &mut used));
}

/// Following alone finds the way that a training step takes.
#[test]
fn following_is_the_same_way() {
    let (nets, data) = (networks(0.0), data(3, 7));
    let lessons: Vec<Lesson> = data.iter().map(Data::lesson).collect();
    let traces = nets.follow(Cpu::best(), &PATH, &lessons);
    let said = |k: usize| Strength(0.1, 9).gradient(k, &traces[k], 0..7, &mut vec![0.0; 7 * COUNT])[0];
    let (expected, ..) = learn(&nets, &data, (0.1, 0.0), &mut Workspace::default());
    assert!((said(0) + said(1) + said(2) - expected[0]).abs() < 1e-12);
}

/// Largest difference between two gradients of the encoders, as a share of the largest number.
fn apart(a: &Gradient, b: &Gradient) -> f32 {
    let all = |g: &Gradient| -> Vec<f32> {
        let layers = g
            .frame_encoder
            .convs
            .iter()
            .chain([&g.frame_encoder.dense])
            .chain(&g.poses)
            .chain([&g.decoder.dense]);
        layers.chain(&g.decoder.deconvs).flat_map(|layer| [&layer.weight[..], &layer.bias].concat()).collect()
    };
    let (a, b) = (all(a), all(b));
    let most = a.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
    a.iter().zip(&b).fold(0.0, |most: f32, (a, b)| most.max((a - b).abs())) / most
}

/// Stretches of any length lead to the same way and gradient; sums in another order differ by rounding, some 1e-6.
#[test]
fn stretches_make_no_difference() {
    let (nets, data) = (networks(0.0), data(3, 7));
    let lessons: Vec<Lesson> = data.iter().map(Data::lesson).collect();
    let by = |stretch: usize| {
        let sequence_loss = Strength(0.1, stretch);
        nets.learn_from(
            Cpu::best(),
            &PATH,
            (&lessons, Decoded::Nothing),
            &sequence_loss,
            &Alone,
            &mut Workspace::default(),
        )
        .unwrap()
    };
    let whole = by(usize::MAX);
    for stretch in [0, 1, 3, 7, 8] {
        let (said, _, gradient) = by(stretch);
        assert!((said[0] - whole.0[0]).abs() < 1e-9 && said[1] == whole.0[1], "{said:?}");
        let error = apart(&whole.2, &gradient);
        assert!(error < 1e-5, "stretches of {stretch}: {error}");
    }
}

/// Decoding what the filter sees is decoding through the filter's own masks.
#[test]
fn features_are_decoded_once_or_twice() {
    let (nets, data) = (networks(0.0), data(3, 7));
    let lessons: Vec<Lesson> = data.iter().map(Data::lesson).collect();
    let masks: Vec<Option<&[f32]>> = lessons.iter().map(|lesson| lesson.masks).collect();
    let sequence_loss = Strength(0.1, usize::MAX);
    let by = |decoded| {
        let mut workspace = Workspace::default();
        nets.learn_from(Cpu::best(), &PATH, (&lessons, decoded), &sequence_loss, &Alone, &mut workspace)
            .unwrap()
    };
    let (once, twice) = (by(Decoded::AsSeen(0.01)), by(Decoded::Through(0.01, &masks)));
    assert_eq!((once.0, once.1), (twice.0, twice.1));
    let error = apart(&once.2, &twice.2);
    assert!(error < 1e-5, "{error}");
    assert!(apart(&once.2, &by(Decoded::Nothing).2) > 0.01, "decoding counts");
}
