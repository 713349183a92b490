//! Rows in the registers of x86.

use super::Row;
use std::arch::x86_64::{
    __m256, __m512, _CMP_GT_OQ, _mm256_add_ps, _mm256_and_ps, _mm256_cmp_ps, _mm256_fmadd_ps,
    _mm256_loadu_ps, _mm256_max_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps, _mm512_add_ps,
    _mm512_cmp_ps_mask, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_maskz_mov_ps, _mm512_max_ps, _mm512_set1_ps,
    _mm512_setzero_ps, _mm512_storeu_ps,
};

/// Two registers of AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Double(__m256, __m256);

/// One register of AVX-512.
#[derive(Clone, Copy)]
pub(crate) struct Wide(__m512);

// SAFETY of all blocks: the trait's callers have made sure of instructions and pointers.
impl Row for Double {
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Self(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe {
            _mm256_storeu_ps(to, self.0);
            _mm256_storeu_ps(to.add(8), self.1);
        }
    }

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        let x = unsafe { _mm256_set1_ps(x) };
        Self(x, x)
    }

    #[inline(always)]
    unsafe fn plus_product(self, a: Self, b: Self) -> Self {
        unsafe { Self(_mm256_fmadd_ps(a.0, b.0, self.0), _mm256_fmadd_ps(a.1, b.1, self.1)) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        unsafe { Self(_mm256_add_ps(self.0, other.0), _mm256_add_ps(self.1, other.1)) }
    }

    #[inline(always)]
    unsafe fn positive(self) -> Self {
        // The second is returned if it is not a number.
        unsafe {
            let zero = _mm256_setzero_ps();
            Self(_mm256_max_ps(zero, self.0), _mm256_max_ps(zero, self.1))
        }
    }

    #[inline(always)]
    unsafe fn where_positive(self, gate: Self) -> Self {
        unsafe {
            let zero = _mm256_setzero_ps();
            let first = _mm256_cmp_ps::<_CMP_GT_OQ>(gate.0, zero);
            let second = _mm256_cmp_ps::<_CMP_GT_OQ>(gate.1, zero);
            Self(_mm256_and_ps(self.0, first), _mm256_and_ps(self.1, second))
        }
    }
}

impl Row for Wide {
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Self(_mm512_loadu_ps(from)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { _mm512_storeu_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        unsafe { Self(_mm512_set1_ps(x)) }
    }

    #[inline(always)]
    unsafe fn plus_product(self, a: Self, b: Self) -> Self {
        unsafe { Self(_mm512_fmadd_ps(a.0, b.0, self.0)) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        unsafe { Self(_mm512_add_ps(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn positive(self) -> Self {
        unsafe { Self(_mm512_max_ps(_mm512_setzero_ps(), self.0)) }
    }

    #[inline(always)]
    unsafe fn where_positive(self, gate: Self) -> Self {
        unsafe {
            let above = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(gate.0, _mm512_setzero_ps());
            Self(_mm512_maskz_mov_ps(above, self.0))
        }
    }
}
