//! What a filter goes on from, as bytes: taken back, the next step is the same to the last bit.
//!
//! Numbers are little-endian, lists begin with how many there are. Reading checks every length against what is left and
//! every invariant of what it makes: bytes of others are refused, never believed.

#[cfg(test)]
mod tests;

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
