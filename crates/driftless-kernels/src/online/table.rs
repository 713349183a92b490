//! Features of poses in a table: one product an image for all of it, then eight numbers a particle.
//!
//! Once trained, the network is a fixed function of a position and a heading. Its features, divided by their lengths,
//! are tabulated on a grid; an image's are multiplied with all of them, and the cosine of a pose is interpolated
//! between the eight nodes around it: a thousand times less work than the network does for each particle. The error
//! goes with the square of the grid's step ([`PoseTable::error`] measures it).

use super::weigh::{Room, Weigh};
use crate::Cpu;
use crate::cpu::Work;
use crate::gemm::{Finish, Left, Out, Panels, product};
use crate::mlp::MlpMemory;
use crate::rows::{dot, to_units};
use crate::scan::{PoseNet, encode, likelihood};
use rayon::prelude::*;
use std::f32::consts::{PI, TAU};

/// A grid over positions from `low` to `high` and all headings.
#[derive(Clone, Debug)]
pub struct PoseTable {
    net: PoseNet,
    low: [f32; 2],
    /// Nodes for one unit of x, y and heading.
    density: [f32; 3],
    /// Nodes along x, y and heading; headings go round.
    nodes: [usize; 3],
    /// Features of length 1 of all nodes with the same x.
    features: Vec<Panels>,
    /// Of the image seen last, a padded row for each x that was asked for.
    cosines: Vec<f32>,
    stride: usize,
}

impl PoseTable {
    /// Tabulates a network with so many nodes along x, y and heading.
    ///
    /// # Panics
    /// If there are fewer than two nodes along x or y or three headings, or nothing lies between `low` and `high`.
    pub fn new(net: PoseNet, [low, high]: [[f32; 2]; 2], nodes: [usize; 3]) -> Self {
        assert!(nodes[0] >= 2 && nodes[1] >= 2 && nodes[2] >= 3, "a grid has nodes along x, y and heading");
        assert!(low[0] < high[0] && low[1] < high[1], "a grid lies between two corners");
        let along = |k: usize| (nodes[k] - 1) as f32 / (high[k] - low[k]);
        let density = [along(0), along(1), nodes[2] as f32 / TAU];
        let stride = crate::padded(nodes[1] * nodes[2]);
        let cosines = vec![0.0; nodes[0] * stride];
        let mut table = Self { net, low, density, nodes, features: Vec::new(), cosines, stride };
        table.features = (0..nodes[0]).into_par_iter().map(|x| table.tabulate(x)).collect();
        table
    }

    /// The pose of a node: headings are neighbours, then y, then x.
    pub(super) fn pose(&self, node: usize) -> [f32; 3] {
        let [_, ny, nh] = self.nodes;
        let (x, y, heading) = (node / (ny * nh), node / nh % ny, node % nh);
        let [dx, dy, dh] = self.density;
        [self.low[0] + x as f32 / dx, self.low[1] + y as f32 / dy, heading as f32 / dh - PI]
    }

    /// All nodes of one x.
    fn tabulate(&self, x: usize) -> Panels {
        let count = self.nodes[1] * self.nodes[2];
        let poses: Vec<[f32; 3]> = (x * count..(x + 1) * count).map(|node| self.pose(node)).collect();
        let (mut features, mut lengths) = (features(&self.net, &poses), Vec::new());
        let width = self.net.layers.width();
        to_units(Cpu::best(), &mut features, width, &mut lengths);
        let mut panels = Panels::default();
        panels.fill_by([width, count], |k, node| features[node * width + k]);
        panels
    }

    /// Compares an image's features with all nodes around positions from `least` to `most` x.
    pub(super) fn look(&mut self, cpu: Cpu, seen: &[f32], [least, most]: [f32; 2]) {
        let (width, stride, nodes) = (self.net.layers.width(), self.stride, self.nodes[0]);
        let at = |x: f32| cell((x - self.low[0]) * self.density[0], nodes).0;
        let needed = at(least)..at(most).max(at(least)) + 2;
        let rows = &mut self.cosines[needed.start * stride..needed.end * stride];
        rows.par_chunks_mut(stride).zip(&self.features[needed]).for_each(|(row, panels)| {
            let mut out = Out { numbers: row, stride };
            product(
                cpu,
                Left::rows(seen, width),
                panels.right(),
                [1, width, stride],
                Finish::Store,
                &mut out,
            );
        });
    }

