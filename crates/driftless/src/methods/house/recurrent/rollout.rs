//! A batch of episodes step by step: kernels look, tensors remember, and the way back goes through both.

use super::head::{Head, State, UNITS, moved, squared_error};
use crate::error::Result;
use crate::learn::HouseSettings;
use crate::methods::house::particles::first;
use crate::methods::house::training::PARTS;
use crate::methods::house::walk::Walk;
use crate::parameters::{self, Init, Named};
use burn::tensor::{DType, Device, Tensor, TensorData};
use driftless_kernels::Cpu;
use driftless_kernels::pfnet::{DESCRIPTION, PfnetGradient, PfnetMemory, PfnetNet};
use driftless_world::files::pfnet::METRES_PER_PIXEL;
use driftless_world::random::Random;
use driftless_world::trajectory::Start;
use rayon::prelude::*;

/// Particles whose mean is where a robot starts that is told no pose.
const ANYWHERE: usize = 1000;

/// What is carried from block to block, as plain numbers: poses in metres, h and c.
pub(super) struct Carried {
    poses: Vec<f64>,
    units: [Vec<f64>; 2],
    memories: Vec<PfnetMemory>,
}

/// What a block came to.
pub(super) struct Rollout {
    pub(super) error: f64,
    pub(super) known: usize,
    /// By the weights of the branches.
    pub(super) gradients: PfnetGradient,
    /// By those of the head.
    pub(super) head: Vec<Named>,
}

impl Carried {
    /// Before anything is seen.
    pub(super) fn new(walks: &[Walk]) -> Result<Self> {
        let poses = walks.iter().map(start).collect::<Result<Vec<_>>>()?.concat();
        let units = [0, 1].map(|_| vec![0.0; walks.len() * UNITS]);
        Ok(Self { poses, units, memories: vec![PfnetMemory::default(); walks.len()] })
    }

    fn state(&self, device: &Device) -> State {
        let count = self.poses.len() / 3;
        let units = |k: usize| tensor(self.units[k].clone(), [count, UNITS], device);
        State { pose: tensor(self.poses.clone(), [count, 3], device), units: (units(0), units(1)) }
    }

    fn take(&mut self, state: &State) {
        self.poses = numbers(&state.pose);
        self.units = [numbers(&state.units.0), numbers(&state.units.1)];
    }
}

/// Where a robot starts, in metres: where it is told, or in the middle of where it may be.
fn start(walk: &Walk) -> Result<[f64; 3]> {
    let pose = match walk.start {
        Start::About { pose, .. } => pose.map(f64::from),
        other => {
            let all = first(other, &walk.maps, ANYWHERE, &mut Random::new(0))?;
            let mean = |k: usize| all.iter().map(|pose| pose[k]).sum::<f64>() / ANYWHERE as f64;
            [mean(0), mean(1), 0.0]
        }
    };
    Ok(metres(pose))
}

fn metres([x, y, heading]: [f64; 3]) -> [f64; 3] {
    [METRES_PER_PIXEL * x, METRES_PER_PIXEL * y, heading]
}

fn tensor<const D: usize>(numbers: Vec<f64>, shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(numbers, shape), (device, DType::F32))
}

fn numbers<const D: usize>(tensor: &Tensor<D>) -> Vec<f64> {
    tensor.try_to_vec_as::<f64>().expect("numbers can be read")
}

/// Steps `from` to the end of a block, with gradients; errors count `weight`.
pub(super) fn block(
    net: &PfnetNet,
    head: &Head,
    settings: &HouseSettings,
    (walks, carried): (&[Walk], &mut Carried),
    from: usize,
    weight: f64,
) -> Rollout {
    let device = Device::flex().autodiff();
    let steps = settings.block;
    see(net, walks, &mut carried.memories, from..from + steps);
    let (mut state, mut leaves) = (carried.state(&device), Vec::new());
    let (mut error, mut known) = (Tensor::<1>::zeros([1], (&device, DType::F32)), 0);
    for step in 0..steps {
        let motion = motions(walks, from + step, &device);
        state.pose = moved(&state.pose, &motion);
        let described = describe(net, settings, walks, (step, &numbers(&state.pose)), &mut carried.memories);
        let leaf = Tensor::<2>::from_data(
            TensorData::new(described, [walks.len(), DESCRIPTION]),
            (&device, DType::F32),
        );
        let leaf = leaf.require_grad();
        state = head.correct(state, motion, leaf.clone());
        leaves.push(leaf);
        let (truths, mask, count) = truths(walks, from + step, &device);
        error = error + (squared_error(state.pose.clone(), truths) * mask).sum();
        known += count;
    }
    carried.take(&state);
    let value = numbers(&error)[0];
    let gradients = (error * weight).backward();
    let by = |leaf: &Tensor<2>| {
        let by = leaf.grad(&gradients).map(|by| by.try_to_vec_as::<f32>().expect("numbers can be read"));
        by.unwrap_or_else(|| vec![0.0; walks.len() * DESCRIPTION])
    };
    let log_gradients: Vec<Vec<f32>> = leaves.iter().map(by).collect();
    let of_branches = back(net, &log_gradients, &mut carried.memories);
    let of_head = parameters::gradients(head, &gradients);
    Rollout { error: value, known, gradients: of_branches, head: of_head }
}

