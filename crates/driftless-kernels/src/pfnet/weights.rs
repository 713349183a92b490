//! The names and shapes of PF-net's tensors, and where their numbers are in the arranged network.
//!
//! Names are those of the published checkpoint, with dots: `observation.l1_conv5_d2.kernel`. Kernels have the shape
//! [row, column, input, output]; locally connected ones [place, row · column · input, output], inputs being the 8
//! features of the map before the 16 of the image.

mod gradient;

pub use gradient::PfnetGradient;

use super::PfnetNet;
use super::joint::{Joint, LAST};
use super::local::{ALL_PLACES, OUTPUTS, PLACES, TAPS};
use super::many_scales::{Kernel, ManyScales, Scale};
use super::map::{Map, scales as map_scales};
use super::norm::Norm;
use super::observation::{FEATURES, KERNEL, Observation, WIDE, scales as image_scales};
use super::second::{EACH, MAP_FEATURES, SIDES, VIEWS};

/// How many channels there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfnetPlan {
    /// Of the floor map: 1 for walls, 2 with doors, 10 or 11 with kinds of rooms.
    pub map_channels: usize,
    /// Of images: 3 for colours, 1 for depth, 4 for both.
    pub image_channels: usize,
}

/// A tensor's name and shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorPlan {
    /// As in the published checkpoint, with dots.
    pub name: String,
    /// Sizes.
    pub shape: Vec<usize>,
}

impl TensorPlan {
    fn new(name: impl Into<String>, shape: &[usize]) -> Self {
        Self { name: name.into(), shape: shape.to_vec() }
    }

    /// How many numbers.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Channels that the locally connected layers see.
const SEEN: usize = MAP_FEATURES + FEATURES;

/// The name of a scale's tensors.
fn scale_name(branch: &str, scale: Scale) -> String {
    let dilated = if scale.dilation > 1 { format!("_d{}", scale.dilation) } else { String::new() };
    format!("{branch}.l1_conv{}{dilated}", scale.side)
}

impl PfnetPlan {
    /// All tensors, in the order of the published checkpoint.
    pub fn tensors(self) -> Vec<TensorPlan> {
        let mut all =
            vec![TensorPlan::new("joint.fc1.bias", &[1]), TensorPlan::new("joint.fc1.kernel", &[LAST, 1])];
        for side in SIDES {
            let (name, taps) = (format!("joint.l1_conv{side}"), side * side * SEEN);
            all.push(TensorPlan::new(format!("{name}.bias"), &[PLACES, PLACES, OUTPUTS / 2]));
            all.push(TensorPlan::new(format!("{name}.kernel"), &[ALL_PLACES, taps, OUTPUTS / 2]));
        }
        all.extend(norms("map", [VIEWS, MAP_FEATURES]));
        for scale in map_scales() {
            all.extend(kernels(&scale_name("map", scale), [scale.side, self.map_channels, scale.outputs]));
        }
        for side in SIDES {
            all.extend(kernels(&format!("map.l2_conv{side}"), [side, VIEWS, EACH]));
        }
        all.extend(norms("observation", [WIDE, FEATURES]));
        for scale in image_scales() {
            let sizes = [scale.side, self.image_channels, scale.outputs];
            all.extend(kernels(&scale_name("observation", scale), sizes));
        }
        all.extend(kernels("observation.l2_conv3", [KERNEL, WIDE, FEATURES]));
        all
    }
}

fn norms(branch: &str, channels: [usize; 2]) -> Vec<TensorPlan> {
    let one =
        |name: &str, part: &str, size: usize| TensorPlan::new(format!("{branch}.{name}.{part}"), &[size]);
    let both = |(name, size)| [one(name, "beta", size), one(name, "gamma", size)];
    ["LayerNorm", "LayerNorm_1"].into_iter().zip(channels).flat_map(both).collect()
}

fn kernels(name: &str, [side, inputs, outputs]: [usize; 3]) -> [TensorPlan; 2] {
    [
        TensorPlan::new(format!("{name}.bias"), &[outputs]),
        TensorPlan::new(format!("{name}.kernel"), &[side, side, inputs, outputs]),
    ]
}

impl PfnetNet {
    /// A network of zeros.
    pub fn new(plan: PfnetPlan) -> Self {
        let (map, observation) = (Map::new(plan.map_channels), Observation::new(plan.image_channels));
        Self { plan, map, observation, joint: Joint::new() }
    }

