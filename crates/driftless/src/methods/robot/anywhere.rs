//! Where a robot may be that is told nothing: poses all over the space, which readings are compared with.

use super::sensor::Model;
use crate::learn::Normalisation;
use driftless_core::exponential::log_sum_exp;
use driftless_core::motion::Density;
use driftless_core::motion::density::{Carried, NormalDensity};
use driftless_core::{Cpu, Particles, Space};
use driftless_kernels::contrast::Atlas;
use driftless_world::random::Random;
use std::collections::HashSet;
use std::f64::consts::PI;
use std::sync::Arc;

/// Share of the extent of known positions by which a robot may be beyond them.
const MARGIN: f64 = 0.05;
/// Poses that each further reading is compared with, to find a robot that is elsewhere.
const LATER: usize = 20_000;

/// Poses, and what each sensor has arranged of them.
pub(super) struct Surveyed {
    pub(super) poses: Particles,
    pub(super) atlases: Vec<Option<Atlas>>,
    /// Standard deviations that fill the space between neighbours.
    pub(super) jitter: Vec<f32>,
}

impl Surveyed {
    fn new<S>(models: &[Box<dyn Model<S>>], poses: Particles, jitter: Vec<f32>) -> Self {
        Self { atlases: models.iter().map(|model| model.atlas(&poses)).collect(), poses, jitter }
    }
}

/// How dense states that may be anywhere are.
enum Law {
    /// The logarithm, the same everywhere.
    Evenly(f64),
    /// About states that were seen, which are so many.
    About(NormalDensity, usize),
}

/// Poses all over the space, drawn evenly, and how far they lie apart.
pub(super) struct Anywhere {
    first: Surveyed,
    later: Surveyed,
    law: Law,
}

impl Anywhere {
    /// So many poses where the map says that robots can be, else in the box of known ones.
    pub(super) fn new(
        models: &[Box<dyn Model>],
        normalisation: &Normalisation,
        count: usize,
        seed: u64,
    ) -> Self {
        let (low, high) = (normalisation.low, normalisation.high);
        let margin = MARGIN * (high[0] - low[0]).max(high[1] - low[1]).max(1e-6);
        let seen = [[low[0] - margin, low[1] - margin], [high[0] + margin, high[1] + margin]];
        let bounds = models.iter().find_map(|model| model.extent(low[0] < high[0])).unwrap_or(seen);
        let mut random = Random::stream(seed, 0x706c_6163_6573);
        let inside = |[x, y]: [f64; 2]| {
            (bounds[0][0]..=bounds[1][0]).contains(&x) && (bounds[0][1]..=bounds[1][1]).contains(&y)
        };
        let mut poses = |count: usize| {
            let mut all = Particles::new(Space::SE2);
            for _ in 0..count {
                let told = (0..4).find_map(|_| {
                    models.iter().find_map(|model| model.place(&mut random)).filter(|p| inside(*p))
                });
                let [x, y] = told.unwrap_or_else(|| [0, 1].map(|k| random.range(bounds[0][k], bounds[1][k])));
                all.push(&[x, y, random.range(low[2], high[2])].map(|x| x as f32));
            }
            all
        };
        let [first, later] = [poses(count), poses(count.min(LATER))];
        let turns = high[2] > low[2];
        let turned = if turns { (high[2] - low[2]).ln() } else { 0.0 };
        let law = Law::Evenly(-area(bounds, &first).max(1e-12).ln() - turned);
        let surveyed = |poses: Particles| {
            let jitter = jitter(bounds, turns, poses.len());
            Surveyed::new(models, poses, jitter)
        };
        Self { first: surveyed(first), later: surveyed(later), law }
    }

    /// Where states of named coordinates were seen to be, and how far they lie apart.
    pub(super) fn seen<S>(models: &[Box<dyn Model<S>>], states: &Particles, jitter: &[f32]) -> Self {
        let surveyed = || Surveyed::new(models, states.clone(), jitter.to_vec());
        let deviations: Vec<f64> = jitter.iter().map(|x| f64::from(*x)).collect();
        let law = Law::About(NormalDensity::new(states.clone(), &deviations), states.len());
        Self { first: surveyed(), later: surveyed(), law }
    }

    /// How a robot moves that is carried off with this probability, to anywhere.
    pub(super) fn carried(self: &Arc<Self>, motion: Box<dyn Density>, probability: f64) -> Box<dyn Density> {
        let (anywhere, mut logs) = (Arc::clone(self), Vec::<f32>::new());
        let log_elsewhere = move |to: &[f32]| match &anywhere.law {
            Law::Evenly(log) => *log,
            Law::About(law, count) => {
                logs.resize(*count, 0.0);
                law.logs(to, &mut logs);
                log_sum_exp(Cpu::best(), &logs, 1.0) - ((*count).max(1) as f64).ln()
            }
        };
        Box::new(Carried { motion, probability, log_elsewhere })
    }

    /// Those that a robot's first reading is compared with, or a later one.
    pub(super) fn surveyed(&self, is_first: bool) -> &Surveyed {
        if is_first { &self.first } else { &self.later }
    }
}

/// The area that poses lie in: that of the cells of their box in which there is one, of which each would have a dozen if they
/// were everywhere.
fn area([low, high]: [[f64; 2]; 2], poses: &Particles) -> f64 {
    let side = (poses.len() as f64 / 12.0).sqrt().floor().max(1.0);
    let cell = |k: usize, x: f32| {
        let share = (f64::from(x) - low[k]) / (high[k] - low[k]).max(1e-12);
        (share * side).floor().clamp(0.0, side - 1.0) as u32
    };
    let both = poses.column(0).iter().zip(poses.column(1));
    let taken: HashSet<[u32; 2]> = both.map(|(x, y)| [cell(0, *x), cell(1, *y)]).collect();
    (high[0] - low[0]) * (high[1] - low[1]) * taken.len() as f64 / (side * side)
}

/// Standard deviations that fill the space between so many neighbours.
fn jitter([low, high]: [[f64; 2]; 2], turns: bool, count: usize) -> Vec<f32> {
    let area = (high[0] - low[0]) * (high[1] - low[1]);
    let headings = if turns { 36.0_f64 } else { 1.0 };
    let apart = 0.5 * (area * headings / count.max(1) as f64).sqrt();
    vec![apart as f32, apart as f32, if turns { (PI / headings) as f32 } else { 0.0 }]
}
