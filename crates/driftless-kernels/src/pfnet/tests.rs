//! The network against plain loops in 64 bits, and its derivatives against differences of them.

mod reference;

use super::*;
use crate::testing::numbers;
use reference::{Image, Tensors};

const PLAN: PfnetPlan = PfnetPlan { map_channels: 1, image_channels: 3 };

/// Weights that keep all layers alive: as large as their inputs allow, no bias 0.
fn weights(plan: PfnetPlan) -> Vec<(String, Vec<f32>)> {
    let tensor = |(seed, tensor): (usize, TensorPlan)| {
        let inputs = match tensor.shape.as_slice() {
            [side, _, inputs, _] => side * side * inputs,
            [_, inputs, _] if tensor.name.ends_with("kernel") => *inputs,
            [inputs, _] => *inputs,
            _ => 20,
        };
        let centre = if tensor.name.ends_with("gamma") { 1.0 } else { 0.0 };
        let size = (3.0 / inputs as f32).sqrt();
        let all = numbers(tensor.len(), seed as u64 + 100).into_iter().map(|x| centre + size * x);
        (tensor.name.clone(), all.collect())
    };
    plan.tensors().into_iter().enumerate().map(tensor).collect()
}

fn network(plan: PfnetPlan, weights: &[(String, Vec<f32>)]) -> PfnetNet {
    let mut net = PfnetNet::new(plan);
    net.set(|name| weights.iter().find(|(own, _)| own == name).map(|(_, values)| values.as_slice()));
    net
}

fn exact(weights: &[(String, Vec<f32>)]) -> Tensors {
    let numbers = |numbers: &[f32]| numbers.iter().map(|&x| f64::from(x)).collect();
    weights.iter().map(|(name, values)| (name.clone(), numbers(values))).collect()
}

fn image(side: usize, channels: usize, numbers: &[f32]) -> Image {
    Image { side, channels, numbers: numbers.iter().map(|&x| f64::from(x)).collect() }
}

/// Two steps of three particles.
struct Case {
    images: Vec<f32>,
    views: Vec<f32>,
    log_gradients: Vec<f32>,
}

const STEPS: usize = 2;
const PARTICLES: usize = 3;

impl Case {
    fn new() -> Self {
        let views = numbers(STEPS * PARTICLES * 784, 2).into_iter().map(|x| x.signum() * 0.9 + 0.1 * x);
        Self {
            images: numbers(STEPS * 56 * 56 * 3, 1),
            views: views.collect(),
            log_gradients: numbers(STEPS * PARTICLES, 3),
        }
    }

    fn forward(&self, cpu: Cpu, net: &PfnetNet, memory: &mut PfnetMemory) -> Vec<f32> {
        let mut out = vec![0.0; STEPS * PARTICLES];
        net.see(cpu, &self.images, PARTICLES, true, memory);
        for (step, out) in out.chunks_mut(PARTICLES).enumerate() {
            net.weigh(cpu, step, &self.views[step * PARTICLES * 784..][..PARTICLES * 784], memory, out);
        }
        out
    }

    fn encoded_frames(&self, tensors: &Tensors) -> Vec<Image> {
        let images = self.images.chunks_exact(56 * 56 * 3);
        images.map(|pixels| reference::observation(&image(56, 3, pixels), tensors)).collect()
    }

    fn maps(&self, tensors: &Tensors) -> Vec<Image> {
        self.views.chunks_exact(784).map(|view| reference::map(&image(28, 1, view), tensors)).collect()
    }

    /// Σ pull · log-likelihood.
    fn loss(&self, encoded_frames: &[Image], maps: &[Image], tensors: &Tensors) -> f64 {
        let one = |(k, map): (usize, &Image)| {
            f64::from(self.log_gradients[k]) * reference::joint(map, &encoded_frames[k / PARTICLES], tensors)
        };
        maps.iter().enumerate().map(one).sum()
    }
}

/// f32 sums of up to 3456 products of size 1, through six layers: a few units of 1e-6, and some room.
const CLOSE: f64 = 2e-5;

#[test]
fn values_on_every_cpu() {
    let (case, weights) = (Case::new(), weights(PLAN));
    let (net, tensors) = (network(PLAN, &weights), exact(&weights));
    let (encoded_frames, maps) = (case.encoded_frames(&tensors), case.maps(&tensors));
    for cpu in Cpu::all() {
        let mut memory = PfnetMemory::default();
        for _ in 0..2 {
            for (k, found) in case.forward(cpu, &net, &mut memory).into_iter().enumerate() {
                let expected = reference::joint(&maps[k], &encoded_frames[k / PARTICLES], &tensors);
                assert!((f64::from(found) - expected).abs() < CLOSE, "{cpu:?}: {found} {expected}");
            }
        }
    }
}

