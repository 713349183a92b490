//! From derivatives by a view's features to those by the weights of the map branch, and by the view.

use super::{LOCAL_SIDE, Map, MapWorkspace, SMALL, View};
use crate::Cpu;
use crate::pfnet::many_scales::ManyScalesGradient;
use crate::pfnet::norm::{Norm, common_part};
use crate::pfnet::pooling::unpool_row;
use crate::pfnet::second::{MAP_FEATURES, VIEWS, rows_back};

/// The derivatives by all weights of the branch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::pfnet) struct MapGradient {
    pub(in crate::pfnet) first: ManyScalesGradient,
    pub(in crate::pfnet) first_norm: Norm,
    /// In the order of [`rows_back`], an input each.
    pub(in crate::pfnet) second: Vec<f32>,
    pub(in crate::pfnet) second_bias: Vec<f32>,
    pub(in crate::pfnet) second_norm: Norm,
}

impl MapGradient {
    /// Zeros for all weights of a branch.
    pub(in crate::pfnet) fn reset(&mut self, net: &Map) {
        net.first.reset(&mut self.first);
        self.first_norm = Norm::new(VIEWS);
        self.second_norm = Norm::new(MAP_FEATURES);
        self.second.clear();
        self.second.resize(rows_back().count() * VIEWS, 0.0);
        self.second_bias = vec![0.0; MAP_FEATURES];
    }
}

impl Map {
    /// Adds the derivatives by all weights, given those by the features of a view, which are used up.
    pub(in crate::pfnet) fn backward(
        &self,
        cpu: Cpu,
        view: &View,
        by_features: &mut [f32],
        workspace: &mut MapWorkspace,
        sum: &mut MapGradient,
    ) {
        let x = (&view.results[..], view.second_moments);
        let norm = &self.second_norm;
        let common = norm.back_through_relu(cpu, x, by_features, view.results.len(), &mut sum.second_norm);
        norm.back(cpu, x, common, by_features);
        for pixel in by_features.chunks_exact(MAP_FEATURES) {
            sum.second_bias.iter_mut().zip(pixel).for_each(|(sum, by)| *sum += by);
        }
        self.activated(cpu, view, &mut workspace.act);
        let MapWorkspace { act, by_act, second, .. } = workspace;
        self.second.backward(cpu, act, by_features, second, &mut sum.second, by_act);
        self.back_through_first(cpu, view, workspace, sum);
    }

    /// From `by_act` to the derivatives by the first layer's results, in their place, and by its weights.
    fn back_through_first(&self, cpu: Cpu, view: &View, workspace: &mut MapWorkspace, sum: &mut MapGradient) {
        let MapWorkspace { results, by_act, .. } = workspace;
        self.first_layer(cpu, &view.local, results);
        let (x, norm) = ((&view.kept[..], view.first_moments), &self.first_norm);
        let common = norm.back_through_relu(cpu, x, by_act, results.len(), &mut sum.first_norm);
        common_part(cpu, view.first_moments, common, results);
        let factors: Vec<f32> = norm.gamma.iter().map(|gamma| gamma * view.first_moments.sharpness).collect();
        for pixel in by_act.chunks_exact_mut(VIEWS) {
            pixel.iter_mut().zip(&factors).for_each(|(by, factor)| *by *= factor);
        }
        let line = SMALL * VIEWS;
        for (y, (by, places)) in by_act.chunks_exact(line).zip(view.places.chunks_exact(line)).enumerate() {
            let mut rows = results.chunks_exact_mut(LOCAL_SIDE * VIEWS).skip(2 * y);
            let mut next = || rows.next().unwrap_or_default();
            unpool_row(by, places, VIEWS, &mut [next(), next(), next()]);
        }
        for (y, row) in results.chunks_exact(LOCAL_SIDE * VIEWS).enumerate() {
            self.first.differentiate_row(cpu, &view.local, y, row, &mut sum.first);
        }
    }
}
