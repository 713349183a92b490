//! The whole step against differences of itself, and the same for any number of threads.

use super::*;
use crate::images::{ImagePlan, Padding};
use crate::mlp::Mlp;
use crate::testing::numbers;

const COUNT: usize = 11;

/// Networks whose weights are moved by `step` along a direction without a pattern.
fn networks(step: f32) -> Networks {
    let moved = |count: usize, salt: u64| -> Vec<f32> {
        let (weights, way) = (numbers(count, salt), direction(count, salt));
        weights.iter().zip(way).map(|(x, way)| 0.5 * x + step * way).collect()
    };
    let plan = ImagePlan { image: [2, 6, 5], channels: vec![16, 20], features: 18, padding: Padding::Same };
    let mut eyes = ImageNet::new(plan.clone());
    eyes.set_conv(0, &moved(16 * 18, 1), &numbers(16, 2));
    eyes.set_conv(1, &moved(20 * 16 * 9, 3), &numbers(20, 4));
    let weight = moved(eyes.mask() * 18, 5);
    eyes.set_dense(|i, o| weight[i * 18 + o], &numbers(18, 6));
    let mut layers = Mlp::new(4, &[10, 18], true);
    for (k, layer) in layers.layers_mut().iter_mut().enumerate() {
        let ([inputs, outputs], salt) = (layer.shape(), 7 + 2 * k as u64);
        let weight = moved(inputs * outputs, salt);
        layer.set_by(|i, o| weight[i * outputs + o], &numbers(outputs, salt + 1));
    }
    let poses = PoseNet { layers, centre: [0.0; 2], extent: [30.0; 2], epsilon: 1e-2 };
    let mut decoder = DecoderNet::new(plan, false);
    let weight = moved(18 * eyes.mask(), 11);
    let inner = eyes.mask();
    decoder.set_dense(|i, o| weight[i * inner + o], &numbers(inner, 12));
    decoder.set_deconv(0, &moved(20 * 16 * 9, 13), &numbers(16, 14));
    decoder.set_deconv(1, &moved(16 * 2 * 9, 15), &numbers(2, 16));
    Networks { eyes, poses, decoder }
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
        (nets.eyes.conv_gradient(0, &by.eyes), 1),
        (nets.eyes.conv_gradient(1, &by.eyes), 3),
        (nets.eyes.dense_gradient(&by.eyes), 5),
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
    labels: Vec<Option<[f32; 3]>>,
}

impl Data {
    fn new(steps: usize, salt: u64) -> Self {
        let nets = networks(0.0);
        let masks = numbers(steps * nets.eyes.mask(), salt + 1).into_iter();
        let flat = numbers(3 * steps * COUNT, salt + 2);
        Self {
            images: numbers(steps * nets.eyes.pixels(), salt),
            masks: masks.map(|x| if x > 0.0 { 2.0 } else { 0.0 }).collect(),
            triples: flat.chunks_exact(3).map(|x| [10.0 * x[0], 10.0 * x[1], x[2]]).collect(),
            offsets: vec![0.5; steps],
            labels: (0..steps).map(|t| (t % 2 == 0).then_some([3.0, -2.0, 0.5])).collect(),
        }
    }

    fn lesson(&self) -> Lesson<'_> {
        let (steps, noise) = (self.offsets.len(), &self.triples[..]);
        let Self { triples, offsets, labels, .. } = self;
        let (first, actions) = (&triples[..COUNT], &triples[..steps]);
        let sequence = Sequence { first, actions, noise, offsets, labels, seen: &[] };
        Lesson { images: &self.images, masks: Some(&self.masks), sequence }
    }
}

fn course() -> Course {
    let objective = crate::scan::Objective { block: 3, kernel: [8.0, 8.0, 0.7], labels: 0.3, paths: 0.05 };
    Course { motion: Motion { side: 1.0, noise: [2.0, 2.0, 0.2] }, objective, reconstruction: 0.01 }
}

