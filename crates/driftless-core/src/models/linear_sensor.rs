//! Readings that are linear in the state, with normal noise.

use super::factor;
use crate::cpu::{Cpu, Work};
use crate::particles::Particles;
use crate::sensor::{Reading, Sensor};

/// y = C s + N(0, R).
#[derive(Clone, Debug, PartialEq)]
pub struct LinearSensor {
    matrix: Vec<f64>,
    covariance: Vec<f64>,
    states: usize,
    /// For readings without gaps.
    whole: Whitened,
}

/// The sensor in coordinates in which the noise is N(0, I): z = W y, z - (W C) s.
#[derive(Clone, Debug, PartialEq)]
struct Whitened {
    rows: Vec<usize>,
    factor: Vec<f64>,
    matrix: Vec<f32>,
    /// log density at the mean.
    peak: f64,
}

impl LinearSensor {
    /// With matrices row after row, for states of so many coordinates; `None` if sizes differ, or R is not a covariance
    /// with noise in all directions.
    pub fn new(matrix: Vec<f64>, covariance: Vec<f64>, states: usize) -> Option<Self> {
        let size = covariance.len().isqrt();
        let fits = size * size == covariance.len() && states > 0 && size * states == matrix.len() && size > 0;
        if !fits || !matrix.iter().all(|x| x.is_finite()) {
            return None;
        }
        let whole = Whitened::new(&matrix, &covariance, states, (0..size).collect())?;
        Some(Self { matrix, covariance, states, whole })
    }

    /// How many numbers a reading has.
    pub fn size(&self) -> usize {
        self.whole.rows.len()
    }

    /// How many coordinates a state has.
    pub fn states(&self) -> usize {
        self.states
    }

    /// The sensor with a reading; numbers that are not finite are missing, and say nothing.
    ///
    /// # Panics
    /// If it has another size.
    pub fn of(&self, reading: &[f64]) -> Measured {
        assert_eq!(reading.len(), self.size(), "numbers of a reading");
        let heard: Vec<usize> = (0..reading.len()).filter(|&k| reading[k].is_finite()).collect();
        let whitened = if heard.len() == self.size() {
            Some(self.whole.clone())
        } else {
            // Parts of a covariance are covariances.
            Whitened::new(&self.matrix, &self.covariance, self.states, heard)
        };
        Measured { reading: whitened.map(|whitened| whitened.with(reading)) }
    }
}

impl Whitened {
    fn new(matrix: &[f64], covariance: &[f64], states: usize, rows: Vec<usize>) -> Option<Self> {
        let (all, size) = (matrix.len() / states, rows.len());
        if size == 0 {
            return None;
        }
        let part = rows.iter().flat_map(|row| rows.iter().map(move |column| covariance[row * all + column]));
        let factor = factor(&part.collect::<Vec<_>>(), size)?;
        let pivots: Vec<f64> = (0..size).map(|k| factor[k * size + k]).collect();
        if pivots.contains(&0.0) {
            return None;
        }
        let mut found = Self { rows, factor, matrix: vec![0.0; size * states], peak: 0.0 };
        for k in 0..states {
            let column: Vec<f64> = found.rows.iter().map(|row| matrix[row * states + k]).collect();
            for (row, x) in found.white(column).into_iter().enumerate() {
                found.matrix[row * states + k] = x as f32;
            }
        }
        let log = pivots.iter().map(|pivot| pivot.ln() + 0.5 * std::f64::consts::TAU.ln());
        found.peak = -log.sum::<f64>();
        Some(found)
    }

    /// L⁻¹ of a vector.
    fn white(&self, mut vector: Vec<f64>) -> Vec<f64> {
        let size = vector.len();
        for row in 0..size {
            let known: f64 = (0..row).map(|k| self.factor[row * size + k] * vector[k]).sum();
            vector[row] = (vector[row] - known) / self.factor[row * size + row];
        }
        vector
    }

    fn with(self, reading: &[f64]) -> (Self, Vec<f32>) {
        let heard = self.rows.iter().map(|&row| reading[row]).collect();
        let white = self.white(heard).into_iter().map(|x| x as f32).collect();
        (self, white)
    }
}

/// A [`LinearSensor`] with the reading of a step.
#[derive(Clone, Debug)]
pub struct Measured {
    reading: Option<(Whitened, Vec<f32>)>,
}

impl Sensor for Measured {
    fn log_likelihoods(&mut self, particles: &Particles, log: &mut [f32]) -> Reading {
        let Some((sensor, reading)) = &self.reading else { return Reading::Missing };
        Cpu::best().run(Densities { sensor, reading, particles, log });
        Reading::Present
    }
}

/// log N(y; C s, R) of all particles.
struct Densities<'a> {
    sensor: &'a Whitened,
    reading: &'a [f32],
    particles: &'a Particles,
    log: &'a mut [f32],
}

impl Work for Densities<'_> {
    #[inline(always)]
    fn run(self) {
        const BLOCK: usize = 64;
        let columns = self.particles.columns();
        for (block, log) in self.log.chunks_mut(BLOCK).enumerate() {
            log.fill(self.sensor.peak as f32);
            for (&reading, row) in self.reading.iter().zip(self.sensor.matrix.chunks(columns.len())) {
                let mut apart = [reading; BLOCK];
                for (column, &times) in columns.iter().zip(row).filter(|(_, times)| **times != 0.0) {
                    let states = &column[block * BLOCK..][..log.len()];
                    apart.iter_mut().zip(states).for_each(|(apart, x)| *apart -= times * x);
                }
                log.iter_mut().zip(&apart).for_each(|(log, apart)| *log -= 0.5 * apart * apart);
            }
        }
    }
}