/// What one memory has seen serves others, in which nothing is remembered.
#[test]
fn an_image_is_shared() {
    let (case, net, cpu) = (Case::new(), network(PLAN, &weights(PLAN)), Cpu::best());
    let (mut whole, mut first, mut other) = Default::default();
    let all = case.forward(cpu, &net, &mut whole);
    net.see(cpu, &case.images[..net.pixels()], 1, false, &mut first);
    net.see_again(2, &first, &mut other);
    let mut some = [0.0; 2];
    net.weigh(cpu, 0, &case.views[784..3 * 784], &mut other, &mut some);
    assert_eq!(some, all[1..3]);
}

/// A difference of the exact loss by one weight; only what it changes is computed again.
fn difference(case: &Case, tensors: &Tensors, known: [&[Image]; 2], name: &str, k: usize) -> f64 {
    let at = |step: f64| {
        let mut tensors = tensors.clone();
        tensors.get_mut(name).expect("a tensor")[k] += step;
        let new = match name.split('.').next() {
            Some("observation") => [Some(case.encoded_frames(&tensors)), None],
            Some("map") => [None, Some(case.maps(&tensors))],
            _ => [None, None],
        };
        let [encoded_frames, maps] = [0, 1].map(|branch| new[branch].as_deref().unwrap_or(known[branch]));
        case.loss(encoded_frames, maps, &tensors)
    };
    (at(1e-6) - at(-1e-6)) / 2e-6
}

/// The largest derivative of each tensor against differences, and one more of those that are quick.
#[test]
fn derivatives_by_all_weights() {
    let (case, weights) = (Case::new(), weights(PLAN));
    let (net, tensors, cpu) = (network(PLAN, &weights), exact(&weights), Cpu::best());
    let (mut memory, mut gradient) = (PfnetMemory::default(), PfnetGradient::default());
    gradient.reset(&net);
    case.forward(cpu, &net, &mut memory);
    net.backward(cpu, &case.log_gradients, &mut memory, &mut gradient);
    let (encoded_frames, maps) = (case.encoded_frames(&tensors), case.maps(&tensors));
    for (name, by) in net.gradients(&gradient) {
        let largest = (0..by.len()).max_by(|&a, &b| by[a].abs().total_cmp(&by[b].abs())).expect("numbers");
        let size = by[largest].abs();
        assert!(size > 1e-4, "{name} has no derivatives");
        let some = if name.starts_with("observation") { 1 } else { 2 };
        for &k in [largest, by.len() / 2].iter().take(some) {
            let expected = difference(&case, &tensors, [&encoded_frames, &maps], &name, k);
            let error = (f64::from(by[k]) - expected).abs();
            assert!(error < 1e-4 * f64::from(size).max(0.1), "{name} {k}: {} {expected} of {size}", by[k]);
        }
    }
    // Twice the same is twice as much.
    let once = gradient.clone();
    gradient.add(&once);
    let [once, twice] = [&once, &gradient].map(|gradient| net.gradients(gradient));
    for ((name, once), (_, twice)) in once.iter().zip(&twice) {
        assert!(once.iter().zip(twice).all(|(once, twice)| 2.0 * once == *twice), "{name}");
    }
}

/// Doors and kinds of rooms on the map, depth beside colours.
#[test]
fn other_channels() {
    let plan = PfnetPlan { map_channels: 10, image_channels: 4 };
    let weights = weights(plan);
    let (net, tensors) = (network(plan, &weights), exact(&weights));
    let (pixels, view) = (numbers(net.pixels(), 4), numbers(net.view(), 5));
    let (mut memory, mut found) = (PfnetMemory::default(), [0.0]);
    net.see(Cpu::best(), &pixels, 1, false, &mut memory);
    net.weigh(Cpu::best(), 0, &view, &mut memory, &mut found);
    let encoded_frame = reference::observation(&image(56, 4, &pixels), &tensors);
    let map = reference::map(&image(28, 10, &view), &tensors);
    let expected = reference::joint(&map, &encoded_frame, &tensors);
    assert!((f64::from(found[0]) - expected).abs() < CLOSE, "{found:?} {expected}");
}

