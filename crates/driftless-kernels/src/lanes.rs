//! A row of [`LANES`] numbers in registers: one of AVX-512, two of AVX2, or an array.

#![allow(
    unsafe_code,
    reason = "registers are filled from pointers, and by instructions that a CPU may not have"
)]

use crate::LANES;

/// Sixteen numbers that are multiplied and added at once.
///
/// # Safety
/// Whoever calls these has made sure that the CPU has the instructions, and that pointers are good for
/// sixteen numbers.
pub(crate) trait Row: Copy {
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn splat(x: f32) -> Self;
    /// self + a b, rounded once where the CPU can.
    unsafe fn plus_product(self, a: Self, b: Self) -> Self;
    unsafe fn plus(self, other: Self) -> Self;
    /// The greater of it and 0; what is not a number stays so.
    unsafe fn positive(self) -> Self;
    /// Self where `gate` is above 0, and 0 elsewhere.
    unsafe fn where_positive(self, gate: Self) -> Self;
}

/// Sixteen numbers without instructions of their own; what the compiler makes of them.
#[derive(Clone, Copy)]
pub(crate) struct Plain([f32; LANES]);

impl Row for Plain {
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: good for sixteen numbers, says the caller.
        Self(unsafe { from.cast::<[f32; LANES]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as above.
        unsafe { to.cast::<[f32; LANES]>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self([x; LANES])
    }

    #[inline(always)]
    unsafe fn plus_product(mut self, a: Self, b: Self) -> Self {
        for i in 0..LANES {
            self.0[i] += a.0[i] * b.0[i];
        }
        self
    }

    #[inline(always)]
    unsafe fn plus(mut self, other: Self) -> Self {
        for i in 0..LANES {
            self.0[i] += other.0[i];
        }
        self
    }

    #[inline(always)]
    unsafe fn positive(mut self) -> Self {
        for x in &mut self.0 {
            *x = if *x < 0.0 { 0.0 } else { *x };
        }
        self
    }

    #[inline(always)]
    unsafe fn where_positive(mut self, gate: Self) -> Self {
        for i in 0..LANES {
            self.0[i] = if gate.0[i] > 0.0 { self.0[i] } else { 0.0 };
        }
        self
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Double, Wide};

#[cfg(target_arch = "x86_64")]
mod x86;
