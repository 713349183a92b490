//! Features of places fine enough to tell a step from the next: waves of several lengths.

use super::dense::{Activation, Mlp};
use crate::model::StateEncoder;
use crate::parameters::Init;
use burn::module::Module;
use burn::tensor::Tensor;
use driftless_core::angles::turn;
use driftless_core::{Cpu, Particles, Space};
use std::f64::consts::PI;

/// Harmonics of a heading.
const HARMONICS: usize = 2;

/// States as waves (Tancik et al. 2020): z = (s - centre) / extent of each coordinate that is no angle, cos and sin of
/// 2ʰ θ for h = 0, 1, … of each angle, and sin and cos of π 2ᵏ z for k = 0, 1, …, octaves - 1. Of planar poses x and y
/// share an extent, and the heading has two harmonics.
#[derive(Clone, Debug, PartialEq)]
pub struct Waves {
    /// Coordinates that are no angles: which, centre and extent.
    lengths: Vec<(usize, f64, f64)>,
    angles: Vec<usize>,
    octaves: usize,
    harmonics: usize,
}

/// Memory of [`Waves::rows`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Turned {
    angles: Vec<f32>,
    /// Cosines and sines of each coordinate.
    columns: Vec<[Vec<f32>; 2]>,
}

impl Waves {
    /// Waves of poses around `centre`, the longest of which is twice the `extent`.
    ///
    /// # Panics
    /// If the extent is not positive and finite.
    pub fn new(centre: [f64; 2], extent: f64, octaves: usize) -> Self {
        let [x, y] = centre;
        Self { harmonics: HARMONICS, ..Self::of_states(Space::SE2, &[x, y, 0.0], &[extent; 3], octaves) }
    }

    /// Waves of the states of a space, each coordinate around a centre with an extent of its own; angles, which need
    /// neither, have as many harmonics as the others octaves.
    ///
    /// # Panics
    /// If an extent is not positive and finite, or there are not as many as coordinates.
    pub fn of_states(space: Space, centres: &[f64], extents: &[f64], octaves: usize) -> Self {
        let valid = extents.iter().all(|extent| *extent > 0.0 && extent.is_finite());
        assert!(valid, "extents must be positive: {extents:?}");
        assert_eq!([centres.len(), extents.len()], [space.dimension(); 2], "a centre and an extent for each");
        let (angles, lengths): (Vec<usize>, Vec<usize>) =
            (0..space.dimension()).partition(|&k| space.is_angle(k));
        let lengths = lengths.into_iter().map(|k| (k, centres[k], extents[k])).collect();
        Self { lengths, angles, octaves, harmonics: octaves.max(HARMONICS) }
    }

    /// How many features a state has.
    pub fn count(&self) -> usize {
        self.lengths.len() * (1 + 2 * self.octaves) + 2 * self.harmonics * self.angles.len()
    }

    /// [B, N, S] → [B, N, count].
    pub fn of(&self, states: &Tensor<3>) -> Tensor<3> {
        let column = |k: usize| states.clone().slice_dim(2, k..k + 1);
        let place = |(k, centre, extent): &(usize, f64, f64)| (column(*k) - *centre) * (1.0 / extent);
        let places: Vec<Tensor<3>> = self.lengths.iter().map(place).collect();
        let mut parts = places.clone();
        for &k in &self.angles {
            for harmonic in 0..self.harmonics {
                let angle = column(k) * 2.0_f64.powi(harmonic as i32);
                parts.extend([angle.clone().cos(), angle.sin()]);
            }
        }
        for octave in 0..self.octaves {
            let angle = |place: &Tensor<3>| place.clone() * (PI * 2.0_f64.powi(octave as i32));
            parts.extend(places.iter().map(|place| angle(place).sin()));
            parts.extend(places.iter().map(|place| angle(place).cos()));
        }
        Tensor::cat(parts, 2)
    }

    /// [`Waves::of`] without tensors: rows of `width` numbers, padded with zeros. `turned` is memory.
    ///
    /// sin 2a = 2 sin a cos a and cos 2a = 1 - 2 sin² a make each octave of the one before.
    pub(crate) fn rows(&self, states: &Particles, width: usize, turned: &mut Turned, rows: &mut Vec<f32>) {
        let (count, places) = (states.len(), self.lengths.len());
        let Turned { angles, columns } = turned;
        angles.resize(count, 0.0);
        columns.resize_with(places + self.angles.len(), Default::default);
        columns.iter_mut().flatten().for_each(|column| column.resize(count, 0.0));
        for (&(k, centre, extent), [cos, sin]) in self.lengths.iter().zip(&mut *columns) {
            let (scale, centre) = ((PI / extent) as f32, centre as f32);
            angles.iter_mut().zip(states.column(k)).for_each(|(angle, x)| *angle = scale * (x - centre));
            turn(Cpu::best(), angles, [cos, sin]);
        }
        for (&k, [cos, sin]) in self.angles.iter().zip(&mut columns[places..]) {
            turn(Cpu::best(), states.column(k), [cos, sin]);
        }
        rows.clear();
        rows.resize(count * width, 0.0);
        for (j, (&(k, centre, extent), [cos, sin])) in self.lengths.iter().zip(&*columns).enumerate() {
            let (centre, extent, first) = (centre as f32, extent as f32, self.first_octave());
            for (i, row) in rows.chunks_exact_mut(width).enumerate() {
                row[j] = (states.column(k)[i] - centre) / extent;
                let mut wave = [sin[i], cos[i]];
                for octave in row[first..self.count()].chunks_exact_mut(2 * places) {
                    (octave[j], octave[places + j]) = (wave[0], wave[1]);
                    wave = doubled(wave);
                }
            }
        }
        for (j, [cos, sin]) in columns[places..].iter().enumerate() {
            let first = places + 2 * self.harmonics * j;
            for (i, row) in rows.chunks_exact_mut(width).enumerate() {
                let mut wave = [sin[i], cos[i]];
                for harmonic in row[first..first + 2 * self.harmonics].chunks_exact_mut(2) {
                    (harmonic[0], harmonic[1]) = (wave[1], wave[0]);
                    wave = doubled(wave);
                }
            }
        }
    }