/// Walls in a map that is not a square.
fn floor() -> Vec<f32> {
    let wall = |k: usize| (k % 300 / 7).is_multiple_of(9) || (k / 300 / 6).is_multiple_of(11);
    (0..300 * 200).map(|k| if wall(k) { 0.0 } else { 2.0 }).collect()
}

const POSES: [[f32; 3]; 4] =
    [[150.3, 90.7, 0.4], [20.1, 10.9, 2.8], [280.4, 190.2, -1.9], [151.2, 60.6, 4.0]];

/// Views by the matrices of the released code.
#[test]
fn views_by_matrices() {
    let numbers_of_map = floor();
    let map = FloorMap { numbers: &numbers_of_map, width: 300, height: 200, channels: 1 };
    let exact: Vec<f64> = numbers_of_map.iter().map(|&x| f64::from(x)).collect();
    for (geometry, rigid) in [(Geometry::Released, false), (Geometry::Rigid, true)] {
        for pose in POSES {
            let wide = pose.map(f64::from);
            let mut view = vec![0.0; 784];
            map.view(geometry, pose, &mut view);
            let expected = reference::view(&exact, [300, 200], wide, rigid);
            // Places have errors of 3e-5 pixels, at most 2 a pixel in the map; steep edges are seldom in the same cell.
            let off = view.iter().zip(&expected.numbers).filter(|(a, b)| (f64::from(**a) - **b).abs() > 2e-4);
            assert!(off.count() <= 1, "{geometry:?} {pose:?}");
        }
    }
}

/// The example of a map twice as wide as high: the released view reaches 448 pixels ahead, the rigid one 224.
#[test]
fn the_released_view_is_stretched() {
    let mut numbers_of_map = vec![2.0; 1000 * 500];
    let mark = |numbers: &mut [f32], x: usize| {
        (198..203).for_each(|y| numbers[y * 1000 + x - 2..y * 1000 + x + 3].fill(0.0));
    };
    mark(&mut numbers_of_map, 848);
    let seen = |numbers: &[f32], geometry| {
        let mut view = vec![0.0; 784];
        FloorMap { numbers, width: 1000, height: 500, channels: 1 }.view(
            geometry,
            [400.0, 200.0, 0.0],
            &mut view,
        );
        // Nothing lies exactly ahead: columns 13 and 14 are 4 pixels beside it, or 2 where it is compressed.
        view[13].max(view[14])
    };
    assert!(seen(&numbers_of_map, Geometry::Released) > 0.0);
    assert!(seen(&numbers_of_map, Geometry::Rigid) < 0.0);
}

/// Descriptions are what the joint layers see, and their way back is that of both branches.
#[test]
fn descriptions_and_their_way_back() {
    let weights = weights(PLAN);
    let (net, tensors, cpu) = (network(PLAN, &weights), exact(&weights), Cpu::best());
    let (pixels, view, pull) = (numbers(net.pixels(), 1), numbers(784, 2), numbers(DESCRIPTION, 3));
    let (mut memory, mut gradient, mut out) =
        (PfnetMemory::default(), PfnetGradient::default(), vec![0.0; DESCRIPTION]);
    gradient.reset(&net);
    net.see(cpu, &pixels, 1, true, &mut memory);
    net.describe(cpu, 0, &view, &mut memory, &mut out);
    let describe = |tensors: &Tensors| {
        let map = reference::map(&image(28, 1, &view), tensors).numbers;
        [map, reference::observation(&image(56, 3, &pixels), tensors).numbers].concat()
    };
    let expected = describe(&tensors);
    // As for values; features are of the size 1.
    assert!(out.iter().zip(&expected).all(|(a, b)| (f64::from(*a) - b).abs() < 10.0 * CLOSE));
    net.backward_described(cpu, &mut pull.clone(), &mut memory, &mut gradient);
    for (name, by) in net.gradients(&gradient) {
        if name.starts_with("joint") {
            assert!(by.iter().all(|by| *by == 0.0));
        } else if name.contains("l1_conv5.bias") || name.contains("LayerNorm_1") {
            let at = |step: f64| {
                let mut tensors = tensors.clone();
                tensors.get_mut(&name).expect("a tensor")[1] += step;
                describe(&tensors).iter().zip(&pull).map(|(x, &pull)| x * f64::from(pull)).sum::<f64>()
            };
            let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
            let error = (f64::from(by[1]) - difference).abs();
            assert!(error < 1e-3 * difference.abs().max(1.0), "{name}: {} {difference}", by[1]);
        }
    }
}
