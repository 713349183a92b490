//! The derivatives by all weights: adding them up, and giving them back in the shapes of PF-net's tensors.

use super::{bias_place, in_order, local_place, scale_name, scale_place};
use crate::pfnet::PfnetNet;
use crate::pfnet::joint::{JointGradient, LAST};
use crate::pfnet::local::{ALL_PLACES, OUTPUTS};
use crate::pfnet::many_scales::{ManyScales, ManyScalesGradient};
use crate::pfnet::map::MapGradient;
use crate::pfnet::norm::Norm;
use crate::pfnet::observation::backward::ObservationGradient;
use crate::pfnet::observation::{FEATURES, LINE, WIDE};
use crate::pfnet::second::{EACH, MAP_FEATURES, SIDES, VIEWS, rows_back};
use crate::ranks::{Message, Wire};

/// The derivatives of a loss by all weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PfnetGradient {
    pub(in crate::pfnet) map: MapGradient,
    pub(in crate::pfnet) observation: ObservationGradient,
    pub(in crate::pfnet) joint: JointGradient,
}

impl PfnetGradient {
    /// Zeros for all weights of a network; memory it has already is used again.
    pub fn reset(&mut self, net: &PfnetNet) {
        self.map.reset(&net.map);
        self.observation.reset(&net.observation);
        let JointGradient { of_map, of_image, bias, last, last_bias } = &mut self.joint;
        zeros(of_map, net.joint.of_map.len());
        zeros(of_image, net.joint.of_image.len());
        zeros(bias, ALL_PLACES * OUTPUTS);
        zeros(last, LAST);
        *last_bias = 0.0;
    }

    /// Adds those of other trajectories.
    pub fn add(&mut self, other: &Self) {
        let pairs = self.parts_mut().into_iter().zip(other.parts());
        for (sum, part) in pairs {
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        self.joint.last_bias += other.joint.last_bias;
    }

    fn parts_mut(&mut self) -> Vec<&mut Vec<f32>> {
        let Self { map, observation, joint } = self;
        let mut all: Vec<&mut Vec<f32>> = map.first.blocks.iter_mut().collect();
        all.extend([&mut map.first.bias, &mut map.first_norm.gamma, &mut map.first_norm.beta]);
        all.extend([&mut map.second, &mut map.second_bias]);
        all.extend([&mut map.second_norm.gamma, &mut map.second_norm.beta]);
        all.extend(observation.first.blocks.iter_mut());
        let norm = &mut observation.first_norm;
        all.extend([&mut observation.first.bias, &mut norm.gamma, &mut norm.beta]);
        all.extend(observation.second.iter_mut());
        let norm = &mut observation.second_norm;
        all.extend([&mut observation.second_bias, &mut norm.gamma, &mut norm.beta]);
        all.extend([&mut joint.of_map, &mut joint.of_image, &mut joint.bias, &mut joint.last]);
        all
    }

    fn parts(&self) -> Vec<&Vec<f32>> {
        let Self { map, observation, joint } = self;
        let mut all: Vec<&Vec<f32>> = map.first.blocks.iter().collect();
        all.extend([&map.first.bias, &map.first_norm.gamma, &map.first_norm.beta]);
        all.extend([&map.second, &map.second_bias, &map.second_norm.gamma, &map.second_norm.beta]);
        all.extend(observation.first.blocks.iter());
        let norm = &observation.first_norm;
        all.extend([&observation.first.bias, &norm.gamma, &norm.beta]);
        all.extend(observation.second.iter());
        let norm = &observation.second_norm;
        all.extend([&observation.second_bias, &norm.gamma, &norm.beta]);
        all.extend([&joint.of_map, &joint.of_image, &joint.bias, &joint.last]);
        all
    }
}

impl Message for PfnetGradient {
    fn pass(&mut self, wire: &mut Wire) {
        self.parts_mut().into_iter().for_each(|part| part.pass(wire));
        self.joint.last_bias.pass(wire);
    }
}

/// As many zeros.
fn zeros(numbers: &mut Vec<f32>, count: usize) {
    numbers.clear();
    numbers.resize(count, 0.0);
}

/// Tensors being filled, by name.
struct Tensors(Vec<(String, Vec<f32>)>);

impl Tensors {
    fn of(&mut self, name: &str) -> &mut [f32] {
        let found = self.0.iter_mut().find(|(own, _)| own == name);
        &mut found.expect("a tensor of the plan").1
    }

