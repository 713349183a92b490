//! PF-net's weights: how they are drawn, and between parameters and the kernels.

use crate::parameters::{Named, Net};
use burn::tensor::DType;
use driftless_kernels::pfnet::{PfnetGradient, PfnetNet, PfnetPlan, TensorPlan};
use driftless_world::random::Random;

/// Weights as PF-net draws them: kernels normal with variance 1 / inputs, cut at two standard deviations; the last
/// layer's uniform (Glorot); shifts 0, factors 1.
pub(super) fn first_weights(plan: PfnetPlan, random: &mut Random) -> Vec<Named> {
    plan.tensors().into_iter().map(|tensor| drawn(tensor, random)).collect()
}

/// Those of the two branches alone; what follows them has zeros.
pub(super) fn first_branches(plan: PfnetPlan, random: &mut Random) -> Vec<Named> {
    let tensors = plan.tensors().into_iter().filter(|tensor| !tensor.name.starts_with("joint."));
    tensors.map(|tensor| drawn(tensor, random)).collect()
}

impl Net for PfnetNet {
    fn load(&mut self, values: &[Named]) {
        let single = |value: &Named| value.values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let tensors: Vec<(&str, Vec<f32>)> =
            values.iter().map(|value| (value.name.as_str(), single(value))).collect();
        self.set(|name| tensors.iter().find(|(own, _)| *own == name).map(|(_, values)| values.as_slice()));
    }
}

/// The derivatives by all weights, those of half the squared length of all kernels included, times `l2`.
pub(super) fn gradients(values: &[Named], net: &PfnetNet, by: &PfnetGradient, l2: f64) -> Vec<Named> {
    let all = net.gradients(by);
    let named = |value: &Named| {
        let (_, by) = all.iter().find(|(name, _)| *name == value.name)?;
        let decay = if is_kernel(&value.name) { l2 } else { 0.0 };
        let numbers = by.iter().zip(&value.values).map(|(&by, value)| f64::from(by) + decay * value);
        Some(Named { values: numbers.collect(), ..value.clone() })
    };
    values.iter().filter_map(named).collect()
}

/// Half the squared length of all kernels.
pub(super) fn half_square(values: &[Named]) -> f64 {
    let kernels = values.iter().filter(|value| is_kernel(&value.name));
    0.5 * kernels.flat_map(|kernel| &kernel.values).map(|x| x * x).sum::<f64>()
}

fn is_kernel(name: &str) -> bool {
    name.ends_with(".kernel")
}

fn drawn(tensor: TensorPlan, random: &mut Random) -> Named {
    let count = tensor.len();
    // TensorFlow counts all but the last two sizes as a kernel's extent, the places of a locally connected one too.
    let inputs = tensor.shape.split_last().map_or(1, |(_, rest)| rest.iter().product::<usize>()) as f64;
    let values = match tensor.name.rsplit('.').next() {
        Some("gamma") => vec![1.0; count],
        Some("kernel") if tensor.shape.len() == 2 => {
            let most = (6.0 / (inputs + 1.0)).sqrt();
            (0..count).map(|_| most * (2.0 * random.unit() - 1.0)).collect()
        }
        Some("kernel") => (0..count).map(|_| truncated(random) / inputs.sqrt()).collect(),
        _ => vec![0.0; count],
    };
    // What is trained are numbers of 32 bits.
    let values = values.into_iter().map(|x| f64::from(x as f32)).collect();
    Named { name: tensor.name, shape: tensor.shape, precision: DType::F32, values }
}

/// Normal, drawn again beyond two standard deviations.
fn truncated(random: &mut Random) -> f64 {
    loop {
        let z = random.normal();
        if z.abs() <= 2.0 {
            return z;
        }
    }
}