    /// Takes all weights, by name; the joint layers stay as they are if there is nothing for the last of them.
    ///
    /// # Panics
    /// If a tensor has too few numbers, or is not there.
    pub fn set<'a>(&mut self, given: impl Fn(&str) -> Option<&'a [f32]>) {
        let tensor = |name: &str| given(name).unwrap_or_else(|| panic!("no weights for {name}"));
        let (order, map) = (self.map.order(), &mut self.map);
        set_many(&mut map.first, "map", &tensor);
        set_norm(&mut map.first_norm, "map.LayerNorm", &order, &tensor);
        let second = SIDES.map(|side| tensor(&format!("map.l2_conv{side}.kernel")));
        map.second.set(|size, tap, input, output| second[size][(tap * VIEWS + order[input]) * EACH + output]);
        for (size, bias) in map.second.bias.chunks_exact_mut(EACH).enumerate() {
            bias.copy_from_slice(tensor(&format!("map.l2_conv{}.bias", SIDES[size])));
        }
        set_norm(&mut map.second_norm, "map.LayerNorm_1", &in_order(MAP_FEATURES), &tensor);
        let image = &mut self.observation;
        set_many(&mut image.first, "observation", &tensor);
        set_norm(&mut image.first_norm, "observation.LayerNorm", &in_order(WIDE), &tensor);
        let second = tensor("observation.l2_conv3.kernel");
        image.set_second(|u, v, input, output| second[((u * KERNEL + v) * WIDE + input) * FEATURES + output]);
        image.second_bias.copy_from_slice(tensor("observation.l2_conv3.bias"));
        set_norm(&mut image.second_norm, "observation.LayerNorm_1", &in_order(FEATURES), &tensor);
        if given("joint.fc1.kernel").is_some() {
            self.set_joint(&tensor);
        }
    }

    fn set_joint<'a>(&mut self, tensor: &impl Fn(&str) -> &'a [f32]) {
        let joint = &mut self.joint;
        let weights = SIDES.map(|side| tensor(&format!("joint.l1_conv{side}.kernel")));
        let biases = SIDES.map(|side| tensor(&format!("joint.l1_conv{side}.bias")));
        let number = |place, tap, channel, output| {
            local_place(place, tap, channel, output).map_or(0.0, |(size, k)| weights[size][k])
        };
        joint.of_map.set(number);
        joint.of_image.set(|place, tap, channel, output| number(place, tap, MAP_FEATURES + channel, output));
        for (k, bias) in joint.bias.iter_mut().enumerate() {
            let (size, place) = bias_place(k);
            *bias = biases[size][place];
        }
        joint.last.copy_from_slice(tensor("joint.fc1.kernel"));
        joint.last_bias = tensor("joint.fc1.bias")[0];
    }
}

/// Which number of which kernel (3x3 or 5x5) a weight of the locally connected layer is: [place, tap of 5x5, channel
/// of both, output of both].
fn local_place(place: usize, tap: usize, channel: usize, output: usize) -> Option<(usize, usize)> {
    let (each, size) = (OUTPUTS / 2, output / (OUTPUTS / 2));
    let (side, edge) = (SIDES[size], (TAPS - SIDES[size]) / 2);
    let [u, v] = [tap / TAPS, tap % TAPS].map(|at| at.checked_sub(edge).filter(|&at| at < side));
    let tap = u? * side + v?;
    Some((size, ((place * side * side + tap) * SEEN + channel) * each + output % each))
}

/// The same for biases, [place, output of both].
fn bias_place(k: usize) -> (usize, usize) {
    let (each, output) = (OUTPUTS / 2, k % OUTPUTS);
    (output / each, k / OUTPUTS * each + output % each)
}

fn in_order(count: usize) -> Vec<usize> {
    (0..count).collect()
}

/// The place of a weight in the kernels of a scale, [row, column, input, output].
fn scale_place(scale: Scale, channels: usize, kernel: Kernel, [u, v, c]: [usize; 3]) -> usize {
    ((u * scale.side + v) * channels + c) * scale.outputs + kernel.output
}

fn set_many<'a>(layer: &mut ManyScales, branch: &str, tensor: &impl Fn(&str) -> &'a [f32]) {
    let (scales, channels) = (layer.scales.clone(), layer.channels);
    let named = |part: &str| -> Vec<&'a [f32]> {
        scales.iter().map(|&scale| tensor(&format!("{}.{part}", scale_name(branch, scale)))).collect()
    };
    let (weights, biases) = (named("kernel"), named("bias"));
    let weight = |kernel: Kernel, place| {
        weights[kernel.scale][scale_place(scales[kernel.scale], channels, kernel, place)]
    };
    layer.set(weight, |kernel| biases[kernel.scale][kernel.output]);
}

fn set_norm<'a>(norm: &mut Norm, name: &str, order: &[usize], tensor: &impl Fn(&str) -> &'a [f32]) {
    for (part, numbers) in [("gamma", &mut norm.gamma), ("beta", &mut norm.beta)] {
        let from = tensor(&format!("{name}.{part}"));
        numbers.iter_mut().zip(order).for_each(|(to, &place)| *to = from[place]);
    }
}
