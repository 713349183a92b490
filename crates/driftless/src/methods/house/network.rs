//! PF-net's weights: how they are drawn, and between the optimiser and the kernels.

use crate::error::Result;
use crate::parameters::{Named, replace};
use burn::tensor::DType;
use driftless_kernels::pfnet::{PfnetGradient, PfnetNet, PfnetPlan, TensorPlan};
use driftless_world::random::Random;

/// The network with its weights as everybody else knows them.
pub(super) struct Network {
    values: Vec<Named>,
    net: PfnetNet,
}

impl Network {
    /// Weights as PF-net draws them: kernels normal with variance 1 / inputs, cut at two standard deviations; the last
    /// layer's uniform (Glorot); shifts 0, factors 1.
    pub(super) fn new(plan: PfnetPlan, random: &mut Random) -> Self {
        Self::with(plan, random, |_| true)
    }

    /// The two branches alone; what follows them has zeros.
    pub(super) fn branches(plan: PfnetPlan, random: &mut Random) -> Self {
        Self::with(plan, random, |name| !name.starts_with("joint."))
    }

    fn with(plan: PfnetPlan, random: &mut Random, wanted: impl Fn(&str) -> bool) -> Self {
        let tensors = plan.tensors().into_iter().filter(|tensor| wanted(&tensor.name));
        let values = tensors.map(|tensor| drawn(tensor, random)).collect();
        let mut network = Self { values, net: PfnetNet::new(plan) };
        network.arrange();
        network
    }

    /// As the kernels have it.
    pub(super) fn net(&self) -> &PfnetNet {
        &self.net
    }

    /// All weights by name.
    pub(super) fn values(&self) -> &[Named] {
        &self.values
    }

    /// Takes others, which must have the same names and shapes.
    pub(super) fn set(&mut self, given: &[Named]) -> Result<()> {
        replace(&mut self.values, given)?;
        self.arrange();
        Ok(())
    }

    /// Changes all weights in place.
    pub(super) fn change<T>(&mut self, change: impl FnOnce(&mut Vec<Named>) -> T) -> T {
        let result = change(&mut self.values);
        self.arrange();
        result
    }

    /// The derivatives by all weights, those of half the squared length of all kernels included, times `l2`.
    pub(super) fn gradients(&self, gradient: &PfnetGradient, l2: f64) -> Vec<Named> {
        let all = self.net.gradients(gradient);
        let named = |value: &Named| {
            let (_, by) = all.iter().find(|(name, _)| *name == value.name).expect("a tensor of the plan");
            let decay = if is_kernel(&value.name) { l2 } else { 0.0 };
            let numbers = by.iter().zip(&value.values).map(|(&by, value)| f64::from(by) + decay * value);
            Named { values: numbers.collect(), ..value.clone() }
        };
        self.values.iter().map(named).collect()
    }

    /// Half the squared length of all kernels.
    pub(super) fn half_square(&self) -> f64 {
        let kernels = self.values.iter().filter(|value| is_kernel(&value.name));
        0.5 * kernels.flat_map(|kernel| &kernel.values).map(|x| x * x).sum::<f64>()
    }

    fn arrange(&mut self) {
        let single = |value: &Named| value.values.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let tensors: Vec<(&str, Vec<f32>)> =
            self.values.iter().map(|value| (value.name.as_str(), single(value))).collect();
        self.net
            .set(|name| tensors.iter().find(|(own, _)| *own == name).map(|(_, values)| values.as_slice()));
    }
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