    /// The largest and the mean difference of cosines between table and network, over poses and an image's features
    /// of length 1.
    pub fn error(&mut self, seen: &[f32], poses: &[[f32; 3]]) -> [f64; 2] {
        self.look(Cpu::best(), seen, [f32::NEG_INFINITY, f32::INFINITY]);
        let (features, width) = (features(&self.net, poses), self.net.layers.width());
        let apart = features.chunks_exact(width).zip(poses).map(|(row, pose)| {
            let exact = dot(row, seen) / dot(row, row).sqrt().max(1e-6);
            f64::from((self.cosine(*pose) - exact).abs())
        });
        let apart: Vec<f64> = apart.collect();
        let most = apart.iter().fold(0.0, |most: f64, &x| most.max(x));
        [most, apart.iter().sum::<f64>() / apart.len().max(1) as f64]
    }

    /// Between the eight nodes around a pose; at the edge of the grid for positions beyond.
    #[inline(always)]
    pub(super) fn cosine(&self, [x, y, heading]: [f32; 3]) -> f32 {
        let [nx, ny, nh] = self.nodes;
        let (i, u) = cell((x - self.low[0]) * self.density[0], nx);
        let (j, v) = cell((y - self.low[1]) * self.density[1], ny);
        let at = ((heading + PI) * self.density[2]).clamp(0.0, nh as f32);
        let k = (at as usize).min(nh - 1);
        let (w, next) = (at - k as f32, if k + 1 == nh { 0 } else { k + 1 });
        let line = |i: usize, j: usize| {
            let row = &self.cosines[i * self.stride + j * nh..][..nh];
            row[k] + w * (row[next] - row[k])
        };
        let near = line(i, j) + v * (line(i, j + 1) - line(i, j));
        let far = line(i + 1, j) + v * (line(i + 1, j + 1) - line(i + 1, j));
        near + u * (far - near)
    }
}

/// The node before a place, one of those that have another behind them, and how far the place is on the way to it.
#[inline(always)]
fn cell(at: f32, nodes: usize) -> (usize, f32) {
    let at = at.clamp(0.0, (nodes - 1) as f32);
    let before = (at as usize).min(nodes - 2);
    (before, at - before as f32)
}

/// Features of poses, a row each.
fn features(net: &PoseNet, poses: &[[f32; 3]]) -> Vec<f32> {
    let column = |of: &dyn Fn(&[f32; 3]) -> f32| poses.iter().map(of).collect::<Vec<f32>>();
    let columns = [column(&|p| p[0]), column(&|p| p[1]), column(&|p| p[2].cos()), column(&|p| p[2].sin())];
    let (mut inputs, mut layers) = (Vec::new(), MlpMemory::default());
    encode(net, Cpu::best(), columns.each_ref().map(|column| &column[..]), (&mut inputs, &mut layers));
    layers.results().to_vec()
}

impl Weigh for PoseTable {
    fn weigh(
        &self,
        cpu: Cpu,
        [x, y, headings, ..]: [&[f32]; 5],
        _: &[f32],
        _: &mut Room,
        likelihoods: &mut [f32],
    ) {
        cpu.run(LookUp { table: self, columns: [x, y, headings], likelihoods });
    }
}

struct LookUp<'a> {
    table: &'a PoseTable,
    columns: [&'a [f32]; 3],
    likelihoods: &'a mut [f32],
}

impl Work for LookUp<'_> {
    #[inline(always)]
    fn run(self) {
        let [x, y, headings] = self.columns;
        let epsilon = self.table.net.epsilon;
        for (i, l) in self.likelihoods.iter_mut().enumerate() {
            *l = likelihood(epsilon, self.table.cosine([x[i], y[i], headings[i]]));
        }
    }
}