fn value(outcome: &Outcome, course: &Course) -> f64 {
    let (labels, paths) = (f64::from(course.objective.labels), f64::from(course.objective.paths));
    let pixels = f64::from(course.reconstruction) * outcome.reconstruction;
    labels * outcome.losses.labels - paths * outcome.losses.paths + pixels
}

/// One step each, so that no ancestor changes with the weights. Over ± 2⁻¹³ bends and rounding make some 2e-4 of the
/// difference; over 2⁻¹⁰ bends make 1 %.
#[test]
fn the_gradient_of_all_networks() {
    let (data, course): (Vec<Data>, _) = ((0..5).map(|k| Data::new(1, 50 + 10 * k)).collect(), course());
    let lessons: Vec<Lesson> = data.iter().map(Data::lesson).collect();
    let learn = |step: f32| networks(step).learn(Cpu::best(), &course, &lessons, &mut Workshop::default());
    let step = 2.0_f32.powi(-13);
    let expected =
        (value(&learn(step).0, &course) - value(&learn(-step).0, &course)) / (2.0 * f64::from(step));
    let found = along(&networks(0.0), &learn(0.0).1);
    assert!((found / expected - 1.0).abs() < 0.002, "{found}, not {expected}");
}

/// A batch is its lessons; a workshop used before leaves no trace; threads make no difference.
#[test]
fn the_same_bytes_again() {
    let (nets, course) = (networks(0.0), course());
    let data: Vec<Data> = (0..19).map(|k| Data::new(7, 50 + 10 * k)).collect();
    let lessons: Vec<Lesson> = data.iter().map(Data::lesson).collect();
    let mut shop = Workshop::default();
    let once = nets.learn(Cpu::best(), &course, &lessons, &mut shop);
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| nets.learn(Cpu::best(), &course, &lessons, &mut shop)), once);
    }
    let alone = |lesson: &Lesson| {
        let lesson = std::slice::from_ref(lesson);
        value(&nets.learn(Cpu::best(), &course, lesson, &mut Workshop::default()).0, &course)
    };
    let (sum, whole) = (lessons.iter().map(alone).sum::<f64>(), value(&once.0, &course));
    assert!((sum / whole - 1.0).abs() < 1e-9, "{sum} {whole}");
}

/// Nothing pulls, or everything does alike.
struct Same(f32);

impl Teacher for Same {
    fn teach(&self, _: usize, trace: &crate::scan::Trace, pulls: &mut [f32]) -> Figures {
        pulls.fill(self.0);
        [trace.weights.len() as f64, 0.0, 0.0]
    }
}

/// A batch that teaches nothing has a gradient of zeros, whether the workshop is new or has been used; and what was
/// taught before leaves no trace.
#[test]
fn nothing_taught_is_zeros() {
    let nets = networks(0.0);
    let data: Vec<Data> = (0..11).map(|k| Data::new(7, 50 + 10 * k)).collect();
    let lessons: Vec<Lesson> = data.iter().map(Data::lesson).collect();
    let masks: Vec<Option<&[f32]>> = data.iter().map(|data| Some(&data.masks[..])).collect();
    let path = Path { motion: course().motion, first: crate::scan::First::Stays, reconstruction: 0.0 };
    let learn = |pull: f32, shop: &mut TracedWorkshop| {
        nets.learn_from(Cpu::best(), &path, (&lessons, &masks), &Same(pull), shop)
    };
    let mut used = TracedWorkshop::default();
    let some = learn(0.1, &mut used);
    assert_eq!(some.0[0], (11 * 7 * COUNT) as f64);
    let none = learn(0.0, &mut used);
    assert_eq!(none, learn(0.0, &mut TracedWorkshop::default()));
    assert!(none.2.poses.iter().all(|layer| layer.weight.iter().all(|&by| by == 0.0)));
    assert_eq!(none.2.poses.iter().map(|layer| layer.weight.len()).sum::<usize>(), 4 * 16 + 10 * 32);
    assert_eq!(some, learn(0.1, &mut used));
}
