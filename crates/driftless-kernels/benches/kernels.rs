//! Each hot kernel alone, on one thread: how near to the best product of this machine it comes.
//!
//! `cargo bench -p driftless-kernels --bench kernels` prints a table. With `--count NAME TIMES` one kernel runs so many
//! times and nothing is measured: `checks/instructions.py` counts its instructions that way.

use driftless_kernels::decoder::{DecoderGradient, DecoderMemory, DecoderNet};
use driftless_kernels::dense::Rows;
use driftless_kernels::gemm::{Epilogue, Left, Out, Panels, product};
use driftless_kernels::images::{ImageGradient, ImageMemory, ImageNet, ImagePlan, Padding};
use driftless_kernels::mlp::{Mlp, MlpGradient};
use driftless_kernels::online::Online;
use driftless_kernels::recurrent::{Lstm, LstmGradient, LstmMemory};
use driftless_kernels::scan::{First, Motion, PoseNet, Sequence, Trace, TraceMemory};
use driftless_kernels::{Cpu, fill_normal, uniform};
use std::hint::black_box;
use std::time::Instant;

const IMAGES: usize = 12;
const PIXELS: usize = 3 * 24 * 24;
const FEATURES: usize = 128;
const STEPS: usize = 20;
const PARTICLES: usize = 100;
const MOTION: Motion = Motion { side: 1.0, noise: [20.0, 20.0, 0.5] };
/// Multiplications of an image through the encoder, and of a pose.
const IMAGE_MACS: usize = 144 * 27 * 16 + 36 * 144 * 32 + 9 * 288 * 64 + 576 * 128;
const POSE_MACS: usize = 4 * 16 + 16 * 32 + 32 * 64 + 64 * 128;
/// Of one row through an LSTM of the baseline, and how many rows: steps and sequences.
const UNITS: usize = 512;
const LSTM_MACS: usize = 2 * UNITS * 4 * UNITS;
const LSTM_SIZES: [usize; 2] = [3, 32];
const LSTM_ROWS: usize = LSTM_SIZES[0] * LSTM_SIZES[1];

/// A kernel: its name, its multiplications, and what makes it ready.
struct Kernel {
    name: &'static str,
    macs: usize,
    ready: fn() -> Box<dyn FnMut()>,
}

const KERNELS: [Kernel; 8] = [
    Kernel { name: "product", macs: 96 * 256 * 128, ready: big_product },
    Kernel { name: "encode-images", macs: IMAGES * IMAGE_MACS, ready: encode },
    Kernel { name: "learn-images", macs: 3 * IMAGES * IMAGE_MACS, ready: learn_images },
    Kernel { name: "learn-decoder", macs: 3 * IMAGES * IMAGE_MACS, ready: learn_decoder },
    Kernel { name: "learn-scan", macs: 3 * STEPS * PARTICLES * POSE_MACS, ready: learn_scan },
    Kernel { name: "learn-lstm", macs: 3 * LSTM_ROWS * LSTM_MACS, ready: learn_lstm },
    Kernel { name: "online-step", macs: IMAGE_MACS + PARTICLES * POSE_MACS, ready: online },
    Kernel { name: "normal-numbers", macs: 0, ready: normal },
];

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    (0..count as u64).map(|k| uniform(seed, k) - 0.5).collect()
}

fn plan() -> ImagePlan {
    ImagePlan { image: [3, 24, 24], channels: vec![16, 32, 64], features: FEATURES, padding: Padding::One }
}

fn frame_encoder() -> ImageNet {
    let mut frame_encoder = ImageNet::new(plan());
    for (k, [inputs, outputs]) in [[3, 16], [16, 32], [32, 64]].into_iter().enumerate() {
        frame_encoder.set_conv(k, &numbers(9 * inputs * outputs, k as u64), &numbers(outputs, 9));
    }
    let weight = numbers(576 * FEATURES, 4);
    frame_encoder.set_dense(|i, o| weight[i * FEATURES + o], &numbers(FEATURES, 5));
    frame_encoder
}

fn poses() -> PoseNet {
    let mut layers = Mlp::new(4, &[16, 32, 64, FEATURES], true);
    for (k, layer) in layers.layers_mut().iter_mut().enumerate() {
        let [inputs, outputs] = layer.shape();
        let weight = numbers(inputs * outputs, 10 + k as u64);
        layer.set_by(|i, o| weight[i * outputs + o], &numbers(outputs, 20));
    }
    PoseNet { layers, centre: [500.0, 250.0], extent: [300.0; 2], epsilon: 1e-8 }
}

fn big_product() -> Box<dyn FnMut()> {
    let [m, k, n] = [96, 256, 128];
    let mut panels = Panels::default();
    panels.fill_by([k, n], |i, j| (i + j) as f32 * 1e-3);
    let (rows, mut results) = (numbers(m * k, 1), vec![0.0; m * n]);
    Box::new(move || {
        let mut out = Out { numbers: &mut results, stride: n };
        product(Cpu::best(), Left::rows(&rows, k), panels.right(), [m, k, n], Epilogue::Store, &mut out);
    })
}

fn encode() -> Box<dyn FnMut()> {
    let (frame_encoder, images, mut memory) =
        (frame_encoder(), numbers(IMAGES * PIXELS, 1), ImageMemory::default());
    Box::new(move || frame_encoder.forward(Cpu::best(), &images, None, &mut memory))
}

fn learn_images() -> Box<dyn FnMut()> {
    let (frame_encoder, images, mut memory) =
        (frame_encoder(), numbers(IMAGES * PIXELS, 1), ImageMemory::default());
    let (pull, mut sum) = (numbers(IMAGES * FEATURES, 2), ImageGradient::default());
    let mut by_features = pull.clone();
    Box::new(move || {
        frame_encoder.forward(Cpu::best(), &images, None, &mut memory);
        by_features.copy_from_slice(&pull);
        frame_encoder.backward(Cpu::best(), &mut by_features, None, &mut memory, &mut sum);
    })
}

