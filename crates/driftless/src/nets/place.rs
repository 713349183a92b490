//! Features of places fine enough to tell a step from the next: waves of several lengths.

use super::dense::{Activation, Mlp};
use crate::model::StateEncoder;
use crate::parameters::Init;
use crate::prior::row;
use burn::module::Module;
use burn::tensor::Tensor;
use driftless_core::angles::turn;
use driftless_core::{Cpu, Particles};
use std::f64::consts::PI;

/// Poses as waves (Tancik et al. 2020): z = (p - centre) / extent for x and y, sin and cos of
/// π 2ᵏ z for k = 0, 1, …, octaves - 1, and cos and sin of θ and of 2 θ.
#[derive(Clone, Debug, PartialEq)]
pub struct Waves {
    centre: [f64; 2],
    extent: f64,
    octaves: usize,
}

impl Waves {
    /// Waves around `centre`, the longest of which is twice the `extent`.
    ///
    /// # Panics
    /// If the extent is not positive and finite.
    pub fn new(centre: [f64; 2], extent: f64, octaves: usize) -> Self {
        assert!(extent > 0.0 && extent.is_finite(), "the extent must be positive: {extent}");
        Self { centre, extent, octaves }
    }

    /// How many features a pose has.
    pub fn count(&self) -> usize {
        6 + 4 * self.octaves
    }

    /// [B, N, 3] → [B, N, count].
    pub fn of(&self, poses: &Tensor<3>) -> Tensor<3> {
        let heading = poses.clone().slice_dim(2, 2..3);
        let place = (poses.clone().slice_dim(2, 0..2) - row(&self.centre, poses)) * (1.0 / self.extent);
        let twice = heading.clone() * 2.0;
        let mut parts = vec![place.clone(), heading.clone().cos(), heading.sin()];
        parts.extend([twice.clone().cos(), twice.sin()]);
        for octave in 0..self.octaves {
            let angle = place.clone() * (PI * 2.0_f64.powi(octave as i32));
            parts.extend([angle.clone().sin(), angle.cos()]);
        }
        Tensor::cat(parts, 2)
    }

    /// [`Waves::of`] without tensors: rows of `width` numbers, padded with zeros. `turned` is memory.
    ///
    /// sin 2a = 2 sin a cos a and cos 2a = 1 - 2 sin² a make each octave of the one before.
    pub(crate) fn rows(
        &self,
        poses: &Particles,
        width: usize,
        turned: &mut [Vec<f32>; 7],
        rows: &mut Vec<f32>,
    ) {
        let count = poses.len();
        for column in &mut *turned {
            column.resize(count, 0.0);
        }
        let [angles, x_cos, x_sin, y_cos, y_sin, cos, sin] = turned;
        turn(Cpu::best(), poses.column(2), [cos, sin]);
        let scale = (PI / self.extent) as f32;
        for (k, columns) in [[x_cos, x_sin], [y_cos, y_sin]].into_iter().enumerate() {
            let centre = self.centre[k] as f32;
            angles.iter_mut().zip(poses.column(k)).for_each(|(angle, x)| *angle = scale * (x - centre));
            turn(Cpu::best(), angles, columns.map(|column| &mut column[..]));
        }
        rows.clear();
        rows.resize(count * width, 0.0);
        let twice = |[sin, cos]: [f32; 2]| [2.0 * sin * cos, 1.0 - 2.0 * sin * sin];
        let [_, x_cos, x_sin, y_cos, y_sin, cos, sin] = turned;
        for (i, row) in rows.chunks_exact_mut(width).enumerate() {
            let place: [f32; 2] =
                std::array::from_fn(|k| (poses.column(k)[i] - self.centre[k] as f32) / self.extent as f32);
            let doubled = twice([sin[i], cos[i]]);
            let first = [place[0], place[1], cos[i], sin[i], doubled[1], doubled[0]];
            row[..6].copy_from_slice(&first);
            let mut waves = [[x_sin[i], x_cos[i]], [y_sin[i], y_cos[i]]];
            for to in row[6..self.count()].chunks_exact_mut(4) {
                let [[x_sin, x_cos], [y_sin, y_cos]] = waves;
                to.copy_from_slice(&[x_sin, y_sin, x_cos, y_cos]);
                waves = waves.map(twice);
            }
        }
    }
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
    use driftless_core::Space;

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
        waves.rows(&poses, 16, &mut Default::default(), &mut rows);
        let rows: Vec<f64> = rows.into_iter().map(f64::from).collect();
        // Cosines in 32 bits are exact within 1e-6, doubled once.
        assert_close(&rows[..14], &expected, 4e-6);
        assert_eq!((&rows[14..16], &rows[16..]), (&[0.0; 2][..], &rows[..16]));
    }
}
