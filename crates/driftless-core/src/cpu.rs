//! Which instructions this CPU has, asked once.

use std::sync::OnceLock;

/// A kind of CPU that kernels are compiled for, from slow to fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cpu {
    /// Any.
    Portable,
    /// x86 with AVX2 and FMA (Haswell, Zen and later).
    Avx2,
    /// x86 with AVX-512 (Skylake-X, Zen 4 and later).
    Avx512,
}

impl Cpu {
    /// The fastest kind that this CPU is.
    pub fn best() -> Self {
        static BEST: OnceLock<Cpu> = OnceLock::new();
        *BEST.get_or_init(|| Self::all().into_iter().max().unwrap_or(Self::Portable))
    }

    /// All kinds that this CPU is.
    pub fn all() -> Vec<Self> {
        [Self::Portable, Self::Avx2, Self::Avx512].into_iter().filter(|cpu| cpu.is_here()).collect()
    }

    #[cfg(target_arch = "x86_64")]
    /// Whether this CPU is of this kind.
    pub fn is_here(self) -> bool {
        match self {
            Self::Portable => true,
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Self::Avx512 => Self::Avx2.is_here() && is_x86_feature_detected!("avx512f"),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    /// Whether this CPU is of this kind.
    pub fn is_here(self) -> bool {
        self == Self::Portable
    }
}

/// Loops without instructions of their own, which the compiler vectorises for each kind of CPU.
///
/// `run` must be `#[inline(always)]`, and so must what it calls: only what is inlined is compiled anew.
pub trait Work {
    /// The loops.
    fn run(self);
}

#[allow(unsafe_code, reason = "instructions after asking")]
impl Cpu {
    /// Runs it as compiled for this kind.
    pub fn run(self, work: impl Work) {
        match self {
            // SAFETY: the CPU has just been asked.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 if self.is_here() => unsafe { avx512(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 if self.is_here() => unsafe { avx2(work) },
            _ => work.run(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn avx512(work: impl Work) {
    work.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(work: impl Work) {
    work.run();
}