    fn norm(&mut self, name: &str, norm: &Norm, order: &[usize]) {
        for (part, numbers) in [("gamma", &norm.gamma), ("beta", &norm.beta)] {
            let to = self.of(&format!("{name}.{part}"));
            order.iter().zip(numbers).for_each(|(&place, &by)| to[place] = by);
        }
    }

    fn many(&mut self, branch: &str, layer: &ManyScales, gradient: &ManyScalesGradient) {
        for (number, &scale) in layer.scales.iter().enumerate() {
            let name = scale_name(branch, scale);
            let to = self.of(&format!("{name}.kernel"));
            layer.each_gradient(gradient, |kernel, place, by| {
                if kernel.scale == number {
                    to[scale_place(scale, layer.channels, kernel, place)] = by;
                }
            });
            let to = self.of(&format!("{name}.bias"));
            let biases = layer.kernels().zip(&gradient.bias).filter(|(kernel, _)| kernel.scale == number);
            biases.for_each(|(kernel, &by)| to[kernel.output] = by);
        }
    }
}

impl PfnetNet {
    /// The derivatives by each tensor of the plan, in its order.
    pub fn gradients(&self, gradient: &PfnetGradient) -> Vec<(String, Vec<f32>)> {
        let zeros = self.plan.tensors().into_iter().map(|plan| {
            let count = plan.len();
            (plan.name, vec![0.0; count])
        });
        let mut all = Tensors(zeros.collect());
        self.map_gradients(&gradient.map, &mut all);
        let by = &gradient.observation;
        all.many("observation", &self.observation.first, &by.first);
        all.norm("observation.LayerNorm", &by.first_norm, &in_order(WIDE));
        let to = all.of("observation.l2_conv3.kernel");
        for (u, rows) in by.second.iter().enumerate() {
            for (output, row) in rows.chunks_exact(LINE).enumerate() {
                row.iter().enumerate().for_each(|(k, &by)| to[(u * LINE + k) * FEATURES + output] = by);
            }
        }
        all.of("observation.l2_conv3.bias").copy_from_slice(&by.second_bias);
        all.norm("observation.LayerNorm_1", &by.second_norm, &in_order(FEATURES));
        self.joint_gradients(&gradient.joint, &mut all);
        all.0
    }

    fn map_gradients(&self, by: &MapGradient, all: &mut Tensors) {
        let order = self.map.order();
        all.many("map", &self.map.first, &by.first);
        all.norm("map.LayerNorm", &by.first_norm, &order);
        for ((size, output, tap), row) in rows_back().zip(by.second.chunks_exact(VIEWS)) {
            let to = all.of(&format!("map.l2_conv{}.kernel", SIDES[size]));
            let inputs = order.iter().zip(row);
            inputs.for_each(|(input, &by)| to[(tap * VIEWS + input) * EACH + output] = by);
        }
        for (side, bias) in SIDES.iter().zip(by.second_bias.chunks_exact(EACH)) {
            all.of(&format!("map.l2_conv{side}.bias")).copy_from_slice(bias);
        }
        all.norm("map.LayerNorm_1", &by.second_norm, &in_order(MAP_FEATURES));
    }

    fn joint_gradients(&self, by: &JointGradient, all: &mut Tensors) {
        let parts = [(&self.joint.of_map, &by.of_map, 0), (&self.joint.of_image, &by.of_image, MAP_FEATURES)];
        for (size, side) in SIDES.iter().enumerate() {
            let to = all.of(&format!("joint.l1_conv{side}.kernel"));
            for (layer, numbers, first) in parts {
                layer.each_gradient(numbers, |(place, tap, channel, output), by| {
                    match local_place(place, tap, first + channel, output) {
                        Some((of, k)) if of == size => to[k] = by,
                        _ => {}
                    }
                });
            }
            let to = all.of(&format!("joint.l1_conv{side}.bias"));
            for (k, &by) in by.bias.iter().enumerate() {
                let (of, place) = bias_place(k);
                if of == size {
                    to[place] = by;
                }
            }
        }
        all.of("joint.fc1.kernel").copy_from_slice(&by.last);
        all.of("joint.fc1.bias")[0] = by.last_bias;
    }
}
