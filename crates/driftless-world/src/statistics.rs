//! Figures of a data set, gathered episode by episode: steps, actions, states, colours, labels.

use crate::pose::wrap;
use crate::trajectory::{Observations, Trajectory};

/// Count, mean, spread and range of a stream of numbers (Welford 1962).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// How many numbers.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    squares: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Default for Moments {
    fn default() -> Self {
        Self { count: 0, mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Moments {
    /// Adds a number.
    pub fn push(&mut self, value: f64) {
        self.count += 1;
        let delta = value - self.mean;
        self.mean += delta / self.count as f64;
        self.squares += delta * (value - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Standard deviation (of the population, as numpy's `std`); 0 without numbers.
    pub fn std(&self) -> f64 {
        if self.count == 0 { 0.0 } else { (self.squares / self.count as f64).sqrt() }
    }
}

/// Figures of a data set. Feed it episodes with [`Statistics::push`].
///
/// ```
/// use driftless_world::{Labels, Observations, Rows, Trajectory, statistics::Statistics};
/// let rows = |values: Vec<f32>| Rows::new(3, values).unwrap();
/// let states = Labels::all(rows(vec![0.0, 0.0, 3.1, 3.0, 1.0, -3.1]));
/// let episode = Trajectory::new(Observations::Vectors(rows(vec![0.0; 6])), rows(vec![0.0; 6]), states).unwrap();
/// let mut statistics = Statistics::new(Some(2));
/// statistics.push(&episode);
/// assert_eq!(statistics.step_size(&[0, 1]), 2.0); // (|3| + |1|) / 2
/// assert!((statistics.steps[2].mean - 0.0832).abs() < 1e-3); // across the seam of the circle
/// ```
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    angle: Option<usize>,
    /// Number of episodes.
    pub episodes: usize,
    /// Steps of an episode.
    pub lengths: Moments,
    /// Number of steps whose state is known.
    pub labelled: usize,
    /// State, by dimension.
    pub states: Vec<Moments>,
    /// |state t - state t-1| where both are known, by dimension, angles wrapped.
    pub steps: Vec<Moments>,
    /// Action, by dimension.
    pub actions: Vec<Moments>,
    /// Observation, by channel of images or element of vectors.
    pub observations: Vec<Moments>,
}

impl Statistics {
    /// No episodes yet; `angle` is the dimension of the state that is an angle in radians.
    pub fn new(angle: Option<usize>) -> Self {
        Self { angle, ..Self::default() }
    }

    /// Adds an episode.
    pub fn push(&mut self, episode: &Trajectory) {
        self.episodes += 1;
        self.lengths.push(episode.len() as f64);
        self.labelled += episode.states.known();
        push_all(
            &mut self.actions,
            episode.actions.width(),
            episode.actions.values().iter().copied().map(f64::from),
        );
        for state in episode.states.iter().flatten() {
            push_all(&mut self.states, state.len(), state.iter().copied().map(f64::from));
        }
        for t in 1..episode.states.len() {
            if let (Some(before), Some(after)) = (episode.states.get(t - 1), episode.states.get(t)) {
                let moved = before.iter().zip(after).enumerate().map(|(k, (&before, &after))| {
                    let difference = f64::from(after) - f64::from(before);
                    let difference = if self.angle == Some(k) { wrap(difference) } else { difference };
                    difference.abs()
                });
                push_all(&mut self.steps, after.len(), moved);
            }
        }
        match &episode.observations {
            Observations::Vectors(rows) => {
                push_all(&mut self.observations, rows.width(), rows.values().iter().copied().map(f64::from));
            }
            Observations::Images(images) => {
                let pixels = (0..images.pixels.len()).map(|i| f64::from(images.pixels.get(i)));
                push_all(&mut self.observations, images.channels, pixels);
            }
        }
    }

    /// DPF's step size: the mean absolute step, averaged over the given dimensions.
    pub fn step_size(&self, dimensions: &[usize]) -> f64 {
        average(&self.steps, dimensions, |moments| moments.mean)
    }

    /// Standard deviation of the states, averaged over the given dimensions.
    pub fn state_std(&self, dimensions: &[usize]) -> f64 {
        average(&self.states, dimensions, Moments::std)
    }

    /// Standard deviation of the actions, averaged over the given dimensions.
    pub fn action_std(&self, dimensions: &[usize]) -> f64 {
        average(&self.actions, dimensions, Moments::std)
    }
}

/// Adds rows of `width` numbers, a column's numbers to its own moments; what is missing is left out.
fn push_all(moments: &mut Vec<Moments>, width: usize, values: impl Iterator<Item = f64>) {
    if moments.len() < width {
        moments.resize(width, Moments::default());
    }
    for (i, value) in values.enumerate().filter(|(_, value)| value.is_finite()) {
        moments[i % width].push(value);
    }
}

fn average(moments: &[Moments], dimensions: &[usize], figure: impl Fn(&Moments) -> f64) -> f64 {
    dimensions.iter().filter_map(|&k| moments.get(k)).map(figure).sum::<f64>() / dimensions.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_agree_with_the_textbook() {
        let mut moments = Moments::default();
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            moments.push(value);
        }
        assert_eq!((moments.mean, moments.std(), moments.min, moments.max), (5.0, 2.0, 2.0, 9.0));
        assert_eq!(Moments::default().std(), 0.0);
    }
}
