//! Which coordinates of a state are angles: everything that wraps or averages them asks here.

use crate::angles::wrapped;

/// A state space of up to 64 coordinates.
///
/// ```
/// use driftless_core::Space;
///
/// let arm = Space::linear(3).with_angle(0).with_angle(2);
/// assert_eq!((arm.dimension(), arm.is_angle(0), arm.is_angle(1)), (3, true, false));
/// assert!((arm.difference(2, 3.0, -3.0) - (6.0 - std::f32::consts::TAU)).abs() < 1e-6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    dimension: usize,
    angles: u64,
}

impl Space {
    /// Poses in the plane: x, y, heading.
    pub const SE2: Self = Self::linear(3).with_angle(2);

    /// Vectors without angles.
    ///
    /// # Panics
    /// If there are more than 64 coordinates.
    pub const fn linear(dimension: usize) -> Self {
        assert!(dimension <= 64, "a state has at most 64 coordinates");
        Self { dimension, angles: 0 }
    }

    /// The same with coordinate k an angle in radians.
    ///
    /// # Panics
    /// If there is no such coordinate.
    pub const fn with_angle(self, k: usize) -> Self {
        assert!(k < self.dimension, "an angle is one of the coordinates");
        Self { angles: self.angles | 1 << k, ..self }
    }

    /// How many coordinates.
    pub const fn dimension(self) -> usize {
        self.dimension
    }

    /// Whether coordinate k is an angle.
    pub const fn is_angle(self, k: usize) -> bool {
        self.angles >> k & 1 == 1
    }

    /// a - b of coordinate k, wrapped into a turn around 0 if it is an angle.
    #[inline(always)]
    pub fn difference(self, k: usize, a: f32, b: f32) -> f32 {
        if self.is_angle(k) { wrapped(a - b) } else { a - b }
    }
}
