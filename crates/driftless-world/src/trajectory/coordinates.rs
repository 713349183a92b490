//! A few numbers in place: states of named coordinates, which are copied as easily as poses.

use std::ops::Deref;

/// Coordinates that a state of one's own has, at most: particles do not fill larger spaces.
pub const MOST_COORDINATES: usize = 8;

/// Up to [`MOST_COORDINATES`] numbers.
///
/// ```
/// use driftless_world::trajectory::Coordinates;
/// let arm = Coordinates::new(&[0.1, 0.2]).unwrap();
/// assert_eq!((arm.len(), arm[1]), (2, 0.2));
/// assert!(Coordinates::new(&[0.0; 9]).is_none());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coordinates {
    count: usize,
    numbers: [f64; MOST_COORDINATES],
}

impl Coordinates {
    /// These; nothing if they are too many.
    pub fn new(numbers: &[f64]) -> Option<Self> {
        let mut all = Self { count: numbers.len(), ..Self::default() };
        all.numbers.get_mut(..numbers.len())?.copy_from_slice(numbers);
        Some(all)
    }

    /// The same of 32 bits.
    pub fn of(numbers: &[f32]) -> Option<Self> {
        Self::new(&numbers.iter().map(|&x| f64::from(x)).collect::<Vec<_>>())
    }
}

impl Deref for Coordinates {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.numbers[..self.count]
    }
}
