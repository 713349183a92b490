//! What a filter goes on from, as bytes: taken back, the next step is the same to the last bit.
//!
//! Numbers are little-endian, lists begin with how many there are. Reading checks every length against what is left and
//! every invariant of what it makes: bytes of others are refused, never believed.

use crate::random::Random;
use crate::{Belief, FilterState, Particles, Space, Stream, Weights};

/// Something that can be written down exactly, and made again from it.
///
/// ```
/// use driftless_core::{Draws, Snapshot, Stream};
///
/// let mut draws = Stream::new(1, 2);
/// draws.uniform();
/// let mut bytes = Vec::new();
/// draws.save(&mut bytes);
/// let mut again = Stream::load(&mut &bytes[..]).expect("what was just written");
/// assert_eq!(draws.uniform(), again.uniform());
/// assert!(Stream::load(&mut &bytes[1..]).is_none());
/// ```
pub trait Snapshot: Sized {
    /// Adds itself.
    fn save(&self, to: &mut Vec<u8>);

    /// Takes itself from the front; `None` if that is not what is there.
    fn load(from: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Snapshot for $number {
            fn save(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }

            fn load(from: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(Self::from_le_bytes(*bytes))
            }
        }
    )*};
}
numbers!(u8, u32, u64, f32, f64);

