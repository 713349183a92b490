//! Vectors of any numbers for a network: normalised column by column, each with a mark that says whether it is there.

use super::super::walks::Measured;
use super::input::Input;
use crate::learn::SensorSettings;
use crate::nets::ConvPlan;
use driftless_world::random::Random;
use driftless_world::statistics::Moments;

/// Units of both hidden layers.
const WIDTH: usize = 128;
/// The share of them that dropout keeps.
const KEEP: f64 = 0.8;
/// Noise on numbers in training, in their deviations: readings that might have been.
const NOISE: f64 = 0.05;
/// Deviations that a number is from the mean, at most.
const FARTHEST: f32 = 5.0;

/// The columns of a sensor.
#[derive(Clone)]
pub(in crate::methods::robot) struct Numbers {
    columns: [usize; 2],
    /// Mean and inverse deviation of each.
    scale: Vec<[f32; 2]>,
}

impl Numbers {
    /// Not measured yet.
    pub(in crate::methods::robot) fn new(settings: &SensorSettings) -> Self {
        Self { columns: settings.columns, scale: vec![[0.0, 1.0]; settings.width()] }
    }

    fn own<'a>(&self, seen: &Measured<'a>) -> &'a [f32] {
        seen.numbers.get(self.columns[0]..self.columns[1]).unwrap_or(&[])
    }
}

impl Input for Numbers {
    /// Numbers and marks fill an image of 2 x 2 pixels, which one kernel sees whole: a dense layer.
    fn plan(&self) -> ConvPlan {
        let image = [(2 * self.scale.len()).div_ceil(4), 2, 2];
        ConvPlan { image, channels: vec![WIDTH], keep: KEEP, features: WIDTH }
    }

    fn measure(&mut self, readings: &[Measured]) {
        let mut moments = vec![Moments::default(); self.scale.len()];
        for seen in readings {
            let finite = moments.iter_mut().zip(self.own(seen)).filter(|(_, x)| x.is_finite());
            finite.for_each(|(moments, &x)| moments.push(f64::from(x)));
        }
        for (scale, moments) in self.scale.iter_mut().zip(moments) {
            // A column that never varies, or is never there, says nothing.
            let varies = moments.count > 0 && moments.std() > 1e-9 * (1.0 + moments.mean.abs());
            *scale = if varies { [moments.mean as f32, (1.0 / moments.std()) as f32] } else { [0.0, 0.0] };
        }
    }

    fn write(&self, seen: &Measured, mut training: Option<&mut Random>, to: &mut Vec<f32>) -> bool {
        let own = self.own(seen);
        if !own.iter().any(|x| x.is_finite()) {
            return false;
        }
        let end = to.len() + self.plan().image.iter().product::<usize>();
        for (x, [mean, factor]) in own.iter().zip(&self.scale) {
            let noise = training.as_mut().map_or(0.0, |random| (NOISE * random.normal()) as f32);
            let normalised = ((x - mean) * factor).clamp(-FARTHEST, FARTHEST) + noise;
            to.extend(if x.is_finite() { [normalised, 1.0] } else { [0.0, 0.0] });
        }
        to.resize(end, 0.0);
        true
    }

    fn scale(&self) -> Vec<f64> {
        self.scale.iter().flatten().map(|&x| f64::from(x)).collect()
    }

    fn set_scale(&mut self, scale: &[f64]) -> bool {
        let fits = scale.len() == 2 * self.scale.len();
        let pairs = self.scale.iter_mut().zip(scale.chunks_exact(2));
        pairs.for_each(|(to, from)| *to = [from[0] as f32, from[1] as f32]);
        fits
    }
}