/// Looks at the images of some steps, one walk a thread.
fn see(net: &PfnetNet, walks: &[Walk], memories: &mut [PfnetMemory], steps: std::ops::Range<usize>) {
    let pixels = net.pixels();
    memories.par_iter_mut().zip(walks).for_each(|(memory, walk)| {
        net.see(Cpu::best(), &walk.images[steps.start * pixels..steps.end * pixels], 1, true, memory);
    });
}

/// Descriptions of a step from poses in metres.
fn describe(
    net: &PfnetNet,
    settings: &HouseSettings,
    walks: &[Walk],
    (step, poses): (usize, &[f64]),
    memories: &mut [PfnetMemory],
) -> Vec<f32> {
    let mut all = vec![0.0; walks.len() * DESCRIPTION];
    let rows = all.par_chunks_mut(DESCRIPTION).zip(memories.par_iter_mut());
    rows.zip(walks.par_iter().zip(poses.par_chunks(3))).for_each(|((row, memory), (walk, pose))| {
        let place = |metres: f64| (metres / METRES_PER_PIXEL) as f32;
        let mut view = vec![0.0; net.view()];
        walk.floor().view(settings.geometry(), [place(pose[0]), place(pose[1]), pose[2] as f32], &mut view);
        net.describe(Cpu::best(), step, &view, memory, row);
    });
    all
}

/// The derivatives by the branches' weights, given those by all descriptions, step by step; added walk by walk.
fn back(net: &PfnetNet, log_gradients: &[Vec<f32>], memories: &mut [PfnetMemory]) -> PfnetGradient {
    let size = memories.len().div_ceil(PARTS).max(1);
    let part = |(number, memories): (usize, &mut [PfnetMemory])| {
        let mut sum = PfnetGradient::default();
        sum.reset(net);
        for (k, memory) in memories.iter_mut().enumerate() {
            let row = (number * size + k) * DESCRIPTION;
            let mut by: Vec<f32> =
                log_gradients.iter().flat_map(|step| &step[row..row + DESCRIPTION]).copied().collect();
            net.backward_described(Cpu::best(), &mut by, memory, &mut sum);
        }
        sum
    };
    let parts: Vec<PfnetGradient> = memories.par_chunks_mut(size).enumerate().map(part).collect();
    let mut parts = parts.into_iter();
    let mut sum = parts.next().expect("a batch has walks");
    parts.for_each(|part| sum.add(&part));
    sum
}

/// The motion into a step of all walks, in metres; none into the first.
fn motions(walks: &[Walk], t: usize, device: &Device) -> Tensor<2> {
    let motion = |walk: &Walk| if t == 0 { [0.0; 3] } else { metres(walk.actions[t]) };
    tensor(walks.iter().flat_map(motion).collect(), [walks.len(), 3], device)
}

/// True poses in metres where they are known, a mask, and how many are.
fn truths(walks: &[Walk], t: usize, device: &Device) -> (Tensor<2>, Tensor<2>, usize) {
    let truth = |walk: &Walk| metres(walk.labels[t].unwrap_or_default());
    let mask = |walk: &Walk| if walk.labels[t].is_some() { 1.0 } else { 0.0 };
    let masks: Vec<f64> = walks.iter().map(mask).collect();
    let known = masks.iter().filter(|mask| **mask > 0.0).count();
    let count = walks.len();
    (
        tensor(walks.iter().flat_map(truth).collect(), [count, 3], device),
        tensor(masks, [count, 1], device),
        known,
    )
}

/// The poses of all steps of a walk, in pixels.
pub(super) fn estimates(
    net: &PfnetNet,
    head: &Head,
    settings: &HouseSettings,
    walk: &Walk,
) -> Result<Vec<[f64; 3]>> {
    let (device, walks) = (Device::flex(), std::slice::from_ref(walk));
    let fresh = Head::new(&mut Init::new(0, &device, DType::F32));
    let head = parameters::with_values(fresh, &parameters::values(head));
    let mut carried = Carried::new(walks)?;
    let (mut state, mut poses) = (carried.state(&device), Vec::with_capacity(walk.len()));
    for t in 0..walk.len() {
        let motion = motions(walks, t, &device);
        state.pose = moved(&state.pose, &motion);
        see(net, walks, &mut carried.memories, t..t + 1);
        let seen = describe(net, settings, walks, (0, &numbers(&state.pose)), &mut carried.memories);
        let seen = Tensor::<2>::from_data(TensorData::new(seen, [1, DESCRIPTION]), (&device, DType::F32));
        state = head.correct(state, motion, seen);
        let pose = numbers(&state.pose);
        poses.push([
            pose[0] / METRES_PER_PIXEL,
            pose[1] / METRES_PER_PIXEL,
            driftless_world::pose::wrap(pose[2]),
        ]);
    }
    Ok(poses)
}