    /// Where the features of the first octave begin.
    fn first_octave(&self) -> usize {
        self.lengths.len() + 2 * self.harmonics * self.angles.len()
    }
}

/// Sine and cosine of twice the angle.
fn doubled([sin, cos]: [f32; 2]) -> [f32; 2] {
    [2.0 * sin * cos, 1.0 - 2.0 * sin * sin]
}

/// Layers on [`Waves`], with ReLU between them and none after the last: features of any sign.
///
/// ```
/// use burn::tensor::{DType, Device, Tensor};
/// use driftless::model::StateEncoder;
/// use driftless::nets::{PlaceEncoder, Waves};
/// use driftless::parameters::Init;
///
/// let mut init = Init::new(1, &Device::flex(), DType::F32);
/// let encoder = PlaceEncoder::new(Waves::new([500.0, 250.0], 1000.0, 5), &[128, 128, 128], &mut init);
/// assert_eq!(encoder.encode(Tensor::zeros([2, 7, 3], &Device::flex())).dims(), [2, 7, 128]);
/// ```
#[derive(Module, Debug)]
pub struct PlaceEncoder {
    /// From waves to features.
    pub mlp: Mlp,
    #[module(skip)]
    waves: Waves,
}

impl PlaceEncoder {
    /// One layer for each of `widths`, the last of them E.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(waves: Waves, widths: &[usize], init: &mut Init) -> Self {
        Self { mlp: Mlp::new(waves.count(), widths, Activation::Linear, init), waves }
    }
}

impl PlaceEncoder {
    /// What its network is given of a pose.
    pub fn waves(&self) -> &Waves {
        &self.waves
    }
}

impl StateEncoder for PlaceEncoder {
    fn encode(&self, states: Tensor<3>) -> Tensor<3> {
        self.mlp.forward(self.waves.of(&states))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, f64s, numbers};

    #[test]
    fn waves_by_hand() {
        let waves = Waves::new([10.0, 20.0], 8.0, 2);
        let found = numbers(&waves.of(&f64s([[[12.0, 16.0, 0.5]]])));
        let (x, y) = (0.25 * PI, -0.5 * PI);
        let turned = [0.5_f64.cos(), 0.5_f64.sin(), 1.0_f64.cos(), 1.0_f64.sin()];
        let first = [x.sin(), y.sin(), x.cos(), y.cos()];
        let second = [(2.0 * x).sin(), (2.0 * y).sin(), (2.0 * x).cos(), (2.0 * y).cos()];
        let expected = [&[0.25, -0.5], &turned[..], &first, &second].concat();
        assert_eq!(found.len(), waves.count());
        assert_close(&found, &expected, 1e-14);
        let mut rows = Vec::new();
        let poses = Particles::from_states(Space::SE2, [[12.0_f32, 16.0, 0.5]; 2]);
        waves.rows(&poses, 16, &mut Turned::default(), &mut rows);
        let rows: Vec<f64> = rows.into_iter().map(f64::from).collect();
        // Cosines in 32 bits are exact within 1e-6, doubled once.
        assert_close(&rows[..14], &expected, 4e-6);
        assert_eq!((&rows[14..16], &rows[16..]), (&[0.0; 2][..], &rows[..16]));
    }

    /// An angle, a length and an angle: both ways say the same, in the same order.
    #[test]
    fn waves_of_other_states() {
        let space = Space::linear(3).with_angle(0).with_angle(2);
        let waves = Waves::of_states(space, &[0.0, 4.0, 0.0], &[1.0, 2.0, 1.0], 3);
        assert_eq!(waves.count(), 7 + 12);
        let expected = numbers(&waves.of(&f64s([[[0.4, 5.0, -2.5], [3.0, 3.2, 0.1]]])));
        assert_close(&expected[..3], &[0.5, 0.4_f64.cos(), 0.4_f64.sin()], 1e-14);
        let states = Particles::from_states(space, [[0.4_f32, 5.0, -2.5], [3.0, 3.2, 0.1]]);
        let mut rows = Vec::new();
        waves.rows(&states, 19, &mut Turned::default(), &mut rows);
        // Doubled twice, errors of 1e-6 are 4e-6, and as much again by rounding.
        assert_close(&rows.into_iter().map(f64::from).collect::<Vec<_>>(), &expected, 1e-5);
    }
}