fn learn_decoder() -> Box<dyn FnMut()> {
    let mut net = DecoderNet::new(plan(), true);
    let weight = numbers(576 * FEATURES, 4);
    net.set_dense(|i, o| weight[i * 576 + o], &numbers(576, 5));
    for (k, [inputs, outputs]) in [[64, 32], [32, 16], [16, 3]].into_iter().enumerate() {
        net.set_deconv(k, &numbers(9 * inputs * outputs, k as u64), &numbers(outputs, 9));
    }
    let (features, images) = (numbers(IMAGES * FEATURES, 1), numbers(IMAGES * PIXELS, 2));
    let (mut memory, mut sum, mut by_features) =
        (DecoderMemory::default(), DecoderGradient::default(), Vec::new());
    Box::new(move || {
        let rows = Rows { numbers: &features, stride: FEATURES };
        net.forward(Cpu::best(), rows, IMAGES, &mut memory);
        let sinks = (&mut sum, &mut by_features);
        black_box(net.squared_error(Cpu::best(), rows, (&images, 1e-3), &mut memory, sinks));
    })
}

fn learn_scan() -> Box<dyn FnMut()> {
    let triples = |count: usize, seed: u64| -> Vec<[f32; 3]> {
        numbers(3 * count, seed).chunks_exact(3).map(|x| [100.0 * x[0], 100.0 * x[1], x[2]]).collect()
    };
    let (net, first, actions) = (poses(), triples(PARTICLES, 1), triples(STEPS, 2));
    let (noise, offsets) = (triples(STEPS * PARTICLES, 3), vec![0.5; STEPS]);
    // Features of length 1, nearly: that of 128 numbers between -½ and ½ is 3.27.
    let seen: Vec<f32> = numbers(STEPS * FEATURES, 4).into_iter().map(|x| x / 3.27).collect();
    let log_gradients = numbers(STEPS * PARTICLES, 5);
    let (mut memory, mut trace, mut sum) = <(TraceMemory, Trace, MlpGradient)>::default();
    let mut by_seen = vec![0.0; seen.len()];
    Box::new(move || {
        let sequence =
            Sequence { first: &first, actions: &actions, noise: &noise, offsets: &offsets, seen: &seen };
        let way = (&MOTION, First::Moves);
        net.follow(Cpu::best(), way, (&sequence, 0..STEPS), &mut memory, &mut trace);
        let sinks = (&mut sum, &mut by_seen[..]);
        net.go_back(Cpu::best(), (&trace, 0..STEPS, &log_gradients, &seen), &mut memory, sinks);
    })
}

fn learn_lstm() -> Box<dyn FnMut()> {
    let weight: Vec<f32> = numbers(2 * UNITS * 4 * UNITS, 1).into_iter().map(|x| 0.1 * x).collect();
    let lstm = Lstm::new([UNITS; 2], &weight, &numbers(4 * UNITS, 2));
    let (x, pull) = (numbers(LSTM_ROWS * UNITS, 3), numbers(LSTM_ROWS * UNITS, 4));
    let (mut memory, mut gradient, mut by_x) = <(LstmMemory, LstmGradient, Vec<f32>)>::default();
    Box::new(move || {
        let rows = Rows { numbers: &x, stride: UNITS };
        lstm.forward(Cpu::best(), rows, LSTM_SIZES, &mut memory);
        lstm.backward(Cpu::best(), rows, &pull, &mut memory, (&mut gradient, Some(&mut by_x)));
    })
}

fn online() -> Box<dyn FnMut()> {
    let first = vec![[500.0, 250.0, 0.0]; PARTICLES];
    let mut online = Online::new((frame_encoder(), poses()), MOTION, [20.0, 0.5], &first, 1);
    let image = numbers(PIXELS, 1);
    Box::new(move || _ = black_box(online.step(&image, Some([5.0, 1.0, 0.1]))))
}

fn normal() -> Box<dyn FnMut()> {
    let mut numbers = vec![0.0; 6400];
    Box::new(move || fill_normal(Cpu::best(), 1, 0, black_box(&mut numbers)))
}

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread").install(count_or_measure);
}

fn count_or_measure() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|word| word == "--count") {
        let kernel =
            KERNELS.iter().find(|kernel| arguments.get(at + 1).is_some_and(|name| name == kernel.name));
        let mut run = (kernel.expect("a kernel's name").ready)();
        let times: usize = arguments.get(at + 2).and_then(|times| times.parse().ok()).expect("how often");
        (0..times).for_each(|_| run());
        return;
    }
    let mut best = 0.0;
    println!("{:<16} {:>12} {:>10} {:>10}", "one thread", "us", "GFLOP/s", "of best");
    for kernel in &KERNELS {
        let microseconds = microseconds(&mut (kernel.ready)());
        let rate = 2e-3 * kernel.macs as f64 / microseconds;
        best = f64::max(best, rate);
        println!("{:<16} {microseconds:>12.2} {rate:>10.1} {:>9.0}%", kernel.name, 100.0 * rate / best);
    }
}

/// The best of some rounds of some milliseconds.
fn microseconds(run: &mut dyn FnMut()) -> f64 {
    let once = |run: &mut dyn FnMut(), times: usize| {
        let start = Instant::now();
        (0..times).for_each(|_| run());
        1e6 * start.elapsed().as_secs_f64() / times as f64
    };
    let times = (20_000.0 / once(run, 3).max(0.1)) as usize + 1;
    (0..10).map(|_| once(run, times)).fold(f64::INFINITY, f64::min)
}