impl Snapshot for bool {
    fn save(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn load(from: &mut &[u8]) -> Option<Self> {
        match u8::load(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<T: Snapshot> Snapshot for Option<T> {
    fn save(&self, to: &mut Vec<u8>) {
        self.is_some().save(to);
        if let Some(inner) = self {
            inner.save(to);
        }
    }

    fn load(from: &mut &[u8]) -> Option<Self> {
        Some(if bool::load(from)? { Some(T::load(from)?) } else { None })
    }
}

impl<T: Snapshot> Snapshot for Vec<T> {
    fn save(&self, to: &mut Vec<u8>) {
        (self.len() as u64).save(to);
        for item in self {
            item.save(to);
        }
    }

    fn load(from: &mut &[u8]) -> Option<Self> {
        let count = u64::load(from)?;
        // An item has a byte at least: no more memory is taken than was read.
        if count > from.len() as u64 {
            return None;
        }
        (0..count).map(|_| T::load(from)).collect()
    }
}

impl<T: Snapshot + Copy + Default, const N: usize> Snapshot for [T; N] {
    fn save(&self, to: &mut Vec<u8>) {
        for item in self {
            item.save(to);
        }
    }

    fn load(from: &mut &[u8]) -> Option<Self> {
        let mut items = [T::default(); N];
        for item in &mut items {
            *item = T::load(from)?;
        }
        Some(items)
    }
}

impl Snapshot for String {
    fn save(&self, to: &mut Vec<u8>) {
        (self.len() as u64).save(to);
        to.extend_from_slice(self.as_bytes());
    }

    fn load(from: &mut &[u8]) -> Option<Self> {
        Self::from_utf8(Vec::load(from)?).ok()
    }
}

impl Snapshot for Stream {
    fn save(&self, to: &mut Vec<u8>) {
        self.position().save(to);
    }

    fn load(from: &mut &[u8]) -> Option<Self> {
        <[u64; 3]>::load(from).map(Self::at)
    }
}

impl Snapshot for Random {
    fn save(&self, to: &mut Vec<u8>) {
        let (state, spare) = self.position();
        state.save(to);
        spare.save(to);
    }

    fn load(from: &mut &[u8]) -> Option<Self> {
        Self::at(Snapshot::load(from)?, Option::load(from)?)
    }
}

impl Snapshot for Space {
    fn save(&self, to: &mut Vec<u8>) {
        (self.dimension() as u32).save(to);
        (0..self.dimension()).for_each(|k| self.is_angle(k).save(to));
    }

    fn load(from: &mut &[u8]) -> Option<Self> {
        let dimension = u32::load(from).filter(|dimension| *dimension <= 64)? as usize;
        let mut space = Self::linear(dimension);
        for k in 0..dimension {
            if bool::load(from)? {
                space = space.with_angle(k);
            }
        }
        Some(space)
    }
}

impl Snapshot for Particles {
    fn save(&self, to: &mut Vec<u8>) {
        self.space().save(to);
        self.columns().iter().for_each(|column| column.save(to));
    }

    /// Of one length, and finite.
    fn load(from: &mut &[u8]) -> Option<Self> {
        let mut particles = Self::new(Space::load(from)?);
        for column in particles.columns_mut() {
            *column = Vec::load(from)?;
        }
        let count = particles.len();
        let is_sound = |column: &Vec<f32>| column.len() == count && column.iter().all(|x| x.is_finite());
        particles.columns().iter().all(is_sound).then_some(particles)
    }
}

impl Snapshot for Weights {
    fn save(&self, to: &mut Vec<u8>) {
        self.log()
            .iter()
            .zip(self.linear())
            .map(|(log, linear)| [*log, *linear])
            .collect::<Vec<_>>()
            .save(to);
    }

    fn load(from: &mut &[u8]) -> Option<Self> {
        Self::exactly(&Vec::load(from)?)
    }
}

impl Snapshot for Belief {
    fn save(&self, to: &mut Vec<u8>) {
        self.particles.save(to);
        self.weights.save(to);
    }

    fn load(from: &mut &[u8]) -> Option<Self> {
        let (particles, weights) = (Particles::load(from)?, Weights::load(from)?);
        (particles.len() == weights.len()).then_some(Self { particles, weights })
    }
}

impl Snapshot for FilterState {
    fn save(&self, to: &mut Vec<u8>) {
        self.belief.save(to);
        self.kidnapped.save(to);
    }

    fn load(from: &mut &[u8]) -> Option<Self> {
        let (belief, kidnapped) = (Belief::load(from)?, f64::load(from)?);
        (0.0..=1.0).contains(&kidnapped).then_some(Self { belief, kidnapped })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::{HeadingNoise, Odometry};
    use crate::pose::Frame;
    use crate::sensor::Likelihood;
    use crate::{Filter, StepReport, Workspace};

    fn step(state: &mut FilterState, draws: &mut Stream, workspace: &mut Workspace) -> StepReport {
        let odometry = Odometry {
            frame: Frame::Robot,
            rest: [0.1, 0.05],
            share: [0.1, 0.1],
            scale: 0.0,
            heading_noise: HeadingNoise::After,
            missing: [1.0, 0.5],
        };
        let mut beacon = Likelihood(|pose: &[f32]| -0.5 * ((pose[0].hypot(pose[1]) - 2.0) / 0.2).powi(2));
        let filter = Filter::bootstrap(100);
        filter.step(state, &mut odometry.by(Some([0.1, 0.0, 0.1])), &mut beacon, draws, workspace)
    }

    fn begun() -> (FilterState, Stream) {
        let start = Particles::from_states(Space::SE2, vec![[1.0_f32, 1.0, 0.3]; 100]);
        (FilterState::new(Belief::new(start)), Stream::new(7, 1))
    }

    /// Written down and made again after each step, in new memory, a filter goes on as if nothing had happened.
    #[test]
    fn a_filter_goes_on_exactly() {
        let ((mut state, mut draws), mut workspace) = (begun(), Workspace::new(Space::SE2));
        let (mut again, mut others) = begun();
        let mut resampled = 0;
        for _ in 0..30 {
            let report = step(&mut state, &mut draws, &mut workspace);
            resampled += usize::from(report.resampled);
            assert_eq!(report, step(&mut again, &mut others, &mut Workspace::new(Space::SE2)));
            let mut bytes = Vec::new();
            again.save(&mut bytes);
            others.save(&mut bytes);
            let rest = &mut &bytes[..];
            (again, others) = (FilterState::load(rest).unwrap(), Stream::load(rest).unwrap());
            assert!(rest.is_empty() && again == state);
        }
        assert!((5..25).contains(&resampled), "both kinds of steps were there: {resampled}");
    }

    #[test]
    fn random_numbers_go_on() {
        let mut random = Random::new(4);
        for draws in 0..5 {
            (0..draws).for_each(|_| _ = random.normal());
            let mut bytes = Vec::new();
            random.save(&mut bytes);
            let mut again = Random::load(&mut &bytes[..]).unwrap();
            assert_eq!([random.normal(), random.unit()], [again.normal(), again.unit()]);
        }
        assert!(Random::load(&mut &[0; 33][..]).is_none(), "it would say 0 for ever");
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let mut bytes = Vec::new();
        begun().0.save(&mut bytes);
        let load = |bytes: &[u8]| FilterState::load(&mut &*bytes);
        assert!(load(&bytes).is_some());
        assert!((0..bytes.len()).all(|end| load(&bytes[..end]).is_none()), "cut off");
        // Numbers behind the space and its length: x of the first particle, weights, and the kidnap probability.
        let (first, weights, end) = (7 + 8, bytes.len() - 8 - 800, bytes.len());
        let damaged = |at: usize, number: &[u8]| {
            let mut bytes = bytes.clone();
            bytes[at..at + number.len()].copy_from_slice(number);
            load(&bytes)
        };
        assert!(damaged(first, &1.5_f32.to_le_bytes()).is_some());
        assert!(damaged(first, &f32::NAN.to_le_bytes()).is_none());
        assert!(damaged(first - 8, &u64::MAX.to_le_bytes()).is_none(), "more than there is");
        assert!(damaged(weights, &f32::NAN.to_le_bytes()).is_none());
        assert!(damaged(weights + 4, &0.5_f32.to_le_bytes()).is_none(), "weights of more than 1");
        assert!(damaged(end - 8, &1.5_f64.to_le_bytes()).is_none());
        assert_eq!(String::load(&mut &[1, 0, 0, 0, 0, 0, 0, 0, 0xff][..]), None);
        assert_eq!(Option::<bool>::load(&mut &[1, 2][..]), None);
    }
}
